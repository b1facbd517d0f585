//! Owns the derived tables on disk: how they are replaced, and the marker that makes the new ones visible all at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use arrow::array::RecordBatch;
use serde::{Deserialize, Serialize};

use super::files::{FileWriter, file_name, physical_schema};
use super::lock::Lock;
use super::table::Change;
use super::{Lake, LakeError, tidy};
use crate::model::record::TableDef;

/// How long a reader waits for a running ingest before it gives up on bringing derived tables up to date.
const PATIENCE: Duration = Duration::from_secs(30);
const FILE: &str = "derived.json";

/// Which versions of the derived tables belong together, and what they were built from. Readers look here first, so tables that
/// were replaced half-way are never seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) input_digest: String,
    pub(crate) versions: BTreeMap<String, i64>,
}

impl Marker {
    /// The marker; `None` where derived tables were never built, or by a crash not to the end.
    pub(crate) fn read(root: &Path) -> Result<Option<Marker>, LakeError> {
        let path = root.join(FILE);
        match std::fs::read(&path) {
            // It is derived: a marker that cannot be read only means that the tables are built again.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(LakeError::io("read", &path)(e)),
        }
    }
}

pub(crate) fn replace(lake: &Lake, tables: &[(&'static TableDef, Vec<RecordBatch>)], input_digest: &str) -> Result<(), LakeError> {
    let _lock = Lock::take(&lake.root, PATIENCE)?;
    let engine = lake.engine();
    let path = lake.root.join(FILE);
    let mut versions = Marker::read(&lake.root)?.map(|m| m.versions).unwrap_or_default();
    for (def, _) in tables {
        // The log of a table that was deleted begins anew: until all is written nothing must name a version of the old one.
        if versions.contains_key(def.name) && lake.table(def, &engine, None)?.version().is_none() {
            lake.disk.remove(&path).map_err(LakeError::io("remove", &path))?;
            versions.clear();
        }
    }
    let mut retired = Vec::new();
    for (def, batches) in tables {
        let mut table = lake.table(def, &engine, None)?;
        let mut change = Change::default();
        if batches.iter().any(|b| b.num_rows() > 0) {
            let mut file = FileWriter::create(&lake.disk, &table.dir, file_name(None), physical_schema(def))?;
            for batch in batches {
                file.write(batch)?;
            }
            change.add.push(file.close()?);
        }
        change.remove = table.files()?.into_iter().map(|f| f.name).collect::<BTreeSet<_>>();
        table.commit(&change)?;
        versions.insert(def.name.to_owned(), table.version().unwrap_or(0));
        retired.extend(change.remove.iter().map(|name| table.dir.join(name)));
    }
    let marker = Marker { input_digest: input_digest.to_owned(), versions };
    let bytes = serde_json::to_vec(&marker).map_err(|e| LakeError::io("write", &path)(e.into()))?;
    lake.disk.replace(&path, &bytes).map_err(LakeError::io("write", &path))?;
    tidy::retire(&retired);
    for (def, _) in tables {
        tidy::sweep(lake, &lake.table(def, &engine, None)?, None)?;
    }
    Ok(())
}
