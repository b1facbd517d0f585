-- kind: view
-- doc: One row a model call with its price. `nano_usd` is set only where every counter is known and exact or likely; where a counter is a
-- placeholder or unknown, what can be priced stands in `nano_usd_lower_bound`; both are NULL where the model has no price then.
SELECT c.call_id, c.run_id, c.context_id, c.call_kind, c.model, c.ended_at, us(c.ended_at) AS at_us, c.duration_ms,
    c.input_tokens, c.cache_read_tokens, c.cache_write_5m_tokens, c.cache_write_1h_tokens, c.output_tokens,
    c.input_quality, c.cache_read_quality, c.cache_write_quality, c.output_quality, c.source_id,
    complete, p.model IS NOT NULL AS priced,
    CASE WHEN complete THEN big(usd) END AS nano_usd,
    CASE WHEN NOT complete THEN big(usd) END AS nano_usd_lower_bound
FROM (
    SELECT *,
        input_tokens IS NOT NULL AND output_tokens IS NOT NULL AND input_quality IN ('exact', 'likely')
            AND output_quality IN ('exact', 'likely') AND cache_read_quality IN ('exact', 'likely')
            AND cache_write_quality IN ('exact', 'likely') AS complete
    FROM model_calls
) c
LEFT JOIN model_price p ON p.model = c.model AND us(c.ended_at) >= p.from_us AND us(c.ended_at) < p.until_us
CROSS JOIN LATERAL (SELECT
    coalesce(c.input_tokens, 0)::HUGEINT * p.nano_usd_input + coalesce(c.cache_read_tokens, 0)::HUGEINT * p.nano_usd_cache_read
    + coalesce(c.cache_write_5m_tokens, 0)::HUGEINT * p.nano_usd_cache_write_5m
    + coalesce(c.cache_write_1h_tokens, 0)::HUGEINT * p.nano_usd_cache_write_1h
    + coalesce(c.output_tokens, 0)::HUGEINT * p.nano_usd_output AS usd) u
