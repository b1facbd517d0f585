//! Owns the printing of answers: five formats over one way to turn a cell into a value.

mod csv_out;
mod json;
mod markdown;
mod parquet_out;
mod table;
mod value;

use std::io::Write;

use super::{Answer, Citation, SqlError};
use crate::plain::escape;

/// The formats of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal: aligned, control characters escaped.
    Table,
    /// A Markdown table, cells escaped.
    Md,
    /// One header line, empty NULLs, lists as JSON; text that a spreadsheet would take for a formula is prefixed with an apostrophe.
    Csv,
    /// An array of objects, one a line, with nulls.
    Json,
    /// Parquet, typed.
    Parquet,
}

/// Writes an answer, and what it rests on where a citation is given: as comment lines after a table, before CSV, around the rows of JSON,
/// as metadata of Parquet.
pub fn write(answer: &Answer, format: Format, cite: Option<&Citation>, out: &mut dyn Write) -> Result<(), SqlError> {
    match format {
        Format::Table => table::write(answer, cite, out),
        Format::Md => markdown::write(answer, cite, out),
        Format::Csv => csv_out::write(answer, cite, out),
        Format::Json => json::write(answer, cite, out),
        Format::Parquet => parquet_out::write(answer, cite, out),
    }
}

/// Writes Parquet with the engine's own types, for the engine itself to read.
pub(super) fn write_own(answer: &Answer, out: &mut dyn Write) -> Result<(), SqlError> {
    parquet_out::write_as_is(answer, None, out)
}

/// The lines of a citation, for formats without metadata.
fn lines(cite: &Citation) -> Vec<String> {
    let params: Vec<String> = cite.params.iter().map(|(k, v)| format!("{k}={}", escape(v))).collect();
    vec![
        format!("{}, query {} ({}), parameters: {}", cite.tool, cite.query, cite.query_digest, params.join(" ")),
        format!(
            "lake version {}, facts {}, prices {}",
            cite.lake_version.map_or_else(|| "none".to_owned(), |v| v.to_string()),
            if cite.facts_digest.is_empty() { "none" } else { &cite.facts_digest },
            cite.prices_digest
        ),
    ]
}

/// A cell as JSON, for reports that think in values of their own.
pub fn value_of(array: &arrow::array::ArrayRef, row: usize) -> serde_json::Value {
    value::value(array, row)
}

/// A cell as text: NULL is empty.
pub fn text_of(array: &arrow::array::ArrayRef, row: usize) -> String {
    value::text(&value::value(array, row))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, Float64Array, Int64Array, ListBuilder, RecordBatch, StringArray, StringBuilder, TimestampMicrosecondArray,
    };

    use super::*;

    fn answer() -> Answer {
        let mut list = ListBuilder::new(StringBuilder::new());
        list.values().append_value("a,\"b\"");
        list.append(true);
        list.append(true);
        let batch = RecordBatch::try_from_iter(vec![
            ("name", Arc::new(StringArray::from(vec![Some("=1+1|\u{1b}[31m\nx"), None])) as ArrayRef),
            ("n", Arc::new(Int64Array::from(vec![Some(-3), None]))),
            ("rate", Arc::new(Float64Array::from(vec![Some(0.5), Some(f64::NAN)]))),
            ("at", Arc::new(TimestampMicrosecondArray::from(vec![Some(1_500_000), None]).with_timezone("UTC"))),
            ("of", Arc::new(list.finish())),
        ])
        .unwrap();
        Answer { schema: batch.schema(), batches: vec![batch] }
    }

    fn citation() -> Citation {
        Citation {
            tool: "mechanic 0".into(),
            query: "q".into(),
            query_digest: "d".into(),
            params: [("since".to_owned(), "null".to_owned())].into(),
            lake_version: Some(7),
            facts_digest: "f".into(),
            prices_digest: "p".into(),
        }
    }

    fn text(format: Format, cite: Option<&Citation>) -> String {
        let mut out = Vec::new();
        write(&answer(), format, cite, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_has_one_header_line_empty_nulls_and_no_formula() {
        assert_eq!(
            text(Format::Csv, None),
            "name,n,rate,at,of\n\"'=1+1|\u{1b}[31m\nx\",-3,0.5,1970-01-01T00:00:01.5Z,\"[\"\"a,\\\"\"b\\\"\"\"\"]\"\n,,,,[]\n"
        );
        assert!(text(Format::Csv, Some(&citation())).starts_with("# mechanic 0, query q (d), parameters: since=null\n# lake version 7"));
    }

    #[test]
    fn json_is_an_array_with_nulls_and_raw_text() {
        let rows: serde_json::Value = serde_json::from_str(&text(Format::Json, None)).unwrap();
        assert_eq!(
            rows,
            serde_json::json!([
                {"name": "=1+1|\u{1b}[31m\nx", "n": -3, "rate": 0.5, "at": "1970-01-01T00:00:01.5Z", "of": ["a,\"b\""]},
                {"name": null, "n": null, "rate": null, "at": null, "of": []}
            ])
        );
        let cited: serde_json::Value = serde_json::from_str(&text(Format::Json, Some(&citation()))).unwrap();
        assert_eq!((&cited["citation"]["lake_version"], &cited["rows"]), (&serde_json::json!(7), &rows));
    }

    #[test]
    fn markdown_cells_cannot_break_out_of_their_table() {
        let md = text(Format::Md, None);
        assert_eq!(md.lines().count(), 4);
        assert!(md.contains("=1+1\\|\\\\u{1b}\\[31m\\\\nx"), "{md}");
        assert!(md.lines().nth(1).unwrap().starts_with("| --- | ---: |"));
    }

    #[test]
    fn a_terminal_never_sees_control_characters_of_a_cell() {
        let table = text(Format::Table, None);
        assert!(table.contains("\\u{1b}[31m\\nx") && !table.contains('\u{1b}'), "{table}");
        assert!(table.contains("2 rows"));
    }

    #[test]
    fn parquet_keeps_types_and_carries_the_citation() {
        let mut out = Vec::new();
        write(&answer(), Format::Parquet, Some(&citation()), &mut out).unwrap();
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(bytes_of(&out)).unwrap();
        let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
        assert!(metadata.iter().any(|kv| kv.key == "mechanic.citation" && kv.value.as_deref().unwrap().contains("\"lake_version\":7")));
        let batch = reader.build().unwrap().next().unwrap().unwrap();
        assert_eq!(batch.schema().field(1).data_type(), &arrow::datatypes::DataType::Int64);
        assert_eq!(batch.num_rows(), 2);
    }

    fn bytes_of(out: &[u8]) -> std::fs::File {
        use std::io::{Seek, Write};
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(out).unwrap();
        file.rewind().unwrap();
        file
    }
}
