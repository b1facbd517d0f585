-- doc: One row a gate run, with what later lines or other files tell of it (`gate_run_marks`) in place of what its own line says.
SELECT g.* REPLACE (coalesce(m.about, g.about) AS about, coalesce(m.verdict, g.verdict) AS verdict)
FROM gate_runs_distinct g
LEFT JOIN gate_run_marks m ON m.gate_run_id = g.gate_run_id
