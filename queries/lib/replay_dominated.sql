-- kind: macro
-- doc: Pairs of validators of a replay of which the second catches all failures that the first catches, and perhaps more.
CREATE OR REPLACE MACRO replay_dominated(replay) AS TABLE
WITH caught AS (
    SELECT DISTINCT validator_id, gate_id, fixture_id FROM replay_cells(replay) WHERE caught
), totals AS (
    SELECT validator_id, min(gate_id) AS gate_id, count(*) AS n FROM caught GROUP BY validator_id
), shared AS (
    SELECT a.validator_id, b.validator_id AS by_validator_id, count(*) AS n
    FROM caught a JOIN caught b ON b.fixture_id = a.fixture_id AND b.validator_id <> a.validator_id
    GROUP BY a.validator_id, b.validator_id
)
SELECT s.validator_id, t.gate_id, t.n AS n_caught, s.by_validator_id, o.gate_id AS by_gate_id, o.n AS by_n_caught
FROM shared s JOIN totals t ON t.validator_id = s.validator_id AND t.n = s.n JOIN totals o ON o.validator_id = s.by_validator_id
