-- name: replay_flips
-- title: Replay: what became otherwise
-- doc: One row a cell that is not what it was: against the baseline the newest replay was compared with, and against the replay before it that found
-- doc: something else. Cells count as the same where validator and fixture have the same name and the fixture the same bytes.
-- column: against baseline or previous.
-- column: earlier What it is held against: the name of the baseline, or the id of the replay before.
-- column: earlier_at When that replay began. NULL: a baseline.
-- column: replay_id The newest replay.
-- column: replayed_at When it began.
-- column: flip newly_missed, newly_caught, newly_wrong, no_longer_wrong, otherwise, or no_verdict where one side has none.
-- column: fixture_id The fixture.
-- column: fixture_class normative, known_defect or control.
-- column: severity How bad the preserved failure is.
-- column: failure_mode Its failure mode.
-- column: gate_id Gate of the validator.
-- column: validator_id The validator.
-- column: outcome_before Outcome then.
-- column: outcome Outcome now.
-- column: gone Whether the validator is no longer there.
-- column: waived Whether all of it that fails the check is waived. NULL: nothing fails it.
WITH newest AS (
    SELECT * FROM replay_runs WHERE place = 1
), before AS (
    SELECT r.* FROM replay_runs r JOIN newest n ON n.part IS NULL AND r.part IS NULL AND r.place = 2
), now AS (
    SELECT r.* FROM replay_results r SEMI JOIN newest n ON n.replay_id = r.replay_id
), earlier AS (
    SELECT r.* FROM replay_results r SEMI JOIN before b ON b.replay_id = r.replay_id WHERE NOT r.gone
), pairs AS (
    SELECT n.fixture_id, n.fixture_class, n.severity, n.failure_mode, n.gate_id, n.validator_id, e.outcome AS outcome_before, n.outcome, false AS gone, n.waived
    FROM now n JOIN earlier e ON e.fixture_id = n.fixture_id AND e.validator_id = n.validator_id AND e.fixture_digest = n.fixture_digest
    WHERE NOT n.gone
    UNION ALL
    -- The fixture is still there and the validator is not.
    SELECT e.fixture_id, f.fixture_class, f.severity, f.failure_mode, e.gate_id, e.validator_id, e.outcome, 'unsupported', true, NULL
    FROM earlier e JOIN (SELECT DISTINCT fixture_id, fixture_digest, fixture_class, severity, failure_mode FROM now WHERE NOT gone) f
        ON f.fixture_id = e.fixture_id AND f.fixture_digest = e.fixture_digest
    ANTI JOIN now n ON n.fixture_id = e.fixture_id AND n.validator_id = e.validator_id AND NOT n.gone
), flips AS (
    SELECT 'baseline' AS against, n.baseline AS earlier, NULL::TIMESTAMP AS earlier_at, n.flip, n.fixture_id, n.fixture_class, n.severity, n.failure_mode, n.gate_id,
        n.validator_id, n.baseline_outcome AS outcome_before, n.outcome, n.gone, n.waived
    FROM now n WHERE n.flip IS NOT NULL
    UNION ALL
    SELECT 'previous', b.replay_id, b.replayed_at, replay_flip(p.outcome_before, p.outcome, p.fixture_class), p.fixture_id, p.fixture_class, p.severity,
        p.failure_mode, p.gate_id, p.validator_id, p.outcome_before, p.outcome, p.gone, p.waived
    FROM pairs p CROSS JOIN before b
)
SELECT f.against, f.earlier, f.earlier_at, n.replay_id, n.replayed_at, f.flip, f.fixture_id, f.fixture_class, f.severity, f.failure_mode, f.gate_id, f.validator_id,
    f.outcome_before, f.outcome, f.gone, f.waived
FROM flips f CROSS JOIN newest n
WHERE f.flip NOT IN ('unchanged', 'new')
ORDER BY f.against, list_position(['newly_missed', 'newly_wrong', 'no_verdict', 'newly_caught', 'no_longer_wrong', 'otherwise'], f.flip) NULLS LAST, severity_rank(f.severity) NULLS LAST, f.fixture_id, f.validator_id, f.outcome_before, f.outcome
