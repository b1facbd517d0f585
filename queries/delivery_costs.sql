-- name: delivery_costs
-- title: Cost of a delivery, by harness version and model
-- doc: Medians and totals over the deliveries that ended in the window. A run that is no more than one session is no delivery unless asked for.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean false Whether runs that are no more than one agent session count too.
-- column: harness Harness. NULL: none recorded.
-- column: harness_version Version at the start of the runs.
-- column: model Dominant model.
-- column: n_runs Runs.
-- column: n_merged Runs with outcome merged.
-- column: elapsed_median_ms Median elapsed time.
-- column: active_median_ms Median active time.
-- column: n_timed Runs whose times are known.
-- column: output_median_tokens Median output tokens.
-- column: output_tokens Output tokens together.
-- column: n_with_tokens Runs whose tokens are known.
-- column: nano_usd_median Median price of the runs whose calls are all complete and priced.
-- column: nano_usd Price of complete calls together.
-- column: nano_usd_lower_bound What can be priced of the other calls.
-- column: n_fully_priced Runs whose calls are all complete and priced.
WITH tokens AS (
    SELECT run_id, sum(output_tokens) AS output_tokens, sum(nano_usd) AS nano_usd, sum(nano_usd_lower_bound) AS nano_usd_lower_bound,
        sum(n_incomplete + n_unpriced) = 0 AS fully_priced
    FROM context_tokens GROUP BY run_id
)
SELECT r.harness, r.harness_version, r.model, count(*) AS n_runs, count(*) FILTER (WHERE r.outcome = 'merged') AS n_merged,
    quantile_disc(r.elapsed_ms, 0.5) AS elapsed_median_ms, quantile_disc(r.active_ms, 0.5) AS active_median_ms, count(r.elapsed_ms) AS n_timed,
    big(quantile_disc(t.output_tokens, 0.5)) AS output_median_tokens, big(sum(t.output_tokens)) AS output_tokens, count(t.output_tokens) AS n_with_tokens,
    big(quantile_disc(CASE WHEN t.fully_priced THEN t.nano_usd END, 0.5)) AS nano_usd_median,
    big(sum(t.nano_usd)) AS nano_usd, big(sum(t.nano_usd_lower_bound)) AS nano_usd_lower_bound, count(*) FILTER (WHERE t.fully_priced) AS n_fully_priced
FROM runs_between($since, $until, $sessions) r LEFT JOIN tokens t ON t.run_id = r.run_id
GROUP BY r.harness, r.harness_version, r.model
ORDER BY r.harness NULLS LAST, r.harness_version NULLS LAST, r.model NULLS LAST
