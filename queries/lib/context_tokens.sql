-- kind: table
-- doc: Tokens and price summed by run, context, call kind, model and quality of the output counter: what every token figure is summed from.
SELECT run_id, context_id, call_kind, model, output_quality,
    count(*) AS n_calls, count(*) FILTER (WHERE NOT priced) AS n_unpriced, count(*) FILTER (WHERE NOT complete) AS n_incomplete,
    count(input_tokens) AS n_input_known, count(output_tokens) AS n_output_known, count(nano_usd) AS n_in_nano_usd,
    count(nano_usd_lower_bound) AS n_in_nano_usd_lower_bound,
    big(sum(input_tokens)) AS input_tokens, big(sum(cache_read_tokens)) AS cache_read_tokens,
    big(sum(cache_write_5m_tokens)) AS cache_write_5m_tokens, big(sum(cache_write_1h_tokens)) AS cache_write_1h_tokens,
    big(sum(output_tokens)) AS output_tokens, big(sum(nano_usd)) AS nano_usd, big(sum(nano_usd_lower_bound)) AS nano_usd_lower_bound,
    big(sum(output_tokens) FILTER (WHERE NOT priced)) AS unpriced_output_tokens, min(ended_at) FILTER (WHERE NOT priced) AS first_unpriced_at
FROM call_costs
GROUP BY run_id, context_id, call_kind, model, output_quality
