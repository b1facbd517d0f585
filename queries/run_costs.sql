-- name: run_costs
-- title: What every run cost
-- doc: One row a run: time, its split (gate + human + tool + model + idle + unrecorded = elapsed), contexts, tokens and price. Tokens and price are a lower bound of the bill: logs leave out requests the agent program makes on its own.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: run_id The run.
-- column: run_basis issue, trailer or session.
-- column: task The issue's id.
-- column: ended_at Last record.
-- column: elapsed_ms From first to last record.
-- column: active_ms Without gaps over 30 minutes.
-- column: gate_ms Time whose innermost owner is a gate. NULL: no gate run's time is recorded.
-- column: human_ms Waits of up to 30 minutes and human gates. NULL: no session log covers the run.
-- column: tool_ms Time whose owner is a tool. NULL: no tool time is recorded.
-- column: model_ms Time whose owner is the model. NULL: no call time is recorded.
-- column: idle_ms Gaps over 30 minutes.
-- column: unrecorded_ms Gaps of up to 30 minutes in runs no session log covers: whose time it was is unknown.
-- column: n_contexts Context windows. NULL: none recorded.
-- column: n_subagents Context windows another one started.
-- column: n_calls Model calls, all kinds. NULL: none recorded.
-- column: input_tokens Fresh input tokens.
-- column: cache_read_tokens Tokens read from cache.
-- column: cache_write_5m_tokens Tokens written to the 5-minute cache.
-- column: cache_write_1h_tokens Tokens written to the 1-hour cache.
-- column: output_tokens Output tokens.
-- column: n_output_exact Calls whose output counter is exact or likely: the coverage of output_tokens and nano_usd.
-- column: producer_subagent_tokens Tokens of sub-agents as the harness's own economics state them; never added to the sums of calls.
-- column: nano_usd Price of calls whose counters are complete.
-- column: nano_usd_lower_bound What can be priced of the other calls.
-- column: n_calls_unpriced Calls of a model without a price.
WITH tokens AS (
    SELECT run_id, sum(n_calls) AS n_calls, sum(input_tokens) AS input_tokens, sum(cache_read_tokens) AS cache_read_tokens,
        sum(cache_write_5m_tokens) AS cache_write_5m_tokens, sum(cache_write_1h_tokens) AS cache_write_1h_tokens,
        sum(output_tokens) AS output_tokens, sum(CASE WHEN output_quality IN ('exact', 'likely') THEN n_output_known ELSE 0 END) AS n_output_exact,
        sum(nano_usd) AS nano_usd, sum(nano_usd_lower_bound) AS nano_usd_lower_bound, sum(n_unpriced) AS n_unpriced
    FROM context_tokens GROUP BY run_id
), windows AS (
    SELECT run_id, count(*) AS n_contexts, count(parent_context_id) AS n_subagents FROM run_of_context WHERE run_id IS NOT NULL GROUP BY run_id
), economics AS (
    -- The last span that states economics wins.
    SELECT k.run_id, max_by(s.econ_subagent_tokens, row(coalesce(us(s.ended_at), 0), s.source_line, s.span_row_id)) AS subagent_tokens
    FROM trace_spans s JOIN run_of_key k ON k.native_run_key = s.native_run_key AND (k.source_id IS NULL OR k.source_id = s.source_id)
    WHERE s.econ_subagent_tokens IS NOT NULL
    GROUP BY k.run_id
)
SELECT r.run_id, r.run_basis, r.task, r.ended_at, r.elapsed_ms, r.active_ms,
    t.gate_us // 1000 AS gate_ms, t.human_us // 1000 AS human_ms, t.tool_us // 1000 AS tool_ms, t.model_us // 1000 AS model_ms,
    t.idle_us // 1000 AS idle_ms, t.unrecorded_us // 1000 AS unrecorded_ms,
    c.n_contexts, c.n_subagents, big(k.n_calls) AS n_calls,
    big(k.input_tokens) AS input_tokens, big(k.cache_read_tokens) AS cache_read_tokens, big(k.cache_write_5m_tokens) AS cache_write_5m_tokens,
    big(k.cache_write_1h_tokens) AS cache_write_1h_tokens, big(k.output_tokens) AS output_tokens, big(k.n_output_exact) AS n_output_exact,
    e.subagent_tokens AS producer_subagent_tokens,
    big(k.nano_usd) AS nano_usd, big(k.nano_usd_lower_bound) AS nano_usd_lower_bound, big(k.n_unpriced) AS n_calls_unpriced
FROM runs_between($since, $until, $sessions) r
LEFT JOIN run_time t ON t.run_id = r.run_id
LEFT JOIN windows c ON c.run_id = r.run_id
LEFT JOIN tokens k ON k.run_id = r.run_id
LEFT JOIN economics e ON e.run_id = r.run_id
ORDER BY r.ended_at NULLS LAST, r.run_id
