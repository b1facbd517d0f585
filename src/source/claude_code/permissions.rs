//! Owns refusals of tool calls: who said no, as the record says it or as older versions put it into words.

use crate::model::vocabulary::{GateKind, Verdict};

/// Who refused a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// A person.
    User,
    /// A permission rule of the settings.
    Rule,
    /// The classifier of the automatic mode.
    AutoMode,
    /// The classifier could not be asked: nobody decided.
    AutoModeUnavailable,
    /// A hook, with its command where the text names it.
    Hook { event: String, command: Option<String>, text: String },
}

impl Denial {
    /// Word of `tool_calls.denied_by`.
    pub fn by(&self) -> &'static str {
        match self {
            Denial::User => "user",
            Denial::Rule => "permission-rule",
            Denial::AutoMode | Denial::AutoModeUnavailable => "auto-mode",
            Denial::Hook { .. } => "hook",
        }
    }

    /// Gate, its kind, the verdict and the source's word; `None` for hooks, which are gates of their own.
    pub fn gate(&self) -> Option<(&'static str, GateKind, Verdict, &'static str)> {
        match self {
            Denial::User => Some(("permission:user", GateKind::Human, Verdict::Fail, "user-rejected")),
            Denial::Rule => Some(("permission:rule", GateKind::Deterministic, Verdict::Fail, "permission-rule")),
            Denial::AutoMode => Some(("permission:auto-mode", GateKind::Model, Verdict::Fail, "automode-blocked")),
            Denial::AutoModeUnavailable => Some(("permission:auto-mode", GateKind::Model, Verdict::CouldNotRun, "automode-unavailable")),
            Denial::Hook { .. } => None,
        }
    }
}

/// Reads the refusal of a result: `toolDenialKind` where the version writes it, else the words at the start of a failed result.
/// Text inside a result never refuses: commands print such words too.
pub fn denial(kind: Option<&str>, head: Option<&str>, failed: bool) -> Option<Denial> {
    match kind {
        Some("user-rejected") => return Some(Denial::User),
        Some("permission-rule") => return Some(Denial::Rule),
        Some("automode-blocked") => return Some(Denial::AutoMode),
        Some("automode-unavailable") => return Some(Denial::AutoModeUnavailable),
        _ => {}
    }
    let text = head.filter(|_| failed)?.trim_start();
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    if text.starts_with("The user doesn't want to proceed with this tool use")
        || text.starts_with("The user doesn't want to take this action")
        || text.starts_with("User rejected tool use")
        || text.starts_with("[Request interrupted by user for tool use]")
        // In a sub-agent.
        || text.starts_with("Permission for this tool use was denied. The tool use was rejected")
    {
        return Some(Denial::User);
    }
    let first = text.lines().next().unwrap_or("");
    if first.starts_with("Permission") && first.contains("denied") {
        let automatic = first.contains("auto mode classifier") || text.contains("denied by the Claude Code auto mode classifier");
        return Some(if automatic { Denial::AutoMode } else { Denial::Rule });
    }
    hook(text)
}

/// `PreToolUse:Bash hook error: [command]: text`, `Hook PreToolUse:Bash denied this tool`.
fn hook(text: &str) -> Option<Denial> {
    let text = text.strip_prefix("Hook ").unwrap_or(text);
    let word_end = text.find(char::is_whitespace)?;
    let (hook, rest) = text.split_at_checked(word_end)?;
    let event = hook.split(':').next().filter(|e| matches!(*e, "PreToolUse" | "PermissionRequest"))?;
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("denied this tool").or_else(|| {
        let rest = rest.strip_prefix("hook ")?;
        rest.strip_prefix("error").or_else(|| rest.strip_prefix("blocking error"))
    })?;
    let rest = rest.strip_prefix(" from command").unwrap_or(rest).trim_start_matches([':', ' ']);
    let (command, text) = bracketed(rest);
    Some(Denial::Hook { event: event.to_owned(), command, text: text.to_owned() })
}

/// Splits `[command]: text`, as exit status 2 is reported.
pub fn bracketed(text: &str) -> (Option<String>, &str) {
    if let Some(inner) = text.strip_prefix('[')
        && let Some((command, rest)) = inner.split_once("]: ").or_else(|| inner.split_once("]:"))
    {
        return (Some(command.to_owned()), rest);
    }
    (None, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_versions_say_it_in_words_and_only_at_the_start_of_a_failed_result() {
        let said = |text: &str| denial(None, Some(text), true);
        assert_eq!(said("The user doesn't want to proceed with this tool use. The tool use was rejected"), Some(Denial::User));
        assert_eq!(said("Permission to use Bash with command rm has been denied."), Some(Denial::Rule));
        assert_eq!(said("Permission for this action has been denied by the Claude Code auto mode classifier."), Some(Denial::AutoMode));
        assert_eq!(
            said("Permission for this tool use was denied. The tool use was rejected (eg. if …). The user said:\nno"),
            Some(Denial::User)
        );
        assert_eq!(said("Exit code 1\nPermission to use Bash has been denied."), None);
        assert_eq!(denial(None, Some("The user doesn't want to proceed with this tool use."), false), None);
        assert_eq!(denial(Some("automode-unavailable"), None, true), Some(Denial::AutoModeUnavailable));
        let hook = said("PreToolUse:Bash hook error: [node guard.mjs]: no force push");
        assert_eq!(
            hook,
            Some(Denial::Hook { event: "PreToolUse".into(), command: Some("node guard.mjs".into()), text: "no force push".into() })
        );
        assert!(matches!(said("Hook PreToolUse:Write denied this tool"), Some(Denial::Hook { command: None, .. })));
        assert_eq!(said("PreToolUse is an event"), None);
    }
}
