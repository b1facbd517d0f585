-- kind: table
-- doc: One row a gate run with everything it cost: own time (busy, direct), own tokens (calls it owns, else the producer's own figures), price,
-- toll, and context rent. Time in microseconds, money in nano-USD; NULL where not known.
WITH calls AS (
    SELECT gate_run_id, count(*) AS n_calls, count(*) FILTER (WHERE NOT priced) AS n_unpriced, count(*) FILTER (WHERE NOT complete) AS n_incomplete,
        sum(input_tokens) AS input_tokens, sum(cache_read_tokens) AS cache_read_tokens,
        sum(cache_write_5m_tokens) AS cache_write_5m_tokens, sum(cache_write_1h_tokens) AS cache_write_1h_tokens,
        sum(output_tokens) AS output_tokens, sum(nano_usd) AS nano_usd, sum(nano_usd_lower_bound) AS nano_usd_lower_bound
    FROM gate_run_calls GROUP BY gate_run_id
), rents AS (
    SELECT g.gate_run_id, min(g.tokens) AS tokens, count(m.call_id) AS n_later_calls
    FROM (
        SELECT f.gate_run_id, f.context_id, f.at_us,
            coalesce(f.injected_tokens_est, CASE WHEN f.detector_id IS NOT NULL THEN t.result_tokens_est END) AS tokens,
            (SELECT min(epoch_us(x.ended_at)) FROM model_calls x
             WHERE x.context_id = f.context_id AND x.call_kind = 'compaction' AND epoch_us(x.ended_at) > f.at_us) AS until_us
        FROM gate_run_facts f LEFT JOIN tool_calls t ON t.tool_call_id = f.tool_call_id
        WHERE f.context_id IS NOT NULL AND f.at_us IS NOT NULL
    ) g
    LEFT JOIN model_calls m ON m.context_id = g.context_id AND m.call_kind = 'message' AND epoch_us(m.ended_at) > g.at_us
        AND (g.until_us IS NULL OR epoch_us(m.ended_at) <= g.until_us)
    WHERE g.tokens > 0
    GROUP BY g.gate_run_id
), blocked AS (
    -- Calls whose tool was refused by a gate that crashed closed: each call once, at the first such gate run.
    SELECT g.gate_run_id, sum(c.output_tokens) AS output_tokens
    FROM (
        SELECT f.gate_run_id, t.call_id FROM gate_run_facts f JOIN tool_calls t ON t.tool_call_id = f.tool_call_id
        WHERE f.verdict IN ('crashed', 'timed_out', 'could_not_run') AND f.stopped_work AND t.call_id IS NOT NULL
        QUALIFY row_number() OVER (PARTITION BY t.call_id ORDER BY f.at_us NULLS LAST, f.seq, f.gate_run_id) = 1
    ) g
    JOIN (SELECT call_id, max(output_tokens) AS output_tokens FROM model_calls GROUP BY call_id) c ON c.call_id = g.call_id
    GROUP BY g.gate_run_id
)
SELECT f.gate_run_id, f.run_id, f.gate_id, f.rule_id, f.busy_ms, t.direct_us,
    c.n_calls, c.n_unpriced, c.n_incomplete,
    CASE WHEN c.n_calls IS NOT NULL THEN c.input_tokens ELSE f.input_tokens END AS input_tokens,
    CASE WHEN c.n_calls IS NOT NULL THEN c.cache_read_tokens ELSE f.cache_read_tokens END AS cache_read_tokens,
    CASE WHEN c.n_calls IS NOT NULL THEN c.cache_write_5m_tokens ELSE f.cache_write_tokens END AS cache_write_5m_tokens,
    c.cache_write_1h_tokens,
    CASE WHEN c.n_calls IS NOT NULL THEN c.output_tokens ELSE f.output_tokens END AS output_tokens,
    c.nano_usd, c.nano_usd_lower_bound,
    f.verdict IN ('crashed', 'timed_out', 'could_not_run') AS is_toll,
    b.output_tokens AS blocked_output_tokens,
    r.tokens AS rent_tokens_each, r.tokens * r.n_later_calls AS rent_tokens
FROM gate_run_facts f
LEFT JOIN gate_run_time t ON t.gate_run_id = f.gate_run_id
LEFT JOIN calls c ON c.gate_run_id = f.gate_run_id
LEFT JOIN rents r ON r.gate_run_id = f.gate_run_id
LEFT JOIN blocked b ON b.gate_run_id = f.gate_run_id
