//! Owns `SqlError`: why a query could not be answered, told apart by who can mend it.

use std::path::PathBuf;

use thiserror::Error;

/// Why a query could not be answered.
#[derive(Debug, Error)]
pub enum SqlError {
    /// The statement is not one that may run: the user can mend it.
    #[error("{0}")]
    Refused(String),
    /// The statement is a SELECT that does not work: the user can mend it.
    #[error("the query failed: {0}")]
    Query(String),
    /// A parameter is missing, unknown or of another type.
    #[error("{0}")]
    Param(String),
    #[error("no query is named {0}: `mechanic query` lists them")]
    Unknown(String),
    /// The engine itself failed.
    #[error("DuckDB failed to {what}: {message}")]
    Engine { what: String, message: String },
    #[error("a Parquet file of the lake has a path that is not UTF-8: {}", .0.display())]
    Path(PathBuf),
    #[error("cannot write the answer: {0}")]
    Write(#[from] std::io::Error),
    #[error("cannot write the answer as Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
}

impl SqlError {
    /// An error of the engine while it did `what`.
    pub(crate) fn engine(what: impl Into<String>) -> impl FnOnce(duckdb::Error) -> SqlError {
        let what = what.into();
        move |e| SqlError::Engine { what, message: message(&e) }
    }

    /// Whether another command line would mend it.
    pub fn is_usage(&self) -> bool {
        matches!(self, SqlError::Refused(_) | SqlError::Query(_) | SqlError::Param(_) | SqlError::Unknown(_))
    }
}

/// DuckDB's own words, without the wrapper's.
pub(crate) fn message(error: &duckdb::Error) -> String {
    match error {
        duckdb::Error::DuckDBFailure(_, Some(text)) => text.clone(),
        other => other.to_string(),
    }
}
