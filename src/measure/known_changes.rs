//! Owns the known answers of when gates changed: what restarts the evidence of a gate, and what does not.

use super::sample::{at, context, gate, gate_run, source};
use super::{Window, measure};
use crate::model::decisions::{Commit, Decision};
use crate::model::gate_runs::GateRun;
use crate::model::vocabulary::{DecisionKind, GateKind, Mode, Purpose, Verdict};
use crate::sql::testing::{World, lines};

const COLUMNS: &[&str] = &["gate_id", "basis", "changed_at", "was", "became", "n_before", "n_since"];

fn world() -> World {
    let mut world = World::new();
    world.put(1, &[source("a", "/a.jsonl")]);
    world.current("a", 1);
    world
}

/// Gate runs of `g`, one a minute, with the modes that the letters stand for: `b`lock, `w`arn, `?` unknown.
fn in_modes(letters: &str) -> Vec<GateRun> {
    let run = |(minute, letter): (usize, char)| {
        let mut run = gate_run(&format!("{minute:02}"), "issue:1", "g", Verdict::Pass);
        run.ended_at = Some(at(minute as i64));
        run.enforcement = match letter {
            'b' => Some(Mode::Block),
            'w' => Some(Mode::Warn),
            _ => None,
        };
        run
    };
    letters.chars().enumerate().map(run).collect()
}

fn changes(letters: &str, window: Window) -> Vec<String> {
    let mut world = world();
    // Rows come in any order.
    let runs: Vec<GateRun> = in_modes(letters).into_iter().rev().collect();
    world.put(1, &runs);
    lines(&measure(&world.engine(), "gate_changes", window, "UTC").unwrap(), COLUMNS)
}

#[test]
fn a_mode_that_stays_changed_when_it_was_first_seen() {
    assert_eq!(changes("wwwbb", Window::ALL), ["g|mode|2026-11-02T00:03:00Z|warn|block|3|2"]);
    assert_eq!(changes("ww?b?b", Window::ALL), ["g|mode|2026-11-02T00:03:00Z|warn|block|2|2"], "unknown is no other value");
    assert_eq!(changes("bbwwbbb", Window::ALL), ["g|mode|2026-11-02T00:04:00Z|warn|block|2|3"], "the last change counts");
}

#[test]
fn a_single_odd_gate_run_is_no_change_wherever_it_stands() {
    for letters in ["wbbbb", "bbwbb", "bbbbw", "b", "", "????", "bwbwb"] {
        assert!(changes(letters, Window::ALL).is_empty(), "{letters}: {:?}", changes(letters, Window::ALL));
    }
    assert_eq!(changes("wwbwbb", Window::ALL), ["g|mode|2026-11-02T00:04:00Z|warn|block|2|2"], "an odd one before it is not the change");
    assert_eq!(changes("wwbbwbb", Window::ALL), ["g|mode|2026-11-02T00:02:00Z|warn|block|2|4"], "nor does one after it move it");
}

#[test]
fn a_change_outside_the_window_is_not_told_and_what_comes_after_it_is_not_looked_at() {
    let from = |minute| Window { since: Some(at(minute)), ..Window::ALL };
    assert!(changes("wwbb", from(3)).is_empty());
    assert_eq!(changes("wwbb", from(2)).len(), 1, "what it was is known from before the window");
    assert!(changes("wwbb", Window { until: Some(at(3)), ..Window::ALL }).is_empty(), "of the new value one gate run is seen by then");
}

#[test]
fn another_model_changes_a_model_gate_and_no_other() {
    let mut world = world();
    let mut judge = gate("judge", Purpose::Control);
    judge.kind = Some(GateKind::Model);
    world.put(1, &[judge, gate("script", Purpose::Control)]);
    let mut contexts = Vec::new();
    let mut runs = Vec::new();
    for (minute, model) in ["small", "small", "large", "large"].into_iter().enumerate() {
        let mut own = context(&format!("c{minute}"), None);
        own.model = Some(model.into());
        contexts.push(own);
        for gate in ["judge", "script"] {
            let mut run = gate_run(&format!("{gate}{minute}"), "issue:1", gate, Verdict::Pass);
            (run.ended_at, run.context_id) = (Some(at(minute as i64)), Some(format!("c{minute}")));
            runs.push(run);
        }
    }
    world.put(1, &contexts);
    world.put(1, &runs);
    let told = lines(&measure(&world.engine(), "gate_changes", Window::ALL, "UTC").unwrap(), COLUMNS);
    assert_eq!(told, ["judge|model|2026-11-02T00:02:00Z|small|large|2|2"]);
}

#[test]
fn of_recorded_rule_changes_the_last_of_a_gate_is_told() {
    let mut world = world();
    let decided = |id: &str, what: &str, minute| Decision {
        decision_id: id.into(),
        kind: DecisionKind::RuleChange,
        native_run_key: None,
        target: Some("g".into()),
        what: what.into(),
        who_hash: None,
        why_hash: None,
        failure_mode: None,
        failure_class: None,
        decided_at: Some(at(minute)),
        expires_at: None,
        source_id: "a".into(),
        source_line: 1,
    };
    world.put(1, &[decided("d1", "narrowed", 5), decided("d2", "widened", 9)]);
    let told = lines(&measure(&world.engine(), "gate_changes", Window::ALL, "UTC").unwrap(), COLUMNS);
    assert_eq!(told, ["g|rule_change|2026-11-02T00:09:00Z||widened||"]);
}

#[test]
fn a_commit_that_touches_the_text_of_a_gate_changes_it_and_no_other() {
    let mut world = world();
    let mut hook = gate("PreToolUse:scan.mjs", Purpose::Control);
    hook.identity = Some("PreToolUse:.claude/hooks/scan.mjs".into());
    hook.declared_in = Some(".claude/settings.json".into());
    world.put(1, &[hook, gate("ci", Purpose::Control)]);
    let commit = |sha: &str, minute: i64, paths: &[&str]| Commit {
        commit_id: sha.into(),
        sha: sha.into(),
        repo: Some("shop".into()),
        committed_at: Some(at(minute)),
        task: None,
        session_trailers: Vec::new(),
        co_authors: Vec::new(),
        n_files: Some(1),
        paths_hash: None,
        control_paths: Some(paths.iter().map(|p| (*p).to_owned()).collect()),
        reverts: None,
        tag: None,
        source_id: "a".into(),
        source_line: minute,
    };
    world.put(
        1,
        &[
            commit("c1", 1, &[".claude/hooks/scan.mjs"]),
            commit("c2", 2, &[".claude/hooks/scan.mjs", "scripts/x.sh"]),
            commit("c3", 3, &["scripts/x.sh"]),
        ],
    );
    let told = |window| lines(&measure(&world.engine(), "gate_changes", window, "UTC").unwrap(), COLUMNS);
    assert_eq!(told(Window::ALL), ["PreToolUse:scan.mjs|text|2026-11-02T00:02:00Z||.claude/hooks/scan.mjs||"]);
    assert_eq!(
        told(Window { until: Some(at(2)), ..Window::ALL }),
        ["PreToolUse:scan.mjs|text|2026-11-02T00:01:00Z||.claude/hooks/scan.mjs||"]
    );
    assert!(told(Window { since: Some(at(3)), ..Window::ALL }).is_empty());
}
