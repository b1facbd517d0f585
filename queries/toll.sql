-- name: toll
-- title: Toll: what gates cost by failing to run
-- doc: One row a gate with crashes, time-outs and runs that could not be. Own time, blocked time and tokens are views, never added up.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: gate_id The gate.
-- column: n_crashed Gate runs that crashed.
-- column: n_timed_out Gate runs that timed out.
-- column: n_could_not_run Gate runs that could not run.
-- column: n_stopped_work Those after which the work stopped: closed, not open.
-- column: n_runs Runs they are in.
-- column: toll_ms Own time of them.
-- column: n_timed Those whose time is known.
-- column: n_blockages Spans from a refused tool call to the next such call let through.
-- column: n_blockages_open Blockages that never ended.
-- column: toll_blocked_ms Time of the blockages that ended.
-- column: toll_output_tokens Output tokens of the calls whose tool was refused.
WITH w AS (
    SELECT run_id FROM runs_between($since, $until, $sessions)
), blocked AS (
    SELECT gate_id, count(*) AS n, count(*) FILTER (WHERE until_us IS NULL) AS n_open, sum(until_us - from_us) // 1000 AS ms
    FROM toll_episodes SEMI JOIN w USING (run_id) GROUP BY gate_id
), ran AS (
    SELECT f.gate_id, count(*) FILTER (WHERE f.verdict = 'crashed') AS n_crashed, count(*) FILTER (WHERE f.verdict = 'timed_out') AS n_timed_out,
        count(*) FILTER (WHERE f.verdict = 'could_not_run') AS n_could_not_run, count(*) FILTER (WHERE f.stopped_work) AS n_stopped_work, count(DISTINCT f.run_id) AS n_runs,
        sum(c.busy_ms) AS toll_ms, count(c.busy_ms) AS n_timed, sum(c.blocked_output_tokens) AS toll_output_tokens
    FROM gate_run_facts f JOIN gate_run_costs c ON c.gate_run_id = f.gate_run_id SEMI JOIN w ON w.run_id = f.run_id
    WHERE c.is_toll GROUP BY f.gate_id
)
SELECT r.gate_id, r.n_crashed, r.n_timed_out, r.n_could_not_run, r.n_stopped_work, r.n_runs, big(r.toll_ms) AS toll_ms, r.n_timed,
    coalesce(b.n, 0) AS n_blockages, coalesce(b.n_open, 0) AS n_blockages_open, big(b.ms) AS toll_blocked_ms, big(r.toll_output_tokens) AS toll_output_tokens
FROM ran r LEFT JOIN blocked b ON b.gate_id = r.gate_id
ORDER BY r.gate_id
