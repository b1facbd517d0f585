//! Owns the rule that a change cannot acquit itself: what in a change could hide its own regression is named, unless it was approved at the
//! baseline.

use jiff::civil::Date;

use super::fixture::{Fixture, Stimulus};
use super::results::Results;
use super::suite::Suite;
use super::validator::{Judge, Validator};
use super::waivers::Change;
use super::weigh::{Issue, Kind};

/// Every such difference of the work tree from the baseline's suite.
pub fn differences(at_ref: &Suite, work: &Suite, today: Date) -> Vec<Issue> {
    let mut out = Vec::new();
    let mut name = |change: Change, fixture: Option<&str>, validator: Option<&str>, text: String| {
        if at_ref.corpus.waivers.approves(change, fixture, validator, today).is_none() {
            out.push(Issue::plain(
                Kind::SelfAcquittal,
                fixture,
                validator,
                format!("{text}; approve it at the baseline first (change = \"{change}\")"),
            ));
        }
    };
    for old in &at_ref.corpus.fixtures {
        let id = Some(old.id.as_str());
        let Some(new) = work.corpus.get(&old.id) else {
            name(Change::Delete, id, None, "the fixture is deleted in the same change".to_owned());
            continue;
        };
        if new.classification != old.classification {
            let text = format!("the fixture is reclassified in the same change, from {} to {}", old.classification, new.classification);
            name(Change::Reclassify, id, None, text);
        }
        if new.expect != old.expect {
            name(Change::Expectation, id, None, "the fixture's expectations are changed in the same change".to_owned());
        }
        if edited(old, new) {
            name(Change::Edit, id, None, "the fixture is edited in the same change".to_owned());
        }
    }
    for (id, digest) in &at_ref.corpus.lock.fixtures {
        let kept = work.corpus.lock.fixtures.get(id);
        // A fixture that is itself edited or gone has been named already.
        let same = work.corpus.get(id).is_some_and(|f| at_ref.corpus.get(id).is_some_and(|o| o.digest == f.digest));
        if kept != Some(digest) && same {
            name(Change::Lock, Some(id), None, "the fixture's line of the lock is changed in the same change".to_owned());
        }
    }
    for old in &at_ref.validators.list {
        let id = Some(old.id.as_str());
        match work.validators.get(&old.id) {
            None => name(Change::Validator, None, id, "the validator is deleted in the same change".to_owned()),
            Some(new) if new.gate != old.gate => {
                name(Change::Validator, None, id, format!("the validator is moved to gate {} in the same change", new.gate));
            }
            Some(new) if old.judge.is_none() && new.judge.is_some() => {
                name(Change::Validator, None, id, "the validator becomes a judge, whose verdicts come with the change itself".to_owned());
            }
            Some(new) if old.substance.is_some() && new.substance.is_none() => {
                name(
                    Change::Validator,
                    None,
                    id,
                    "the validator no longer says how much it read, so that vacuous passes go unseen".to_owned(),
                );
            }
            Some(new) if format!("{:?}", old.substance) != format!("{:?}", new.substance) => {
                let text = "how much the validator read is told in another way in the same change".to_owned();
                name(Change::Validator, None, id, text);
            }
            Some(new) if asks_otherwise(old, new) && !new_records(at_ref, old, new).is_empty() => {
                let text = "the judge's prompt or model and its recorded verdicts are changed in one change".to_owned();
                name(Change::Validator, None, id, text);
            }
            Some(new) => {
                for fixture in rewritten(at_ref, old, new) {
                    let text = format!("the recorded verdict of {fixture} is rewritten or taken away for the same prompt and model");
                    name(Change::Validator, None, id, text);
                }
            }
        }
    }
    for waiver in &work.corpus.waivers.waivers {
        if !at_ref.corpus.waivers.waivers.contains(waiver) {
            let of = waiver.validator.as_deref().or(waiver.gate.as_deref()).unwrap_or_default();
            name(
                Change::Waiver,
                Some(&waiver.fixture),
                None,
                format!("a waiver of {of} is added or changed in the same change, and is not heeded"),
            );
        }
    }
    for approval in &work.corpus.waivers.approvals {
        if !at_ref.corpus.waivers.approvals.contains(approval) {
            let text = format!("an approval ({}) is added or changed in the same change, and is not heeded", approval.change);
            name(Change::Waiver, approval.fixture.as_deref(), approval.validator.as_deref(), text);
        }
    }
    out
}

/// Whether more of a fixture changed than its classification and expectations, which are named by themselves: its stimulus, or anything
/// where those two stayed.
fn edited(old: &Fixture, new: &Fixture) -> bool {
    let told = new.classification != old.classification || new.expect != old.expect;
    let told_of = |s: &Stimulus| (s.kind, s.commit.clone(), s.reference, s.subjects);
    let stimulus = told_of(&old.stimulus) != told_of(&new.stimulus) || old.stimulus_digest().ok() != new.stimulus_digest().ok();
    new.digest != old.digest && (stimulus || !told)
}

/// Fixtures of which a judge's record is another although nothing that was judged is: a new prompt or model needs new records, the same
/// ones do not.
fn rewritten(at_ref: &Suite, old: &Validator, new: &Validator) -> Vec<String> {
    let (Some(before), Some(now)) = (&old.judge, &new.judge) else { return Vec::new() };
    if asks_otherwise(old, new) {
        return Vec::new();
    }
    changed_records(at_ref, before, now)
}

/// Whether a judge is asked another question, or another judge the same.
fn asks_otherwise(old: &Validator, new: &Validator) -> bool {
    let question = |v: &Validator| v.judge.as_ref().map(|j| (j.prompt_digest.clone(), j.model.clone()));
    question(old) != question(new)
}

/// The records that a judge has of fixtures of the baseline and that are not those of before. What is `catches` by them was written by the
/// change itself.
fn new_records(at_ref: &Suite, old: &Validator, new: &Validator) -> Vec<String> {
    match (&old.judge, &new.judge) {
        (Some(before), Some(now)) => {
            let ids = at_ref.corpus.fixtures.iter().map(|f| f.id.clone());
            ids.filter(|id| record(now, id).is_some_and(|n| record(before, id).as_ref() != Some(&n))).collect()
        }
        _ => Vec::new(),
    }
}

fn record(judge: &Judge, id: &str) -> Option<Vec<u8>> {
    std::fs::read(judge.transcripts.join(format!("{id}.json"))).ok()
}

/// Records that are another now, or gone.
fn changed_records(at_ref: &Suite, before: &Judge, now: &Judge) -> Vec<String> {
    let ids = at_ref.corpus.fixtures.iter().map(|f| f.id.clone());
    ids.filter(|id| record(before, id).is_some_and(|b| record(now, id).as_ref() != Some(&b))).collect()
}

/// The same of a results file, which knows bytes and names only.
pub fn differences_of_file(before: &Results, work: &Suite) -> Vec<Issue> {
    let mut out = Vec::new();
    let mut name = |fixture: Option<&str>, validator: Option<&str>, text: &str| {
        out.push(Issue::plain(
            Kind::SelfAcquittal,
            fixture,
            validator,
            format!("{text} since the baseline was made; make a new one on purpose"),
        ));
    };
    for old in &before.fixtures {
        match work.corpus.get(&old.id) {
            None => name(Some(&old.id), None, "the fixture is deleted"),
            Some(new) if new.classification != old.classification => name(Some(&old.id), None, "the fixture is reclassified"),
            Some(new) if new.digest != old.digest => name(Some(&old.id), None, "the fixture is edited"),
            Some(_) => {}
        }
    }
    for old in &before.validators {
        if work.validators.get(&old.id).is_none() {
            name(None, Some(&old.id), "the validator is deleted");
        }
    }
    out
}
