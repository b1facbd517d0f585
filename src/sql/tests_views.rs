//! Owns the tests of the views: what is visible, and that copies, late marks and declarations show as one row a thing.

use super::testing::{World, lines};
use crate::measure::sample::{self, context, gate, gate_run, tool_call};
use crate::model::derived::GateRunMark;
use crate::model::vocabulary::{About, ExposureBasis, Purpose, RoleBasis, TokenBasis, Verdict};

fn two_sources() -> World {
    let mut world = World::new();
    world.put(1, &[sample::source("a", "/a.jsonl"), sample::source("b", "/b.jsonl")]);
    world.current("a", 1);
    world.current("b", 1);
    world
}

#[test]
fn rows_of_a_batch_that_is_not_current_are_invisible() {
    let mut world = two_sources();
    world.put(1, &[tool_call("t1", "c", "x")]);
    world.put(2, &[tool_call("t2", "c", "x")]);
    assert_eq!(lines(&world.engine().select("SELECT tool_call_id FROM tool_calls").unwrap(), &["tool_call_id"]), ["t1"]);
}

#[test]
fn of_copies_the_one_with_the_least_path_and_line_shows_in_any_order() {
    for swap in [false, true] {
        let mut world = two_sources();
        let copy = |source: &str, line: i64, name: &str| {
            let mut t = tool_call("t1", "c", name);
            (t.source_id, t.source_line) = (source.to_owned(), line);
            t
        };
        let mut rows = vec![copy("b", 1, "late"), copy("a", 9, "second"), copy("a", 3, "shown"), copy("b", 2, "other")];
        rows.push(tool_call("t2", "c", "alone"));
        if swap {
            rows.reverse();
        }
        world.put(1, &rows);
        let engine = world.engine();
        let shown = engine.select("SELECT tool_call_id, name FROM tool_calls ORDER BY ALL").unwrap();
        assert_eq!(lines(&shown, &["tool_call_id", "name"]), ["t1|shown", "t2|alone"]);
        assert_eq!(lines(&engine.select("SELECT count(*) AS n FROM tool_calls_copies").unwrap(), &["n"]), ["5"]);
    }
}

#[test]
fn two_rows_of_one_key_at_one_place_show_as_one() {
    let mut world = two_sources();
    world.put(1, &[tool_call("t1", "c", "x"), tool_call("t1", "c", "y")]);
    assert_eq!(lines(&world.engine().select("SELECT name FROM tool_calls").unwrap(), &["name"]), ["x"]);
}

#[test]
fn a_context_starts_at_its_earliest_ends_at_its_latest_and_has_the_first_known_role() {
    let mut world = two_sources();
    let (mut first, mut second) = (context("c", None), context("c", None));
    (first.started_at, first.ended_at) = (Some(sample::at(5)), Some(sample::at(6)));
    second.source_id = "b".into();
    (second.started_at, second.ended_at) = (Some(sample::at(1)), Some(sample::at(9)));
    (second.role, second.role_basis) = (Some("reviewer".into()), Some(RoleBasis::Name));
    world.put(1, &[second, first]);
    let answer = world.engine().select("SELECT started_at, ended_at, role, role_basis, source_id FROM contexts").unwrap();
    assert_eq!(
        lines(&answer, &["started_at", "ended_at", "role", "role_basis", "source_id"]),
        ["2026-11-02T00:01:00Z|2026-11-02T00:09:00Z|reviewer|name|a"]
    );
}

#[test]
fn a_contexts_total_and_its_compactions_are_told_by_the_copies_that_know_them() {
    let mut world = two_sources();
    let (mut own, mut parents) = (context("c", None), context("c", None));
    (own.n_compactions, own.token_basis) = (Some(2), Some(TokenBasis::SumOfCalls));
    parents.source_id = "b".into();
    (parents.producer_total_tokens, parents.token_basis) = (Some(900), Some(TokenBasis::LastCallOnly));
    world.put(1, &[own, parents]);
    let answer = world.engine().select("SELECT producer_total_tokens, token_basis, n_compactions, source_id FROM contexts").unwrap();
    assert_eq!(lines(&answer, &["producer_total_tokens", "token_basis", "n_compactions", "source_id"]), ["900|last_call_only|2|a"]);
}

#[test]
fn marks_replace_what_the_record_itself_says_of_a_gate_run() {
    let mut world = two_sources();
    world.put(1, &[gate_run("g1", "issue:1", "push", Verdict::Fail), gate_run("g2", "issue:1", "push", Verdict::Fail)]);
    world.put(1, &[gate_run("g3", "issue:1", "push", Verdict::Pass)]);
    let mark = |id: &str, about, verdict, superseded_by: Option<&str>| GateRunMark {
        gate_run_id: id.into(),
        about,
        enforcement: None,
        stop_unknown: None,
        verdict,
        gate_id: None,
        started_at: None,
        duration_ms: None,
        superseded_by: superseded_by.map(str::to_owned),
        reason: "made".into(),
    };
    world.put(
        0,
        &[
            mark("g1", Some(About::Infrastructure), None, None),
            mark("g2", None, Some(Verdict::ExpectedRed), None),
            mark("g3", None, None, Some("g2")),
        ],
    );
    let answer = world.engine().select("SELECT gate_run_id, about, verdict FROM gate_runs ORDER BY ALL").unwrap();
    assert_eq!(lines(&answer, &["gate_run_id", "about", "verdict"]), ["g1|infrastructure|fail", "g2|product|expected_red"]);
}

#[test]
fn a_gate_records_passes_only_where_its_own_record_shows_one_else_as_declared() {
    let mut world = two_sources();
    let declared = |id: &str, purpose: Purpose, passes: Option<bool>| {
        let mut g = gate(id, purpose);
        (g.pass_recorded, g.declared_in) = (passes, Some("contract".into()));
        g
    };
    world.put(
        1,
        &[
            declared("earned", Purpose::Control, None),
            declared("implied", Purpose::Control, None),
            declared("said", Purpose::Control, Some(false)),
            declared("context", Purpose::Context, None),
            declared("unseen", Purpose::Control, Some(true)),
        ],
    );
    let mut implied = gate_run("g2", "issue:1", "implied", Verdict::Pass);
    implied.exposure_basis = ExposureBasis::ImpliedByStage;
    world.put(
        1,
        &[
            gate_run("g1", "issue:1", "earned", Verdict::Pass),
            implied,
            gate_run("g3", "issue:1", "said", Verdict::Fail),
            gate_run("g4", "issue:1", "context", Verdict::Pass),
            gate_run("g5", "issue:1", "undeclared", Verdict::Pass),
        ],
    );
    let answer = world.engine().select("SELECT gate_id, purpose, pass_recorded, declared_not_seen FROM gates ORDER BY ALL").unwrap();
    assert_eq!(
        lines(&answer, &["gate_id", "purpose", "pass_recorded", "declared_not_seen"]),
        [
            "context|context||false",
            "earned|control|true|false",
            "implied|control||false",
            "said|control|false|false",
            "undeclared|unknown||false",
            "unseen|control|true|true"
        ]
    );
}

#[test]
fn of_the_ingests_of_a_file_the_newest_shows() {
    let mut world = two_sources();
    let mut newer = sample::source("a", "/a.jsonl");
    newer.records = 9;
    world.put(3, &[newer]);
    let answer = world.engine().select("SELECT source_id, records FROM sources ORDER BY ALL").unwrap();
    assert_eq!(lines(&answer, &["source_id", "records"]), ["a|9", "b|1"]);
}

#[test]
fn times_are_utc_whatever_the_zone_of_the_process() {
    let engine = World::new().engine();
    let answer = engine.select("SELECT to_timestamp(0) AS t, to_timestamp(0)::VARCHAR AS s").unwrap();
    assert_eq!(lines(&answer, &["t", "s"]), ["1970-01-01T00:00:00Z|1970-01-01 00:00:00+00"]);
}
