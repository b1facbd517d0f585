//! Owns `gate_problem`: how each gate of a run met each of its problems, misses with their basis included.

use std::collections::BTreeSet;

use super::episodes::Episode;
use super::rulebook::Rulebook;
use super::stops::Stop;
use super::timeline::{Event, OfGate, Timeline, same_sha};
use crate::model::derived::GateProblem;
use crate::model::vocabulary::{About, Encounter, ExposureBasis, FingerprintBasis, MissBasis, Scope};

/// What the encounters of one problem need to know of it.
pub struct Met<'a> {
    pub problem_id: &'a str,
    pub run_id: &'a str,
    pub about: About,
    pub failure_class: Option<&'a str>,
    pub episode: &'a Episode<'a>,
    pub stops: &'a [Stop],
}

/// One row for each gate that is known to the run: those with a gate run in it, and those its harness declares.
pub fn encounters(met: &Met<'_>, timeline: &Timeline<'_>, known: &BTreeSet<&str>, rules: &Rulebook) -> Vec<GateProblem> {
    let never = OfGate::default();
    let ran = timeline.gates();
    let gates: BTreeSet<&str> = known.iter().copied().chain(ran.keys().copied()).collect();
    gates
        .into_iter()
        .filter(|gate| !rules.not_control.contains(*gate))
        .flat_map(|gate| encounter(gate, ran.get(gate).unwrap_or(&never), met, timeline, rules))
        .collect()
}

/// What the gate did about the problem. A gate that stopped or detected it, and had let it pass before, has a second row for the miss.
fn encounter(gate: &str, events: &OfGate, met: &Met<'_>, timeline: &Timeline<'_>, rules: &Rulebook) -> Vec<GateProblem> {
    let row = |encounter, miss_basis, at: Option<usize>| {
        let event = at.map(|at| &timeline.events[at]);
        GateProblem {
            gate_id: gate.to_owned(),
            problem_id: met.problem_id.to_owned(),
            run_id: met.run_id.to_owned(),
            encounter,
            miss_basis,
            gate_run_id: event.map(|e| e.run.gate_run_id.clone()),
            at: event.and_then(|e| e.effective.or(e.run.ended_at)),
        }
    };
    let missed = misses(events, met, timeline, rules).map(|(at, basis)| row(Encounter::Missed, Some(basis), Some(at)));
    let is_its = |at: usize| timeline.events[at].run.gate_id == gate;
    let spoke = match met.stops.iter().find(|s| is_its(s.event)) {
        Some(stop) if met.stops.first() == Some(stop) => Some(row(Encounter::StoppedFirst, None, Some(stop.event))),
        Some(stop) => Some(row(Encounter::Stopped, None, Some(stop.event))),
        None => {
            let report = met.episode.reports.iter().map(|r| r.event).find(|at| is_its(*at));
            report.map(|at| row(Encounter::Detected, None, Some(at)))
        }
    };
    if spoke.is_some() || missed.is_some() {
        return spoke.into_iter().chain(missed).collect();
    }
    let closed = met.episode.closed_by.unwrap_or(usize::MAX);
    let skipped = events.skips.first().filter(|at| **at < closed);
    let later = &events.all[events.all.partition_point(|at| *at <= closed)..];
    let after = later.iter().find(|at| timeline.events[**at].effective.is_some());
    let silent = match (skipped, after) {
        (Some(&at), _) => Some(row(Encounter::Skipped, None, Some(at))),
        (None, Some(&at)) => Some(row(Encounter::AfterFix, None, Some(at))),
        (None, None) => events.all.is_empty().then(|| row(Encounter::NotRun, None, None)),
    };
    silent.into_iter().collect()
}

/// The gate's strongest miss. A counted pass on the very commit of the first report is proven, if the gate is known to cover the problem
/// and looked as widely. It is possible where one of these is unknown, where the source keeps passes only, or where the commit is unknown
/// and the run records writes and none lies in between. Only product problems are missed, and a run about one tool call misses nothing
/// else.
fn misses(events: &OfGate, met: &Met<'_>, timeline: &Timeline<'_>, rules: &Rulebook) -> Option<(usize, MissBasis)> {
    let first = met.episode.reports.first()?.event;
    let reported = &timeline.events[first];
    if met.about != About::Product || met.episode.basis == FingerprintBasis::GateStage {
        return None;
    }
    let closed = met.episode.closed_by.unwrap_or(timeline.events.len());
    let mut possible = None;
    let passes = &events.passes[..events.passes.partition_point(|at| *at < closed)];
    // A report that names no commit is missed by earlier passes alone, and by none before the last write.
    let passes = match reported.run.head_sha {
        Some(_) => passes,
        None => {
            let earlier = &passes[..passes.partition_point(|at| *at < first)];
            let written = |at: &usize| timeline.writes.changed(&timeline.events[*at], reported) == Some(true);
            &earlier[earlier.partition_point(written)..]
        }
    };
    for &at in passes.iter().filter(|&&at| at != first) {
        let passed = &timeline.events[at];
        if other_commit(passed, reported) {
            continue;
        }
        let covers = rules.covers(&passed.run.gate_id, met.failure_class);
        if passed.foreign != reported.foreign || covers == Some(false) || !may_have_seen(passed, met) {
            continue;
        }
        let (earlier, later) = if at < first { (passed, reported) } else { (reported, passed) };
        let changed = timeline.writes.changed(earlier, later);
        let is_possible = match (passed.run.head_sha.as_deref(), reported.run.head_sha.as_deref()) {
            (Some(a), Some(b)) if same_sha(a, b) => {
                let same_tree = changed == Some(false) && passed.commit().is_some() && reported.commit().is_some();
                if same_tree && covers == Some(true) && as_wide(passed, reported) && passed.run.exposure_basis.in_rates() {
                    return Some((at, MissBasis::Proven));
                }
                changed != Some(true)
            }
            (Some(_), Some(_)) => false,
            _ => at < first && changed == Some(false),
        };
        if is_possible {
            possible = possible.or(Some((at, MissBasis::Possible)));
            if reported.run.head_sha.is_none() {
                // Without a commit none is proven.
                break;
            }
        }
    }
    possible
}

/// Whether both name a commit, and another one.
fn other_commit(passed: &Event<'_>, reported: &Event<'_>) -> bool {
    passed.run.head_sha.as_deref().zip(reported.run.head_sha.as_deref()).is_some_and(|(a, b)| !same_sha(a, b))
}

/// Whether the pass is known to have looked at no less than the report did.
fn as_wide(passed: &Event<'_>, reported: &Event<'_>) -> bool {
    passed.run.scope == Some(Scope::Full) || passed.run.scope == reported.run.scope
}

/// Whether a pass of this gate run says anything of a problem like this one.
fn may_have_seen(passed: &Event<'_>, met: &Met<'_>) -> bool {
    passed.run.exposure_basis != ExposureBasis::Inferred && passed.about == met.about && passed.speaks_of(met.episode.unit.as_deref())
}
