//! Owns `tree_states`: how the work tree of a run advanced, from recorded writes, commits and judged shas.

use crate::model::derived::TreeState;
use crate::model::gate_runs::GateRun;
use crate::model::id::stable_id;
use crate::model::sessions::ToolCall;
use crate::model::time::Ts;

/// One recorded change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    pub at: Ts,
    /// write, commit or sha.
    pub basis: &'static str,
    pub head_sha: Option<String>,
}

/// Changes that a run's rows show, in order: tool calls that wrote, and each new sha that a gate run judged.
pub fn changes<'a>(writes: impl Iterator<Item = &'a ToolCall>, judged: impl Iterator<Item = (Ts, &'a GateRun)>) -> Vec<Change> {
    let mut all: Vec<Change> = writes.filter_map(wrote_at).map(|at| Change { at, basis: "write", head_sha: None }).collect();
    let mut shas: Vec<(Ts, &str)> = judged.filter_map(|(at, run)| Some((at, run.head_sha.as_deref()?))).collect();
    shas.sort_unstable();
    let mut last: Option<&str> = None;
    for (at, sha) in shas {
        if last.is_none_or(|before| !super::timeline::same_sha(before, sha)) {
            all.push(Change { at, basis: "sha", head_sha: Some(sha.to_owned()) });
            last = Some(sha);
        }
    }
    all.sort();
    all
}

/// When a tool call changed files. `None`: it did not, was refused, or its time is unknown.
pub fn wrote_at(call: &ToolCall) -> Option<Ts> {
    if call.writes != Some(true) || call.success == Some(false) || call.denied_by.is_some() {
        return None;
    }
    call.ended_at.or(call.started_at)
}

/// The rows: state 0 is the start of the run.
pub fn tree_states(run_id: &str, started_at: Option<Ts>, changes: Vec<Change>) -> Vec<TreeState> {
    let row = |seq: usize, began_at, basis: &str, head_sha| TreeState {
        tree_state_id: stable_id(&["tree_state", run_id, &seq.to_string()]),
        run_id: run_id.to_owned(),
        seq: seq as i64,
        began_at,
        basis: basis.to_owned(),
        head_sha,
    };
    let mut rows = vec![row(0, started_at, "run_start", None)];
    rows.extend(changes.into_iter().enumerate().map(|(at, c)| row(at + 1, Some(c.at), c.basis, c.head_sha)));
    rows
}
