-- name: decisions
-- title: Waivers, overrides, releases, labels and rule changes
-- doc: One row a decision that the records show, with the run it was made in where one is known.
-- param: kind text null Only decisions of this kind (waiver, override, escalation, approval, label, rule_change, deviation, release, abandonment).
-- param: since timestamp null Decided at or after this time.
-- param: until timestamp null Decided before this time.
-- param: now timestamp null Time at which expiry is judged. NULL: expired stays unknown.
-- column: decided_at When.
-- column: kind Kind of decision.
-- column: what What was decided.
-- column: target What it is about.
-- column: failure_mode Failure mode it names.
-- column: failure_class Failure class it names.
-- column: run_id The run. NULL: tied to none.
-- column: expires_at Until when it holds.
-- column: expired Whether it has expired by `now`.
-- column: decision_id The decision.
SELECT d.decided_at, d.kind, d.what, d.target, d.failure_mode, d.failure_class, k.run_id, d.expires_at,
    us(d.expires_at) < $now AS expired, d.decision_id
FROM decisions d LEFT JOIN run_of_key k ON k.native_run_key = d.native_run_key AND (k.source_id IS NULL OR k.source_id = d.source_id)
WHERE ($kind IS NULL OR d.kind = $kind) AND ($since IS NULL OR us(d.decided_at) >= $since) AND ($until IS NULL OR us(d.decided_at) < $until)
ORDER BY d.decided_at NULLS LAST, d.decision_id
