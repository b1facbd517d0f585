//! Owns the known answers of replays: what the queries say of small matrices, worked out by hand, and that they say what `replay`
//! itself computed.

use std::collections::BTreeMap;

use super::sample::{at, source};
use super::{Window, measure};
use crate::model::replay_results::ReplayResult;
use crate::model::vocabulary::{FixtureClass, ReplayFlip, ReplayOutcome, Severity};
use crate::sql::params::Param;
use crate::sql::testing::{World, lines};
use ReplayOutcome::Catches;

pub fn world() -> World {
    let mut world = World::new();
    world.put(1, &[source("a", "/a.json")]);
    world.current("a", 1);
    world
}

fn cell(replay: &str, fixture: &str, validator: &str, outcome: ReplayOutcome) -> ReplayResult {
    // The class is the beginning of the name: `good…` is a control, `known…` a known defect.
    let class = match fixture {
        f if f.starts_with("good") => FixtureClass::Control,
        f if f.starts_with("known") => FixtureClass::KnownDefect,
        _ => FixtureClass::Normative,
    };
    ReplayResult {
        replay_result_id: format!("{replay}/{fixture}/{validator}"),
        replay_id: replay.into(),
        results_digest: format!("found by {replay}"),
        replayed_at: replay.bytes().last().map(|minute| at(i64::from(minute))),
        mechanic_version: None,
        corpus_digest: None,
        part: None,
        exit_code: None,
        isolation_level: None,
        isolation_missing: None,
        validator_id: validator.into(),
        validator_digest: Some("d".into()),
        gate_id: validator.split('-').next().unwrap().into(),
        fixture_id: fixture.into(),
        fixture_digest: Some("d".into()),
        stimulus_kind: Some("tree".into()),
        fixture_class: Some(class),
        severity: Some(if fixture.ends_with('1') { Severity::Critical } else { Severity::Minor }),
        failure_mode: fixture.split_once('.').map(|(mode, _)| mode.into()),
        expected_outcome: None,
        outcome,
        reason: None,
        issues: Vec::new(),
        waived: None,
        n_findings: 0,
        substance: None,
        wall_us: None,
        memo_hit: None,
        emptied_outcome: None,
        baseline: None,
        baseline_outcome: None,
        flip: None,
        gone: false,
        source_id: "a".into(),
        source_line: 1,
    }
}

/// A matrix from text: a line a fixture, a column a validator, letters as heatmaps have them, `-` where there is no cell.
pub fn matrix(replay: &str, validators: &[&str], rows: &[(&str, &str)]) -> Vec<ReplayResult> {
    let outcome = |letter| ReplayOutcome::ALL.iter().copied().find(|o| o.letter() == letter);
    let row = |(fixture, letters): &(&str, &str)| {
        let cells = validators.iter().zip(letters.chars()).filter_map(|(v, letter)| Some(cell(replay, fixture, v, outcome(letter)?)));
        cells.collect::<Vec<_>>()
    };
    rows.iter().flat_map(row).collect()
}

fn told(world: &World, query: &str, columns: &[&str]) -> Vec<String> {
    lines(&measure(&world.engine(), query, Window::ALL, "UTC").unwrap(), columns)
}

/// Four failures and a control: `a-one` and `a-two` alike on the first two, `b-all` on three, `c-wolf` fails the control too.
fn sample() -> World {
    let mut world = world();
    let mut cells = matrix(
        "r1",
        &["a-one", "a-two", "b-all", "c-wolf", "d-none", "e-void"],
        &[("m.f1", "CCCC.V"), ("m.f2", "CCCCSV"), ("n.f3", "W.CC.V"), ("known.f4", "X.TC. "), ("good.1", "...C. ")],
    );
    for (n, row) in cells.iter_mut().enumerate() {
        row.wall_us = (row.validator_id == "a-one").then_some(1_000 * (n as i64 + 1));
        row.expected_outcome = (row.fixture_id == "m.f1" && row.gate_id == "a").then_some(Catches);
    }
    cells.reverse();
    world.put(1, &cells);
    world
}

#[test]
fn a_validators_worth_is_what_it_alone_catches_and_its_even_share() {
    let world = sample();
    let columns =
        ["validator_id", "believed", "n_failures", "n_read", "n_catches", "n_caught", "n_alone", "worst_alone", "share", "dead", "vacuous"];
    assert_eq!(
        told(&world, "replay_validators", &columns),
        [
            "a-one|true|4|4|2|2|0||0.6666666666666666|false|false",
            "a-two|true|4|4|2|2|0||0.6666666666666666|false|false",
            "b-all|true|4|4|3|3|1|minor|1.6666666666666665|false|false",
            "c-wolf|false|4|4|4|0|0||0.0|false|false",
            "d-none|true|4|4|0|0|0||0.0|true|false",
            "e-void|true|4|3|0|0|0||0.0|false|true",
        ]
    );
    let columns = [
        "validator_id",
        "n_misses",
        "n_wrong_reason",
        "n_vacuous",
        "n_skipped",
        "n_crashes",
        "n_times_out",
        "n_controls",
        "n_controls_failed",
    ];
    assert_eq!(
        told(&world, "replay_validators", &columns),
        [
            "a-one|0|1|0|0|1|0|1|0",
            "a-two|2|0|0|0|0|0|1|0",
            "b-all|0|0|0|0|0|1|1|0",
            "c-wolf|0|0|0|0|0|0|1|1",
            "d-none|3|0|0|1|0|0|1|0",
            "e-void|0|0|3|0|0|0|0|0"
        ]
    );
    // Five cells of 1, 7, 13, 19 and 25 ms.
    assert_eq!(told(&world, "replay_validators", &["validator_id", "wall_median_ms", "n_timed"])[..2], ["a-one|13.0|5", "a-two||0"]);
}

#[test]
fn a_validator_is_dominated_by_who_catches_all_it_catches() {
    assert_eq!(
        told(&sample(), "replay_dominance", &["validator_id", "n_caught", "by_validator_id", "by_n_caught", "same_gate", "equal"]),
        ["a-one|2|a-two|2|true|true", "a-one|2|b-all|3|false|false", "a-two|2|a-one|2|true|true", "a-two|2|b-all|3|false|false"]
    );
}

#[test]
fn a_failure_is_caught_missed_without_verdict_or_not_read_by_each_gate() {
    assert_eq!(
        told(
            &sample(),
            "replay_coverage",
            &[
                "gate_id",
                "failure_mode",
                "n_failures",
                "n_caught",
                "n_alone",
                "n_missed",
                "n_no_verdict",
                "n_not_read",
                "n_expected",
                "worst_missed",
                "missed"
            ]
        )[..7],
        [
            "|known|1|0||0|1|0|0||[]",
            "|m|2|2||0|0|0|1||[]",
            "|n|1|1||0|0|0|0||[]",
            "a|known|1|0|0|0|1|0|0||[]",
            "a|m|2|2|0|0|0|0|1||[]",
            "a|n|1|0|0|1|0|0|0|minor|[\"n.f3\"]",
            "b|known|1|0|0|0|1|0|0||[]",
        ]
    );
    let not_read = told(&sample(), "replay_coverage", &["gate_id", "failure_mode", "n_not_read"]);
    assert!(not_read.contains(&"e|known|1".to_owned()), "{not_read:?}");
}

#[test]
fn a_catch_of_a_validator_that_fails_a_control_or_nothing_at_all_is_none() {
    let mut world = world();
    let mut cells = matrix("r1", &["v", "w", "x"], &[("f1", "CCC"), ("good1", "F.."), ("good2", ". W")]);
    for row in cells.iter_mut().filter(|r| r.validator_id == "w") {
        row.emptied_outcome = Some(Catches);
    }
    world.put(1, &cells);
    assert_eq!(told(&world, "replay_validators", &["validator_id", "believed", "n_caught"]), ["v|false|0", "w|false|0", "x|false|0"]);
    assert_eq!(told(&world, "replay_matrix", &["fixture_id", "validator_id", "outcome", "n_catchers"])[0], "f1|v|catches|0");
}

#[test]
fn the_newest_replay_of_a_whole_corpus_is_shown_and_another_by_its_id() {
    let mut world = world();
    world.put(1, &matrix("r1", &["v"], &[("f1", "C")]));
    world.put(1, &matrix("r3", &["v"], &[("f1", "."), ("f2", "C")]));
    world.put(1, &matrix("r2", &["v"], &[("f1", "W")]));
    let part: Vec<ReplayResult> = matrix("r9", &["v"], &[("f1", "X")]);
    world.put(1, &part.into_iter().map(|r| ReplayResult { part: Some("shard 1/2".into()), ..r }).collect::<Vec<_>>());
    assert_eq!(told(&world, "replay_matrix", &["replay_id", "fixture_id", "outcome"]), ["r3|f1|misses", "r3|f2|catches"]);
    let chosen = world.engine().query("replay_matrix", &BTreeMap::from([("replay".to_owned(), Param::Text("r2".into()))])).unwrap();
    assert_eq!(lines(&chosen, &["replay_id", "outcome"]), ["r2|wrong_reason"]);
}

#[test]
fn what_became_otherwise_is_told_against_the_replay_before_that_found_something_else() {
    let mut world = world();
    world.put(
        1,
        &matrix(
            "r1",
            &["v", "w", "old"],
            &[("f1", "CC."), ("f2", "..C"), ("f3", "CW."), ("good1", "..."), ("good2", "C.."), ("f4", "XC-")],
        ),
    );
    world.put(
        1,
        &matrix(
            "r2",
            &["v", "w"],
            &[("f1", ".C"), ("f2", "C."), ("f3", "C."), ("good1", "WC"), ("good2", ".."), ("f4", "C."), ("f5", "C.")],
        ),
    );
    // Made again, it finds the same: no replay of its own to be held against.
    let again = matrix(
        "r3",
        &["v", "w"],
        &[("f1", ".C"), ("f2", "C."), ("f3", "C."), ("good1", "WC"), ("good2", ".."), ("f4", "C."), ("f5", "C.")],
    );
    world.put(1, &again.into_iter().map(|r| ReplayResult { results_digest: "found by r2".into(), ..r }).collect::<Vec<_>>());
    assert_eq!(
        told(
            &world,
            "replay_flips",
            &["against", "earlier", "replay_id", "flip", "fixture_id", "validator_id", "outcome_before", "outcome", "gone"]
        ),
        [
            "previous|r1|r3|newly_missed|f1|v|catches|misses|false",
            "previous|r1|r3|newly_missed|f2|old|catches|unsupported|true",
            "previous|r1|r3|newly_missed|f4|w|catches|misses|false",
            "previous|r1|r3|newly_wrong|good1|v|misses|wrong_reason|false",
            "previous|r1|r3|newly_wrong|good1|w|misses|catches|false",
            "previous|r1|r3|no_verdict|f4|v|crashes|catches|false",
            "previous|r1|r3|newly_caught|f2|v|misses|catches|false",
            "previous|r1|r3|no_longer_wrong|good2|v|catches|misses|false",
            "previous|r1|r3|otherwise|f1|old|misses|unsupported|true",
            "previous|r1|r3|otherwise|good1|old|misses|unsupported|true",
            "previous|r1|r3|otherwise|f3|old|misses|unsupported|true",
            "previous|r1|r3|otherwise|f3|w|wrong_reason|misses|false",
            "previous|r1|r3|otherwise|good2|old|misses|unsupported|true",
        ]
    );
}

#[test]
fn a_fixture_whose_bytes_changed_has_no_earlier_cell() {
    let mut world = world();
    world.put(1, &matrix("r1", &["v"], &[("f1", "C")]));
    let now: Vec<ReplayResult> = matrix("r2", &["v"], &[("f1", ".")]);
    world.put(1, &now.into_iter().map(|r| ReplayResult { fixture_digest: Some("other".into()), ..r }).collect::<Vec<_>>());
    assert!(told(&world, "replay_flips", &["flip"]).is_empty());
}

/// One word, one meaning: how a cell flipped is defined in Rust for replay and in SQL for the lake.
#[test]
fn sql_and_replay_name_every_flip_alike() {
    let engine = world().engine();
    let classes = FixtureClass::ALL.iter().map(|c| Some(*c)).chain([None]);
    for class in classes {
        let class_sql = class.map_or("NULL".to_owned(), |c| format!("'{c}'"));
        let pairs: Vec<(ReplayOutcome, ReplayOutcome)> =
            ReplayOutcome::ALL.iter().flat_map(|a| ReplayOutcome::ALL.iter().map(move |b| (*a, *b))).collect();
        let cases = pairs.iter().enumerate().map(|(n, (a, b))| format!("({n}, '{a}', '{b}')")).collect::<Vec<_>>().join(", ");
        let asked = format!("SELECT replay_flip(a, b, {class_sql}) AS flip FROM (VALUES {cases}) t(n, a, b) ORDER BY n");
        let said = lines(&engine.select(&asked).unwrap(), &["flip"]);
        let expected: Vec<&str> = pairs.iter().map(|(a, b)| ReplayFlip::of(*a, *b, class).as_str()).collect();
        assert_eq!(said, expected, "{class:?}");
    }
}
