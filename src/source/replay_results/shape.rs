//! Owns the shape of a results file, and what it says of all its cells together.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::Value;

use super::FORMAT;
use crate::model::id::{digest, stable_id};
use crate::model::time::Ts;
use crate::model::vocabulary::{ReplayFlip, ReplayOutcome};
use crate::source::cut_home;
use crate::source::lenient::name;

/// A list of the document; what of it is no list, or no entry of its shape, is left out.
fn list<T: for<'de> Deserialize<'de>>(of: &Value, key: &str) -> Vec<T> {
    let items = of.get(key).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(|item| T::deserialize(item).ok()).collect()
}

fn text(of: &Value, pointer: &str) -> Option<String> {
    of.pointer(pointer).and_then(Value::as_str).map(name).filter(|t| !t.is_empty())
}

#[derive(Deserialize)]
pub(super) struct Fixture {
    pub(super) id: String,
    pub(super) kind: Option<String>,
    pub(super) severity: Option<String>,
    pub(super) classification: Option<String>,
    pub(super) failure_mode: Option<String>,
    pub(super) digest: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Validator {
    pub(super) id: String,
    pub(super) digest: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Emptied {
    pub(super) validator: String,
    pub(super) kind: String,
    pub(super) outcome: ReplayOutcome,
}

#[derive(Deserialize)]
pub(super) struct Issue {
    pub(super) kind: String,
    pub(super) fixture: String,
    pub(super) validator: Option<String>,
    pub(super) gate: Option<String>,
    pub(super) waived: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Cell {
    pub(super) fixture: String,
    pub(super) validator: String,
    pub(super) gate: String,
    pub(super) outcome: ReplayOutcome,
    pub(super) expected: Option<ReplayOutcome>,
    pub(super) why: Option<String>,
    #[serde(default)]
    pub(super) findings: Vec<serde::de::IgnoredAny>,
    pub(super) substance: Option<i64>,
    pub(super) before: Option<ReplayOutcome>,
    pub(super) flip: Option<ReplayFlip>,
}

#[derive(Deserialize, Default, Clone)]
pub(super) struct Time {
    pub(super) took_us: Option<i64>,
    pub(super) remembered: Option<bool>,
}

/// A flip of the comparison; here only those of validators that are gone matter.
#[derive(Deserialize)]
pub(super) struct Flip {
    pub(super) fixture: String,
    pub(super) validator: String,
    pub(super) before: ReplayOutcome,
    pub(super) now: ReplayOutcome,
}

impl Issue {
    /// An issue that names no validator is about every one of its gate.
    pub(super) fn is_of(&self, cell: &Cell) -> bool {
        match (&self.validator, &self.gate) {
            (Some(validator), _) => *validator == cell.validator,
            (None, Some(gate)) => *gate == cell.gate,
            (None, None) => false,
        }
    }
}

/// What a file says of all its cells.
pub(super) struct Replay {
    pub(super) id: String,
    pub(super) results_digest: String,
    pub(super) at: Option<Ts>,
    pub(super) version: Option<String>,
    pub(super) corpus_digest: Option<String>,
    pub(super) part: Option<String>,
    pub(super) exit: Option<i64>,
    pub(super) level: Option<String>,
    pub(super) missing: Option<Vec<String>>,
    pub(super) baseline: Option<String>,
    pub(super) fixtures: HashMap<String, Fixture>,
    pub(super) validators: HashMap<String, Option<String>>,
    pub(super) emptied: HashMap<(String, String), ReplayOutcome>,
    pub(super) issues: HashMap<String, Vec<Issue>>,
    pub(super) times: Vec<Time>,
    pub(super) gone: Vec<(ReplayFlip, Flip)>,
}

impl Replay {
    pub(super) fn of(whole: &Value, cells: &[Value]) -> Replay {
        let measured = whole.get("measured").unwrap_or(&Value::Null);
        let found = {
            let object = whole.as_object().into_iter().flatten().filter(|(key, _)| *key != "measured");
            let parts: BTreeMap<&String, &Value> = object.collect();
            digest(serde_json::to_string(&(parts, cells)).unwrap_or_default().as_bytes())
        };
        let fixtures: Vec<Fixture> = list(whole, "fixtures");
        let mut digests: Vec<(&str, &str)> = fixtures.iter().filter_map(|f| Some((f.id.as_str(), f.digest.as_deref()?))).collect();
        digests.sort_unstable();
        let parts: Vec<&str> = digests.iter().flat_map(|(id, digest)| [*id, *digest]).collect();
        let corpus_digest = (!parts.is_empty()).then(|| stable_id(&parts));
        let mut issues: HashMap<String, Vec<Issue>> = HashMap::new();
        for issue in list::<Issue>(whole, "issues") {
            issues.entry(issue.fixture.clone()).or_default().push(issue);
        }
        let comparison = whole.get("comparison").unwrap_or(&Value::Null);
        let lists = [ReplayFlip::NewlyMissed, ReplayFlip::NewlyCaught, ReplayFlip::NewlyWrong, ReplayFlip::NoLongerWrong];
        let times = measured.get("cells").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let missing = whole.pointer("/isolation/missing").and_then(Value::as_array);
        let baseline = comparison.get("baseline").and_then(Value::as_str);
        Replay {
            id: stable_id(&[FORMAT, &found, &digest(measured.to_string().as_bytes())]),
            at: measured.get("began_at").and_then(Value::as_str).and_then(Ts::parse),
            version: text(whole, "/mechanic"),
            part: text(whole, "/part"),
            exit: whole.get("exit").and_then(Value::as_i64),
            level: text(whole, "/isolation/level"),
            missing: missing.map(|list| list.iter().filter_map(Value::as_str).map(name).collect()),
            baseline: baseline.map(|b| name(&cut_home(b))),
            fixtures: fixtures.into_iter().map(|f| (f.id.clone(), f)).collect(),
            validators: list::<Validator>(whole, "validators").into_iter().map(|v| (v.id, v.digest)).collect(),
            emptied: list::<Emptied>(whole, "emptied").into_iter().map(|e| ((e.validator, e.kind), e.outcome)).collect(),
            gone: lists
                .into_iter()
                .flat_map(|kind| list::<Flip>(comparison, kind.as_str()).into_iter().map(move |flip| (kind, flip)))
                .collect(),
            // By place: an entry that cannot be read must not shift the others.
            times: times.iter().map(|t| Time::deserialize(t).unwrap_or_default()).collect(),
            corpus_digest,
            issues,
            results_digest: found,
        }
    }
}
