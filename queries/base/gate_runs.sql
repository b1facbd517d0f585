-- kind: view
-- doc: One row a gate run, with what later lines or other files tell of it (`gate_run_marks`) in place of what its own line says.
SELECT g.* REPLACE (
    coalesce(m.about, g.about) AS about, coalesce(m.verdict, g.verdict) AS verdict, coalesce(m.gate_id, g.gate_id) AS gate_id,
    coalesce(m.started_at, g.started_at) AS started_at, coalesce(m.duration_ms, g.duration_ms) AS duration_ms
)
FROM gate_runs_distinct g
LEFT JOIN gate_run_marks m ON m.gate_run_id = g.gate_run_id
WHERE m.superseded_by IS NULL
