-- name: verdicts
-- title: Verdicts of every gate
-- doc: One row a gate, verdict, subject and way the exposure is known.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: gate_id The gate.
-- column: verdict The verdict.
-- column: about product, harness or infrastructure.
-- column: exposure_basis recorded, implied_by_stage, inferred or passes_only (a source that keeps passes only).
-- column: n_gate_runs Gate runs.
-- column: n_runs Runs they are in.
-- column: n_stopped_work Gate runs after which the work stopped.
-- column: n_stopped_known Gate runs of which that is known.
SELECT f.gate_id, f.verdict, f.about, f.exposure_basis, count(*) AS n_gate_runs, count(DISTINCT f.run_id) AS n_runs,
    count(*) FILTER (WHERE f.stopped_work) AS n_stopped_work, count(f.stopped_work) AS n_stopped_known
FROM gate_run_facts f SEMI JOIN runs_between($since, $until, $sessions) w ON w.run_id = f.run_id
GROUP BY f.gate_id, f.verdict, f.about, f.exposure_basis
ORDER BY f.gate_id, f.verdict, f.about, f.exposure_basis
