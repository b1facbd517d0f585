//! Owns `replay_results`: what one validator did with one fixture in one replay.

use super::record::record;
use super::time::Ts;
use super::vocabulary::{FixtureClass, ReplayFlip, ReplayOutcome, Severity};

record! {
    /// One cell of one replay: a validator on a fixture. A fact and not a derived table: a replay runs programs, so no facts of the lake
    /// could give it again; its results file says it once, and the same files give the same lake in any order.
    ReplayResult = "replay_results", Fact, key "replay_result_id" {
        /// Stable hash of the natural key.
        replay_result_id: String,
        /// Digest of the results, times included: a replay made again is another one, a copied file is not.
        replay_id: String,
        /// Digest of what the replay found, times apart: replays that found the same have the same.
        results_digest: String,
        /// When the replay began. NULL: a results file that does not say.
        replayed_at: Option<Ts>,
        /// Version of the program that replayed.
        mechanic_version: Option<String>,
        /// Digest over ids and bytes of its fixtures. NULL: the file has no fixture with a digest.
        corpus_digest: Option<String>,
        /// What of the corpus was replayed (`shard 1/3`, `filter gate=lint`). NULL: all of it.
        part: Option<String>,
        /// Exit code of the replay: 0 held, 1 failed, 3 without a verdict somewhere.
        exit_code: Option<i64>,
        /// How runs were kept apart (`namespaces`, `supervised process`).
        isolation_level: Option<String>,
        /// Measures of isolation that were not in force. NULL: not recorded.
        isolation_missing: Option<Vec<String>>,
        /// The validator.
        validator_id: String,
        /// Digest of its command and files. NULL: it is no longer there.
        validator_digest: Option<String>,
        /// The gate it belongs to.
        gate_id: String,
        /// The fixture.
        fixture_id: String,
        /// Digest of the fixture's bytes.
        fixture_digest: Option<String>,
        /// Kind of its stimulus (tree, patch, trace, transcript, commit).
        stimulus_kind: Option<String>,
        /// normative, known_defect or control.
        fixture_class: Option<FixtureClass>,
        /// How bad the preserved failure is.
        severity: Option<Severity>,
        /// Failure mode of the preserved failure. NULL: none named.
        failure_mode: Option<String>,
        /// Expected outcome. NULL: nothing is expected of this validator here.
        expected_outcome: Option<ReplayOutcome>,
        /// What it did; of several repeats that differ, flaky.
        outcome: ReplayOutcome,
        /// Why, in the program's own words; what the validator printed is left out. NULL: not said.
        reason: Option<String>,
        /// Kinds of what the replay told of this cell (`missed`, `false_alarm`, `differs`); empty: nothing.
        issues: Vec<String>,
        /// Whether all of it that fails the check is waived. NULL: nothing of it fails the check.
        waived: Option<bool>,
        /// Findings it named.
        n_findings: i64,
        /// How many subjects it read. NULL: it does not say; 0: none.
        substance: Option<i64>,
        /// Wall time of the run in microseconds; of a remembered cell, of the run that is remembered. NULL: not run, or not recorded.
        wall_us: Option<i64>,
        /// Whether the outcome was remembered instead of run again. NULL: not recorded.
        memo_hit: Option<bool>,
        /// What the validator did with an emptied stimulus of this kind. NULL: not tried.
        emptied_outcome: Option<ReplayOutcome>,
        /// What the replay was compared with (a git reference or a file). NULL: nothing.
        baseline: Option<String>,
        /// Outcome there. NULL: no baseline, or no such cell of the same bytes in it.
        baseline_outcome: Option<ReplayOutcome>,
        /// How it differs from the baseline. NULL: no baseline.
        flip: Option<ReplayFlip>,
        /// Whether only the baseline has the validator: the row says what is no longer caught.
        gone: bool,
        /// The file this row comes from.
        source_id: String,
        /// 1-based position among the file's cells.
        source_line: i64,
    }
}
