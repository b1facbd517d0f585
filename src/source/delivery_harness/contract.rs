//! Owns `harness-contract.yml`: the gates and clauses a harness declares, whether or not any run shows them.

use std::collections::HashMap;

use serde_yaml_ng::{Mapping, Value};

use super::declare::empty;
use super::whole;
use crate::model::gates::{Gate, Rule};
use crate::model::vocabulary::{Mode, Purpose};
use crate::source::emit::Emitter;
use crate::source::lenient::name;
use crate::source::{Input, Probe, Source};

/// List of clauses of version 1 of the contract, which knew no gates.
const VERSION_1: &str = "failure_modes";

pub struct Contract;

impl Source for Contract {
    fn format(&self) -> &'static str {
        "agent-delivery-harness-contract"
    }

    fn version(&self) -> u32 {
        1
    }

    fn state(&self, _input: &Input) -> Option<String> {
        super::profile_digest()
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        let lists = |key: &str| probe.head.split(|b| *b == b'\n').any(|line| line.trim_ascii_end() == key.as_bytes());
        let named = ["harness-contract.yml", "harness-contract.yaml"].iter().any(|name| super::is_named(probe, name, &['.', '-', '_']));
        named && (lists("gate_start:") || lists("gate_review:") || lists("failure_modes:"))
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let Some(bytes) = whole::read(input, out)? else { return Ok(()) };
        let text = String::from_utf8_lossy(&bytes);
        let Ok(Value::Mapping(contract)) = serde_yaml_ng::from_str::<Value>(&text) else {
            out.summary.records += 1;
            out.quarantine(1, 0, bytes.len(), "malformed", None);
            return Ok(());
        };
        let lines = lines_of(&text);
        let declared_in = declared_in(input);
        let mut order = 0;
        for (key, value) in &contract {
            let Some(section) = key.as_str().filter(|k| k.starts_with("gate_") || *k == VERSION_1) else { continue };
            let Value::Sequence(clauses) = value else { continue };
            let section = name(section);
            let is_gate = section != VERSION_1;
            let mut hardest = None;
            for (at, clause) in clauses.iter().enumerate() {
                out.summary.records += 1;
                let Some((id, clause)) = clause.as_mapping().and_then(|c| Some((text_of(c, "id")?, c))) else {
                    out.quarantine(at as i64 + 1, 0, 0, "schema", Some(format!("a clause without id in {section}")));
                    continue;
                };
                let mode = text_of(clause, "mode").or_else(|| text_of(clause, "kind")).and_then(|m| mode_of(&m));
                hardest = harder(hardest, mode);
                let line = lines.get(&(section.clone(), id.clone())).copied().unwrap_or(1);
                out.facts.rules.push(Rule {
                    gate_id: is_gate.then(|| section.clone()),
                    path: text_of(clause, "owner"),
                    ..empty(id, &out.source_id, line)
                });
            }
            if is_gate {
                order += 1;
                let line = lines.get(&(section.clone(), String::new())).copied().unwrap_or(1);
                out.facts.gates.push(gate(section, hardest, order, &declared_in, &out.source_id, line));
            }
        }
        Ok(())
    }
}

fn gate(gate_id: String, mode: Option<Mode>, order: i64, declared_in: &str, source_id: &str, source_line: i64) -> Gate {
    let known = super::profile().ok().and_then(|p| p.gate(&gate_id));
    Gate {
        harness: Some(super::FORMAT.to_owned()),
        purpose: known.map_or(Purpose::Control, |g| g.purpose),
        kind: known.and_then(|g| g.kind),
        mode,
        gate_order: Some(order),
        irreversible: known.and_then(|g| g.irreversible),
        pinned: None,
        pass_recorded: known.and_then(|g| g.pass_recorded),
        covers: known.and_then(|g| g.covers.clone()),
        aliases: None,
        declared_in: Some(declared_in.to_owned()),
        identity: None,
        source_id: source_id.to_owned(),
        source_line,
        gate_id,
    }
}

fn mode_of(word: &str) -> Option<Mode> {
    match word {
        "hard" => Some(Mode::Block),
        "warn" => Some(Mode::Warn),
        _ => None,
    }
}

/// A gate blocks if one of its clauses does.
fn harder(a: Option<Mode>, b: Option<Mode>) -> Option<Mode> {
    match (a, b) {
        (Some(Mode::Block), _) | (_, Some(Mode::Block)) => Some(Mode::Block),
        (a, b) => a.or(b),
    }
}

fn text_of(clause: &Mapping, key: &str) -> Option<String> {
    let value = clause.get(key)?;
    value.as_str().map(name).filter(|text| !text.is_empty())
}

/// Path in the repository where it can be told, else the file's name.
fn declared_in(input: &Input) -> String {
    let file = input.name();
    let folder = input.path.parent().and_then(|p| p.file_name()).and_then(|f| f.to_str());
    if folder == Some("docs") { format!("docs/{}", name(file)) } else { name(file) }
}

/// Line of each section (empty id) and of each clause in it.
fn lines_of(text: &str) -> HashMap<(String, String), i64> {
    let mut lines = HashMap::new();
    let mut section = String::new();
    for (number, line) in (1i64..).zip(text.lines()) {
        if let Some(key) = line.trim_end().strip_suffix(':').filter(|k| !k.is_empty() && !k.starts_with([' ', '#', '-'])) {
            section = name(key);
            lines.entry((section.clone(), String::new())).or_insert(number);
        } else if let Some(id) = line.trim().strip_prefix("- id:") {
            lines.entry((section.clone(), name(id.trim().trim_matches(['"', '\''])))).or_insert(number);
        }
    }
    lines
}
