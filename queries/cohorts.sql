-- name: cohorts
-- title: Cohorts by harness version and model
-- doc: One row a harness, version and dominant model. Cohorts differ in more than their names: a difference between two rows is no effect.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: harness Harness.
-- column: harness_version Version at the start of the runs.
-- column: model Dominant model.
-- column: n_runs Runs.
-- column: first_ended_at End of the earliest run.
-- column: last_ended_at End of the latest run.
-- column: n_ended Runs whose end is known.
-- column: active_median_ms Median active time.
-- column: n_timed Runs whose active time is known.
-- column: n_runs_recording_gates Runs whose sources record gate runs.
-- column: n_gate_runs Gate runs. NULL: no source of the runs records any.
-- column: n_runs_observing Runs whose sources record verdicts.
-- column: n_problems Product problems. NULL, as the four columns after it: no source of the runs records verdicts.
-- column: n_runs_with_problem Runs with at least one.
-- column: n_first_stops_enforced Product problems stopped by a refusal.
-- column: n_first_stops_acted_on Product problems stopped by being followed.
-- column: n_escaped Product problems first seen after merge.
-- column: output_tokens Output tokens.
-- column: n_calls Model calls. NULL, as n_output_known: no run has any.
-- column: n_output_known Calls whose output counter is known.
-- column: n_with_tokens Runs whose tokens are known.
WITH p AS (
    SELECT run_id, count(*) AS n, count(*) FILTER (WHERE stop_basis = 'enforced') AS enforced, count(*) FILTER (WHERE stop_basis = 'acted_on') AS acted_on, count(*) FILTER (WHERE escaped) AS escaped
    FROM problems WHERE product_problem(about, human, label) GROUP BY run_id
), g AS (
    SELECT run_id, count(*) AS n FROM gate_run_facts GROUP BY run_id
), t AS (
    SELECT run_id, sum(output_tokens) AS output_tokens, sum(n_calls) AS n_calls, sum(n_output_known) AS n_output_known FROM context_tokens GROUP BY run_id
)
SELECT r.harness, r.harness_version, r.model, count(*) AS n_runs, min(r.ended_at) AS first_ended_at, max(r.ended_at) AS last_ended_at, count(r.ended_at) AS n_ended,
    quantile_disc(r.active_ms, 0.5) AS active_median_ms, count(r.active_ms) AS n_timed, 
    count(*) FILTER (WHERE list_contains(r.observes, 'gate_runs')) AS n_runs_recording_gates, big(zero_if_observed(sum(g.n), n_runs_recording_gates)) AS n_gate_runs,
    count(*) FILTER (WHERE list_contains(r.observes, 'verdicts')) AS n_runs_observing,
    big(zero_if_observed(sum(p.n), n_runs_observing)) AS n_problems, zero_if_observed(nullif(count(p.n), 0), n_runs_observing) AS n_runs_with_problem,
    big(zero_if_observed(sum(p.enforced), n_runs_observing)) AS n_first_stops_enforced,
    big(zero_if_observed(sum(p.acted_on), n_runs_observing)) AS n_first_stops_acted_on,
    big(zero_if_observed(sum(p.escaped), n_runs_observing)) AS n_escaped, big(sum(t.output_tokens)) AS output_tokens, count(t.output_tokens) AS n_with_tokens,
    big(sum(t.n_calls)) AS n_calls, big(sum(t.n_output_known)) AS n_output_known
FROM runs_between($since, $until, $sessions) r
LEFT JOIN p ON p.run_id = r.run_id LEFT JOIN g ON g.run_id = r.run_id LEFT JOIN t ON t.run_id = r.run_id
GROUP BY r.harness, r.harness_version, r.model
ORDER BY r.harness NULLS LAST, r.harness_version NULLS LAST, r.model NULLS LAST
