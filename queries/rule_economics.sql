-- name: rule_economics
-- title: Cost and yield of every rule
-- doc: One row a rule (clause, stage, sensor) of a gate that is declared or was seen. Counts as in gate_economics.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: gate_id The gate.
-- column: rule_id The rule.
-- column: load always or on_demand, for rules that are text.
-- column: tokens Tokens it takes when loaded.
-- column: pinned Whether it is pinned.
-- column: n_gate_runs Gate runs that name it.
-- column: n_runs Runs with at least one of them.
-- column: n_pass Gate runs with verdict pass.
-- column: n_fail Gate runs with verdict fail.
-- column: n_warn Gate runs with verdict warn.
-- column: n_other Gate runs with any other verdict.
-- column: n_runs_counted Runs with at least one trial.
-- column: n_first_stops_enforced Product problems it stopped first, by refusing the step. NULL, as the two columns after it: its gate is no control.
-- column: n_first_stops_acted_on Product problems it stopped first, by being followed.
-- column: n_stops_not_product First stops of problems about the harness or the infrastructure.
-- column: n_findings Findings that name it.
-- column: rate_basis recorded or implied_by_stage: on what its trials rest. NULL: it has no rate.
-- column: zero_yield_upper95 Exact one-sided 95 % upper bound of first stops per run where there were none, none waits for a label, and its trials are known.
-- column: busy_ms Own time, overlaps counted each.
-- column: direct_ms Own time with one owner an instant.
-- column: n_timed Gate runs whose own time is known.
-- column: n_with_direct Gate runs whose direct time is known.
-- column: output_tokens Output tokens of its own calls.
-- column: n_with_tokens Gate runs whose output tokens are known.
WITH w AS (
    SELECT run_id FROM runs_between($since, $until, $sessions)
), ran AS (
    SELECT f.gate_id, f.rule_id, count(*) AS n_gate_runs, count(DISTINCT f.run_id) AS n_runs,
        count(*) FILTER (WHERE f.verdict = 'pass') AS n_pass, count(*) FILTER (WHERE f.verdict = 'fail') AS n_fail, count(*) FILTER (WHERE f.verdict = 'warn') AS n_warn,
        count(*) FILTER (WHERE f.verdict NOT IN ('pass', 'fail', 'warn')) AS n_other,
        count(DISTINCT CASE WHEN f.counted THEN f.run_id END) AS n_runs_counted,
        count(*) FILTER (WHERE f.counted) AS n_counted,
        count(*) FILTER (WHERE f.counted AND f.verdict = 'pass' AND f.exposure_basis = 'implied_by_stage') AS n_implied_pass,
        sum(c.busy_ms) AS busy_ms, sum(c.direct_us) // 1000 AS direct_ms, count(c.busy_ms) AS n_timed, count(c.direct_us) AS n_with_direct,
        sum(c.output_tokens) AS output_tokens, count(c.output_tokens) AS n_with_tokens
    FROM gate_run_facts f JOIN gate_run_costs c ON c.gate_run_id = f.gate_run_id SEMI JOIN w ON w.run_id = f.run_id
    WHERE f.rule_id IS NOT NULL
    GROUP BY f.gate_id, f.rule_id
), stopped AS (
    SELECT first_stop_gate_id AS gate_id, first_stop_rule_id AS rule_id,
        count(*) FILTER (WHERE product_problem(about, human, label) AND stop_basis = 'enforced') AS n_enforced,
        count(*) FILTER (WHERE product_problem(about, human, label) AND stop_basis = 'acted_on') AS n_acted_on,
        count(*) FILTER (WHERE product_problem(about, human, label)) AS n_first_stops, count(*) FILTER (WHERE about <> 'product') AS n_not_product,
        count(*) FILTER (WHERE about = 'product' AND human AND label IS NULL) AS n_unclassified
    FROM problems SEMI JOIN w USING (run_id)
    WHERE first_stop_rule_id IS NOT NULL
    GROUP BY first_stop_gate_id, first_stop_rule_id
), found AS (
    SELECT f.gate_id, f.rule_id, count(*) AS n_findings
    FROM findings f JOIN gate_run_facts g ON g.gate_run_id = f.gate_run_id SEMI JOIN w ON w.run_id = g.run_id
    WHERE f.rule_id IS NOT NULL
    GROUP BY f.gate_id, f.rule_id
), named AS (
    SELECT gate_id, rule_id FROM ran UNION SELECT gate_id, rule_id FROM stopped UNION SELECT gate_id, rule_id FROM found
    UNION SELECT coalesce(gate_id, ''), rule_id FROM rules WHERE loaded_by IS NULL
)
SELECT n.gate_id, n.rule_id, r.load, r.tokens, r.pinned,
    coalesce(ran.n_gate_runs, 0) AS n_gate_runs, coalesce(ran.n_runs, 0) AS n_runs, coalesce(n_pass, 0) AS n_pass, coalesce(n_fail, 0) AS n_fail,
    coalesce(n_warn, 0) AS n_warn, coalesce(n_other, 0) AS n_other, coalesce(n_runs_counted, 0) AS n_runs_counted,
    CASE WHEN g.purpose = 'control' AND ran.n_gate_runs > 0 THEN coalesce(n_enforced, 0) END AS n_first_stops_enforced,
    CASE WHEN g.purpose = 'control' AND ran.n_gate_runs > 0 THEN coalesce(n_acted_on, 0) END AS n_first_stops_acted_on,
    CASE WHEN g.purpose = 'control' AND ran.n_gate_runs > 0 THEN coalesce(n_not_product, 0) END AS n_stops_not_product, coalesce(n_findings, 0) AS n_findings,
    rate_basis(g.purpose, g.pass_recorded, n_runs_counted, n_counted, n_implied_pass) AS rate_basis,
    CASE WHEN rate_basis(g.purpose, g.pass_recorded, n_runs_counted, n_counted, n_implied_pass) IS NOT NULL AND coalesce(n_first_stops, 0) = 0
        AND coalesce(n_unclassified, 0) = 0 THEN upper95(n_runs_counted) END AS zero_yield_upper95,
    big(busy_ms) AS busy_ms, big(direct_ms) AS direct_ms, coalesce(n_timed, 0) AS n_timed, coalesce(n_with_direct, 0) AS n_with_direct,
    big(output_tokens) AS output_tokens, coalesce(n_with_tokens, 0) AS n_with_tokens
FROM named n
LEFT JOIN ran ON ran.gate_id = n.gate_id AND ran.rule_id = n.rule_id
LEFT JOIN stopped s ON s.gate_id = n.gate_id AND s.rule_id = n.rule_id
LEFT JOIN found f ON f.gate_id = n.gate_id AND f.rule_id = n.rule_id
LEFT JOIN rules r ON r.rule_id = n.rule_id AND coalesce(r.gate_id, n.gate_id) = n.gate_id
LEFT JOIN gates g ON g.gate_id = n.gate_id
ORDER BY g.gate_order NULLS LAST, n.gate_id, n.rule_id
