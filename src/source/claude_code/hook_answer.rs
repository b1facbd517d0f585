//! Owns what one record says a hook did: verdict, where it was read from, whether the work stopped, what went into the context.

use crate::model::vocabulary::{Purpose, Verdict, VerdictBasis};
use crate::source::scan::{Value, fields};

/// One record's word on one firing.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub verdict: Option<Verdict>,
    pub basis: Option<VerdictBasis>,
    /// The source's own word.
    pub raw: Option<&'static str>,
    pub stopped_work: Option<bool>,
    pub exit_status: Option<i64>,
    pub duration_ms: Option<i64>,
    /// Bytes put into the context.
    pub injected: Option<usize>,
    /// What the hook said, for the identity of the defect.
    pub text: Option<String>,
}

impl Answer {
    fn new(verdict: Verdict, basis: VerdictBasis, raw: &'static str) -> Answer {
        Answer { verdict: Some(verdict), basis: Some(basis), raw: Some(raw), ..Answer::default() }
    }
}

/// A hook that ended with status 0. Its output may still refuse, warn or only give context.
pub fn success(stdout: &str, content: &str, exit_status: Option<i64>, purpose: Purpose) -> Answer {
    let mut answer = match exit_status {
        Some(0) | None => Answer::new(Verdict::Pass, VerdictBasis::ExitStatus, "success"),
        Some(_) => Answer::new(Verdict::Crashed, VerdictBasis::ExitStatus, "success"),
    };
    answer.exit_status = exit_status;
    let trimmed = stdout.trim();
    if !trimmed.starts_with('{') {
        // Plain text of a start or prompt hook goes into the context; elsewhere only the user sees it.
        answer.injected = Some(content.len());
        return answer;
    }
    let [goes_on, decision, reason, stop_reason, system, specific] =
        fields(trimmed.as_bytes(), ["continue", "decision", "reason", "stopReason", "systemMessage", "hookSpecificOutput"]);
    let text = |v: Option<Value<'_>>| v.and_then(Value::str).map(|s| s.text().into_owned()).filter(|t| !t.trim().is_empty());
    let [permission, permission_reason, context] = match specific.and_then(Value::container) {
        Some(object) => fields(object, ["permissionDecision", "permissionDecisionReason", "additionalContext"]),
        None => [None; 3],
    };
    let (context, system) = (text(context), text(system));
    answer.injected = Some(context.as_ref().map_or(0, String::len));
    answer.basis = Some(VerdictBasis::Structured);
    let word = |v: Option<Value<'_>>| v.and_then(Value::str).map(|s| s.text().to_ascii_lowercase()).unwrap_or_default();
    let refused = match (word(decision).as_str(), word(permission).as_str()) {
        ("block" | "deny", _) => Some(("block", text(reason))),
        (_, "deny") => Some(("deny", text(permission_reason))),
        _ if goes_on == Some(Value::Bool(false)) => Some(("continue:false", text(stop_reason))),
        (_, "ask") => {
            answer.verdict = Some(Verdict::NeedsReview);
            answer.raw = Some("ask");
            answer.text = text(permission_reason);
            None
        }
        _ => None,
    };
    if let Some((raw, text)) = refused {
        answer.verdict = Some(Verdict::Fail);
        answer.raw = Some(raw);
        answer.stopped_work = Some(true);
        answer.text = text.or(system).or(context);
    } else if answer.verdict == Some(Verdict::Pass) && purpose == Purpose::Control && (context.is_some() || system.is_some()) {
        // A control that speaks without refusing warns.
        answer.verdict = Some(Verdict::Warn);
        answer.raw = Some("notice");
        answer.stopped_work = Some(false);
        answer.text = context.or(system);
    }
    answer
}

/// A hook that refused, with its text. One that broke down and thereby refused found nothing.
pub fn blocking(text: &str) -> Answer {
    let mut answer = if is_breakdown(text) {
        Answer::new(Verdict::Crashed, VerdictBasis::Output, "blocking_error")
    } else {
        Answer::new(Verdict::Fail, VerdictBasis::Structured, "blocking_error")
    };
    answer.stopped_work = Some(true);
    answer.text = Some(text.to_owned());
    answer
}

/// A hook that ended with another status than 0 and 2: broken, and the work went on.
pub fn broken_open(text: &str, exit_status: Option<i64>) -> Answer {
    let mut answer = Answer::new(Verdict::Crashed, VerdictBasis::ExitStatus, "non_blocking_error");
    answer.stopped_work = Some(false);
    answer.exit_status = exit_status;
    answer.text = Some(text.strip_prefix("Failed with non-blocking status code: ").unwrap_or(text).to_owned());
    answer
}

/// Text put into the context by a hook that refused nothing.
pub fn spoke(text: &str, bytes: usize, in_context: bool, purpose: Purpose) -> Answer {
    let mut answer = Answer { injected: in_context.then_some(bytes), ..Answer::default() };
    let verdict = if purpose == Purpose::Control { Verdict::Warn } else { Verdict::Pass };
    answer.verdict = Some(verdict);
    answer.basis = Some(VerdictBasis::Structured);
    answer.raw = Some(if in_context { "additional_context" } else { "system_message" });
    if verdict == Verdict::Warn {
        answer.stopped_work = Some(false);
        answer.text = Some(text.to_owned());
    }
    answer
}

/// A hook was stopped before it could answer.
pub fn cut_off(raw: &'static str, verdict: Verdict) -> Answer {
    let mut answer = Answer::new(verdict, VerdictBasis::Structured, raw);
    answer.stopped_work = Some(false);
    answer
}

/// Whether the text is that of an interpreter that could not run the hook. Only its first lines tell: a check's own output
/// quotes such words from what it checked.
pub fn is_breakdown(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let Some(first) = lines.next() else { return false };
    let lower = first.to_ascii_lowercase();
    let program = lower.split(':').next().unwrap_or("").rsplit(['/', '\\']).next().unwrap_or("");
    let by_interpreter =
        matches!(program, "sh" | "bash" | "zsh" | "dash" | "python" | "python3" | "node" | "ruby" | "perl" | "env" | "cmd" | "pwsh");
    let cannot = ["not found", "no such file", "can't open", "cannot open", "permission denied", "syntax error", "not recognized"];
    (by_interpreter && cannot.iter().any(|c| lower.contains(c)))
        || lower.ends_with("command not found")
        || lower.starts_with("command not found")
        || lower.contains("is not recognized as an internal or external command")
        || lower.starts_with("traceback (most recent call last)")
        || lower.starts_with("node:internal/")
        || lower.starts_with("hook errored")
        || lower.ends_with("(hook errored)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_zero_with_a_json_answer_may_still_refuse_ask_or_warn() {
        let of = |stdout: &str, purpose| {
            let a = success(stdout, "", Some(0), purpose);
            (a.verdict, a.stopped_work)
        };
        let control = Purpose::Control;
        assert_eq!(of(r#"{"continue":true,"suppressOutput":true}"#, control), (Some(Verdict::Pass), None));
        assert_eq!(of(r#"{"decision":"block","reason":"x"}"#, control), (Some(Verdict::Fail), Some(true)));
        assert_eq!(of(r#"{"continue":false,"stopReason":"x"}"#, control), (Some(Verdict::Fail), Some(true)));
        assert_eq!(of(r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#, control), (Some(Verdict::Fail), Some(true)));
        assert_eq!(of(r#"{"hookSpecificOutput":{"permissionDecision":"ask"}}"#, control), (Some(Verdict::NeedsReview), None));
        assert_eq!(of(r#"{"hookSpecificOutput":{"additionalContext":"look"}}"#, control), (Some(Verdict::Warn), Some(false)));
        assert_eq!(of(r#"{"hookSpecificOutput":{"additionalContext":"look"}}"#, Purpose::Context), (Some(Verdict::Pass), None));
        assert_eq!(of("plain words", control), (Some(Verdict::Pass), None));
        assert_eq!(of("{broken", control), (Some(Verdict::Pass), None));
    }

    #[test]
    fn an_interpreter_that_cannot_run_the_hook_is_a_crash_and_a_check_that_quotes_one_is_not() {
        assert_eq!(blocking("sh: 0: Can't open guard.sh").verdict, Some(Verdict::Crashed));
        assert_eq!(blocking("python3: can't open file 'x.py': [Errno 2] No such file or directory").verdict, Some(Verdict::Crashed));
        assert_eq!(blocking("Traceback (most recent call last):\n  File").verdict, Some(Verdict::Crashed));
        assert_eq!(blocking("Type check failed:\nTraceback (most recent call last)").verdict, Some(Verdict::Fail));
        assert_eq!(blocking("src/a.ts(1,2): error TS2307: Cannot find module './b'").verdict, Some(Verdict::Fail));
        assert_eq!(blocking("").verdict, Some(Verdict::Fail));
        assert_eq!(blocking("x").stopped_work, Some(true));
        assert_eq!(broken_open("sh: x: not found", Some(127)).stopped_work, Some(false));
    }
}
