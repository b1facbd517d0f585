-- name: recurrences
-- title: Defects that came back
-- doc: One row a problem that is a recurrence of an earlier one, in the same run or a later one.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: problem_id The later problem.
-- column: recurs_of The earlier one.
-- column: fingerprint Identity of the defect.
-- column: severity Greatest severity of the later one.
-- column: run_id Run of the later one.
-- column: earlier_run_id Run of the earlier one.
-- column: same_run Whether both are in one run.
-- column: opened_at First finding of the later one.
-- column: earlier_closed_at Closing pass of the earlier one.
-- column: first_stop_gate_id Gate that stopped the later one first.
-- column: earlier_first_stop_gate_id Gate that stopped the earlier one first.
SELECT p.problem_id, p.recurs_of, p.fingerprint, p.severity, p.run_id, e.run_id AS earlier_run_id, p.run_id = e.run_id AS same_run, p.opened_at,
    e.closed_at AS earlier_closed_at, p.first_stop_gate_id, e.first_stop_gate_id AS earlier_first_stop_gate_id
FROM problems p SEMI JOIN runs_between($since, $until, $sessions) w ON w.run_id = p.run_id
LEFT JOIN problems e ON e.problem_id = p.recurs_of
WHERE p.recurs_of IS NOT NULL AND product_problem(p.about, p.human, p.label)
ORDER BY p.opened_at NULLS LAST, p.problem_id
