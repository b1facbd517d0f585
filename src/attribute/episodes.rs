//! Owns episodes: findings of one defect in one run, from the first report to the pass that closes it.

use std::collections::{BTreeSet, HashMap};

use super::timeline::{Event, Timeline};
use crate::model::gate_runs::{Finding, GateRun};
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
    let mut places = Places::default();
    let mut alias: HashMap<&str, &str> = HashMap::new();
    for (at, event) in timeline.events.iter().enumerate() {
        let said = findings.get(event.run.gate_run_id.as_str()).filter(|_| speaks(event.verdict));
        for &finding in said.into_iter().flatten() {
            report(&mut all, &mut places, &mut alias, timeline, at, finding);
        }
        close(&mut all, &mut places, &alias, timeline, at);
    }
    all
}

/// Whether a gate run with this verdict can say that there is a defect. One that crashed or never ran gave no verdict: what is known
/// of its cause stays a finding, but no problem of the work; a red that the method demands is none either.
fn speaks(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Fail | Verdict::Warn | Verdict::Pass | Verdict::NeedsReview | Verdict::Inconclusive)
}

/// Where the episodes of a run stand, so that none is looked for among all: a run may have very many.
#[derive(Default)]
struct Places {
    by_fingerprint: HashMap<String, Vec<usize>>,
    /// Open ones, by gate and rule of those that reported them.
    open_by_rule: HashMap<(String, Option<String>), BTreeSet<usize>>,
}

impl Places {
    fn reported(&mut self, run: &GateRun, episode: usize) {
        self.open_by_rule.entry((run.gate_id.clone(), run.rule_id.clone())).or_default().insert(episode);
    }

    /// It is closed: this gate and rule need not look at it again.
    fn forget(&mut self, run: &GateRun, episode: usize) {
        if let Some(open) = self.open_by_rule.get_mut(&(run.gate_id.clone(), run.rule_id.clone())) {
            open.remove(&episode);
        }
    }

    /// Those that a pass, or a word that they are resolved, can close; in their order.
    fn closable(&self, alias: &HashMap<&str, &str>, event: &Event<'_>) -> BTreeSet<usize> {
        let named = event.run.resolves.iter().flatten().map(|fp| alias.get(fp.as_str()).copied().unwrap_or(fp));
        let mut found: BTreeSet<usize> = named.filter_map(|fp| self.by_fingerprint.get(fp)).flatten().copied().collect();
        if event.verdict == Verdict::Pass
            && let Some(own) = self.open_by_rule.get(&(event.run.gate_id.clone(), event.run.rule_id.clone()))
        {
            found.extend(own);
        }
        found
    }
}

fn report<'a>(
    all: &mut Vec<Episode<'a>>,
    places: &mut Places,
    alias: &mut HashMap<&'a str, &'a str>,
    timeline: &Timeline<'_>,
    at: usize,
    finding: &'a Finding,
) {
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
        episode.reports.iter().all(|r| timeline.events[r.event].foreign == timeline.events[at].foreign)
            && (finding.repeat_of.is_some() || episode.basis == finding.fingerprint_basis)
            && match (episode.unit.as_deref(), finding.unit.as_deref()) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            }
    };
    // A report without a time is known to be neither before nor after a pass: it tells of no new defect.
    let timed = timeline.events[at].effective.is_some();
    let of_defect = places.by_fingerprint.get(canonical).map_or(&[][..], Vec::as_slice);
    let earlier = || of_defect.iter().rev().copied().find(|e| same(&all[*e]));
    let open = of_defect.iter().copied().find(|e| all[*e].closed_by.is_none() && same(&all[*e]));
    let known = open.or_else(|| earlier().filter(|_| !timed));
    let run = timeline.events[at].run;
    if let Some(known) = known {
        let open = &mut all[known];
        if open.closed_by.is_none() {
            places.reported(run, known);
        }
        open.unit = open.unit.take().or_else(|| finding.unit.clone());
        open.reports.push(Report { event: at, finding });
        return;
    }
    let recurs_of = earlier();
    places.by_fingerprint.entry(canonical.to_owned()).or_default().push(all.len());
    places.reported(run, all.len());
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
fn close(all: &mut [Episode<'_>], places: &mut Places, alias: &HashMap<&str, &str>, timeline: &Timeline<'_>, at: usize) {
    let event = &timeline.events[at];
    if event.effective.is_none() {
        return;
    }
    for place in places.closable(alias, event) {
        let episode = &mut all[place];
        if episode.closed_by.is_some() {
            places.forget(event.run, place);
            continue;
        }
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
