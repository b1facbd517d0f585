//! Owns a case: what is known of one failure, in no vendor's words, before anything is rebuilt.

use std::path::PathBuf;

use crate::model::time::Ts;
use crate::replay::words::Severity;
use crate::source::edits::Edit;

/// One failure that a gate met.
#[derive(Debug, Clone)]
pub struct Case {
    /// Hex digits: the id of the problem or of the recorded gate run.
    pub id: String,
    pub gate: String,
    pub rule: Option<String>,
    /// Identity of the defect, as the lake has it.
    pub fingerprint: Option<String>,
    pub location: Option<String>,
    pub failure_mode: Option<String>,
    pub failure_class: Option<String>,
    pub severity: Option<Severity>,
    pub at: Option<Ts>,
    /// Which record tells of it, for a reader.
    pub origin: String,
    /// The gate's own command, where one is recorded.
    pub command: Option<String>,
    pub exit_status: Option<i64>,
    /// Other gates that reported it, and gates that provably let it pass.
    pub caught_by: Vec<String>,
    pub missed_by: Vec<String>,
    pub saw: Saw,
    /// What could not be repeated, known before anything is rebuilt.
    pub gaps: Vec<String>,
}

/// What the gate saw.
#[derive(Debug, Clone)]
pub enum Saw {
    /// A work tree: a base, and edits on it.
    Tree { base: Base, edits: Vec<Planned> },
    /// A command that was asked for.
    Command(String),
}

/// Where the tree begins.
#[derive(Debug, Clone)]
pub enum Base {
    /// The tree itself was kept, under a commit whose parent is what was checked out.
    Recorded { repository: PathBuf, reference: String },
    /// A commit. `basis` says how it is known; edits older than it are taken as part of it.
    Commit { repository: PathBuf, sha: String, at: Option<Ts>, basis: String },
    /// Nothing but what the log keeps of the files it touched.
    LogAlone,
}

/// An edit to be made, with its place in the log.
#[derive(Debug, Clone)]
pub struct Planned {
    pub edit: Edit,
    pub at: Option<Ts>,
    pub cwd: Option<String>,
    /// What the log calls the top of the repository; several ways to call it.
    pub roots: Vec<String>,
}

impl Case {
    /// The folder and id of its draft: made of its id, never of a text of the log.
    pub fn draft_id(&self) -> String {
        let hex: String = self.id.chars().filter(char::is_ascii_hexdigit).map(|c| c.to_ascii_lowercase()).take(16).collect();
        format!("harvested-{hex}")
    }

    /// The gate's name as a fixture may write it.
    pub fn gate_word(&self) -> String {
        word(&self.gate)
    }
}

/// A name with what a fixture's word may not hold replaced.
pub fn word(text: &str) -> String {
    let word: String = text.chars().take(120).map(|c| if c.is_ascii_alphanumeric() || "_-.:/".contains(c) { c } else { '_' }).collect();
    if word.is_empty() { "unknown".to_owned() } else { word }
}
