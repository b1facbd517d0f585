//! Owns Parquet: the answer with its types, the citation as metadata of the file.

use std::io::{self, Write};

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

pub fn write(answer: &Answer, cite: Option<&Citation>, out: &mut dyn Write) -> Result<(), SqlError> {
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
