//! Owns the known answers of the standing cost of instruction files.

use super::sample::{at, context, member, run, source};
use super::{Window, measure};
use crate::model::gates::Rule;
use crate::model::vocabulary::{LoadMode, RunBasis};
use crate::sql::testing::{World, lines};

fn rule(id: &str, path: &str, tokens: Option<i64>, load: LoadMode, source: &str) -> Rule {
    Rule {
        rule_id: id.into(),
        gate_id: None,
        clause: None,
        path: Some(path.into()),
        lines: None,
        tokens,
        load: Some(load),
        loaded_by: id.split_once(':').map(|(agent, _)| agent.to_owned()),
        pinned: None,
        since: None,
        until: None,
        covers: None,
        source_id: source.into(),
        source_line: 1,
    }
}

/// Two folders with instructions; contexts of one agent in and below the first, elsewhere, of unknown place, and of a sub-agent.
fn world() -> World {
    let mut world = World::new();
    for (id, path) in
        [("a", "~/logs/a.jsonl"), ("shop", "~/shop/CLAUDE.md"), ("sql", "~/shop/.claude/rules/sql.md"), ("til", "~/till/CLAUDE.md")]
    {
        world.put(1, &[source(id, path)]);
        world.current(id, 1);
    }
    let mut imported = rule("claude-code:docs/style.md", "docs/style.md", None, LoadMode::Always, "shop");
    imported.source_line = 4;
    world.put(
        1,
        &[
            rule("claude-code:CLAUDE.md", "CLAUDE.md", Some(100), LoadMode::Always, "shop"),
            rule("copilot-cli:CLAUDE.md", "CLAUDE.md", Some(100), LoadMode::Always, "shop"),
            rule("claude-code:.claude/rules/sql.md", ".claude/rules/sql.md", Some(9), LoadMode::OnDemand, "sql"),
            rule("claude-code:CLAUDE.md", "CLAUDE.md", Some(30), LoadMode::Always, "til"),
            imported,
        ],
    );
    world.put(0, &[run("r", RunBasis::Issue, None, None, 0, 60, &[]), run("late", RunBasis::Issue, None, None, 600, 60, &[])]);
    world.put(0, &[member("r", "native_run", "issue:101"), member("late", "native_run", "issue:102")]);
    let placed = |id: &str, parent: Option<&str>, cwd: Option<&str>| {
        let mut c = context(id, parent);
        c.cwd = cwd.map(str::to_owned);
        c
    };
    let mut late = placed("late", None, Some("~/shop"));
    late.native_run_key = "issue:102".into();
    world.put(
        1,
        &[
            placed("top", None, Some("~/shop")),
            placed("tree", None, Some("~/shop/.worktrees/issue-7")),
            placed("beside", None, Some("~/shopping")),
            placed("nowhere", None, None),
            placed("sub", Some("top"), Some("~/shop")),
            late,
        ],
    );
    world
}

const COLUMNS: &[&str] = &["rule_id", "folder", "tokens", "n_contexts", "standing_tokens", "n_unplaced", "n_sub_agents"];

#[test]
fn a_file_costs_its_tokens_in_every_root_context_of_its_agent_in_its_folder_or_below() {
    assert_eq!(
        lines(&measure(&world().engine(), "standing_cost", Window::ALL, "UTC").unwrap(), COLUMNS),
        [
            "claude-code:CLAUDE.md|~/shop|100|3|300|1|1",
            "claude-code:CLAUDE.md|~/till|30|0|0|1|0",
            "copilot-cli:CLAUDE.md|~/shop|100|0|0|0|0",
            "claude-code:.claude/rules/sql.md|~/shop|9|||1|1",
            "claude-code:docs/style.md|~/shop||3||1|1",
        ]
    );
}

#[test]
fn only_contexts_of_runs_in_the_window_count_and_instruction_files_are_no_unseen_rules() {
    let world = world();
    let window = Window { until: Some(at(300)), ..Window::ALL };
    let told = lines(&measure(&world.engine(), "standing_cost", window, "UTC").unwrap(), COLUMNS);
    assert_eq!(told[0], "claude-code:CLAUDE.md|~/shop|100|2|200|1|1");
    assert!(lines(&measure(&world.engine(), "declared_not_seen", Window::ALL, "UTC").unwrap(), &["id"]).is_empty());
    assert!(lines(&measure(&world.engine(), "rule_economics", Window::ALL, "UTC").unwrap(), &["rule_id"]).is_empty());
}
