//! Self-made settings files in the shapes that the vendors document and plugins use.

use proptest::prelude::*;

use crate::model::gates::Gate;
use crate::model::vocabulary::{GateKind, Mode, Purpose};
use crate::source::emit::{Collect, Facts, Summary};
use crate::source::{Input, claim, head_of, read_file};

/// Reads a file that stands at this path in some repository; `None`: no source of this format claims it.
fn read(path: &str, text: &str) -> Option<(Facts, Summary)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    let input = Input::new(&path).unwrap();
    let source = claim(&input, &head_of(&input).unwrap()).filter(|s| s.format() == super::FORMAT)?;
    let mut sink = Collect::default();
    let summary = read_file(source, &input, &mut sink).unwrap();
    Some((sink.0, summary))
}

fn gate<'f>(facts: &'f Facts, id: &str) -> &'f Gate {
    facts.gates.iter().find(|g| g.gate_id == id).unwrap_or_else(|| panic!("{id} among {:?}", facts.gates))
}

const SETTINGS: &str = r#"{
  "permissions": {
    "defaultMode": "acceptEdits",
    "deny": ["Bash(curl:*)", "Read(//home/ann/.ssh/**)"],
    "ask": ["Bash(git push:*)"],
    "allow": ["WebSearch", 7]
  },
  "hooks": {
    "PreToolUse": [
      {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "node \"$CLAUDE_PROJECT_DIR/.claude/hooks/guard.mjs\" --strict"}]},
      {"matcher": "Bash", "hooks": [
        {"type": "command", "command": "node .claude/hooks/guard.mjs", "if": "Bash(git push *)"},
        {"type": "prompt", "prompt": "Is this safe?"},
        {"type": "http", "url": "https://user:pass@hooks.example.org/x?token=abc"}
      ]}
    ],
    "SessionStart": [{"hooks": [{"type": "command", "command": "bash .claude/hooks/load-context.sh"}]}],
    "Stop": [{"hooks": [{"type": "command", "command": "say done", "async": true}, {"type": "command"}]}]
  }
}"#;

#[test]
fn claude_hooks_become_gates_with_identity_purpose_matchers_and_place() {
    let (facts, summary) = read(".claude/settings.json", SETTINGS).unwrap();
    let guard = gate(&facts, "PreToolUse:guard.mjs");
    assert_eq!(guard.identity.as_deref(), Some("PreToolUse:.claude/hooks/guard.mjs"));
    assert_eq!(guard.covers.as_deref().unwrap(), ["Bash", "Edit", "Write", "if Bash(git push *)"], "one script, two matchers: one gate");
    assert_eq!((guard.purpose, guard.kind, guard.mode), (Purpose::Control, Some(GateKind::Deterministic), None));
    assert_eq!((guard.declared_in.as_deref(), guard.source_line), (Some(".claude/settings.json"), 10));
    assert_eq!(guard.aliases.as_deref().unwrap(), ["preToolUse:hook"]);
    let context = gate(&facts, "SessionStart:load-context.sh");
    assert_eq!((context.purpose, context.mode), (Purpose::Context, Some(Mode::Observe)));
    assert_eq!(context.covers.as_deref().unwrap(), ["*"]);
    let notifier = gate(&facts, "Stop:say");
    assert_eq!((notifier.purpose, notifier.mode), (Purpose::Notifier, Some(Mode::Observe)));
    assert!(facts.gates.iter().any(|g| g.gate_id.starts_with("PreToolUse:prompt-") && g.kind == Some(GateKind::Model)));
    assert_eq!(gate(&facts, "PreToolUse:http:hooks.example.org").kind, Some(GateKind::External));
    assert_eq!((summary.records, summary.quarantined), (12, 2));
    assert!(summary.capabilities.contains("declared_gates"));
    let shown = format!("{facts:?}");
    assert!(!shown.contains("token=abc") && !shown.contains("pass@") && !shown.contains("Is this safe"));
}

#[test]
fn permission_rules_become_rules_of_the_gate_that_decides() {
    let (facts, _) = read(".claude/settings.local.json", SETTINGS).unwrap();
    let rules: Vec<_> = facts.rules.iter().map(|r| (r.rule_id.as_str(), r.gate_id.as_deref().unwrap())).collect();
    assert_eq!(
        rules,
        [
            ("deny:Bash(curl:*)", "permission:rule"),
            ("deny:Read(~/.ssh/**)", "permission:rule"),
            ("ask:Bash(git push:*)", "permission:user"),
            ("allow:WebSearch", "permission:rule"),
        ]
    );
    assert_eq!(facts.rules[2].covers.as_deref().unwrap(), ["Bash"]);
    assert_eq!((facts.rules[2].source_line, facts.rules[2].path.as_deref()), (5, Some(".claude/settings.local.json")));
    assert_eq!(gate(&facts, "permission:user").kind, Some(GateKind::Human));
    assert_eq!(gate(&facts, "permission:rule").mode, Some(Mode::Block));
    assert_eq!(facts.guard_events[0].detail.as_deref(), Some("defaultMode acceptEdits"));
}

#[test]
fn copilot_hooks_are_flat_and_name_a_command_a_platform() {
    let text = r#"{"version":1,"hooks":{
        "preToolUse":[{"type":"command","bash":"./scripts/check.sh","powershell":"./scripts/check.ps1","timeoutSec":30}],
        "sessionStart":[{"type":"prompt","prompt":"/plan"}],
        "agentStop":[{"command":"entire hooks copilot stop"}]}}"#;
    let (facts, summary) = read(".github/hooks/any-name.json", text).unwrap();
    let check = gate(&facts, "preToolUse:check.sh");
    assert_eq!(check.aliases.as_deref().unwrap(), ["preToolUse:hook", "preToolUse:check.ps1"]);
    assert_eq!((check.harness.as_deref(), check.declared_in.as_deref()), (Some("copilot-cli"), Some(".github/hooks/any-name.json")));
    assert_eq!(check.identity.as_deref(), Some("PreToolUse:scripts/check.sh"));
    assert_eq!(gate(&facts, "agentStop:entire").purpose, Purpose::Recorder);
    let prompt = facts.gates.iter().find(|g| g.gate_id.starts_with("sessionStart:prompt-")).unwrap();
    assert_eq!((prompt.purpose, prompt.kind), (Purpose::Context, Some(GateKind::Deterministic)));
    assert_eq!((summary.records, summary.quarantined), (3, 0));
}

#[test]
fn plugins_declare_hooks_with_and_without_the_outer_object() {
    let inner =
        r#""PostToolUse":[{"matcher":"Edit","hooks":[{"type":"command","command":["python3","${CLAUDE_PLUGIN_ROOT}/hooks/lint.py"]}]}]"#;
    for text in [format!(r#"{{"description":"x","hooks":{{{inner}}}}}"#), format!("{{{inner}}}")] {
        let (facts, _) = read("guard/hooks/hooks.json", &text).unwrap();
        let lint = gate(&facts, "PostToolUse:lint.py");
        assert_eq!((lint.purpose, lint.declared_in.as_deref()), (Purpose::Control, Some("guard/hooks/hooks.json")));
        assert_eq!(lint.identity.as_deref(), Some("PostToolUse:hooks/lint.py"));
    }
    let (facts, _) = read("guard/.claude-plugin/plugin.json", &format!(r#"{{"name":"guard","hooks":{{{inner}}}}}"#)).unwrap();
    assert_eq!(facts.gates.len(), 1);
    let (facts, _) = read("guard/.claude-plugin/plugin.json", r#"{"name":"guard","hooks":"./hooks/hooks.json"}"#).unwrap();
    assert!(facts.gates.is_empty(), "a path declares nothing here");
}

#[test]
fn disabled_hooks_are_declared_and_said_to_be_disabled() {
    let (facts, _) =
        read(".claude/settings.json", r#"{"disableAllHooks":true,"hooks":{"Stop":[{"hooks":[{"command":"./check.sh"}]}]}}"#).unwrap();
    assert_eq!((facts.guard_events[0].event.as_str(), facts.guard_events[0].gate_id.as_str()), ("disabled", "Stop:check.sh"));
}

#[test]
fn two_scripts_of_one_name_are_one_gate_and_a_warning() {
    let hook = |path: &str| format!(r#"{{"hooks":[{{"command":"{path}"}}]}}"#);
    let (facts, _) =
        read(".claude/settings.json", &format!(r#"{{"hooks":{{"Stop":[{},{}]}}}}"#, hook("a/check.sh"), hook("b/check.sh"))).unwrap();
    assert_eq!((facts.gates.len(), facts.warnings[0].kind.as_str()), (1, "gates_share_a_name"));
}

#[test]
fn other_json_files_are_left_to_others_and_broken_ones_are_quarantined() {
    for (path, text) in [
        ("hooks/other.json", SETTINGS),
        ("settings.json", SETTINGS),
        (".vscode/settings.json", SETTINGS),
        (".github/workflows/x.json", SETTINGS),
        ("a/hooks/hooks.json", r#"{"repos":[]}"#),
        (".claude/settings.json", "[]"),
        ("package.json", r#"{"hooks":{}}"#),
    ] {
        assert!(read(path, text).is_none(), "{path}");
    }
    let (facts, summary) = read(".claude/settings.json", "{\n\"hooks\": {\n oops").unwrap();
    assert_eq!((facts.quarantine[0].reason.as_str(), facts.quarantine[0].source_line, summary.records), ("malformed", 3, 1));
    let (_, summary) = read(".claude/settings.json", r#"{"model":"x"}"#).unwrap();
    assert_eq!((summary.records, summary.quarantined), (0, 0));
}

#[test]
fn a_home_settings_file_is_told_from_a_projects() {
    let place = |path: &str| {
        let input = Input { path: path.into(), shown_path: path.to_owned(), source_id: String::new() };
        super::Place::of(&input).map(|p| p.declared_in)
    };
    assert_eq!(place("~/.claude/settings.json").as_deref(), Some("~/.claude/settings.json"));
    assert_eq!(place("~/w/x/.claude/settings.json").as_deref(), Some(".claude/settings.json"));
    assert_eq!(place("~/.copilot/hooks/a.json").as_deref(), Some(".copilot/hooks/a.json"));
}

proptest! {
    #[test]
    fn any_settings_are_read_without_panic(
        event in "[A-Za-z\\PC]{0,12}",
        matcher in "\\PC{0,12}",
        command in "\\PC{0,40}",
        shape in 0usize..7,
    ) {
        let q = |t: &str| serde_json::to_string(t).unwrap();
        let hook = [
            format!(r#"{{"command":{}}}"#, q(&command)),
            format!(r#"{{"command":[{},5]}}"#, q(&command)),
            format!(r#"{{"url":{}}}"#, q(&command)),
            format!(r#"{{"prompt":{},"type":"agent"}}"#, q(&command)),
            format!(r#"{{"tool":{}}}"#, q(&command)),
            "7".to_owned(),
            "null".to_owned(),
        ];
        let text = format!(
            r#"{{"hooks":{{{}:[{{"matcher":{},"hooks":[{}]}},{}]}},"permissions":{{"deny":[{}]}}}}"#,
            q(&event), q(&matcher), hook[shape], hook[shape], q(&command)
        );
        let (facts, summary) = read(".claude/settings.json", &text).unwrap();
        prop_assert_eq!(summary.records, 3);
        prop_assert!(facts.gates.iter().all(|g| g.gate_id.chars().count() <= 241));
    }
}
