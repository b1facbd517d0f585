//! Owns declared permission rules: each is a rule of the gate that decides by it.

use serde_json::{Map, Value};

use crate::model::decisions::GuardEvent;
use crate::model::gates::{Gate, Rule};
use crate::model::id::stable_id;
use crate::model::vocabulary::{GateKind, Mode, Purpose};
use crate::source::cut_home;
use crate::source::emit::Emitter;
use crate::source::hook_identity::clean_name;

use super::{FORMAT, File};

pub fn read(root: &Map<String, Value>, file: &File<'_>, out: &mut Emitter<'_>) {
    let Some(permissions) = root.get("permissions").and_then(Value::as_object) else { return };
    let mut decides = false;
    let mut asks = false;
    for (list, gate) in [("deny", "permission:rule"), ("ask", "permission:user"), ("allow", "permission:rule")] {
        let Some(rules) = permissions.get(list).and_then(Value::as_array) else { continue };
        for rule in rules {
            out.summary.records += 1;
            let Some(pattern) = rule.as_str().filter(|r| !r.trim().is_empty()) else {
                out.quarantine(file.line_of(list, 0), 0, 0, "schema", Some(format!("a rule of {list} that is no text")));
                continue;
            };
            (decides, asks) = (decides || list != "ask", asks || list == "ask");
            out.facts.rules.push(Rule {
                rule_id: clean_name(&format!("{list}:{}", without_home(pattern))),
                gate_id: Some(gate.to_owned()),
                clause: None,
                path: Some(file.place.declared_in.clone()),
                lines: Some(1),
                tokens: None,
                load: None,
                loaded_by: None,
                pinned: None,
                since: None,
                until: None,
                covers: Some(vec![clean_name(pattern.split('(').next().unwrap_or(pattern))]),
                source_id: file.source_id.clone(),
                source_line: file.line_of(pattern, 0),
            });
        }
    }
    let line = file.line_of("permissions", 0);
    if decides {
        out.facts.gates.push(gate("permission:rule", GateKind::Deterministic, line, file));
    }
    if asks {
        out.facts.gates.push(gate("permission:user", GateKind::Human, line, file));
    }
    if let Some(mode) = permissions.get("defaultMode").and_then(Value::as_str) {
        out.facts.guard_events.push(GuardEvent {
            guard_event_id: stable_id(&[FORMAT, "configured", &file.place.declared_in, mode]),
            native_run_key: None,
            gate_id: "permission:user".to_owned(),
            event: "configured".to_owned(),
            detail: Some(clean_name(&format!("defaultMode {mode}"))),
            at: None,
            source_id: file.source_id.clone(),
            source_line: file.line_of("defaultMode", 0),
        });
    }
}

fn gate(gate_id: &str, kind: GateKind, source_line: i64, file: &File<'_>) -> Gate {
    Gate {
        gate_id: gate_id.to_owned(),
        harness: Some(file.place.harness.to_owned()),
        purpose: Purpose::Control,
        kind: Some(kind),
        mode: Some(Mode::Block),
        gate_order: None,
        irreversible: None,
        pinned: None,
        pass_recorded: None,
        covers: None,
        aliases: None,
        declared_in: Some(file.place.declared_in.clone()),
        identity: None,
        source_id: file.source_id.clone(),
        source_line,
    }
}

/// `Read(/home/ann/x)` and `Read(//home/ann/x)` name somebody: the home folder is cut.
fn without_home(pattern: &str) -> String {
    let Some((tool, rest)) = pattern.split_once('(') else { return cut_home(pattern) };
    let rooted = rest.strip_prefix('/').filter(|r| r.starts_with('/')).unwrap_or(rest);
    format!("{tool}({}", cut_home(rooted))
}
