//! Known answers on real transcripts. They run where `MECHANIC_DATA` names the folder of files, and count as ignored elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::ClaudeCode;
use crate::model::gate_runs::GateRun;
use crate::model::sessions::ModelCallCopy;
use crate::model::vocabulary::{CallKind, RoleBasis, TokenBasis, Verdict};
use crate::source::emit::{Collect, Facts, Summary};
use crate::source::reviewer::REVIEWER;
use crate::source::{Input, Probe, Source, head_of, read_file};

fn sessions() -> PathBuf {
    Path::new(&std::env::var_os("MECHANIC_DATA").expect("MECHANIC_DATA is set where these tests run")).join("sessions")
}

fn is_claimed(path: &Path) -> bool {
    let input = Input::new(path).unwrap();
    let head = head_of(&input).unwrap();
    ClaudeCode.claims(&Probe { input: &input, head: &head })
}

fn read(path: &Path) -> (Facts, Summary) {
    let mut sink = Collect::default();
    let summary = read_file(&ClaudeCode, &Input::new(path).unwrap(), &mut sink).unwrap();
    (sink.0, summary)
}

fn claude(name: &str) -> Facts {
    read(&sessions().join("claude-code").join(name)).0
}

/// One row a call: the copy with the greatest output.
fn merged(copies: Vec<ModelCallCopy>) -> BTreeMap<String, ModelCallCopy> {
    let mut calls: BTreeMap<String, ModelCallCopy> = BTreeMap::new();
    for copy in copies {
        match calls.get(&copy.call_id) {
            Some(known) if known.output_tokens >= copy.output_tokens => {}
            _ => {
                calls.insert(copy.call_id.clone(), copy);
            }
        }
    }
    calls
}

/// Gate runs of several files, one an id.
fn runs(names: &[&str]) -> Vec<GateRun> {
    let mut by_id = BTreeMap::new();
    for name in names {
        for run in claude(name).gate_runs {
            by_id.entry(run.gate_run_id.clone()).or_insert(run);
        }
    }
    by_id.into_values().collect()
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn every_file_meets_its_reference_totals() {
    let table = std::fs::read_to_string(sessions().join("reference-claude.tsv")).unwrap();
    let mut wrong = Vec::new();
    let mut n = 0;
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let path = sessions().join(cells[0]);
        let want: Vec<i64> = cells[2..8].iter().map(|c| c.parse().unwrap()).collect();
        let embedded: Vec<i64> = cells[12..17].iter().map(|c| c.parse().unwrap()).collect();
        n += 1;
        if !is_claimed(&path) {
            if want.iter().any(|w| *w != 0) {
                wrong.push(format!("{}: not claimed", cells[0]));
            }
            continue;
        }
        let (facts, summary) = read(&path);
        // Calls of sub-agents that the file embeds are apart: their windows hold no line of their own here.
        let own: BTreeSet<String> = facts.contexts.iter().filter(|c| c.n_compactions.is_some()).map(|c| c.context_id.clone()).collect();
        let calls = merged(facts.model_call_copies);
        let sum = |is_own: bool| -> Vec<i64> {
            let of: Vec<&ModelCallCopy> =
                calls.values().filter(|c| c.call_kind == CallKind::Message && own.contains(&c.context_id) == is_own).collect();
            let total = |f: fn(&ModelCallCopy) -> Option<i64>| of.iter().filter_map(|c| f(c)).sum::<i64>();
            let hour = total(|c| c.cache_write_1h_tokens);
            let write = total(|c| c.cache_write_5m_tokens) + hour;
            vec![of.len() as i64, total(|c| c.input_tokens), total(|c| c.output_tokens), total(|c| c.cache_read_tokens), write, hour]
        };
        if sum(true) != want {
            wrong.push(format!("{}: {:?}, want {want:?}", cells[0], sum(true)));
        }
        if sum(false)[..5] != embedded[..] {
            wrong.push(format!("{}: embedded {:?}, want {embedded:?}", cells[0], sum(false)));
        }
        assert_eq!(summary.quarantined as usize, facts.quarantine.len(), "{}", cells[0]);
    }
    assert!(n > 40);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn the_pre_tool_use_hook_ran_258_times_in_11_111_ms_and_gave_20_notices() {
    let runs = runs(&[
        "entirecontext__46DADQCQJY8C-0.jsonl",
        "entirecontext__966V0YSVCA3N-12.jsonl",
        "entirecontext__JBJXKV1JQ939-0.jsonl",
        "entirecontext__P3QYG1MT22T5-2.jsonl",
    ]);
    let of = |gate: &str| runs.iter().filter(|r| r.gate_id == gate).collect::<Vec<_>>();
    let pre = of("PreToolUse:pre-tool-use.mjs");
    assert_eq!(pre.len(), 258);
    assert_eq!(pre.iter().filter_map(|r| r.duration_ms).sum::<i64>(), 11_111);
    assert_eq!(pre.iter().filter(|r| r.verdict == Verdict::Pass).count(), 238);
    assert_eq!(pre.iter().filter(|r| r.verdict == Verdict::Warn && r.stopped_work == Some(false)).count(), 20);
    let budget = of("PostToolUse:context-budget.mjs");
    assert_eq!(budget.iter().map(|r| r.verdict).collect::<Vec<_>>(), vec![Verdict::Warn; 2]);
    assert!(runs.iter().all(|r| r.gate_id != "PreToolUse:hook" && r.gate_id != "PostToolUse:hook"), "every text has its hook");
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn the_20_notices_were_14_on_edits_and_6_on_commands() {
    let mut tools: BTreeMap<String, String> = BTreeMap::new();
    let mut notices: BTreeMap<String, String> = BTreeMap::new();
    for name in [
        "entirecontext__46DADQCQJY8C-0.jsonl",
        "entirecontext__966V0YSVCA3N-12.jsonl",
        "entirecontext__JBJXKV1JQ939-0.jsonl",
        "entirecontext__P3QYG1MT22T5-2.jsonl",
    ] {
        let facts = claude(name);
        tools.extend(facts.tool_calls.into_iter().map(|t| (t.tool_call_id, t.name)));
        let warned = facts.gate_runs.into_iter().filter(|r| r.gate_id == "PreToolUse:pre-tool-use.mjs" && r.verdict == Verdict::Warn);
        notices.extend(warned.map(|r| (r.gate_run_id, r.tool_call_id.unwrap())));
    }
    let on = |name: &str| notices.values().filter(|t| tools.get(*t).map(String::as_str) == Some(name)).count();
    assert_eq!((on("Edit") + on("Write"), on("Bash"), notices.len()), (14, 6, 20));
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn a_hook_whose_script_is_missing_is_broken_and_open() {
    let runs = runs(&["StarCar__d1-167cd9ee5e-0.jsonl"]);
    let broken: Vec<&GateRun> = runs.iter().filter(|r| r.verdict == Verdict::Crashed).collect();
    assert_eq!(broken.len(), 4);
    assert!(broken.iter().all(|r| r.exit_status == Some(127) && r.stopped_work == Some(false)));
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn the_reviewer_of_one_session_ran_twice_and_its_sizes_are_those_of_the_last_call() {
    let facts = claude("cli__ee-cf21d297fe-0.jsonl");
    let reviews: Vec<&GateRun> =
        facts.gate_runs.iter().filter(|r| r.gate_id == "agent:entire-engineering:review:code-simplicity-reviewer").collect();
    assert_eq!(reviews.len(), 2);
    assert!(reviews.iter().all(|r| r.verdict == Verdict::Inconclusive && r.output_tokens.is_none()));
    let mut sizes: Vec<i64> = facts
        .contexts
        .iter()
        .filter(|c| c.token_basis == Some(TokenBasis::LastCallOnly) && c.role.as_deref() == Some(REVIEWER))
        .filter_map(|c| c.producer_total_tokens)
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, vec![59_286, 71_954]);
    assert!(facts.contexts.iter().filter(|c| c.role.is_some()).all(|c| c.role_basis == Some(RoleBasis::Description)));
    assert_eq!(facts.contexts.iter().filter_map(|c| c.n_compactions).sum::<i64>(), 1);
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn reviewers_that_answer_by_message_give_the_verdict_that_they_state() {
    let facts = claude("entirecontext__JBJXKV1JQ939-0.jsonl");
    let verdict =
        |gate: &str| facts.gate_runs.iter().filter(|r| r.gate_id == gate).map(|r| (r.verdict, r.raw_verdict.clone())).collect::<Vec<_>>();
    assert_eq!(verdict("agent:critic"), vec![(Verdict::Fail, Some("REVISE".into()))]);
    let review = verdict("agent:code-reviewer");
    assert_eq!(review.len(), 1);
    let run = facts.gate_runs.iter().find(|r| r.gate_id == "agent:code-reviewer").unwrap();
    let mut places: Vec<&str> =
        facts.findings.iter().filter(|f| f.gate_run_id == run.gate_run_id).filter_map(|f| f.location.as_deref()).collect();
    places.sort_unstable();
    assert_eq!(
        places,
        [".github/workflows/ci.yml:48", "docs/adr/0018-migrate-mcp-server-to-sdk-2.md:33", "tests/test_contract_sync.py:39"]
    );
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn user_rejections_are_counted_those_in_sub_agents_included() {
    for (name, rejections) in [
        ("cli__bd-247e41d7dd-0.jsonl", 4),
        ("cli__de-b0dd407fb7-0.jsonl", 4 + 1),
        ("cli__67-91013f8525-0.jsonl", 2),
        ("cli__37-995ebed6e4-2.jsonl", 1),
    ] {
        let facts = claude(name);
        let refused = facts.gate_runs.iter().filter(|r| r.verdict == Verdict::Fail && r.gate_id.starts_with("permission:")).count();
        assert_eq!(refused, rejections, "{name}");
        assert_eq!(facts.tool_calls.iter().filter(|t| t.denied_by.as_deref() == Some("user")).count(), rejections, "{name}");
    }
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn two_objects_on_one_line_cost_nothing_and_values_that_are_no_records_are_quarantined() {
    for (name, line) in [("cli__37-995ebed6e4-2.jsonl", 128), ("cli__5a-c45bc32212-0.jsonl", 115), ("cli__ee-cf21d297fe-0.jsonl", 300)] {
        let facts = claude(name);
        assert!(facts.quarantine.is_empty(), "{name}: {:?}", facts.quarantine);
        let salvaged = facts.warnings.iter().find(|w| w.kind == "salvaged").unwrap();
        assert_eq!((salvaged.detail.as_deref(), salvaged.source_line), (Some("several_objects"), Some(line)), "{name}");
    }
    let reasons: Vec<String> = claude("claude-code-log__edge_cases.jsonl").quarantine.into_iter().map(|q| q.reason).collect();
    assert_eq!(reasons, ["not_object", "schema", "not_object", "not_object"]);
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn transcripts_are_claimed_by_content_and_lookalikes_are_not() {
    let mut wrong = Vec::new();
    for entry in walkdir::WalkDir::new(sessions()).into_iter().flatten().filter(|e| e.file_type().is_file()) {
        let name = entry.path().strip_prefix(sessions()).unwrap().to_string_lossy().into_owned();
        let is_transcript = name.starts_with("claude-code/") && name.ends_with(".jsonl") && !name.contains("qwen_code");
        if is_claimed(entry.path()) != is_transcript {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn a_file_under_another_name_gives_the_same_rows_and_a_read_in_small_pieces_too() {
    let path = sessions().join("claude-code/entirecontext__JBJXKV1JQ939-0.jsonl");
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("other.txt");
    std::fs::copy(&path, &copy).unwrap();
    let (mut a, _) = read(&path);
    let (mut b, _) = read(&copy);
    for facts in [&mut a, &mut b] {
        facts.contexts.iter_mut().for_each(|r| r.source_id.clear());
        facts.model_call_copies.iter_mut().for_each(|r| r.source_id.clear());
        facts.tool_calls.iter_mut().for_each(|r| r.source_id.clear());
        facts.gate_runs.iter_mut().for_each(|r| r.source_id.clear());
        facts.findings.iter_mut().for_each(|r| r.source_id.clear());
        facts.gates.iter_mut().for_each(|r| r.source_id.clear());
        facts.warnings.iter_mut().for_each(|r| r.source_id.clear());
    }
    assert_eq!(a, b);
}
