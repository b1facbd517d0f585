//! Known answers on real files, found by reading them; run where `MECHANIC_DATA` names the folder of real files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::model::usage_totals::UsageTotal;
use crate::model::vocabulary::{About, CallKind, Quality, TokenBasis, UsageTotalKind, Verdict};
use crate::source::emit::{Collect, Facts, Summary};
use crate::source::{Input, claim, head_of, read_file};

fn folder() -> PathBuf {
    let data = std::env::var_os("MECHANIC_DATA").expect("MECHANIC_DATA is set where these tests run");
    Path::new(&data).join("sessions/copilot-cli")
}

fn read(name: &str) -> (Facts, Summary) {
    let input = Input::new(&folder().join(name)).unwrap();
    let source = claim(&input, &head_of(&input).unwrap()).expect("the file is claimed");
    assert_eq!(source.format(), "copilot-cli");
    let mut sink = Collect::default();
    let summary = read_file(source, &input, &mut sink).unwrap();
    (sink.0, summary)
}

const STARCAR: &str = "StarCar__11-9681650804-0.jsonl";

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn four_hook_denials_are_crashes_of_two_broken_states_and_no_catch() {
    let (facts, summary) = read(STARCAR);
    assert_eq!((summary.records, summary.quarantined), (1431, 0));
    let closed: Vec<_> = facts.gate_runs.iter().filter(|g| g.stopped_work == Some(true) && g.gate_id == "preToolUse:hook").collect();
    assert_eq!(closed.len(), 4);
    assert!(closed.iter().all(|g| g.verdict == Verdict::Crashed && g.about == About::Infrastructure));
    let ids: Vec<&str> = closed.iter().map(|g| g.gate_run_id.as_str()).collect();
    let mut said: Vec<_> = facts.findings.iter().filter(|f| ids.contains(&f.gate_run_id.as_str())).collect();
    said.sort_by_key(|f| f.source_line);
    let lines: Vec<i64> = said.iter().map(|f| f.source_line).collect();
    assert_eq!(lines, [118, 220, 321, 355]);
    let prints: Vec<&str> = said.iter().map(|f| f.fingerprint.as_str()).collect();
    let sh = "hook-crash/command_not_found:sh";
    assert_eq!(prints, [sh, sh, sh, "hook-crash/required:tool_use_id"]);
    assert!(said.iter().all(|f| f.about == About::Infrastructure));
    assert!(!facts.gate_runs.iter().any(|g| g.verdict == Verdict::Fail), "no hook caught anything");
    // The tokens of the calls that asked for the denied tools.
    let denied: Vec<_> = facts.tool_calls.iter().filter(|t| t.denied_by.as_deref() == Some("hook")).collect();
    let mut tokens: Vec<i64> = denied
        .iter()
        .map(|t| facts.model_call_copies.iter().find(|c| Some(&c.call_id) == t.call_id.as_ref()).and_then(|c| c.output_tokens).unwrap())
        .collect();
    tokens.sort_unstable();
    assert_eq!(tokens, [3378, 3709, 4216, 4796]);
    assert_eq!(tokens.iter().sum::<i64>(), 16_099);
    let linked: Vec<&str> = closed.iter().filter_map(|g| g.tool_call_id.as_deref()).collect();
    assert!(denied.iter().all(|t| linked.contains(&t.tool_call_id.as_str())), "the crash leads to the tool it refused");
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn every_firing_is_one_gate_run_and_hooks_of_one_event_are_said_to_be_indistinguishable() {
    let (facts, _) = read(STARCAR);
    let mut by_gate: BTreeMap<&str, i64> = BTreeMap::new();
    for run in facts.gate_runs.iter().filter(|g| g.gate_id.ends_with(":hook")) {
        *by_gate.entry(&run.gate_id).or_default() += 1;
    }
    let expected = [
        ("agentStop:hook", 6),
        ("errorOccurred:hook", 1),
        ("postToolUse:hook", 168),
        ("preToolUse:hook", 153),
        ("sessionEnd:hook", 1),
        ("sessionStart:hook", 2),
        ("subagentStop:hook", 2),
        ("userPromptSubmitted:hook", 7),
    ];
    assert_eq!(by_gate.into_iter().collect::<Vec<_>>(), expected);
    let covered: i64 = facts.gate_runs.iter().filter(|g| g.gate_id == "preToolUse:hook").filter_map(|g| g.substance).sum();
    assert_eq!((covered, facts.tool_calls.len()), (173, 173));
    let said = facts.warnings.iter().filter(|w| w.kind == "hooks_indistinguishable").count();
    assert_eq!(said, 8);
    let dangling: i64 = facts.warnings.iter().filter(|w| w.kind == "hook_without_end").map(|w| w.count).sum();
    assert_eq!(dangling, 1);
    // Five hooks failed and nothing stopped.
    let open = facts.gate_runs.iter().filter(|g| g.verdict == Verdict::Crashed && g.stopped_work == Some(false)).count();
    assert_eq!((open, facts.guard_events.iter().filter(|e| e.event == "degraded_open").count()), (5, 5));
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn permission_waits_add_up_and_overlap() {
    let (facts, _) = read(STARCAR);
    let runs: Vec<_> = facts.gate_runs.iter().filter(|g| g.gate_id == "permission:user").collect();
    assert_eq!(runs.len(), 5);
    assert!(runs.iter().all(|g| g.verdict == Verdict::Pass && g.tool_call_id.is_some()));
    let sum: i64 = runs.iter().filter_map(|g| g.duration_ms).sum();
    let mut spans: Vec<(i64, i64)> = runs.iter().map(|g| (g.started_at.unwrap().0, g.ended_at.unwrap().0)).collect();
    spans.sort_unstable();
    let (mut union, mut until) = (0, i64::MIN);
    for (start, end) in spans {
        union += (end - start.max(until)).max(0);
        until = until.max(end);
    }
    assert_eq!(((sum as f64 / 100.0).round(), (union as f64 / 100_000.0).round()), (1905.0, 1233.0));
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn the_producers_model_metrics_come_out_of_the_rows() {
    for file in [STARCAR, "StarCar__4b-a9fe109041-0.jsonl"] {
        let (facts, _) = read(file);
        let shutdown: Vec<_> = facts.usage_totals.iter().filter(|t| t.kind == UsageTotalKind::Shutdown).collect();
        let [total] = shutdown.as_slice() else { panic!("one model, one shutdown: {}", shutdown.len()) };
        assert_eq!(total.model.as_deref(), Some("claude-fable-5"));
        assert_eq!((total.input_tokens, total.cache_read_tokens, total.cache_write_tokens), (Some(6_954), Some(6_079_080), Some(512_254)));
        let input = [total.input_tokens, total.cache_read_tokens, total.cache_write_tokens].into_iter().flatten().sum::<i64>();
        assert_eq!(input, 6_598_288, "the vendor's cache-inclusive input");
        assert_eq!((total.n_requests, total.premium_requests, total.nano_aiu), (Some(59), Some(6.0), Some(1_565_379_500_000)));
        assert_eq!((total.reasoning_tokens, total.api_duration_ms, total.quality), (Some(28_307), Some(1_096_401), Quality::Exact));
        // Output and requests again, from the calls before it.
        let leg: Vec<_> = facts.model_call_copies.iter().filter(|c| c.source_line < total.source_line).collect();
        assert_eq!(leg.len() as i64, total.n_requests.unwrap());
        assert_eq!(leg.iter().filter_map(|c| c.output_tokens).sum::<i64>(), 62_040);
        assert_eq!(total.output_tokens, Some(62_040));
        // Calls never carry input counters that no event states.
        assert!(facts.model_call_copies.iter().filter(|c| c.call_kind == CallKind::Message).all(|c| c.input_tokens.is_none()));
        let checkpoints: Vec<&UsageTotal> = facts.usage_totals.iter().filter(|t| t.kind == UsageTotalKind::Checkpoint).collect();
        let last = if file == STARCAR { 2_466_682_725_000 } else { 2_946_367_425_000 };
        assert_eq!(checkpoints.iter().filter_map(|t| t.nano_aiu).sum::<i64>(), last);
    }
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn sub_agents_are_linked_and_only_the_one_sent_to_review_is_a_reviewer() {
    let (facts, _) = read(STARCAR);
    assert_eq!(facts.contexts.len(), 3);
    let main = facts.contexts.iter().find(|c| c.parent_context_id.is_none()).unwrap();
    assert_eq!(main.native_run_key, "session:e07fc822-e277-4d5d-898a-1b91eedea7b6");
    assert_eq!((main.repo.as_deref(), main.git_branch.as_deref()), (Some("polecatspeaks/StarCar"), Some("dev")));
    assert_eq!((main.cwd.as_deref(), main.tool_version.as_deref()), (Some(r"~\git\starcar"), Some("1.0.74")));
    assert_eq!((main.model.as_deref(), main.n_compactions), (Some("claude-fable-5"), Some(1)));
    let subs: Vec<_> = facts.contexts.iter().filter(|c| c.parent_context_id.as_ref() == Some(&main.context_id)).collect();
    let told: Vec<_> = subs.iter().map(|c| (c.role.as_deref(), c.producer_total_tokens, c.token_basis)).collect();
    let producer = Some(TokenBasis::ProducerTotal);
    assert_eq!(told, [(Some("car"), Some(1_715_770), producer), (Some("reviewer"), Some(1_060_164), producer)]);
    let review: Vec<_> = facts.gate_runs.iter().filter(|g| g.gate_id == "agent:car").collect();
    let [run] = review.as_slice() else { panic!("one review: {}", review.len()) };
    assert_eq!((run.verdict, run.raw_verdict.as_deref()), (Verdict::Pass, Some("APPROVE")));
    assert_eq!((run.duration_ms, run.output_tokens), (Some(423_538), Some(22_170)));
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn a_compaction_is_a_call_whose_cache_write_is_read_from_the_bill() {
    let (facts, _) = read(STARCAR);
    let calls: Vec<_> = facts.model_call_copies.iter().filter(|c| c.call_kind == CallKind::Compaction).collect();
    let [call] = calls.as_slice() else { panic!("one compaction: {}", calls.len()) };
    assert_eq!((call.input_tokens, call.cache_read_tokens, call.cache_write_5m_tokens), (Some(2), Some(14_777), Some(139_926)));
    assert_eq!((call.output_tokens, call.duration_ms), (Some(4_769), Some(65_812)));
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn implementers_of_review_fixes_are_no_reviewers_and_reviews_have_verdicts() {
    let (facts, _) = read("StarCar__84-e7f6fdba43-0.jsonl");
    let mut roles: Vec<_> =
        facts.contexts.iter().filter(|c| c.parent_context_id.is_some()).map(|c| c.role.as_deref().unwrap_or("")).collect();
    roles.sort_unstable();
    assert_eq!(roles, ["car", "reviewer"]);
    let review = facts.gate_runs.iter().find(|g| g.gate_id == "agent:car").unwrap();
    assert_ne!(review.verdict, Verdict::Inconclusive);
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn a_growing_file_gives_the_ids_of_its_shorter_copy_again() {
    let (short, _) = read(STARCAR);
    let (long, _) = read("StarCar__4b-a9fe109041-0.jsonl");
    let ids = |f: &Facts| -> Vec<String> { f.gate_runs.iter().map(|g| g.gate_run_id.clone()).collect() };
    let long_ids: std::collections::BTreeSet<String> = ids(&long).into_iter().collect();
    assert!(ids(&short).iter().all(|id| long_ids.contains(id)));
    let calls: std::collections::BTreeSet<&String> = long.model_call_copies.iter().map(|c| &c.call_id).collect();
    assert!(short.model_call_copies.iter().all(|c| calls.contains(&c.call_id)));
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn command_names_are_programs_and_never_prose() {
    let (facts, _) = read("StarCar__84-e7f6fdba43-0.jsonl");
    let names: std::collections::BTreeSet<&str> = facts.tool_calls.iter().filter_map(|t| t.command_name.as_deref()).collect();
    assert!(names.contains("git") && names.contains("Invoke-Pester"));
    for prose in ["C3", "Per", "**What"] {
        assert!(!names.contains(prose), "{prose} in {names:?}");
    }
    assert!(names.iter().all(|n| n.chars().all(|c| c.is_ascii_alphanumeric() || "_.-+".contains(c))), "{names:?}");
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn every_file_of_the_folder_is_claimed_and_accounted_for() {
    let mut names: Vec<String> = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|n| n.ends_with(".jsonl"));
    names.sort();
    assert!(names.len() >= 12);
    for name in names {
        let (facts, summary) = read(&name);
        let lines = std::fs::read_to_string(folder().join(&name)).unwrap().lines().count() as i64;
        assert_eq!((summary.records, summary.quarantined), (lines, 0), "{name}");
        let mut ids: Vec<&String> =
            facts.gate_runs.iter().map(|g| &g.gate_run_id).chain(facts.tool_calls.iter().map(|t| &t.tool_call_id)).collect();
        ids.sort();
        let n = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), n, "{name}: ids are unique");
        let seqs: Vec<i64> = facts.gate_runs.iter().map(|g| g.seq).collect();
        assert_eq!(seqs.iter().collect::<std::collections::BTreeSet<_>>().len(), seqs.len(), "{name}: seq is a position");
    }
}
