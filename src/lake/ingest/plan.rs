//! Owns the plan of an ingest: which files are new or changed and who reads them, which are ignored, and which vanished.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use rayon::prelude::*;

use super::{IngestError, IngestReport, Options, blank, is_under, shown};
use crate::lake::Lake;
use crate::lake::ledger::{Entry, Ledger};
use crate::model::id::{digest, stable_id};
use crate::model::time::Ts;
use crate::model::vocabulary::SourceState;
use crate::source::{self, EDGE_BYTES, Input, Probe, Source, walk};

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
    known: Option<&'l Entry>,
}

enum Decided {
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
    let mut seen: HashSet<String> = HashSet::new();
    let mut candidates = Vec::new();
    let mut plan = Plan { jobs: Vec::new(), rows: Vec::new(), report };
    for path in walked.files {
        let Ok(input) = Input::new(&path) else { continue };
        // Two files can have one name where homes are cut; the first stands.
        if !seen.insert(input.source_id.clone()) {
            plan.report.unreadable.push((input.shown_path, "another file has the same name in records".to_owned()));
            continue;
        }
        plan.report.files += 1;
        let Ok(meta) = std::fs::metadata(&path) else {
            // It vanished since the walk.
            seen.remove(&input.source_id);
            plan.report.files -= 1;
            continue;
        };
        let stat = Stat::of(&meta);
        let known = ledger.get(&input.source_id);
        match known {
            Some(entry) if is_current(entry, &input, &stat, options.readers, &unclaimed) => match entry.row.state {
                // It is there again, as it was.
                SourceState::Gone => {
                    let mut entry = entry.clone();
                    entry.row.state = if entry.row.format.is_some() { SourceState::Current } else { SourceState::Ignored };
                    plan.rows.push(entry);
                }
                SourceState::Ignored => plan.report.ignored += 1,
                SourceState::Failed => plan.report.failed.push((input.shown_path, "still not readable".to_owned())),
                SourceState::Current => plan.report.unchanged += 1,
            },
            _ => candidates.push(Candidate { input, stat, known }),
        }
    }
    let decide = |c: Candidate<'_>| decide(c, options, &unclaimed);
    // Threads cost more than they give for a handful of files.
    let decided: Vec<Decided> = match candidates.len() {
        0..16 => candidates.into_iter().map(decide).collect(),
        _ => candidates.into_par_iter().map(decide).collect(),
    };
    for decided in decided {
        match decided {
            Decided::Read(job) => plan.jobs.push(*job),
            Decided::Row(entry) => {
                plan.report.ignored += 1;
                plan.rows.push(entry);
            }
            Decided::Failed(entry, why) => {
                plan.report.failed.push((entry.row.path.clone(), why));
                plan.rows.push(entry);
            }
        }
    }
    for entry in &ledger.entries {
        let row = &entry.row;
        let under = |folders: &[String]| folders.iter().any(|folder| is_under(&row.path, folder));
        if row.state != SourceState::Gone && under(&roots) && !under(&unentered) && !seen.contains(&row.source_id) {
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
    if (row.size_bytes, row.mtime, row.inode) != (stat.size, stat.mtime, stat.inode) {
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
        return ends(input).is_err();
    }
    let settled = stat.mtime.is_some_and(|mtime| mtime.0 < row.ingested_at.0 - TICK);
    settled || ends(input).is_ok_and(|(head, tail)| head == row.head_hash && tail == row.tail_hash)
}

fn decide(candidate: Candidate<'_>, options: &Options<'_>, unclaimed: &str) -> Decided {
    let Candidate { input, stat, known } = candidate;
    let head = match source::head_of(&input) {
        Ok(head) => head,
        Err(e) => {
            // What was read of it before stays.
            let mut entry = known.cloned().unwrap_or_else(|| {
                let row = blank(&input, &stat, SourceState::Failed, unclaimed.to_owned(), options.now);
                Entry { row, batch: 0, data_batch: None }
            });
            entry.row.state = SourceState::Failed;
            (entry.row.size_bytes, entry.row.mtime, entry.row.inode) = (stat.size, stat.mtime, stat.inode);
            return Decided::Failed(entry, e.to_string());
        }
    };
    let probe = Probe { input: &input, head: &head };
    match options.readers.iter().copied().find(|r| r.claims(&probe)) {
        Some(reader) => {
            let reader_digest = reader_digest(reader, &input);
            Decided::Read(Box::new(Job { input, stat, reader, reader_digest, known: known.cloned() }))
        }
        None => {
            let mut row = blank(&input, &stat, SourceState::Ignored, unclaimed.to_owned(), options.now);
            (row.head_hash, row.tail_hash) = ends(&input).unwrap_or_default();
            Decided::Row(Entry { row, batch: 0, data_batch: None })
        }
    }
}

/// Digests of the first and the last bytes of a file as it is on disk.
pub(super) fn ends(input: &Input) -> io::Result<(String, String)> {
    let mut file: File = input.open()?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(EDGE_BYTES as usize);
    (&mut file).take(EDGE_BYTES).read_to_end(&mut bytes)?;
    let head = digest(&bytes);
    if size <= EDGE_BYTES {
        return Ok((head.clone(), head));
    }
    bytes.clear();
    file.seek(SeekFrom::Start(size - EDGE_BYTES))?;
    (&mut file).take(EDGE_BYTES).read_to_end(&mut bytes)?;
    Ok((head, digest(&bytes)))
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
