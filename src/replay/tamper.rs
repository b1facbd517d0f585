//! Owns the rule that a change cannot acquit itself: what in a change could hide its own regression is named, unless it was approved at the
//! baseline.

use jiff::civil::Date;

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
        } else if new.expect != old.expect {
            name(Change::Expectation, id, None, "the fixture's expectations are changed in the same change".to_owned());
        } else if new.digest != old.digest {
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

/// Fixtures of which a judge's record is another although nothing that was judged is: a new prompt or model needs new records, the same
/// ones do not.
fn rewritten(at_ref: &Suite, old: &Validator, new: &Validator) -> Vec<String> {
    let (Some(before), Some(now)) = (&old.judge, &new.judge) else { return Vec::new() };
    if (&before.prompt_digest, &before.model) != (&now.prompt_digest, &now.model) {
        return Vec::new();
    }
    let record = |judge: &Judge, id: &str| std::fs::read(judge.transcripts.join(format!("{id}.json"))).ok();
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
