//! Owns `Table`: the answer of one named query as plain values, whatever engine gave it.

use arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    LargeStringArray, ListArray, RecordBatch, StringArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow::datatypes::{DataType, TimeUnit};
use serde::Serialize;
use serde::ser::Serializer;

use crate::model::time::Ts;

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
    if array.is_null(row) {
        return Value::Null;
    }
    macro_rules! cell {
        ($ty:ty, |$a:ident| $value:expr) => {
            array.as_any().downcast_ref::<$ty>().map_or(Value::Null, |$a| $value)
        };
    }
    match array.data_type() {
        DataType::Int64 => cell!(Int64Array, |a| Value::Int(a.value(row))),
        DataType::Int32 => cell!(Int32Array, |a| Value::Int(a.value(row).into())),
        DataType::Int16 => cell!(Int16Array, |a| Value::Int(a.value(row).into())),
        DataType::Int8 => cell!(Int8Array, |a| Value::Int(a.value(row).into())),
        DataType::UInt64 => cell!(UInt64Array, |a| i64::try_from(a.value(row)).map_or(Value::Null, Value::Int)),
        DataType::UInt32 => cell!(UInt32Array, |a| Value::Int(a.value(row).into())),
        DataType::UInt16 => cell!(UInt16Array, |a| Value::Int(a.value(row).into())),
        DataType::UInt8 => cell!(UInt8Array, |a| Value::Int(a.value(row).into())),
        DataType::Decimal128(_, 0) => cell!(Decimal128Array, |a| i64::try_from(a.value(row)).map_or(Value::Null, Value::Int)),
        DataType::Float64 => cell!(Float64Array, |a| Value::Float(a.value(row))),
        DataType::Float32 => cell!(Float32Array, |a| Value::Float(a.value(row).into())),
        DataType::Boolean => cell!(BooleanArray, |a| Value::Bool(a.value(row))),
        DataType::Utf8 => cell!(StringArray, |a| Value::Text(a.value(row).to_owned())),
        DataType::LargeUtf8 => cell!(LargeStringArray, |a| Value::Text(a.value(row).to_owned())),
        DataType::Timestamp(TimeUnit::Microsecond, _) => cell!(TimestampMicrosecondArray, |a| Value::Time(Ts(a.value(row)))),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            cell!(TimestampNanosecondArray, |a| Value::Time(Ts(a.value(row).div_euclid(1_000))))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            cell!(TimestampMillisecondArray, |a| a.value(row).checked_mul(1_000).map_or(Value::Null, |us| Value::Time(Ts(us))))
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            cell!(TimestampSecondArray, |a| a.value(row).checked_mul(1_000_000).map_or(Value::Null, |us| Value::Time(Ts(us))))
        }
        DataType::Date32 => cell!(Date32Array, |a| Value::Time(Ts(i64::from(a.value(row)) * 86_400_000_000))),
        DataType::List(_) => cell!(ListArray, |a| {
            let items = a.value(row);
            items
                .as_any()
                .downcast_ref::<StringArray>()
                .map_or(Value::Null, |s| Value::List(s.iter().flatten().map(str::to_owned).collect()))
        }),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
