//! Owns `sources`, `quarantine` and `warnings`: what was read, what could not be, and what was odd.

use super::record::record;
use super::time::Ts;
use super::vocabulary::SourceState;

record! {
    /// One row for each input file and ingest of it; the view shows the newest. The commit point of an ingest: rows of other
    /// tables are visible only while a row here names their batch.
    Source = "sources", Fact, key "source_id" {
        /// Stable hash of the path; of a log that was rewritten, also of how many times that was.
        source_id: String,
        /// Path of the file, the home directory cut to `~`.
        path: String,
        /// Name of the format that claimed the file (`claude-code`, `copilot-cli`, `agent-delivery-harness` …). NULL: no source did.
        format: Option<String>,
        /// Digest of what decides how the file is read: reader version, detectors, content mode.
        reader_digest: String,
        /// current, ignored (no source claims it), gone (the file vanished, its rows stay), failed (unreadable), superseded (a session
        /// log was rewritten: the rows of what it said before stay beside those of what it says now, which has a row of its own).
        state: SourceState,
        /// Input records seen in the file (lines or entries, blank lines apart).
        records: i64,
        /// Input records that ended in `quarantine`.
        quarantined: i64,
        /// Rows in `warnings`, weighted by their count.
        n_warnings: i64,
        /// What the file delivered: tokens, durations, verdicts, findings, finding_identity, gate_costs …; earned, never declared.
        capabilities: Vec<String>,
        /// Size in bytes when read.
        size_bytes: i64,
        /// Digest of the first 4 KiB.
        head_hash: String,
        /// Digest of the last 4 KiB.
        tail_hash: String,
        /// Byte offset up to which complete records were read.
        read_to: i64,
        /// Modification time when read.
        mtime: Option<Ts>,
        /// Inode when read. NULL where the system has none.
        inode: Option<i64>,
        /// When it was ingested.
        ingested_at: Ts,
    }
}

record! {
    /// Input records that became no rows: where they stand and why.
    Quarantined = "quarantine", Fact, key "" {
        /// The file.
        source_id: String,
        /// 1-based line or entry number.
        source_line: i64,
        /// Offset of the record in bytes.
        byte_offset: i64,
        /// Length of the record in bytes.
        bytes: i64,
        /// malformed, not_object, oversize, truncated_tail, unknown_version, schema …
        reason: String,
        /// What the reader said, without text of the record. NULL: nothing more is known.
        detail: Option<String>,
    }
}

record! {
    /// What was odd but could be read, counted by kind.
    Warning = "warnings", Fact, key "" {
        /// The file.
        source_id: String,
        /// 1-based line of the first occurrence. NULL: the file as a whole.
        source_line: Option<i64>,
        /// Name of the warning (`unknown_key`, `id_collision`, `salvaged`, `aggregate_finding` …).
        kind: String,
        /// What it is about (a key, a type, an id), never free text of the record. NULL: nothing more.
        detail: Option<String>,
        /// Occurrences.
        count: i64,
    }
}
