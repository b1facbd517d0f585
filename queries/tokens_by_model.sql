-- name: tokens_by_model
-- title: Tokens and price by model
-- doc: One row a model, kind of call and quality of the output counter. A placeholder (lower_bound) is never priced as exact. Sums are a lower bound of the bill: logs leave out requests the agent program makes on its own.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: model Model id as recorded.
-- column: call_kind message, advisor, fallback or compaction.
-- column: output_quality exact, likely, lower_bound or unknown.
-- column: n_calls Model calls.
-- column: n_runs Runs they are in.
-- column: input_tokens Fresh input tokens.
-- column: cache_read_tokens Tokens read from cache.
-- column: cache_write_5m_tokens Tokens written to the 5-minute cache.
-- column: cache_write_1h_tokens Tokens written to the 1-hour cache.
-- column: output_tokens Output tokens.
-- column: n_input_known Calls whose input counter is known.
-- column: n_output_known Calls whose output counter is known.
-- column: nano_usd Price of calls whose counters are complete.
-- column: nano_usd_lower_bound What can be priced of the other calls.
-- column: n_calls_unpriced Calls of a model without a price.
SELECT t.model, t.call_kind, t.output_quality, big(sum(t.n_calls)) AS n_calls, count(DISTINCT t.run_id) AS n_runs,
    big(sum(t.input_tokens)) AS input_tokens, big(sum(t.cache_read_tokens)) AS cache_read_tokens,
    big(sum(t.cache_write_5m_tokens)) AS cache_write_5m_tokens, big(sum(t.cache_write_1h_tokens)) AS cache_write_1h_tokens,
    big(sum(t.output_tokens)) AS output_tokens, big(sum(t.n_input_known)) AS n_input_known, big(sum(t.n_output_known)) AS n_output_known,
    big(sum(t.nano_usd)) AS nano_usd, big(sum(t.nano_usd_lower_bound)) AS nano_usd_lower_bound, big(sum(t.n_unpriced)) AS n_calls_unpriced
FROM context_tokens t SEMI JOIN runs_between($since, $until, $sessions) w ON w.run_id = t.run_id
GROUP BY t.model, t.call_kind, t.output_quality
ORDER BY t.model NULLS LAST, t.call_kind, t.output_quality
