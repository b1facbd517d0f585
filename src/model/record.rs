//! Owns `record!`, which writes a table once: the struct, its Arrow schema, its data dictionary and the way to and from record batches.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::error::ArrowError;

use super::cell::Kind;

/// How a table comes to be (DESIGN, "facts and conclusions").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Says what one source file says and depends on nothing else.
    Fact,
    /// A pure function of facts, configuration, labels and the given time; rebuilt when its inputs change.
    Derived,
}

impl Layer {
    pub fn as_str(self) -> &'static str {
        match self {
            Layer::Fact => "fact",
            Layer::Derived => "derived",
        }
    }
}

/// One column of the data dictionary.
#[derive(Debug, Clone, Copy)]
pub struct ColumnDef {
    pub name: &'static str,
    pub kind: Kind,
    pub nullable: bool,
    pub doc: &'static str,
}

/// One table of the lake.
#[derive(Debug, Clone, Copy)]
pub struct TableDef {
    pub name: &'static str,
    pub layer: Layer,
    /// The column that identifies a row. Views of fact tables show one row for each value of it; empty where every row counts.
    pub key: &'static str,
    pub doc: &'static str,
    pub columns: &'static [ColumnDef],
}

impl TableDef {
    pub fn arrow_schema(&self) -> SchemaRef {
        let fields: Vec<Field> = self.columns.iter().map(|c| Field::new(c.name, c.kind.data_type(), c.nullable)).collect();
        Arc::new(Schema::new(fields))
    }
}

/// A row type that stands for a table.
pub trait Record: Sized {
    const TABLE: &'static TableDef;
    /// Columns in the order of `TABLE.columns`.
    fn to_batch(rows: &[Self]) -> Result<RecordBatch, ArrowError>;
    /// Reads rows back by column name; a missing column of a nullable field reads as NULL, other mismatches are errors.
    fn from_batch(batch: &RecordBatch) -> Result<Vec<Self>, ArrowError>;
}

/// The column of that name, or an all-null one where the batch was written before the column existed.
pub fn column_or_null(batch: &RecordBatch, def: &ColumnDef) -> Result<ArrayRef, ArrowError> {
    match batch.column_by_name(def.name) {
        Some(array) => Ok(array.clone()),
        None if def.nullable => Ok(arrow::array::new_null_array(&def.kind.data_type(), batch.num_rows())),
        None => Err(ArrowError::SchemaError(format!("column {} is missing", def.name))),
    }
}

/// The error for a value that is NULL or of another type where the record requires one.
pub fn mismatch(table: &str, column: &str, array: &ArrayRef, row: usize) -> ArrowError {
    ArrowError::SchemaError(format!(
        "{table}.{column} row {row}: expected another value than {} (null: {})",
        array.data_type(),
        array.is_null(row)
    ))
}

/// Declares a record. The doc comment of the struct and of each field becomes the data dictionary.
macro_rules! record {
    (
        $(#[doc = $tdoc:literal])+
        $name:ident = $table:literal, $layer:ident, key $key:literal {
            $( $(#[doc = $doc:literal])+ $field:ident : $ty:ty ),+ $(,)?
        }
    ) => {
        $(#[doc = $tdoc])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $ty, )+
        }

        impl $crate::model::record::Record for $name {
            const TABLE: &'static $crate::model::record::TableDef = &$crate::model::record::TableDef {
                name: $table,
                layer: $crate::model::record::Layer::$layer,
                key: $key,
                doc: concat!($($tdoc, "\n"),+),
                columns: &[
                    $( $crate::model::record::ColumnDef {
                        name: stringify!($field),
                        kind: <$ty as $crate::model::cell::Cell>::KIND,
                        nullable: <$ty as $crate::model::cell::Cell>::NULLABLE,
                        doc: concat!($($doc, "\n"),+),
                    }, )+
                ],
            };

            fn to_batch(rows: &[Self]) -> Result<arrow::array::RecordBatch, arrow::error::ArrowError> {
                use $crate::model::cell::{Cell, Column};
                let columns = vec![
                    $( {
                        let mut column = Column::new(<$ty as Cell>::KIND);
                        for row in rows {
                            row.$field.append(&mut column);
                        }
                        column.finish()
                    }, )+
                ];
                arrow::array::RecordBatch::try_new(Self::TABLE.arrow_schema(), columns)
            }

            fn from_batch(batch: &arrow::array::RecordBatch) -> Result<Vec<Self>, arrow::error::ArrowError> {
                use $crate::model::cell::Cell;
                use $crate::model::record::{column_or_null, mismatch};
                let mut defs = Self::TABLE.columns.iter();
                $( let $field = column_or_null(batch, defs.next().expect("one definition a field"))?; )+
                (0..batch.num_rows())
                    .map(|row| {
                        Ok($name {
                            $( $field: <$ty as Cell>::read(&$field, row)
                                .ok_or_else(|| mismatch($table, stringify!($field), &$field, row))?, )+
                        })
                    })
                    .collect()
            }
        }
    };
}

pub(crate) use record;
