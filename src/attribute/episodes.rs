//! Owns episodes: findings of one defect in one run, from the first report to the pass that closes it.

use std::collections::HashMap;

use super::timeline::{Event, Timeline};
use crate::model::gate_runs::Finding;
use crate::model::vocabulary::{BaselineState, FingerprintBasis, Scope, Verdict};

/// A gate run that reported the defect, by position in the timeline, with the finding that says so.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    pub event: usize,
    pub finding: &'a Finding,
}

/// One episode.
#[derive(Debug)]
pub struct Episode<'a> {
    pub fingerprint: String,
    pub basis: FingerprintBasis,
    pub unit: Option<String>,
    pub reports: Vec<Report<'a>>,
    /// Position of the pass that closed it.
    pub closed_by: Option<usize>,
    /// Passes on an unchanged state: flaky, they close nothing.
    pub flaky_passes: usize,
    /// Position of the earlier episode of the same defect in this run.
    pub recurs_of: Option<usize>,
}

impl Episode<'_> {
    /// Whether gate and rule of the event reported the defect.
    pub fn reported_by(&self, timeline: &Timeline<'_>, event: &Event<'_>) -> bool {
        self.reports.iter().any(|r| event.same_rule(timeline.events[r.event].run))
    }

    pub fn last_report(&self) -> Option<usize> {
        self.reports.last().map(|r| r.event)
    }
}

/// Builds the episodes of a run from its ordered events.
pub fn episodes<'a>(timeline: &Timeline<'a>, findings: &HashMap<&str, Vec<&'a Finding>>) -> Vec<Episode<'a>> {
    let mut all: Vec<Episode<'a>> = Vec::new();
    let mut alias: HashMap<&str, &str> = HashMap::new();
    for (at, event) in timeline.events.iter().enumerate() {
        let said = findings.get(event.run.gate_run_id.as_str()).filter(|_| speaks(event.verdict));
        for &finding in said.into_iter().flatten() {
            report(&mut all, &mut alias, timeline, at, finding);
        }
        close(&mut all, &alias, timeline, at);
    }
    all
}

/// Whether a gate run with this verdict can say that there is a defect. One that crashed or never ran gave no verdict: what is known
/// of its cause stays a finding, but no problem of the work; a red that the method demands is none either.
fn speaks(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Fail | Verdict::Warn | Verdict::Pass | Verdict::NeedsReview | Verdict::Inconclusive)
}

fn report<'a>(all: &mut Vec<Episode<'a>>, alias: &mut HashMap<&'a str, &'a str>, timeline: &Timeline<'_>, at: usize, finding: &'a Finding) {
    if finding.baseline_state == Some(BaselineState::Resolved) {
        return;
    }
    let canonical = match finding.repeat_of.as_deref() {
        Some(earlier) => {
            let root = alias.get(earlier).copied().unwrap_or(earlier);
            alias.insert(&finding.fingerprint, root);
            root
        }
        None => alias.get(finding.fingerprint.as_str()).copied().unwrap_or(&finding.fingerprint),
    };
    let same = |episode: &Episode<'_>| {
        episode.fingerprint == canonical
            && episode.reports.iter().all(|r| timeline.events[r.event].foreign == timeline.events[at].foreign)
            && (finding.repeat_of.is_some() || episode.basis == finding.fingerprint_basis)
            && match (episode.unit.as_deref(), finding.unit.as_deref()) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            }
    };
    // A report without a time is known to be neither before nor after a pass: it tells of no new defect.
    let timed = timeline.events[at].effective.is_some();
    let known = all.iter().position(|e| e.closed_by.is_none() && same(e)).or_else(|| all.iter().rposition(&same).filter(|_| !timed));
    if let Some(open) = known.map(|known| &mut all[known]) {
        open.unit = open.unit.take().or_else(|| finding.unit.clone());
        open.reports.push(Report { event: at, finding });
        return;
    }
    let recurs_of = all.iter().rposition(&same);
    all.push(Episode {
        fingerprint: canonical.to_owned(),
        basis: finding.fingerprint_basis,
        unit: finding.unit.clone(),
        reports: vec![Report { event: at, finding }],
        closed_by: None,
        flaky_passes: 0,
        recurs_of,
    });
}

/// A pass whose time is known closes what its own gate and rule reported, if it speaks of the unit, looks at least as wide, and the tree changed or its
/// state is unknown. A pass that names the fingerprint as resolved closes it whatever its unit.
fn close(all: &mut [Episode<'_>], alias: &HashMap<&str, &str>, timeline: &Timeline<'_>, at: usize) {
    let event = &timeline.events[at];
    if event.effective.is_none() {
        return;
    }
    for episode in all.iter_mut().filter(|e| e.closed_by.is_none()) {
        if episode.reports.iter().all(|r| r.event >= at) {
            continue;
        }
        if episode.reports.iter().any(|r| timeline.events[r.event].foreign != event.foreign) {
            continue;
        }
        let resolved = event.run.resolves.iter().flatten().any(|fp| alias.get(fp.as_str()).copied().unwrap_or(fp) == episode.fingerprint);
        if resolved {
            episode.closed_by = Some(at);
            continue;
        }
        if event.verdict != Verdict::Pass || !episode.reported_by(timeline, event) || !event.speaks_of(episode.unit.as_deref()) {
            continue;
        }
        let Some(last) = episode.last_report() else { continue };
        let reported = &timeline.events[last];
        if !event.looks_at_same(reported) {
            continue;
        }
        if reported.run.scope == Some(Scope::Full) && event.run.scope == Some(Scope::Scoped) {
            continue;
        }
        match timeline.writes.changed(reported, event) {
            Some(false) => episode.flaky_passes += 1,
            Some(true) | None => episode.closed_by = Some(at),
        }
    }
}
