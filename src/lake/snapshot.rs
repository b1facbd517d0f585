//! Owns `Snapshot`: a consistent view of the lake at one moment, and the ways to read it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use rayon::prelude::*;

use super::derived::Marker;
use super::engine::LocalEngine;
use super::files::{BATCH_ID, PROVISIONAL, boolean, int64, read_columns, text};
use super::ledger::{Ledger, Span};
use super::table::Table;
use super::{Lake, LakeError, view};
use crate::model;
use crate::model::record::{Layer, Record, TableDef, column_or_null};
use crate::model::sources::Source;

/// Tries to get one consistent view while another process writes.
const TRIES: usize = 10;

/// The version of one table and the files it names.
#[derive(Debug, Clone)]
struct State {
    version: i64,
    files: Vec<PathBuf>,
}

/// What was visible when it was taken.
#[derive(Debug, Clone)]
pub struct Snapshot {
    root: PathBuf,
    tables: BTreeMap<&'static str, State>,
    ledger: Arc<Ledger>,
    current: Vec<(String, Span)>,
    marker: Option<Marker>,
}

impl Snapshot {
    /// Reads `sources` first and its version again at the end: facts are committed before `sources` names them, and files are
    /// rewritten only after, so an unchanged version means that everything it names was there.
    pub(crate) fn take(lake: &Lake) -> Result<Snapshot, LakeError> {
        let engine = lake.engine();
        let mut lost: Option<PathBuf> = None;
        for attempt in 0..TRIES {
            if attempt > 0 {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            let sources = lake.table(Source::TABLE, &engine, None)?;
            let marker = Marker::read(&lake.root)?;
            let ledger = Ledger::read(&sources)?;
            let others: Vec<&'static TableDef> = model::all_tables().filter(|def| def.name != Source::TABLE.name).collect();
            let loaded: Result<Vec<_>, LakeError> = others.par_iter().map(|def| load(lake, def, &engine, marker.as_ref())).collect();
            let mut tables: BTreeMap<&'static str, State> = loaded?.into_iter().flatten().collect();
            if let Some(version) = sources.version() {
                tables.insert(Source::TABLE.name, State { version, files: paths(&sources)? });
            }
            let again = lake.table(Source::TABLE, &engine, None)?.version();
            if again == sources.version() && Marker::read(&lake.root)? == marker {
                let current = ledger.current();
                // Of derived tables all are built again where one, or a file of it, was deleted: they belong together.
                let is_whole = |name: &String| tables.get(name.as_str()).is_some_and(|t| t.files.iter().all(|f| f.is_file()));
                let marker = marker.filter(|m| m.versions.keys().all(is_whole));
                if marker.is_none() {
                    tables.retain(|name, _| model::DERIVED_TABLES.iter().all(|def| def.name != *name));
                }
                // What a crash left may be removed between the log and this look: then the next try finds it unnamed.
                lost = tables.values().flat_map(|t| &t.files).find(|f| !f.is_file()).cloned();
                if lost.is_some() {
                    continue;
                }
                return Ok(Snapshot { root: lake.root.clone(), tables, ledger: Arc::new(ledger), current, marker });
            }
        }
        Err(match lost {
            Some(path) => LakeError::io("open", &path)(std::io::ErrorKind::NotFound.into()),
            None => LakeError::Unstable(lake.root.clone()),
        })
    }

    /// Active Parquet files of a table, absolute; none if the table does not exist yet. Rows of a fact table count only where
    /// [`Snapshot::current_batches`] shows their batch; of `sources`, the row with the greatest `batch_id` of each `source_id` counts.
    pub fn files(&self, table: &str) -> &[PathBuf] {
        self.tables.get(table).map_or(&[], |t| &t.files)
    }

    /// Version of the table's log. `None`: the table does not exist yet.
    pub fn version(&self, table: &str) -> Option<i64> {
        self.tables.get(table).map(|t| t.version)
    }

    /// Which batches hold the visible rows of each source, by `source_id`.
    pub fn current_batches(&self) -> &[(String, Span)] {
        &self.current
    }

    /// Every visible row, copies included, in no promised order.
    pub fn read<R: Record>(&self) -> Result<Vec<R>, LakeError> {
        let mut rows = Vec::new();
        for batch in self.batches(R::TABLE)? {
            rows.append(&mut R::from_batch(&batch).map_err(self.unlike(R::TABLE))?);
        }
        Ok(rows)
    }

    /// The rows of the view: one a key (DESIGN §4), sorted.
    pub fn read_view<R: Record>(&self) -> Result<Vec<R>, LakeError> {
        R::from_batch(&self.view(R::TABLE)?).map_err(self.unlike(R::TABLE))
    }

    /// [`Snapshot::read_view`] as one record batch.
    pub fn view(&self, table: &'static TableDef) -> Result<RecordBatch, LakeError> {
        let paths: HashMap<&str, &str> = self.ledger.entries.iter().map(|e| (e.row.source_id.as_str(), e.row.path.as_str())).collect();
        view::view(table, &self.batches(table)?, &paths).map_err(self.unlike(table))
    }

    /// Visible rows as record batches with the columns of `table`.
    pub fn batches(&self, table: &'static TableDef) -> Result<Vec<RecordBatch>, LakeError> {
        if table.name == Source::TABLE.name {
            let rows: Vec<Source> = self.ledger.entries.iter().map(|e| e.row.clone()).collect();
            return Ok(vec![Source::to_batch(&rows).map_err(LakeError::misfit(table.name))?]);
        }
        let visible: HashMap<&str, Span> = self.current.iter().map(|(id, span)| (id.as_str(), *span)).collect();
        let mut columns: Vec<&str> = table.columns.iter().map(|c| c.name).collect();
        if table.layer == Layer::Fact {
            columns.extend([BATCH_ID, PROVISIONAL]);
        }
        let read = |path: &PathBuf| -> Result<Vec<RecordBatch>, LakeError> {
            let mut batches = Vec::new();
            let fail = LakeError::content(path);
            for batch in read_columns(path, &columns)? {
                let mut batch = batch?;
                if table.layer == Layer::Fact {
                    batch = filter_record_batch(&batch, &is_visible(&batch, &visible)).map_err(&fail)?;
                }
                let arrays: Result<Vec<_>, _> = table.columns.iter().map(|def| column_or_null(&batch, def)).collect();
                if batch.num_rows() > 0 {
                    batches.push(RecordBatch::try_new(table.arrow_schema(), arrays.map_err(&fail)?).map_err(&fail)?);
                }
            }
            Ok(batches)
        };
        let files = self.files(table.name);
        let read: Result<Vec<Vec<RecordBatch>>, LakeError> = match files {
            [one] => read(one).map(|batches| vec![batches]),
            many => many.par_iter().map(read).collect(),
        };
        Ok(read?.into_iter().flatten().collect())
    }

    /// The error of rows that are not those of the table.
    pub(super) fn unlike(&self, table: &TableDef) -> impl Fn(arrow::error::ArrowError) -> LakeError + use<> {
        LakeError::content(&self.root.join(table.name))
    }

    /// Digest of the input the derived tables were built from. `None`: never built.
    pub fn derived_input_digest(&self) -> Option<&str> {
        self.marker.as_ref().map(|m| m.input_digest.as_str())
    }

    /// Digest of which facts are visible: the part of the derived tables' input that the lake knows. It compares two moments of
    /// one lake; to compare two lakes use [`super::digest`].
    pub fn facts_digest(&self) -> String {
        self.ledger.facts_digest()
    }
}

fn load(
    lake: &Lake,
    def: &'static TableDef,
    engine: &LocalEngine,
    marker: Option<&Marker>,
) -> Result<Option<(&'static str, State)>, LakeError> {
    let version = match def.layer {
        Layer::Fact => None,
        // Of a derived table only the version that the marker names is complete.
        Layer::Derived => match marker.and_then(|m| m.versions.get(def.name)) {
            Some(version) => Some(*version),
            None => return Ok(None),
        },
    };
    let table = lake.table(def, engine, version)?;
    let Some(version) = table.version() else { return Ok(None) };
    Ok(Some((def.name, State { version, files: paths(&table)? })))
}

fn paths(table: &Table<'_>) -> Result<Vec<PathBuf>, LakeError> {
    Ok(table.files()?.into_iter().map(|f| table.dir.join(f.name)).collect())
}

/// Which rows belong to the batches that `sources` names for their file.
pub(crate) fn is_visible(batch: &RecordBatch, visible: &HashMap<&str, Span>) -> BooleanArray {
    let (Some(ids), Some(batches)) = (text(batch, "source_id"), int64(batch, BATCH_ID)) else {
        return BooleanArray::from(vec![false; batch.num_rows()]);
    };
    // Files of before have no such column.
    let provisional = boolean(batch, PROVISIONAL);
    let mut last: Option<(&str, Option<Span>)> = None;
    let rows = (0..batch.num_rows()).map(|row| {
        if ids.is_null(row) {
            return false;
        }
        let id = ids.value(row);
        let current = match last {
            Some((known, current)) if known == id => current,
            _ => visible.get(id).copied(),
        };
        last = Some((id, current));
        let may_be_replaced = provisional.is_some_and(|p| p.is_valid(row) && p.value(row));
        current.is_some_and(|span| span.shows(batches.value(row), may_be_replaced))
    });
    rows.collect::<Vec<bool>>().into()
}
