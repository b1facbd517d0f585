//! Owns `LakeError`: what can go wrong with a lake, in words that say what, where and what to do.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use arrow::error::ArrowError;
use delta_kernel::KernelError;
use parquet::errors::ParquetError;
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
    #[error("{} says nothing of a lake ({cause}): {}", path.display(), DAMAGED)]
    Layout { path: PathBuf, cause: serde_json::Error },
    #[error("table {table} is gone, {} holds no log of it: {}", dir.display(), DAMAGED)]
    TableLost { table: &'static str, dir: PathBuf },
    #[error("table {table}: the log in {} lacks its first commit: {}", log.display(), DAMAGED)]
    LogLost { table: &'static str, log: PathBuf },
    #[error("table {} cannot be read or written: {message}", dir.display())]
    Table { dir: PathBuf, message: String },
    #[error("{} does not hold what a lake holds there ({cause}): {}", path.display(), DAMAGED)]
    Content { path: PathBuf, cause: String },
    #[error("cannot {what} {}: {cause}: {}", path.display(), remedy(what, cause))]
    Io { what: &'static str, path: PathBuf, cause: io::Error },
    #[error("rows of table {table} do not fit it ({cause}): this is a bug, please report it; what was committed before stays")]
    Misfit { table: &'static str, cause: ArrowError },
    #[error("the lake at {} changed again and again while it was read: wait for the ingest that runs to end, then try again", .0.display())]
    Unstable(PathBuf),
    #[error("the writing to the lake at {} broke off: this is a bug, please report it; what was committed before stays", .0.display())]
    BrokenOff(PathBuf),
}

impl LakeError {
    /// Says what was tried on which path when the system refused.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LakeError {
        move |cause| LakeError::Io { what, path: path.to_owned(), cause }
    }

    /// An error of the log of the table in a folder.
    pub(crate) fn table(dir: &Path) -> impl Fn(KernelError) -> LakeError + use<> {
        let dir = dir.to_owned();
        // Without the backtrace that the kernel adds where the environment asks for one.
        move |e| match e.without_backtrace() {
            KernelError::IOError(cause) => {
                LakeError::Io { what: "read or write the table", path: dir.clone(), cause: io::Error::new(cause.kind(), cause.to_string()) }
            }
            e => {
                let said = e.to_string();
                let message = if said.contains(DAMAGED) { said } else { format!("{said}: {DAMAGED}") };
                LakeError::Table { dir: dir.clone(), message }
            }
        }
    }

    /// Rows that came from a file or table and are not such rows.
    pub(crate) fn content(path: &Path) -> impl Fn(ArrowError) -> LakeError + use<> {
        let path = path.to_owned();
        move |cause| LakeError::Content { path: path.clone(), cause: cause.to_string() }
    }

    /// A data file that cannot be read as Parquet.
    pub(crate) fn unreadable(path: &Path) -> impl Fn(ParquetError) -> LakeError + use<> {
        let path = path.to_owned();
        move |cause| LakeError::Content { path: path.clone(), cause: cause.to_string() }
    }

    /// A data file that cannot be written.
    pub(crate) fn unwritten(path: &Path) -> impl Fn(ParquetError) -> LakeError + use<> {
        let path = path.to_owned();
        move |cause| {
            let cause = match cause {
                ParquetError::External(e) => match e.downcast::<io::Error>() {
                    Ok(e) => *e,
                    Err(e) => io::Error::other(e),
                },
                e => io::Error::other(e),
            };
            LakeError::Io { what: "write", path: path.clone(), cause }
        }
    }

    /// Rows of our own making that a table does not take.
    pub(crate) fn misfit(table: &'static str) -> impl Fn(ArrowError) -> LakeError {
        move |cause| LakeError::Misfit { table, cause }
    }
}

/// What to do where the system refused.
fn remedy(what: &str, cause: &io::Error) -> &'static str {
    match cause.kind() {
        ErrorKind::NotFound if what.starts_with("begin") => "no folder can be made there; name another lake with --lake DIR",
        ErrorKind::NotFound => DAMAGED,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "allow yourself to read and write there, or name another lake with --lake DIR"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room and try again; what was committed before stays",
        ErrorKind::NotADirectory | ErrorKind::IsADirectory | ErrorKind::AlreadyExists => {
            "something else stands there; move it away, or name another lake with --lake DIR"
        }
        _ => "mend what the system says and try again; what was committed before stays",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_says_what_where_and_what_to_do_in_one_line() {
        let path = Path::new("/somewhere/lake");
        let io = |kind: ErrorKind| LakeError::io("open", path)(kind.into());
        let errors = [
            LakeError::NotFound(path.into()),
            LakeError::Locked(path.into()),
            LakeError::Newer { path: path.into(), found: 9, known: 2 },
            LakeError::Layout { path: path.into(), cause: serde_json::from_str::<u8>("{").unwrap_err() },
            LakeError::TableLost { table: "gates", dir: path.into() },
            LakeError::LogLost { table: "gates", log: path.into() },
            LakeError::table(path)(KernelError::generic("odd")),
            LakeError::table(path)(KernelError::IOError(ErrorKind::PermissionDenied.into())),
            LakeError::content(path)(ArrowError::SchemaError("odd".into())),
            LakeError::unreadable(path)(ParquetError::EOF("odd".into())),
            LakeError::unwritten(path)(ParquetError::External(Box::new(io::Error::from(ErrorKind::StorageFull)))),
            LakeError::unwritten(path)(ParquetError::General("odd".into())),
            LakeError::Unstable(path.into()),
            LakeError::BrokenOff(path.into()),
            io(ErrorKind::NotFound),
            LakeError::io("begin a lake at", path)(ErrorKind::NotFound.into()),
            io(ErrorKind::PermissionDenied),
            io(ErrorKind::NotADirectory),
            io(ErrorKind::Other),
        ];
        let remedies = [
            "first",
            "wait for",
            "use that version",
            "move it away",
            "make room",
            "allow yourself",
            "mend what",
            "please report",
            "name another",
        ];
        for error in errors {
            let text = error.to_string();
            assert!(text.contains("/somewhere/lake") && !text.contains('\n'), "{text}");
            assert!(remedies.iter().any(|r| text.contains(r)), "{text}");
        }
        let full = LakeError::unwritten(path)(ParquetError::External(Box::new(io::Error::from(ErrorKind::StorageFull)))).to_string();
        assert!(full.starts_with("cannot write /somewhere/lake") && full.contains("make room"), "{full}");
        assert_eq!(LakeError::table(path)(KernelError::generic(format!("x: {DAMAGED}"))).to_string().matches(DAMAGED).count(), 1);
    }
}
