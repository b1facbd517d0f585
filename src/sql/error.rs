//! Owns `SqlError`: why a query could not be answered, told apart by who can mend it.

use std::path::PathBuf;
use std::time::Duration;

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
    #[error("no query is named `{0}`: `mechanic query` lists them")]
    Unknown(String),
    #[error("the statement ran longer than {} s and was stopped: ask for less, or allow more with --timeout SECONDS", .0.as_secs())]
    TooLong(Duration),
    #[error("the statement needs more memory than is allowed: ask for less, or allow more with --memory SIZE ({0})")]
    TooLarge(String),
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
        move |e| match message(&e) {
            m if m.starts_with(OUT_OF_MEMORY) => SqlError::TooLarge(first_line(&m)),
            message => SqlError::Engine { what, message },
        }
    }

    /// An error of a statement.
    pub(crate) fn query(error: &duckdb::Error) -> SqlError {
        match message(error) {
            m if m.starts_with(OUT_OF_MEMORY) => SqlError::TooLarge(first_line(&m)),
            message => SqlError::Query(message),
        }
    }

    /// Whether another command line would mend it.
    pub fn is_usage(&self) -> bool {
        matches!(self, SqlError::Refused(_) | SqlError::Query(_) | SqlError::Param(_) | SqlError::Unknown(_))
    }
}

/// How DuckDB begins to say that its limit of memory is reached.
const OUT_OF_MEMORY: &str = "Out of Memory Error";

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// DuckDB's own words, without the wrapper's.
pub(crate) fn message(error: &duckdb::Error) -> String {
    match error {
        duckdb::Error::DuckDBFailure(_, Some(text)) => text.clone(),
        other => other.to_string(),
    }
}
