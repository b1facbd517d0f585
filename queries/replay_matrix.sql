-- name: replay_matrix
-- title: Replay: every validator on every fixture
-- doc: One row a cell of one replay. A failure is caught where a validator that is believed catches it: one that fails a control, or an emptied
-- doc: stimulus, would "catch" anything.
-- param: replay text null Id of a replay. Null: the newest of a whole corpus.
-- column: replay_id The replay.
-- column: replayed_at When it began.
-- column: part What of the corpus was replayed. NULL: all of it.
-- column: fixture_id The fixture.
-- column: fixture_class normative, known_defect or control.
-- column: severity How bad the preserved failure is.
-- column: failure_mode Its failure mode.
-- column: gate_id Gate of the validator.
-- column: validator_id The validator.
-- column: outcome What the validator did.
-- column: expected_outcome What was expected. NULL: nothing.
-- column: as_expected Whether it did as expected. NULL: nothing was.
-- column: believed Whether the validator passes every control and does not fail an emptied stimulus.
-- column: n_catchers Validators that are believed and catch this fixture.
-- column: issues What the replay told of this cell.
-- column: waived Whether all of it that fails the check is waived. NULL: nothing fails it.
-- column: reason Why, without what the validator printed.
-- column: wall_us Wall time of the run in microseconds, of the remembered one where it was remembered.
-- column: memo_hit Whether the outcome was remembered.
SELECT replay_id, replayed_at, part, fixture_id, fixture_class, severity, failure_mode, gate_id, validator_id, outcome, expected_outcome,
    outcome = expected_outcome AS as_expected, believed, count(*) FILTER (WHERE caught) OVER (PARTITION BY fixture_id) AS n_catchers, issues, waived, reason,
    wall_us, memo_hit
FROM replay_cells($replay)
ORDER BY list_position(['normative', 'known_defect', 'control'], fixture_class) NULLS LAST, fixture_id, gate_id, validator_id, source_line
