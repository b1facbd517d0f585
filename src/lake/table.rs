//! Owns one Delta table: its log, its active files, and the commits to it. All of it goes through the Delta kernel.
//!
//! A commit is a file of the log that must not exist yet ([`Disk::create`]): of two writers one wins, and a crash leaves all of it
//! or nothing. Columns stand in the log as nullable, which keeps the protocol's feature lists empty, so that every reader of
//! protocol (3, 7) takes them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use delta_kernel::arrow::array::{Int64Array, MapBuilder, MapFieldNames, RecordBatch, StringArray, StringBuilder, StructArray};
use delta_kernel::arrow::datatypes::{DataType, Field, Schema};
use delta_kernel::committer::FileSystemCommitter;
use delta_kernel::engine::arrow_conversion::TryIntoKernel as _;
use delta_kernel::engine::arrow_data::ArrowEngineData;
use delta_kernel::schema::SchemaRef;
use delta_kernel::snapshot::{Snapshot, SnapshotRef};
use delta_kernel::transaction::create_table::create_table;
use delta_kernel::transaction::{CommitResult, UpdateTableOperation};
use delta_kernel::{Engine, FilteredEngineData, KernelError};
use url::Url;

use super::LakeError;
use super::disk::{Disk, STAGED};
use super::engine::LocalEngine;
use super::files::{NewFile, physical_schema};
use crate::model::record::TableDef;

/// Name under which commits are signed.
const ENGINE: &str = concat!("harness-mechanic/", env!("CARGO_PKG_VERSION"));
/// Application id of the `txn` action that carries the ingest batch.
const APP: &str = "mechanic";
/// Commits between two checkpoints of a log.
const CHECKPOINT_EVERY: u64 = 20;

/// One file the log names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DataFile {
    pub(crate) name: String,
    /// Rows, from the log. `None`: the log does not say.
    pub(crate) rows: Option<i64>,
    pub(crate) bytes: i64,
}

/// What one commit changes.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) add: Vec<NewFile>,
    pub(crate) remove: BTreeSet<String>,
    /// The ingest batch of the `txn` action.
    pub(crate) batch: Option<i64>,
    /// Whether the rows change, or only the files they stand in.
    pub(crate) only_files: bool,
}

/// A table of the lake, which may not exist yet.
pub(crate) struct Table<'a> {
    pub(crate) def: &'static TableDef,
    pub(crate) dir: PathBuf,
    engine: &'a LocalEngine,
    disk: &'a Disk,
    state: Option<SnapshotRef>,
}

impl<'a> Table<'a> {
    /// Reads the newest version of the log, or of the version named.
    pub(crate) fn open(
        root: &Path,
        def: &'static TableDef,
        engine: &'a LocalEngine,
        disk: &'a Disk,
        version: Option<i64>,
    ) -> Result<Table<'a>, LakeError> {
        let dir = root.join(def.name);
        let mut table = Table { def, dir, engine, disk, state: None };
        let log = table.dir.join("_delta_log");
        let begun = is_begun(&table.dir)?;
        if !begun && has_commit(&log) {
            return Err(LakeError::LogLost { table: def.name, log });
        }
        if begun {
            let mut builder = Snapshot::builder_for(table.url()?.as_str());
            if let Some(version) = version.and_then(|v| u64::try_from(v).ok()) {
                builder = builder.at_version(version);
            }
            table.state = Some(builder.build(engine).map_err(LakeError::table(&table.dir))?);
        }
        Ok(table)
    }

    fn url(&self) -> Result<Url, LakeError> {
        Url::from_directory_path(&self.dir).map_err(|()| LakeError::Table {
            dir: self.dir.clone(),
            message: "its path cannot be a URL: name another lake with --lake DIR".to_owned(),
        })
    }

    /// Version of the log; `None` while the table does not exist.
    pub(crate) fn version(&self) -> Option<i64> {
        self.state.as_ref().and_then(|s| i64::try_from(s.version()).ok())
    }

    /// The files the log names, by name.
    pub(crate) fn files(&self) -> Result<Vec<DataFile>, LakeError> {
        let Some(state) = &self.state else { return Ok(Vec::new()) };
        let fail = LakeError::table(&self.dir);
        let mut files: Vec<DataFile> = Vec::new();
        let scan = state.clone().scan_builder().build().map_err(&fail)?;
        for item in scan.scan_metadata(self.engine).map_err(&fail)? {
            files = item
                .map_err(&fail)?
                .visit_scan_files(files, |files, file| {
                    let rows = file.stats.and_then(|s| i64::try_from(s.num_records).ok());
                    files.push(DataFile { name: file.path, rows, bytes: file.size });
                })
                .map_err(&fail)?;
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    /// Commits. New files are synced before; a table that does not exist is made by its first commit.
    pub(crate) fn commit(&mut self, change: &Change) -> Result<(), LakeError> {
        let fail = LakeError::table(&self.dir);
        let engine: &dyn Engine = self.engine;
        self.disk.create_dir(&self.dir).map_err(LakeError::io("make the folder", &self.dir))?;
        if !change.add.is_empty() {
            self.disk.sync_dir(&self.dir).map_err(LakeError::io("sync the folder", &self.dir))?;
        }
        let adds = if change.add.is_empty() { None } else { Some(add_metadata(&change.add).map_err(LakeError::misfit(self.def.name))?) };
        let committed = match self.state.take() {
            None => {
                let schema = log_schema(self.def).map_err(&fail)?;
                let builder = create_table(self.url()?.as_str(), schema, ENGINE, true);
                let mut txn = builder.build(engine, Box::new(FileSystemCommitter::new())).map_err(&fail)?;
                if let Some(batch) = change.batch {
                    txn = txn.with_transaction_id(APP.to_owned(), batch);
                }
                if let Some(adds) = adds {
                    txn.add_files(Box::new(ArrowEngineData::new(adds)));
                }
                settle(txn.commit(engine).map_err(&fail)?)
            }
            Some(state) => {
                let removes = self.removes(&state, &change.remove)?;
                let operation = if change.only_files { UpdateTableOperation::Optimize } else { UpdateTableOperation::Write };
                let known = state.schema();
                let mut builder = state.update_table(operation, ENGINE, !change.only_files);
                // A newer program may know more columns than the log: rows written before read as NULL in them.
                for field in log_schema(self.def).map_err(&fail)?.fields() {
                    if known.field(field.name()).is_none() {
                        builder = builder.add_column(field.clone());
                    }
                }
                let mut txn = builder.build(engine, Box::new(FileSystemCommitter::new())).map_err(&fail)?;
                if let Some(batch) = change.batch {
                    txn = txn.with_transaction_id(APP.to_owned(), batch);
                }
                if let Some(adds) = adds {
                    txn.add_files(Box::new(ArrowEngineData::new(adds)));
                }
                for remove in removes {
                    txn.remove_files(remove);
                }
                settle(txn.commit(engine).map_err(&fail)?)
            }
        };
        let (state, since_checkpoint) = committed.map_err(|message| LakeError::Table { dir: self.dir.clone(), message })?;
        self.state = match (state, since_checkpoint >= CHECKPOINT_EVERY) {
            (Some(state), true) => Some(state.checkpoint(engine, None).map_err(&fail)?.1),
            (state, _) => state,
        };
        if self.state.is_none() {
            let builder = Snapshot::builder_for(self.url()?.as_str());
            self.state = Some(builder.build(engine).map_err(&fail)?);
        }
        Ok(())
    }

    /// The rows of the scan that name the files to remove, as the kernel wants them back.
    fn removes(&self, state: &SnapshotRef, names: &BTreeSet<String>) -> Result<Vec<FilteredEngineData>, LakeError> {
        let fail = LakeError::table(&self.dir);
        let mut removes = Vec::new();
        if names.is_empty() {
            return Ok(removes);
        }
        let scan = state.clone().scan_builder().build().map_err(&fail)?;
        for item in scan.scan_metadata(self.engine).map_err(&fail)? {
            let (data, mut selected) = item.map_err(&fail)?.scan_files.into_parts();
            let batch = ArrowEngineData::try_from_engine_data(data).map_err(&fail)?;
            let rows = batch.record_batch();
            selected.resize(rows.num_rows(), true);
            let paths = rows.column_by_name("path").and_then(|c| c.as_any().downcast_ref::<StringArray>());
            let paths = paths.ok_or_else(|| fail(KernelError::generic("the scan names no paths")))?;
            for (selected, path) in selected.iter_mut().zip(paths) {
                *selected &= path.is_some_and(|p| names.contains(p));
            }
            if selected.contains(&true) {
                removes.push(FilteredEngineData::try_new(batch, selected).map_err(&fail)?);
            }
        }
        Ok(removes)
    }
}

/// Whether the log of a table has its first commit. An error where that cannot be seen.
pub(super) fn is_begun(dir: &Path) -> Result<bool, LakeError> {
    let first = dir.join("_delta_log").join(format!("{:020}.json", 0));
    match std::fs::metadata(&first) {
        Ok(meta) => Ok(meta.is_file()),
        Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => Ok(false),
        Err(e) => Err(LakeError::io("read", &first)(e)),
    }
}

/// Whether a log holds anything but what a crash left of a commit.
fn has_commit(log: &Path) -> bool {
    std::fs::read_dir(log).is_ok_and(|entries| entries.flatten().any(|e| !e.file_name().to_string_lossy().contains(STAGED)))
}

/// The new state and the commits since the last checkpoint; a message where another writer came first.
type Settled = Result<(Option<SnapshotRef>, u64), String>;

fn settle<S>(result: CommitResult<S>) -> Settled {
    match result {
        CommitResult::Committed(done) => Ok((done.post_commit_snapshot().cloned(), done.post_commit_stats().commits_since_checkpoint)),
        CommitResult::Conflicted(conflict) => {
            Err(format!("another process wrote version {} at the same time: try again", conflict.conflict_version()))
        }
        CommitResult::Retryable(retry) => Err(format!("the commit could not be written ({}): try again", retry.error.without_backtrace())),
    }
}

/// The schema as the log states it: every column nullable.
fn log_schema(def: &TableDef) -> Result<SchemaRef, KernelError> {
    let physical = physical_schema(def);
    let fields = physical.fields().iter().map(|f| {
        let data_type = match f.data_type() {
            DataType::List(item) => DataType::List(Arc::new(item.as_ref().clone().with_nullable(true))),
            other => other.clone(),
        };
        Field::new(f.name(), data_type, true)
    });
    let fields: Vec<Field> = fields.collect();
    Ok(Arc::new((&Schema::new(fields)).try_into_kernel()?))
}

/// The metadata of new files in the shape the kernel takes.
fn add_metadata(files: &[NewFile]) -> Result<RecordBatch, delta_kernel::arrow::error::ArrowError> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let names = MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
    let mut partitions = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for _ in files {
        partitions.append(true)?;
    }
    let rows = Arc::new(Int64Array::from_iter_values(files.iter().map(|f| f.rows)));
    let stats = StructArray::from(vec![(Arc::new(Field::new("numRecords", DataType::Int64, true)), rows as _)]);
    let partitions = partitions.finish();
    let schema = Schema::new(vec![
        Field::new("path", DataType::Utf8, false),
        Field::new("partitionValues", delta_kernel::arrow::array::Array::data_type(&partitions).clone(), false),
        Field::new("size", DataType::Int64, false),
        Field::new("modificationTime", DataType::Int64, false),
        Field::new("stats", delta_kernel::arrow::array::Array::data_type(&stats).clone(), true),
    ]);
    RecordBatch::try_new(
        Arc::new(schema),
        vec![
            Arc::new(StringArray::from_iter_values(files.iter().map(|f| f.name.as_str()))),
            Arc::new(partitions),
            Arc::new(Int64Array::from_iter_values(files.iter().map(|f| f.bytes as i64))),
            Arc::new(Int64Array::from_iter_values(files.iter().map(|_| now))),
            Arc::new(stats),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lake::files::{FileWriter, file_name, read_columns, with_batch};
    use crate::model::record::Record;
    use crate::model::sources::Warning;

    fn written(disk: &Disk, root: &Path, batch: i64) -> NewFile {
        let rows = [Warning { source_id: "s".into(), source_line: None, kind: "k".into(), detail: None, count: 1 }];
        let def = Warning::TABLE;
        let mut file = FileWriter::create(disk, &root.join(def.name), file_name(Some(batch)), physical_schema(def)).unwrap();
        file.write(&with_batch(&Warning::to_batch(&rows).unwrap(), def, batch, false).unwrap()).unwrap();
        file.close().unwrap()
    }

    #[test]
    fn a_table_is_made_by_its_first_commit_and_lists_what_the_log_names() {
        let dir = tempfile::tempdir().unwrap();
        let (disk, engine) = (Disk::default(), LocalEngine::new(Disk::default()));
        let mut table = Table::open(dir.path(), Warning::TABLE, &engine, &disk, None).unwrap();
        assert_eq!((table.version(), table.files().unwrap().len()), (None, 0));

        let first = written(&disk, dir.path(), 1);
        table.commit(&Change { add: vec![first.clone()], batch: Some(1), ..Change::default() }).unwrap();
        let second = written(&disk, dir.path(), 2);
        table.commit(&Change { add: vec![second.clone()], batch: Some(2), ..Change::default() }).unwrap();
        assert_eq!(table.version(), Some(1));
        table.commit(&Change { remove: [first.name.clone()].into(), ..Change::default() }).unwrap();

        let table = Table::open(dir.path(), Warning::TABLE, &engine, &disk, None).unwrap();
        let files = table.files().unwrap();
        assert_eq!(files, vec![DataFile { name: second.name.clone(), rows: Some(1), bytes: second.bytes as i64 }]);
        let rows: usize = read_columns(&table.dir.join(&second.name), &["kind"]).unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(rows, 1);

        let before = Table::open(dir.path(), Warning::TABLE, &engine, &disk, Some(1)).unwrap();
        assert_eq!(before.files().unwrap().len(), 2, "an older version can still be read");
    }

    #[test]
    fn a_long_log_gets_checkpoints_and_reads_the_same_from_them() {
        let dir = tempfile::tempdir().unwrap();
        let (disk, engine) = (Disk::default(), LocalEngine::new(Disk::default()));
        let mut table = Table::open(dir.path(), Warning::TABLE, &engine, &disk, None).unwrap();
        let mut names = BTreeSet::new();
        for batch in 0..45 {
            let new = written(&disk, dir.path(), batch);
            let remove = if batch % 3 == 2 { names.pop_first().into_iter().collect() } else { BTreeSet::new() };
            names.insert(new.name.clone());
            table.commit(&Change { add: vec![new], remove, batch: Some(batch), only_files: false }).unwrap();
        }
        assert!(table.dir.join("_delta_log/_last_checkpoint").is_file());
        let again = Table::open(dir.path(), Warning::TABLE, &engine, &disk, None).unwrap();
        assert_eq!(again.version(), Some(44));
        assert_eq!(again.files().unwrap().into_iter().map(|f| f.name).collect::<BTreeSet<_>>(), names);
    }

    #[test]
    fn a_log_that_lost_a_commit_is_an_error_and_never_an_empty_table() {
        let commit = |n: u64| format!("_delta_log/{n:020}.json");
        type Harm = fn(&Path) -> std::io::Result<()>;
        let harms: [(&str, Harm); 3] =
            [("emptied", |p| std::fs::write(p, "")), ("cut", |p| std::fs::write(p, "{\"add\":")), ("removed", |p| std::fs::remove_file(p))];
        for (how, harm) in harms {
            for n in 0..3 {
                // Without its last commit a log is a shorter log.
                if how == "removed" && n == 2 {
                    continue;
                }
                let dir = tempfile::tempdir().unwrap();
                let (disk, engine) = (Disk::default(), LocalEngine::new(Disk::default()));
                let mut table = Table::open(dir.path(), Warning::TABLE, &engine, &disk, None).unwrap();
                for batch in 1..=3 {
                    let add = vec![written(&disk, dir.path(), batch)];
                    table.commit(&Change { add, batch: Some(batch), ..Change::default() }).unwrap();
                }
                harm(&table.dir.join(commit(n))).unwrap();
                let opened = Table::open(dir.path(), Warning::TABLE, &engine, &disk, None).and_then(|t| t.files());
                let error = opened.expect_err(&format!("commit {n} {how}")).to_string();
                assert!(error.contains(table.dir.to_str().unwrap()) && error.contains("damaged") && !error.contains('\n'), "{error}");
            }
        }
    }

    #[test]
    fn what_a_crash_left_of_the_first_commit_is_no_commit() {
        let dir = tempfile::tempdir().unwrap();
        let (disk, engine) = (Disk::default(), LocalEngine::new(Disk::default()));
        let log = dir.path().join(Warning::TABLE.name).join("_delta_log");
        std::fs::create_dir_all(&log).unwrap();
        std::fs::write(log.join(format!("{:020}.json{STAGED}0", 0)), "{").unwrap();
        assert_eq!(Table::open(dir.path(), Warning::TABLE, &engine, &disk, None).unwrap().version(), None);
    }

    #[test]
    fn the_second_of_two_writers_is_told_to_try_again() {
        let dir = tempfile::tempdir().unwrap();
        let (disk, engine) = (Disk::default(), LocalEngine::new(Disk::default()));
        let mut one = Table::open(dir.path(), Warning::TABLE, &engine, &disk, None).unwrap();
        let new = written(&disk, dir.path(), 1);
        one.commit(&Change { add: vec![new.clone()], ..Change::default() }).unwrap();
        let mut other = Table::open(dir.path(), Warning::TABLE, &engine, &disk, None).unwrap();
        one.commit(&Change { add: vec![written(&disk, dir.path(), 2)], ..Change::default() }).unwrap();
        let lost = other.commit(&Change { remove: [new.name].into(), ..Change::default() });
        assert!(lost.unwrap_err().to_string().contains("try again"));
    }

    #[test]
    fn a_column_that_came_later_is_added_and_reads_as_null_before() {
        use crate::model::cell::Kind;
        use crate::model::record::{ColumnDef, Layer};
        const OLD: &TableDef = &TableDef { columns: &[Warning::TABLE.columns[0], Warning::TABLE.columns[2]], ..*Warning::TABLE };
        const LATER: ColumnDef = ColumnDef { name: "later", kind: Kind::ListUtf8, nullable: true, doc: "" };
        const NEW: &TableDef = &TableDef { columns: &[Warning::TABLE.columns[0], Warning::TABLE.columns[2], LATER], ..*Warning::TABLE };
        assert_eq!(OLD.layer, Layer::Fact);
        let dir = tempfile::tempdir().unwrap();
        let (disk, engine) = (Disk::default(), LocalEngine::new(Disk::default()));
        let mut table = Table::open(dir.path(), OLD, &engine, &disk, None).unwrap();
        table.commit(&Change::default()).unwrap();
        let mut table = Table::open(dir.path(), NEW, &engine, &disk, None).unwrap();
        table.commit(&Change { add: vec![written(&disk, dir.path(), 2)], ..Change::default() }).unwrap();
        let table = Table::open(dir.path(), NEW, &engine, &disk, None).unwrap();
        assert!(table.state.as_ref().unwrap().schema().field("later").is_some());
        assert_eq!((table.version(), table.files().unwrap().len()), (Some(1), 1));
    }
}
