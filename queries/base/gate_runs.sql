-- kind: view
-- doc: One row a gate run, with what later lines, other files or the user's profile tell of it (`gate_run_marks`) in place of what its own
-- line says.
SELECT g.* REPLACE (
    coalesce(m.about, g.about) AS about, coalesce(m.verdict, g.verdict) AS verdict, coalesce(m.gate_id, g.gate_id) AS gate_id,
    coalesce(m.started_at, g.started_at) AS started_at, coalesce(m.duration_ms, g.duration_ms) AS duration_ms,
    coalesce(m.enforcement, g.enforcement) AS enforcement,
    CASE WHEN m.stop_unknown IS NOT TRUE THEN g.stopped_work END AS stopped_work
)
FROM gate_runs_distinct g
LEFT JOIN gate_run_marks m ON m.gate_run_id = g.gate_run_id
WHERE m.superseded_by IS NULL
