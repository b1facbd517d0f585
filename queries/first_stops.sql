-- name: first_stops
-- title: First stops by gate, severity and basis
-- doc: One row a gate, severity and stop basis with product problems it stopped first. Enforced and acted-on stops stay apart.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: gate_id The gate.
-- column: severity critical, major, minor or info. NULL: no finding says.
-- column: stop_basis enforced or acted_on.
-- column: n_problems Problems.
-- column: n_runs Runs they are in.
-- column: n_concurrent Those whose order against another gate is unknown.
-- column: n_escaped Those that were stopped only after merge.
SELECT p.first_stop_gate_id AS gate_id, p.severity, p.stop_basis, count(*) AS n_problems, count(DISTINCT p.run_id) AS n_runs,
    count(*) FILTER (WHERE p.order_basis = 'concurrent') AS n_concurrent, count(*) FILTER (WHERE p.escaped) AS n_escaped
FROM problems p SEMI JOIN runs_between($since, $until, $sessions) w ON w.run_id = p.run_id
WHERE product_problem(p.about, p.human, p.label) AND p.first_stop_gate_id IS NOT NULL
GROUP BY p.first_stop_gate_id, p.severity, p.stop_basis
ORDER BY gate_id, CASE p.severity WHEN 'critical' THEN 0 WHEN 'major' THEN 1 WHEN 'minor' THEN 2 WHEN 'info' THEN 3 ELSE 4 END, p.stop_basis
