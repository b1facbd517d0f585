//! Owns `contexts`, `model_call_copies` and `tool_calls`: what an agent's session log says of model windows, API calls and tools.

use super::record::record;
use super::time::Ts;
use super::vocabulary::{CallKind, Quality, RoleBasis, TokenBasis};

record! {
    /// One model context window: a session or a sub-agent in it, as one file shows it.
    Context = "contexts", Fact, key "context_id" {
        /// Stable hash of format and native id.
        context_id: String,
        /// The context that started it. NULL: a root session, or the link is unknown.
        parent_context_id: Option<String>,
        /// Key of the delivery in the words of the source (`session:<id>`, `issue:<n>@<hash>`).
        native_run_key: String,
        /// What the context is for (`reviewer`, an agent type …). NULL: unknown.
        role: Option<String>,
        /// What the role was read from.
        role_basis: Option<RoleBasis>,
        /// Agent name or type.
        agent_name: Option<String>,
        /// Model most calls used. NULL: no call names one.
        model: Option<String>,
        /// First record.
        started_at: Option<Ts>,
        /// Last record.
        ended_at: Option<Ts>,
        /// What the token total is made of.
        token_basis: Option<TokenBasis>,
        /// Total the producer states (all kinds of token, cumulative). NULL: none stated. Never added to sums of calls.
        producer_total_tokens: Option<i64>,
        /// Version of the agent program.
        tool_version: Option<String>,
        /// Working directory, the home directory cut to `~`.
        cwd: Option<String>,
        /// Branch the log names.
        git_branch: Option<String>,
        /// Repository the log names (`owner/name`).
        repo: Option<String>,
        /// Compactions of the context, where recorded.
        n_compactions: Option<i64>,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line of the first record.
        source_line: i64,
    }
}

/// Columns of a context that come from the first copy whose first of them is known, not from the copy shown: a sub-agent's role and
/// total are told by its parent's file, its compactions by its own.
pub const CONTEXT_TOLD_TOGETHER: [(&str, &[&str]); 3] = [
    ("role", &["role", "role_basis"]),
    ("producer_total_tokens", &["producer_total_tokens", "token_basis"]),
    ("n_compactions", &["n_compactions"]),
];

record! {
    /// One file's copy of one API call. Counters follow one habit whatever the vendor's: `input_tokens` is fresh input, cache excluded.
    ModelCallCopy = "model_call_copies", Fact, key "" {
        /// Stable hash of format and native call id.
        call_id: String,
        /// message, advisor, fallback or compaction.
        call_kind: CallKind,
        /// Context that made the call.
        context_id: String,
        /// Native session id the copy names: tells a copy from a collision.
        session: Option<String>,
        /// When the last block of the call was written.
        ended_at: Option<Ts>,
        /// Milliseconds from the record before the call to its last block; waits included.
        duration_ms: Option<i64>,
        /// Model id as recorded.
        model: Option<String>,
        /// Fresh input tokens.
        input_tokens: Option<i64>,
        /// Tokens read from cache.
        cache_read_tokens: Option<i64>,
        /// Tokens written to the 5-minute cache.
        cache_write_5m_tokens: Option<i64>,
        /// Tokens written to the 1-hour cache.
        cache_write_1h_tokens: Option<i64>,
        /// Output tokens, reasoning included.
        output_tokens: Option<i64>,
        /// Reasoning tokens, part of output.
        reasoning_tokens: Option<i64>,
        /// How far `input_tokens` can be trusted.
        input_quality: Quality,
        /// How far `cache_read_tokens` can be trusted.
        cache_read_quality: Quality,
        /// How far the cache writes can be trusted.
        cache_write_quality: Quality,
        /// How far `output_tokens` can be trusted; `lower_bound` is never priced as exact.
        output_quality: Quality,
        /// Characters of visible output: the base of an estimate where the counter is a placeholder.
        output_chars: Option<i64>,
        /// Why the call ended. NULL: not recorded.
        stop_reason: Option<String>,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line of the last line of the call.
        source_line: i64,
    }
}

record! {
    /// One tool execution.
    ToolCall = "tool_calls", Fact, key "tool_call_id" {
        /// Stable hash of format and native id.
        tool_call_id: String,
        /// Context it ran in.
        context_id: String,
        /// Model call that asked for it. NULL: unknown.
        call_id: Option<String>,
        /// Tool name as recorded.
        name: String,
        /// When it was asked for.
        started_at: Option<Ts>,
        /// When its result was recorded. NULL: no result (an orphan).
        ended_at: Option<Ts>,
        /// Milliseconds from request to result, waits for permission included.
        duration_ms: Option<i64>,
        /// Whether it succeeded. NULL: unknown.
        success: Option<bool>,
        /// Exit status of a shell command. NULL: none recorded.
        exit_status: Option<i64>,
        /// Who refused it (`user`, `permission-rule`, `hook`, `auto-mode`). NULL: not refused.
        denied_by: Option<String>,
        /// Digest of the arguments.
        args_hash: Option<String>,
        /// First program of a shell command (`cargo`), never its arguments.
        command_name: Option<String>,
        /// Whether it may have changed files. NULL: unknown.
        writes: Option<bool>,
        /// Digest of the paths it names.
        paths_hash: Option<String>,
        /// Bytes of the result as given to the model.
        result_bytes: Option<i64>,
        /// Estimate of the result's tokens (bytes ÷ 4).
        result_tokens_est: Option<i64>,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line of the request.
        source_line: i64,
    }
}
