//! Owns the conversion of a cell to a value: one for all formats, so that a number is written alike everywhere.

use arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    LargeStringArray, ListArray, StringArray, StructArray, TimestampMicrosecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow::datatypes::{DataType, TimeUnit};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::{Map, Number, Value};

use crate::model::time::Ts;

/// The cell as JSON: NULL and NaN are null, instants are RFC 3339 in UTC, integers stay integers.
pub fn value(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    typed(array, row).unwrap_or_else(|| shown(array, row))
}

fn typed(array: &ArrayRef, row: usize) -> Option<Value> {
    macro_rules! get {
        ($ty:ty) => {
            array.as_any().downcast_ref::<$ty>()?.value(row)
        };
    }
    Some(match array.data_type() {
        DataType::Boolean => Value::Bool(get!(BooleanArray)),
        DataType::Int8 => get!(Int8Array).into(),
        DataType::Int16 => get!(Int16Array).into(),
        DataType::Int32 => get!(Int32Array).into(),
        DataType::Int64 => get!(Int64Array).into(),
        DataType::UInt8 => get!(UInt8Array).into(),
        DataType::UInt16 => get!(UInt16Array).into(),
        DataType::UInt32 => get!(UInt32Array).into(),
        DataType::UInt64 => get!(UInt64Array).into(),
        DataType::Float32 => float(f64::from(get!(Float32Array))),
        DataType::Float64 => float(get!(Float64Array)),
        DataType::Utf8 => Value::String(get!(StringArray).to_owned()),
        DataType::LargeUtf8 => Value::String(get!(LargeStringArray).to_owned()),
        // DuckDB's HUGEINT: a number where it fits, else its digits.
        DataType::Decimal128(_, 0) => {
            let n = get!(Decimal128Array);
            i64::try_from(n).map_or_else(|_| Value::String(n.to_string()), Value::from)
        }
        DataType::Date32 => {
            let days = i64::from(get!(Date32Array));
            let day = Ts(days.checked_mul(86_400_000_000)?).to_string();
            Value::String(day.split('T').next().unwrap_or(&day).to_owned())
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => Value::String(Ts(get!(TimestampMicrosecondArray)).to_string()),
        DataType::List(_) => {
            let items = get!(ListArray);
            Value::Array((0..items.len()).map(|i| value(&items, i)).collect())
        }
        DataType::Struct(fields) => {
            let columns = array.as_any().downcast_ref::<StructArray>()?;
            let members = fields.iter().zip(columns.columns());
            Value::Object(members.map(|(f, c)| (f.name().clone(), value(c, row))).collect::<Map<_, _>>())
        }
        _ => return None,
    })
}

fn float(x: f64) -> Value {
    Number::from_f64(x).map_or(Value::Null, Value::Number)
}

/// Types without a JSON shape of their own (intervals, decimals, blobs, maps) are written as Arrow shows them.
fn shown(array: &ArrayRef, row: usize) -> Value {
    match ArrayFormatter::try_new(array.as_ref(), &FormatOptions::default()) {
        Ok(formatter) => Value::String(formatter.value(row).to_string()),
        Err(_) => Value::Null,
    }
}

/// The value as text; NULL is empty, lists and structs are JSON.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

/// Whether cells of the column are numbers, which are set to the right.
pub fn is_numeric(kind: &DataType) -> bool {
    kind.is_numeric()
}
