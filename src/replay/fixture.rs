//! Owns `fixture.toml`: what a preserved failure is, where its stimulus lies, and what every gate is expected to do with it.

use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Deserialize;

use super::digest::Hasher;
use super::place;
use super::words::{Classification, Outcome, Provenance, Severity, StimulusKind};
use super::wrong::{Problems, Result, Wrong, toml};

/// The file of a fixture's folder.
pub const FILE: &str = "fixture.toml";

/// One preserved failure, or one control.
#[derive(Debug, Clone)]
pub struct Fixture {
    pub id: String,
    /// Its folder.
    pub folder: PathBuf,
    pub title: String,
    pub origin: String,
    pub happened: String,
    pub failure_mode: Option<String>,
    pub failure_class: Option<String>,
    pub severity: Severity,
    pub classification: Classification,
    pub provenance: Provenance,
    pub caught_by: Vec<String>,
    pub missed_by: Vec<String>,
    pub date: Option<String>,
    pub tags: Vec<String>,
    pub stimulus: Stimulus,
    pub expect: Vec<Expect>,
    /// Over the bytes of its folder and its base.
    pub digest: String,
}

#[derive(Debug, Clone)]
pub struct Stimulus {
    pub kind: StimulusKind,
    /// The folder or file; of a commit, the repository.
    pub path: PathBuf,
    /// The tree a patch applies to.
    pub base: Option<PathBuf>,
    pub commit: Option<String>,
    /// It carries what a validator checks against: skipping it is a violation.
    pub reference: bool,
    /// How many subjects a full reading reads.
    pub subjects: Option<u64>,
}

/// What a gate, or one validator, is expected to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expect {
    pub who: Who,
    pub outcome: Outcome,
    pub finding: Option<Named>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Gate(String),
    Validator(String),
}

impl Who {
    pub fn name(&self) -> &str {
        match self {
            Who::Gate(name) | Who::Validator(name) => name,
        }
    }
}

/// The finding a catch must name: every key given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    pub rule: Option<String>,
    pub fingerprint: Option<String>,
    pub class: Option<String>,
    pub text: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: u32,
    id: String,
    title: String,
    origin: String,
    happened: String,
    failure_mode: Option<String>,
    failure_class: Option<String>,
    severity: Severity,
    classification: Classification,
    provenance: Provenance,
    #[serde(default)]
    caught_by: Vec<String>,
    #[serde(default)]
    missed_by: Vec<String>,
    date: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    stimulus: WrittenStimulus,
    #[serde(default)]
    expect: Vec<WrittenExpect>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStimulus {
    kind: StimulusKind,
    path: Option<String>,
    base: Option<String>,
    repository: Option<String>,
    commit: Option<String>,
    #[serde(default)]
    reference: bool,
    subjects: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExpect {
    gate: Option<String>,
    validator: Option<String>,
    outcome: Outcome,
    finding: Option<Named>,
}

/// Whether a text is an id: small letters, digits and hyphens, at most 64.
pub fn is_id(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && text.len() <= 64
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Whether a text is a gate's or class's name: a word that no medium can misread.
pub fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 120 && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:/".contains(c))
}

impl Fixture {
    /// Reads the fixture of one folder of the corpus, every problem found.
    pub fn load(corpus: &Path, folder: &Path) -> Result<Fixture> {
        let file = folder.join(FILE);
        place::no_link(corpus, &file)?;
        let text = std::fs::read_to_string(&file).map_err(|e| Wrong::at(&file, e))?;
        let written: Written = toml(&file, &text)?;
        let mut problems = Problems::default();
        let mut wrong = |text: String| problems.push(Wrong::at(&file, text).to_string());
        if written.format != 1 {
            wrong(format!("format {} is not known: this version reads format 1", written.format));
        }
        let name = folder.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if !is_id(&written.id) {
            wrong("id: use small letters, digits and hyphens, at most 64".to_owned());
        } else if written.id != name {
            wrong(format!("id `{}` differs from its folder's name `{}`", written.id, crate::plain::escape(name)));
        }
        for (key, list) in [("caught_by", &written.caught_by), ("missed_by", &written.missed_by), ("tags", &written.tags)] {
            if let Some(bad) = list.iter().find(|n| !is_word(n)) {
                wrong(format!("{key}: `{}` is no name (letters, digits, _ - . : /)", crate::plain::escape(bad)));
            }
        }
        if let Some(date) = &written.date
            && date.parse::<jiff::civil::Date>().is_err()
        {
            wrong("date: write it as YYYY-MM-DD".to_owned());
        }
        if written.classification != Classification::Control && written.failure_mode.is_none() {
            wrong("failure_mode is missing: one snake_case word for how it failed".to_owned());
        }
        for (key, text) in [("failure_mode", &written.failure_mode), ("failure_class", &written.failure_class)] {
            if text.as_deref().is_some_and(|t| !is_word(t)) {
                wrong(format!("{key}: use one word of letters, digits, _ and -"));
            }
        }
        let expect = expectations(&written, &mut wrong);
        let stimulus = match stimulus(corpus, folder, &written.stimulus) {
            Ok(stimulus) => Some(stimulus),
            Err(text) => {
                wrong(text);
                None
            }
        };
        let digest = stimulus.as_ref().and_then(|s| problems.keep(digest(folder, s)));
        let (Some(stimulus), Some(digest)) = (stimulus, digest) else {
            return problems.done(()).and(Err(Wrong::at(&file, "cannot be read")));
        };
        problems.done(Fixture {
            id: written.id,
            folder: folder.to_owned(),
            title: written.title,
            origin: written.origin,
            happened: written.happened,
            failure_mode: written.failure_mode,
            failure_class: written.failure_class,
            severity: written.severity,
            classification: written.classification,
            provenance: written.provenance,
            caught_by: written.caught_by,
            missed_by: written.missed_by,
            date: written.date,
            tags: written.tags,
            stimulus,
            expect,
            digest,
        })
    }

    /// The digest of what its validators read, without `fixture.toml`.
    pub fn stimulus_digest(&self) -> Result<String> {
        let mut hasher = Hasher::default();
        if self.stimulus.commit.is_none() {
            hasher.text(&super::digest::path(&self.stimulus.path)?);
        }
        if let Some(base) = &self.stimulus.base {
            hasher.tree("base", base)?;
        }
        Ok(hasher.done())
    }

    /// The digest of its bytes as they are now.
    pub fn digest_now(&self) -> Result<String> {
        digest(&self.folder, &self.stimulus)
    }

    /// What is expected of a validator: its own expectation outranks its gate's.
    pub fn expectation(&self, validator: &str, gate: &str) -> Option<&Expect> {
        let of = |who: Who| self.expect.iter().find(|e| e.who == who);
        of(Who::Validator(validator.to_owned())).or_else(|| of(Who::Gate(gate.to_owned())))
    }
}

fn expectations(written: &Written, wrong: &mut impl FnMut(String)) -> Vec<Expect> {
    let mut out: Vec<Expect> = Vec::new();
    for (i, e) in written.expect.iter().enumerate() {
        let at = format!("expect {}", i + 1);
        let who = match (&e.gate, &e.validator) {
            (Some(gate), None) if is_word(gate) => Who::Gate(gate.clone()),
            (None, Some(id)) if is_id(id) => Who::Validator(id.clone()),
            (Some(_), None) | (None, Some(_)) => {
                wrong(format!("{at}: that is no name of a gate or id of a validator"));
                continue;
            }
            _ => {
                wrong(format!("{at}: name either `gate` or `validator`"));
                continue;
            }
        };
        if out.iter().any(|o| o.who == who) {
            wrong(format!("{at}: a second expectation of `{}`", who.name()));
        }
        match e.outcome {
            Outcome::Crashes | Outcome::TimesOut | Outcome::New => {
                wrong(format!("{at}: `{}` cannot be expected: it is no verdict", e.outcome));
            }
            Outcome::Skipped if written.stimulus.reference => {
                wrong(format!("{at}: `skipped` cannot be expected where the fixture carries the reference"));
            }
            _ => {}
        }
        match written.classification {
            Classification::Control => {
                wrong(format!("{at}: a control has no expectations, every validator must pass it"));
            }
            Classification::KnownDefect if e.outcome == Outcome::Catches => {
                wrong(format!("{at}: a known defect is missed; when it is caught make it normative"));
            }
            _ => {}
        }
        if let Some(finding) = &e.finding {
            if e.outcome != Outcome::Catches {
                wrong(format!("{at}: a finding belongs to `catches` only"));
            }
            if *finding == Named::default() {
                wrong(format!("{at}: the finding names nothing; give rule, fingerprint, class or text"));
            }
            if let Some(Err(e)) = finding.text.as_deref().map(Regex::new) {
                wrong(format!("{at}: text is no regular expression: {}", first_line(&e.to_string())));
            }
        }
        out.push(Expect { who, outcome: e.outcome, finding: e.finding.clone() });
    }
    out
}

pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or_default();
    crate::plain::escape(line.trim())
}

fn stimulus(corpus: &Path, folder: &Path, written: &WrittenStimulus) -> std::result::Result<Stimulus, String> {
    let at = |text: String| format!("stimulus: {text}");
    let only = |key: &str, given: bool, kind: StimulusKind| match given && written.kind != kind {
        true => Err(at(format!("`{key}` belongs to kind `{kind}` only"))),
        false => Ok(()),
    };
    only("base", written.base.is_some(), StimulusKind::Patch)?;
    only("repository", written.repository.is_some(), StimulusKind::Commit)?;
    only("commit", written.commit.is_some(), StimulusKind::Commit)?;
    let mut commit = None;
    let mut base = None;
    let path = if written.kind == StimulusKind::Commit {
        if written.path.is_some() {
            return Err(at("a commit has no `path`".to_owned()));
        }
        let sha = written.commit.as_deref().ok_or_else(|| at("`commit` is missing: the full name of the commit".to_owned()))?;
        if !matches!(sha.len(), 40 | 64) || !sha.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(at("`commit`: write the full name of the commit (40 or 64 hex digits); short names and branches move".to_owned()));
        }
        commit = Some(sha.to_ascii_lowercase());
        let repository = written.repository.as_deref().unwrap_or(".");
        if repository.contains("://") || repository.starts_with('-') {
            return Err(at("`repository` must be a local folder".to_owned()));
        }
        match repository {
            "." => PathBuf::from("."),
            other => place::inside(Path::new(""), other).map_err(at)?,
        }
    } else {
        let named = written.path.as_deref().unwrap_or("stimulus");
        let path = place::inside(folder, named).map_err(at)?;
        place::no_link(corpus, &path).map_err(|e| at(e.to_string()))?;
        let is_file = path.is_file();
        let wants_file = written.kind != StimulusKind::Tree;
        if is_file != wants_file {
            let form = if wants_file { "one file" } else { "a folder" };
            return Err(at(format!("`path` of kind `{}` is {form}", written.kind)));
        }
        if written.kind == StimulusKind::Patch {
            let named = written.base.as_deref().ok_or_else(|| at("`base` is missing: the folder the patch applies to".to_owned()))?;
            let folder = place::below(corpus, folder, named).map_err(at)?;
            place::no_link(corpus, &folder).map_err(|e| at(e.to_string()))?;
            if !folder.is_dir() {
                return Err(at("`base` is no folder".to_owned()));
            }
            base = Some(folder);
        }
        path
    };
    Ok(Stimulus { kind: written.kind, path, base, commit, reference: written.reference, subjects: written.subjects })
}

fn digest(folder: &Path, stimulus: &Stimulus) -> Result<String> {
    let mut hasher = Hasher::default();
    hasher.tree("fixture", folder)?;
    if let Some(base) = &stimulus.base {
        hasher.tree("base", base)?;
    }
    Ok(hasher.done())
}
