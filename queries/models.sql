-- name: models
-- title: Runs by dominant model
-- doc: One row a dominant model. Runs are compared as they came: nothing here separates the model from what else changed.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: model Dominant model. NULL: no call names one.
-- column: n_runs Runs.
-- column: elapsed_median_ms Median elapsed time.
-- column: active_median_ms Median active time.
-- column: n_timed Runs whose elapsed time is known.
-- column: n_active_known Runs whose active time is known.
-- column: n_runs_observing Runs whose sources record verdicts: the coverage of the problem columns.
-- column: n_problems Product problems. NULL, as the three columns after it: no source of the runs records verdicts.
-- column: n_first_stops_enforced Product problems stopped by a refusal.
-- column: n_first_stops_acted_on Product problems stopped by being followed.
-- column: n_escaped Product problems first seen after merge.
WITH p AS (
    SELECT run_id, count(*) AS n, count(*) FILTER (WHERE stop_basis = 'enforced') AS enforced, count(*) FILTER (WHERE stop_basis = 'acted_on') AS acted_on, count(*) FILTER (WHERE escaped) AS escaped
    FROM problems WHERE product_problem(about, human, label) GROUP BY run_id
)
SELECT r.model, count(*) AS n_runs, quantile_disc(r.elapsed_ms, 0.5) AS elapsed_median_ms, quantile_disc(r.active_ms, 0.5) AS active_median_ms,
    count(r.elapsed_ms) AS n_timed, count(r.active_ms) AS n_active_known, count(*) FILTER (WHERE list_contains(r.observes, 'verdicts')) AS n_runs_observing,
    big(zero_if_observed(sum(p.n), n_runs_observing)) AS n_problems,
    big(zero_if_observed(sum(p.enforced), n_runs_observing)) AS n_first_stops_enforced,
    big(zero_if_observed(sum(p.acted_on), n_runs_observing)) AS n_first_stops_acted_on,
    big(zero_if_observed(sum(p.escaped), n_runs_observing)) AS n_escaped
FROM runs_between($since, $until, $sessions) r LEFT JOIN p ON p.run_id = r.run_id
GROUP BY r.model
ORDER BY r.model NULLS LAST
