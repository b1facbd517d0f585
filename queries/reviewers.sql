-- name: reviewers
-- title: Reviewers: model gates and their contexts
-- doc: One row a model gate: what it said, what its own calls cost. Tokens known only as the size of a last call are counted, never summed.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: gate_id The reviewer.
-- column: n_gate_runs Reviews.
-- column: n_runs Runs they are in.
-- column: n_pass Reviews that passed.
-- column: n_fail Reviews that failed.
-- column: n_other Reviews with any other verdict.
-- column: n_findings Findings.
-- column: n_first_stops_enforced Product problems it stopped first, by refusing the step.
-- column: n_first_stops_acted_on Product problems it stopped first, by being followed.
-- column: n_disposed First stops of which a label or disposition tells whether they were right.
-- column: n_false_alarms First stops that were false alarms.
-- column: busy_ms Own time.
-- column: n_timed Reviews whose time is known.
-- column: output_tokens Output tokens of its own calls.
-- column: n_with_tokens Reviews whose tokens are known.
-- column: n_last_call_only Reviews whose context states no more than the size of its last call.
-- column: nano_usd Price of its complete calls.
-- column: n_with_nano_usd Reviews with such calls.
-- column: nano_usd_lower_bound What can be priced of its other calls.
WITH w AS (
    SELECT run_id FROM runs_between($since, $until, $sessions)
), ran AS (
    SELECT f.gate_id, count(*) AS n_gate_runs, count(DISTINCT f.run_id) AS n_runs, count(*) FILTER (WHERE f.verdict = 'pass') AS n_pass,
        count(*) FILTER (WHERE f.verdict = 'fail') AS n_fail, count(*) FILTER (WHERE f.verdict NOT IN ('pass', 'fail')) AS n_other,
        sum(c.busy_ms) AS busy_ms, count(c.busy_ms) AS n_timed, sum(c.output_tokens) AS output_tokens, count(c.output_tokens) AS n_with_tokens,
        count(*) FILTER (WHERE x.token_basis = 'last_call_only') AS n_last_call_only, sum(c.nano_usd) AS nano_usd, count(c.nano_usd) AS n_with_nano_usd, sum(c.nano_usd_lower_bound) AS nano_usd_lower_bound
    FROM gate_run_facts f JOIN gate_run_costs c ON c.gate_run_id = f.gate_run_id SEMI JOIN w ON w.run_id = f.run_id
    LEFT JOIN contexts x ON x.context_id = f.context_id
    WHERE f.gate_kind = 'model'
    GROUP BY f.gate_id
), said AS (
    SELECT f.gate_id, count(*) AS n_findings FROM findings f JOIN gate_run_facts g ON g.gate_run_id = f.gate_run_id SEMI JOIN w ON w.run_id = g.run_id
    GROUP BY f.gate_id
), stopped AS (
    SELECT first_stop_gate_id AS gate_id, count(*) FILTER (WHERE stop_basis = 'enforced') AS n_enforced, count(*) FILTER (WHERE stop_basis = 'acted_on') AS n_acted_on,
        count(*) FILTER (WHERE false_alarm(label, disposition) IS NOT NULL) AS n_disposed,
        count(*) FILTER (WHERE false_alarm(label, disposition)) AS n_false_alarms
    FROM problems SEMI JOIN w USING (run_id) WHERE product_problem(about, human, label) AND first_stop_gate_id IS NOT NULL GROUP BY first_stop_gate_id
)
SELECT r.gate_id, r.n_gate_runs, r.n_runs, r.n_pass, r.n_fail, r.n_other, coalesce(s.n_findings, 0) AS n_findings,
    coalesce(t.n_enforced, 0) AS n_first_stops_enforced, coalesce(t.n_acted_on, 0) AS n_first_stops_acted_on, coalesce(t.n_disposed, 0) AS n_disposed, coalesce(t.n_false_alarms, 0) AS n_false_alarms,
    big(r.busy_ms) AS busy_ms, r.n_timed, big(r.output_tokens) AS output_tokens, r.n_with_tokens, r.n_last_call_only,
    big(r.nano_usd) AS nano_usd, r.n_with_nano_usd, big(r.nano_usd_lower_bound) AS nano_usd_lower_bound
FROM ran r LEFT JOIN said s ON s.gate_id = r.gate_id LEFT JOIN stopped t ON t.gate_id = r.gate_id
ORDER BY r.gate_id
