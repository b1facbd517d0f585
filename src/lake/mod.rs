//! Owns the lake: Delta tables on disk that only ingest adds to, and the derived tables that attribution replaces.
//!
//! ```text
//! <lake>/lake.json          layout version
//! <lake>/lock               held by whoever writes
//! <lake>/pending            there while an ingest has begun and not ended
//! <lake>/derived.json       which versions of the derived tables belong together
//! <lake>/<table>/           Parquet files and _delta_log
//! ```
//!
//! Every row of a fact table carries the ingest batch that wrote it (`batch_id`). A batch first writes and syncs its Parquet files,
//! then commits each fact table, and last `sources`, whose rows name the batch of each file: that is the commit point. A row is
//! visible only if `sources` names its batch for its file, so a crash before that point leaves nothing that anybody sees, and a
//! file that is read again replaces its rows in one step. The next ingest removes what a crash left ([`tidy`]).
//!
//! A file that has grown is read again from its start: the readers number repeated records, pair calls with results and
//! difference counters over the whole file, so rows read from the middle on would not be those of one reading.

mod derived;
mod digest;
mod disk;
mod engine;
pub mod error;
mod files;
pub mod ingest;
mod ledger;
mod lock;
mod snapshot;
mod table;
mod tidy;
mod view;

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use serde::{Deserialize, Serialize};

use disk::Disk;
use engine::LocalEngine;
pub use error::LakeError;
pub use files::{BATCH_ID, DATA_BATCH};
pub use snapshot::Snapshot;
use table::Table;

use crate::model::record::TableDef;

/// Raised when older programs could no longer read the lake.
const LAYOUT: u32 = 1;
const LAYOUT_FILE: &str = "lake.json";

#[derive(Serialize, Deserialize)]
struct Layout {
    layout: u32,
}

/// A folder of Delta tables, one folder a table.
#[derive(Debug, Clone)]
pub struct Lake {
    root: PathBuf,
    disk: Disk,
}

impl Lake {
    /// Opens the lake there; [`LakeError::NotFound`] if there is none.
    pub fn open(root: &Path) -> Result<Lake, LakeError> {
        Lake::on(root, Disk::default())
    }

    fn on(root: &Path, disk: Disk) -> Result<Lake, LakeError> {
        let root = std::path::absolute(root).map_err(LakeError::io("resolve", root))?;
        let path = root.join(LAYOUT_FILE);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(LakeError::NotFound(root)),
            Err(e) => return Err(LakeError::io("read", &path)(e)),
        };
        let layout: Layout = serde_json::from_slice(&bytes).map_err(|e| LakeError::io("read", &path)(e.into()))?;
        if layout.layout > LAYOUT {
            return Err(LakeError::Newer { path: root, found: layout.layout.to_string(), known: LAYOUT });
        }
        Ok(Lake { root, disk })
    }

    /// Opens the lake there, or begins an empty one.
    pub fn open_or_create(root: &Path) -> Result<Lake, LakeError> {
        Lake::create_on(root, Disk::default())
    }

    fn create_on(root: &Path, disk: Disk) -> Result<Lake, LakeError> {
        let root = std::path::absolute(root).map_err(LakeError::io("resolve", root))?;
        let path = root.join(LAYOUT_FILE);
        if !path.exists() {
            let bytes = format!("{{\"layout\":{LAYOUT}}}\n");
            match disk.create(&path, bytes.as_bytes()) {
                Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(LakeError::io("begin a lake at", &path)(e)),
                _ => {}
            }
        }
        Lake::on(&root, disk)
    }

    /// The folder it stands in, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What is visible now: only batches that `sources` names.
    pub fn snapshot(&self) -> Result<Snapshot, LakeError> {
        Snapshot::take(self)
    }

    /// Replaces derived tables. Readers see all of the new ones or all of the old ones: the marker, which carries
    /// `input_digest`, is written last.
    pub fn replace_derived(&self, tables: &[(&'static TableDef, Vec<RecordBatch>)], input_digest: &str) -> Result<(), LakeError> {
        derived::replace(self, tables, input_digest)
    }

    fn engine(&self) -> LocalEngine {
        LocalEngine::new(self.disk.clone())
    }

    fn table<'a>(&'a self, def: &'static TableDef, engine: &'a LocalEngine, version: Option<i64>) -> Result<Table<'a>, LakeError> {
        Table::open(&self.root, def, engine, &self.disk, version)
    }
}
