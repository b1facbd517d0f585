//! Owns measuring: a named query answered over a window of time. Every figure comes from `queries/*.sql`; nothing is computed here.

#[cfg(test)]
mod known_answers;
#[cfg(test)]
mod known_changes;
#[cfg(test)]
pub mod known_replays;
#[cfg(test)]
mod known_standing;
#[cfg(test)]
pub mod sample;

use std::collections::BTreeMap;

use crate::model::time::Ts;
use crate::sql::params::Param;
use crate::sql::{Answer, Engine, SqlError, find};

/// A span of time over run ends, half open. An open side is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub since: Option<Ts>,
    pub until: Option<Ts>,
    /// Whether runs that are no more than one session count. `None`: as the query says itself (costs per delivery leave them out).
    pub sessions: Option<bool>,
}

impl Window {
    /// Everything the lake holds.
    pub const ALL: Window = Window { since: None, until: None, sessions: None };
}

/// Answers a named query over a window; the parts of the window that the query has no parameter for do not concern it.
/// Weeks begin in the zone named `tz`.
pub fn measure(engine: &Engine, name: &str, window: Window, tz: &str) -> Result<Answer, SqlError> {
    engine.query(name, &params(name, window, tz)?)
}

/// The parameters a window and a zone give a query.
pub fn params(name: &str, window: Window, tz: &str) -> Result<BTreeMap<String, Param>, SqlError> {
    let query = find(name).ok_or_else(|| SqlError::Unknown(name.to_owned()))?;
    let time = |ts: Option<Ts>| ts.map(|t| Param::Int(t.0));
    let given = [
        ("since", time(window.since)),
        ("until", time(window.until)),
        ("sessions", window.sessions.map(Param::Bool)),
        ("tz", Some(Param::Text(tz.to_owned()))),
    ];
    Ok(given
        .into_iter()
        .filter(|(key, _)| query.params.iter().any(|p| p.name == *key))
        .filter_map(|(key, value)| value.map(|v| (key.to_owned(), v)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_gives_a_query_only_what_it_asks_for() {
        let window = Window { since: Some(Ts(5)), until: None, sessions: Some(true) };
        assert_eq!(
            params("runs", window, "UTC").unwrap(),
            BTreeMap::from([("since".into(), Param::Int(5)), ("sessions".into(), Param::Bool(true))])
        );
        assert!(params("coverage", window, "UTC").unwrap().is_empty());
        assert!(params("no such", window, "UTC").is_err());
    }
}
