//! Owns what `mechanic record` kept, as harvest needs it: failed gate runs with their trees, and what a gate saw.

use std::io;
use std::path::{Path, PathBuf};

use super::{Found, Place};
use crate::model::time::Ts;
use crate::model::vocabulary::Verdict;
use crate::replay::harvest::{self, Base, Case, Saw};
use crate::source::cut_home;
use crate::source::lines::{LineReader, Next};
use crate::source::recorded::Recorded;

/// Where the recorder keeps trees; a record that names another reference is not believed.
const REFS: &str = "refs/mechanic/gate-runs/";

pub struct Records {
    pub file: PathBuf,
    pub rows: Vec<Recorded>,
    /// Lines that are no record.
    pub broken: usize,
}

impl Records {
    pub fn load(file: &Path) -> io::Result<Records> {
        let mut records = Records { file: file.to_owned(), rows: Vec::new(), broken: 0 };
        let mut reader = LineReader::new(std::fs::File::open(file)?);
        while let Some(next) = reader.next_line()? {
            let row = match next {
                Next::Line(line) | Next::Tail(line) => serde_json::from_slice::<Recorded>(line.bytes).ok(),
                Next::Oversize { .. } => None,
            };
            let is_id = |row: &Recorded| row.id.len() >= 16 && row.id.bytes().all(|b| b.is_ascii_hexdigit());
            match row.filter(|r| r.schema_version == Recorded::SCHEMA_VERSION && is_id(r)) {
                // A copied line is the same gate run.
                Some(row) if records.rows.iter().any(|r| r.id == row.id) => {}
                Some(row) => records.rows.push(row),
                None => records.broken += 1,
            }
        }
        Ok(records)
    }

    /// Gate runs that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Recorded> {
        self.rows.iter().filter(|r| matches!(r.verdict, Verdict::Fail | Verdict::Warn))
    }

    pub fn found(&self, row: &Recorded, place: &Place) -> Found {
        Found { id: row.id.clone(), gate: row.gate.clone(), at: Ts::parse(&row.ended_at), case: self.case(row, place) }
    }

    fn case(&self, row: &Recorded, place: &Place) -> Result<Case, String> {
        let repository = repository(&self.file, place)?;
        let mut gaps = Vec::new();
        let base = match (&row.tree_ref, &row.head_sha) {
            (Some(reference), _) => recorded(&repository, reference)?,
            (None, Some(sha)) => {
                gaps.push("the tree was not kept: what was not committed is missing".to_owned());
                let (sha, at) = harvest::stated(&repository, sha).ok_or("its commit is not in the repository")?;
                Base::Commit { repository, sha, at, basis: "as the record says".to_owned() }
            }
            (None, None) => return Err("neither its tree nor its commit was kept: it ran outside of a repository".to_owned()),
        };
        let failed_to_read = row.stimulus.is_some().then(|| "the gate read standard input too, which is not part of the tree".to_owned());
        gaps.extend(failed_to_read);
        Ok(Case {
            id: row.id.clone(),
            gate: row.gate.clone(),
            rule: row.rule.clone(),
            fingerprint: None,
            location: None,
            failure_mode: None,
            failure_class: None,
            severity: None,
            at: Ts::parse(&row.ended_at),
            origin: format!("gate run {} that mechanic record kept (program {})", short(&row.id), row.program),
            // Only a digest of it is recorded.
            command: None,
            exit_status: row.exit_status,
            caught_by: Vec::new(),
            missed_by: Vec::new(),
            saw: Saw::Tree { base, edits: Vec::new() },
            gaps,
        })
    }

    /// A standard input that was kept, by its digest.
    pub fn input(&self, digest: &str) -> Option<Vec<u8>> {
        if digest.len() != 64 || !digest.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        std::fs::read(self.file.parent()?.join("stimuli").join(digest)).ok()
    }
}

/// The tree of a private reference, if it is one and still there.
pub fn recorded(repository: &Path, reference: &str) -> Result<Base, String> {
    let id = reference.strip_prefix(REFS).filter(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit()));
    if id.is_none() {
        return Err("it names a reference that mechanic record does not make".to_owned());
    }
    if !harvest::exists(repository, reference) {
        return Err(format!("the tree it kept ({reference}) is not in the repository {}", shown(repository)));
    }
    Ok(Base::Recorded { repository: repository.to_owned(), reference: reference.to_owned() })
}

/// The repository of a file of records: the one named, else the one the file lies in.
pub fn repository(file: &Path, place: &Place) -> Result<PathBuf, String> {
    let own = || std::path::absolute(file).ok().and_then(|f| harvest::top(f.parent()?));
    let found = if place.named { place.repo.clone() } else { own().or_else(|| place.repo.clone()) };
    found.ok_or_else(|| "the repository it ran in is not known: name it with --repo DIR".to_owned())
}

pub fn shown(path: &Path) -> String {
    cut_home(&path.to_string_lossy())
}

pub fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}
