//! Owns the names of hooks: one command, however it is wrapped and wherever it lies, gives one gate id, one identity and one purpose.

use crate::model::id::digest;
use crate::model::vocabulary::{Mode, Phase, Purpose};

use super::hook_command::{Program, program_of};
use super::lenient;

/// Gate id of a hook: `<event>:<script base name>`, e.g. `PreToolUse:pre-tool-use.mjs`. The event keeps the vendor's spelling.
pub fn gate_id(event: &str, command: &str) -> String {
    format!("{}:{}", clean_name(event), script_name(command))
}

/// What makes a hook the same across files and vendors: the event in one spelling and the script's path below variables and home,
/// e.g. `PreToolUse:.claude/hooks/guard.sh`.
pub fn identity(event: &str, command: &str) -> String {
    let script = match program_of(command) {
        Some(Program::Path(path)) => below_roots(&path),
        _ => script_name(command),
    };
    clean_name(&format!("{}:{script}", canonical_event(event)))
}

/// Base name of the script or program that does the work: interpreters, shells, launchers, directories and arguments are removed.
/// A generic file name keeps its folder (`entire/main.go`); a command that is only shell text becomes `inline-<digest>`; a status
/// message, which some versions log in place of the command, becomes a slug.
pub fn script_name(command: &str) -> String {
    let name = match program_of(command) {
        Some(Program::Path(path)) => base_name(&path),
        Some(Program::Message(text)) => slug(&text),
        None => String::new(),
    };
    let name = clean_name(&name);
    if name.is_empty() { format!("inline-{}", &digest(command.trim().as_bytes())[..8]) } else { name }
}

/// The event of a hook name such as `PreToolUse:Bash` or `SessionStart:startup`.
pub fn event_of(hook_name: &str) -> &str {
    hook_name.split(':').next().unwrap_or(hook_name)
}

/// One spelling for the events that vendors name differently (`preToolUse`, `PreToolUse`; `userPromptSubmitted`, `agentStop`).
pub fn canonical_event(event: &str) -> String {
    match event {
        "userPromptSubmitted" | "UserPromptSubmitted" | "userPromptSubmit" => return "UserPromptSubmit".to_owned(),
        "agentStop" | "AgentStop" => return "Stop".to_owned(),
        _ => {}
    }
    let mut chars = event.chars();
    let text: String = chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default();
    clean_name(&text)
}

/// What a hook is for, read from its script's name and, where the name says nothing, from its event:
///
/// 1. events at which nothing can be refused are never control: `Notification` notifies, `SessionEnd` records, `SessionStart` and
///    `SubagentStart` give context, unless the name says recorder or notifier;
/// 2. words of the name: notifier (`notify`, `sound` …), control (`guard`, `check`, `lint` …), recorder (`log`, `trace` …),
///    context (`inject`, `memory` …), in this order;
/// 3. the event: `PreToolUse` and `PermissionRequest` exist to decide, so control; `UserPromptSubmit` gives context; else unknown.
pub fn purpose(event: &str, command: &str) -> Purpose {
    let event = canonical_event(event);
    let script = script_name(command);
    let script = if script.starts_with("inline-") { String::new() } else { script };
    let words = words(&script);
    let any = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
    let can_refuse = !matches!(event.as_str(), "Notification" | "SessionStart" | "SessionEnd" | "SubagentStart" | "ErrorOccurred");
    if any(NOTIFIER) {
        return Purpose::Notifier;
    }
    if can_refuse && any(CONTROL) {
        return Purpose::Control;
    }
    if any(RECORDER) {
        return Purpose::Recorder;
    }
    if any(CONTEXT) {
        return Purpose::Context;
    }
    match event.as_str() {
        "PreToolUse" | "PermissionRequest" => Purpose::Control,
        "SessionStart" | "SubagentStart" | "UserPromptSubmit" => Purpose::Context,
        "SessionEnd" | "ErrorOccurred" => Purpose::Recorder,
        "Notification" => Purpose::Notifier,
        _ => Purpose::Unknown,
    }
}

/// `observe` for the events at which a hook can stop nothing; `None` where it depends on what the script answers.
pub fn mode(event: &str) -> Option<Mode> {
    matches!(canonical_event(event).as_str(), "Notification" | "SessionStart" | "SessionEnd" | "SubagentStart" | "ErrorOccurred")
        .then_some(Mode::Observe)
}

/// Whether hooks of this event come before or after a tool call. `None`: they are about none.
pub fn phase(event: &str) -> Option<Phase> {
    match canonical_event(event).as_str() {
        "PreToolUse" | "PermissionRequest" => Some(Phase::Before),
        "PostToolUse" | "PostToolUseFailure" => Some(Phase::After),
        _ => None,
    }
}

/// [`lenient::name`] without the spaces around it.
pub fn clean_name(text: &str) -> String {
    lenient::name(text.trim())
}

const NOTIFIER: &[&str] =
    &["notify", "notifier", "notification", "notifications", "sound", "toast", "slack", "beep", "bell", "say", "alert"];
const CONTROL: &[&str] = &[
    "gate",
    "guard",
    "guardrail",
    "guardrails",
    "check",
    "checks",
    "checker",
    "lint",
    "linter",
    "validate",
    "validator",
    "verify",
    "block",
    "blocker",
    "deny",
    "protect",
    "enforce",
    "enforcer",
    "policy",
    "review",
    "reviewer",
    "test",
    "tests",
    "typecheck",
    "tsc",
    "eslint",
    "clippy",
    "ruff",
    "mypy",
    "secret",
    "secrets",
    "scan",
    "prevent",
    "require",
    "safety",
    "security",
    "sensor",
    "budget",
    "limit",
    "forbid",
    "precommit",
    "simplifier",
];
const RECORDER: &[&str] = &[
    "log",
    "logs",
    "logger",
    "logging",
    "record",
    "recorder",
    "trace",
    "tracer",
    "track",
    "tracker",
    "telemetry",
    "metrics",
    "stats",
    "history",
    "checkpoint",
    "snapshot",
    "probe",
    "capture",
    "entire",
    "entirecontext",
    "ec",
    "transcript",
];
const CONTEXT: &[&str] = &[
    "context",
    "inject",
    "injector",
    "remind",
    "reminder",
    "memory",
    "remember",
    "prime",
    "load",
    "loader",
    "setup",
    "instructions",
    "baseline",
    "prompt",
];

/// Lower-case words of a name: split at anything that is no letter or digit, and before an inner capital.
fn words(name: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut previous_lower = false;
    for c in name.chars() {
        if (!c.is_alphanumeric() || (c.is_uppercase() && previous_lower)) && !word.is_empty() {
            out.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    if !word.is_empty() {
        out.push(word);
    }
    out
}

/// File names that say nothing without their folder.
const GENERIC: &[&str] = &["main", "index", "run", "cli", "__main__", "hook", "hooks", "script", "mod", "start", "entry", "entrypoint"];

fn base_name(path: &str) -> String {
    let mut parts = path.rsplit(['/', '\\']).filter(|p| !p.is_empty() && *p != "." && *p != "..");
    let Some(name) = parts.next() else { return String::new() };
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    match parts.next() {
        Some(folder) if GENERIC.contains(&stem.as_str()) && !folder.starts_with(['$', '~', '%']) => format!("{folder}/{name}"),
        _ => name.to_owned(),
    }
}

/// Cuts leading variables, drive letters and home directories: the same script of two checkouts is one.
fn below_roots(path: &str) -> String {
    let path = super::cut_home(&path.replace('\\', "/"));
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        // The end of `${VAR:-$HOME/.claude}`.
        let part = part.strip_suffix('}').filter(|p| !p.starts_with('$')).unwrap_or(part);
        let root = part.is_empty() || part == "." || part == "~" || part == "$HOME" || (part.len() == 2 && part.ends_with(':'));
        if root || part.starts_with(['$', '%']) {
            kept.clear();
        } else {
            kept.push(part);
        }
    }
    // An absolute path below no known root still names somebody's machine: its last two parts are enough.
    if path.starts_with('/') && kept.len() > 2 {
        kept.drain(..kept.len() - 2);
    }
    kept.join("/")
}

fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        } else if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
    }
    out.chars().take(60).collect::<String>().trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lenient::NAME_CAP;

    #[test]
    fn interpreters_directories_wrappers_and_arguments_do_not_change_the_name() {
        for command in [
            r#"node "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/hooks/pre-tool-use.mjs""#,
            "node --no-warnings ~/.claude/hooks/pre-tool-use.mjs --mode strict",
            "FOO=1 exec node /opt/x/pre-tool-use.mjs",
            "bash -lc 'cd \"$CLAUDE_PROJECT_DIR\" && node hooks/pre-tool-use.mjs'",
            "timeout 30 npx tsx hooks/pre-tool-use.mjs",
            r"C:\Users\ann\hooks\pre-tool-use.mjs",
            "if [ -f x ]; then node hooks/pre-tool-use.mjs; fi",
            "./hooks/pre-tool-use.mjs < /dev/null",
        ] {
            assert_eq!(gate_id("PreToolUse", command), "PreToolUse:pre-tool-use.mjs", "{command}");
        }
    }

    #[test]
    fn programs_generic_files_messages_and_inline_text_have_names_of_their_own() {
        let named = |c: &str| script_name(c);
        assert_eq!(named("sh -c 'if ! command -v entire >/dev/null 2>&1; then exit 0; fi; exec entire hooks claude-code stop'"), "entire");
        assert_eq!(named("go run ${CLAUDE_PROJECT_DIR}/cmd/entire/main.go hooks claude-code stop"), "entire/main.go");
        assert_eq!(named("terminal-notifier -title \"Claude: $(basename $PWD)\" -sound default"), "terminal-notifier");
        assert_eq!(named("Enriching with graph context..."), "enriching-with-graph-context");
        assert_eq!(named("callback"), "callback");
        assert_eq!(named("\"${CLAUDE_PLUGIN_ROOT}/hooks/run-hook.cmd\" session-start"), "session-start");
        assert_eq!(named("powershell -NoProfile -File .github/hooks/guard.ps1 -Strict"), "guard.ps1");
        assert_eq!(named("uv run python scripts/check.py"), "check.py");
        assert_eq!(named("python3 -m tools.guard --all"), "tools.guard");
        assert_eq!(named("npm run lint"), "npm run lint");
        let inline = named("echo \"started $(date)\" >> log.txt");
        assert!(inline.starts_with("inline-") && inline.len() == 15, "{inline}");
        assert_eq!(inline, named("  echo \"started $(date)\" >> log.txt "), "the same text has the same name");
        assert_ne!(inline, named("echo \"ended $(date)\" >> log.txt"));
        assert!(named("").starts_with("inline-"));
        assert!(named("'a secret sentence' || printf '%s' 'another'").starts_with("inline-"), "prose is no name");
    }

    #[test]
    fn one_script_has_one_identity_under_two_vendors_and_two_checkouts() {
        let a = identity("preToolUse", "bash .github/hooks/guard.sh");
        assert_eq!(a, "PreToolUse:.github/hooks/guard.sh");
        assert_eq!(identity("PreToolUse", "$CLAUDE_PROJECT_DIR/.github/hooks/guard.sh"), a);
        assert_eq!(identity("PreToolUse", "sh -c \"exec '${CLAUDE_PROJECT_DIR}/.github/hooks/guard.sh'\""), a);
        let with_default = r#"node "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/hooks/a.mjs""#;
        assert_eq!(identity("PreToolUse", with_default), identity("PreToolUse", "node ~/.claude/hooks/a.mjs"));
        assert_eq!(canonical_event("userPromptSubmitted"), "UserPromptSubmit");
        assert!(!identity("Stop", "/home/ann/w/x/hooks/a.sh").contains("ann"));
    }

    #[test]
    fn purpose_is_read_from_the_name_then_from_the_event() {
        let of = purpose;
        assert_eq!(of("PostToolUse", "sh hooks/type-check.sh"), Purpose::Control);
        assert_eq!(of("PostToolUse", "node context-budget.mjs"), Purpose::Control);
        assert_eq!(of("PreToolUse", "node pre-tool-use.mjs"), Purpose::Control);
        assert_eq!(of("SessionStart", "bash hooks/check-gopls.sh"), Purpose::Context, "nothing can be refused at a start");
        assert_eq!(of("Stop", "terminal-notifier -title x"), Purpose::Notifier);
        assert_eq!(of("PreToolUse", "entire hooks claude-code pre-task"), Purpose::Recorder);
        assert_eq!(of("userPromptSubmitted", "./a.sh"), Purpose::Context);
        assert_eq!(of("PostToolUse", "callback"), Purpose::Unknown);
        assert_eq!(of("preToolUse", "echo x"), Purpose::Control);
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_a_bounded_name(event in ".{0,40}", command in "(?s).{0,300}") {
            let id = gate_id(&event, &command);
            proptest::prop_assert!(id.chars().count() <= 2 * NAME_CAP + 1);
            proptest::prop_assert!(!id.chars().any(char::is_control));
            let _ = (identity(&event, &command), purpose(&event, &command), mode(&event));
        }

        #[test]
        fn any_shell_like_text_gives_a_name(command in "[a-z$ \"'\\\\;|&<>(){}=./-]{0,120}") {
            proptest::prop_assert!(!script_name(&command).is_empty());
        }
    }
}
