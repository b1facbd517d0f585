//! Owns what is put by of readings: the state of the reader at the end of each session log, so that a log that has grown is read from
//! there. It lies beside the tables and is no part of what the lake says: without it, or where anything about it does not fit, the
//! file is read again whole.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::plan::Job;
use crate::lake::disk::STAGED;
use crate::lake::ledger::{Entry, Ledger};
use crate::lake::{Lake, LakeError};
use crate::model::id::digest;
use crate::model::sources::Source as SourceRow;
use crate::model::vocabulary::SourceState;
use crate::source::{edges, growing};

/// Folder of the lake.
const FOLDER: &str = "readings";

/// Which reading a state is of, and at which bytes it stood.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Label {
    program: String,
    source_id: String,
    reader_digest: String,
    /// The last batch that holds rows of the file.
    batch: i64,
    size_bytes: i64,
    head_hash: String,
    tail_hash: String,
    ingested_at: i64,
    /// Offset the state stands at, and the digest of the bytes before it.
    offset: i64,
    before: String,
    /// Digest of the state: what a power cut left of it is no state.
    state: String,
}

impl Label {
    fn of(row: &SourceRow, batch: i64, offset: i64, before: String, state: &[u8]) -> Label {
        Label {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            source_id: row.source_id.clone(),
            reader_digest: row.reader_digest.clone(),
            batch,
            size_bytes: row.size_bytes,
            head_hash: row.head_hash.clone(),
            tail_hash: row.tail_hash.clone(),
            ingested_at: row.ingested_at.0,
            offset,
            before,
            state: digest(state),
        }
    }
}

/// Where the state of a file lies. Source ids are digests: no path of a log can lead elsewhere.
fn place(lake: &Lake, source_id: &str) -> PathBuf {
    lake.root.join(FOLDER).join(source_id)
}

/// Whether the folder is one of ours: nothing is read or written through a link.
fn is_ours(lake: &Lake) -> bool {
    fs::symlink_metadata(lake.root.join(FOLDER)).is_ok_and(|meta| meta.is_dir())
}

/// The state from which the file of the job may be read on.
pub(super) fn earlier(lake: &Lake, job: &Job) -> Option<Vec<u8>> {
    let known = job.known.as_ref()?;
    let Entry { row, data: Some(span), .. } = known else { return None };
    // After a reading that failed, rows of it may stand between the batches.
    let stands = matches!(row.state, SourceState::Current | SourceState::Gone);
    if !stands || row.reader_digest != job.reader_digest || !job.reader.is_append_only(&job.input) || !is_ours(lake) {
        return None;
    }
    let bytes = fs::read(place(lake, &row.source_id)).ok()?;
    let (label, state) = bytes.split_at_checked(memchr::memchr(b'\n', &bytes)?)?;
    let state = state.get(1..)?;
    let label: Label = serde_json::from_slice(label).ok()?;
    let path = &job.input.path;
    let holds = job.stat.size >= label.offset
        && growing::offset_of(state) == Some(label.offset)
        && label == Label::of(row, span.last, label.offset, label.before.clone(), state)
        && edges::hold(path, row).ok()?
        && edges::of(path, label.offset).ok()?.1 == label.before;
    holds.then(|| state.to_vec())
}

/// Puts by the state of a reading that ended with this entry, or removes that of an earlier one where there is none to go on from. A
/// state that cannot be written fails the ingest, as everything that is written to the lake.
pub(super) fn keep(lake: &Lake, job: &Job, entry: &Entry, state: Option<&[u8]>) -> Result<(), LakeError> {
    let path = place(lake, &entry.row.source_id);
    let labelled = || {
        let (state, span) = (state?, entry.data?);
        let offset = growing::offset_of(state)?;
        let (_, before) = edges::of(&job.input.path, offset).ok()?;
        let mut bytes = serde_json::to_vec(&Label::of(&entry.row, span.last, offset, before, state)).ok()?;
        bytes.push(b'\n');
        bytes.extend_from_slice(state);
        Some(bytes)
    };
    let folder = lake.root.join(FOLDER);
    match labelled() {
        Some(bytes) => {
            lake.disk.create_dir(&folder).map_err(LakeError::io("make the folder", &folder))?;
            if is_ours(lake) {
                let staged = path.with_file_name(format!("{}{STAGED}{}", entry.row.source_id, crate::lake::disk::unique()));
                lake.disk.step().map_err(LakeError::io("write", &path))?;
                fs::write(&staged, bytes).and_then(|()| fs::rename(&staged, &path)).map_err(LakeError::io("write", &path))?;
            }
        }
        None if job.known.is_some() && is_ours(lake) => lake.disk.remove(&path).map_err(LakeError::io("remove", &path))?,
        None => {}
    }
    Ok(())
}

/// Removes states that no file can be read on from: those of contents that are superseded, and what a crash left.
pub(super) fn sweep(lake: &Lake, ledger: &Ledger) -> Result<(), LakeError> {
    let folder = lake.root.join(FOLDER);
    if !is_ours(lake) {
        return Ok(());
    }
    let live: HashSet<&str> =
        ledger.entries.iter().filter(|e| e.row.state != SourceState::Superseded).map(|e| e.row.source_id.as_str()).collect();
    for file in fs::read_dir(&folder).map_err(LakeError::io("list", &folder))? {
        let file = file.map_err(LakeError::io("list", &folder))?;
        if !file.file_name().to_str().is_some_and(|name| live.contains(name)) && file.file_type().is_ok_and(|t| t.is_file()) {
            lake.disk.remove(&file.path()).map_err(LakeError::io("remove", &file.path()))?;
        }
    }
    Ok(())
}
