//! Owns tidying: what a crash left is removed, files whose rows are mostly replaced or that are many and small are rewritten.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use arrow::array::RecordBatch;
use arrow::compute::filter_record_batch;

use super::disk::STAGED;
use super::engine::LocalEngine;
use super::files::{BATCH_ID, FileWriter, PROVISIONAL, batch_of, file_name, physical_schema, read_columns};
use super::ledger::{Ledger, Span};
use super::snapshot::is_visible;
use super::table::{Change, DataFile, Table};
use super::{Lake, LakeError};
use crate::model;
use crate::model::record::{Record, TableDef};
use crate::model::sources::Source;

/// How long a file that the log no longer names stays for readers that still have an older view.
const GRACE: Duration = Duration::from_secs(600);
/// Small files beyond this number are merged.
const MANY_FILES: usize = 64;
/// Batches between two looks at the number of files.
const MERGE_EVERY: i64 = 16;
/// What counts as small.
const SMALL: i64 = 8 << 20;

/// Removes what an interrupted ingest left: commits of batches that `sources` does not name, and files that no log names.
pub(crate) fn recover(lake: &Lake, engine: &LocalEngine, ledger: &Ledger) -> Result<(), LakeError> {
    let last = ledger.last_batch();
    for def in model::all_tables() {
        let mut table = lake.table(def, engine, None)?;
        let unnamed: BTreeSet<String> =
            table.files()?.into_iter().map(|f| f.name).filter(|name| batch_of(name).is_some_and(|b| b > last)).collect();
        if !unnamed.is_empty() {
            table.commit(&Change { remove: unnamed, ..Change::default() })?;
        }
        sweep(lake, &table, Some(last))?;
    }
    Ok(())
}

/// Deletes files of a table that its log does not name: at once those of batches after `last`, which nobody can be reading, the
/// others after a time of grace.
pub(crate) fn sweep(lake: &Lake, table: &Table<'_>, last: Option<i64>) -> Result<(), LakeError> {
    let entries = match fs::read_dir(&table.dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(LakeError::io("list", &table.dir)(e)),
    };
    let named: BTreeSet<String> = table.files()?.into_iter().map(|f| f.name).collect();
    for entry in entries {
        let entry = entry.map_err(LakeError::io("list", &table.dir))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = name.starts_with("part-") || name.contains(STAGED);
        if !ours || named.contains(&name) {
            continue;
        }
        let unread = last.is_some_and(|last| batch_of(&name).is_some_and(|b| b > last));
        let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| SystemTime::now().duration_since(t).ok());
        if unread || age.is_some_and(|age| age > GRACE) {
            let path = entry.path();
            lake.disk.remove(&path).map_err(LakeError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Starts the time of grace of files that the log has just ceased to name: it counts from their last modification.
pub(crate) fn retire(files: &[PathBuf]) {
    for path in files {
        // Where the system refuses, the file is removed somewhat earlier.
        let _ = File::options().write(true).open(path).and_then(|f| f.set_modified(SystemTime::now()));
    }
}

/// Rewrites what is mostly replaced and merges what is many and small. What that costs is spread over the ingests that made it
/// necessary: replaced rows are looked for when they outweigh the visible ones, many files every [`MERGE_EVERY`] batches.
pub(crate) fn compact(lake: &Lake, engine: &LocalEngine, ledger: &Ledger, batches_before: i64) -> Result<(), LakeError> {
    let worn = ledger.is_worn();
    if !worn && !is_due(ledger, batches_before) {
        return Ok(());
    }
    let facts: HashMap<&str, Span> = ledger.entries.iter().filter_map(|e| Some((e.row.source_id.as_str(), e.data?))).collect();
    let rows: HashMap<&str, Span> = ledger.entries.iter().map(|e| (e.row.source_id.as_str(), Span::one(e.batch))).collect();
    // What `sources` says of replaced rows is what tells that there are some, so it comes last and drops them only then.
    let worn = worn || lake.table(Source::TABLE, engine, None)?.files()?.len() > MANY_FILES;
    for def in model::FACT_TABLES {
        compact_table(lake, engine, def, &facts, worn)?;
    }
    compact_table(lake, engine, Source::TABLE, &rows, worn)
}

/// Whether so many batches came that the folders are looked at again.
pub(crate) fn is_due(ledger: &Ledger, batches_before: i64) -> bool {
    ledger.last_batch() / MERGE_EVERY != batches_before / MERGE_EVERY
}

fn compact_table(
    lake: &Lake,
    engine: &LocalEngine,
    def: &'static TableDef,
    visible: &HashMap<&str, Span>,
    worn: bool,
) -> Result<(), LakeError> {
    let mut table = lake.table(def, engine, None)?;
    let files = table.files()?;
    let small: Vec<&DataFile> = files.iter().filter(|f| f.bytes < SMALL).collect();
    let merge = small.len() > MANY_FILES;
    if !worn && !merge {
        return Ok(());
    }
    let mut change = Change { only_files: true, ..Change::default() };
    let mut rewrite: Vec<&DataFile> = Vec::new();
    for file in &files {
        let (live, total) = live_rows(&table, file, visible)?;
        if live == 0 {
            change.remove.insert(file.name.clone());
        } else if live * 2 < total || (merge && file.bytes < SMALL) {
            rewrite.push(file);
        }
    }
    if let Some(newest) = rewrite.iter().filter_map(|f| batch_of(&f.name)).max() {
        let mut writer = FileWriter::create(&lake.disk, &table.dir, file_name(Some(newest)), physical_schema(def))?;
        for file in &rewrite {
            copy_live(&table, file, visible, &mut writer)?;
            change.remove.insert(file.name.clone());
        }
        change.add.push(writer.close()?);
    }
    if change.remove.is_empty() {
        return Ok(());
    }
    table.commit(&change)?;
    retire(&change.remove.iter().map(|name| table.dir.join(name)).collect::<Vec<_>>());
    sweep(lake, &table, None)
}

fn live_rows(table: &Table<'_>, file: &DataFile, visible: &HashMap<&str, Span>) -> Result<(usize, usize), LakeError> {
    let (mut live, mut total) = (0, 0);
    for batch in read_columns(&table.dir.join(&file.name), &["source_id", BATCH_ID, PROVISIONAL])? {
        let batch = batch?;
        live += is_visible(&batch, visible).true_count();
        total += batch.num_rows();
    }
    Ok((live, total))
}

fn copy_live(table: &Table<'_>, file: &DataFile, visible: &HashMap<&str, Span>, into: &mut FileWriter) -> Result<(), LakeError> {
    let path = table.dir.join(&file.name);
    let fail = LakeError::content(&path);
    let schema = physical_schema(table.def);
    let columns: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    for batch in read_columns(&path, &columns)? {
        let batch = batch?;
        let batch = filter_record_batch(&batch, &is_visible(&batch, visible)).map_err(&fail)?;
        let arrays = schema.fields().iter().map(|f| match batch.column_by_name(f.name()) {
            Some(column) => column.clone(),
            // Written before the column existed.
            None => arrow::array::new_null_array(f.data_type(), batch.num_rows()),
        });
        if batch.num_rows() > 0 {
            into.write(&RecordBatch::try_new(schema.clone(), arrays.collect()).map_err(&fail)?)?;
        }
    }
    Ok(())
}
