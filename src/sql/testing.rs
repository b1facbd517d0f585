//! Owns the small worlds tests are run on: records written as Parquet files into a temporary folder, and an engine over them.

use std::fs::File;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use tempfile::TempDir;

use super::render::text_of;
use super::{Answer, Engine, Limits, Tables};
use crate::config::prices::PriceTable;
use crate::lake::Span;
use crate::model::record::{Layer, Record};

/// A lake made of hand-written records.
pub struct World {
    folder: TempDir,
    pub tables: Tables,
    n_files: usize,
}

impl World {
    #[expect(clippy::new_without_default, reason = "a folder is made: nothing that a default should do")]
    pub fn new() -> World {
        World { folder: tempfile::tempdir().unwrap(), tables: Tables::default(), n_files: 0 }
    }

    /// Adds rows as one file; rows of fact tables belong to `batch`.
    pub fn put<R: Record>(&mut self, batch: i64, rows: &[R]) {
        let mut records = R::to_batch(rows).unwrap();
        if R::TABLE.layer == Layer::Fact {
            records = with_batch(&records, batch);
        }
        let path = self.folder.path().join(format!("{} '{}'.parquet", R::TABLE.name, self.n_files));
        self.n_files += 1;
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), records.schema(), None).unwrap();
        writer.write(&records).unwrap();
        writer.close().unwrap();
        self.tables.files.entry(R::TABLE.name.to_owned()).or_default().push(path);
    }

    /// Makes a batch of a source visible.
    pub fn current(&mut self, source: &str, batch: i64) {
        self.tables.current.push((source.to_owned(), Span { first: batch, last: batch }));
    }

    pub fn engine(&self) -> Engine {
        self.engine_within(&Limits::NONE)
    }

    pub fn engine_within(&self, limits: &Limits) -> Engine {
        Engine::open_within(&self.tables, &PriceTable::built_in().unwrap(), limits).unwrap()
    }
}

fn with_batch(records: &RecordBatch, batch: i64) -> RecordBatch {
    let mut fields: Vec<Arc<Field>> = records.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new("batch_id", DataType::Int64, false)));
    let mut columns = records.columns().to_vec();
    columns.push(Arc::new(Int64Array::from(vec![batch; records.num_rows()])) as ArrayRef);
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// The named columns of an answer, one line a row, cells separated by `|`, NULL as nothing.
pub fn lines(answer: &Answer, columns: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    for batch in &answer.batches {
        let picked: Vec<&ArrayRef> = columns.iter().map(|c| batch.column_by_name(c).unwrap_or_else(|| panic!("no column {c}"))).collect();
        for row in 0..batch.num_rows() {
            out.push(picked.iter().map(|c| text_of(c, row)).collect::<Vec<_>>().join("|"));
        }
    }
    out
}
