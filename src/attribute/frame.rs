//! Owns the bridge from records to Polars frames: the columns that linking and ordering need, by name.

use polars::prelude::{Column, DataFrame, NamedFrom, PolarsResult, Series};

use crate::model::time::Ts;

/// A column of a frame under construction.
pub enum Values<'a> {
    Text(Vec<Option<&'a str>>),
    Int(Vec<Option<i64>>),
}

/// Instants as microseconds: Polars needs no time types for order and differences.
pub fn micros(values: impl Iterator<Item = Option<Ts>>) -> Values<'static> {
    Values::Int(values.map(|t| t.map(|t| t.0)).collect())
}

/// Builds a frame; all columns have the same length.
pub fn frame(columns: Vec<(&str, Values<'_>)>) -> PolarsResult<DataFrame> {
    let columns = columns
        .into_iter()
        .map(|(name, values)| -> Column {
            match values {
                Values::Text(v) => Series::new(name.into(), v).into(),
                Values::Int(v) => Series::new(name.into(), v).into(),
            }
        })
        .collect();
    DataFrame::new_infer_height(columns)
}

/// The values of an integer column.
pub fn ints(frame: &DataFrame, name: &str) -> PolarsResult<Vec<Option<i64>>> {
    Ok(frame.column(name)?.i64()?.iter().collect())
}

/// The values of a text column.
pub fn texts(frame: &DataFrame, name: &str) -> PolarsResult<Vec<Option<String>>> {
    Ok(frame.column(name)?.str()?.iter().map(|v| v.map(str::to_owned)).collect())
}
