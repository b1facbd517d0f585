-- name: unattributed
-- title: Product problems no record attributes to a stop
-- doc: One row a problem that was reported and of which no record says which gate stopped it. They are kept apart: an unknown is no gate.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: problem_id The problem.
-- column: run_id The run.
-- column: task The issue's id.
-- column: fingerprint Identity of the defect.
-- column: severity Greatest severity.
-- column: first_detection_gate_id Gate that reported it first.
-- column: opened_at First finding.
-- column: closed_at Closing pass. NULL: open at the end of the run.
-- column: n_findings Findings in it.
SELECT p.problem_id, p.run_id, r.task, p.fingerprint, p.severity, p.first_detection_gate_id, p.opened_at, p.closed_at, p.n_findings
FROM problems p JOIN runs_between($since, $until, $sessions) r ON r.run_id = p.run_id
WHERE p.unattributed AND product_problem(p.about, p.human, p.label)
ORDER BY p.opened_at NULLS LAST, p.problem_id
