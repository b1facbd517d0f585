//! Owns `waivers.toml`: regressions a person accepts for a time, and approvals of changes to the corpus itself.

use std::path::Path;

use jiff::civil::Date;
use serde::Deserialize;

use super::wrong::{Problems, Result, Wrong, toml};

/// The file beside the fixtures.
pub const FILE: &str = "waivers.toml";

words! {
    /// A change of the corpus or its validators that can hide a regression.
    Change {
        Edit = "edit",
        Reclassify = "reclassify",
        Delete = "delete",
        Expectation = "expectation",
        Validator = "validator",
        Waiver = "waiver",
        Lock = "lock",
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waivers {
    pub waivers: Vec<Waiver>,
    pub approvals: Vec<Approval>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    pub fixture: String,
    pub validator: Option<String>,
    pub gate: Option<String>,
    pub who: String,
    pub why: String,
    pub expires: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    pub change: Change,
    pub fixture: Option<String>,
    pub validator: Option<String>,
    pub who: String,
    pub why: String,
    pub expires: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    waiver: Vec<Waiver>,
    #[serde(default)]
    approval: Vec<Approval>,
}

fn date(text: &str) -> Option<Date> {
    text.parse().ok()
}

impl Waivers {
    /// Reads the waivers of a corpus; none where there is no file.
    pub fn load(corpus: &Path) -> Result<Waivers> {
        let file = corpus.join(FILE);
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Waivers::default()),
            Err(e) => return Err(Wrong::at(&file, e)),
        };
        let written: Written = toml(&file, &text)?;
        let mut problems = Problems::default();
        let mut check = |what: String, who: &str, why: &str, expires: &str, names: bool| {
            if who.trim().is_empty() || why.trim().is_empty() {
                problems.push(Wrong::at(&file, format!("{what}: say who and why")).to_string());
            }
            if date(expires).is_none() {
                problems.push(Wrong::at(&file, format!("{what}: expires must be a date, YYYY-MM-DD")).to_string());
            }
            if !names {
                problems
                    .push(Wrong::at(&file, format!("{what}: name either `validator` or the other one it is for, exactly one")).to_string());
            }
        };
        for (i, w) in written.waiver.iter().enumerate() {
            check(format!("waiver {}", i + 1), &w.who, &w.why, &w.expires, w.validator.is_some() != w.gate.is_some());
        }
        for (i, a) in written.approval.iter().enumerate() {
            check(format!("approval {}", i + 1), &a.who, &a.why, &a.expires, a.validator.is_some() != a.fixture.is_some());
        }
        problems.done(Waivers { waivers: written.waiver, approvals: written.approval })
    }

    /// The waiver in force for a cell; it holds on its last day.
    pub fn waives(&self, fixture: &str, validator: Option<&str>, gate: &str, today: Date) -> Option<&Waiver> {
        self.waivers.iter().find(|w| w.covers(fixture, validator, gate) && !w.expired(today))
    }

    /// The approval in force for a change.
    pub fn approves(&self, change: Change, fixture: Option<&str>, validator: Option<&str>, today: Date) -> Option<&Approval> {
        self.approvals.iter().find(|a| {
            a.change == change
                && a.fixture.as_deref() == fixture
                && a.validator.as_deref() == validator
                && date(&a.expires).is_some_and(|d| today <= d)
        })
    }
}

impl Waiver {
    pub fn covers(&self, fixture: &str, validator: Option<&str>, gate: &str) -> bool {
        self.fixture == fixture
            && match (&self.validator, &self.gate) {
                (Some(v), _) => Some(v.as_str()) == validator,
                (None, Some(g)) => g == gate,
                (None, None) => false,
            }
    }

    pub fn expired(&self, today: Date) -> bool {
        date(&self.expires).is_none_or(|d| today > d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiver_holds_through_its_last_day_and_names_who_and_why() {
        let dir = tempfile::tempdir().unwrap();
        let write = |text: &str| std::fs::write(dir.path().join(FILE), text).unwrap();
        write("[[waiver]]\nfixture = \"f\"\nvalidator = \"v\"\nwho = \"ann\"\nwhy = \"moved\"\nexpires = \"2026-07-01\"\n");
        let waivers = Waivers::load(dir.path()).unwrap();
        let on = |day: &str| waivers.waives("f", Some("v"), "g", day.parse().unwrap()).is_some();
        assert!(on("2026-07-01"));
        assert!(!on("2026-07-02"));
        assert!(waivers.waives("f", Some("other"), "g", "2026-01-01".parse().unwrap()).is_none());
        write("[[waiver]]\nfixture = \"f\"\nvalidator = \"v\"\nwho = \"\"\nwhy = \"x\"\nexpires = \"soon\"\n");
        let wrong = Waivers::load(dir.path()).unwrap_err().to_string();
        assert!(wrong.contains("say who and why") && wrong.contains("expires must be a date"), "{wrong}");
    }
}
