-- name: time_shares
-- title: Where the time of a week went
-- doc: One row an ISO week: the elapsed time of its runs, split so that the parts add up.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- param: tz zone UTC Time zone in which weeks begin.
-- column: week ISO week, as 2026-W48.
-- column: n_runs Runs whose time is known.
-- column: elapsed_ms Elapsed time together.
-- column: gate_ms Time whose innermost owner is a gate; so the columns to unrecorded_ms. NULL: no run of the week records it.
-- column: human_ms Waits and human gates.
-- column: tool_ms Tools.
-- column: model_ms Model.
-- column: idle_ms Gaps over 30 minutes.
-- column: unrecorded_ms Gaps in runs no session log covers.
-- column: n_with_gate Runs whose gate time is recorded.
-- column: n_with_human Runs whose waits are recorded.
-- column: n_with_tool Runs whose tool time is recorded.
-- column: n_with_model Runs whose model time is recorded: the coverage of the split.
SELECT r.week, count(*) AS n_runs, big(sum(t.elapsed_us) // 1000) AS elapsed_ms,
    big(sum(t.gate_us) // 1000) AS gate_ms, big(sum(t.human_us) // 1000) AS human_ms, big(sum(t.tool_us) // 1000) AS tool_ms,
    big(sum(t.model_us) // 1000) AS model_ms, big(sum(t.idle_us) // 1000) AS idle_ms, big(sum(t.unrecorded_us) // 1000) AS unrecorded_ms,
    count(t.gate_us) AS n_with_gate, count(t.human_us) AS n_with_human, count(t.tool_us) AS n_with_tool, count(t.model_us) AS n_with_model
FROM runs_by_week($since, $until, $sessions, $tz) r JOIN run_time t ON t.run_id = r.run_id
GROUP BY r.week
ORDER BY r.week
