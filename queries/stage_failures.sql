-- name: stage_failures
-- title: Where composite gates fail
-- doc: One row a gate and rule with failures: how often, about what, and what the findings name.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: gate_id The gate.
-- column: rule_id The rule or stage. NULL: the gate as a whole.
-- column: about product, harness or infrastructure.
-- column: n_failed Gate runs that failed.
-- column: n_counted Gate runs of it that passed, failed or warned.
-- column: n_runs_failed Runs with a failure.
-- column: n_runs_counted Runs in which it passed, failed or warned.
-- column: n_findings Findings of the failures.
-- column: n_problems Different defects among them.
WITH f AS (
    SELECT g.* FROM gate_run_facts g SEMI JOIN runs_between($since, $until, $sessions) w ON w.run_id = g.run_id
    WHERE g.verdict IN ('pass', 'fail', 'warn') AND g.exposure_basis IN ('recorded', 'implied_by_stage')
), found AS (
    SELECT f.gate_id, f.rule_id, f.about, count(*) AS n_findings, count(DISTINCT row(f.run_id, x.fingerprint)) AS n_problems
    FROM findings x JOIN f ON f.gate_run_id = x.gate_run_id WHERE f.verdict = 'fail'
    GROUP BY f.gate_id, f.rule_id, f.about
)
SELECT f.gate_id, f.rule_id, f.about, count(*) FILTER (WHERE f.verdict = 'fail') AS n_failed, count(*) AS n_counted,
    count(DISTINCT CASE WHEN f.verdict = 'fail' THEN f.run_id END) AS n_runs_failed, count(DISTINCT f.run_id) AS n_runs_counted,
    coalesce(min(x.n_findings), 0) AS n_findings, coalesce(min(x.n_problems), 0) AS n_problems
FROM f LEFT JOIN found x ON x.gate_id = f.gate_id AND x.rule_id IS NOT DISTINCT FROM f.rule_id AND x.about = f.about
GROUP BY f.gate_id, f.rule_id, f.about
HAVING count(*) FILTER (WHERE f.verdict = 'fail') > 0
ORDER BY n_failed DESC, f.gate_id, f.rule_id NULLS FIRST, f.about
