//! Owns the Parquet files of the tables: their names, how they are written and how they are read.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::LakeError;
use super::disk::{Disk, unique};
use crate::model::record::{Layer, TableDef};

/// Physical column of fact tables: the ingest batch that wrote the row.
pub const BATCH_ID: &str = "batch_id";
/// Physical column of fact tables: the next part of the file may replace the row. NULL: it may not.
pub const PROVISIONAL: &str = "provisional";
/// Physical column of `sources`: the last batch whose rows of this file are visible. NULL: none.
pub const DATA_BATCH: &str = "data_batch";
/// Physical column of `sources`: the batch that read the file from its start. NULL: `data_batch` did.
pub const FIRST_BATCH: &str = "first_batch";

/// Rows of a row group; also the bound of what a writer holds, together with [`GROUP_BYTES`].
const GROUP_ROWS: usize = 1 << 17;
/// Encoded bytes after which a row group is written out, so that a batch of any size is written in bounded memory.
const GROUP_BYTES: usize = 4 << 20;

/// The columns a table has on disk: those of the record, and what the lake keeps beside them.
pub(crate) fn physical_schema(def: &TableDef) -> SchemaRef {
    let mut fields: Vec<Field> = def.arrow_schema().fields().iter().map(|f| f.as_ref().clone()).collect();
    if def.layer == Layer::Fact {
        fields.push(Field::new(BATCH_ID, DataType::Int64, false));
    }
    if def.layer == Layer::Fact && def.name != "sources" {
        fields.push(Field::new(PROVISIONAL, DataType::Boolean, true));
    }
    if def.name == "sources" {
        fields.push(Field::new(DATA_BATCH, DataType::Int64, true));
        fields.push(Field::new(FIRST_BATCH, DataType::Int64, true));
    }
    std::sync::Arc::new(Schema::new(fields))
}

/// A data file that is written and synced but not yet named by the log.
#[derive(Debug, Clone)]
pub(crate) struct NewFile {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) rows: i64,
}

/// Name of a data file. Facts carry the newest batch in it, so that what a crash left can be told from its name alone.
pub(crate) fn file_name(batch: Option<i64>) -> String {
    match batch {
        Some(batch) => format!("part-{batch:08}-{}.snappy.parquet", unique()),
        None => format!("part-{}.snappy.parquet", unique()),
    }
}

/// The batch in a file's name. `None`: a derived table's file, or not one of ours.
pub(crate) fn batch_of(name: &str) -> Option<i64> {
    let (batch, rest) = name.strip_prefix("part-")?.split_once('-')?;
    if rest.is_empty() { None } else { batch.parse().ok() }
}

/// Writes one data file.
pub(crate) struct FileWriter {
    writer: ArrowWriter<File>,
    path: PathBuf,
    name: String,
    rows: i64,
    disk: Disk,
}

impl FileWriter {
    pub(crate) fn create(disk: &Disk, dir: &Path, name: String, schema: SchemaRef) -> Result<FileWriter, LakeError> {
        disk.create_dir(dir).map_err(LakeError::io("make the folder", dir))?;
        let path = dir.join(&name);
        disk.step().map_err(LakeError::io("create", &path))?;
        let file = File::create_new(&path).map_err(LakeError::io("create", &path))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .build();
        let writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(LakeError::unwritten(&path))?;
        Ok(FileWriter { writer, path, name, rows: 0, disk: disk.clone() })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), LakeError> {
        self.writer.write(batch).map_err(LakeError::unwritten(&self.path))?;
        self.rows += batch.num_rows() as i64;
        if self.writer.memory_size() > GROUP_BYTES {
            self.disk.step().map_err(LakeError::io("write", &self.path))?;
            self.writer.flush().map_err(LakeError::unwritten(&self.path))?;
        }
        Ok(())
    }

    /// Closes and syncs the file; the folder's entry is synced by [`Disk::sync_dir`] before the commit.
    pub(crate) fn close(self) -> Result<NewFile, LakeError> {
        let FileWriter { mut writer, path, name, rows, disk } = self;
        disk.step().map_err(LakeError::io("write", &path))?;
        writer.finish().map_err(LakeError::unwritten(&path))?;
        let file = writer.inner();
        disk.sync_file(file).map_err(LakeError::io("sync", &path))?;
        let bytes = file.metadata().map_err(LakeError::io("read", &path))?.len();
        Ok(NewFile { name, bytes, rows })
    }
}

/// Adds the physical columns of a fact table to rows of one batch.
pub(crate) fn with_batch(rows: &RecordBatch, def: &'static TableDef, batch: i64, provisional: bool) -> Result<RecordBatch, LakeError> {
    let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
    columns.push(std::sync::Arc::new(Int64Array::from_value(batch, rows.num_rows())));
    columns.push(std::sync::Arc::new(BooleanArray::from(vec![provisional.then_some(true); rows.num_rows()])));
    RecordBatch::try_new(physical_schema(def), columns).map_err(LakeError::misfit(def.name))
}

/// Reads the named columns of a file; those it does not have are left out.
pub(crate) fn read_columns(
    path: &Path,
    wanted: &[&str],
) -> Result<impl Iterator<Item = Result<RecordBatch, LakeError>> + use<>, LakeError> {
    let file = File::open(path).map_err(LakeError::io("open", path))?;
    let fail = LakeError::unreadable(path);
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(&fail)?;
    let schema = builder.parquet_schema();
    let roots = builder.schema().fields().iter().enumerate().filter(|(_, f)| wanted.contains(&f.name().as_str())).map(|(at, _)| at);
    let mask = ProjectionMask::roots(schema, roots);
    let batches = builder.with_projection(mask).with_batch_size(8_192).build().map_err(&fail)?;
    let fail = LakeError::content(path);
    Ok(batches.map(move |batch| batch.map_err(&fail)))
}

/// A column of 64-bit integers of that name.
pub(crate) fn int64<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a Int64Array> {
    batch.column_by_name(name)?.as_any().downcast_ref()
}

/// A column of truth values of that name.
pub(crate) fn boolean<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a BooleanArray> {
    batch.column_by_name(name)?.as_any().downcast_ref()
}

/// A column of text of that name.
pub(crate) fn text<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a arrow::array::StringArray> {
    batch.column_by_name(name)?.as_any().downcast_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batch_is_read_back_from_a_file_name() {
        assert_eq!(batch_of(&file_name(Some(17))), Some(17));
        assert_eq!(batch_of(&file_name(None)), None);
        assert_eq!(batch_of("part-x-y.parquet"), None);
        assert_eq!(batch_of("something"), None);
    }
}
