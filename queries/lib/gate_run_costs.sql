-- kind: table
-- doc: One row a gate run with everything it cost: own time (busy, direct), own tokens (calls it owns, else the producer's own figures), price,
-- toll, and context rent. Time in microseconds, money in nano-USD; NULL where not known.
WITH calls AS (
    SELECT gate_run_id, count(*) AS n_calls, count(*) FILTER (WHERE NOT priced) AS n_unpriced, count(*) FILTER (WHERE NOT complete) AS n_incomplete,
        big(sum(input_tokens)) AS input_tokens, big(sum(cache_read_tokens)) AS cache_read_tokens,
        big(sum(cache_write_5m_tokens)) AS cache_write_5m_tokens, big(sum(cache_write_1h_tokens)) AS cache_write_1h_tokens,
        big(sum(output_tokens)) AS output_tokens, big(sum(nano_usd)) AS nano_usd, big(sum(nano_usd_lower_bound)) AS nano_usd_lower_bound
    FROM gate_run_calls GROUP BY gate_run_id
), injected AS (
    -- The tokens a gate run put into a context, and the moment of the compaction that took them out again.
    SELECT f.gate_run_id, f.context_id, f.at_us,
        coalesce(f.injected_tokens_est, CASE WHEN f.detector_id IS NOT NULL THEN t.result_tokens_est END) AS tokens,
        coalesce(x.at_us, 9000000000000000000) AS until_us
    FROM gate_run_facts f
    LEFT JOIN tool_calls t ON t.tool_call_id = f.tool_call_id AND f.detector_id IS NOT NULL
    ASOF LEFT JOIN (SELECT context_id, us(ended_at) AS at_us FROM model_calls WHERE call_kind = 'compaction') x
        ON x.context_id = f.context_id AND x.at_us > f.at_us
    WHERE f.context_id IS NOT NULL AND f.at_us IS NOT NULL AND (f.injected_tokens_est > 0 OR f.detector_id IS NOT NULL)
), counted AS (
    -- How many calls each context had made by each moment.
    SELECT context_id, at_us, sum(n) OVER (PARTITION BY context_id ORDER BY at_us ROWS UNBOUNDED PRECEDING) AS n
    FROM (
        SELECT context_id, us(ended_at) AS at_us, count(*) AS n FROM model_calls
        WHERE call_kind = 'message' AND us(ended_at) IS NOT NULL AND context_id IN (SELECT context_id FROM injected)
        GROUP BY context_id, us(ended_at)
    )
), rents AS (
    -- Of a context without any recorded call it is not known how often they were carried.
    SELECT i.gate_run_id, i.tokens,
        CASE WHEN i.context_id IN (SELECT context_id FROM counted) THEN big(i.tokens::HUGEINT * (coalesce(b.n, 0) - coalesce(a.n, 0))) END AS rent_tokens
    FROM injected i
    ASOF LEFT JOIN counted a ON a.context_id = i.context_id AND a.at_us <= i.at_us
    ASOF LEFT JOIN counted b ON b.context_id = i.context_id AND b.at_us <= i.until_us
    WHERE i.tokens > 0
), blocked AS (
    -- Calls whose tool was refused by a gate that crashed closed: each call once, at the first such gate run.
    SELECT g.gate_run_id, big(sum(c.output_tokens)) AS output_tokens
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
    r.rent_tokens
FROM gate_run_facts f
LEFT JOIN gate_run_time t ON t.gate_run_id = f.gate_run_id
LEFT JOIN calls c ON c.gate_run_id = f.gate_run_id
LEFT JOIN rents r ON r.gate_run_id = f.gate_run_id
LEFT JOIN blocked b ON b.gate_run_id = f.gate_run_id
