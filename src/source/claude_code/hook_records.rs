//! Owns reading the records that speak of hooks, in every shape the versions write, and hands each to the firing it belongs to.

use super::hook_answer::{self, Answer};
use super::hooks::{Hooks, Place, Spoken, StopSummary};
use super::line::Entry;
use super::runs::Pen;
use crate::model::vocabulary::Verdict;
use crate::source::hook_identity::event_of;
use crate::source::scan::{Value, fields, items};

/// Bytes of a hook's output that are looked at.
const MAX_TEXT: usize = 256 << 10;
/// Hooks read from one stop summary.
const MAX_HOOKS: usize = 256;

fn text(value: Option<Value<'_>>) -> Option<String> {
    value.and_then(Value::str).map(|s| s.head(MAX_TEXT).into_owned())
}

/// Text of a string or of an array of strings, with its whole length.
fn joined(value: Option<Value<'_>>) -> (String, usize) {
    match value {
        Some(Value::Str(s)) => (s.head(MAX_TEXT).into_owned(), s.len()),
        Some(Value::Array(raw)) => items(raw).into_iter().take(64).filter_map(Value::str).fold((String::new(), 0), |(mut all, n), s| {
            if all.len() < MAX_TEXT {
                all.push_str(&s.head(MAX_TEXT));
            }
            (all, n + s.len())
        }),
        _ => (String::new(), 0),
    }
}

/// `progress` / `hook_progress`: a start, nothing more.
pub fn progress(data: &[u8], tool_use_id: &str, place: &Place<'_>, hooks: &mut Hooks, pen: &mut Pen<'_, '_>) {
    let [event, hook_name, command] = fields(data, ["hookEvent", "hookName", "command"]);
    let hook_name = text(hook_name).unwrap_or_default();
    let event = text(event).unwrap_or_else(|| event_of(&hook_name).to_owned());
    let Some(command) = text(command) else { return };
    hooks.fired(tool_use_id, &event, &command, |_| Answer::default(), place, pen);
}

/// The tool use and the event that an attachment of a hook names; `None` for other attachments.
pub struct Named {
    pub kind: String,
    pub tool_use_id: String,
    pub event: String,
}

pub fn named(attachment: &[u8]) -> Option<Named> {
    let [kind, tool_use_id, event, hook_name] = fields(attachment, ["type", "toolUseID", "hookEvent", "hookName"]);
    let kind = kind?.str().filter(|k| k.starts_with("hook_") || k.is("async_hook_response"))?.text().into_owned();
    let hook_name = text(hook_name).unwrap_or_default();
    Some(Named {
        kind,
        tool_use_id: text(tool_use_id).unwrap_or_default(),
        event: text(event).filter(|e| !e.is_empty()).unwrap_or_else(|| event_of(&hook_name).to_owned()),
    })
}

/// An attachment of a hook.
pub fn attachment(raw: &[u8], named: &Named, place: &Place<'_>, hooks: &mut Hooks, pen: &mut Pen<'_, '_>) {
    let [command, exit_code, duration, stdout, stderr, content, blocking, decision, response, process] = fields(
        raw,
        ["command", "exitCode", "durationMs", "stdout", "stderr", "content", "blockingError", "decision", "response", "processId"],
    );
    let exit_status = exit_code.and_then(Value::int);
    let duration_ms = duration.and_then(Value::count);
    let command = text(command);
    let (id, event) = (named.tool_use_id.as_str(), named.event.as_str());
    let stdout = text(stdout).unwrap_or_default();
    let complaint = text(stderr).filter(|s| !s.trim().is_empty()).unwrap_or_else(|| stdout.clone());
    let answer = match named.kind.as_str() {
        "hook_success" => {
            let content = text(content).unwrap_or_default();
            let command = command.unwrap_or_default();
            let answer = |purpose| Answer { duration_ms, ..hook_answer::success(&stdout, &content, exit_status, purpose) };
            return hooks.fired(id, event, &command, answer, place, pen);
        }
        "hook_blocking_error" => {
            let [said, inner_command] = match blocking.and_then(Value::container) {
                Some(object) => fields(object, ["blockingError", "command"]),
                None => [blocking, None],
            };
            let said = text(said).unwrap_or(complaint);
            let (bracketed, said) = super::permissions::bracketed(&said);
            let answer = Answer { duration_ms, exit_status, ..hook_answer::blocking(said) };
            let command = text(inner_command).or(command).or(bracketed).unwrap_or_default();
            return hooks.fired(id, event, &command, |_| answer, place, pen);
        }
        "hook_non_blocking_error" | "hook_error_during_execution" => {
            let (said, _) = joined(content);
            let said = if complaint.is_empty() { said } else { complaint };
            Answer { duration_ms, ..hook_answer::broken_open(&said, exit_status) }
        }
        "hook_cancelled" => Answer { duration_ms, ..hook_answer::cut_off("cancelled", Verdict::TimedOut) },
        "hook_stopped_continuation" => Answer { duration_ms, ..hook_answer::blocking(&joined(content).0) },
        "hook_permission_decision" => {
            let refused = decision.and_then(Value::str).is_some_and(|d| d.is("deny") || d.is("block"));
            if refused { hook_answer::blocking("") } else { Answer { verdict: Some(Verdict::Pass), ..Answer::default() } }
        }
        "hook_additional_context" | "hook_system_message" => {
            let (said, bytes) = joined(content);
            let spoken = Spoken { text: &said, bytes, in_context: named.kind == "hook_additional_context" };
            return hooks.spoke(id, event, &spoken, place, pen);
        }
        "async_hook_response" => {
            let process = text(process).unwrap_or_default();
            let context = response.and_then(Value::container).map(|r| fields(r, ["hookSpecificOutput", "systemMessage"]));
            let said = context.and_then(|[specific, _]| specific.and_then(Value::container)).map(|s| fields(s, ["additionalContext"]));
            let injected = said.and_then(|[c]| c.and_then(Value::str)).map_or(0, |c| c.len());
            let mut answer = hook_answer::success("", "", exit_status, crate::model::vocabulary::Purpose::Context);
            answer.injected = Some(injected);
            // It names a process, not its script, and no tool use.
            let key = if id.is_empty() { process.as_str() } else { id };
            return hooks.unnamed(key, event, answer, place, pen);
        }
        other => {
            pen.out.warn("unknown_type", Some(place.line), Some(other));
            return;
        }
    };
    match command {
        Some(command) => hooks.fired(id, event, &command, |_| answer, place, pen),
        None => hooks.unnamed(id, event, answer, place, pen),
    }
}

/// `system` / `stop_hook_summary`.
pub fn stop_summary(entry: &Entry<'_>) -> StopSummary {
    let hooks = items(entry.hook_infos.unwrap_or_default())
        .into_iter()
        .take(MAX_HOOKS)
        .filter_map(|info| {
            let [command, duration] = fields(info.container()?, ["command", "durationMs"]);
            Some((text(command)?, duration.and_then(Value::count)))
        })
        .collect();
    let errors = items(entry.hook_errors.unwrap_or_default()).into_iter().take(MAX_HOOKS).filter_map(|e| text(Some(e))).collect();
    StopSummary {
        hooks,
        errors,
        prevented: entry.prevented,
        reason: entry.stop_reason.map_or_else(String::new, |r| r.head(MAX_TEXT).into_owned()),
    }
}
