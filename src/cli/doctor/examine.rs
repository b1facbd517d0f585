//! Owns what the doctor finds out: every file read once, nothing kept but counts and names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Serialize;

use super::expiry::Expiry;
use super::unknowable::{Capability, lacking, lacking_in_file, lacking_in_source};
use crate::model::time::Ts;
use crate::source::emit::{Facts, Sink};
use crate::source::{Input, claim, cut_home, head_of, open, read_file};

/// What one file holds.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    pub path: String,
    /// `None`: no source claims it.
    pub format: Option<String>,
    /// Why it could not be read.
    pub error: Option<String>,
    pub records: i64,
    pub quarantined: i64,
    /// Quarantined records by reason.
    pub reasons: BTreeMap<String, i64>,
    /// Oddities by kind.
    pub warnings: BTreeMap<String, i64>,
    pub capabilities: BTreeSet<String>,
    /// Capabilities that every file of the format should earn and this one did not.
    pub lacks: Vec<String>,
    /// When the agent deletes the file. `None`: never, or not known.
    pub expires_at: Option<String>,
    #[serde(skip)]
    pub expires: Option<Ts>,
    #[serde(skip)]
    gates: Gates,
}

/// Everything read from one format.
#[derive(Debug, Clone, Serialize)]
pub struct SourceReport {
    pub format: String,
    pub n_files: usize,
    pub records: i64,
    pub quarantined: i64,
    pub warnings: BTreeMap<String, i64>,
    pub capabilities: BTreeSet<String>,
    pub unknowable: Vec<Unknown>,
    /// When the first of its files is deleted.
    pub first_expires_at: Option<String>,
    pub files: Vec<FileReport>,
}

/// A capability nothing earned and what cannot be known without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unknown {
    pub capability: &'static str,
    pub unknowable: &'static str,
}

/// The whole examination.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub schema_version: u32,
    pub sources: Vec<SourceReport>,
    /// Files that could not be read.
    pub failed: Vec<FileReport>,
    /// Files that no source claims.
    pub ignored: Vec<String>,
    /// What no file of all of them tells.
    pub unknowable: Vec<Unknown>,
    /// Gates that a file declares and no file shows running, with the file that declares them.
    pub declared_never_seen: Vec<Declared>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Declared {
    pub gate: String,
    pub declared_in: String,
}

/// Gates a file declares (with their other names) and gates it shows running.
#[derive(Debug, Clone, Default)]
struct Gates {
    declared: BTreeMap<String, (String, BTreeSet<String>)>,
    seen: BTreeSet<String>,
}

/// Takes rows and keeps counts.
#[derive(Default)]
struct Tally {
    reasons: BTreeMap<String, i64>,
    warnings: BTreeMap<String, i64>,
    gates: Gates,
}

impl Sink for Tally {
    fn take(&mut self, facts: &mut Facts) -> anyhow::Result<()> {
        for row in &facts.quarantine {
            *self.reasons.entry(row.reason.clone()).or_default() += 1;
        }
        for row in &facts.warnings {
            *self.warnings.entry(row.kind.clone()).or_default() += row.count;
        }
        for gate in &facts.gates {
            if let Some(file) = &gate.declared_in {
                let names = gate.aliases.iter().flatten().chain(&gate.identity).cloned().collect();
                self.gates.declared.insert(gate.gate_id.clone(), (file.clone(), names));
            }
        }
        self.gates.seen.extend(facts.gate_runs.iter().map(|g| g.gate_id.clone()));
        *facts = Facts::default();
        Ok(())
    }
}

/// Reads the files. `unreadable`: places that could not even be listed, and why.
pub fn examine(files: &[PathBuf], unreadable: &[(PathBuf, String)], expiry: &Expiry) -> Report {
    let mut reports: Vec<FileReport> = files.par_iter().map(|path| examine_file(path, expiry)).collect();
    reports.extend(unreadable.iter().map(|(path, error)| failure(path, error.clone())));
    let declared_never_seen = never_seen(&reports);
    let earned: BTreeSet<String> = reports.iter().flat_map(|r| r.capabilities.iter().cloned()).collect();

    let mut report = Report {
        schema_version: 1,
        sources: Vec::new(),
        failed: Vec::new(),
        ignored: Vec::new(),
        unknowable: unknown(&lacking(&earned)),
        declared_never_seen,
    };
    let mut by_format: BTreeMap<String, Vec<FileReport>> = BTreeMap::new();
    for file in reports {
        match (&file.error, &file.format) {
            (Some(_), _) => report.failed.push(file),
            (None, None) => report.ignored.push(file.path),
            (None, Some(format)) => by_format.entry(format.clone()).or_default().push(file),
        }
    }
    report.sources = by_format.into_iter().map(|(format, files)| sum(format, files)).collect();
    report
}

fn examine_file(path: &Path, expiry: &Expiry) -> FileReport {
    let read = || -> anyhow::Result<FileReport> {
        let input = Input::new(path)?;
        let mut report = blank(input.shown_path.clone());
        let Some(source) = claim(&input, &head_of(&input)?) else { return Ok(report) };
        let mut tally = Tally::default();
        report.format = Some(source.format().to_owned());
        let summary = match read_file(source, &input, &mut tally) {
            Ok(summary) => summary,
            Err(e) => {
                report.error = Some(open::told_of(&e));
                return Ok(report);
            }
        };
        report.capabilities = summary.capabilities.iter().map(|c| (*c).to_owned()).collect();
        report.lacks = lacking_in_file(&report.capabilities, source.format()).iter().map(|c| c.name.to_owned()).collect();
        (report.records, report.quarantined) = (summary.records, summary.quarantined);
        (report.reasons, report.warnings, report.gates) = (tally.reasons, tally.warnings, tally.gates);
        report.expires = expiry.of(path);
        report.expires_at = report.expires.map(|at| at.to_string());
        Ok(report)
    };
    read().unwrap_or_else(|e| failure(path, open::told_of(&e)))
}

fn blank(path: String) -> FileReport {
    FileReport {
        path,
        format: None,
        error: None,
        records: 0,
        quarantined: 0,
        reasons: BTreeMap::new(),
        warnings: BTreeMap::new(),
        capabilities: BTreeSet::new(),
        lacks: Vec::new(),
        expires_at: None,
        expires: None,
        gates: Gates::default(),
    }
}

fn failure(path: &Path, error: String) -> FileReport {
    FileReport { error: Some(error), ..blank(cut_home(&path.to_string_lossy())) }
}

fn sum(format: String, files: Vec<FileReport>) -> SourceReport {
    let mut warnings: BTreeMap<String, i64> = BTreeMap::new();
    for (kind, n) in files.iter().flat_map(|f| &f.warnings) {
        *warnings.entry(kind.clone()).or_default() += n;
    }
    let capabilities: BTreeSet<String> = files.iter().flat_map(|f| f.capabilities.iter().cloned()).collect();
    SourceReport {
        n_files: files.len(),
        records: files.iter().map(|f| f.records).sum(),
        quarantined: files.iter().map(|f| f.quarantined).sum(),
        warnings,
        unknowable: unknown(&lacking_in_source(&capabilities, &format)),
        capabilities,
        first_expires_at: files.iter().filter_map(|f| f.expires).min().map(|at| at.to_string()),
        format,
        files,
    }
}

fn unknown(lacking: &[&'static Capability]) -> Vec<Unknown> {
    lacking.iter().map(|c| Unknown { capability: c.name, unknowable: c.without }).collect()
}

fn never_seen(reports: &[FileReport]) -> Vec<Declared> {
    let seen: BTreeSet<&String> = reports.iter().flat_map(|r| &r.gates.seen).collect();
    let declared = reports.iter().flat_map(|r| &r.gates.declared);
    let unseen = declared.filter(|(gate, (_, names))| !seen.contains(gate) && !names.iter().any(|n| seen.contains(n)));
    let unseen: BTreeSet<Declared> = unseen.map(|(gate, (file, _))| Declared { gate: gate.clone(), declared_in: cut_home(file) }).collect();
    unseen.into_iter().collect()
}
