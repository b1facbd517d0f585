-- name: declared_not_seen
-- title: Gates and rules that are declared and were never seen
-- doc: One row a gate or rule that a file declares and no gate run or finding in the lake names, under its own name, an alias, or the rule that carries a clause out. Zero sightings are no proof of uselessness: its firings may be unobservable.
-- column: what gate or rule.
-- column: id Its name.
-- column: gate_id The gate it belongs to.
-- column: purpose What the gate is for.
-- column: pass_recorded Whether passes would be recorded.
-- column: declared_in File that declares it.
WITH seen AS (
    SELECT rule_id FROM gate_run_facts WHERE rule_id IS NOT NULL
    UNION
    SELECT rule_id FROM findings WHERE rule_id IS NOT NULL
), carried AS (
    -- A clause was seen where a rule that carries it out was.
    SELECT rule_id FROM seen
    UNION
    SELECT r.clause FROM rules_copies r JOIN seen USING (rule_id) WHERE r.clause IS NOT NULL
)
SELECT 'gate' AS what, gate_id AS id, gate_id, purpose, pass_recorded, declared_in FROM gates WHERE declared_not_seen
UNION ALL
SELECT 'rule', r.rule_id, r.gate_id, g.purpose, g.pass_recorded, r.path
FROM rules r LEFT JOIN gates g ON g.gate_id = r.gate_id
WHERE r.path IS NOT NULL AND r.loaded_by IS NULL AND r.rule_id NOT IN (SELECT rule_id FROM carried)
ORDER BY what, id, gate_id
