//! Owns `LakeError`: what can go wrong with a lake, in words that say what, where and what to do.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// What to do about a lake of which something is gone or broken.
pub(super) const DAMAGED: &str = "the lake is damaged; move it away and ingest again, or restore it from a copy";

/// Why the lake could not be read or written. All of them are failures of the environment, never a failed check.
#[derive(Debug, Error)]
pub enum LakeError {
    #[error("no lake at {}: run `mechanic ingest PATH…` first, or name another with --lake DIR", .0.display())]
    NotFound(PathBuf),
    #[error("the lake at {} is being written by another mechanic process: wait for it to end, then try again", .0.display())]
    Locked(PathBuf),
    #[error("the lake at {} was written by a newer mechanic (layout {found}, known up to {known}): use that version, or ingest into a new lake", path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("cannot {what} {}: {cause}", path.display())]
    Io { what: &'static str, path: PathBuf, cause: io::Error },
    #[error("table {table}: the log in {} lacks its first commit: {}", log.display(), DAMAGED)]
    LogLost { table: &'static str, log: PathBuf },
    #[error("table {table} is gone, {} holds no log of it: {}", dir.display(), DAMAGED)]
    TableLost { table: &'static str, dir: PathBuf },
    #[error("{} says nothing of a lake ({cause}): {}", path.display(), DAMAGED)]
    Layout { path: PathBuf, cause: serde_json::Error },
    #[error("table {table}: {message}")]
    Table { table: String, message: String },
    #[error("table {table}: {cause}")]
    Arrow { table: &'static str, cause: arrow::error::ArrowError },
    #[error("{} is not readable as Parquet: {cause}", path.display())]
    Parquet { path: PathBuf, cause: parquet::errors::ParquetError },
    #[error("table {table} changed while it was read: try again")]
    Unstable { table: String },
}

impl LakeError {
    /// Says what was tried on which path when the system refused.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LakeError {
        move |cause| LakeError::Io { what, path: path.to_owned(), cause }
    }

    /// An error of the log of one table.
    pub(crate) fn table(table: &str) -> impl Fn(delta_kernel::KernelError) -> LakeError {
        // Without the backtrace that the kernel adds where the environment asks for one.
        move |e| LakeError::Table { table: table.to_owned(), message: e.without_backtrace().to_string() }
    }

    pub(crate) fn arrow(table: &'static str) -> impl Fn(arrow::error::ArrowError) -> LakeError {
        move |cause| LakeError::Arrow { table, cause }
    }

    pub(crate) fn parquet(path: &Path) -> impl Fn(parquet::errors::ParquetError) -> LakeError {
        move |cause| LakeError::Parquet { path: path.to_owned(), cause }
    }
}
