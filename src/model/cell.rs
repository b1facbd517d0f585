//! Owns the mapping between Rust field types and Arrow columns: which type a column has, how a value is appended, how it is read back.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, BooleanBuilder, Float64Array, Float64Builder, Int64Array, Int64Builder, ListArray, ListBuilder,
    StringArray, StringBuilder, TimestampMicrosecondArray, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, Field, TimeUnit};

use super::time::Ts;

/// The column types of the lake. All integers are 64 bit, all times are microseconds UTC: one type each, so that every reader agrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Int64,
    Float64,
    Utf8,
    Bool,
    Timestamp,
    ListUtf8,
}

impl Kind {
    pub fn data_type(self) -> DataType {
        match self {
            Kind::Int64 => DataType::Int64,
            Kind::Float64 => DataType::Float64,
            Kind::Utf8 => DataType::Utf8,
            Kind::Bool => DataType::Boolean,
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Kind::ListUtf8 => DataType::List(Arc::new(list_item())),
        }
    }

    /// The name shown in the data dictionary (SQL spelling).
    pub fn sql_name(self) -> &'static str {
        match self {
            Kind::Int64 => "BIGINT",
            Kind::Float64 => "DOUBLE",
            Kind::Utf8 => "VARCHAR",
            Kind::Bool => "BOOLEAN",
            Kind::Timestamp => "TIMESTAMP",
            Kind::ListUtf8 => "VARCHAR[]",
        }
    }
}

/// Delta names the item of an array `element`; using its name keeps kernel and Arrow schemas equal.
fn list_item() -> Field {
    Field::new("element", DataType::Utf8, false)
}

/// A growing Arrow column.
pub enum Column {
    Int64(Int64Builder),
    Float64(Float64Builder),
    Utf8(StringBuilder),
    Bool(BooleanBuilder),
    Timestamp(TimestampMicrosecondBuilder),
    ListUtf8(ListBuilder<StringBuilder>),
}

impl Column {
    pub fn new(kind: Kind) -> Column {
        match kind {
            Kind::Int64 => Column::Int64(Int64Builder::new()),
            Kind::Float64 => Column::Float64(Float64Builder::new()),
            Kind::Utf8 => Column::Utf8(StringBuilder::new()),
            Kind::Bool => Column::Bool(BooleanBuilder::new()),
            Kind::Timestamp => Column::Timestamp(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
            Kind::ListUtf8 => Column::ListUtf8(ListBuilder::new(StringBuilder::new()).with_field(list_item())),
        }
    }

    pub fn finish(&mut self) -> ArrayRef {
        match self {
            Column::Int64(b) => Arc::new(b.finish()),
            Column::Float64(b) => Arc::new(b.finish()),
            Column::Utf8(b) => Arc::new(b.finish()),
            Column::Bool(b) => Arc::new(b.finish()),
            Column::Timestamp(b) => Arc::new(b.finish()),
            Column::ListUtf8(b) => Arc::new(b.finish()),
        }
    }

    fn append_null(&mut self) {
        match self {
            Column::Int64(b) => b.append_null(),
            Column::Float64(b) => b.append_null(),
            Column::Utf8(b) => b.append_null(),
            Column::Bool(b) => b.append_null(),
            Column::Timestamp(b) => b.append_null(),
            Column::ListUtf8(b) => b.append_null(),
        }
    }
}

/// A field type that can stand in a record.
pub trait Cell: Sized {
    const KIND: Kind;
    const NULLABLE: bool = false;
    fn append(&self, column: &mut Column);
    /// Reads row `row`; `None` where the stored value is missing or of another type.
    fn read(array: &ArrayRef, row: usize) -> Option<Self>;
}

fn valid<A: 'static>(array: &ArrayRef, row: usize) -> Option<&A> {
    if array.is_null(row) { None } else { array.as_any().downcast_ref::<A>() }
}

impl Cell for i64 {
    const KIND: Kind = Kind::Int64;
    fn append(&self, column: &mut Column) {
        if let Column::Int64(b) = column {
            b.append_value(*self);
        }
    }
    fn read(array: &ArrayRef, row: usize) -> Option<Self> {
        valid::<Int64Array>(array, row).map(|a| a.value(row))
    }
}

impl Cell for f64 {
    const KIND: Kind = Kind::Float64;
    fn append(&self, column: &mut Column) {
        if let Column::Float64(b) = column {
            b.append_value(*self);
        }
    }
    fn read(array: &ArrayRef, row: usize) -> Option<Self> {
        valid::<Float64Array>(array, row).map(|a| a.value(row))
    }
}

impl Cell for bool {
    const KIND: Kind = Kind::Bool;
    fn append(&self, column: &mut Column) {
        if let Column::Bool(b) = column {
            b.append_value(*self);
        }
    }
    fn read(array: &ArrayRef, row: usize) -> Option<Self> {
        valid::<BooleanArray>(array, row).map(|a| a.value(row))
    }
}

impl Cell for Ts {
    const KIND: Kind = Kind::Timestamp;
    fn append(&self, column: &mut Column) {
        if let Column::Timestamp(b) = column {
            b.append_value(self.0);
        }
    }
    fn read(array: &ArrayRef, row: usize) -> Option<Self> {
        valid::<TimestampMicrosecondArray>(array, row).map(|a| Ts(a.value(row)))
    }
}

impl Cell for String {
    const KIND: Kind = Kind::Utf8;
    fn append(&self, column: &mut Column) {
        if let Column::Utf8(b) = column {
            b.append_value(self);
        }
    }
    fn read(array: &ArrayRef, row: usize) -> Option<Self> {
        valid::<StringArray>(array, row).map(|a| a.value(row).to_owned())
    }
}

impl Cell for Vec<String> {
    const KIND: Kind = Kind::ListUtf8;
    fn append(&self, column: &mut Column) {
        if let Column::ListUtf8(b) = column {
            for item in self {
                b.values().append_value(item);
            }
            b.append(true);
        }
    }
    fn read(array: &ArrayRef, row: usize) -> Option<Self> {
        let items = valid::<ListArray>(array, row)?.value(row);
        let items = items.as_any().downcast_ref::<StringArray>()?;
        Some(items.iter().flatten().map(str::to_owned).collect())
    }
}

impl<T: Cell> Cell for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
    fn append(&self, column: &mut Column) {
        match self {
            Some(value) => value.append(column),
            None => column.append_null(),
        }
    }
    fn read(array: &ArrayRef, row: usize) -> Option<Self> {
        if array.is_null(row) { Some(None) } else { T::read(array, row).map(Some) }
    }
}
