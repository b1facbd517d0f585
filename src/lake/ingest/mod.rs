//! Owns ingest: from paths to visible rows. Unchanged files are not opened, the others are read in parallel in bounded memory, a
//! batch at a time; while one batch is read the one before is committed.

mod batch;
mod commit;
mod generation;
mod plan;
mod readings;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rayon::prelude::*;
use thiserror::Error;

use super::ledger::{Entry, Ledger};
use super::lock::Lock;
use super::{Lake, LakeError, tidy};
use crate::model::record::Record;
use crate::model::sources::Source as SourceRow;
use crate::model::time::Ts;
use crate::model::vocabulary::SourceState;
use crate::source::walk::shown;
use crate::source::{self, Source};
use batch::BatchWriter;
use plan::{Job, Plan};

/// There while an ingest has begun and not ended: the next one then looks for what a crash left.
const PENDING: &str = "pending";

/// Why nothing, or not everything, was ingested. What was committed before stays.
#[derive(Debug, Error)]
pub enum IngestError {
    #[error("cannot read {0}: name files or folders that exist")]
    Path(io::Error),
    #[error(transparent)]
    Lake(#[from] LakeError),
}

/// How to ingest.
pub struct Options<'a> {
    /// Formats, in the order they are asked whether a file is theirs.
    pub readers: &'a [&'static dyn Source],
    /// The time of ingest that rows of `sources` carry.
    pub now: Ts,
    /// Files of a batch at most.
    pub batch_files: usize,
    /// Bytes of a batch at most, one file of any size apart.
    pub batch_bytes: i64,
}

impl Options<'_> {
    /// The built-in formats and batch sizes.
    pub fn at(now: Ts) -> Options<'static> {
        Options { readers: source::all(), now, batch_files: 64, batch_bytes: 256 << 20 }
    }
}

/// Is told how far the reading is.
pub trait Progress: Sync {
    /// So much is to be read.
    fn begin(&self, _files: usize, _bytes: i64) {}
    /// One file is done.
    fn file_done(&self, _bytes: i64) {}
}

/// Tells nobody.
pub struct Silent;
impl Progress for Silent {}

/// What an ingest came to.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct IngestReport {
    /// Files found under the paths.
    pub files: usize,
    /// Files read now.
    pub read: usize,
    /// Of these, how many were read from where an earlier reading ended.
    pub went_on: usize,
    /// Files known, and not changed since.
    pub unchanged: usize,
    /// Files no source claims, known ones included.
    pub ignored: usize,
    /// Files that could not be read, and why.
    pub failed: Vec<(String, String)>,
    /// Files that vanished since the last ingest; their rows stay.
    pub gone: usize,
    /// Session logs that were rewritten since the last ingest; what they said before stays.
    pub rewritten: Vec<String>,
    /// Folders and files the walk could not enter, and why.
    pub unreadable: Vec<(String, String)>,
    /// Input records parsed now.
    pub records: i64,
    /// Of these, how many ended in `quarantine`.
    pub quarantined: i64,
    /// Oddities counted now.
    pub warnings: i64,
    /// Bytes read now.
    pub bytes: i64,
    /// Batches committed.
    pub batches: usize,
}

impl IngestReport {
    /// What could not be read, and why.
    pub fn unread(&self) -> impl Iterator<Item = &(String, String)> {
        self.failed.iter().chain(&self.unreadable)
    }

    /// Of these, what was named by itself: whoever named it counts on it.
    pub fn named_unread(&self, named: &[PathBuf]) -> Vec<&(String, String)> {
        let named: HashSet<String> = named.iter().map(|p| shown(p)).collect();
        self.unread().filter(|(path, _)| named.contains(path)).collect()
    }
}

/// Brings the lake up to date with the files under `paths`.
pub fn ingest(lake: &Lake, paths: &[PathBuf], options: &Options<'_>, progress: &dyn Progress) -> Result<IngestReport, IngestError> {
    let _lock = Lock::take(&lake.root, Duration::ZERO)?;
    let engine = lake.engine();
    lake.take_stock(&engine)?;
    let ledger = Ledger::read(&lake.table(SourceRow::TABLE, &engine, None)?)?;
    let pending = lake.root.join(PENDING);
    if pending.exists() {
        tidy::recover(lake, &engine, &ledger)?;
        lake.disk.remove(&pending).map_err(LakeError::io("remove", &pending))?;
    }
    let Plan { jobs, rows, mut report } = plan::plan(lake, &ledger, paths, options)?;
    if jobs.is_empty() && rows.is_empty() {
        return Ok(report);
    }
    lake.disk.create(&pending, b"").map_err(LakeError::io("write", &pending))?;
    progress.begin(jobs.len(), jobs.iter().map(|j| j.stat.size).sum());
    read_and_commit(lake, &ledger, jobs, rows, options, progress, &mut report)?;
    let before = ledger.last_batch();
    let ledger = Ledger::read(&lake.table(SourceRow::TABLE, &engine, None)?)?;
    tidy::compact(lake, &engine, &ledger, before)?;
    if !report.rewritten.is_empty() || tidy::is_due(&ledger, before) {
        readings::sweep(lake, &ledger)?;
    }
    lake.disk.remove(&pending).map_err(LakeError::io("remove", &pending))?;
    Ok(report)
}

/// Reads batch after batch; a second thread commits each in order.
fn read_and_commit(
    lake: &Lake,
    ledger: &Ledger,
    jobs: Vec<Job>,
    mut rows: Vec<Entry>,
    options: &Options<'_>,
    progress: &dyn Progress,
    report: &mut IngestReport,
) -> Result<(), LakeError> {
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<commit::Finished>(1);
        let committer = scope.spawn(move || commit::commit_all(lake, receiver));
        let mut number = ledger.last_batch();
        let mut failure = None;
        let mut groups = groups(jobs, options);
        if groups.is_empty() {
            groups.push(Vec::new());
        }
        for group in groups {
            number += 1;
            match read_group(lake, number, &group, options, progress, report) {
                Ok((writer, read)) => {
                    // What was found without reading goes with the first batch.
                    for mut entry in rows.drain(..).chain(read) {
                        entry.batch = number;
                        writer.entries.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(entry);
                    }
                    report.batches += 1;
                    if sender.send(writer.finish()).is_err() {
                        break;
                    }
                }
                Err(e) => {
                    failure = Some(e);
                    break;
                }
            }
        }
        drop(sender);
        let committed = committer.join().unwrap_or_else(|_| Err(LakeError::BrokenOff(lake.root.clone())));
        committed.and(failure.map_or(Ok(()), Err))
    })
}

/// Groups of files of which each becomes a batch, largest files first, so that no thread begins a large one last.
fn groups(mut jobs: Vec<Job>, options: &Options<'_>) -> Vec<Vec<Job>> {
    jobs.sort_by(|a, b| b.stat.size.cmp(&a.stat.size).then_with(|| a.input.shown_path.cmp(&b.input.shown_path)));
    let mut groups: Vec<Vec<Job>> = Vec::new();
    let mut bytes = 0;
    for job in jobs {
        match groups.last_mut() {
            Some(group) if group.len() < options.batch_files && bytes + job.stat.size <= options.batch_bytes => {
                bytes += job.stat.size;
                group.push(job);
            }
            _ => {
                bytes = job.stat.size;
                groups.push(vec![job]);
            }
        }
    }
    groups
}

/// Reads the files of one batch in parallel.
fn read_group<'l>(
    lake: &'l Lake,
    number: i64,
    group: &[Job],
    options: &Options<'_>,
    progress: &dyn Progress,
    report: &mut IngestReport,
) -> Result<(BatchWriter<'l>, Vec<Entry>), LakeError> {
    let writer = BatchWriter::new(lake, number);
    let outcomes: Vec<Result<batch::Outcome, LakeError>> = group
        .par_iter()
        .with_max_len(1)
        .map(|job| {
            let outcome = writer.read(job, options.now);
            progress.file_done(job.stat.size);
            outcome
        })
        .collect();
    let mut entries = Vec::new();
    for (job, outcome) in group.iter().zip(outcomes) {
        let outcome = outcome?;
        report.read += 1;
        let before = outcome.summary.went_on.clone().unwrap_or_default();
        report.went_on += usize::from(outcome.summary.went_on.is_some());
        report.bytes += job.stat.size - before.offset;
        report.records += outcome.summary.records - before.records;
        report.quarantined += outcome.summary.quarantined - before.quarantined;
        report.warnings += outcome.summary.warnings - before.warnings;
        if let Some(why) = outcome.failure {
            report.failed.push((job.input.shown_path.clone(), why));
        }
        entries.push(outcome.entry);
    }
    Ok((writer, entries))
}

/// A row of `sources` as it is before anything was read.
fn blank(input: &source::Input, stat: &plan::Stat, state: SourceState, reader_digest: String, now: Ts) -> SourceRow {
    SourceRow {
        source_id: input.source_id.clone(),
        path: input.shown_path.clone(),
        format: None,
        reader_digest,
        state,
        records: 0,
        quarantined: 0,
        n_warnings: 0,
        capabilities: Vec::new(),
        size_bytes: stat.size,
        head_hash: String::new(),
        tail_hash: String::new(),
        read_to: 0,
        mtime: stat.mtime,
        inode: stat.inode,
        ingested_at: now,
    }
}

impl Entry {
    /// The file could not be read. Size and digests stay those of the reading whose rows are visible, if one is.
    fn fail(&mut self, stat: &plan::Stat, now: Ts) {
        self.row.state = SourceState::Failed;
        if self.data.is_none() {
            self.row.size_bytes = stat.size;
        }
        (self.row.mtime, self.row.inode) = (stat.mtime, stat.inode);
        self.row.ingested_at = now;
    }
}

/// Whether a file stands in a folder, or is it. Both as records name them.
fn is_under(path: &str, folder: &str) -> bool {
    match path.strip_prefix(folder) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || folder.ends_with('/'),
        None => false,
    }
}
