//! Owns what a matrix means: which cells break an expectation, which are waived, what is worth a word, and which exit code that is.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::fixture::{Expect, Fixture, Who};
use super::matrix::{Cell, Emptied};
use super::waivers::Waivers;
use super::words::{Classification, Outcome, Severity};

words! {
    /// What is to be told of a replay.
    Kind {
        /// A normative fixture is not caught as expected.
        Missed = "missed",
        /// The baseline caught it, this does not.
        NewlyMissed = "newly_missed",
        /// A control was failed.
        FalseAlarm = "false_alarm",
        /// Skipped although the fixture carries the reference.
        SkippedReference = "skipped_reference",
        /// No validator belongs to a gate that is to catch, or nobody is to catch a normative fixture.
        Unanswered = "unanswered",
        /// A change of the corpus that could hide a regression of the same change.
        SelfAcquittal = "self_acquittal",
        /// A crash or a timeout.
        NoVerdict = "no_verdict",
        /// It passes or catches an emptied stimulus.
        OnNothing = "on_nothing",
        /// It would have written outside its copy.
        Outside = "outside",
        /// It left processes, filled its place or said more than is kept.
        Unruly = "unruly",
        /// It ran with less isolation than others.
        Degraded = "degraded",
        /// A known defect is caught now.
        Resolved = "resolved",
        NewlyCaught = "newly_caught",
        /// Another outcome than expected that blinds no gate.
        Differs = "differs",
        ExpiredWaiver = "expired_waiver",
        UnusedWaiver = "unused_waiver",
        /// Not in the lock yet.
        Unlocked = "unlocked",
    }
}

impl Kind {
    /// Whether it fails the check unless waived.
    pub fn fails(self) -> bool {
        matches!(
            self,
            Kind::Missed | Kind::NewlyMissed | Kind::FalseAlarm | Kind::SkippedReference | Kind::Unanswered | Kind::SelfAcquittal
        )
    }
}

/// One thing to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixture: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validator: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    pub text: String,
    /// Who waived it, why and until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waived: Option<String>,
}

impl Issue {
    pub fn fails(&self) -> bool {
        self.kind.fails() && self.waived.is_none()
    }

    pub(super) fn of_cell(kind: Kind, fixture: &Fixture, cell: &Cell, text: String) -> Issue {
        Issue {
            kind,
            fixture: Some(fixture.id.clone()),
            validator: Some(cell.validator.clone()),
            gate: Some(cell.gate.clone()),
            severity: Some(fixture.severity),
            text,
            waived: None,
        }
    }

    pub(super) fn plain(kind: Kind, fixture: Option<&str>, validator: Option<&str>, text: String) -> Issue {
        let own = |t: Option<&str>| t.map(str::to_owned);
        Issue { kind, fixture: own(fixture), validator: own(validator), gate: None, severity: None, text, waived: None }
    }
}

/// What the exit code is: 3 outranks 1, and what is proven is told all the same.
pub fn exit_code(issues: &[Issue]) -> u8 {
    if issues.iter().any(|i| i.kind == Kind::NoVerdict) { 3 } else { u8::from(issues.iter().any(Issue::fails)) }
}

/// Weighs the cells of fixtures against their expectations. `whole`: no filter left validators out.
pub fn expectations(fixtures: &[&Fixture], cells: &[Cell], whole: bool) -> Vec<Issue> {
    let mut by_fixture: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        by_fixture.entry(cell.fixture.as_str()).or_default().push(cell);
    }
    let mut out = Vec::new();
    for fixture in fixtures {
        let cells = by_fixture.get(fixture.id.as_str()).map_or(&[][..], Vec::as_slice);
        for cell in cells {
            of_cell(fixture, cell, &mut out);
        }
        let caught = |e: &Expect| e.outcome == Outcome::Catches;
        if fixture.classification == Classification::Normative && !fixture.expect.iter().any(caught) {
            let text = "it is normative and nothing is expected to catch it: add [[expect]] with outcome = \"catches\", or classify it as known_defect";
            out.push(Issue::plain(Kind::Unanswered, Some(&fixture.id), None, text.to_owned()));
        }
        for expect in &fixture.expect {
            let own = |cell: &&&Cell| match &expect.who {
                Who::Validator(id) => cell.validator == *id,
                Who::Gate(gate) => cell.gate == *gate && !fixture.expect.iter().any(|e| e.who == Who::Validator(cell.validator.clone())),
            };
            let asked: Vec<&Cell> = cells.iter().filter(own).copied().collect();
            of_expectation(fixture, &expect.who, expect.outcome, &asked, whole, &mut out);
        }
    }
    out
}

/// What a cell is worth whoever is asked.
fn of_cell(fixture: &Fixture, cell: &Cell, out: &mut Vec<Issue>) {
    let told = &cell.once.why;
    let mut push = |kind: Kind, text: String| out.push(Issue::of_cell(kind, fixture, cell, text));
    match (cell.once.outcome, fixture.classification) {
        (Outcome::Crashes, _) => push(Kind::NoVerdict, format!("crashed twice: {told}")),
        (Outcome::TimesOut, _) => push(Kind::NoVerdict, told.clone()),
        (Outcome::Skipped, _) if fixture.stimulus.reference => {
            push(Kind::SkippedReference, format!("skipped although the fixture carries the reference: {told}"));
        }
        (Outcome::Catches | Outcome::WrongReason, Classification::Control) => push(Kind::FalseAlarm, format!("failed a control: {told}")),
        (Outcome::Flaky, Classification::Control) => push(Kind::FalseAlarm, format!("is flaky on a control: {told}")),
        (Outcome::Catches, Classification::KnownDefect) => {
            push(Kind::Resolved, "caught now: resolved; make it normative".to_owned());
        }
        (Outcome::Catches | Outcome::Misses, _)
            if cell.once.substance.zip(fixture.stimulus.subjects).is_some_and(|(read, all)| read < all) =>
        {
            let (read, all) = (cell.once.substance.unwrap_or(0), fixture.stimulus.subjects.unwrap_or(0));
            push(Kind::Differs, format!("read {read} of {all} subjects: its verdict ({}) is of a part", cell.once.outcome));
        }
        (Outcome::Vacuous | Outcome::Skipped | Outcome::Stale, Classification::Control) => {
            push(Kind::Differs, format!("did not pass a control, it was {}: {told}", cell.once.outcome));
        }
        _ => {}
    }
}

fn of_expectation(fixture: &Fixture, who: &Who, expected: Outcome, asked: &[&Cell], whole: bool, out: &mut Vec<Issue>) {
    let normative = fixture.classification == Classification::Normative;
    let Some(best) = asked.iter().copied().min_by_key(|c| rank(c.once.outcome, expected)) else {
        if whole && normative && expected == Outcome::Catches {
            let (validator, gate) = match who {
                Who::Validator(id) => (Some(id.clone()), None),
                Who::Gate(gate) => (None, Some(gate.clone())),
            };
            let text = match who {
                Who::Validator(_) => "no such validator, and it is to catch this".to_owned(),
                Who::Gate(_) => "no validator belongs to this gate, and it is to catch this".to_owned(),
            };
            let severity = Some(fixture.severity);
            out.push(Issue { kind: Kind::Unanswered, fixture: Some(fixture.id.clone()), validator, gate, severity, text, waived: None });
        }
        return;
    };
    let got = best.once.outcome;
    if got == expected {
        return;
    }
    // Without a verdict nothing is proven; the cell itself says so.
    if asked.iter().any(|c| !c.once.outcome.is_verdict()) {
        return;
    }
    let text = format!("expected {expected}, got {got}: {}", best.once.why);
    let mut issue = Issue::of_cell(Kind::Differs, fixture, best, text);
    if asked.len() > 1 {
        issue.validator = None;
    }
    issue.kind = match (expected, got) {
        (Outcome::Catches, _) if normative => Kind::Missed,
        (_, Outcome::Catches) if normative => Kind::NewlyCaught,
        // Already told as resolved or as a violation.
        (_, Outcome::Catches) => return,
        (_, Outcome::Skipped) if fixture.stimulus.reference => return,
        _ => Kind::Differs,
    };
    out.push(issue);
}

/// A gate catches when one of its validators does.
fn rank(outcome: Outcome, expected: Outcome) -> usize {
    let order = [
        Outcome::Catches,
        Outcome::WrongReason,
        Outcome::Flaky,
        Outcome::Misses,
        Outcome::Vacuous,
        Outcome::Skipped,
        Outcome::Stale,
        Outcome::Unsupported,
    ];
    match order.iter().position(|o| *o == outcome) {
        // Where a gate is expected not to catch, what is expected counts only if nobody catches.
        Some(0) => 0,
        Some(_) if outcome == expected => 1,
        Some(n) => n + 1,
        None => usize::MAX,
    }
}

/// Verdicts on nothing.
pub fn emptied(emptied: &[Emptied]) -> Vec<Issue> {
    let told = |e: &Emptied| {
        let what = if e.once.outcome == Outcome::Misses { "passes" } else { "fails" };
        let text = format!("{what} an emptied {}: what it says of a full one is worth little", e.kind);
        Issue::plain(Kind::OnNothing, None, Some(&e.validator), text)
    };
    emptied.iter().filter(|e| e.is_suspicious()).map(told).collect()
}

/// Waives what is waived, and tells of waivers that have run out or are not needed.
pub fn waive(issues: &mut Vec<Issue>, waivers: &Waivers, today: Date, whole: bool) {
    let mut used = vec![false; waivers.waivers.len()];
    for issue in issues.iter_mut().filter(|i| i.kind.fails() && i.kind != Kind::SelfAcquittal) {
        let (Some(fixture), gate) = (issue.fixture.as_deref(), issue.gate.as_deref().unwrap_or_default()) else { continue };
        for (waiver, used) in waivers.waivers.iter().zip(&mut used) {
            if !waiver.covers(fixture, issue.validator.as_deref(), gate) {
                continue;
            }
            *used = true;
            if !waiver.expired(today) {
                issue.waived = Some(format!("{} until {}: {}", waiver.who, waiver.expires, waiver.why));
            }
        }
    }
    for (waiver, used) in waivers.waivers.iter().zip(used) {
        let of = waiver.validator.as_deref().or(waiver.gate.as_deref()).unwrap_or_default();
        let told = |kind, text| Issue {
            gate: waiver.gate.clone(),
            ..Issue::plain(kind, Some(&waiver.fixture), waiver.validator.as_deref(), text)
        };
        if used && waiver.expired(today) {
            issues.push(told(Kind::ExpiredWaiver, format!("the waiver of {of} ran out on {}", waiver.expires)));
        } else if !used && whole {
            issues.push(told(Kind::UnusedWaiver, format!("the waiver of {of} waives nothing; take it out")));
        }
    }
}
