//! Owns the lake digest: what "the same lake" means.
//!
//! SHA-256 over the sorted logical rows of every fact table as viewed and of the derived tables of attribution. Left out is what
//! says when and how a file was read rather than what it says: batch ids, modification times, inodes, times of ingest.

use arrow::array::RecordBatch;
use arrow::row::{RowConverter, SortField};
use sha2::{Digest, Sha256};

use super::{LakeError, Snapshot};
use crate::model::FACT_TABLES;
use crate::model::derived::{GateProblem, ModelCall, Problem, Run, RunMember, TreeState};
use crate::model::record::{Record, TableDef};
use crate::model::sources::Source;

/// Columns of `sources` that the digest leaves out.
const PASSING: [&str; 3] = ["mtime", "inode", "ingested_at"];

const DERIVED: [&TableDef; 6] = [Run::TABLE, RunMember::TABLE, ModelCall::TABLE, TreeState::TABLE, Problem::TABLE, GateProblem::TABLE];

impl Snapshot {
    /// The digest as 64 hex digits. Bring the derived tables up to date first.
    pub fn digest(&self) -> Result<String, LakeError> {
        let mut hasher = Sha256::new();
        for table in std::iter::once(&Source::TABLE).chain(FACT_TABLES).chain(&DERIVED) {
            hasher.update(table.name.as_bytes());
            let rows = sorted_rows(table, &self.view(table)?).map_err(self.unlike(table))?;
            hasher.update((rows.len() as u64).to_le_bytes());
            for row in rows {
                hasher.update((row.len() as u64).to_le_bytes());
                hasher.update(row);
            }
        }
        Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Rows in Arrow's comparable row format, sorted by their bytes.
fn sorted_rows(table: &TableDef, batch: &RecordBatch) -> Result<Vec<Vec<u8>>, arrow::error::ArrowError> {
    let is_source = table.name == Source::TABLE.name;
    let kept: Vec<usize> = (0..table.columns.len()).filter(|&at| !(is_source && PASSING.contains(&table.columns[at].name))).collect();
    let batch = batch.project(&kept)?;
    let fields = batch.schema().fields().iter().map(|f| SortField::new(f.data_type().clone())).collect();
    let rows = RowConverter::new(fields)?.convert_columns(batch.columns())?;
    let mut sorted: Vec<Vec<u8>> = rows.iter().map(|row| row.as_ref().to_vec()).collect();
    sorted.sort_unstable();
    Ok(sorted)
}
