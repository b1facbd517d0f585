-- name: misses
-- title: Misses: gates that passed on a problem that was there
-- doc: One row a gate and problem. Only proven misses enter a rate; possible ones are shown.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: gate_id The gate that passed.
-- column: miss_basis proven or possible.
-- column: problem_id The problem.
-- column: run_id The run.
-- column: severity Greatest severity.
-- column: fingerprint Identity of the defect.
-- column: caught_by Gate that reported it first.
-- column: at When the gate passed.
-- column: gate_run_id The gate run that passed.
SELECT g.gate_id, g.miss_basis, g.problem_id, g.run_id, p.severity, p.fingerprint, p.first_detection_gate_id AS caught_by, g.at, g.gate_run_id
FROM gate_problem g JOIN problems p ON p.problem_id = g.problem_id
SEMI JOIN runs_between($since, $until, $sessions) w ON w.run_id = p.run_id
WHERE g.encounter = 'missed' AND product_problem(p.about, p.human, p.label)
ORDER BY g.gate_id, CASE g.miss_basis WHEN 'proven' THEN 0 ELSE 1 END, g.at NULLS LAST, g.problem_id, g.gate_run_id
