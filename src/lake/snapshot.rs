//! Owns `Snapshot`: a consistent view of the lake at one moment, and the ways to read it.

use std::path::PathBuf;

use arrow::array::RecordBatch;

use super::LakeError;
use crate::model::record::{Record, TableDef};

/// What was visible when it was taken.
#[derive(Debug, Clone)]
pub struct Snapshot {
    batches: Vec<(String, i64)>,
}

impl Snapshot {
    /// Active Parquet files of a table, absolute; none if the table does not exist yet. Rows of a fact table count only where
    /// (`source_id`, `batch_id`) is in [`Snapshot::current_batches`].
    pub fn files(&self, table: &str) -> &[PathBuf] {
        let _ = table;
        todo!()
    }

    /// Version of the table's log. `None`: the table does not exist yet.
    pub fn version(&self, table: &str) -> Option<i64> {
        let _ = table;
        todo!()
    }

    /// (`source_id`, `batch_id`) of every visible row of a fact table, sorted.
    pub fn current_batches(&self) -> &[(String, i64)] {
        &self.batches
    }

    /// Every visible row, copies included, in no promised order.
    pub fn read<R: Record>(&self) -> Result<Vec<R>, LakeError> {
        todo!()
    }

    /// The rows of the view: one a key (DESIGN §4), sorted.
    pub fn read_view<R: Record>(&self) -> Result<Vec<R>, LakeError> {
        todo!()
    }

    /// Visible rows as record batches with the columns of `table`.
    pub fn batches(&self, table: &'static TableDef) -> Result<Vec<RecordBatch>, LakeError> {
        let _ = table;
        todo!()
    }

    /// Digest of the input the derived tables were built from. `None`: never built.
    pub fn derived_input_digest(&self) -> Option<&str> {
        todo!()
    }

    /// Digest of which facts are visible: the part of the derived tables' input that the lake knows.
    pub fn facts_digest(&self) -> String {
        todo!()
    }
}
