//! Owns `problems`: episodes with their attribution, severity, disposition and rework.

use std::collections::{BTreeSet, HashMap};

use super::encounters::{Met, encounters};
use super::episodes::{Episode, episodes};
use super::rulebook::Rulebook;
use super::stops::{Stop, order, stops};
use super::timeline::{Event, Timeline};
use crate::model::decisions::Decision;
use crate::model::derived::{GateProblem, ModelCall, Problem, Run};
use crate::model::gate_runs::Finding;
use crate::model::id::stable_id;
use crate::model::sessions::ToolCall;
use crate::model::time::Ts;
use crate::model::vocabulary::{About, DecisionKind, Disposition, FingerprintBasis, Phase, Severity, Verdict};

/// Everything the problems of one run are made from.
pub struct RunEvidence<'a> {
    pub run: &'a Run,
    pub timeline: Timeline<'a>,
    pub findings: &'a HashMap<&'a str, Vec<&'a Finding>>,
    pub rules: &'a Rulebook,
    /// Gates the run's harness declares.
    pub known_gates: BTreeSet<&'a str>,
    pub tool_calls: &'a HashMap<&'a str, &'a ToolCall>,
    /// Tool calls of the run that succeeded, by what they did: (name, args_hash) → request times.
    pub done: HashMap<(&'a str, &'a str), Vec<Ts>>,
    pub calls: Vec<&'a ModelCall>,
    /// Decisions of the run.
    pub decisions: Vec<&'a Decision>,
    /// Labels by finding id, with their place among all: a greater one was given later.
    pub labels: &'a HashMap<&'a str, (usize, &'a str)>,
}

/// The problems of a run, and how each gate met them.
pub fn problems(evidence: &RunEvidence<'_>) -> (Vec<Problem>, Vec<GateProblem>) {
    let all = episodes(&evidence.timeline, evidence.findings);
    let mut rows: Vec<Problem> = Vec::with_capacity(all.len());
    let mut met_rows = Vec::new();
    for episode in &all {
        let stops = stops(episode, &evidence.timeline, evidence.rules, &|event| let_through(event, evidence));
        let row = problem(episode, &stops, evidence, &rows);
        let met = Met {
            problem_id: &row.problem_id,
            run_id: &row.run_id,
            about: row.about,
            failure_class: row.failure_class.as_deref(),
            episode,
            stops: &stops,
        };
        met_rows.extend(encounters(&met, &evidence.timeline, &evidence.known_gates, evidence.rules));
        rows.push(row);
    }
    (rows, met_rows)
}

/// Whether the action a gate spoke against was done all the same: the very tool call went through although the gate spoke before it
/// ran, or the same tool ran later with the same arguments. Where the work went on in between (something was or may have been written, or
/// the gate passed on the same subject), that is another try and no override.
fn let_through(event: &Event<'_>, evidence: &RunEvidence<'_>) -> bool {
    // The call of a reviewer is the gate run itself: made again it is another review.
    if event.run.phase.is_none() {
        return false;
    }
    let Some(guarded) = event.run.tool_call_id.as_deref().and_then(|id| evidence.tool_calls.get(id)) else { return false };
    if guarded.success == Some(true) && event.run.phase == Some(Phase::Before) {
        return true;
    }
    let (Some(args), Some(at)) = (guarded.args_hash.as_deref(), guarded.started_at) else { return false };
    let again = evidence.done.get(&(guarded.name.as_str(), args)).and_then(|times| times.iter().filter(|t| **t > at).min().copied());
    let Some(again) = again else { return false };
    let timeline = &evidence.timeline;
    let passed = |e: &Event<'_>| {
        e.effective.is_some_and(|t| event.effective.is_none_or(|spoke| spoke < t) && t < again)
            && e.same_rule(event.run)
            && e.looks_at_same(event)
    };
    timeline.writes.between(Some(at), Some(again), &[&guarded.tool_call_id]) == Some(false)
        && !timeline.passes(0..timeline.events.len()).any(|(_, e)| passed(e))
}

fn problem(episode: &Episode<'_>, stops: &[Stop], evidence: &RunEvidence<'_>, earlier: &[Problem]) -> Problem {
    let timeline = &evidence.timeline;
    let run = evidence.run;
    let first = &episode.reports[0];
    let first_event = &timeline.events[first.event];
    let (order_basis, co_first) = order(episode, stops, timeline);
    let first_stop = stops.first().map(|s| (timeline.events[s.event].run, s));
    let opened_at = first_event.effective.or(first_event.run.ended_at);
    let closed_at = episode.closed_by.and_then(|at| timeline.events[at].effective.or(timeline.events[at].run.ended_at));
    let stopped_at = first_stop.and_then(|(_, s)| timeline.events[s.event].effective);
    let findings = || episode.reports.iter().map(|r| r.finding);
    let label = findings().filter_map(|f| evidence.labels.get(f.finding_id.as_str())).max().map(|(_, l)| (*l).to_owned());
    let about = about(episode);
    let basis = episode.basis.as_str();
    Problem {
        problem_id: stable_id(&["problem", &run.run_id, &episode.fingerprint, basis, &first.finding.finding_id]),
        run_id: run.run_id.clone(),
        unit_id: episode.unit.clone(),
        fingerprint: episode.fingerprint.clone(),
        fingerprint_basis: basis.to_owned(),
        // Severities are declared greatest first.
        severity: findings().filter_map(|f| f.severity).min(),
        failure_class: findings().find_map(|f| f.failure_class.clone()),
        about,
        first_detection_gate_id: Some(first_event.run.gate_id.clone()),
        first_stop_gate_id: first_stop.map(|(r, _)| r.gate_id.clone()),
        first_stop_rule_id: first_stop.and_then(|(r, s)| rule_of(episode, s.event).or_else(|| r.rule_id.clone())),
        stop_basis: first_stop.map(|(_, s)| s.basis),
        order_basis,
        co_first,
        unattributed: stops.is_empty(),
        escaped: escaped(first_event, evidence),
        link_basis: run.link_basis,
        opened_at,
        closed_at,
        recurs_of: episode.recurs_of.and_then(|at| earlier.get(at)).map(|p| p.problem_id.clone()),
        disposition: disposition(episode, evidence, label.as_deref()),
        label,
        human: evidence.rules.human.contains(&first_event.run.gate_id),
        n_findings: episode.reports.len() as i64,
        n_flaky_passes: episode.flaky_passes as i64,
        introduced_after: introduced_after(episode, about, evidence),
        rework_ms: stopped_at.zip(closed_at).map(|(from, to)| to.millis_since(from)),
        rework_output_tokens: stopped_at.zip(closed_at).and_then(|(from, to)| rework_tokens(&evidence.calls, from, to)),
        first_finding_id: first.finding.finding_id.clone(),
        source_id: first.finding.source_id.clone(),
        source_line: first.finding.source_line,
    }
}

/// The rule that the finding of that gate run names.
fn rule_of(episode: &Episode<'_>, event: usize) -> Option<String> {
    episode.reports.iter().filter(|r| r.event == event).find_map(|r| r.finding.rule_id.clone())
}

/// Product if any report is. A leaked report is about what its mark says, whatever the finding says of itself.
fn about(episode: &Episode<'_>) -> About {
    episode.reports.iter().map(|r| r.finding.about).min().unwrap_or(About::Product)
}

/// First seen after the run's work was merged. `None`: it was merged, and one of the two times is unknown.
fn escaped(first: &Event<'_>, evidence: &RunEvidence<'_>) -> Option<bool> {
    let timeline = &evidence.timeline;
    let passes = || timeline.passes(0..timeline.events.len()).map(|(_, e)| e);
    let merges = || passes().filter(|e| e.passes(&evidence.rules.merges, evidence.rules, first));
    if merges().next().is_none() {
        return Some(false);
    }
    let seen = first.effective?;
    let after = merges().filter_map(|e| e.effective).any(|merged| seen > merged);
    // A merge without a time may have been earlier.
    if after || merges().all(|e| e.effective.is_some()) { Some(after) } else { None }
}

/// Whether a decision about this gate, or this rule of it, lifted what the gate run said, later than it said so.
fn lifts(decision: &Decision, event: &Event<'_>) -> bool {
    let (gate, rule) = (event.run.gate_id.as_str(), event.run.rule_id.as_deref());
    let names =
        |target: &str| target == gate || target.strip_prefix(gate).and_then(|rest| rest.strip_prefix('/')).is_some_and(|r| Some(r) == rule);
    matches!(decision.kind, DecisionKind::Release | DecisionKind::Waiver | DecisionKind::Override)
        && decision.target.as_deref().is_some_and(names)
        && decision.decided_at.zip(event.effective).is_some_and(|(decided, spoke)| decided >= spoke)
}

fn disposition(episode: &Episode<'_>, evidence: &RunEvidence<'_>, label: Option<&str>) -> Disposition {
    if label == Some("false-alarm") {
        return Disposition::Disputed;
    }
    let events = &evidence.timeline.events;
    let timed = episode.reports.iter().rev().map(|r| &events[r.event]).find(|e| e.effective.is_some());
    let last = timed.or_else(|| episode.last_report().map(|at| &events[at]));
    let released_by = |until: Option<Ts>| {
        let before = |d: &&&Decision| until.is_none_or(|until| d.decided_at <= Some(until));
        last.is_some_and(|e| evidence.decisions.iter().filter(before).any(|d| lifts(d, e)))
    };
    if last.is_some_and(|e| let_through(e, evidence)) {
        // Nobody overrides a gate that refuses nothing: its word was passed over.
        let refused = last.is_some_and(|e| e.verdict == Verdict::Fail && e.run.stopped_work != Some(false));
        return if refused { Disposition::Overridden } else { Disposition::Ignored };
    }
    if let Some(closed) = episode.closed_by.map(|at| &events[at]) {
        // A pass that a person's release brought about, and no recorded work, tells of no repair.
        let repaired = last.is_none_or(|e| evidence.timeline.writes.changed(e, closed) == Some(true));
        let lifted = !repaired && released_by(closed.effective);
        return if lifted { Disposition::Overridden } else { Disposition::Fixed };
    }
    if released_by(None) {
        return Disposition::Overridden;
    }
    // A tool call that was refused stays undone, whatever is merged without it.
    let crossed = episode.last_report().filter(|&at| events[at].effective.is_some() && !events[at].guards_a_call()).is_some_and(|at| {
        let mut later = evidence.timeline.passes(at + 1..events.len());
        later.any(|(_, e)| e.effective.is_some() && e.passes(&evidence.rules.merges, evidence.rules, &events[at]))
    });
    if crossed { Disposition::Ignored } else { Disposition::Unknown }
}

/// The gate whose last counted pass on a provably other state came before the first report: the defect came after it.
fn introduced_after(episode: &Episode<'_>, about: About, evidence: &RunEvidence<'_>) -> Option<String> {
    if episode.basis == FingerprintBasis::GateStage {
        return None;
    }
    let first = episode.reports.first()?;
    let events = &evidence.timeline.events;
    events[first.event].effective?;
    let passes = evidence.timeline.passes(0..first.event).rev().map(|(_, e)| e);
    passes
        .filter(|e| e.about == about && e.speaks_of(episode.unit.as_deref()))
        .find(|e| evidence.timeline.writes.changed(e, &events[first.event]) == Some(true))
        .map(|e| e.run.gate_id.clone())
}

/// Output tokens of the run's calls in that time. No call in it is 0; calls of which none has a counter are unknown.
fn rework_tokens(calls: &[&ModelCall], from: Ts, to: Ts) -> Option<i64> {
    let within: Vec<Option<i64>> =
        calls.iter().filter(|c| c.ended_at.is_some_and(|t| from < t && t <= to)).map(|c| c.output_tokens).collect();
    if calls.is_empty() || (!within.is_empty() && within.iter().all(Option::is_none)) {
        return None;
    }
    Some(within.into_iter().flatten().fold(0, i64::saturating_add))
}

/// Names the earlier problem of the same defect across runs of one repository. A gate's stage or an output's shape is no identity
/// across runs, so those never recur from run to run; nor does anything in a run whose repository is unknown.
pub fn link_recurrences(problems: &mut [Problem], repo_of_run: &HashMap<&str, Option<&str>>) {
    let strong = |p: &Problem| FingerprintBasis::parse(&p.fingerprint_basis).is_some_and(|b| b < FingerprintBasis::OutputShape);
    let mut order: Vec<usize> = (0..problems.len()).filter(|&at| strong(&problems[at])).collect();
    order.sort_by(|&a, &b| {
        let key = |p: &Problem| (p.opened_at.is_none(), p.opened_at, p.problem_id.clone());
        key(&problems[a]).cmp(&key(&problems[b]))
    });
    let mut last: HashMap<(String, String, String), usize> = HashMap::new();
    for at in order {
        let p = &problems[at];
        let Some(repo) = repo_of_run.get(p.run_id.as_str()).copied().flatten().map(str::to_owned) else { continue };
        let key = (repo, p.fingerprint_basis.clone(), p.fingerprint.clone());
        if let Some(&earlier) = last.get(&key)
            && problems[at].recurs_of.is_none()
            && problems[earlier].run_id != problems[at].run_id
        {
            problems[at].recurs_of = Some(problems[earlier].problem_id.clone());
        }
        last.insert(key, at);
    }
}

/// Greatest first, so that the least of several is the greatest severity.
const _: () = assert!((Severity::Critical as u8) < (Severity::Major as u8) && (Severity::Major as u8) < (Severity::Minor as u8));
