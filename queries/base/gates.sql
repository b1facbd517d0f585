-- kind: table
-- doc: One row a gate, declared or only seen. `pass_recorded` is earned: true where a control gate's own record shows a pass, else as declared.
-- `declared_not_seen`: some file declares it and no gate run names it or another name of it.
SELECT coalesce(d.gate_id, s.gate_id) AS gate_id, d.* EXCLUDE (gate_id, purpose, pass_recorded, source_id),
    coalesce(d.purpose, 'unknown') AS purpose,
    CASE WHEN d.purpose = 'control' AND s.n_own_passes > 0 THEN true ELSE d.pass_recorded END AS pass_recorded,
    d.declared_in IS NOT NULL AND s.gate_id IS NULL
        AND NOT list_has_any(coalesce(d.aliases, []::VARCHAR[]), coalesce((SELECT list(DISTINCT gate_id ORDER BY gate_id) FROM gate_runs), []::VARCHAR[]))
        AS declared_not_seen,
    coalesce(d.source_id, s.source_id) AS source_id
FROM gates_merged d
FULL JOIN (
    SELECT gate_id, count(*) FILTER (WHERE verdict = 'pass' AND exposure_basis = 'recorded') AS n_own_passes, min(source_id) AS source_id
    FROM gate_runs GROUP BY gate_id
) s ON s.gate_id = d.gate_id
-- A name that only a gate run had which another record of the same run names better is no gate.
WHERE s.gate_id IS NOT NULL OR d.declared_in IS NOT NULL OR d.gate_order IS NOT NULL
