//! Owns `units`, `decisions`, `guard_events` and `commits`: what was to be built, who decided what, how guards ran, and what git says.

use super::record::record;
use super::time::Ts;
use super::vocabulary::DecisionKind;

record! {
    /// A part of a run that is built and judged by itself.
    Unit = "units", Fact, key "unit_id" {
        /// Stable hash of the natural key.
        unit_id: String,
        /// Delivery in the words of the source.
        native_run_key: String,
        /// Native id (a feature id).
        native_id: String,
        /// Digest of the title.
        title_hash: Option<String>,
        /// Requirement ids it claims.
        requirement_ids: Option<Vec<String>>,
        /// Whether it is recorded as passing. NULL: not recorded.
        passes: Option<bool>,
        /// Whether a verification is stated.
        verification: Option<bool>,
        /// Recorded outcome (`passing`, `blocked`, `open`).
        outcome: Option<String>,
        /// feature or repair, where the harness tells them apart.
        unit_type: Option<String>,
        /// Fingerprint of the finding a repair unit answers.
        finding_fingerprint: Option<String>,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line or entry.
        source_line: i64,
    }
}

record! {
    /// A waiver, override, escalation, approval, label, deviation, release or rule change.
    Decision = "decisions", Fact, key "decision_id" {
        /// Stable hash of the natural key.
        decision_id: String,
        /// Delivery in the words of the source. NULL: not tied to one.
        native_run_key: Option<String>,
        /// Kind of decision.
        kind: DecisionKind,
        /// Digest of who decided. NULL: not recorded.
        who_hash: Option<String>,
        /// What was decided: an identifier (`reject-cap-release`, `true`, `false-alarm`).
        what: String,
        /// What it is about: a gate, a finding, a sha.
        target: Option<String>,
        /// Failure mode it names.
        failure_mode: Option<String>,
        /// Failure class it names.
        failure_class: Option<String>,
        /// Digest of the reason given.
        why_hash: Option<String>,
        /// When.
        decided_at: Option<Ts>,
        /// Until when it holds. NULL: not said.
        expires_at: Option<Ts>,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line.
        source_line: i64,
    }
}

record! {
    /// One report of a guard on itself: the configuration it ran in, or that it degraded open.
    GuardEvent = "guard_events", Fact, key "guard_event_id" {
        /// Stable hash of the natural key.
        guard_event_id: String,
        /// Delivery in the words of the source.
        native_run_key: Option<String>,
        /// The guard (a gate).
        gate_id: String,
        /// configured, degraded_open, skipped_init, mode_changed …
        event: String,
        /// Identifier of the configuration or cause, never text.
        detail: Option<String>,
        /// When.
        at: Option<Ts>,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line.
        source_line: i64,
    }
}

record! {
    /// What git says of one commit.
    Commit = "commits", Fact, key "commit_id" {
        /// Stable hash of the sha: a commit is the same in every clone.
        commit_id: String,
        /// Full sha.
        sha: String,
        /// Repository (`owner/name`, or the top folder's name).
        repo: Option<String>,
        /// Committer time.
        committed_at: Option<Ts>,
        /// Branch-independent issue number its subject or branch names. NULL: none.
        task: Option<String>,
        /// Session ids of its `Copilot-Session` trailers.
        session_trailers: Vec<String>,
        /// Agents or models its `Co-authored-by` trailers name.
        co_authors: Vec<String>,
        /// Files it touches.
        n_files: Option<i64>,
        /// Digest of the touched paths.
        paths_hash: Option<String>,
        /// Touched paths that may hold the text of a gate or rule (hidden folders, hooks, scripts, sensors …), at most 256.
        /// NULL: read by a version that kept none.
        control_paths: Option<Vec<String>>,
        /// Sha it reverts. NULL: no revert.
        reverts: Option<String>,
        /// Version tag on it. NULL: none.
        tag: Option<String>,
        /// The repository's source row.
        source_id: String,
        /// 1-based position in the log.
        source_line: i64,
    }
}
