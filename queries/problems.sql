-- name: problems
-- title: Problems
-- doc: One row a problem: an episode of one defect, with its first detection, first stop and what became of it.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- param: about text null Only problems about product, harness or infrastructure.
-- param: gate text null Only problems this gate stopped or reported first.
-- column: problem_id The problem.
-- column: run_id The run.
-- column: unit_id The unit.
-- column: fingerprint Identity of the defect.
-- column: fingerprint_basis What the fingerprint was made from.
-- column: severity Greatest severity a finding gave it.
-- column: failure_class Failure class.
-- column: about product, harness or infrastructure.
-- column: first_detection_gate_id Gate that reported it first.
-- column: first_stop_gate_id Gate that stopped it first.
-- column: first_stop_rule_id Rule that stopped it first.
-- column: stop_basis enforced or acted_on.
-- column: order_basis How the order is known.
-- column: co_first Gates whose reports overlap the first detection, or whose stops overlap the first stop.
-- column: unattributed Whether no record attributes it.
-- column: escaped Whether it was first seen after merge. NULL: one of the two times is unknown.
-- column: disposition What became of it.
-- column: label A person's latest label: true, false-alarm or duplicate.
-- column: human Whether a person detected it first.
-- column: n_findings Findings in it.
-- column: opened_at First finding.
-- column: closed_at Closing pass.
-- column: recurs_of Earlier problem of the same defect.
-- column: rework_ms From first stop to the closing pass.
SELECT p.problem_id, p.run_id, p.unit_id, p.fingerprint, p.fingerprint_basis, p.severity, p.failure_class, p.about, p.first_detection_gate_id,
    p.first_stop_gate_id, p.first_stop_rule_id, p.stop_basis, p.order_basis, p.co_first, p.unattributed, p.escaped, p.disposition, p.label, p.human, p.n_findings,
    p.opened_at, p.closed_at, p.recurs_of, p.rework_ms
FROM problems p SEMI JOIN runs_between($since, $until, $sessions) w ON w.run_id = p.run_id
WHERE ($about IS NULL OR p.about = $about) AND ($gate IS NULL OR p.first_stop_gate_id = $gate OR p.first_detection_gate_id = $gate)
ORDER BY p.opened_at NULLS LAST, p.problem_id
