//! Owns the results of a replay as they are kept: versioned JSON that a later replay can be compared with. What differs between two replays
//! of the same bytes (times, memory) stands apart, under `measured`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::compare::Comparison;
use super::fixture::Fixture;
use super::isolate::{Level, Measures};
use super::matrix::Cell;
use super::subsume::{Cover, Worth};
use super::validator::Validator;
use super::verdict::Finding;
use super::weigh::Issue;
use super::words::{Classification, Outcome, ReplayFlip, Severity, StimulusKind};
use super::wrong::{Result, Wrong};

pub const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    pub format: u32,
    pub mechanic: String,
    pub exit: u8,
    pub isolation: Isolation,
    pub fixtures: Vec<FixtureLine>,
    pub validators: Vec<ValidatorLine>,
    pub cells: Vec<CellLine>,
    pub emptied: Vec<EmptiedLine>,
    pub issues: Vec<Issue>,
    pub subsumption: Subsumption,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// What was left out by a filter, a shard or an unchanged side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    pub measured: Measured,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Isolation {
    pub level: String,
    /// In force in every run.
    pub in_force: Vec<String>,
    pub missing: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FixtureLine {
    pub id: String,
    pub title: String,
    pub origin: String,
    pub kind: StimulusKind,
    pub severity: Severity,
    pub classification: Classification,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_mode: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caught_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed_by: Vec<String>,
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValidatorLine {
    pub id: String,
    pub gate: String,
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellLine {
    pub fixture: String,
    pub validator: String,
    pub gate: String,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Outcome>,
    pub why: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub substance: Option<u64>,
    /// Where it would have written outside its copy, had it not been stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Measures that it ran without, though the machine gives them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
    /// What it was in the baseline. `None`: there is no baseline, or it has no such cell of the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flip: Option<ReplayFlip>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmptiedLine {
    pub validator: String,
    pub kind: StimulusKind,
    pub outcome: Outcome,
    pub why: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Subsumption {
    /// Problems that at least one believed validator catches.
    pub caught: usize,
    /// Problems nobody catches.
    pub uncaught: Vec<String>,
    pub worth: Vec<Worth>,
    /// They fail controls or emptied stimuli: their catches are not counted.
    pub not_believed: Vec<String>,
    /// They have verdicts and catch nothing.
    pub dead: Vec<String>,
    /// They read nothing, wherever they have a verdict.
    pub vacuous: Vec<String>,
    /// Where every cost is given; see `measured` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cover: Option<Cover>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// When it began, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_at: Option<String>,
    pub runs: usize,
    pub remembered: usize,
    pub took_ms: u64,
    /// Median time of a run.
    pub cost_ms: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cover: Option<Cover>,
    /// One a cell, in the order of the cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellTime>,
}

/// How long a cell's run took, and whether it ran this time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellTime {
    /// Microseconds; of a remembered cell, those of the run that is remembered. `None`: it was never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    pub remembered: bool,
}

impl Isolation {
    pub fn of(level: Level, measures: Measures) -> Isolation {
        let own = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect();
        let level = match level {
            Level::User => "namespaces",
            Level::Root => "namespaces made by root",
            Level::Bare => "supervised process",
        };
        // A user namespace is how others are had without root, no measure by itself.
        let missing = measures.missing().into_iter().filter(|m| level != "namespaces made by root" || *m != "user namespace").collect();
        Isolation { level: level.to_owned(), in_force: own(measures.names()), missing: own(missing) }
    }
}

impl FixtureLine {
    pub fn of(f: &Fixture) -> FixtureLine {
        FixtureLine {
            id: f.id.clone(),
            title: f.title.clone(),
            origin: f.origin.clone(),
            kind: f.stimulus.kind,
            severity: f.severity,
            classification: f.classification,
            failure_mode: f.failure_mode.clone(),
            caught_by: f.caught_by.clone(),
            missed_by: f.missed_by.clone(),
            digest: f.digest.clone(),
        }
    }
}

impl ValidatorLine {
    pub fn of(v: &Validator) -> ValidatorLine {
        ValidatorLine { id: v.id.clone(), gate: v.gate.clone(), digest: v.digest.clone() }
    }
}

impl CellTime {
    pub fn of(cell: &Cell) -> CellTime {
        let us = cell.once.took.as_micros() as u64;
        CellTime { took_us: (us > 0).then_some(us), remembered: cell.from_memo }
    }
}

impl CellLine {
    /// `given`: what the machine gives to every run.
    pub fn of(cell: &Cell, given: Measures) -> CellLine {
        CellLine {
            fixture: cell.fixture.clone(),
            validator: cell.validator.clone(),
            gate: cell.gate.clone(),
            outcome: cell.once.outcome,
            expected: cell.expected,
            why: cell.once.why.clone(),
            findings: cell.once.findings.clone(),
            substance: cell.once.substance,
            outside: cell.once.conduct.outside.clone(),
            degraded: cell.once.conduct.lacking(given).names().into_iter().map(str::to_owned).collect(),
            before: None,
            flip: None,
        }
    }
}

impl Results {
    /// Reads a results file.
    pub fn load(file: &Path) -> Result<Results> {
        let text = std::fs::read_to_string(file).map_err(|e| Wrong::at(file, e))?;
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let version: Version =
            serde_json::from_str(&text).map_err(|e| Wrong::at(file, format!("is no results file of mechanic replay: {e}")))?;
        if version.format != FORMAT {
            return Err(Wrong::at(file, format!("format {} is not known: this version reads format {FORMAT}", version.format)));
        }
        serde_json::from_str(&text).map_err(|e| Wrong::at(file, format!("cannot be read: {e}")))
    }

    /// SHA-256 of what was found, without what differs from run to run: equal results have equal ones.
    pub fn digest(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            object.remove("measured");
        }
        super::digest::bytes(value.to_string().as_bytes())
    }

    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    pub fn cell(&self, fixture: &str, validator: &str) -> Option<&CellLine> {
        self.cells.iter().find(|c| c.fixture == fixture && c.validator == validator)
    }

    pub fn fixture(&self, id: &str) -> Option<&FixtureLine> {
        self.fixtures.iter().find(|f| f.id == id)
    }
}
