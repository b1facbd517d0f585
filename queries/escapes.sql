-- name: escapes
-- title: Product problems first seen after merge
-- doc: One row an escape, with the gates that passed on it before (misses) and how surely.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: problem_id The problem.
-- column: run_id The run.
-- column: task The issue's id.
-- column: severity Greatest severity.
-- column: fingerprint Identity of the defect.
-- column: first_detection_gate_id Gate that reported it first.
-- column: first_stop_gate_id Gate that stopped it, after merge.
-- column: opened_at First finding.
-- column: missed_proven Gates that provably passed on it, sorted.
-- column: missed_possible Gates that may have passed on it, sorted.
SELECT p.problem_id, p.run_id, r.task, p.severity, p.fingerprint, p.first_detection_gate_id, p.first_stop_gate_id, p.opened_at,
    coalesce(list(DISTINCT m.gate_id ORDER BY m.gate_id) FILTER (m.miss_basis = 'proven'), []) AS missed_proven,
    coalesce(list(DISTINCT m.gate_id ORDER BY m.gate_id) FILTER (m.miss_basis = 'possible'), []) AS missed_possible
FROM problems p JOIN runs_between($since, $until, $sessions) r ON r.run_id = p.run_id
LEFT JOIN gate_problem m ON m.problem_id = p.problem_id AND m.encounter = 'missed'
WHERE p.escaped AND product_problem(p.about, p.human, p.label)
GROUP BY p.problem_id, p.run_id, r.task, p.severity, p.fingerprint, p.first_detection_gate_id, p.first_stop_gate_id, p.opened_at
ORDER BY p.opened_at NULLS LAST, p.problem_id
