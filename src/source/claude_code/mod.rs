//! Owns the Claude Code source: session transcripts (`projects/<slug>/<session>.jsonl`), those of sub-agents, and their
//! `agent-*.meta.json`. Format: `formats/sessions.md` §1, §11, §12.

mod calls;
mod contexts;
pub(in crate::source) mod edits;
mod hook_answer;
mod hook_records;
mod hooks;
mod ids;
mod line;
mod messages;
mod meta;
mod permissions;
mod reader;
mod results;
mod review_findings;
mod reviewers;
mod runs;
mod tools;
mod words;

#[cfg(test)]
mod real_tests;
#[cfg(test)]
mod tests;

use super::emit::Emitter;
use super::{Input, Probe, Source, growing};
pub use ids::FORMAT;
use line::Entry;

/// Transcripts of Claude Code.
pub struct ClaudeCode;

/// Lines of the head that are looked at before a file is left alone.
const PROBE_LINES: usize = 200;

impl Source for ClaudeCode {
    fn format(&self) -> &'static str {
        ids::FORMAT
    }

    fn version(&self) -> u32 {
        2
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        if meta::is_meta(probe.input) {
            return meta::session_of(probe.input).is_some() && probe.holds("\"agentType\"");
        }
        // Stored tool output may hold anything, transcripts included; a program's totals beside a transcript are none.
        if probe.input.within("tool-results") || probe.input.name().ends_with(".json") {
            return false;
        }
        let head = probe.head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(probe.head);
        let mut lines = head.split(|b| *b == b'\n').map(|l| l.trim_ascii()).filter(|l| !l.is_empty()).take(PROBE_LINES).peekable();
        while let Some(line) = lines.next() {
            match Entry::parse(line) {
                Ok(entry) => match native(&entry) {
                    Some(is_native) => return is_native,
                    None => continue,
                },
                // One line longer than the head.
                Err(_) if lines.peek().is_none() => return is_native_start(line),
                Err(_) => continue,
            }
        }
        false
    }

    fn is_append_only(&self, input: &Input) -> bool {
        !meta::is_meta(input)
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        if meta::is_meta(input) {
            return meta::read(input, out);
        }
        let fresh = || Ok(reader::Reader::default());
        growing::read(input, out, line::is_line, fresh, |reader, record, out| reader.record(record, out))?.finish(out);
        Ok(())
    }
}

/// Whether a line is of this format; `None` where it does not say.
fn native(entry: &Entry<'_>) -> Option<bool> {
    let kind = entry.kind?;
    match kind.raw {
        b"user" | b"assistant" => {
            let message = entry.message.as_ref();
            // Forks of the program keep the envelope and change the message (`parts` in place of `content`).
            Some(entry.session.is_some() && entry.has_sidechain && message.is_some_and(|m| m.has_content && m.role.is_some()))
        }
        b"file-history-snapshot" | b"file-history-delta" | b"summary" => Some(entry.is_native && entry.session.is_none()),
        b"progress" => Some(entry.session.is_some() && entry.data.is_some() && entry.has_sidechain),
        b"attachment" => Some(entry.session.is_some() && entry.attachment.is_some() && entry.has_sidechain),
        b"queue-operation" | b"ai-title" | b"custom-title" | b"last-prompt" | b"permission-mode" | b"pr-link" | b"bridge-session"
        | b"agent-name" | b"frame-link" | b"atis-latch" => Some(entry.session.is_some()),
        // Other programs write these too.
        _ => None,
    }
}

/// Whether a line that is cut off begins as lines of this format do.
fn is_native_start(line: &[u8]) -> bool {
    let has = |text: &str| memchr::memmem::find(line, text.as_bytes()).is_some();
    line.starts_with(b"{\"type\":\"file-history-snapshot\",\"messageId\":")
        || (line.starts_with(b"{\"") && has("\"isSidechain\":") && has("\"sessionId\":\"") && !has("\"parts\":["))
        || (line.starts_with(b"{\"parentUuid\":") && has("\"isSidechain\":"))
}
