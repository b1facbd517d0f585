//! Owns `usage_totals`: what a producer's cumulative counters grew by, where it states totals that no single call carries.

use super::record::record;
use super::time::Ts;
use super::vocabulary::{Quality, UsageTotalKind};

record! {
    /// One reading of a cumulative counter, as the difference to the reading before it: adding the rows of one kind gives the
    /// producer's own total. Never added to sums of calls, and kinds are never added to each other: they count the same tokens.
    UsageTotal = "usage_totals", Fact, key "usage_total_id" {
        /// Stable hash of session, record and model.
        usage_total_id: String,
        /// Context whose use it counts; the main context for a whole session, sub-agents included.
        context_id: String,
        /// Delivery in the words of the source.
        native_run_key: String,
        /// shutdown (per model) or checkpoint (all models together).
        kind: UsageTotalKind,
        /// Model. NULL: all models together.
        model: Option<String>,
        /// Leg of the session, 0-based: counts the readings of this kind that closed one.
        leg: i64,
        /// Epoch of the counters, 0-based: a new one begins where they fell or were found to count their leg alone.
        epoch: i64,
        /// When the counters were read.
        read_at: Option<Ts>,
        /// API requests.
        n_requests: Option<i64>,
        /// Premium requests, a decimal number in the vendor's unit.
        premium_requests: Option<f64>,
        /// Fresh input tokens, cache excluded.
        input_tokens: Option<i64>,
        /// Tokens read from cache.
        cache_read_tokens: Option<i64>,
        /// Tokens written to cache; the time to live is not said.
        cache_write_tokens: Option<i64>,
        /// Output tokens, reasoning included.
        output_tokens: Option<i64>,
        /// Reasoning tokens, part of output.
        reasoning_tokens: Option<i64>,
        /// Cost in nano AI units, the vendor's unit; never converted to money without a price.
        nano_aiu: Option<i64>,
        /// Milliseconds spent in API calls. NULL where it is stated for all models together and this row is of one.
        api_duration_ms: Option<i64>,
        /// exact: a first reading that agrees with the output of the calls; likely: a difference, or no calls to check it by;
        /// lower_bound: a compaction reset the counters within the leg.
        quality: Quality,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line.
        source_line: i64,
    }
}
