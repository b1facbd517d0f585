//! Owns recording one gate command: run it unchanged, say what it did, keep the tree it failed on.
//!
//! The command comes first: whatever goes wrong with the record becomes a note, and the command's own outcome stands.

mod child;
mod place;
mod tree;
mod verdicts;

use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;

pub use child::Ended;
pub use place::Place;
pub use verdicts::Verdicts;

use crate::config::layout::Layout;
use crate::model::id::{digest, stable_id};
use crate::model::vocabulary::{Mode, Verdict};
use crate::source::recorded::Recorded;

/// What to run and how to keep it.
#[derive(Debug, Clone)]
pub struct Plan {
    pub gate: String,
    pub rule: Option<String>,
    /// `record:<issue>` or `session:<id>`; `None`: by the branch that is checked out.
    pub run: Option<String>,
    pub unit: Option<String>,
    /// Program and arguments, at least one.
    pub command: Vec<String>,
    /// Report, never block: the command's output goes to standard error and the status is 0.
    pub shadow: bool,
    /// Keep standard input, and the tree after a pass too.
    pub keep_stimuli: bool,
    pub verdicts: Verdicts,
    /// How branches name their issue.
    pub layout: Layout,
    /// File to append to; `None`: `.mechanic/gate-runs.jsonl` of the repository's main checkout, else of the working directory.
    pub file: Option<PathBuf>,
}

/// What is left to do for the caller.
#[derive(Debug)]
pub struct Outcome {
    /// Exit status to end with: the command's own, 128 + n for signal n, 126 or 127 where it could not start; 0 in shadow.
    pub code: u8,
    /// What could not be recorded, and why; and what a shadow run would have said.
    pub notes: Vec<String>,
}

/// Runs the command and records it.
pub fn record(plan: &Plan, folder: &Path) -> Outcome {
    let place = Place::of(folder);
    // While the command runs, so that it waits for nothing.
    let clean = place.head_sha.as_ref().and(place.top.clone()).map(|top| std::thread::spawn(move || tree::is_clean(&top)));
    let started = Timestamp::now();
    let mut command = Command::new(&plan.command[0]);
    command.args(&plan.command[1..]);
    let ended = child::run(command, plan.shadow, plan.keep_stimuli);
    let finished = Timestamp::now();

    let mut notes = Vec::new();
    let verdict = plan.verdicts.of(&ended);
    if let Ended::NeverStarted { error, .. } = &ended {
        notes.push(format!("cannot run {}: {error}", plan.command[0]));
    }
    let file = plan.file.clone().unwrap_or_else(|| place.folder().join(crate::source::recorded::FILE_NAME));
    let joined = plan.command.join("\0");
    let id = stable_id(&[&plan.gate, &started.as_nanosecond().to_string(), &std::process::id().to_string(), &joined]);
    let keep_tree = !matches!(verdict, Verdict::Skipped | Verdict::CouldNotRun) && (verdict != Verdict::Pass || plan.keep_stimuli);
    let tree_ref =
        keep_tree.then(|| tree::keep(&place, &id, &plan.gate)).and_then(|kept| noted(kept, "keep the tree", &mut notes)).flatten();
    let stimulus = child::kept_input(&ended)
        .map(|bytes| tree::keep_input(file.parent().unwrap_or(Path::new(".")), bytes))
        .and_then(|kept| noted(kept, "keep the standard input", &mut notes));
    let row = Recorded {
        schema_version: Recorded::SCHEMA_VERSION,
        id,
        gate: plan.gate.clone(),
        rule: plan.rule.clone(),
        run: plan.run.clone().unwrap_or_else(|| place.run_key(&plan.layout)),
        unit: plan.unit.clone(),
        started_at: started.to_string(),
        ended_at: finished.to_string(),
        duration_ms: i64::try_from(finished.duration_since(started).as_millis()).unwrap_or(i64::MAX).max(0),
        exit_status: ended.exit_status(),
        signal: ended.signal(),
        verdict,
        enforcement: if plan.shadow { Mode::Observe } else { Mode::Block },
        program: Path::new(&plan.command[0]).file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned()),
        command_hash: digest(joined.as_bytes()),
        head_sha: place.head_sha.clone(),
        clean: clean.and_then(|looking| looking.join().ok()).flatten(),
        tree_ref,
        stimulus,
    };
    if let Err(e) = row.append(&file) {
        notes.push(format!("this gate run is not recorded: cannot append to {}: {e}", file.display()));
    }
    if plan.shadow && verdict != Verdict::Pass {
        notes.push(format!("in shadow: {} would have ended with {} ({})", plan.gate, ended.code(), verdict.as_str()));
    }
    Outcome { code: if plan.shadow { 0 } else { ended.code() }, notes }
}

fn noted<T>(result: anyhow::Result<T>, what: &str, notes: &mut Vec<String>) -> Option<T> {
    result.map_err(|e| notes.push(format!("cannot {what}: {e:#}"))).ok()
}

#[cfg(test)]
mod tests;
