-- name: gate_changes
-- title: When gates last changed
-- doc: One row a gate, rule and basis that changed in the window: a recorded rule change, its text by git, the mode its gate runs were made in, the model that made them.
-- doc: Mode and model: the last change after which only the new value is seen. A single gate run that differs from those around it is no change,
-- doc: and neither is a single newest one. Text: the last commit that touched the script of a hook or the file of a rule, where git was read.
-- param: since timestamp null Changed at or after this time.
-- param: until timestamp null Changed before this time; nothing later is looked at.
-- column: gate_id The gate.
-- column: rule_id The rule. NULL: the gate as a whole.
-- column: basis rule_change, text, mode or model.
-- column: changed_at When it was decided or committed, else the first gate run with the new value.
-- column: was Value before. NULL: a recorded rule change, or a text.
-- column: became Value since, what was decided, or the path of the text.
-- column: n_before Gate runs that show the value before, from the change before it on. NULL: a recorded rule change, or a text.
-- column: n_since Gate runs that show the new value. NULL: a recorded rule change, or a text.
WITH said AS (
    SELECT g.gate_id, g.rule_id, 'mode' AS basis, g.enforcement AS value, coalesce(g.ended_at, g.started_at) AS seen_at, s.path, g.source_line, g.seq, g.gate_run_id
    FROM gate_runs g LEFT JOIN source_paths s ON s.source_id = g.source_id
    WHERE NOT g.reconstructed
    UNION ALL
    SELECT g.gate_id, g.rule_id, 'model', c.model, coalesce(g.ended_at, g.started_at), s.path, g.source_line, g.seq, g.gate_run_id
    FROM gate_runs g JOIN gates ga ON ga.gate_id = g.gate_id AND ga.kind = 'model' JOIN contexts c ON c.context_id = g.context_id
    LEFT JOIN source_paths s ON s.source_id = g.source_id
    WHERE NOT g.reconstructed
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY gate_id, rule_id, basis ORDER BY us(seen_at), path, source_line, seq, gate_run_id) AS n,
        row_number() OVER (PARTITION BY gate_id, rule_id, basis, value ORDER BY us(seen_at), path, source_line, seq, gate_run_id) AS n_of_value
    FROM said
    WHERE value IS NOT NULL AND us(seen_at) IS NOT NULL AND ($until IS NULL OR us(seen_at) < $until)
), stretch AS (
    -- Gate runs in a row with one value; one alone is odd.
    SELECT gate_id, rule_id, basis, value, min(n) AS n, min(seen_at) AS began, count(*) AS n_runs
    FROM placed
    GROUP BY gate_id, rule_id, basis, value, n - n_of_value
    HAVING count(*) > 1
), turned AS (
    SELECT *, lag(value) OVER (PARTITION BY gate_id, rule_id, basis ORDER BY n) AS was FROM stretch
), eras AS (
    -- Stretches of one value that only odd gate runs part are one.
    SELECT *, count(*) FILTER (WHERE was IS DISTINCT FROM value) OVER (PARTITION BY gate_id, rule_id, basis ORDER BY n) AS era FROM turned
), lasted AS (
    SELECT gate_id, rule_id, basis, era, min_by(value, n) AS value, min_by(was, n) AS was, min(began) AS began, sum(n_runs) AS n_runs
    FROM eras
    GROUP BY gate_id, rule_id, basis, era
), changed AS (
    SELECT gate_id, rule_id, basis, began, was, value, lag(n_runs) OVER (PARTITION BY gate_id, rule_id, basis ORDER BY era) AS n_before, n_runs AS n_since
    FROM lasted
    QUALIFY era > 1 AND era = max(era) OVER (PARTITION BY gate_id, rule_id, basis)
), decided AS (
    SELECT target AS gate_id, decided_at, what,
        row_number() OVER (PARTITION BY target ORDER BY us(decided_at) DESC, decision_id) AS n
    FROM decisions
    WHERE kind = 'rule_change' AND target IS NOT NULL AND us(decided_at) IS NOT NULL AND ($until IS NULL OR us(decided_at) < $until)
), texts AS (
    -- The script of a hook, and the files of rules. What a file declares beside others is no text of one gate.
    SELECT gate_id, NULL::VARCHAR AS rule_id, substr(identity, strpos(identity, ':') + 1) AS path FROM gates WHERE identity LIKE '%:%/%'
    UNION
    SELECT r.gate_id, r.rule_id, r.path FROM rules r JOIN gates g ON g.gate_id = r.gate_id
    WHERE r.path IS NOT NULL AND r.loaded_by IS NULL AND r.path IS DISTINCT FROM g.declared_in
), written AS (
    SELECT t.gate_id, t.rule_id, t.path, c.committed_at,
        row_number() OVER (PARTITION BY t.gate_id, t.rule_id ORDER BY us(c.committed_at) DESC, t.path, c.sha) AS n
    FROM texts t JOIN (SELECT sha, committed_at, unnest(control_paths) AS path FROM commits) c ON c.path = t.path
    WHERE us(c.committed_at) IS NOT NULL AND ($until IS NULL OR us(c.committed_at) < $until)
)
SELECT gate_id, rule_id, basis, began AS changed_at, was, value AS became, big(n_before) AS n_before, big(n_since) AS n_since
FROM changed
WHERE $since IS NULL OR us(began) >= $since
UNION ALL
SELECT gate_id, NULL, 'rule_change', decided_at, NULL, what, NULL, NULL
FROM decided
WHERE n = 1 AND ($since IS NULL OR us(decided_at) >= $since)
UNION ALL
SELECT gate_id, rule_id, 'text', committed_at, NULL, path, NULL, NULL
FROM written
WHERE n = 1 AND ($since IS NULL OR us(committed_at) >= $since)
ORDER BY changed_at, gate_id, rule_id NULLS FIRST, basis
