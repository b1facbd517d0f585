//! Owns the ledger: what the table `sources` says of every file, and so which rows of the fact tables are visible.

use std::collections::HashMap;

use arrow::array::Array;

use super::LakeError;
use super::files::{BATCH_ID, DATA_BATCH, int64, read_columns};
use super::table::Table;
use crate::model::id::stable_id;
use crate::model::record::Record;
use crate::model::sources::Source;

/// The newest row of one file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) row: Source,
    /// The batch that wrote the row.
    pub(crate) batch: i64,
    /// The batch whose facts of this file are visible. `None`: none are.
    pub(crate) data_batch: Option<i64>,
}

/// The newest row of every file, by `source_id`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    pub(crate) entries: Vec<Entry>,
    /// Rows on disk, replaced ones included.
    pub(crate) rows: usize,
    /// Bytes of all readings whose rows are on disk, replaced ones included.
    pub(crate) bytes_read: i64,
}

impl Ledger {
    pub(crate) fn read(sources: &Table<'_>) -> Result<Ledger, LakeError> {
        let mut columns: Vec<&str> = Source::TABLE.columns.iter().map(|c| c.name).collect();
        columns.extend([BATCH_ID, DATA_BATCH]);
        let mut newest: HashMap<String, Entry> = HashMap::new();
        let (mut rows, mut bytes_read) = (0, 0i64);
        for file in sources.files()? {
            let path = sources.dir.join(&file.name);
            let fail = LakeError::content(&path);
            for batch in read_columns(&path, &columns)? {
                let batch = batch?;
                let missing = || fail(arrow::error::ArrowError::SchemaError(format!("{} has no batch ids", file.name)));
                let ids = int64(&batch, BATCH_ID).ok_or_else(missing)?.clone();
                let data = int64(&batch, DATA_BATCH).ok_or_else(missing)?.clone();
                for (at, row) in Source::from_batch(&batch).map_err(&fail)?.into_iter().enumerate() {
                    rows += 1;
                    let batch = ids.value(at);
                    let data_batch = if data.is_null(at) { None } else { Some(data.value(at)) };
                    if data_batch == Some(batch) {
                        bytes_read = bytes_read.saturating_add(row.size_bytes);
                    }
                    match newest.get_mut(&row.source_id) {
                        Some(known) if known.batch >= batch => {}
                        Some(known) => *known = Entry { row, batch, data_batch },
                        None => {
                            newest.insert(row.source_id.clone(), Entry { row, batch, data_batch });
                        }
                    }
                }
            }
        }
        let mut entries: Vec<Entry> = newest.into_values().collect();
        entries.sort_by(|a, b| a.row.source_id.cmp(&b.row.source_id));
        Ok(Ledger { entries, rows, bytes_read })
    }

    /// The newest committed batch; 0 before the first.
    pub(crate) fn last_batch(&self) -> i64 {
        self.entries.iter().map(|e| e.batch).max().unwrap_or(0)
    }

    /// Whether more is replaced than not.
    pub(crate) fn is_worn(&self) -> bool {
        let visible = self.entries.iter().filter(|e| e.data_batch.is_some()).fold(0i64, |sum, e| sum.saturating_add(e.row.size_bytes));
        self.bytes_read > visible.saturating_mul(2) || self.rows > 2 * self.entries.len()
    }

    /// (`source_id`, `batch_id`) of every visible row, sorted.
    pub(crate) fn current(&self) -> Vec<(String, i64)> {
        self.entries.iter().filter_map(|e| Some((e.row.source_id.clone(), e.data_batch?))).collect()
    }

    /// Digest of which facts are visible. The batch stands in it, so that a file that was read again counts as changed, whatever
    /// its size and ends say.
    pub(crate) fn facts_digest(&self) -> String {
        let mut parts = Vec::new();
        for Entry { row, data_batch, .. } in &self.entries {
            let Some(batch) = data_batch else { continue };
            let numbers = format!("{batch} {}", row.size_bytes);
            let state = row.state.as_str();
            parts.push(stable_id(&[&row.source_id, state, &row.reader_digest, &numbers, &row.head_hash, &row.tail_hash]));
        }
        stable_id(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }
}
