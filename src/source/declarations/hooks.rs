//! Owns declared hooks: each script of an event is one gate, whatever number of matchers start it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::model::decisions::GuardEvent;
use crate::model::gates::Gate;
use crate::model::id::{digest, stable_id};
use crate::model::vocabulary::{GateKind, Mode, Purpose};
use crate::source::emit::Emitter;
use crate::source::hook_identity::{self, clean_name};

use super::{FORMAT, File};

/// Events that a file may name at its top level: some plugins leave the `hooks` object out.
pub const EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "UserPromptSubmit",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "SessionStart",
    "SessionEnd",
    "Notification",
    "preToolUse",
    "postToolUse",
    "userPromptSubmitted",
    "sessionStart",
    "sessionEnd",
    "agentStop",
    "subagentStop",
    "errorOccurred",
    "permissionRequest",
    "preCompact",
    "notification",
];

/// What one entry runs.
struct Action {
    gate_id: String,
    identity: Option<String>,
    purpose: Purpose,
    kind: GateKind,
    mode: Option<Mode>,
    aliases: Vec<String>,
    /// Text whose place in the file is the entry's line.
    anchor: String,
}

pub fn read(root: &Map<String, Value>, file: &File<'_>, out: &mut Emitter<'_>) {
    let declared = root.get("hooks").and_then(Value::as_object);
    let bare = declared.is_none();
    let disabled = root.get("disableAllHooks").and_then(Value::as_bool) == Some(true);
    let mut gates: BTreeMap<String, Gate> = BTreeMap::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (event, entries) in declared.unwrap_or(root) {
        let Some(entries) = entries.as_array().filter(|_| !bare || EVENTS.contains(&event.as_str())) else { continue };
        for entry in entries {
            let matcher = entry.get("matcher");
            // Claude Code groups hooks under a matcher, Copilot lists them flat.
            let group = entry.get("hooks").and_then(Value::as_array);
            for hook in group.map_or(std::slice::from_ref(entry), Vec::as_slice) {
                out.summary.records += 1;
                let Some(action) = hook.as_object().and_then(|hook| action(event, hook, file)) else {
                    out.quarantine(
                        file.line_of(event, 0),
                        0,
                        0,
                        "schema",
                        Some(format!("a hook of {} that runs nothing", clean_name(event))),
                    );
                    continue;
                };
                let nth = seen.entry(action.anchor.clone()).or_insert(0);
                let line = file.line_of(&action.anchor, *nth);
                *nth += 1;
                let covers = covers(matcher.or_else(|| hook.get("matcher")), hook.get("if"));
                merge(&mut gates, action, covers, line, file, out);
            }
        }
    }
    for (_, gate) in gates {
        if disabled {
            out.facts.guard_events.push(GuardEvent {
                guard_event_id: stable_id(&[FORMAT, "disabled", &file.place.declared_in, &gate.gate_id]),
                native_run_key: None,
                gate_id: gate.gate_id.clone(),
                event: "disabled".to_owned(),
                detail: Some("disableAllHooks".to_owned()),
                at: None,
                source_id: file.source_id.clone(),
                source_line: file.line_of("disableAllHooks", 0),
            });
        }
        out.facts.gates.push(gate);
    }
}

fn merge(gates: &mut BTreeMap<String, Gate>, action: Action, covers: Vec<String>, line: i64, file: &File<'_>, out: &mut Emitter<'_>) {
    if let Some(gate) = gates.get_mut(&action.gate_id) {
        if gate.identity != action.identity {
            out.warn("gates_share_a_name", Some(line), Some(&action.gate_id));
        }
        let known = gate.covers.get_or_insert_default();
        known.extend(covers);
        known.sort();
        known.dedup();
        return;
    }
    gates.insert(
        action.gate_id.clone(),
        Gate {
            gate_id: action.gate_id,
            harness: Some(file.place.harness.to_owned()),
            purpose: action.purpose,
            kind: Some(action.kind),
            mode: action.mode,
            gate_order: None,
            irreversible: None,
            pinned: None,
            pass_recorded: None,
            covers: Some(covers),
            aliases: (!action.aliases.is_empty()).then_some(action.aliases),
            declared_in: Some(file.place.declared_in.clone()),
            identity: action.identity,
            source_id: file.source_id.clone(),
            source_line: line,
        },
    );
}

fn action(event: &str, hook: &Map<String, Value>, file: &File<'_>) -> Option<Action> {
    let text = |key: &str| hook.get(key).and_then(Value::as_str).filter(|t| !t.trim().is_empty());
    // One hook may have a command a platform: the first that is given names the gate.
    let commands: Vec<&str> = ["command", "bash", "linux", "osx", "powershell", "windows"].iter().filter_map(|key| text(key)).collect();
    let listed = hook.get("command").and_then(Value::as_array).map(|words| {
        let words = words.iter().filter_map(Value::as_str);
        words.map(|w| if w.contains(char::is_whitespace) { format!("'{w}'") } else { w.to_owned() }).collect::<Vec<_>>().join(" ")
    });
    let named = |tail: String, purpose, kind, anchor: &str| {
        Some(Action {
            gate_id: format!("{}:{}", clean_name(event), clean_name(&tail)),
            identity: Some(clean_name(&format!("{}:{tail}", hook_identity::canonical_event(event)))),
            purpose,
            kind,
            mode: hook_identity::mode(event),
            aliases: copilot_alias(event),
            anchor: anchor.to_owned(),
        })
    };
    if let Some(command) = commands.first().copied().or(listed.as_deref()) {
        let gate_id = hook_identity::gate_id(event, command);
        let mut aliases = copilot_alias(event);
        aliases.extend(commands.iter().skip(1).map(|other| hook_identity::gate_id(event, other)).filter(|id| *id != gate_id));
        aliases.dedup();
        // What runs beside the work cannot stop it.
        let beside = hook.get("async").and_then(Value::as_bool) == Some(true);
        return Some(Action {
            gate_id,
            identity: Some(hook_identity::identity(event, command)),
            purpose: hook_identity::purpose(event, command),
            kind: GateKind::Deterministic,
            mode: if beside { Some(Mode::Observe) } else { hook_identity::mode(event) },
            aliases,
            anchor: commands.first().map_or_else(|| event.to_owned(), |c| (*c).to_owned()),
        });
    }
    if let Some(url) = text("url") {
        // Of an address only the host is kept: the rest may hold secrets.
        let host = url.split("://").last().unwrap_or(url).split(['/', '?', '#']).next().unwrap_or("");
        let host = host.rsplit('@').next().unwrap_or(host);
        return named(format!("http:{host}"), hook_identity::purpose(event, ""), GateKind::External, url);
    }
    if let Some(prompt) = text("prompt") {
        let kind = text("type").unwrap_or("prompt");
        let tail = format!("{}-{}", if kind == "agent" { "agent" } else { "prompt" }, &digest(prompt.as_bytes())[..8]);
        // Copilot types the text in as the user would; Claude Code asks a model whether to go on.
        return if file.place.is_copilot() {
            named(tail, Purpose::Context, GateKind::Deterministic, prompt)
        } else {
            named(tail, Purpose::Control, GateKind::Model, prompt)
        };
    }
    if let Some(tool) = text("tool").or_else(|| text("toolName")) {
        let server = text("server").or_else(|| text("serverName")).unwrap_or("");
        return named(format!("mcp:{server}/{tool}"), hook_identity::purpose(event, tool), GateKind::External, tool);
    }
    None
}

/// Copilot's log names no command, so every declared hook of an event shows there as `<event>:hook`. Copilot reads the settings of
/// Claude Code too.
fn copilot_alias(event: &str) -> Vec<String> {
    let logged = match hook_identity::canonical_event(event).as_str() {
        "PreToolUse" => "preToolUse",
        "PostToolUse" => "postToolUse",
        "UserPromptSubmit" => "userPromptSubmitted",
        "SessionStart" => "sessionStart",
        "SessionEnd" => "sessionEnd",
        "Stop" => "agentStop",
        "SubagentStop" => "subagentStop",
        "ErrorOccurred" => "errorOccurred",
        "PermissionRequest" => "permissionRequest",
        "PreCompact" => "preCompact",
        "Notification" => "notification",
        _ => return Vec::new(),
    };
    vec![format!("{logged}:hook")]
}

/// What starts the hook: the tools (or sources) its matcher names, `*` for all, and its condition.
fn covers(matcher: Option<&Value>, condition: Option<&Value>) -> Vec<String> {
    let pattern = matcher.and_then(Value::as_str).map(str::trim).unwrap_or("");
    let mut covers: Vec<String> = match pattern {
        "" | "*" | ".*" => vec!["*".to_owned()],
        // A plain alternation is a list of names; anything else is a pattern and stays one.
        _ if pattern.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '|' | '-' | ' ')) => {
            pattern.split('|').map(str::trim).filter(|t| !t.is_empty()).map(clean_name).collect()
        }
        _ => vec![clean_name(pattern)],
    };
    if let Some(condition) = condition.and_then(Value::as_str) {
        covers.push(clean_name(&format!("if {condition}")));
    }
    covers.sort();
    covers.dedup();
    covers
}
