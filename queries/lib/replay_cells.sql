-- kind: macro
-- doc: The cells of a replay, of the newest where `replay` is NULL. What a validator catches is not believed where it fails a control or an emptied
-- stimulus; `caught` is a catch of a failure that is believed. Validators that only a baseline has are left out.
CREATE OR REPLACE MACRO replay_cells(replay) AS TABLE
WITH cells AS (
    SELECT * FROM replay_results
    WHERE NOT gone AND replay_id = coalesce(replay, (SELECT replay_id FROM replay_runs WHERE place = 1))
), doubted AS (
    SELECT DISTINCT validator_id FROM cells
    WHERE (fixture_class = 'control' AND outcome IN ('catches', 'wrong_reason', 'flaky')) OR emptied_outcome = 'catches'
)
SELECT c.*, coalesce(c.fixture_class IN ('normative', 'known_defect'), false) AS is_failure, coalesce(c.fixture_class = 'control', false) AS is_control,
    d.validator_id IS NULL AS believed, is_failure AND believed AND c.outcome = 'catches' AS caught
FROM cells c LEFT JOIN doubted d ON d.validator_id = c.validator_id
