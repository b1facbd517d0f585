//! Owns the shapes of the events as far as they are read. Every field is tolerant: a field of another type is unknown. Large
//! payloads (prompts, arguments, results) stay raw until something is measured of them.

mod measured;
mod shapes;
mod usage;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::source::lenient::Text;

pub use shapes::*;
pub use usage::*;

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
    fn the_session_id_is_found_in_any_event_and_a_hostile_one_is_not() {
        assert_eq!(session_id_in(br#"{"type":"hook.start","data":{"input":{"sessionId" : "S1"}}}"#).as_deref(), Some("S1"));
        assert_eq!(session_id_in(br#"{"sessionId":"a\"b"}"#).as_deref(), None);
        assert_eq!(session_id_in(br#"{"sessionId":12}"#), None);
        assert_eq!(session_id_in(b"\"sessionId\""), None);
    }
}
