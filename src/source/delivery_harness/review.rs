//! Owns review events: the verdict spans of one review put together to one gate run, its fail spans kept as the findings.
//!
//! Identity of an event: the event id; else (reviewed sha, review mode), which joins the one event that has an id and the same
//! coordinates; a span with neither id nor sha is an event of its own. An event fails if any of its spans fails and does not say
//! that nothing can be done about it. Spans of one event need not stand together, so events are closed at the end of the file.

use std::collections::{BTreeMap, BTreeSet};

use super::aggregate;
use super::rows::{Judged, Ruled, Seen, gate_run, outcome, stage_finding};
use crate::config::profile::{Profile, RuleProfile};
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::id::stable_id;
use crate::model::vocabulary::{BaselineState, FingerprintBasis, Verdict};
use crate::source::severity;

/// Verdict spans held for one file; past it events are closed early.
pub const HELD_SPANS: usize = 10_000;

/// What a verdict span says.
struct Child {
    line: i64,
    row_id: String,
    unit: Option<String>,
    verdict: Verdict,
    raw: Option<String>,
    actionable: Option<bool>,
    /// Fingerprint that a pass names as resolved.
    resolves: Option<String>,
    finding: Option<Finding>,
    run: GateRun,
    event: Option<String>,
    sha: Option<String>,
    mode: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Event(String),
    Coordinates(String, Option<String>),
    Alone(String),
}

/// The verdict spans read so far.
#[derive(Default)]
pub struct Reviews {
    children: Vec<Child>,
}

/// Events put together, and how many spans fit two events with ids equally well.
#[derive(Default)]
pub struct Closed {
    pub judged: Vec<Judged>,
    pub ambiguous: i64,
}

impl Reviews {
    pub fn is_full(&self) -> bool {
        self.children.len() >= HELD_SPANS
    }

    /// Takes one verdict span; tells whether it stands for several findings.
    pub fn add(&mut self, profile: &Profile, rule: &RuleProfile, seen: &Seen<'_>) -> bool {
        let span = seen.span;
        let ruled = Ruled::by(profile, rule);
        let said = outcome(span);
        let mut run = gate_run(seen, &ruled, said.verdict);
        run.verdict_basis = said.basis;
        run.head_sha = span.name("harness.reviewed_sha");
        let several = span.raw("harness.summary").and_then(aggregate::count).filter(|_| said.verdict == Verdict::Fail);
        let finding = (said.verdict == Verdict::Fail).then(|| finding(&ruled, &run, seen, several));
        let baseline = span.name("harness.finding_baseline_state").and_then(|s| BaselineState::parse(&s));
        // A pass that calls a finding new, updated or unchanged resolves nothing.
        let resolves = span
            .name("harness.finding_fingerprint")
            .filter(|_| said.verdict == Verdict::Pass && matches!(baseline, None | Some(BaselineState::Resolved)));
        self.children.push(Child {
            line: seen.line,
            row_id: seen.row_id.to_owned(),
            unit: span.unit(),
            verdict: said.verdict,
            raw: said.raw,
            actionable: span.flag("harness.actionable"),
            resolves,
            finding,
            event: span.name("harness.review_event_id"),
            sha: run.head_sha.clone(),
            mode: span.name("harness.review_mode").filter(|m| matches!(m.as_str(), "full" | "concise" | "repair")),
            run,
        });
        several.is_some()
    }

    /// Puts the events together and forgets their spans.
    pub fn close(&mut self) -> Closed {
        let children = std::mem::take(&mut self.children);
        let mut ids_at: BTreeMap<(&str, &str, Option<&str>), BTreeSet<&str>> = BTreeMap::new();
        for child in &children {
            if let (Some(event), Some(sha)) = (&child.event, &child.sha) {
                ids_at.entry((&child.run.native_run_key, sha, child.mode.as_deref())).or_default().insert(event);
            }
        }
        let mut closed = Closed::default();
        let mut events: BTreeMap<(String, Identity), Vec<usize>> = BTreeMap::new();
        for (at, child) in children.iter().enumerate() {
            let run_key = &child.run.native_run_key;
            let identity = match (&child.event, &child.sha) {
                (Some(event), _) => Identity::Event(event.clone()),
                (None, Some(sha)) => {
                    let ids = ids_at.get(&(run_key.as_str(), sha.as_str(), child.mode.as_deref()));
                    let only = ids.filter(|ids| ids.len() == 1).and_then(|ids| ids.first());
                    closed.ambiguous += i64::from(ids.is_some_and(|ids| ids.len() > 1));
                    match only {
                        Some(event) => Identity::Event((*event).to_owned()),
                        None => Identity::Coordinates(sha.clone(), child.mode.clone()),
                    }
                }
                (None, None) => Identity::Alone(child.row_id.clone()),
            };
            events.entry((run_key.clone(), identity)).or_default().push(at);
        }
        drop(ids_at);
        let mut children: Vec<Option<Child>> = children.into_iter().map(Some).collect();
        for ((run_key, identity), members) in events {
            let members: Vec<Child> = members.into_iter().filter_map(|at| children.get_mut(at)?.take()).collect();
            closed.judged.extend(event(&run_key, identity, members));
        }
        closed
    }
}

/// The gate run of one event; it ends, and stands, where its last verdict was written.
fn event(run_key: &str, identity: Identity, members: Vec<Child>) -> Option<Judged> {
    let key: Vec<&str> = match &identity {
        Identity::Event(id) => vec!["event", id],
        Identity::Coordinates(sha, mode) => vec!["sha", sha, mode.as_deref().unwrap_or("")],
        Identity::Alone(row) => vec!["span", row],
    };
    let id = stable_id(&[&[super::FORMAT, "review", run_key][..], &key[..]].concat());
    let mut run = members.iter().max_by_key(|c| (c.run.ended_at, c.line))?.run.clone();
    let first = |verdict: Verdict| members.iter().find(|c| c.verdict == verdict);
    let refuses = members.iter().find(|c| c.verdict == Verdict::Fail && c.actionable != Some(false));
    let (verdict, by) = match refuses {
        Some(child) => (Verdict::Fail, Some(child)),
        // Reported, and said not to stand in the way.
        None if first(Verdict::Fail).is_some() => (Verdict::Warn, first(Verdict::Fail)),
        None => [Verdict::Warn, Verdict::CouldNotRun, Verdict::Pass]
            .into_iter()
            .find_map(|v| first(v).map(|c| (v, Some(c))))
            .unwrap_or((Verdict::Inconclusive, members.first())),
    };
    let units: BTreeSet<Option<&str>> = members.iter().map(|c| c.unit.as_deref()).collect();
    let resolves: BTreeSet<String> = members.iter().filter_map(|c| c.resolves.clone()).collect();
    let modes: BTreeSet<&str> = members.iter().filter_map(|c| c.mode.as_deref()).collect();
    run.gate_run_id = id.clone();
    run.verdict = verdict;
    run.raw_verdict = by.and_then(|c| c.raw.clone());
    run.verdict_basis = by.map_or(run.verdict_basis, |c| c.run.verdict_basis);
    run.unit = match units.iter().collect::<Vec<_>>().as_slice() {
        [Some(unit)] => Some((*unit).to_owned()),
        _ => None,
    };
    run.substance = (!units.contains(&None)).then_some(units.len() as i64);
    run.head_sha = members.iter().rev().find_map(|c| c.sha.clone());
    run.resolves = (!resolves.is_empty()).then(|| resolves.into_iter().collect());
    run.source_line = members.iter().map(|c| c.line).max().unwrap_or(run.source_line);
    let named = match &identity {
        Identity::Event(id) => Some(format!("event:{id}")),
        _ => None,
    };
    let parts: Vec<String> = named.into_iter().chain(modes.iter().map(|m| format!("mode:{m}"))).collect();
    run.evidence = (!parts.is_empty()).then(|| parts.join(" "));
    let findings = members
        .into_iter()
        .filter_map(|c| c.finding)
        .map(|mut finding| {
            finding.gate_run_id.clone_from(&id);
            finding
        })
        .collect();
    Some(Judged { run, findings })
}

/// What a fail span says of its defect.
fn finding(ruled: &Ruled, run: &GateRun, seen: &Seen<'_>, several: Option<i64>) -> Finding {
    let span = seen.span;
    let named = span.name("harness.finding_fingerprint");
    let basis = if named.is_some() { FingerprintBasis::Native } else { FingerprintBasis::GateStage };
    let fingerprint = named.unwrap_or_else(|| ruled.fingerprint(run.unit.as_deref()));
    let mut finding = stage_finding(run, seen.row_id, fingerprint, None, several);
    finding.fingerprint_basis = basis;
    finding.failure_mode = span.name("harness.failure_mode");
    finding.failure_class = span.name("harness.failure_class");
    finding.repeat_of = span.name("harness.repeat_of");
    finding.baseline_state = span.name("harness.finding_baseline_state").and_then(|s| BaselineState::parse(&s));
    finding.actionable = span.flag("harness.actionable");
    // The trace has no key for it: reviewers state it at the start of the summary, aggregates in their counts.
    if let Some((severity, word)) = span.raw("harness.summary").and_then(|text| severity::stated(text).or_else(|| aggregate::worst(text))) {
        finding.severity = Some(severity);
        finding.raw_severity = Some(word.to_owned());
    }
    finding
}
