//! Owns the limits of a statement: how long it may run and how much memory the engine may take.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use duckdb::Connection;

use super::SqlError;

/// What a statement may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// `None`: as long as it takes.
    pub time: Option<Duration>,
    /// In DuckDB's spelling (`4GiB`). `None`: what DuckDB takes by itself, 80 % of the machine's.
    pub memory: Option<String>,
}

impl Limits {
    /// No limit of ours: for questions that are part of the program.
    pub const NONE: Limits = Limits { time: None, memory: None };

    /// Reads an amount of memory like `512MB` or `4GiB`.
    pub fn memory(text: &str) -> Result<String, String> {
        let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = (&text[..at], text[at..].trim());
        let known = ["MB", "GB", "TB", "MiB", "GiB", "TiB"];
        match number.parse::<u32>() {
            Ok(1..) if known.contains(&unit) => Ok(format!("{number}{unit}")),
            _ => Err(format!("expected an amount like 512MB or 4GiB, found {text:?}")),
        }
    }
}

/// Again and again until the statement ends: an interrupt between two of its parts would be lost.
const AGAIN: Duration = Duration::from_millis(50);

/// Does the work, and stops what the connection runs when it takes longer than `limit`.
pub(super) fn within<T>(db: &Connection, limit: Option<Duration>, work: impl FnOnce() -> Result<T, SqlError>) -> Result<T, SqlError> {
    let Some(limit) = limit else { return work() };
    let handle = db.interrupt_handle();
    let (done, wait) = channel::<()>();
    let timer = std::thread::spawn(move || {
        let mut late = false;
        let mut patience = limit;
        while wait.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            late = true;
            handle.interrupt();
            patience = AGAIN;
        }
        late
    });
    let result = work();
    drop(done);
    match (timer.join(), result) {
        (Ok(true), Err(_)) => Err(SqlError::TooLong(limit)),
        (_, result) => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::testing::World;

    const ENDLESS: &str = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range + b.range = -1";
    const LARGE: &str = "SELECT list(range ORDER BY range DESC) FROM range(100000000)";

    #[test]
    fn a_statement_over_its_time_is_stopped_and_the_next_one_runs() {
        let engine = World::new().engine_within(&Limits { time: Some(Duration::from_millis(200)), memory: None });
        let error = engine.select(ENDLESS).unwrap_err();
        assert!(matches!(error, SqlError::TooLong(_)) && !error.is_usage(), "{error}");
        assert_eq!(engine.select("SELECT 1").unwrap().n_rows(), 1);
    }

    #[test]
    fn a_statement_over_its_memory_is_told_so_and_the_next_one_runs() {
        let engine = World::new().engine_within(&Limits { time: None, memory: Some("64MiB".into()) });
        let error = engine.select(LARGE).unwrap_err();
        assert!(matches!(error, SqlError::TooLarge(_)) && error.to_string().contains("--memory"), "{error}");
        assert_eq!(engine.select("SELECT 1").unwrap().n_rows(), 1);
    }

    #[test]
    fn amounts_of_memory_have_a_number_and_a_unit() {
        assert_eq!(Limits::memory("4GiB"), Ok("4GiB".into()));
        assert_eq!(Limits::memory("512 MB"), Ok("512MB".into()));
        for wrong in ["", "4", "GB", "0GB", "4 apples", "-1GB", "4GB; SET threads = 9"] {
            assert!(Limits::memory(wrong).is_err(), "{wrong}");
        }
    }
}
