//! Owns Parquet: the answer with its types, instants marked as UTC, the citation as metadata of the file.

use std::io::{self, Write};

use std::sync::Arc;

use arrow::array::{Array, RecordBatch, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::sql::{Answer, Citation, SqlError};

/// A writer the Parquet writer may own and send.
struct Buffer(Vec<u8>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The engine's plain timestamps are instants in UTC; the file says so.
pub fn write(answer: &Answer, cite: Option<&Citation>, out: &mut dyn Write) -> Result<(), SqlError> {
    let schema: SchemaRef = Arc::new(Schema::new(answer.schema.fields().iter().map(|f| in_utc(f)).collect::<Vec<_>>()));
    let batches = answer.batches.iter().map(|batch| {
        let columns = batch.columns().iter().map(|column| match column.as_any().downcast_ref::<TimestampMicrosecondArray>() {
            Some(times) if times.timezone().is_none() => Arc::new(times.clone().with_timezone("UTC")) as _,
            _ => column.clone(),
        });
        RecordBatch::try_new(schema.clone(), columns.collect())
    });
    let batches = batches.collect::<Result<Vec<_>, _>>().map_err(parquet::errors::ParquetError::from)?;
    write_as_is(&Answer { schema, batches }, cite, out)
}

fn in_utc(field: &Field) -> Field {
    match field.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            field.clone().with_data_type(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())))
        }
        _ => field.clone(),
    }
}

/// With the engine's own types, so that it reads back what it wrote.
pub fn write_as_is(answer: &Answer, cite: Option<&Citation>, out: &mut dyn Write) -> Result<(), SqlError> {
    let metadata = match cite {
        Some(cite) => Some(vec![KeyValue::new("mechanic.citation".to_owned(), serde_json::to_string(cite).map_err(io::Error::from)?)]),
        None => None,
    };
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).set_key_value_metadata(metadata).build();
    let mut writer = ArrowWriter::try_new(Buffer(Vec::new()), answer.schema.clone(), Some(properties))?;
    for batch in &answer.batches {
        writer.write(batch)?;
    }
    out.write_all(&writer.into_inner()?.0)?;
    Ok(())
}
