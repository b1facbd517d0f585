-- name: replay_validators
-- title: Replay: what each validator is worth
-- doc: One row a validator of one replay. Only catches that are believed count as caught. Worth is over failures, each counted once: alone is what would
-- doc: slip through without it, the fair share (Shapley) divides each failure evenly among all who catch it, so the shares of all add up to what is caught.
-- param: replay text null Id of a replay. Null: the newest of a whole corpus.
-- column: gate_id Gate of the validator.
-- column: validator_id The validator.
-- column: believed Whether it passes every control and does not fail an emptied stimulus.
-- column: n_failures Failures in the replay, controls apart.
-- column: n_read Of these, those it reads.
-- column: n_catches Failures it catches, believed or not.
-- column: n_misses Failures it passes.
-- column: n_wrong_reason Failures it fails without naming what it should.
-- column: n_vacuous Failures of which it read nothing.
-- column: n_skipped Failures it skips.
-- column: n_stale Failures for which its recorded verdict is stale.
-- column: n_flaky Failures on which its repeats differ.
-- column: n_crashes Failures on which it crashes.
-- column: n_times_out Failures on which it gives no verdict in time.
-- column: n_controls Controls it reads.
-- column: n_controls_failed Of these, those it fails, for whatever reason, or is flaky on.
-- column: emptied_outcome Outcome on emptied stimuli where it speaks on one: it says something of nothing. NULL: it does not.
-- column: n_caught Catches that are believed.
-- column: n_alone Of these, those nobody else catches: what leaving it out would lose.
-- column: worst_alone Worst severity among them.
-- column: share Fair share of all failures caught.
-- column: dominated_by Validators that catch all it catches, and perhaps more.
-- column: dead Whether it gives verdicts, is believed and catches nothing.
-- column: vacuous Whether it reads nothing of any failure.
-- column: wall_median_ms Median wall time of its runs, those remembered included.
-- column: n_timed Cells whose time is known.
WITH cells AS (
    SELECT * FROM replay_cells($replay)
), catchers AS (
    SELECT fixture_id, count(DISTINCT validator_id) AS k FROM cells WHERE caught GROUP BY fixture_id
), worth AS (
    SELECT c.validator_id, count(*) AS n_caught, count(*) FILTER (WHERE k = 1) AS n_alone, min(severity_rank(c.severity)) FILTER (WHERE k = 1) AS worst,
        list_sum(list(1.0::DOUBLE / k ORDER BY k)) AS share
    FROM cells c JOIN catchers k ON k.fixture_id = c.fixture_id
    WHERE c.caught GROUP BY c.validator_id
), dominated AS (
    SELECT validator_id, list(by_validator_id ORDER BY by_validator_id) AS dominated_by FROM replay_dominated($replay) GROUP BY validator_id
), counted AS (
    SELECT validator_id, min(gate_id) AS gate_id, bool_and(believed) AS believed, count(*) FILTER (WHERE is_failure) AS n_failures,
        count(*) FILTER (WHERE is_failure AND outcome <> 'unsupported') AS n_read,
        count(*) FILTER (WHERE is_failure AND outcome = 'catches') AS n_catches, count(*) FILTER (WHERE is_failure AND outcome = 'misses') AS n_misses,
        count(*) FILTER (WHERE is_failure AND outcome = 'wrong_reason') AS n_wrong_reason, count(*) FILTER (WHERE is_failure AND outcome = 'vacuous') AS n_vacuous,
        count(*) FILTER (WHERE is_failure AND outcome = 'skipped') AS n_skipped, count(*) FILTER (WHERE is_failure AND outcome = 'stale') AS n_stale,
        count(*) FILTER (WHERE is_failure AND outcome = 'flaky') AS n_flaky, count(*) FILTER (WHERE is_failure AND outcome = 'crashes') AS n_crashes,
        count(*) FILTER (WHERE is_failure AND outcome = 'times_out') AS n_times_out,
        count(*) FILTER (WHERE is_control AND outcome <> 'unsupported') AS n_controls,
        count(*) FILTER (WHERE is_control AND outcome IN ('catches', 'wrong_reason', 'flaky')) AS n_controls_failed,
        min(emptied_outcome) FILTER (WHERE emptied_outcome IN ('catches', 'misses', 'wrong_reason')) AS emptied_outcome,
        n_read - n_crashes - n_times_out AS n_verdicts,
        -- The mean of the two in the middle, or the one.
        (quantile_disc(wall_us, 0.5) - quantile_disc(-wall_us, 0.5)) / 2000.0::DOUBLE AS wall_median_ms, count(wall_us) AS n_timed
    FROM cells GROUP BY validator_id
)
SELECT c.gate_id, c.validator_id, c.believed, c.n_failures, c.n_read, c.n_catches, c.n_misses, c.n_wrong_reason, c.n_vacuous, c.n_skipped, c.n_stale, c.n_flaky,
    c.n_crashes, c.n_times_out, c.n_controls, c.n_controls_failed, c.emptied_outcome, coalesce(w.n_caught, 0) AS n_caught, coalesce(w.n_alone, 0) AS n_alone,
    ['critical', 'major', 'minor', 'info'][w.worst] AS worst_alone, coalesce(w.share, 0) AS share, coalesce(d.dominated_by, []) AS dominated_by,
    c.n_verdicts > 0 AND c.believed AND w.n_caught IS NULL AND c.n_vacuous < c.n_verdicts AS dead, c.n_verdicts > 0 AND c.n_vacuous = c.n_verdicts AS vacuous,
    c.wall_median_ms, c.n_timed
FROM counted c LEFT JOIN worth w ON w.validator_id = c.validator_id LEFT JOIN dominated d ON d.validator_id = c.validator_id
ORDER BY c.gate_id, c.validator_id
