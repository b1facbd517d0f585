//! Owns the `gates` and `rules` rows a trace gives rise to: those the profile knows, and the stages only the trace shows.

use std::collections::BTreeSet;

use super::rows::Judged;
use crate::config::profile::{GateProfile, Profile, RuleProfile};
use crate::config::version::Release;
use crate::model::gates::{Gate, Rule};
use crate::source::emit::Emitter;

/// Rules the profile does not know, remembered for one file.
const REMEMBERED: usize = 1_000;

/// Rules a trace shows and the profile does not know.
#[derive(Default)]
pub struct Shown {
    unknown: BTreeSet<(String, String)>,
}

impl Shown {
    pub fn add(&mut self, profile: &Profile, judged: &Judged) {
        if let Some(rule) = &judged.run.rule_id
            && profile.rule(rule).is_none()
            && self.unknown.len() < REMEMBERED
        {
            self.unknown.insert((judged.run.gate_id.clone(), rule.clone()));
        }
    }

    /// Writes the rows, once a file. A file without spans shows nothing.
    pub fn declare(self, profile: &Profile, first_line: i64, out: &mut Emitter<'_>) {
        let source_id = out.source_id.clone();
        out.facts.gates.extend(profile.gates.iter().map(|g| gate(profile, g, &source_id, first_line)));
        out.facts.rules.extend(profile.rules.iter().map(|r| known(r, &source_id, first_line)));
        out.facts
            .rules
            .extend(self.unknown.into_iter().map(|(gate, id)| Rule { gate_id: Some(gate), ..empty(id, &source_id, first_line) }));
    }
}

fn gate(profile: &Profile, gate: &GateProfile, source_id: &str, source_line: i64) -> Gate {
    Gate {
        gate_id: gate.id.clone(),
        harness: Some(profile.harness.clone()),
        purpose: gate.purpose,
        kind: gate.kind,
        mode: gate.mode,
        gate_order: Some(gate.order),
        irreversible: gate.irreversible,
        pinned: gate.pinned,
        pass_recorded: gate.pass_recorded,
        covers: gate.covers.clone(),
        aliases: gate.aliases.clone(),
        declared_in: None,
        identity: None,
        source_id: source_id.to_owned(),
        source_line,
    }
}

fn known(rule: &RuleProfile, source_id: &str, source_line: i64) -> Rule {
    let version = |r: Option<Release>| r.map(|r| format!("{}.{}.{}", r.major, r.minor, r.patch));
    Rule {
        gate_id: Some(rule.gate.clone()),
        clause: rule.clause.clone().filter(|c| *c != rule.id),
        pinned: rule.pinned,
        since: version(rule.since),
        until: version(rule.until),
        covers: rule.covers.clone(),
        ..empty(rule.id.clone(), source_id, source_line)
    }
}

pub fn empty(rule_id: String, source_id: &str, source_line: i64) -> Rule {
    Rule {
        rule_id,
        gate_id: None,
        clause: None,
        path: None,
        lines: None,
        tokens: None,
        load: None,
        loaded_by: None,
        pinned: None,
        since: None,
        until: None,
        covers: None,
        source_id: source_id.to_owned(),
        source_line,
    }
}
