//! Owns the tests of the views: what is visible, and that copies, late marks and declarations show as one row a thing.

use super::testing::{World, lines};
use crate::lake::view::view;
use crate::measure::sample::{self, context, gate, gate_run, tool_call};
use crate::measure::{Window, measure};
use crate::model::derived::{GateRunMark, RunMember};
use crate::model::gates::{GATE_MERGE, Gate, Merge};
use crate::model::record::Record;
use crate::model::vocabulary::{About, ExposureBasis, GateKind, Mode, Purpose, RoleBasis, RunBasis, TokenBasis, Verdict};

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

/// Copies of one gate as several files show it.
fn gates_seen() -> Vec<Gate> {
    let copy = |purpose, mode, order, passes, covers: Option<&[&str]>, declared: Option<&str>| {
        let mut g = gate("g", purpose);
        (g.mode, g.gate_order, g.pass_recorded, g.declared_in) = (mode, order, passes, declared.map(str::to_owned));
        g.covers = covers.map(|c| c.iter().map(|c| (*c).to_owned()).collect());
        g
    };
    let mut alone = gate("alone", Purpose::Recorder);
    (alone.harness, alone.kind, alone.mode) = (None, None, None);
    vec![
        copy(Purpose::Context, None, None, None, None, None),
        copy(Purpose::Control, Some(Mode::Warn), Some(4), Some(false), Some(&["Edit", "Bash"]), Some("settings.json")),
        copy(Purpose::Unknown, Some(Mode::Block), Some(3), Some(true), Some(&["Write", "Bash"]), Some("contract.yml")),
        copy(Purpose::Notifier, Some(Mode::Observe), None, None, Some(&[]), None),
        alone,
    ]
}

#[test]
fn a_gate_is_the_same_whatever_files_show_it_in_whatever_order_for_the_lake_and_for_sql() {
    let names = ["purpose", "mode", "gate_order", "pass_recorded", "covers", "declared_in", "kind", "harness"];
    let mut told: Vec<Vec<String>> = Vec::new();
    for turn in 0..4 {
        let mut copies = gates_seen();
        copies.rotate_left(turn);
        if turn % 2 == 1 {
            copies.reverse();
        }
        // Each copy in a file of its own, whose name has nothing to do with what it says.
        let sources: Vec<_> = (0..copies.len()).map(|n| sample::source(&format!("s{n}"), &format!("/{n}.jsonl"))).collect();
        let mut world = World::new();
        world.put(1, &sources);
        for (n, copy) in copies.iter_mut().enumerate() {
            copy.source_id = format!("s{n}");
            world.current(&copy.source_id, 1);
            world.put(1, std::slice::from_ref(copy));
        }
        let paths = sources.iter().map(|s| (s.source_id.as_str(), s.path.as_str())).collect();
        let batches: Vec<_> = copies.iter().map(|c| Gate::to_batch(std::slice::from_ref(c)).unwrap()).collect();
        let viewed = Gate::from_batch(&view(Gate::TABLE, &batches, &paths).unwrap()).unwrap();

        let mut again = World::new();
        again.put(1, &[sample::source("v", "/v.jsonl")]);
        again.current("v", 1);
        again.put(1, &viewed.into_iter().map(|g| Gate { source_id: "v".into(), ..g }).collect::<Vec<_>>());
        let text = |world: &World| {
            let answer =
                world.engine().select(&format!("SELECT gate_id, {} FROM gates_merged ORDER BY gate_id", names.join(", "))).unwrap();
            lines(&answer, &names)
        };
        told.extend([text(&world), text(&again)]);
    }
    assert_eq!(told[0][1], "control|block|3|true|[\"Bash\",\"Edit\",\"Write\"]|contract.yml|deterministic|adh");
    assert!(told.iter().all(|t| *t == told[0]), "{told:#?}");
}

#[test]
fn every_column_of_a_gate_has_a_way_to_be_merged() {
    let named: Vec<&str> = GATE_MERGE.iter().map(|(name, _)| *name).collect();
    let columns: Vec<&str> = Gate::TABLE.columns.iter().map(|c| c.name).filter(|name| *name != Gate::TABLE.key).collect();
    assert_eq!(named, columns);
    let words =
        |name: &str| GATE_MERGE.iter().find_map(|(n, m)| if let Merge::FirstOf(words) = m { (*n == name).then_some(*words) } else { None });
    let same = |name: &str, all: Vec<&str>| {
        let (mut all, mut words) = (all, words(name).unwrap().to_vec());
        all.sort_unstable();
        words.sort_unstable();
        assert_eq!(words, all, "{name}");
    };
    same("purpose", Purpose::ALL.iter().map(|p| p.as_str()).collect());
    same("kind", GateKind::ALL.iter().map(|k| k.as_str()).collect());
    same("mode", Mode::ALL.iter().map(|m| m.as_str()).collect());
}

#[test]
fn a_key_that_two_repositories_use_is_the_run_of_the_folder_its_file_is_in() {
    let mut world = World::new();
    let paths = [
        ("a", "~/shop/.mechanic/x.jsonl"),
        ("b", "~/bank/.mechanic/x.jsonl"),
        ("c", "~/shop/lib/.mechanic/x.jsonl"),
        ("d", "~/shopping/x.jsonl"),
    ];
    let sources: Vec<_> = paths.iter().map(|(id, path)| sample::source(id, path)).collect();
    world.put(1, &sources);
    let mut runs = Vec::new();
    for (id, _) in paths {
        world.current(id, 1);
        let mut run = gate_run(&format!("in {id}"), "record:12", "lint", Verdict::Pass);
        run.source_id = id.into();
        let mut session = gate_run(&format!("session {id}"), "session:s", "lint", Verdict::Pass);
        session.source_id = id.into();
        runs.extend([run, session]);
    }
    world.put(1, &runs);
    let rooted = |run: &str, root: &str| RunMember { root: Some(root.into()), ..sample::member(run, "native_run", "record:12") };
    let members = [
        rooted("r-shop", "~/shop"),
        rooted("r-bank", "~/bank"),
        rooted("r-lib", "~/shop/lib"),
        sample::member("r-s", "native_run", "session:s"),
    ];
    world.put(0, &members);
    let answer = world.engine().select("SELECT gate_run_id, run_id FROM gate_run_facts ORDER BY ALL").unwrap();
    assert_eq!(
        lines(&answer, &["gate_run_id", "run_id"]),
        ["in a|r-shop", "in b|r-bank", "in c|r-lib", "in d|", "session a|r-s", "session b|r-s", "session c|r-s", "session d|r-s"]
    );
    // What `explain` goes by says the same.
    for (path, run) in [(paths[0].1, "r-shop"), (paths[1].1, "r-bank"), (paths[2].1, "r-lib")] {
        let best = members.iter().filter_map(|m| Some((m.fits("record:12", path)?, m.run_id.as_str()))).max();
        assert_eq!(best.map(|(_, run)| run), Some(run));
    }
    assert!(members.iter().all(|m| m.fits("record:12", paths[3].1).is_none()));
}

#[test]
fn a_gate_whose_only_source_keeps_passes_alone_has_runs_but_no_rate() {
    let mut world = two_sources();
    let mut g = gate("green", Purpose::Control);
    g.pass_recorded = Some(true);
    world.put(1, &[g]);
    let mut run = gate_run("g1", "issue:1", "green", Verdict::Pass);
    run.exposure_basis = ExposureBasis::PassesOnly;
    run.rule_id = Some("all".into());
    world.put(1, &[run]);
    world.put(0, &[sample::member("r1", "native_run", "issue:1")]);
    world.put(0, &[sample::run("r1", RunBasis::Issue, None, None, 0, 5, &["verdicts"])]);
    let engine = world.engine();
    let columns = ["n_gate_runs", "n_pass", "n_counted", "n_runs_counted", "rate_basis", "zero_yield_upper95"];
    let of_gate = measure(&engine, "gate_economics", Window::ALL, "UTC").unwrap();
    assert_eq!(lines(&of_gate, &columns), ["1|1|0|0||"]);
    let of_rule = measure(&engine, "rule_economics", Window::ALL, "UTC").unwrap();
    assert_eq!(lines(&of_rule, &["n_pass", "n_runs_counted", "zero_yield_upper95"]), ["1|0|"]);
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
