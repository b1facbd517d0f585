//! Owns the timeline of a run: its gate runs in order, with effective times and the tree state each one saw.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use polars::prelude::{IntoLazy, PolarsResult, SortMultipleOptions, col};

use super::frame::{Values, frame, ints, micros};
use super::rulebook::{Order, Rulebook};
use super::writes::Writes;
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::time::Ts;
use crate::model::vocabulary::{About, ExposureBasis, Phase, Verdict};

/// One gate run in its place.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    pub run: &'a GateRun,
    /// Running maximum of end times inside its file. `None`: no own time, or written after the fact: it has no order.
    pub effective: Option<Ts>,
    pub verdict: Verdict,
    pub about: About,
    /// Declared place of gate and rule.
    pub order: Order,
    pub path: &'a str,
    /// Whether it was leaked into this run from elsewhere: it says nothing of the run's own work, nor the other way round.
    pub foreign: bool,
}

impl Event<'_> {
    /// Whether both intervals are known and overlap for more than an instant.
    pub fn overlaps(&self, other: &Event<'_>) -> bool {
        match (self.run.started_at, self.run.ended_at, other.run.started_at, other.run.ended_at) {
            (Some(a), Some(b), Some(c), Some(d)) => a < d && c < b,
            _ => false,
        }
    }

    /// Whether it speaks of this unit: a run-wide gate run speaks of every unit.
    pub fn speaks_of(&self, unit: Option<&str>) -> bool {
        match (self.run.unit.as_deref(), unit) {
            (None, _) => true,
            (Some(own), Some(unit)) => own == unit,
            (Some(_), None) => false,
        }
    }

    /// Whether it is a pass of a rule in this set, about the same work as `other`.
    pub fn passes(&self, set: &std::collections::HashSet<super::rulebook::RuleKey>, rules: &Rulebook, other: &Event<'_>) -> bool {
        self.verdict == Verdict::Pass && self.foreign == other.foreign && rules.is(set, &self.run.gate_id, self.run.rule_id.as_deref())
    }

    /// Whether a pass here looks at what `reported` looked at: a gate run about one tool call looks at that call's subject alone, and
    /// where the subject is unknown nothing later is known to look at it again.
    pub fn looks_at_same(&self, reported: &Event<'_>) -> bool {
        match (reported.run.phase, self.run.phase) {
            (Some(_), Some(_)) => reported.run.subject.is_some() && reported.run.subject == self.run.subject,
            _ => true,
        }
    }

    /// The commit whose tree it judged. A log of passes alone names what was checked out, whatever was uncommitted.
    pub fn commit(&self) -> Option<&str> {
        self.run.head_sha.as_deref().filter(|_| self.run.exposure_basis != ExposureBasis::PassesOnly)
    }

    /// Whether it came before a tool call: what it refuses is that call, and a delivery may well go on without it.
    pub fn guards_a_call(&self) -> bool {
        self.run.phase == Some(Phase::Before)
    }

    /// Same gate and rule.
    pub fn same_rule(&self, other: &GateRun) -> bool {
        self.run.gate_id == other.gate_id && self.run.rule_id == other.rule_id
    }
}

/// Total order: effective time (what has none comes last, and is known to be neither before nor after anything), gate order, rule order, source, line, position.
pub fn compare(a: &Event<'_>, b: &Event<'_>) -> Ordering {
    let key = |e: &Event<'_>| (e.effective.is_none(), e.effective, e.order.key());
    let place = |e: &Event<'_>| (e.run.source_line, e.run.seq);
    key(a)
        .cmp(&key(b))
        .then_with(|| a.path.cmp(b.path))
        .then_with(|| place(a).cmp(&place(b)))
        .then_with(|| a.run.gate_run_id.cmp(&b.run.gate_run_id))
}

/// Effective times by position in `gate_runs`: the running maximum of end times inside a file, in line order. Reconstructed rows and
/// rows without a time neither have nor set one.
pub fn effective_times(gate_runs: &[GateRun]) -> PolarsResult<Vec<Option<Ts>>> {
    if gate_runs.is_empty() {
        return Ok(Vec::new());
    }
    let times = frame(vec![
        ("source", Values::Text(gate_runs.iter().map(|g| Some(g.source_id.as_str())).collect())),
        ("line", Values::Int(gate_runs.iter().map(|g| Some(g.source_line)).collect())),
        ("seq", Values::Int(gate_runs.iter().map(|g| Some(g.seq)).collect())),
        ("at", Values::Int((0..gate_runs.len() as i64).map(Some).collect())),
        ("end", micros(gate_runs.iter().map(|g| if g.reconstructed { None } else { g.ended_at }))),
    ])?
    .lazy()
    .sort(["source", "line", "seq", "at"], SortMultipleOptions::default())
    .with_column(col("end").cum_max(false).over([col("source")])?.alias("running"))
    .sort(["at"], SortMultipleOptions::default())
    .collect()?;
    let running = ints(&times, "running")?;
    Ok(running.into_iter().zip(gate_runs).map(|(t, g)| if g.reconstructed || g.ended_at.is_none() { None } else { t.map(Ts) }).collect())
}

/// Equal shas; an abbreviated one equals the sha it begins.
pub fn same_sha(a: &str, b: &str) -> bool {
    let n = a.len().min(b.len());
    n >= 7 && a.is_char_boundary(n) && b.is_char_boundary(n) && a[..n].eq_ignore_ascii_case(&b[..n])
}

/// The gate runs of one run, in order.
#[derive(Debug, Default)]
pub struct Timeline<'a> {
    pub events: Vec<Event<'a>>,
    pub writes: Writes<'a>,
    /// Positions of passes. A run may hold very many reports: what asks each of them about passes looks at these alone.
    passes: Vec<usize>,
    by_gate: BTreeMap<&'a str, OfGate>,
}

/// Positions of one gate's events.
#[derive(Debug, Default)]
pub struct OfGate {
    pub all: Vec<usize>,
    /// Passes that may have let something by: at a known time, and about more than one tool call.
    pub passes: Vec<usize>,
    pub skips: Vec<usize>,
}

impl<'a> Timeline<'a> {
    /// Of events that are in order.
    pub fn new(events: Vec<Event<'a>>, writes: Writes<'a>) -> Timeline<'a> {
        let mut by_gate: BTreeMap<&'a str, OfGate> = BTreeMap::new();
        let mut passes = Vec::new();
        for (at, event) in events.iter().enumerate() {
            let gate = by_gate.entry(&event.run.gate_id).or_default();
            gate.all.push(at);
            match event.verdict {
                Verdict::Pass => {
                    passes.push(at);
                    if event.run.phase.is_none() && event.effective.is_some() {
                        gate.passes.push(at);
                    }
                }
                Verdict::Skipped | Verdict::SkippedRequired => gate.skips.push(at),
                _ => {}
            }
        }
        Timeline { events, writes, passes, by_gate }
    }

    /// The passes at these positions.
    pub fn passes(&self, within: Range<usize>) -> impl DoubleEndedIterator<Item = (usize, &Event<'a>)> {
        let from = self.passes.partition_point(|at| *at < within.start);
        let to = self.passes.partition_point(|at| *at < within.end).max(from);
        self.passes[from..to].iter().map(|at| (*at, &self.events[*at]))
    }

    /// The gates that ran, with the positions of their events.
    pub fn gates(&self) -> &BTreeMap<&'a str, OfGate> {
        &self.by_gate
    }
}

/// Findings by gate run, in a fixed order.
pub fn findings_by_gate_run(findings: &[Finding]) -> HashMap<&str, Vec<&Finding>> {
    let mut by_run: HashMap<&str, Vec<&Finding>> = HashMap::new();
    for finding in findings {
        by_run.entry(&finding.gate_run_id).or_default().push(finding);
    }
    for list in by_run.values_mut() {
        list.sort_by(|a, b| (a.source_line, &a.finding_id).cmp(&(b.source_line, &b.finding_id)));
    }
    by_run
}

/// The place of a gate run in the order, from the rulebook.
pub fn event<'a>(run: &'a GateRun, effective: Option<Ts>, marks: &super::marks::Marks, rules: &Rulebook, path: &'a str) -> Event<'a> {
    Event {
        run,
        effective,
        verdict: run.verdict,
        about: run.about,
        order: rules.order(&run.gate_id, run.rule_id.as_deref()),
        path,
        foreign: marks.leaked(&run.gate_run_id),
    }
}
