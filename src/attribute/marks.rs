//! Owns `gate_run_marks`: what only other rows tell of a gate run, such as a span that a test leaked into the trace.

use std::collections::{BTreeSet, HashMap};

use super::link::Links;
use super::rulebook::Rulebook;
use crate::model::derived::GateRunMark;
use crate::model::gate_runs::GateRun;
use crate::model::vocabulary::{About, Verdict};

/// Marks by gate run.
#[derive(Debug, Default)]
pub struct Marks {
    pub rows: Vec<GateRunMark>,
    by_run: HashMap<String, usize>,
}

impl Marks {
    /// `about` and verdict with the mark applied.
    pub fn apply(&self, run: &GateRun) -> (About, Verdict) {
        let mark = self.by_run.get(&run.gate_run_id).and_then(|&at| self.rows.get(at));
        (mark.and_then(|m| m.about).unwrap_or(run.about), mark.and_then(|m| m.verdict).unwrap_or(run.verdict))
    }

    pub fn has(&self, gate_run_id: &str) -> bool {
        self.by_run.contains_key(gate_run_id)
    }
}

/// A gate run whose subject (a pull request) is none of the run's own comes from elsewhere: a test wrote into the real trace. Where the
/// run never names a subject of its own nothing can be told.
pub fn mark(gate_runs: &[GateRun], links: &Links, rules: &Rulebook) -> Marks {
    let mut own: HashMap<usize, BTreeSet<&str>> = HashMap::new();
    for run in gate_runs {
        if let (Some(subject), Some(at)) = (run.subject.as_deref(), links.of(&run.native_run_key, &run.source_id))
            && rules.is(&rules.names_subject, &run.gate_id, run.rule_id.as_deref())
        {
            own.entry(at).or_default().insert(subject);
        }
    }
    let mut marks = Marks::default();
    for run in gate_runs {
        let Some(subject) = run.subject.as_deref() else { continue };
        let Some(at) = links.of(&run.native_run_key, &run.source_id) else { continue };
        if own.get(&at).is_some_and(|subjects| !subjects.contains(subject)) {
            marks.by_run.insert(run.gate_run_id.clone(), marks.rows.len());
            marks.rows.push(GateRunMark {
                gate_run_id: run.gate_run_id.clone(),
                about: Some(About::Infrastructure),
                verdict: None,
                reason: "leaked_span".to_owned(),
            });
        }
    }
    marks
}
