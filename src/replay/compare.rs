//! Owns the comparison with a baseline: which verdicts flipped, which way, and whether that can mean anything.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::mcnemar;
use super::results::{CellLine, Results};
use super::weigh::{Issue, Kind};
use super::words::{Classification, Outcome, ReplayFlip};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub baseline: String,
    pub newly_missed: Vec<Flip>,
    pub newly_caught: Vec<Flip>,
    /// Controls that were passed and are failed now.
    pub newly_wrong: Vec<Flip>,
    /// Controls that were failed and are passed now.
    pub no_longer_wrong: Vec<Flip>,
    pub unchanged: usize,
    /// Other outcomes than before, of no consequence for what is caught.
    pub otherwise: usize,
    /// Cells the baseline does not have.
    pub new: usize,
    /// Cells without a verdict on one side: nothing is proven of them.
    pub no_verdict: usize,
    /// Over problems: caught by anyone before and now.
    pub problems: Flips,
    /// Over the problems of each validator that flipped.
    pub validators: BTreeMap<String, Flips>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flip {
    pub fixture: String,
    pub validator: String,
    pub before: Outcome,
    pub now: Outcome,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Flips {
    pub lost: u64,
    pub won: u64,
    pub p: f64,
    pub note: String,
}

impl Flips {
    fn of(lost: u64, won: u64) -> Flips {
        Flips { lost, won, p: mcnemar::exact(lost, won), note: mcnemar::note(lost, won) }
    }
}

/// Compares cells of the same fixture bytes. `gone`: validators the change no longer has; what they caught is missed.
pub fn compare(name: &str, before: &Results, now: &Results, whole: bool) -> (Comparison, Vec<Issue>) {
    let mut c = Comparison { baseline: name.to_owned(), ..Comparison::default() };
    let mut issues = Vec::new();
    let class: BTreeMap<&str, Classification> = now.fixtures.iter().map(|f| (f.id.as_str(), f.classification)).collect();
    let same: BTreeSet<&str> =
        now.fixtures.iter().filter(|f| before.fixture(&f.id).is_some_and(|b| b.digest == f.digest)).map(|f| f.id.as_str()).collect();
    let old: BTreeMap<(&str, &str), &CellLine> = before.cells.iter().map(|c| ((c.fixture.as_str(), c.validator.as_str()), c)).collect();
    let mut per: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut caught: BTreeMap<&str, (bool, bool, bool)> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for cell in &now.cells {
        let key = (cell.fixture.as_str(), cell.validator.as_str());
        let is_same = same.contains(cell.fixture.as_str());
        if is_same {
            // Whoever catches it now, a validator of the baseline or a new one.
            let entry = caught.entry(cell.fixture.as_str()).or_default();
            entry.1 |= cell.outcome == Outcome::Catches;
            entry.2 |= !cell.outcome.is_verdict();
        }
        let Some(previous) = old.get(&key).filter(|_| is_same) else {
            c.new += 1;
            continue;
        };
        seen.insert(key);
        flip(&mut c, &mut issues, &mut per, class.get(cell.fixture.as_str()).copied(), previous, cell);
        let entry = caught.entry(cell.fixture.as_str()).or_default();
        entry.0 |= previous.outcome == Outcome::Catches;
        entry.2 |= !previous.outcome.is_verdict();
    }
    if whole {
        // A validator that is gone catches nothing any more.
        for (key, previous) in old.iter().filter(|(k, _)| same.contains(k.0) && !seen.contains(*k)) {
            let gone = CellLine {
                outcome: Outcome::Unsupported,
                why: "the validator is gone".to_owned(),
                findings: Vec::new(),
                ..(*previous).clone()
            };
            flip(&mut c, &mut issues, &mut per, class.get(key.0).copied(), previous, &gone);
            caught.entry(key.0).or_default().0 |= previous.outcome == Outcome::Catches;
        }
    }
    let problems = caught.iter().filter(|(id, (.., unproven))| class.get(*id) != Some(&Classification::Control) && !unproven);
    let (mut lost, mut won) = (0, 0);
    for (_, (before, now, _)) in problems {
        lost += u64::from(*before && !now);
        won += u64::from(!before && *now);
    }
    c.problems = Flips::of(lost, won);
    c.validators = per.into_iter().map(|(id, (lost, won))| (id.to_owned(), Flips::of(lost, won))).collect();
    (c, issues)
}

/// Writes beside each cell what it was in the baseline, where that had it on the same bytes.
pub fn mark(before: &Results, now: &mut Results) {
    let digest_then: BTreeMap<&str, &str> = before.fixtures.iter().map(|f| (f.id.as_str(), f.digest.as_str())).collect();
    let old: BTreeMap<(&str, &str), Outcome> =
        before.cells.iter().map(|c| ((c.fixture.as_str(), c.validator.as_str()), c.outcome)).collect();
    let class: BTreeMap<&str, Classification> = now
        .fixtures
        .iter()
        .filter(|f| digest_then.get(f.id.as_str()) == Some(&f.digest.as_str()))
        .map(|f| (f.id.as_str(), f.classification))
        .collect();
    for cell in &mut now.cells {
        let same = class.get(cell.fixture.as_str());
        cell.before = same.and_then(|_| old.get(&(cell.fixture.as_str(), cell.validator.as_str())).copied());
        cell.flip = Some(cell.before.map_or(ReplayFlip::New, |before| ReplayFlip::of(before, cell.outcome, same.copied())));
    }
}

fn flip<'a>(
    c: &mut Comparison,
    issues: &mut Vec<Issue>,
    per: &mut BTreeMap<&'a str, (u64, u64)>,
    class: Option<Classification>,
    before: &'a CellLine,
    now: &CellLine,
) {
    let flip = Flip { fixture: before.fixture.clone(), validator: before.validator.clone(), before: before.outcome, now: now.outcome };
    let counts = per.entry(before.validator.as_str());
    match ReplayFlip::of(before.outcome, now.outcome, class) {
        ReplayFlip::NoVerdict => c.no_verdict += 1,
        ReplayFlip::Unchanged => c.unchanged += 1,
        ReplayFlip::New => c.new += 1,
        ReplayFlip::Otherwise => c.otherwise += 1,
        ReplayFlip::NoLongerWrong => c.no_longer_wrong.push(flip),
        ReplayFlip::NewlyWrong => c.newly_wrong.push(flip),
        ReplayFlip::NewlyMissed => {
            counts.or_default().0 += 1;
            if class == Some(Classification::Normative) {
                issues.push(Issue {
                    gate: Some(before.gate.clone()),
                    ..Issue::plain(
                        Kind::NewlyMissed,
                        Some(&before.fixture),
                        Some(&before.validator),
                        format!("caught at the baseline, now {}: {}", now.outcome, now.why),
                    )
                });
            }
            c.newly_missed.push(flip);
        }
        ReplayFlip::NewlyCaught => {
            counts.or_default().1 += 1;
            c.newly_caught.push(flip);
        }
    }
}
