//! Owns CSV: one header line, empty NULLs, lists as JSON text, and no cell that a spreadsheet runs.

use std::io::Write;

use serde_json::Value;

use super::value::{text, value};
use crate::plain::escape;
use crate::sql::{Answer, Citation, SqlError};

/// Text that begins with one of these is taken for a formula by spreadsheets; an apostrophe in front makes it text. Numbers are left alone, so a
/// negative number stays one. JSON and Parquet carry the text as it is.
const FORMULA: &[char] = &['=', '+', '-', '@', '\t', '\r'];

pub fn write(answer: &Answer, cite: Option<&Citation>, out: &mut dyn Write) -> Result<(), SqlError> {
    for line in cite.map(super::lines).unwrap_or_default() {
        writeln!(out, "# {}", escape(&line))?;
    }
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(answer.schema.fields().iter().map(|f| guarded(f.name().clone()))).map_err(csv_error)?;
    for batch in &answer.batches {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().map(|column| match value(column, row) {
                Value::String(s) => guarded(s),
                other => text(&other),
            });
            csv.write_record(cells).map_err(csv_error)?;
        }
    }
    csv.flush()?;
    Ok(())
}

fn guarded(text: String) -> String {
    if text.starts_with(FORMULA) { format!("'{text}") } else { text }
}

fn csv_error(error: csv::Error) -> SqlError {
    match error.into_kind() {
        csv::ErrorKind::Io(e) => SqlError::Write(e),
        other => SqlError::Write(std::io::Error::other(format!("{other:?}"))),
    }
}
