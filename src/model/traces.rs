//! Owns `trace_spans`: the facts of a lifecycle trace that are neither gate run nor finding, so that nothing of a trace is lost.

use super::record::record;
use super::time::Ts;

record! {
    /// One span of a lifecycle trace, in the words of OpenTelemetry GenAI; economics are the producer's own totals.
    TraceSpan = "trace_spans", Fact, key "span_row_id" {
        /// Stable hash of the natural key.
        span_row_id: String,
        /// Delivery in the words of the source.
        native_run_key: String,
        /// agent, model, tool or lifecycle.
        span: String,
        /// Lifecycle step or tool name.
        step: Option<String>,
        /// Stage reached.
        stage: Option<String>,
        /// `gen_ai.agent.name`.
        agent_name: Option<String>,
        /// Native id of the unit.
        unit: Option<String>,
        /// The source's own outcome word.
        outcome: Option<String>,
        /// Issue number as text.
        task: Option<String>,
        /// Harness version the span carries.
        harness_version: Option<String>,
        /// Harness commit the span carries.
        harness_commit: Option<String>,
        /// Branch the span names.
        branch: Option<String>,
        /// Repository folder the span names.
        repo: Option<String>,
        /// Pull request number as text.
        pr_number: Option<String>,
        /// Merge commit.
        merge_sha: Option<String>,
        /// Model of a model span.
        model: Option<String>,
        /// Native session id the span names.
        session: Option<String>,
        /// Whether the span was written after the fact.
        reconstructed: bool,
        /// End of the span.
        ended_at: Option<Ts>,
        /// Duration in milliseconds.
        duration_ms: Option<i64>,
        /// Input tokens as the span states them.
        input_tokens: Option<i64>,
        /// Output tokens as the span states them.
        output_tokens: Option<i64>,
        /// Economics: last minus first timestamp.
        econ_wall_clock_ms: Option<i64>,
        /// Economics: sum of gaps up to 30 minutes.
        econ_active_ms: Option<i64>,
        /// Economics: review rounds.
        econ_review_rounds: Option<i64>,
        /// Economics: tokens of native sub-agents.
        econ_subagent_tokens: Option<i64>,
        /// Economics: number of native sub-agents.
        econ_subagent_count: Option<i64>,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line.
        source_line: i64,
    }
}
