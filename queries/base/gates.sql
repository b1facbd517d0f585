-- kind: table
-- doc: One row a gate, declared or only seen, with what the user's profile says of it (`gate_marks`) in place of what files say.
-- `pass_recorded` is earned: true where a control gate's own record shows a pass, else as declared.
-- `declared_not_seen`: some file declares it and no gate run names it or another name of it.
SELECT coalesce(d.gate_id, s.gate_id) AS gate_id, d.* EXCLUDE (gate_id, purpose, pass_recorded, source_id) REPLACE (
        coalesce(m.kind, d.kind) AS kind, coalesce(m.mode, d.mode) AS mode, coalesce(m.gate_order, d.gate_order) AS gate_order,
        coalesce(m.irreversible, d.irreversible) AS irreversible, coalesce(m.pinned, d.pinned) AS pinned,
        coalesce(m.covers, d.covers) AS covers, coalesce(m.aliases, d.aliases) AS aliases
    ),
    coalesce(m.purpose, d.purpose, 'unknown') AS purpose,
    CASE WHEN coalesce(m.purpose, d.purpose) = 'control' AND s.n_own_passes > 0 THEN true ELSE coalesce(m.pass_recorded, d.pass_recorded) END AS pass_recorded,
    d.declared_in IS NOT NULL AND s.gate_id IS NULL
        AND NOT list_has_any(coalesce(m.aliases, d.aliases, []::VARCHAR[]), coalesce((SELECT list(DISTINCT gate_id ORDER BY gate_id) FROM gate_runs), []::VARCHAR[]))
        AS declared_not_seen,
    coalesce(d.source_id, s.source_id) AS source_id
FROM gates_merged d
FULL JOIN (
    SELECT gate_id, count(*) FILTER (WHERE verdict = 'pass' AND exposure_basis = 'recorded') AS n_own_passes, min(source_id) AS source_id
    FROM gate_runs GROUP BY gate_id
) s ON s.gate_id = d.gate_id
LEFT JOIN gate_marks m ON m.gate_id = coalesce(d.gate_id, s.gate_id)
-- A name that only a gate run had which another record of the same run names better is no gate.
WHERE s.gate_id IS NOT NULL OR d.declared_in IS NOT NULL OR d.gate_order IS NOT NULL
