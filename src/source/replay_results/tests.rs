//! Owns the tests of reading results files: what becomes a row, and that nothing hostile costs more than itself.

use std::path::Path;

use serde_json::{Value, json};

use super::ReplayResults;
use crate::model::vocabulary::{FixtureClass, ReplayFlip, ReplayOutcome, Severity};
use crate::source::emit::{Collect, Facts, Summary};
use crate::source::{Input, claim, head_of, read_file};

/// Two fixtures, a control; a validator that catches, and one that is blind and waived at one of them.
fn document() -> Value {
    let fixture = |id: &str, class: &str| {
        json!({"id": id, "title": "t", "origin": "o", "kind": "tree", "severity": "major", "classification": class,
            "failure_mode": "blind", "digest": format!("sha256:{id}")})
    };
    let cell = |fixture: &str, validator: &str, outcome: &str| {
        json!({"fixture": fixture, "validator": validator, "gate": "g", "outcome": outcome, "expected": "catches",
            "why": "it failed: SECRET token=abc", "findings": [{"rule": "r"}], "substance": 2})
    };
    json!({
        "format": 1, "mechanic": "0.1.0", "exit": 1,
        "isolation": {"level": "namespaces", "in_force": ["rlimits"], "missing": ["Landlock"]},
        "fixtures": [fixture("one", "normative"), fixture("two", "normative"), fixture("good", "control")],
        "validators": [{"id": "look", "gate": "g", "digest": "sha256:1"}, {"id": "blind", "gate": "g", "digest": "sha256:2"}],
        "cells": [cell("one", "look", "catches"), cell("one", "blind", "misses"), cell("good", "look", "misses")],
        "emptied": [{"validator": "blind", "kind": "tree", "outcome": "misses", "why": "it passed"}],
        "issues": [
            {"kind": "missed", "fixture": "one", "validator": "blind", "gate": "g", "severity": "major", "text": "x", "waived": "ann"},
            {"kind": "differs", "fixture": "one", "gate": "g", "text": "of the gate as a whole"},
            {"kind": "on_nothing", "validator": "blind", "text": "no fixture"}
        ],
        "subsumption": {"caught": 1, "uncaught": [], "worth": [], "not_believed": [], "dead": [], "vacuous": []},
        "measured": {"began_at": "2026-11-02T10:00:00Z", "runs": 3, "remembered": 1, "took_ms": 5, "cost_ms": {},
            "cells": [{"took_us": 1500, "remembered": false}, {"remembered": true}, {"took_us": 7, "remembered": true}]}
    })
}

fn write(folder: &Path, text: &str) -> Input {
    let path = folder.join("results.json");
    std::fs::write(&path, text).unwrap();
    Input::new(&path).unwrap()
}

fn read(text: &str) -> (Facts, Summary) {
    let dir = tempfile::tempdir().unwrap();
    let mut sink = Collect::default();
    let summary = read_file(&ReplayResults, &write(dir.path(), text), &mut sink).unwrap();
    (sink.0, summary)
}

#[test]
fn each_cell_is_a_row_with_what_the_file_says_of_it() {
    let (facts, summary) = read(&document().to_string());
    assert_eq!((summary.records, summary.quarantined, summary.warnings), (3, 0, 0));
    let [caught, missed, control] = facts.replay_results.as_slice() else { panic!("{:?}", facts.replay_results) };
    assert_eq!(
        (caught.outcome, caught.expected_outcome, caught.wall_us),
        (ReplayOutcome::Catches, Some(ReplayOutcome::Catches), Some(1500))
    );
    assert_eq!(
        (caught.memo_hit, caught.severity, caught.fixture_class),
        (Some(false), Some(Severity::Major), Some(FixtureClass::Normative))
    );
    assert_eq!(caught.replayed_at.map(|t| t.to_string()).as_deref(), Some("2026-11-02T10:00:00Z"));
    assert_eq!((caught.issues.join(","), caught.waived, caught.emptied_outcome), ("differs".to_owned(), None, None));
    assert_eq!((missed.issues.join(","), missed.waived), ("differs,missed".to_owned(), Some(true)));
    assert_eq!((missed.wall_us, missed.memo_hit, missed.emptied_outcome), (None, Some(true), Some(ReplayOutcome::Misses)));
    assert_eq!((control.fixture_class, control.issues.len(), control.baseline_outcome), (Some(FixtureClass::Control), 0, None));
    assert!(facts.replay_results.iter().all(|r| r.replay_id == caught.replay_id && r.corpus_digest == caught.corpus_digest && !r.gone));
    assert!(summary.capabilities.contains("replay_results"));
}

#[test]
fn what_a_validator_printed_does_not_enter_the_lake() {
    let (facts, _) = read(&document().to_string());
    assert_eq!(facts.replay_results[0].reason.as_deref(), Some("it failed"));
    assert!(!format!("{facts:?}").contains("SECRET"));
}

#[test]
fn a_baseline_says_how_each_cell_flipped_and_what_a_validator_that_is_gone_had_caught() {
    let mut document = document();
    let cell = document.pointer_mut("/cells/0").unwrap();
    (cell["before"], cell["flip"]) = (json!("misses"), json!("newly_caught"));
    let flip = |validator: &str| json!({"fixture": "two", "validator": validator, "before": "catches", "now": "unsupported"});
    document["comparison"] = json!({"baseline": "main", "newly_missed": [flip("old")],
        "newly_caught": [{"fixture": "one", "validator": "look", "before": "misses", "now": "catches"}]});
    let issue = json!({"kind": "newly_missed", "fixture": "two", "validator": "old", "gate": "h", "text": "x"});
    document["issues"].as_array_mut().unwrap().push(issue);
    let (facts, summary) = read(&document.to_string());
    assert_eq!((summary.records, facts.replay_results.len()), (4, 4));
    let rows = &facts.replay_results;
    assert_eq!((rows[0].baseline_outcome, rows[0].flip), (Some(ReplayOutcome::Misses), Some(ReplayFlip::NewlyCaught)));
    let gone = &rows[3];
    assert_eq!((gone.gone, gone.gate_id.as_str(), gone.validator_digest.as_ref()), (true, "h", None));
    assert_eq!((gone.flip, gone.outcome, gone.waived), (Some(ReplayFlip::NewlyMissed), ReplayOutcome::Unsupported, Some(false)));
}

#[test]
fn a_copied_or_reformatted_file_is_the_same_replay_and_a_later_one_with_the_same_results_is_not() {
    let ids = |text: &str| {
        let (facts, _) = read(text);
        let row = &facts.replay_results[0];
        (row.replay_id.clone(), row.results_digest.clone(), row.replay_result_id.clone())
    };
    let first = ids(&document().to_string());
    assert_eq!(ids(&serde_json::to_string_pretty(&document()).unwrap()), first);
    let mut later = document();
    later["measured"]["began_at"] = json!("2026-11-03T10:00:00Z");
    let later = ids(&later.to_string());
    assert!(later.0 != first.0 && later.1 == first.1 && later.2 != first.2);
    let mut other = document();
    other["cells"][0]["outcome"] = json!("misses");
    assert_ne!(ids(&other.to_string()).1, first.1);
}

#[test]
fn a_file_is_claimed_by_what_stands_in_it_also_with_sorted_keys() {
    let dir = tempfile::tempdir().unwrap();
    let format = |text: &str| {
        let input = write(dir.path(), text);
        claim(&input, &head_of(&input).unwrap()).map(|s| s.format())
    };
    let text = document().to_string();
    assert_eq!(format(&text), Some("mechanic-replay"));
    assert_eq!(format(&text.replacen("\"isolation\"", "\"insulation\"", 1)), Some("mechanic-replay"));
    assert_eq!(format("{\"format\":1,\"exit\":0}"), None);
    // A log that quotes one is no results file.
    assert_eq!(format(&format!("{{\"type\":\"user\",\"text\":{}}}", Value::from(text))), None);
}

/// Whatever is broken costs itself: the other cells are rows, and every record is counted.
#[test]
fn a_broken_cell_is_quarantined_and_the_others_stay() {
    let breaks: [fn(&mut Value); 8] = [
        |cell| *cell = json!(null),
        |cell| *cell = json!([[[]]]),
        |cell| cell["outcome"] = json!("great"),
        |cell| cell["outcome"] = json!(7),
        |cell| cell["fixture"] = json!(""),
        |cell| cell["validator"] = json!("\u{1b}\u{7}"),
        |cell| cell["gate"] = json!({"a": 1}),
        |cell| cell["substance"] = json!("many"),
    ];
    for (n, broken) in breaks.iter().enumerate() {
        let mut document = document();
        broken(document.pointer_mut("/cells/1").unwrap());
        let (facts, summary) = read(&document.to_string());
        assert_eq!((summary.records, summary.quarantined, facts.replay_results.len()), (3, 1, 2), "{n}");
        assert_eq!((facts.quarantine[0].reason.as_str(), facts.quarantine[0].source_line), ("schema", 2), "{n}");
        assert_eq!(facts.replay_results[1].wall_us, Some(7), "{n}: the times of the others stay theirs");
    }
}

#[test]
fn a_file_that_is_none_is_one_quarantined_record() {
    let text = document().to_string();
    let cut = &text[..text.len() / 2];
    let deep = format!("{{\"format\":1,\"cells\":{}", "[".repeat(100_000));
    for (text, reason) in [
        (cut, "malformed"),
        ("", "malformed"),
        (deep.as_str(), "malformed"),
        ("[1]", "schema"),
        ("{\"format\":1}", "schema"),
        ("{\"format\":1,\"cells\":{}}", "schema"),
        ("{\"format\":2,\"cells\":[]}", "unknown_version"),
        ("{\"format\":\"1\",\"cells\":[]}", "schema"),
    ] {
        let (facts, summary) = read(text);
        assert_eq!((summary.records, summary.quarantined, facts.quarantine[0].reason.as_str()), (1, 1, reason), "{text:.40}");
        assert!(facts.replay_results.is_empty());
    }
}

#[test]
fn what_else_is_odd_costs_no_row() {
    let mut document = document();
    for key in ["fixtures", "validators", "emptied", "issues", "measured", "isolation", "comparison"] {
        document[key] = json!({"a": [1, {"b": null}]});
    }
    document["exit"] = json!("three");
    let twice = document["cells"][0].clone();
    document["cells"].as_array_mut().unwrap().push(twice);
    document["cells"][0]["fixture"] = json!("é\n".repeat(500));
    let (facts, summary) = read(&document.to_string());
    assert_eq!((facts.replay_results.len(), summary.quarantined), (4, 0));
    let row = &facts.replay_results[0];
    assert_eq!(
        (row.fixture_id.chars().count(), row.fixture_class, row.exit_code, row.replayed_at, row.wall_us),
        (120, None, None, None, None)
    );
    let kinds: Vec<&str> = facts.warnings.iter().map(|w| w.kind.as_str()).collect();
    assert!(kinds.contains(&"unknown_fixture"), "{kinds:?}");
    let mut ids: Vec<&str> = facts.replay_results.iter().map(|r| r.replay_result_id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[test]
fn a_cell_that_is_there_twice_is_two_rows_and_told() {
    let mut document = document();
    let twice = document["cells"][0].clone();
    document["cells"].as_array_mut().unwrap().push(twice);
    let (facts, _) = read(&document.to_string());
    assert_eq!(facts.replay_results.len(), 4);
    assert_ne!(facts.replay_results[0].replay_result_id, facts.replay_results[3].replay_result_id);
    assert_eq!(facts.warnings.iter().map(|w| w.kind.as_str()).collect::<Vec<_>>(), ["id_collision"]);
}

#[test]
fn what_fails_a_check_here_is_what_fails_it_in_replay() {
    use crate::replay::weigh::Kind;
    for kind in Kind::ALL {
        assert_eq!(super::rows::FAILING.contains(&kind.as_str()), kind.fails(), "{kind}");
    }
}
