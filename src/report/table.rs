//! Owns `Table`: the answer of one named query as plain values, whatever engine gave it.

use arrow::array::{Array, ArrayRef, RecordBatch, TimestampMicrosecondArray};
use serde::Serialize;
use serde::ser::Serializer;
use serde_json::Value as Json;

use crate::model::time::Ts;
use crate::sql::render::value_of;

/// One cell. A type no query gives reads as NULL, never as a made-up value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Float(f64),
    Text(String),
    Bool(bool),
    Time(Ts),
    List(Vec<String>),
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => s.serialize_none(),
            Value::Int(n) => s.serialize_i64(*n),
            Value::Float(x) => s.serialize_f64(*x),
            Value::Text(t) => s.serialize_str(t),
            Value::Bool(b) => s.serialize_bool(*b),
            Value::Time(t) => s.collect_str(t),
            Value::List(items) => items.serialize(s),
        }
    }
}

/// Rows of one query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub name: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    pub fn from_batches(name: &str, columns: Vec<String>, batches: &[RecordBatch]) -> Table {
        let mut rows = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
        for batch in batches {
            for row in 0..batch.num_rows() {
                rows.push(batch.columns().iter().map(|array| value(array, row)).collect());
            }
        }
        Table { name: name.to_owned(), columns, rows }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows, cells by column name.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { columns: &self.columns, cells })
    }

    /// The first of the named columns that the table lacks: a query that changed under the report.
    pub fn lacks<'a>(&self, columns: &[&'a str]) -> Option<&'a str> {
        columns.iter().find(|want| !self.columns.iter().any(|have| have == *want)).copied()
    }

    /// Sum of an integer column over the rows that know it, and how many do.
    pub fn sum(&self, column: &str) -> (i64, usize) {
        self.iter().filter_map(|r| r.int(column)).fold((0i64, 0), |(sum, n), x| (sum.saturating_add(x), n + 1))
    }
}

/// One row of a [`Table`].
#[derive(Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [String],
    cells: &'a [Value],
}

impl<'a> Row<'a> {
    pub fn get(&self, column: &str) -> &'a Value {
        self.columns.iter().position(|c| c == column).and_then(|i| self.cells.get(i)).unwrap_or(&Value::Null)
    }

    pub fn int(&self, column: &str) -> Option<i64> {
        match self.get(column) {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// An integer that the query never leaves NULL.
    pub fn n(&self, column: &str) -> i64 {
        self.int(column).unwrap_or(0)
    }

    pub fn float(&self, column: &str) -> Option<f64> {
        match self.get(column) {
            Value::Float(x) => Some(*x),
            Value::Int(n) => Some(*n as f64),
            _ => None,
        }
    }

    pub fn text(&self, column: &str) -> Option<&'a str> {
        match self.get(column) {
            Value::Text(t) => Some(t),
            _ => None,
        }
    }

    pub fn flag(&self, column: &str) -> Option<bool> {
        match self.get(column) {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    pub fn list(&self, column: &str) -> &'a [String] {
        match self.get(column) {
            Value::List(items) => items,
            _ => &[],
        }
    }

    pub fn time(&self, column: &str) -> Option<Ts> {
        match self.get(column) {
            Value::Time(t) => Some(*t),
            _ => None,
        }
    }
}

fn value(array: &ArrayRef, row: usize) -> Value {
    if let Some(times) = array.as_any().downcast_ref::<TimestampMicrosecondArray>() {
        return if times.is_null(row) { Value::Null } else { Value::Time(Ts(times.value(row))) };
    }
    match value_of(array, row) {
        Json::Null | Json::Object(_) => Value::Null,
        Json::Bool(b) => Value::Bool(b),
        Json::Number(n) => n.as_i64().map(Value::Int).or_else(|| n.as_f64().map(Value::Float)).unwrap_or(Value::Null),
        Json::String(text) => Value::Text(text),
        Json::Array(items) => Value::List(items.iter().filter_map(Json::as_str).map(str::to_owned).collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Decimal128Array, Int32Array, StringArray};

    use super::*;

    #[test]
    fn batches_read_back_by_column_and_null_stays_null() {
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("gate_id", Arc::new(StringArray::from(vec![Some("a"), None])) as ArrayRef, true),
            ("n", Arc::new(Int32Array::from(vec![Some(3), None])) as ArrayRef, true),
            ("usd", Arc::new(Decimal128Array::from(vec![Some(7), None]).with_precision_and_scale(38, 0).unwrap()) as ArrayRef, true),
        ])
        .unwrap();
        let table = Table::from_batches("t", vec!["gate_id".into(), "n".into(), "usd".into()], &[batch]);
        let rows: Vec<Row> = table.iter().collect();
        assert_eq!((rows[0].text("gate_id"), rows[0].int("n"), rows[0].int("usd")), (Some("a"), Some(3), Some(7)));
        assert_eq!((rows[1].text("gate_id"), rows[1].int("n"), rows[1].int("nowhere")), (None, None, None));
        assert_eq!(table.sum("n"), (3, 1));
        assert_eq!(table.lacks(&["n", "p"]), Some("p"));
    }
}
