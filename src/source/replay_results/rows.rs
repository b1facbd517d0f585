//! Owns the rows: each cell of a results file with what the file says of its fixture, its validator and its baseline.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::FORMAT;
use super::shape::{Cell, Fixture, Flip, Issue, Replay, Time};
use crate::model::id::stable_id;
use crate::model::replay_results::ReplayResult;
use crate::model::vocabulary::{FixtureClass, Severity};
use crate::source::emit::Emitter;
use crate::source::lenient::name;

/// Issues that fail the check unless waived: what `replay::weigh` says of them, which a reader of files must not depend on. A test holds
/// the two together.
pub(super) const FAILING: &[&str] = &["missed", "newly_missed", "false_alarm", "skipped_reference", "unanswered", "self_acquittal"];

impl Replay {
    /// Emits every cell, and what of the baseline no cell stands for.
    pub(super) fn rows(&self, cells: &[Value], out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let mut seen: HashMap<(String, String), usize> = HashMap::new();
        let timed = self.times.len() == cells.len();
        for (at, value) in cells.iter().enumerate() {
            let line = at as i64 + 1;
            out.summary.records += 1;
            let cell = match Cell::deserialize(value) {
                Ok(cell) if ![&cell.fixture, &cell.validator, &cell.gate].iter().any(|id| name(id).is_empty()) => cell,
                _ => {
                    out.quarantine(
                        line,
                        0,
                        value.to_string().len(),
                        "schema",
                        Some("no cell with fixture, validator, gate and outcome".to_owned()),
                    );
                    continue;
                }
            };
            if !self.fixtures.contains_key(&cell.fixture) {
                out.warn("unknown_fixture", Some(line), Some(&name(&cell.fixture)));
            }
            let time = if timed { self.times.get(at).cloned().unwrap_or_default() } else { Time::default() };
            self.row(&cell, &time, false, line, &mut seen, out);
            out.flush_if_full()?;
        }
        let mut line = cells.len() as i64;
        for (flip, of) in &self.gone {
            // Those whose cell is there have been told by it.
            if seen.contains_key(&(name(&of.fixture), name(&of.validator))) {
                continue;
            }
            line += 1;
            out.summary.records += 1;
            let cell = Cell {
                fixture: of.fixture.clone(),
                validator: of.validator.clone(),
                gate: self.gate_of(of),
                outcome: of.now,
                expected: None,
                why: Some("the validator is gone".to_owned()),
                findings: Vec::new(),
                substance: None,
                before: Some(of.before),
                flip: Some(*flip),
            };
            self.row(&cell, &Time::default(), true, line, &mut seen, out);
        }
        Ok(())
    }

    /// The gate of a validator that is gone, where an issue names it; else the validator stands for it.
    fn gate_of(&self, flip: &Flip) -> String {
        let issues = self.issues.get(&flip.fixture).map(Vec::as_slice).unwrap_or_default();
        let told = issues.iter().find(|i| i.validator.as_ref() == Some(&flip.validator)).and_then(|i| i.gate.clone());
        told.unwrap_or_else(|| flip.validator.clone())
    }

    fn row(&self, cell: &Cell, time: &Time, gone: bool, line: i64, seen: &mut HashMap<(String, String), usize>, out: &mut Emitter<'_>) {
        let (fixture_id, validator_id) = (name(&cell.fixture), name(&cell.validator));
        let times = seen.entry((fixture_id.clone(), validator_id.clone())).or_default();
        let occurrence = times.to_string();
        *times += 1;
        if *times > 1 {
            out.warn("id_collision", Some(line), Some(&format!("{fixture_id} × {validator_id}")));
        }
        let fixture = self.fixtures.get(&cell.fixture);
        let word = |of: fn(&Fixture) -> &Option<String>| fixture.and_then(|f| of(f).as_deref());
        let kind = word(|f| &f.kind);
        let told: Vec<&Issue> = self.issues.get(&cell.fixture).into_iter().flatten().filter(|i| i.is_of(cell)).collect();
        let failing: Vec<&&Issue> = told.iter().filter(|i| FAILING.contains(&i.kind.as_str())).collect();
        let mut issues: Vec<String> = told.iter().map(|i| name(&i.kind)).collect();
        issues.sort_unstable();
        issues.dedup();
        out.facts.replay_results.push(ReplayResult {
            replay_result_id: stable_id(&[FORMAT, &self.id, &validator_id, &fixture_id, &occurrence]),
            replay_id: self.id.clone(),
            results_digest: self.results_digest.clone(),
            replayed_at: self.at,
            mechanic_version: self.version.clone(),
            corpus_digest: self.corpus_digest.clone(),
            part: self.part.clone(),
            exit_code: self.exit,
            isolation_level: self.level.clone(),
            isolation_missing: self.missing.clone(),
            validator_digest: self.validators.get(&cell.validator).cloned().flatten().map(|d| name(&d)),
            gate_id: name(&cell.gate),
            fixture_digest: word(|f| &f.digest).map(name),
            stimulus_kind: kind.map(name),
            fixture_class: word(|f| &f.classification).and_then(FixtureClass::parse),
            severity: word(|f| &f.severity).and_then(Severity::parse),
            failure_mode: word(|f| &f.failure_mode).map(name),
            expected_outcome: cell.expected,
            outcome: cell.outcome,
            reason: cell.why.as_deref().map(own_words).filter(|why| !why.is_empty()),
            issues,
            waived: (!failing.is_empty()).then(|| failing.iter().all(|i| i.waived.is_some())),
            n_findings: cell.findings.len() as i64,
            substance: cell.substance.filter(|n| *n >= 0),
            wall_us: time.took_us.filter(|us| *us >= 0),
            memo_hit: time.remembered,
            emptied_outcome: kind.and_then(|k| self.emptied.get(&(cell.validator.clone(), k.to_owned())).copied()),
            baseline: self.baseline.clone(),
            baseline_outcome: cell.before,
            flip: cell.flip,
            gone,
            fixture_id,
            validator_id,
            source_id: out.source_id.clone(),
            source_line: line,
        });
    }
}

/// The reason as far as it is replay's own: what a validator printed stands behind a colon.
fn own_words(why: &str) -> String {
    let own = why.split("; it last said").next().unwrap_or_default();
    name(own.split(": ").next().unwrap_or_default())
}
