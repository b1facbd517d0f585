-- name: gate_tokens
-- title: Tokens of every gate's own calls by model
-- doc: One row a gate, model and quality of the output counter. A call has at most one owning gate run; shares of a split call round down.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: gate_id The gate.
-- column: model Model id. NULL: the producer's own figures, which name none.
-- column: output_quality Quality of the output counter; producer for the producer's own figures.
-- column: cost_basis context (the gate run is a sub-agent), split (a share of the call that asked for it) or producer.
-- column: n_calls Model calls it owns, shares counted whole. NULL: the producer's own figures.
-- column: input_tokens Fresh input tokens.
-- column: cache_read_tokens Tokens read from cache.
-- column: cache_write_5m_tokens Tokens written to the 5-minute cache.
-- column: cache_write_1h_tokens Tokens written to the 1-hour cache.
-- column: output_tokens Output tokens.
-- column: n_output_known Calls, or gate runs with the producer's own figures, whose output tokens are known.
-- column: n_input_known Those whose fresh input tokens are known.
-- column: nano_usd Price of calls whose counters are complete.
-- column: nano_usd_lower_bound What can be priced of the other calls.
-- column: n_in_nano_usd Calls in nano_usd.
WITH w AS (
    SELECT run_id FROM runs_between($since, $until, $sessions)
), rows_ AS (
    SELECT gate_id, model, output_quality, cost_basis, 1 AS n, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
        output_tokens, nano_usd, nano_usd_lower_bound
    FROM gate_run_calls SEMI JOIN w USING (run_id)
    UNION ALL
    SELECT gate_id, NULL, 'producer', 'producer', NULL, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, NULL, NULL
    FROM gate_run_costs SEMI JOIN w USING (run_id)
    WHERE n_calls IS NULL AND coalesce(input_tokens, output_tokens, cache_read_tokens) IS NOT NULL
)
SELECT gate_id, model, output_quality, cost_basis, big(sum(n)) AS n_calls, big(sum(input_tokens)) AS input_tokens,
    big(sum(cache_read_tokens)) AS cache_read_tokens, big(sum(cache_write_5m_tokens)) AS cache_write_5m_tokens,
    big(sum(cache_write_1h_tokens)) AS cache_write_1h_tokens, big(sum(output_tokens)) AS output_tokens,
    count(output_tokens) AS n_output_known, count(input_tokens) AS n_input_known,
    big(sum(nano_usd)) AS nano_usd, big(sum(nano_usd_lower_bound)) AS nano_usd_lower_bound, count(nano_usd) AS n_in_nano_usd
FROM rows_
GROUP BY gate_id, model, output_quality, cost_basis
ORDER BY gate_id, model NULLS LAST, output_quality, cost_basis
