-- name: replay_coverage
-- title: Replay: which failure modes each gate stops
-- doc: One row a gate and failure mode of the preserved failures, and one a failure mode for all gates together. Each failure is caught, missed, without
-- doc: verdict or not read: the four add up. A gate catches what one of its validators catches.
-- param: replay text null Id of a replay. Null: the newest of a whole corpus.
-- column: gate_id The gate. NULL: all gates together.
-- column: failure_mode Failure mode. NULL: none is named.
-- column: n_failures Failures of this mode.
-- column: n_caught Failures it catches, and is believed.
-- column: n_alone Of these, those no other gate catches. NULL for all gates together.
-- column: n_missed Failures it reads and does not catch.
-- column: n_no_verdict Failures it does not catch and had no verdict on: it crashed or timed out.
-- column: n_not_read Failures no validator of it reads.
-- column: n_expected Failures it is expected to catch.
-- column: worst_missed Worst severity among those missed.
-- column: missed Fixtures it misses.
WITH cells AS (
    SELECT * FROM replay_cells($replay) WHERE is_failure
), of_gate AS (
    SELECT gate_id, fixture_id, failure_mode, severity, bool_or(caught) AS caught, bool_or(outcome IN ('crashes', 'times_out')) AS silent,
        bool_and(outcome = 'unsupported') AS unread, bool_or(coalesce(expected_outcome = 'catches', false)) AS expected
    FROM cells GROUP BY gate_id, fixture_id, failure_mode, severity
), met AS (
    SELECT *, count(*) FILTER (WHERE caught) OVER (PARTITION BY fixture_id) AS n_gates FROM of_gate
    UNION ALL
    SELECT NULL, fixture_id, failure_mode, severity, bool_or(caught), bool_or(silent), bool_and(unread), bool_or(expected), NULL
    FROM of_gate GROUP BY fixture_id, failure_mode, severity
)
SELECT gate_id, failure_mode, count(*) AS n_failures, count(*) FILTER (WHERE caught) AS n_caught,
    CASE WHEN gate_id IS NOT NULL THEN count(*) FILTER (WHERE caught AND n_gates = 1) END AS n_alone,
    count(*) FILTER (WHERE NOT caught AND NOT silent AND NOT unread) AS n_missed, count(*) FILTER (WHERE NOT caught AND silent) AS n_no_verdict,
    count(*) FILTER (WHERE NOT caught AND NOT silent AND unread) AS n_not_read, count(*) FILTER (WHERE expected) AS n_expected,
    ['critical', 'major', 'minor', 'info'][min(severity_rank(severity)) FILTER (WHERE NOT caught AND NOT silent AND NOT unread)] AS worst_missed,
    coalesce(list(fixture_id ORDER BY fixture_id) FILTER (WHERE NOT caught AND NOT silent AND NOT unread), []) AS missed
FROM met
GROUP BY gate_id, failure_mode
ORDER BY gate_id NULLS FIRST, failure_mode NULLS LAST
