-- name: runs
-- title: Runs
-- doc: One row a run with what happened in it. A count of gate runs, problems or calls is 0 only where the run's sources can observe the thing.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: run_id The run.
-- column: run_basis issue, trailer or session.
-- column: link_basis How its sources were joined.
-- column: harness Harness it was made under.
-- column: harness_version Version at its start.
-- column: repo Repository.
-- column: task The issue's id.
-- column: model Dominant model.
-- column: outcome What became of it.
-- column: started_at First record.
-- column: ended_at Last record.
-- column: elapsed_ms From first to last record.
-- column: active_ms Without gaps over 30 minutes.
-- column: n_gate_runs Gate runs in it.
-- column: n_problems Product problems in it.
-- column: n_first_stops Product problems some gate stopped.
-- column: n_unattributed Product problems no record attributes.
-- column: n_escaped Product problems first seen after merge.
-- column: observes What its sources can observe.
WITH g AS (
    SELECT run_id, count(*) AS n FROM gate_run_facts WHERE run_id IS NOT NULL GROUP BY run_id
), p AS (
    SELECT run_id, count(*) AS n, count(first_stop_gate_id) AS n_first_stops, count(*) FILTER (WHERE unattributed) AS n_unattributed, count(*) FILTER (WHERE escaped) AS n_escaped
    FROM problems WHERE product_problem(about, human, label) GROUP BY run_id
)
SELECT r.run_id, r.run_basis, r.link_basis, r.harness, r.harness_version, r.repo, r.task, r.model, r.outcome, r.started_at, r.ended_at,
    r.elapsed_ms, r.active_ms,
    zero_if_observed(g.n, list_contains(r.observes, 'gate_runs')::INTEGER) AS n_gate_runs,
    zero_if_observed(p.n, list_contains(r.observes, 'verdicts')::INTEGER) AS n_problems,
    zero_if_observed(p.n_first_stops, list_contains(r.observes, 'verdicts')::INTEGER) AS n_first_stops,
    zero_if_observed(p.n_unattributed, list_contains(r.observes, 'verdicts')::INTEGER) AS n_unattributed,
    zero_if_observed(p.n_escaped, list_contains(r.observes, 'verdicts')::INTEGER) AS n_escaped,
    r.observes
FROM runs_between($since, $until, $sessions) r
LEFT JOIN g ON g.run_id = r.run_id
LEFT JOIN p ON p.run_id = r.run_id
ORDER BY r.ended_at NULLS LAST, r.run_id
