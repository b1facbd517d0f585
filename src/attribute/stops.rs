//! Owns stops: which report of a problem stopped the work, how it is known, and in what order.

use super::episodes::{Episode, Report};
use super::rulebook::Rulebook;
use super::timeline::{Event, Timeline};
use crate::model::vocabulary::{Mode, OrderBasis, StopBasis, Verdict};

/// One stop of a problem: position of the gate run in the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    pub event: usize,
    pub basis: StopBasis,
}

/// Every stop of the episode, in order.
pub fn stops(episode: &Episode<'_>, timeline: &Timeline<'_>, rules: &Rulebook, let_through: &dyn Fn(&Event<'_>) -> bool) -> Vec<Stop> {
    episode.reports.iter().filter_map(|report| stop(report, episode, timeline, rules, let_through)).collect()
}

fn stop(
    report: &Report<'_>,
    episode: &Episode<'_>,
    timeline: &Timeline<'_>,
    rules: &Rulebook,
    let_through: &dyn Fn(&Event<'_>) -> bool,
) -> Option<Stop> {
    let event = &timeline.events[report.event];
    if rules.not_control.contains(&event.run.gate_id) {
        return None;
    }
    // What came after a gate run without a time is unknown. Only one that says itself that the work stopped, and is the only report, is
    // known to have been the first stop.
    if event.effective.is_none() {
        let alone = episode.reports.iter().all(|r| r.event == report.event);
        let stopped = alone && event.run.stopped_work == Some(true) && refuses(event) && !let_through(event);
        return stopped.then_some(Stop { event: report.event, basis: StopBasis::Enforced });
    }
    if refuses(event) {
        let enforced = !went_on(report.event, episode, timeline, rules) && !let_through(event);
        return enforced.then_some(Stop { event: report.event, basis: StopBasis::Enforced });
    }
    let acted_on = !let_through(event) && acted_on(report.event, episode, timeline);
    acted_on.then_some(Stop { event: report.event, basis: StopBasis::ActedOn })
}

/// Whether the work crossed a boundary of the harness before the refusing gate passed on the problem. A gate without a declared place
/// stands before every boundary, unless its own record says that the work stopped; what a gate says of one tool
/// call holds up nothing but that call.
fn went_on(at: usize, episode: &Episode<'_>, timeline: &Timeline<'_>, rules: &Rulebook) -> bool {
    let refused = &timeline.events[at];
    let closes = own_pass(at, episode, timeline).unwrap_or(timeline.events.len());
    let same_record = |later: &Event<'_>| (later.path, later.run.source_line) == (refused.path, refused.run.source_line);
    let unplaced = refused.run.phase.is_none() && refused.run.stopped_work != Some(true);
    timeline.passes(at + 1..closes).any(|(_, later)| {
        later.effective.is_some()
            && !same_record(later)
            && refused.order.before(later.order).unwrap_or(unplaced)
            && later.passes(&rules.boundary, rules, refused)
    })
}

/// The next pass of the reporting gate and rule on the problem.
fn own_pass(at: usize, episode: &Episode<'_>, timeline: &Timeline<'_>) -> Option<usize> {
    let reported = &timeline.events[at];
    reported.effective?;
    let own = timeline
        .passes(at + 1..timeline.events.len())
        .filter(|(_, e)| {
            e.effective.is_some() && e.same_rule(reported.run) && e.speaks_of(episode.unit.as_deref()) && e.looks_at_same(reported)
        })
        .find(|(_, e)| timeline.writes.changed(reported, e) != Some(false))
        .map(|(at, _)| at);
    // A pass that names the defect as resolved is the gate's own pass, whatever its unit.
    match (own, episode.closed_by) {
        (Some(own), Some(closed)) if closed > at && timeline.events[closed].same_rule(reported.run) => Some(own.min(closed)),
        (None, Some(closed)) if closed > at && timeline.events[closed].same_rule(reported.run) => Some(closed),
        (own, _) => own,
    }
}

/// The same gate passed on it before another gate reported it or anyone refused the step for it (and, where writes are recorded,
/// writes followed). A warning that came to a refusal was not acted on.
fn acted_on(at: usize, episode: &Episode<'_>, timeline: &Timeline<'_>) -> bool {
    let reported = &timeline.events[at];
    let Some(pass) = own_pass(at, episode, timeline) else { return false };
    let mut between = episode.reports.iter().filter(|r| at < r.event && r.event < pass).map(|r| &timeline.events[r.event]);
    // A report whose run overlaps this one is neither before nor after it, so it takes no stop from it.
    between.all(|e| (e.run.gate_id == reported.run.gate_id && !refuses(e)) || e.overlaps(reported))
}

/// Whether the gate run refused the step.
fn refuses(event: &Event<'_>) -> bool {
    event.verdict == Verdict::Fail
        && event.run.stopped_work != Some(false)
        && (event.run.enforcement == Some(Mode::Block) || event.run.stopped_work == Some(true))
}

/// How the first report stands to those of other gates, and the first stop to other stops: the basis of the order, and the gates that
/// are first together.
pub fn order(episode: &Episode<'_>, stops: &[Stop], timeline: &Timeline<'_>) -> (OrderBasis, Vec<String>) {
    let reports: Vec<&Event<'_>> = episode.reports.iter().map(|r| &timeline.events[r.event]).collect();
    let stops: Vec<&Event<'_>> = stops.iter().map(|s| &timeline.events[s.event]).collect();
    let mut together: Vec<String> = [&reports, &stops].into_iter().flat_map(|events| first_together(events)).collect();
    if !together.is_empty() {
        together.sort();
        together.dedup();
        return (OrderBasis::Concurrent, together);
    }
    let basis = match basis(&reports) {
        OrderBasis::Time if !stops.is_empty() => basis(&stops),
        basis => basis,
    };
    (basis, Vec::new())
}

/// The gates of the first event and of those that overlap it, if any of another gate does.
fn first_together(events: &[&Event<'_>]) -> Vec<String> {
    let Some((first, later)) = events.split_first() else { return Vec::new() };
    let others = later.iter().filter(|e| e.run.gate_id != first.run.gate_id && first.overlaps(e));
    let mut together: Vec<String> = others.map(|e| e.run.gate_id.clone()).collect();
    if !together.is_empty() {
        together.push(first.run.gate_id.clone());
    }
    together
}

/// How it is known that the first of these events came before the next.
fn basis(events: &[&Event<'_>]) -> OrderBasis {
    let Some((first, later)) = events.split_first().filter(|(first, _)| first.effective.is_some()) else { return OrderBasis::Line };
    match later.iter().find(|e| e.run.gate_run_id != first.run.gate_run_id) {
        Some(next) if next.effective == first.effective => match (first.order.gate, next.order.gate) {
            (Some(a), Some(b)) if a != b => OrderBasis::GateOrder,
            _ => OrderBasis::Line,
        },
        _ => OrderBasis::Time,
    }
}
