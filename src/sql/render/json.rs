//! Owns JSON: an array of objects, one a line, columns in the order of the query.

use std::io::Write;

use serde_json::Value;

use super::value::value;
use crate::sql::{Answer, Citation, SqlError};

pub fn write(answer: &Answer, cite: Option<&Citation>, out: &mut dyn Write) -> Result<(), SqlError> {
    if let Some(cite) = cite {
        let citation = serde_json::to_string(cite).map_err(std::io::Error::from)?;
        write!(out, "{{\"citation\": {citation},\n\"rows\": ")?;
    }
    let keys: Vec<String> = answer.schema.fields().iter().map(|f| Value::String(f.name().clone()).to_string()).collect();
    let mut separator = "[\n";
    for batch in &answer.batches {
        for row in 0..batch.num_rows() {
            let members: Vec<String> =
                keys.iter().zip(batch.columns()).map(|(key, column)| format!("{key}: {}", value(column, row))).collect();
            write!(out, "{separator}{{{}}}", members.join(", "))?;
            separator = ",\n";
        }
    }
    out.write_all(if separator == ",\n" { b"\n]" } else { b"[]" })?;
    out.write_all(if cite.is_some() { b"}\n" } else { b"\n" })?;
    Ok(())
}
