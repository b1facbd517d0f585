//! Owns the ledger: what the table `sources` says of every file, and so which rows of the fact tables are visible.

use std::collections::HashMap;

use arrow::array::Array;

use super::LakeError;
use super::files::{BATCH_ID, DATA_BATCH, FIRST_BATCH, int64, read_columns};
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
    /// The batches whose facts of this file are visible. `None`: none are.
    pub(crate) data: Option<Span>,
}

/// The batches that hold the visible rows of one file: the first read it from its start, each later one read what it had grown by.
/// Rows that the next part of the file may replace are visible in the last one only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    pub first: i64,
    pub last: i64,
}

impl Span {
    /// All rows stand in one batch.
    pub(crate) fn one(batch: i64) -> Span {
        Span { first: batch, last: batch }
    }

    /// Whether a row of that batch is visible.
    pub(crate) fn shows(self, batch: i64, provisional: bool) -> bool {
        batch == self.last || (!provisional && (self.first..self.last).contains(&batch))
    }
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
        columns.extend([BATCH_ID, DATA_BATCH, FIRST_BATCH]);
        let mut newest: HashMap<String, Entry> = HashMap::new();
        let mut rows = 0;
        let mut readings: HashMap<String, Vec<(Span, i64)>> = HashMap::new();
        for file in sources.files()? {
            let path = sources.dir.join(&file.name);
            let fail = LakeError::content(&path);
            for batch in read_columns(&path, &columns)? {
                let batch = batch?;
                let missing = || fail(arrow::error::ArrowError::SchemaError(format!("{} has no batch ids", file.name)));
                let ids = int64(&batch, BATCH_ID).ok_or_else(missing)?.clone();
                let data = int64(&batch, DATA_BATCH).ok_or_else(missing)?.clone();
                // Lakes of before have no such column: there every reading was one of the whole file.
                let first = int64(&batch, FIRST_BATCH).cloned();
                for (at, row) in Source::from_batch(&batch).map_err(&fail)?.into_iter().enumerate() {
                    rows += 1;
                    let batch = ids.value(at);
                    let last = if data.is_null(at) { None } else { Some(data.value(at)) };
                    let first = first.as_ref().filter(|f| !f.is_null(at)).map(|f| f.value(at));
                    let data = last.map(|last| Span { first: first.unwrap_or(last), last });
                    if let Some(span) = data.filter(|d| d.last == batch) {
                        readings.entry(row.source_id.clone()).or_default().push((span, row.size_bytes));
                    }
                    match newest.get_mut(&row.source_id) {
                        Some(known) if known.batch >= batch => {}
                        Some(known) => *known = Entry { row, batch, data },
                        None => {
                            newest.insert(row.source_id.clone(), Entry { row, batch, data });
                        }
                    }
                }
            }
        }
        let mut entries: Vec<Entry> = newest.into_values().collect();
        entries.sort_by(|a, b| a.row.source_id.cmp(&b.row.source_id));
        Ok(Ledger { entries, rows, bytes_read: readings.into_values().map(bytes_read).fold(0, i64::saturating_add) })
    }

    /// The newest committed batch; 0 before the first.
    pub(crate) fn last_batch(&self) -> i64 {
        self.entries.iter().map(|e| e.batch).max().unwrap_or(0)
    }

    /// Whether more is replaced than not.
    pub(crate) fn is_worn(&self) -> bool {
        let visible = self.entries.iter().filter(|e| e.data.is_some()).fold(0i64, |sum, e| sum.saturating_add(e.row.size_bytes));
        self.bytes_read > visible.saturating_mul(2) || self.rows > 2 * self.entries.len()
    }

    /// Which batches hold the visible rows of each source, by `source_id`.
    pub(crate) fn current(&self) -> Vec<(String, Span)> {
        self.entries.iter().filter_map(|e| Some((e.row.source_id.clone(), e.data?))).collect()
    }

    /// Digest of which facts are visible. The batch stands in it, so that a file that was read again counts as changed, whatever
    /// its size and ends say.
    pub(crate) fn facts_digest(&self) -> String {
        let mut parts = Vec::new();
        for Entry { row, data, .. } in &self.entries {
            let Some(span) = data else { continue };
            let numbers = format!("{} {}", span.last, row.size_bytes);
            let state = row.state.as_str();
            parts.push(stable_id(&[&row.source_id, state, &row.reader_digest, &numbers, &row.head_hash, &row.tail_hash]));
        }
        stable_id(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Bytes of all readings of one file: one that went on where another had ended read what was new.
fn bytes_read(mut readings: Vec<(Span, i64)>) -> i64 {
    readings.sort_by_key(|(span, _)| span.last);
    let mut before = 0;
    let mut bytes = 0i64;
    for (span, size) in readings {
        let new = if span.first < span.last { size.saturating_sub(before).max(0) } else { size };
        bytes = bytes.saturating_add(new);
        before = size;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_may_be_replaced_are_visible_in_the_last_batch_only() {
        let span = Span { first: 3, last: 7 };
        let shown = |provisional| (0..10).filter(|b| span.shows(*b, provisional)).collect::<Vec<_>>();
        assert_eq!(shown(false), [3, 4, 5, 6, 7]);
        assert_eq!(shown(true), [7]);
        assert!(Span::one(4).shows(4, true) && !Span::one(4).shows(3, false) && !Span::one(4).shows(5, false));
    }

    #[test]
    fn a_reading_that_went_on_counts_only_what_was_new() {
        let grown = vec![(Span { first: 1, last: 5 }, 130), (Span::one(1), 100), (Span { first: 1, last: 2 }, 110)];
        assert_eq!(bytes_read(grown), 130);
        assert_eq!(bytes_read(vec![(Span::one(1), 100), (Span::one(2), 110)]), 210);
    }
}
