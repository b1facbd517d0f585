//! Owns the natural keys of this format: which native ids are unique by themselves and which need their session.

use crate::model::id::stable_id;

pub const FORMAT: &str = "claude-code";

/// Native ids shorter than this (`toolu_01`, `SessionStart`) are not unique across sessions.
const UNIQUE_LENGTH: usize = 16;

pub fn is_unique(native: &str) -> bool {
    native.len() >= UNIQUE_LENGTH
}

pub fn run_key(session: &str) -> String {
    format!("session:{}", crate::source::lenient::name(session))
}

/// Forks copy calls under another session id: only the message id counts.
pub fn call_id(message_id: &str) -> String {
    stable_id(&["call", FORMAT, message_id])
}

pub fn tool_call_id(session: &str, native: &str) -> String {
    if is_unique(native) { stable_id(&["tool_call", FORMAT, native]) } else { stable_id(&["tool_call", FORMAT, session, native]) }
}

/// The main window of a session, a sub-agent of it, or its nameless side chain.
pub fn context_id(session: &str, agent: Option<&str>, is_sidechain: bool) -> String {
    match agent {
        Some(agent) => stable_id(&["context", FORMAT, session, agent]),
        None if is_sidechain => stable_id(&["context", FORMAT, session, "", "sidechain"]),
        None => stable_id(&["context", FORMAT, session]),
    }
}

/// A gate run of a native record. `parts` tell it from others of the same record.
pub fn gate_run_id(session: &str, native: &str, parts: &[&str]) -> String {
    let mut key = vec!["gate_run", FORMAT, if is_unique(native) { "" } else { session }, native];
    key.extend_from_slice(parts);
    stable_id(&key)
}

pub fn finding_id(gate_run_id: &str, fingerprint: &str, k: usize) -> String {
    stable_id(&["finding", gate_run_id, fingerprint, &k.to_string()])
}
