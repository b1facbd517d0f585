//! Owns the commits of batches, one after the other: every fact table first, `sources` last.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};

use crate::lake::files::{FileWriter, file_name, physical_schema};
use crate::lake::layout::Layout;
use crate::lake::ledger::Entry;
use crate::lake::table::{Change, Table};
use crate::lake::{Lake, LakeError};
use crate::model::record::{Record, TableDef};
use crate::model::sources::Source as SourceRow;

/// A batch that is read and not yet visible.
pub(super) struct Finished {
    pub(super) number: i64,
    pub(super) facts: Vec<(&'static TableDef, FileWriter)>,
    pub(super) entries: Vec<Entry>,
}

/// Commits what comes, in the order it comes. Logs are read once and then carried on. Tables that are new are listed before `sources`
/// speaks of their rows, so that a table of which anything is visible is always listed.
pub(super) fn commit_all(lake: &Lake, batches: Receiver<Finished>) -> Result<(), LakeError> {
    let engine = lake.engine();
    let mut tables: HashMap<&'static str, Table<'_>> = HashMap::new();
    for Finished { number, facts, entries } in batches {
        let sources = write_entries(lake, number, &entries)?;
        let mut new = facts.into_iter().map(|(def, writer)| Ok((def, writer.close()?))).collect::<Result<Vec<_>, LakeError>>()?;
        new.push((SourceRow::TABLE, sources));
        let mut begun: Vec<&str> = Vec::new();
        for (def, file) in new {
            if def.name == SourceRow::TABLE.name && !begun.is_empty() {
                Layout::list(&lake.root, &lake.disk, &begun)?;
            }
            let table = match tables.entry(def.name) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(unknown) => unknown.insert(lake.table(def, &engine, None)?),
            };
            let is_new = table.version().is_none();
            table.commit(&Change { add: vec![file], batch: Some(number), ..Change::default() })?;
            if is_new && def.name == SourceRow::TABLE.name {
                Layout::list(&lake.root, &lake.disk, &[def.name])?;
            } else if is_new {
                begun.push(def.name);
            }
        }
    }
    Ok(())
}

fn write_entries(lake: &Lake, number: i64, entries: &[Entry]) -> Result<crate::lake::files::NewFile, LakeError> {
    let def = SourceRow::TABLE;
    let rows: Vec<SourceRow> = entries.iter().map(|e| e.row.clone()).collect();
    let batch = SourceRow::to_batch(&rows).map_err(LakeError::misfit(def.name))?;
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    columns.push(Arc::new(Int64Array::from_value(number, entries.len())));
    columns.push(Arc::new(entries.iter().map(|e| e.data.map(|d| d.last)).collect::<Int64Array>()));
    columns.push(Arc::new(entries.iter().map(|e| e.data.map(|d| d.first)).collect::<Int64Array>()));
    let batch = RecordBatch::try_new(physical_schema(def), columns).map_err(LakeError::misfit(def.name))?;
    let mut writer = FileWriter::create(&lake.disk, &lake.root.join(def.name), file_name(Some(number)), physical_schema(def))?;
    writer.write(&batch)?;
    writer.close()
}
