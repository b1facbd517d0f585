-- name: replay_dominance
-- title: Replay: which validators others make redundant
-- doc: One row a pair of which the second catches every failure that the first catches, and perhaps more. It says nothing of failures that nobody kept:
-- doc: a validator is not superfluous because this corpus has nothing that only it catches.
-- param: replay text null Id of a replay. Null: the newest of a whole corpus.
-- column: validator_id The validator that catches nothing of its own.
-- column: gate_id Its gate.
-- column: n_caught Failures it catches.
-- column: by_validator_id The one that catches them all.
-- column: by_gate_id Its gate.
-- column: by_n_caught Failures that one catches.
-- column: same_gate Whether both belong to one gate.
-- column: equal Whether both catch the very same failures: either could go, not both.
SELECT validator_id, gate_id, n_caught, by_validator_id, by_gate_id, by_n_caught, gate_id = by_gate_id AS same_gate, n_caught = by_n_caught AS equal
FROM replay_dominated($replay)
ORDER BY validator_id, by_validator_id
