//! Owns the generations of a session log: whether a file continues what was read of its path, or is a new content beside it.
//!
//! Agents only add to their session logs; but resuming or compacting a session may rewrite one, and then calls that happened and were
//! paid for stand in no file any more. So what is no continuation gets a source of its own, and the rows of the one before stay.
//! What both say is the same row twice, which views and the identity of model calls count once.

use std::collections::HashMap;

use crate::lake::ledger::{Entry, Ledger};
use crate::model::vocabulary::SourceState;
use crate::source::{Input, Source, edges};

/// Every reading there is of each path, as records name it.
pub(super) type Readings<'l> = HashMap<&'l str, Vec<&'l Entry>>;

pub(super) fn readings(ledger: &Ledger) -> Readings<'_> {
    let mut readings: Readings<'_> = HashMap::new();
    for entry in &ledger.entries {
        readings.entry(&entry.row.path).or_default().push(entry);
    }
    readings
}

/// The reading that stands for the path now. `None`: the path is new, or a crash came between one generation and the next.
pub(super) fn live<'l>(readings: &[&'l Entry]) -> Option<&'l Entry> {
    readings.iter().copied().find(|e| e.row.state != SourceState::Superseded)
}

/// Where the rows of a file go.
pub(super) struct Place {
    /// The file under the source that its rows belong to.
    pub(super) input: Input,
    /// The row of that source before.
    pub(super) known: Option<Entry>,
    /// The reading that is live no more and whose rows stay.
    pub(super) superseded: Option<Entry>,
}

/// Decides it for a file that is new or changed.
pub(super) fn place(input: Input, readings: &[&Entry], readers: &[&'static dyn Source]) -> Place {
    let live = live(readings);
    let holds = |e: &Entry| edges::hold(&input.path, &e.row).unwrap_or(false);
    match live {
        None if readings.is_empty() => return Place { input, known: None, superseded: None },
        Some(live) if !is_kept(live, &input, readers) || holds(live) => {
            let input = Input { source_id: live.row.source_id.clone(), ..input };
            return Place { input, known: Some(live.clone()), superseded: None };
        }
        _ => {}
    }
    let superseded = live.map(|live| {
        let mut entry = live.clone();
        entry.row.state = SourceState::Superseded;
        entry
    });
    // The file may be what it was before, restored from a copy.
    let earlier = readings.iter().filter(|e| e.row.state == SourceState::Superseded && holds(e));
    match earlier.max_by_key(|e| (e.row.size_bytes, &e.row.source_id)) {
        Some(earlier) => {
            let input = Input { source_id: earlier.row.source_id.clone(), ..input };
            Place { input, known: Some((*earlier).clone()), superseded }
        }
        None => Place { input: input.generation(readings.len()), known: None, superseded },
    }
}

/// Whether rows of the reading outlive its content.
fn is_kept(entry: &Entry, input: &Input, readers: &[&'static dyn Source]) -> bool {
    let reader = entry.row.format.as_ref().and_then(|format| readers.iter().find(|r| r.format() == format));
    entry.data.is_some() && reader.is_some_and(|r| r.is_append_only(input))
}
