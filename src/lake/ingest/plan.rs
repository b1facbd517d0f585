//! Owns the plan of an ingest: which files are new or changed and who reads them, which are ignored, and which vanished.

use std::collections::HashSet;
use std::fs::Metadata;
use std::path::PathBuf;

use rayon::prelude::*;

use super::generation::{self, Place};
use super::{IngestError, IngestReport, Options, blank, is_under};
use crate::lake::Lake;
use crate::lake::ledger::{Entry, Ledger};
use crate::model::id::stable_id;
use crate::model::time::Ts;
use crate::model::vocabulary::SourceState;
use crate::source::walk::shown;
use crate::source::{self, Input, Probe, Source, edges, open, walk};

/// A file may change twice within one tick of its clock: one that was written shortly before it was read is not trusted on size and
/// time alone.
const TICK: i64 = 2_000_000;

/// What the system says of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stat {
    pub(super) size: i64,
    pub(super) mtime: Option<Ts>,
    pub(super) inode: Option<i64>,
}

impl Stat {
    pub(super) fn of(meta: &Metadata) -> Stat {
        let since = meta.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
        #[cfg(unix)]
        let inode = Some(std::os::unix::fs::MetadataExt::ino(meta) as i64);
        #[cfg(not(unix))]
        let inode = None;
        Stat {
            size: i64::try_from(meta.len()).unwrap_or(i64::MAX),
            mtime: since.and_then(|d| i64::try_from(d.as_micros()).ok()).map(Ts),
            inode,
        }
    }
}

/// A file to read.
pub(super) struct Job {
    pub(super) input: Input,
    pub(super) stat: Stat,
    pub(super) reader: &'static dyn Source,
    pub(super) reader_digest: String,
    /// Its row before.
    pub(super) known: Option<Entry>,
}

/// What an ingest has to do.
pub(super) struct Plan {
    pub(super) jobs: Vec<Job>,
    /// New rows of `sources` for files that need no reading.
    pub(super) rows: Vec<Entry>,
    pub(super) report: IngestReport,
}

/// A file that is new or changed.
struct Candidate<'l> {
    input: Input,
    stat: Stat,
    readings: &'l [&'l Entry],
}

/// What is to be done with a file, and the reading that it leaves behind.
struct Decided {
    what: What,
    superseded: Option<Entry>,
}

enum What {
    Read(Box<Job>),
    Row(Entry),
    Failed(Entry, String),
}

pub(super) fn plan(lake: &Lake, ledger: &Ledger, paths: &[PathBuf], options: &Options<'_>) -> Result<Plan, IngestError> {
    let mut report = IngestReport::default();
    let roots: Vec<String> = paths.iter().map(|p| shown(p)).collect();
    let known_under = |root: &str| ledger.entries.iter().any(|e| is_under(&e.row.path, root));
    // A path that is no more but was ingested before has vanished; one that never was is a mistake.
    let walked_paths: Vec<PathBuf> =
        paths.iter().zip(&roots).filter(|(path, root)| path.exists() || !known_under(root)).map(|(path, _)| path.clone()).collect();
    let walked = walk::walk(&walked_paths, std::slice::from_ref(&lake.root)).map_err(IngestError::Path)?;
    let unentered: Vec<String> = walked.unreadable.iter().map(|(path, _)| shown(path)).collect();
    report.unreadable = unentered.iter().cloned().zip(walked.unreadable.iter().map(|(_, why)| why.clone())).collect();

    let unclaimed = unclaimed_digest(options.readers);
    let readings = generation::readings(ledger);
    let mut seen: HashSet<String> = HashSet::new();
    let mut candidates = Vec::new();
    let mut plan = Plan { jobs: Vec::new(), rows: Vec::new(), report };
    for path in walked.files {
        let Ok(mut input) = Input::new(&path) else { continue };
        // Two files can have one name where homes are cut; the first stands.
        if !seen.insert(input.shown_path.clone()) {
            plan.report.unreadable.push((
                input.shown_path,
                "another file has the same name in records, where home folders are cut: ingest it into a lake of its own".to_owned(),
            ));
            continue;
        }
        plan.report.files += 1;
        let Ok(meta) = std::fs::metadata(&path) else {
            // It vanished since the walk.
            seen.remove(&input.shown_path);
            plan.report.files -= 1;
            continue;
        };
        let stat = Stat::of(&meta);
        let readings: &[&Entry] = readings.get(input.shown_path.as_str()).map_or(&[], Vec::as_slice);
        let known = generation::live(readings);
        if let Some(entry) = known {
            input.source_id.clone_from(&entry.row.source_id);
        }
        match known {
            Some(entry) if is_current(entry, &input, &stat, options.readers, &unclaimed) => match entry.row.state {
                // It is there again, as it was.
                SourceState::Gone => {
                    let mut entry = entry.clone();
                    entry.row.state = if entry.row.format.is_some() { SourceState::Current } else { SourceState::Ignored };
                    plan.rows.push(entry);
                }
                SourceState::Ignored => plan.report.ignored += 1,
                SourceState::Failed => {
                    let why = edges::of(&input.path, stat.size).err().map_or_else(String::new, |e| open::told(&e));
                    plan.report.failed.push((input.shown_path, why));
                }
                SourceState::Current | SourceState::Superseded => plan.report.unchanged += 1,
            },
            _ => candidates.push(Candidate { input, stat, readings }),
        }
    }
    let decide = |c: Candidate<'_>| decide(c, options, &unclaimed);
    // Threads cost more than they give for a handful of files.
    let decided: Vec<Decided> = match candidates.len() {
        0..16 => candidates.into_iter().map(decide).collect(),
        _ => candidates.into_par_iter().map(decide).collect(),
    };
    for Decided { what, superseded } in decided {
        if let Some(entry) = superseded {
            plan.report.rewritten.push(entry.row.path.clone());
            plan.rows.push(entry);
        }
        match what {
            What::Read(job) => plan.jobs.push(*job),
            What::Row(entry) => {
                plan.report.ignored += 1;
                plan.rows.push(entry);
            }
            What::Failed(entry, why) => {
                plan.report.failed.push((entry.row.path.clone(), why));
                plan.rows.push(entry);
            }
        }
    }
    for entry in &ledger.entries {
        let row = &entry.row;
        let under = |folders: &[String]| folders.iter().any(|folder| is_under(&row.path, folder));
        let stands = !matches!(row.state, SourceState::Gone | SourceState::Superseded);
        if stands && under(&roots) && !under(&unentered) && !seen.contains(&row.path) {
            let mut entry = entry.clone();
            entry.row.state = SourceState::Gone;
            entry.row.ingested_at = options.now;
            plan.report.gone += 1;
            plan.rows.push(entry);
        }
    }
    Ok(plan)
}

/// Whether what is known of a file still holds.
fn is_current(entry: &Entry, input: &Input, stat: &Stat, readers: &[&'static dyn Source], unclaimed: &str) -> bool {
    let row = &entry.row;
    // Of a file that failed, the size is that of the last reading whose rows are visible.
    let same_size = row.size_bytes == stat.size || (row.state == SourceState::Failed && entry.data.is_some());
    if !same_size || (row.mtime, row.inode) != (stat.mtime, stat.inode) {
        return false;
    }
    let same_reader = match &row.format {
        Some(format) => readers.iter().find(|r| r.format() == format).is_some_and(|r| reader_digest(*r, input) == row.reader_digest),
        None => row.reader_digest == unclaimed,
    };
    if !same_reader {
        return false;
    }
    if row.state == SourceState::Failed {
        return edges::of(&input.path, stat.size).is_err();
    }
    let settled = stat.mtime.is_some_and(|mtime| mtime.0 < row.ingested_at.0 - TICK);
    settled || edges::of(&input.path, stat.size).is_ok_and(|(head, tail)| head == row.head_hash && tail == row.tail_hash)
}

fn decide(candidate: Candidate<'_>, options: &Options<'_>, unclaimed: &str) -> Decided {
    let Candidate { input, stat, readings } = candidate;
    let head = match source::head_of(&input) {
        Ok(head) => head,
        Err(e) => {
            // What was read of it before stays.
            let mut entry = generation::live(readings).cloned().unwrap_or_else(|| {
                let input = input.generation(readings.len());
                let row = blank(&input, &stat, SourceState::Failed, unclaimed.to_owned(), options.now);
                Entry { row, batch: 0, data: None }
            });
            entry.fail(&stat, options.now);
            return Decided { what: What::Failed(entry, open::told(&e)), superseded: None };
        }
    };
    let Place { input, known, superseded } = generation::place(input, readings, options.readers);
    let probe = Probe { input: &input, head: &head };
    let what = match options.readers.iter().copied().find(|r| r.claims(&probe)) {
        Some(reader) => {
            let reader_digest = reader_digest(reader, &input);
            What::Read(Box::new(Job { input, stat, reader, reader_digest, known }))
        }
        None => {
            let mut row = blank(&input, &stat, SourceState::Ignored, unclaimed.to_owned(), options.now);
            (row.head_hash, row.tail_hash) = edges::of(&input.path, stat.size).unwrap_or_default();
            What::Row(Entry { row, batch: 0, data: None })
        }
    };
    Decided { what, superseded }
}

/// What decides how a file is read: the format, its reader's version, and what else the reader looks at.
fn reader_digest(reader: &dyn Source, input: &Input) -> String {
    let state = reader.state(input).unwrap_or_default();
    stable_id(&["reader", reader.format(), &reader.version().to_string(), &state])
}

/// What decides that nobody reads a file: all formats there are.
fn unclaimed_digest(readers: &[&'static dyn Source]) -> String {
    let parts: Vec<String> = readers.iter().map(|r| format!("{} {}", r.format(), r.version())).collect();
    stable_id(&parts.iter().map(String::as_str).collect::<Vec<_>>())
}
