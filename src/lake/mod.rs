//! Owns the lake: Delta tables on disk that only ingest adds to, and the derived tables that attribution replaces.
//!
//! ```text
//! <lake>/lake.json          layout version, and the fact tables there are
//! <lake>/lock               held by whoever writes
//! <lake>/pending            there while an ingest has begun and not ended
//! <lake>/derived.json       which versions of the derived tables belong together
//! <lake>/readings/          where the reading of each session log stands; may be deleted
//! <lake>/<table>/           Parquet files and _delta_log
//! ```
//!
//! Every row of a fact table carries the ingest batch that wrote it (`batch_id`). A batch first writes and syncs its Parquet files,
//! then commits each fact table, and last `sources`, whose rows name the batch of each file: that is the commit point. A row is
//! visible only if `sources` names its batch for its file, so a crash before that point leaves nothing that anybody sees, and a
//! file that is read again replaces its rows in one step. The next ingest removes what a crash left ([`tidy`]).
//!
//! `lake.json` lists each table after its first commit and before any row of `sources` speaks of it. So a table of the list whose
//! folder or log is not there was deleted, and is an error; one that is not in the list may be missing: nothing was ever in it.
//!
//! A session log that is found to be no continuation of what was read of it is a new generation: a source of its own, beside the
//! rows of the one before, which is `superseded`. Every other file that changed replaces its rows.
//!
//! A session log that has grown is read from where its reading ended: the state of its reader is put by in `readings/`
//! ([`ingest`]). Rows that the rest of a file may change (a call without its result yet) are `provisional`: they stand after the mark
//! and are visible until the next part is read. So the visible rows of a file are those of one reading, however often it grew.

mod derived;
mod digest;
mod disk;
mod engine;
pub mod error;
mod files;
pub mod ingest;
mod layout;
mod ledger;
mod lock;
mod snapshot;
mod table;
mod tidy;
pub(crate) mod view;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;

use disk::Disk;
use engine::LocalEngine;
pub use error::LakeError;
pub use files::{BATCH_ID, DATA_BATCH, FIRST_BATCH, PROVISIONAL};
use layout::Layout;
pub use ledger::Span;
pub use snapshot::Snapshot;
use table::Table;

use crate::model::FACT_TABLES;
use crate::model::record::{Record, TableDef};
use crate::model::sources::Source;

/// A folder of Delta tables, one folder a table.
#[derive(Debug, Clone)]
pub struct Lake {
    root: PathBuf,
    disk: Disk,
    /// Tables that had a commit when it was opened.
    begun: BTreeSet<String>,
}

impl Lake {
    /// Opens the lake there; [`LakeError::NotFound`] if there is none.
    pub fn open(root: &Path) -> Result<Lake, LakeError> {
        Lake::on(root, Disk::default())
    }

    fn on(root: &Path, disk: Disk) -> Result<Lake, LakeError> {
        let root = std::path::absolute(root).map_err(LakeError::io("resolve", root))?;
        match Layout::read(&root)? {
            Some(layout) => Ok(Lake { root, disk, begun: layout.tables }),
            None => Err(LakeError::NotFound(root)),
        }
    }

    /// Opens the lake there, or begins an empty one.
    pub fn open_or_create(root: &Path) -> Result<Lake, LakeError> {
        Lake::create_on(root, Disk::default())
    }

    fn create_on(root: &Path, disk: Disk) -> Result<Lake, LakeError> {
        let root = std::path::absolute(root).map_err(LakeError::io("resolve", root))?;
        if Layout::read(&root)?.is_none() {
            Layout::begin(&root, &disk)?;
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
        let table = Table::open(&self.root, def, engine, &self.disk, version)?;
        match table.version() {
            None if self.begun.contains(def.name) => Err(LakeError::TableLost { table: def.name, dir: table.dir }),
            _ => Ok(table),
        }
    }

    /// An error where a listed table is gone. Lists the tables that are there and not listed: those of a lake of before, and what a
    /// crash left.
    fn take_stock(&self, engine: &LocalEngine) -> Result<(), LakeError> {
        let mut found = Vec::new();
        for def in FACT_TABLES.iter().copied().chain([Source::TABLE]) {
            let dir = self.root.join(def.name);
            if self.begun.contains(def.name) {
                if !table::is_begun(&dir)? {
                    return Err(LakeError::TableLost { table: def.name, dir });
                }
            } else if self.table(def, engine, None)?.version().is_some() {
                found.push(def.name);
            }
        }
        Layout::list(&self.root, &self.disk, &found)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::table::Change;
    use super::*;

    /// A lake with every fact table, each without rows.
    fn whole(root: &Path) -> Lake {
        let lake = Lake::open_or_create(root).unwrap();
        let engine = lake.engine();
        for def in FACT_TABLES.iter().copied().chain([Source::TABLE]) {
            lake.table(def, &engine, None).unwrap().commit(&Change::default()).unwrap();
        }
        lake.take_stock(&engine).unwrap();
        Lake::open(root).unwrap()
    }

    #[test]
    fn a_table_that_was_deleted_is_an_error_that_names_it_whichever_it_is() {
        for def in FACT_TABLES.iter().copied().chain([Source::TABLE]) {
            for part in ["", "_delta_log"] {
                let dir = tempfile::tempdir().unwrap();
                let lake = whole(dir.path());
                lake.snapshot().unwrap();
                fs::remove_dir_all(dir.path().join(def.name).join(part)).unwrap();
                let error = lake.snapshot().err().unwrap_or_else(|| panic!("{} reads as empty", def.name)).to_string();
                let place = dir.path().join(def.name);
                assert!(error.contains(&format!("table {} is gone, {}", def.name, place.display())), "{error}");
                assert!(error.contains("ingest again"), "{error}");
            }
        }
    }

    #[test]
    fn a_lake_without_the_list_is_read_as_it_is_and_gets_one() {
        let dir = tempfile::tempdir().unwrap();
        whole(dir.path());
        fs::write(dir.path().join("lake.json"), "{\"layout\":1}\n").unwrap();
        let lake = Lake::open(dir.path()).unwrap();
        lake.snapshot().unwrap();
        assert!(lake.begun.is_empty());
        lake.take_stock(&lake.engine()).unwrap();
        assert_eq!(Lake::open(dir.path()).unwrap().begun.len(), FACT_TABLES.len() + 1);
        assert!(!fs::read_to_string(dir.path().join("lake.json")).unwrap().contains("\"layout\":1"));
    }

    #[test]
    fn what_says_nothing_of_a_lake_is_told_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        for text in ["", "{", "[]", "{\"layout\":\"one\"}"] {
            fs::write(dir.path().join("lake.json"), text).unwrap();
            for opened in [Lake::open(dir.path()), Lake::open_or_create(dir.path())] {
                let error = opened.unwrap_err().to_string();
                assert!(error.contains("lake.json") && error.contains("damaged"), "{error}");
            }
            assert_eq!(fs::read_to_string(dir.path().join("lake.json")).unwrap(), text);
        }
        fs::write(dir.path().join("lake.json"), "{\"layout\":99}").unwrap();
        assert!(matches!(Lake::open(dir.path()), Err(LakeError::Newer { .. })));
    }
}
