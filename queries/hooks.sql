-- name: hooks
-- title: Hooks: how often they ran and what they said
-- doc: One row a hook (a gate named by its event and script). "Dead" and "healthy but quiet" look alike unless passes are recorded.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: gate_id The hook.
-- column: event The event it hangs on.
-- column: purpose What it is for.
-- column: pass_recorded Whether its passes are recorded.
-- column: n_gate_runs Firings recorded.
-- column: n_runs Runs they are in.
-- column: n_pass Firings with verdict pass.
-- column: n_spoke Firings with verdict fail or warn.
-- column: n_failed_to_run Firings that crashed, timed out or could not run.
-- column: n_stopped_work Firings after which the work stopped.
-- column: busy_ms Own time.
-- column: n_timed Firings whose time is known.
-- column: injected_tokens_est Estimate of the tokens it put into contexts.
-- column: n_injected Firings of which that is known.
-- column: declared_not_seen Whether it is declared and never fired in any run.
WITH ran AS (
    SELECT f.gate_id, count(*) AS n_gate_runs, count(DISTINCT f.run_id) AS n_runs, count(*) FILTER (WHERE f.verdict = 'pass') AS n_pass,
        count(*) FILTER (WHERE f.verdict IN ('fail', 'warn')) AS n_spoke, count(*) FILTER (WHERE f.verdict IN ('crashed', 'timed_out', 'could_not_run')) AS n_failed_to_run,
        count(*) FILTER (WHERE f.stopped_work) AS n_stopped_work, sum(f.busy_ms) AS busy_ms, count(f.busy_ms) AS n_timed,
        sum(f.injected_tokens_est) AS injected_tokens_est, count(f.injected_tokens_est) AS n_injected
    FROM gate_run_facts f SEMI JOIN runs_between($since, $until, $sessions) w ON w.run_id = f.run_id
    GROUP BY f.gate_id
)
SELECT g.gate_id, split_part(g.gate_id, ':', 1) AS event, g.purpose, g.pass_recorded, coalesce(r.n_gate_runs, 0) AS n_gate_runs,
    coalesce(r.n_runs, 0) AS n_runs, coalesce(r.n_pass, 0) AS n_pass, coalesce(r.n_spoke, 0) AS n_spoke,
    coalesce(r.n_failed_to_run, 0) AS n_failed_to_run, coalesce(r.n_stopped_work, 0) AS n_stopped_work, big(r.busy_ms) AS busy_ms,
    coalesce(r.n_timed, 0) AS n_timed, big(r.injected_tokens_est) AS injected_tokens_est, coalesce(r.n_injected, 0) AS n_injected, g.declared_not_seen
FROM gates g LEFT JOIN ran r ON r.gate_id = g.gate_id
WHERE contains(g.gate_id, ':') AND split_part(g.gate_id, ':', 1) NOT IN ('permission', 'agent')
ORDER BY g.gate_id
