-- doc: One row a finding, under its final gate and about what it finally is; findings of a gate run that another tells better are left out
-- with it.
SELECT f.* REPLACE (coalesce(m.gate_id, f.gate_id) AS gate_id, coalesce(m.about, f.about) AS about)
FROM findings_distinct f
LEFT JOIN gate_run_marks m ON m.gate_run_id = f.gate_run_id
WHERE m.superseded_by IS NULL
