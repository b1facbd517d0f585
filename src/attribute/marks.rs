//! Owns `gate_run_marks`: what only other rows or the user's profile tell of a gate run. A span that a test leaked into the trace, a
//! review that a sub-agent's own log reports while its parent's log knows who it was and how long it took, a rule that the profile
//! says is about something else.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::facts::Viewed;
use super::link::Links;
use super::rulebook::Rulebook;
use crate::model::derived::GateRunMark;
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::traces::TraceSpan;
use crate::model::vocabulary::{About, Verdict};

/// Marks, by gate run.
#[derive(Debug, Default)]
pub struct Marks {
    pub rows: Vec<GateRunMark>,
    leaked: HashSet<String>,
}

impl Marks {
    /// Whether the gate run was leaked into its run from elsewhere.
    pub fn leaked(&self, gate_run_id: &str) -> bool {
        self.leaked.contains(gate_run_id)
    }

    /// Gate runs with their marks applied, those that another tells better left out.
    pub fn apply(&self, gate_runs: Vec<GateRun>) -> Vec<GateRun> {
        let by_run = self.by_run();
        let finally = |run: GateRun| match by_run.get(run.gate_run_id.as_str()) {
            Some(mark) => mark.apply(run),
            None => Some(run),
        };
        gate_runs.into_iter().filter_map(finally).collect()
    }

    /// Findings under their final gate. Those of a gate run that was left out are left out with it.
    pub fn apply_to_findings(&self, findings: Vec<Finding>) -> Vec<Finding> {
        let by_run = self.by_run();
        let finally = |finding: Finding| match by_run.get(finding.gate_run_id.as_str()) {
            Some(mark) => mark.apply_to_finding(finding),
            None => Some(finding),
        };
        findings.into_iter().filter_map(finally).collect()
    }

    fn by_run(&self) -> HashMap<&str, &GateRunMark> {
        self.rows.iter().map(|m| (m.gate_run_id.as_str(), m)).collect()
    }
}

fn row(gate_run_id: &str, reason: &str) -> GateRunMark {
    GateRunMark {
        gate_run_id: gate_run_id.to_owned(),
        about: None,
        enforcement: None,
        stop_unknown: None,
        verdict: None,
        gate_id: None,
        started_at: None,
        duration_ms: None,
        superseded_by: None,
        reason: reason.to_owned(),
    }
}

pub fn mark(gate_runs: &[GateRun], links: &Links, rules: &Rulebook) -> Marks {
    let mut marks = Marks::default();
    leaks(gate_runs, links, rules, &mut marks);
    reports(gate_runs, &mut marks);
    profile(gate_runs, rules, &mut marks);
    marks.rows.sort_by(|a, b| a.gate_run_id.cmp(&b.gate_run_id));
    marks
}

/// A gate run whose subject (a pull request) is none of the run's own comes from elsewhere: a test wrote into the real trace. Where the
/// run never names a subject of its own nothing can be told.
fn leaks(gate_runs: &[GateRun], links: &Links, rules: &Rulebook, marks: &mut Marks) {
    let kind = |subject: &str| subject.split(':').next().unwrap_or_default().to_owned();
    let mut own: HashMap<(usize, String), BTreeSet<&str>> = HashMap::new();
    for run in gate_runs {
        if let (Some(subject), Some(at)) = (run.subject.as_deref(), links.of(&run.native_run_key, &run.source_id))
            && rules.is(&rules.names_subject, &run.gate_id, run.rule_id.as_deref())
        {
            own.entry((at, kind(subject))).or_default().insert(subject);
        }
    }
    for run in gate_runs {
        let Some(subject) = run.subject.as_deref() else { continue };
        let Some(at) = links.of(&run.native_run_key, &run.source_id) else { continue };
        if own.get(&(at, kind(subject))).is_some_and(|subjects| !subjects.contains(subject)) {
            marks.leaked.insert(run.gate_run_id.clone());
            marks.rows.push(GateRunMark { about: Some(About::Infrastructure), ..row(&run.gate_run_id, "leaked_span") });
        }
    }
}

/// Trace spans about a pull request that is none of their run's own, by row id.
pub fn leaked_spans<'f>(facts: &'f Viewed, rules: &Rulebook) -> HashSet<&'f str> {
    let mut own: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for run in &facts.gate_runs {
        if let Some(number) = run.subject.as_deref().and_then(|subject| subject.strip_prefix("pr:"))
            && rules.is(&rules.names_subject, &run.gate_id, run.rule_id.as_deref())
        {
            own.entry(&run.native_run_key).or_default().insert(number);
        }
    }
    let is_foreign = |s: &&TraceSpan| {
        s.pr_number.as_deref().is_some_and(|pr| own.get(s.native_run_key.as_str()).is_some_and(|numbers| !numbers.contains(pr)))
    };
    facts.trace_spans.iter().filter(is_foreign).map(|s| s.span_row_id.as_str()).collect()
}

/// Gate of a review that its own log reports without knowing what kind of agent made it.
const UNNAMED_REVIEW: &str = "agent:review";

/// A sub-agent that reports its findings itself and the parent's record of the same review are one gate run: the report has the verdict
/// and the findings, the parent's record the gate and the interval. A parent's record that says the reviewer never ran stays.
fn reports(gate_runs: &[GateRun], marks: &mut Marks) {
    let mut sent: BTreeMap<&str, Vec<&GateRun>> = BTreeMap::new();
    for run in gate_runs.iter().filter(|r| r.gate_id.starts_with("agent:") && r.gate_id != UNNAMED_REVIEW) {
        if let Some(context) = run.context_id.as_deref() {
            sent.entry(context).or_default().push(run);
        }
    }
    let mut told: HashSet<&str> = HashSet::new();
    let mut own: Vec<&GateRun> = gate_runs.iter().filter(|r| r.gate_id == UNNAMED_REVIEW).collect();
    own.sort_by(|a, b| (a.ended_at, a.source_line, &a.gate_run_id).cmp(&(b.ended_at, b.source_line, &b.gate_run_id)));
    for report in own {
        let Some(rounds) = report.context_id.as_deref().and_then(|context| sent.get(context)) else { continue };
        // The round that ended first after the report; a report after every end belongs to the last round.
        let after = rounds.iter().filter(|r| r.ended_at >= report.ended_at).min_by_key(|r| (r.ended_at, r.seq));
        let Some(round) = after.or_else(|| rounds.iter().max_by_key(|r| (r.ended_at, r.seq))) else { continue };
        marks.rows.push(GateRunMark {
            gate_id: Some(round.gate_id.clone()),
            started_at: round.started_at,
            duration_ms: round.duration_ms,
            ..row(&report.gate_run_id, "reported_by_its_sub_agent")
        });
        if told.insert(&round.gate_run_id) && (round.verdict.counts() || matches!(round.verdict, Verdict::Inconclusive | Verdict::Pending))
        {
            marks
                .rows
                .push(GateRunMark { superseded_by: Some(report.gate_run_id.clone()), ..row(&round.gate_run_id, "told_by_its_sub_agent") });
        }
    }
}

/// What the user's profile says of a rule otherwise than the built-in one its runs were read under. A leaked span stays one.
fn profile(gate_runs: &[GateRun], rules: &Rulebook, marks: &mut Marks) {
    if rules.overrides.is_empty() {
        return;
    }
    let mut at: HashMap<String, usize> = marks.rows.iter().enumerate().map(|(at, m)| (m.gate_run_id.clone(), at)).collect();
    for run in gate_runs {
        let Some(change) = rules.overrides.of_run(run) else { continue };
        let at = *at.entry(run.gate_run_id.clone()).or_insert_with(|| {
            marks.rows.push(row(&run.gate_run_id, ""));
            marks.rows.len() - 1
        });
        let mark = &mut marks.rows[at];
        mark.about = mark.about.or(change.about);
        mark.enforcement = change.enforcement;
        mark.stop_unknown = change.stop_unknown;
        mark.reason.push_str(if mark.reason.is_empty() { "profile" } else { ",profile" });
    }
}
