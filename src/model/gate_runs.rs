//! Owns `gate_runs` and `findings`: what a gate did once, and what it said about a defect.

use super::record::record;
use super::time::Ts;
use super::vocabulary::{About, BaselineState, ExposureBasis, FingerprintBasis, Mode, Phase, Scope, Severity, Verdict, VerdictBasis};

record! {
    /// One execution, or one declared non-execution, of a gate.
    GateRun = "gate_runs", Fact, key "gate_run_id" {
        /// Stable hash of the natural key.
        gate_run_id: String,
        /// product, harness or infrastructure.
        about: About,
        /// The gate.
        gate_id: String,
        /// The rule, clause or stage that ran.
        rule_id: Option<String>,
        /// Delivery in the words of the source.
        native_run_key: String,
        /// Native id of the unit (feature, story) it judged. NULL: the whole run.
        unit: Option<String>,
        /// Context it ran in, or that it was (a reviewer sub-agent). NULL: none recorded.
        context_id: Option<String>,
        /// Tool call it guarded or was. NULL: none.
        tool_call_id: Option<String>,
        /// Position among the file's gate runs, 0-based.
        seq: i64,
        /// Review round. NULL: not recorded.
        round: Option<i64>,
        /// Attempt of a retried step. NULL: not recorded.
        attempt: Option<i64>,
        /// Start. NULL: not recorded.
        started_at: Option<Ts>,
        /// End; the time of the verdict. NULL: not recorded.
        ended_at: Option<Ts>,
        /// Own duration in milliseconds. NULL: not recorded, or the time belongs to another gate run.
        duration_ms: Option<i64>,
        /// When a result that ran elsewhere was read. NULL: it ran here.
        observed_at: Option<Ts>,
        /// How it was read (`ci`, `file`). NULL: it ran here.
        observed_via: Option<String>,
        /// The verdict.
        verdict: Verdict,
        /// The source's own word.
        raw_verdict: Option<String>,
        /// Where the verdict was read from.
        verdict_basis: VerdictBasis,
        /// Whether the work stopped. NULL: unknown.
        stopped_work: Option<bool>,
        /// Whether a fail stops the work by rule (block, warn, observe). NULL: unknown.
        enforcement: Option<Mode>,
        /// Exit status. NULL: none recorded.
        exit_status: Option<i64>,
        /// How many subjects it checked. NULL: not recorded; 0: none.
        substance: Option<i64>,
        /// scoped or full. NULL: unknown.
        scope: Option<Scope>,
        /// Commit whose tree it judged. NULL: unknown, or the tree held uncommitted changes. With `passes_only` the commit that was checked
        /// out, whatever was uncommitted.
        head_sha: Option<String>,
        /// Whether it came before or after the tool call it is about. NULL: about none, or not recorded.
        phase: Option<Phase>,
        /// What it looked at where that is an identifier (`pr:107`, `path:src/main.rs`). NULL: not recorded.
        subject: Option<String>,
        /// Fingerprints that a pass names as resolved. NULL: the source names none.
        resolves: Option<Vec<String>>,
        /// Identifiers that back the verdict (event ids, files), never text.
        evidence: Option<String>,
        /// Detector that recognised it. NULL: the source itself says it is a gate.
        detector_id: Option<String>,
        /// recorded, implied_by_stage, inferred or passes_only; the last two never enter a rate.
        exposure_basis: ExposureBasis,
        /// Whether the source marks the span as written after the fact; such spans never set order.
        reconstructed: bool,
        /// Tokens it put into the context (estimate: bytes ÷ 4). NULL: unknown.
        injected_tokens_est: Option<i64>,
        /// Fresh input tokens of its own calls. NULL: none recorded.
        input_tokens: Option<i64>,
        /// Tokens its own calls read from cache.
        cache_read_tokens: Option<i64>,
        /// Tokens its own calls wrote to cache.
        cache_write_tokens: Option<i64>,
        /// Output tokens of its own calls.
        output_tokens: Option<i64>,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line.
        source_line: i64,
    }
}

record! {
    /// One gate run said one thing about one defect.
    Finding = "findings", Fact, key "finding_id" {
        /// Stable hash of the natural key.
        finding_id: String,
        /// The gate run that said it.
        gate_run_id: String,
        /// Its gate.
        gate_id: String,
        /// The rule, clause or stage it names.
        rule_id: Option<String>,
        /// Native id of the unit.
        unit: Option<String>,
        /// When it was said.
        observed_at: Option<Ts>,
        /// critical, major, minor or info. NULL: not said.
        severity: Option<Severity>,
        /// The source's own word.
        raw_severity: Option<String>,
        /// Failure mode of the harness's taxonomy.
        failure_mode: Option<String>,
        /// Failure class of the harness's taxonomy.
        failure_class: Option<String>,
        /// product, harness or infrastructure.
        about: About,
        /// Identity of the defect.
        fingerprint: String,
        /// What the fingerprint was made from.
        fingerprint_basis: FingerprintBasis,
        /// Fingerprint of the earlier report this one repeats. NULL: not said.
        repeat_of: Option<String>,
        /// SARIF `baselineState`. NULL: not said.
        baseline_state: Option<BaselineState>,
        /// Where the defect is (`path:line`, a test id, a stage), never text.
        location: Option<String>,
        /// Whether the gate says something can be done. NULL: not said.
        actionable: Option<bool>,
        /// Defects behind a record of which only a number is known; NULL for a single finding. Such rows never enter unique or miss figures.
        count: Option<i64>,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line.
        source_line: i64,
    }
}
