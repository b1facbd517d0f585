//! Owns the lake: Delta tables on disk that only ingest adds to, and the derived tables that attribution replaces.

pub mod error;
mod snapshot;

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;

pub use error::LakeError;
pub use snapshot::Snapshot;

use crate::model::record::TableDef;

/// A folder of Delta tables, one folder a table.
#[derive(Debug, Clone)]
pub struct Lake {
    root: PathBuf,
}

impl Lake {
    /// Opens the lake there; [`LakeError::NotFound`] if there is none.
    pub fn open(root: &Path) -> Result<Lake, LakeError> {
        let _ = root;
        todo!()
    }

    /// Opens the lake there, or begins an empty one.
    pub fn open_or_create(root: &Path) -> Result<Lake, LakeError> {
        let _ = root;
        todo!()
    }

    /// The folder it stands in, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What is visible now: only batches that `sources` names.
    pub fn snapshot(&self) -> Result<Snapshot, LakeError> {
        todo!()
    }

    /// Replaces derived tables. Readers see all of the new ones or all of the old ones: the marker, which carries
    /// `input_digest`, is written last.
    pub fn replace_derived(&self, tables: &[(&'static TableDef, Vec<RecordBatch>)], input_digest: &str) -> Result<(), LakeError> {
        let _ = (tables, input_digest);
        todo!()
    }
}
