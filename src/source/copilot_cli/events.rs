//! Owns the shapes of the events as far as they are read. Every field is tolerant: a field of another type is unknown. Large
//! payloads (prompts, arguments, results) stay raw until something is measured of them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::source::lenient::{Flag, Num, Text};

type Raw<'a> = Option<&'a RawValue>;

/// The envelope of every event.
#[derive(Deserialize)]
pub struct Envelope<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub data: Raw<'a>,
    #[serde(borrow, default)]
    pub id: Text<'a>,
    #[serde(borrow, default)]
    pub timestamp: Text<'a>,
    #[serde(rename = "agentId", borrow, default)]
    pub agent_id: Text<'a>,
}

/// What a line must show for the file to be of this format.
#[derive(Deserialize)]
pub struct Head<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    data: Raw<'a>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
}

impl Head<'_> {
    /// Whether the line is an event that only this format has.
    pub fn is_event(&self) -> bool {
        let kind = self.kind.or_empty();
        (kind.contains('.') || kind == "abort") && is_known(kind) && (self.data.is_some() || self.timestamp.0.is_some())
    }
}

/// Reads an optional nested value; one of another shape is unknown.
pub fn nested<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// A native id. A text in brackets is what trimming left of one (`[trimmed …]`), not an id.
pub fn native<'t>(text: &'t Text<'_>) -> Option<&'t str> {
    text.as_str().filter(|id| !id.is_empty() && !id.starts_with('['))
}

/// A decimal number, as number or text.
pub fn decimal(raw: Raw<'_>) -> Option<f64> {
    raw?.get().trim_matches('"').parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)
}

/// The first session id named in the first bytes of a file, whatever event names it.
pub fn session_id_in(head: &[u8]) -> Option<String> {
    let key = b"\"sessionId\"";
    let rest = head.get(memchr::memmem::find(head, key)? + key.len()..)?;
    let rest = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    let id = std::str::from_utf8(rest.get(..end).filter(|_| rest.get(end) == Some(&b'"'))?).ok()?;
    (!id.is_empty() && id.len() <= 120 && !id.chars().any(char::is_control)).then(|| id.to_owned())
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct SessionStart<'a> {
    #[serde(borrow)]
    pub session_id: Text<'a>,
    #[serde(borrow)]
    pub copilot_version: Text<'a>,
    #[serde(borrow)]
    pub cli_version: Text<'a>,
    #[serde(borrow)]
    pub context: Raw<'a>,
}

/// Where the session works; the data of `session.context_changed`, and part of start and resume.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Place<'a> {
    #[serde(borrow)]
    pub cwd: Text<'a>,
    #[serde(borrow)]
    pub repository: Text<'a>,
    #[serde(borrow)]
    pub branch: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct AssistantMessage<'a> {
    #[serde(borrow)]
    pub message_id: Text<'a>,
    #[serde(borrow)]
    pub api_call_id: Text<'a>,
    pub chunk_index: Num,
    pub chunk_count: Num,
    #[serde(borrow)]
    pub model: Text<'a>,
    pub output_tokens: Num,
    #[serde(borrow)]
    pub content: Text<'a>,
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(borrow)]
    pub tool_requests: Raw<'a>,
    #[serde(borrow)]
    pub parent_tool_call_id: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolRequest<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub arguments: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolStart<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub arguments: Raw<'a>,
    #[serde(borrow)]
    pub shell_tool_info: Raw<'a>,
    #[serde(borrow)]
    pub parent_tool_call_id: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ShellInfo {
    pub has_write_file_redirection: Flag,
}

/// Arguments of the built-in tools that are looked at while they are in memory.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Arguments<'a> {
    #[serde(borrow)]
    pub command: Text<'a>,
    #[serde(borrow)]
    pub path: Text<'a>,
    #[serde(borrow)]
    pub file_path: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub description: Text<'a>,
    #[serde(borrow)]
    pub agent_type: Text<'a>,
    #[serde(borrow)]
    pub prompt: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolComplete<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    pub success: Flag,
    #[serde(borrow)]
    pub result: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub parent_tool_call_id: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolResult<'a> {
    pub content: Measured,
    #[serde(borrow)]
    pub contents: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ContentPart {
    pub exit_code: Num,
}

/// An error or a failed hook's cause. Some versions write the message alone.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Fault<'a> {
    #[serde(borrow)]
    pub message: Text<'a>,
    #[serde(borrow)]
    pub code: Text<'a>,
}

impl<'a> Fault<'a> {
    pub fn of(raw: Raw<'a>) -> Option<Fault<'a>> {
        nested(raw).or_else(|| nested::<Text<'a>>(raw).filter(|t| t.0.is_some()).map(|message| Fault { message, ..Fault::default() }))
    }
}

/// A text of which only its length and the shell's exit line are kept.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    pub bytes: Option<i64>,
    /// From a closing line `<… exit code N>`.
    pub exit_code: Option<i64>,
}

impl Measured {
    fn of(text: &str) -> Measured {
        Measured { bytes: Some(text.len() as i64), exit_code: exit_line(text) }
    }
}

/// The exit status of the closing line `<shellId: 0 completed with exit code 0>` or `<exited with exit code 1>`. A text that only
/// mentions an exit code has none.
fn exit_line(text: &str) -> Option<i64> {
    let last = text.trim_end().rsplit('\n').next()?;
    let inner = last.trim().strip_prefix('<')?.strip_suffix('>')?;
    let (before, code) = inner.rsplit_once("exit code ")?;
    if before.len() > 80 {
        return None;
    }
    code.trim().parse().ok()
}

impl<'de> Deserialize<'de> for Measured {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Measured;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<E>(self, value: &str) -> Result<Measured, E> {
                Ok(Measured::of(value))
            }
            fn visit_unit<E>(self) -> Result<Measured, E> {
                Ok(Measured::default())
            }
            fn visit_bool<E>(self, _: bool) -> Result<Measured, E> {
                Ok(Measured::default())
            }
            fn visit_i64<E>(self, _: i64) -> Result<Measured, E> {
                Ok(Measured::default())
            }
            fn visit_u64<E>(self, _: u64) -> Result<Measured, E> {
                Ok(Measured::default())
            }
            fn visit_f64<E>(self, _: f64) -> Result<Measured, E> {
                Ok(Measured::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Measured, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Measured::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Measured, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Measured::default())
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HookStart<'a> {
    #[serde(borrow)]
    pub hook_invocation_id: Text<'a>,
    #[serde(borrow)]
    pub hook_type: Text<'a>,
    #[serde(borrow)]
    pub input: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HookInput<'a> {
    #[serde(borrow)]
    pub tool_calls: Raw<'a>,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    #[serde(borrow)]
    pub tool_args: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct HookTool<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HookEnd<'a> {
    #[serde(borrow)]
    pub hook_invocation_id: Text<'a>,
    #[serde(borrow)]
    pub hook_type: Text<'a>,
    pub success: Flag,
    #[serde(borrow)]
    pub output: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
}

/// A hook's output: decisions by name, or by tool call id.
pub type Output<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct PermissionRequested<'a> {
    #[serde(borrow)]
    pub request_id: Text<'a>,
    #[serde(borrow)]
    pub permission_request: Raw<'a>,
    #[serde(borrow)]
    pub prompt_request: Raw<'a>,
    pub resolved_by_hook: Flag,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct PermissionRequest<'a> {
    #[serde(borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct PermissionCompleted<'a> {
    #[serde(borrow)]
    pub request_id: Text<'a>,
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub result: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct PermissionResult<'a> {
    #[serde(borrow)]
    pub kind: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Subagent<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub agent_name: Text<'a>,
    #[serde(borrow)]
    pub model: Text<'a>,
    pub total_tokens: Num,
    pub duration_ms: Num,
    pub cancelled: Flag,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Shutdown<'a> {
    #[serde(borrow)]
    pub model_metrics: Raw<'a>,
    #[serde(borrow)]
    pub token_details: Raw<'a>,
    pub total_nano_aiu: Num,
    #[serde(borrow)]
    pub total_premium_requests: Raw<'a>,
    pub total_api_duration_ms: Num,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ModelMetric<'a> {
    #[serde(borrow)]
    pub requests: Raw<'a>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
    pub total_nano_aiu: Num,
    #[serde(borrow)]
    pub token_details: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Requests<'a> {
    pub count: Num,
    #[serde(borrow)]
    pub cost: Raw<'a>,
}

/// Counters as the vendor writes them: `inputTokens` includes both cache counters.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default, rename_all = "camelCase")]
pub struct Usage {
    pub input_tokens: Num,
    pub output_tokens: Num,
    pub cache_read_tokens: Num,
    pub cache_write_tokens: Num,
    pub reasoning_tokens: Num,
}

/// Token counts by type, as a map (`{"input":{"tokenCount":1}}`) or a list (`[{"tokenType":"input","tokenCount":1}]`); here `input`
/// is fresh input.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Details {
    pub input: Option<i64>,
    pub cache_read: Option<i64>,
    pub cache_write: Option<i64>,
    pub output: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Detail<'a> {
    #[serde(borrow)]
    token_type: Text<'a>,
    token_count: Num,
}

impl Details {
    pub fn of(raw: Raw<'_>) -> Details {
        let mut details = Details::default();
        if let Some(list) = nested::<Vec<Detail<'_>>>(raw) {
            for item in list {
                details.put(item.token_type.or_empty(), item.token_count.count());
            }
        } else if let Some(map) = nested::<BTreeMap<Cow<'_, str>, &RawValue>>(raw) {
            for (kind, value) in map {
                details.put(&kind, nested::<Detail<'_>>(Some(value)).and_then(|d| d.token_count.count()));
            }
        }
        details
    }

    fn put(&mut self, kind: &str, count: Option<i64>) {
        let slot = match kind {
            "input" => &mut self.input,
            "cache_read" => &mut self.cache_read,
            "cache_write" => &mut self.cache_write,
            "output" => &mut self.output,
            _ => return,
        };
        *slot = match (*slot, count) {
            (Some(a), Some(b)) => a.checked_add(b),
            (a, b) => a.or(b),
        };
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Checkpoint<'a> {
    pub total_nano_aiu: Num,
    #[serde(borrow)]
    pub total_premium_requests: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct CompactionComplete<'a> {
    pub success: Flag,
    #[serde(borrow)]
    pub request_id: Text<'a>,
    #[serde(borrow)]
    pub compaction_tokens_used: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct CompactionUsage<'a> {
    pub input_tokens: Num,
    pub output_tokens: Num,
    pub cache_read_tokens: Num,
    pub cache_write_tokens: Num,
    #[serde(borrow)]
    pub copilot_usage: Raw<'a>,
    pub duration: Num,
    #[serde(borrow)]
    pub model: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct CopilotUsage<'a> {
    #[serde(borrow)]
    pub token_details: Raw<'a>,
}

/// The fields of the small events about limits, modes and endings.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Notice<'a> {
    #[serde(borrow)]
    pub reason: Text<'a>,
    #[serde(borrow)]
    pub error_type: Text<'a>,
    #[serde(borrow)]
    pub error_code: Text<'a>,
    #[serde(borrow)]
    pub mode: Text<'a>,
    #[serde(borrow)]
    pub previous_mode: Text<'a>,
    #[serde(borrow)]
    pub new_mode: Text<'a>,
    #[serde(borrow)]
    pub outcome: Text<'a>,
}

/// Event types that are declared or were seen; others are read over and counted.
pub fn is_known(kind: &str) -> bool {
    const FAMILIES: &[&str] = &[
        "session",
        "assistant",
        "tool",
        "hook",
        "permission",
        "subagent",
        "system",
        "user",
        "skill",
        "external_tool",
        "tool_search",
        "mcp",
        "elicitation",
        "sampling",
        "exit_plan_mode",
        "auto_mode_switch",
        "command",
        "commands",
        "capabilities",
        "pending_messages",
        "model",
        "factory",
        "mcp_app",
        "session_limits_exhausted",
        "ui",
        "user_input",
    ];
    kind == "abort" || kind.split_once('.').is_some_and(|(family, name)| FAMILIES.contains(&family) && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_is_read_from_the_shells_closing_line_only() {
        assert_eq!(exit_line("ok\n<shellId: 0 completed with exit code 0>"), Some(0));
        assert_eq!(exit_line("x\n<exited with exit code 101>\n"), Some(101));
        assert_eq!(exit_line("the docs say: exit code 3"), None);
        assert_eq!(exit_line("<shellId: 0 completed with exit code 0>\nmore"), None);
        assert_eq!(exit_line("<command is still running>"), None);
        assert_eq!(exit_line(""), None);
    }

    #[test]
    fn the_session_id_is_found_in_any_event_and_a_hostile_one_is_not() {
        assert_eq!(session_id_in(br#"{"type":"hook.start","data":{"input":{"sessionId" : "S1"}}}"#).as_deref(), Some("S1"));
        assert_eq!(session_id_in(br#"{"sessionId":"a\"b"}"#).as_deref(), None);
        assert_eq!(session_id_in(br#"{"sessionId":12}"#), None);
        assert_eq!(session_id_in(b"\"sessionId\""), None);
    }

    #[test]
    fn token_details_are_read_as_map_and_as_list() {
        let raw = |t: &'static str| -> &'static RawValue { serde_json::from_str(t).unwrap() };
        let map =
            Details::of(Some(raw(r#"{"input":{"tokenCount":2},"cache_write":{"tokenCount":"7"},"other":{"tokenCount":1},"output":3}"#)));
        assert_eq!((map.input, map.cache_write, map.output), (Some(2), Some(7), None));
        let list = Details::of(Some(raw(r#"[{"tokenType":"input","tokenCount":2},{"tokenType":"input","tokenCount":3},{"tokenType":1}]"#)));
        assert_eq!(list.input, Some(5));
        assert_eq!(Details::of(Some(raw("12"))), Details::default());
    }
}
