//! Owns the shape of one transcript line: the envelope, the message and the tool result, each read in one walk. Field list:
//! `formats/sessions-appendix-claude.md`; unknown fields are passed over.

use crate::source::scan::{Scan, Scanned, Str};

/// One line; texts still stand in the line.
#[derive(Debug, Default)]
pub struct Entry<'a> {
    pub kind: Option<Str<'a>>,
    pub subtype: Option<Str<'a>>,
    pub timestamp: Option<Str<'a>>,
    pub session: Option<Str<'a>>,
    pub uuid: Option<Str<'a>>,
    pub agent: Option<Str<'a>>,
    pub cwd: Option<Str<'a>>,
    pub version: Option<Str<'a>>,
    pub branch: Option<Str<'a>>,
    pub repository: Option<Str<'a>>,
    /// `toolUseID` of progress and system lines.
    pub tool_use_id: Option<Str<'a>>,
    pub denial: Option<Str<'a>>,
    pub is_sidechain: bool,
    /// Whether `isSidechain` is there at all.
    pub has_sidechain: bool,
    pub is_meta: bool,
    pub is_summary: bool,
    pub prevented: bool,
    pub message: Option<Message<'a>>,
    pub result: ToolResult<'a>,
    pub attachment: Option<&'a [u8]>,
    pub data: Option<&'a [u8]>,
    /// `parentToolUseID` of progress lines: the call that started the sub-agent.
    pub parent_tool_use_id: Option<Str<'a>>,
    /// `stopReason` of a stop summary.
    pub stop_reason: Option<Str<'a>>,
    pub hook_infos: Option<&'a [u8]>,
    pub hook_errors: Option<&'a [u8]>,
    /// Whether a field stands there that only this format writes (`sessionId`, `leafUuid`, `messageId`).
    pub is_native: bool,
    pub lone_surrogates: usize,
}

/// `message` of user and assistant lines.
#[derive(Debug, Default)]
pub struct Message<'a> {
    pub id: Option<Str<'a>>,
    pub role: Option<Str<'a>>,
    pub model: Option<Str<'a>>,
    pub stop_reason: Option<Str<'a>>,
    pub usage: Option<Usage<'a>>,
    /// Content that is one text.
    pub text: Option<Str<'a>>,
    pub blocks: Vec<Block<'a>>,
    pub has_content: bool,
}

/// One content block.
#[derive(Debug, Default)]
pub struct Block<'a> {
    pub kind: Option<Str<'a>>,
    /// `id` of a tool use, `tool_use_id` of a result.
    pub id: Option<Str<'a>>,
    pub name: Option<Str<'a>>,
    pub input: Option<&'a [u8]>,
    /// Text, thinking, or the first text of a tool result.
    pub text: Option<Str<'a>>,
    pub is_error: Option<bool>,
    /// Bytes of a tool result's texts.
    pub bytes: usize,
}

/// `usage`; counters as written, absent ones unknown.
#[derive(Debug, Default, Clone, Copy)]
pub struct Usage<'a> {
    pub input: Option<i64>,
    pub output: Option<i64>,
    pub cache_read: Option<i64>,
    pub cache_write: Option<i64>,
    pub write_5m: Option<i64>,
    pub write_1h: Option<i64>,
    pub thinking: Option<i64>,
    pub iterations: Option<&'a [u8]>,
    /// Whether a counter is below zero or no number.
    pub is_odd: bool,
}

/// `toolUseResult`, as far as it says more than the content.
#[derive(Debug, Default)]
pub struct ToolResult<'a> {
    pub is_object: bool,
    pub agent_id: Option<Str<'a>>,
    pub agent_type: Option<Str<'a>>,
    pub name: Option<Str<'a>>,
    pub status: Option<Str<'a>>,
    pub total_tokens: Option<i64>,
    pub duration_ms: Option<i64>,
    pub is_async: bool,
    pub interrupted: bool,
    pub in_background: bool,
    /// A non-zero status that the tool takes for success (`grep` without hits).
    pub reinterpreted: bool,
    pub findings: Option<&'a [u8]>,
}

impl<'a> Entry<'a> {
    pub fn parse(bytes: &'a [u8]) -> Scanned<Entry<'a>> {
        let mut entry = Entry::default();
        let mut scan = Scan::new(bytes);
        scan.object(|key, scan| {
            match key {
                b"type" => entry.kind = scan.str()?,
                b"subtype" => entry.subtype = scan.str()?,
                b"timestamp" => entry.timestamp = scan.str()?,
                b"sessionId" => {
                    entry.session = scan.str()?;
                    entry.is_native = true;
                }
                b"leafUuid" | b"messageId" => {
                    entry.is_native = true;
                    scan.skip()?;
                }
                b"uuid" => entry.uuid = scan.str()?,
                b"agentId" => entry.agent = scan.str()?,
                b"cwd" => entry.cwd = scan.str()?,
                b"version" => entry.version = scan.str()?,
                b"gitBranch" => entry.branch = scan.str()?,
                b"prRepository" => entry.repository = scan.str()?,
                b"toolUseID" => entry.tool_use_id = scan.str()?,
                b"parentToolUseID" => entry.parent_tool_use_id = scan.str()?,
                b"stopReason" => entry.stop_reason = scan.str()?,
                b"toolDenialKind" => entry.denial = scan.str()?,
                b"isSidechain" => {
                    entry.is_sidechain = scan.value()?.bool() == Some(true);
                    entry.has_sidechain = true;
                }
                b"isMeta" => entry.is_meta = scan.value()?.bool() == Some(true),
                b"isCompactSummary" => entry.is_summary = scan.value()?.bool() == Some(true),
                b"preventedContinuation" => entry.prevented = scan.value()?.bool() == Some(true),
                b"message" => entry.message = Message::scan(scan)?,
                b"toolUseResult" => entry.result = ToolResult::scan(scan)?,
                b"attachment" => entry.attachment = scan.value()?.container(),
                b"data" => entry.data = scan.value()?.container(),
                b"hookInfos" => entry.hook_infos = scan.value()?.container(),
                b"hookErrors" => entry.hook_errors = scan.value()?.container(),
                _ => scan.skip()?,
            }
            Ok(())
        })?;
        scan.end()?;
        entry.lone_surrogates = scan.lone_surrogates;
        Ok(entry)
    }
}

impl<'a> Message<'a> {
    /// `None` where the value is no object.
    pub fn scan(scan: &mut Scan<'a>) -> Scanned<Option<Message<'a>>> {
        let mut message = Message::default();
        let is_object = scan.object(|key, scan| {
            match key {
                b"id" => message.id = scan.str()?,
                b"role" => message.role = scan.str()?,
                b"model" => message.model = scan.str()?,
                b"stop_reason" => message.stop_reason = scan.str()?,
                b"usage" => message.usage = Usage::scan(scan)?,
                b"content" => message.content(scan)?,
                _ => scan.skip()?,
            }
            Ok(())
        })?;
        Ok(is_object.then_some(message))
    }

    fn content(&mut self, scan: &mut Scan<'a>) -> Scanned<()> {
        if scan.next_is(b'[')? {
            self.has_content = true;
            self.blocks.clear();
            let blocks = &mut self.blocks;
            scan.array(|scan| {
                let mut block = Block::default();
                if scan.object(|key, scan| block.field(key, scan))? {
                    blocks.push(block);
                }
                Ok(())
            })?;
        } else {
            self.text = scan.str()?;
            self.has_content |= self.text.is_some();
        }
        Ok(())
    }
}

impl<'a> Block<'a> {
    fn field(&mut self, key: &'a [u8], scan: &mut Scan<'a>) -> Scanned<()> {
        match key {
            b"type" => self.kind = scan.str()?,
            b"id" | b"tool_use_id" => self.id = scan.str()?,
            b"name" => self.name = scan.str()?,
            b"input" => self.input = scan.value()?.container(),
            b"text" | b"thinking" => self.text = scan.str()?,
            b"is_error" => self.is_error = scan.value()?.bool(),
            b"content" => {
                if scan.next_is(b'[')? {
                    let (mut bytes, mut first) = (0, None);
                    scan.array(|scan| {
                        scan.object(|key, scan| {
                            if key != b"text" {
                                return scan.skip();
                            }
                            let text = scan.str()?;
                            bytes += text.map_or(0, |t| t.len());
                            first = first.or(text);
                            Ok(())
                        })?;
                        Ok(())
                    })?;
                    (self.bytes, self.text) = (bytes, first);
                } else {
                    self.text = scan.str()?;
                    self.bytes = self.text.map_or(0, |t| t.len());
                }
            }
            _ => scan.skip()?,
        }
        Ok(())
    }

    pub fn is(&self, kind: &str) -> bool {
        self.kind.is_some_and(|k| k.is(kind))
    }
}

/// Tokens that one request can have, generously.
const MAX_TOKENS: i64 = 10_000_000_000;

impl<'a> Usage<'a> {
    /// `None` where the value is no object.
    pub fn scan(scan: &mut Scan<'a>) -> Scanned<Option<Usage<'a>>> {
        let mut usage = Usage::default();
        let mut is_odd = false;
        let mut count = |scan: &mut Scan<'a>| -> Scanned<Option<i64>> {
            let value = scan.value()?;
            let count = value.count().filter(|n| *n <= MAX_TOKENS);
            is_odd |= count.is_none() && value != crate::source::scan::Value::Null;
            Ok(count)
        };
        let is_object = scan.object(|key, scan| {
            match key {
                b"input_tokens" => usage.input = count(scan)?,
                b"output_tokens" => usage.output = count(scan)?,
                b"cache_read_input_tokens" => usage.cache_read = count(scan)?,
                b"cache_creation_input_tokens" => usage.cache_write = count(scan)?,
                b"cache_creation" => {
                    scan.object(|key, scan| {
                        match key {
                            b"ephemeral_5m_input_tokens" => usage.write_5m = count(scan)?,
                            b"ephemeral_1h_input_tokens" => usage.write_1h = count(scan)?,
                            _ => scan.skip()?,
                        }
                        Ok(())
                    })?;
                }
                b"output_tokens_details" => {
                    scan.object(|key, scan| {
                        match key {
                            b"thinking_tokens" => usage.thinking = count(scan)?,
                            _ => scan.skip()?,
                        }
                        Ok(())
                    })?;
                }
                b"iterations" => usage.iterations = scan.value()?.container(),
                _ => scan.skip()?,
            }
            Ok(())
        })?;
        usage.is_odd = is_odd;
        Ok(is_object.then_some(usage))
    }
}

impl<'a> ToolResult<'a> {
    fn scan(scan: &mut Scan<'a>) -> Scanned<ToolResult<'a>> {
        let mut result = ToolResult::default();
        result.is_object = scan.object(|key, scan| {
            match key {
                b"agentId" | b"agent_id" => result.agent_id = scan.str()?,
                b"agentType" | b"agent_type" => result.agent_type = scan.str()?,
                b"name" => result.name = scan.str()?,
                b"status" => result.status = scan.str()?,
                b"totalTokens" => result.total_tokens = scan.value()?.count(),
                b"totalDurationMs" => result.duration_ms = scan.value()?.count(),
                b"isAsync" => result.is_async = scan.value()?.bool() == Some(true),
                b"interrupted" => result.interrupted = scan.value()?.bool() == Some(true),
                b"backgroundTaskId" => result.in_background = scan.str()?.is_some(),
                b"returnCodeInterpretation" => result.reinterpreted = scan.str()?.is_some(),
                b"findings" => result.findings = scan.value()?.container(),
                _ => scan.skip()?,
            }
            Ok(())
        })?;
        Ok(result)
    }
}

/// Whether an object is a whole line of this format: told apart from a content block or another part of a line.
pub fn is_line(bytes: &[u8]) -> bool {
    Entry::parse(bytes).is_ok_and(|e| e.kind.is_some() && e.is_native)
}
