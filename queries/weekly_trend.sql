-- name: weekly_trend
-- title: Weekly trend
-- doc: One row an ISO week in which runs ended.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- param: tz zone UTC Time zone in which weeks begin.
-- column: week ISO week, as 2026-W48.
-- column: n_runs Runs that ended in it.
-- column: n_merged Runs with outcome merged.
-- column: n_outcome_known Runs whose outcome is known.
-- column: elapsed_median_ms Median elapsed time of its runs.
-- column: active_median_ms Median active time of its runs.
-- column: n_timed Runs whose elapsed time is known.
-- column: n_active_known Runs whose active time is known.
-- column: n_runs_observing Runs whose sources record verdicts: the coverage of the problem columns.
-- column: n_runs_recording_gates Runs whose sources record gate runs: the coverage of n_gate_runs and n_tolls.
-- column: n_gate_runs Gate runs of its runs. NULL, as n_tolls: no source of the runs records any.
-- column: gate_busy_ms Own time of those gate runs, overlaps counted each.
-- column: n_gate_runs_timed Gate runs whose own time is known.
-- column: n_problems Product problems. NULL, as the four columns after it: no source of the runs records verdicts.
-- column: n_first_stops_enforced Product problems stopped by a refusal.
-- column: n_first_stops_acted_on Product problems stopped by being followed.
-- column: n_unattributed Product problems no record attributes.
-- column: n_escaped Product problems first seen after merge.
-- column: n_tolls Gate runs that crashed, timed out or could not run.
-- column: n_calls Model calls of its runs. NULL, as the columns after it that count calls: no run has any.
-- column: output_tokens Output tokens of its runs.
-- column: n_output_known Calls whose output counter is known.
-- column: nano_usd Price of complete calls.
-- column: n_in_nano_usd Calls in it.
-- column: nano_usd_lower_bound What can be priced of the other calls.
-- column: n_in_nano_usd_lower_bound Calls in it; the calls in neither have no price.
-- column: n_with_tokens Runs whose tokens are known.
WITH w AS (
    SELECT run_id, outcome, elapsed_ms, active_ms, observes, week FROM runs_by_week($since, $until, $sessions, $tz)
), base AS (
    SELECT week, count(*) AS n_runs, count(*) FILTER (WHERE outcome = 'merged') AS n_merged, quantile_disc(elapsed_ms, 0.5) AS elapsed_median_ms,
        quantile_disc(active_ms, 0.5) AS active_median_ms, count(elapsed_ms) AS n_timed,
        count(active_ms) AS n_active_known, count(outcome) AS n_outcome_known,
        count(*) FILTER (WHERE list_contains(observes, 'verdicts')) AS n_runs_observing, count(*) FILTER (WHERE list_contains(observes, 'gate_runs')) AS n_observing_gates
    FROM w GROUP BY week
), gated AS (
    SELECT w.week, count(*) AS n_gate_runs, sum(c.busy_ms) AS gate_busy_ms, count(c.busy_ms) AS n_timed, count(*) FILTER (WHERE c.is_toll) AS n_tolls
    FROM gate_run_costs c JOIN w ON w.run_id = c.run_id GROUP BY w.week
), found AS (
    SELECT w.week, count(*) AS n_problems, count(*) FILTER (WHERE p.stop_basis = 'enforced') AS n_enforced, count(*) FILTER (WHERE p.stop_basis = 'acted_on') AS n_acted_on,
        count(*) FILTER (WHERE p.unattributed) AS n_unattributed, count(*) FILTER (WHERE p.escaped) AS n_escaped
    FROM problems p JOIN w ON w.run_id = p.run_id WHERE product_problem(p.about, p.human, p.label) GROUP BY w.week
), spent AS (
    SELECT w.week, sum(t.output_tokens) AS output_tokens, sum(t.nano_usd) AS nano_usd, sum(t.nano_usd_lower_bound) AS nano_usd_lower_bound,
        sum(t.n_calls) AS n_calls, sum(t.n_output_known) AS n_output_known, sum(t.n_in_nano_usd) AS n_in, sum(t.n_in_nano_usd_lower_bound) AS n_in_lower_bound,
        count(DISTINCT CASE WHEN t.n_output_known > 0 THEN t.run_id END) AS n_with_tokens
    FROM context_tokens t JOIN w ON w.run_id = t.run_id GROUP BY w.week
)
SELECT b.week, b.n_runs, b.n_merged, b.n_outcome_known, b.elapsed_median_ms, b.active_median_ms, b.n_timed, b.n_active_known, b.n_runs_observing,
    b.n_observing_gates AS n_runs_recording_gates,
    zero_if_observed(g.n_gate_runs, b.n_observing_gates) AS n_gate_runs, big(g.gate_busy_ms) AS gate_busy_ms,
    zero_if_observed(g.n_timed, b.n_observing_gates) AS n_gate_runs_timed,
    zero_if_observed(f.n_problems, b.n_runs_observing) AS n_problems, zero_if_observed(f.n_enforced, b.n_runs_observing) AS n_first_stops_enforced,
    zero_if_observed(f.n_acted_on, b.n_runs_observing) AS n_first_stops_acted_on,
    zero_if_observed(f.n_unattributed, b.n_runs_observing) AS n_unattributed, zero_if_observed(f.n_escaped, b.n_runs_observing) AS n_escaped,
    zero_if_observed(g.n_tolls, b.n_observing_gates) AS n_tolls, big(s.n_calls) AS n_calls,
    big(s.output_tokens) AS output_tokens, big(s.n_output_known) AS n_output_known, big(s.nano_usd) AS nano_usd, big(s.n_in) AS n_in_nano_usd,
    big(s.nano_usd_lower_bound) AS nano_usd_lower_bound, big(s.n_in_lower_bound) AS n_in_nano_usd_lower_bound, coalesce(s.n_with_tokens, 0) AS n_with_tokens
FROM base b LEFT JOIN gated g ON g.week = b.week LEFT JOIN found f ON f.week = b.week LEFT JOIN spent s ON s.week = b.week
ORDER BY b.week
