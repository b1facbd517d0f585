//! Owns the facts of attribution that hold whatever the source: each test is one rule of DESIGN §2 and §3 on hand-made rows.

use super::*;
use crate::config::layout::Layout;
use crate::model::gate_runs::Finding;
use crate::model::gates::Gate;
use crate::model::sessions::Context;
use crate::model::sources::Source;
use crate::model::traces::TraceSpan;
use crate::model::vocabulary::*;

pub(super) const MINUTE: i64 = 60_000_000;
pub(super) const KEY: &str = "issue:7@0000aaaa";

pub(super) fn source(id: &str, path: &str) -> Source {
    Source {
        source_id: id.into(),
        path: path.into(),
        format: Some("made".into()),
        reader_digest: String::new(),
        state: SourceState::Current,
        records: 0,
        quarantined: 0,
        n_warnings: 0,
        capabilities: vec!["verdicts".into()],
        size_bytes: 0,
        head_hash: String::new(),
        tail_hash: String::new(),
        read_to: 0,
        mtime: None,
        inode: None,
        ingested_at: Ts(0),
    }
}

pub(super) fn gate_run(gate: &str, rule: &str, minute: i64, verdict: Verdict) -> GateRun {
    GateRun {
        gate_run_id: format!("{gate}/{rule}@{minute}"),
        about: About::Product,
        gate_id: gate.into(),
        rule_id: Some(rule.into()),
        native_run_key: KEY.into(),
        unit: None,
        context_id: None,
        tool_call_id: None,
        seq: minute,
        round: None,
        attempt: None,
        started_at: None,
        ended_at: Some(Ts(minute * MINUTE)),
        duration_ms: None,
        observed_at: None,
        observed_via: None,
        verdict,
        raw_verdict: None,
        verdict_basis: VerdictBasis::Structured,
        stopped_work: None,
        enforcement: Some(if gate == "warner" { Mode::Warn } else { Mode::Block }),
        exit_status: None,
        substance: None,
        scope: None,
        head_sha: None,
        phase: None,
        subject: None,
        resolves: None,
        evidence: None,
        detector_id: None,
        exposure_basis: ExposureBasis::Recorded,
        reconstructed: false,
        injected_tokens_est: None,
        input_tokens: None,
        cache_read_tokens: None,
        cache_write_tokens: None,
        output_tokens: None,
        source_id: "trace".into(),
        source_line: minute,
    }
}

pub(super) fn finding(run: &GateRun, fingerprint: &str) -> Finding {
    Finding {
        finding_id: format!("{}:{fingerprint}", run.gate_run_id),
        gate_run_id: run.gate_run_id.clone(),
        gate_id: run.gate_id.clone(),
        rule_id: run.rule_id.clone(),
        unit: run.unit.clone(),
        observed_at: run.ended_at,
        severity: None,
        raw_severity: None,
        failure_mode: None,
        failure_class: None,
        about: run.about,
        fingerprint: fingerprint.into(),
        fingerprint_basis: FingerprintBasis::Native,
        repeat_of: None,
        baseline_state: None,
        location: None,
        actionable: None,
        count: None,
        source_id: run.source_id.clone(),
        source_line: run.source_line,
    }
}

pub(super) fn gate(id: &str, order: i64, kind: GateKind) -> Gate {
    Gate {
        gate_id: id.into(),
        harness: None,
        purpose: Purpose::Control,
        kind: Some(kind),
        mode: None,
        gate_order: Some(order),
        irreversible: None,
        pinned: None,
        pass_recorded: None,
        covers: None,
        aliases: None,
        declared_in: None,
        identity: None,
        source_id: "trace".into(),
        source_line: 1,
    }
}

/// The session of the made run: on its branch, in its checkout.
pub(super) fn context(id: &str, key: &str) -> Context {
    Context {
        context_id: id.into(),
        parent_context_id: None,
        native_run_key: key.into(),
        role: None,
        role_basis: None,
        agent_name: None,
        model: None,
        started_at: Some(Ts(-10 * MINUTE)),
        ended_at: Some(Ts(50 * MINUTE)),
        token_basis: None,
        producer_total_tokens: None,
        tool_version: None,
        cwd: Some("~/shop".into()),
        git_branch: Some("feature/issue-7-x".into()),
        repo: None,
        n_compactions: None,
        source_id: "log".into(),
        source_line: 1,
    }
}

pub(super) fn span(minute: i64) -> TraceSpan {
    TraceSpan {
        span_row_id: format!("span@{minute}"),
        native_run_key: KEY.into(),
        span: "lifecycle".into(),
        step: None,
        stage: None,
        agent_name: None,
        unit: None,
        outcome: None,
        task: Some("7".into()),
        harness_version: Some(if minute == 0 { "1.0.0" } else { "1.1.0" }.into()),
        harness_commit: None,
        branch: Some("feature/issue-7-x".into()),
        repo: Some("shop".into()),
        pr_number: None,
        merge_sha: None,
        model: None,
        session: None,
        reconstructed: false,
        ended_at: Some(Ts(minute * MINUTE)),
        duration_ms: None,
        input_tokens: None,
        output_tokens: None,
        econ_wall_clock_ms: None,
        econ_active_ms: None,
        econ_review_rounds: None,
        econ_subagent_tokens: None,
        econ_subagent_count: None,
        source_id: "trace".into(),
        source_line: minute,
    }
}

pub(super) fn rules() -> Rulebook {
    let key = |gate: &str, rule: &str| (gate.to_owned(), rule.to_owned());
    let mut rules = Rulebook::default();
    rules.boundary.extend([key("closer", "merge")]);
    rules.merges.extend([key("closer", "merge")]);
    rules.names_subject.insert(key("review", "open"));
    rules.layout =
        Layout { tracking: vec![".copilot-tracking".into()], worktrees: vec![".worktrees".into()], task_prefixes: vec!["issue-".into()] };
    rules
}

/// Facts of one trace run: gates sensors (10), warner (15), review (20), reviewer-b (20), human (25), closer (30).
pub(super) fn facts(gate_runs: Vec<GateRun>, findings: Vec<Finding>) -> Viewed {
    Viewed {
        sources: vec![source("trace", "~/shop/.copilot-tracking/issues/issue-07/trace.jsonl"), source("log", "~/logs/s.jsonl")],
        gates: vec![
            gate("sensors", 10, GateKind::Deterministic),
            gate("warner", 15, GateKind::Deterministic),
            gate("review", 20, GateKind::Model),
            gate("reviewer-b", 20, GateKind::Model),
            gate("human", 25, GateKind::Human),
            gate("closer", 30, GateKind::Deterministic),
        ],
        trace_spans: vec![span(0), span(100)],
        gate_runs,
        findings,
        ..Viewed::default()
    }
}

pub(super) fn derived(gate_runs: Vec<GateRun>, findings: Vec<Finding>) -> Derived {
    derive(facts(gate_runs, findings), rules()).unwrap()
}

/// Lets a gate say what it covers.
pub(super) fn covering(facts: &mut Viewed, gate: &str, classes: &[&str]) {
    let covers = classes.iter().map(|c| (*c).to_owned()).collect();
    facts.gates.iter_mut().find(|g| g.gate_id == gate).unwrap().covers = Some(covers);
}

pub(super) fn met<'a>(derived: &'a Derived, gate: &str, encounter: Encounter) -> Vec<&'a GateProblem> {
    derived.gate_problem.iter().filter(|g| g.gate_id == gate && g.encounter == encounter).collect()
}

#[test]
fn a_blocking_gate_that_refused_the_step_is_an_enforced_stop_and_its_pass_closes_the_problem() {
    let runs = vec![gate_run("review", "verdict", 10, Verdict::Fail), gate_run("review", "verdict", 20, Verdict::Pass)];
    let found = vec![finding(&runs[0], "F")];
    let d = derived(runs, found);
    let p = &d.problems[0];
    assert_eq!((p.first_stop_gate_id.as_deref(), p.stop_basis), (Some("review"), Some(StopBasis::Enforced)));
    assert_eq!((p.closed_at, p.disposition, p.rework_ms), (Some(Ts(20 * MINUTE)), Disposition::Fixed, Some(600_000)));
    assert!(!p.unattributed);
}

#[test]
fn a_warning_then_a_block_is_detected_by_the_first_and_stopped_by_the_second() {
    let runs = vec![
        gate_run("warner", "w", 5, Verdict::Warn),
        gate_run("review", "verdict", 10, Verdict::Fail),
        gate_run("review", "verdict", 20, Verdict::Pass),
    ];
    let found = vec![finding(&runs[0], "F"), finding(&runs[1], "F")];
    let d = derived(runs, found);
    assert_eq!(d.problems.len(), 1);
    assert_eq!(d.problems[0].first_detection_gate_id.as_deref(), Some("warner"));
    assert_eq!(d.problems[0].first_stop_gate_id.as_deref(), Some("review"));
    assert_eq!(met(&d, "warner", Encounter::Detected).len(), 1);
}

#[test]
fn a_warning_that_was_acted_on_before_anyone_else_spoke_is_a_stop() {
    let runs = vec![gate_run("warner", "w", 5, Verdict::Warn), gate_run("warner", "w", 8, Verdict::Pass)];
    let found = vec![finding(&runs[0], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.first_stop_gate_id.as_deref(), p.stop_basis), (Some("warner"), Some(StopBasis::ActedOn)));
}

#[test]
fn a_warning_that_came_to_a_refusal_was_not_acted_on() {
    let mut runs = vec![
        gate_run("warner", "w", 5, Verdict::Warn),
        gate_run("warner", "w", 8, Verdict::Fail),
        gate_run("warner", "w", 9, Verdict::Pass),
    ];
    runs[1].stopped_work = Some(true);
    let found = vec![finding(&runs[0], "F"), finding(&runs[1], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.stop_basis, p.rework_ms), (Some(StopBasis::Enforced), Some(60_000)));
}

#[test]
fn two_reports_in_one_second_by_one_gate_are_ordered_by_line() {
    let mut runs = vec![gate_run("review", "verdict", 10, Verdict::Fail), gate_run("review", "verdict", 10, Verdict::Fail)];
    runs[1].gate_run_id.push('b');
    runs[1].source_line = 11;
    let found = vec![finding(&runs[0], "F"), finding(&runs[1], "F")];
    assert_eq!(derived(runs, found).problems[0].order_basis, OrderBasis::Line);
}

#[test]
fn work_that_merged_past_an_open_refusal_was_not_stopped_by_it() {
    let runs = vec![gate_run("review", "verdict", 10, Verdict::Fail), gate_run("closer", "merge", 20, Verdict::Pass)];
    let found = vec![finding(&runs[0], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.first_stop_gate_id.as_deref(), p.unattributed, p.disposition), (None, true, Disposition::Ignored));
}

#[test]
fn overlapping_gate_runs_are_first_together() {
    let mut runs = vec![gate_run("review", "verdict", 10, Verdict::Fail), gate_run("reviewer-b", "verdict", 12, Verdict::Fail)];
    runs[0].started_at = Some(Ts(MINUTE));
    runs[1].started_at = Some(Ts(2 * MINUTE));
    let found = vec![finding(&runs[0], "F"), finding(&runs[1], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!(p.order_basis, OrderBasis::Concurrent);
    assert_eq!(p.co_first, ["review", "reviewer-b"]);
}

#[test]
fn equal_seconds_are_ordered_by_the_declared_gate_order() {
    let runs = vec![gate_run("closer", "ci", 10, Verdict::Fail), gate_run("review", "verdict", 10, Verdict::Fail)];
    let found = vec![finding(&runs[0], "F"), finding(&runs[1], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.first_detection_gate_id.as_deref(), p.order_basis), (Some("review"), OrderBasis::GateOrder));
}

#[test]
fn a_pass_on_the_same_sha_is_a_proven_miss_and_one_on_another_sha_is_none() {
    let with_sha = |mut run: GateRun, sha: &str| {
        run.head_sha = Some(sha.repeat(10));
        run
    };
    let runs = vec![
        with_sha(gate_run("sensors", "s", 3, Verdict::Pass), "aaaa"),
        with_sha(gate_run("reviewer-b", "verdict", 5, Verdict::Pass), "bbbb"),
        with_sha(gate_run("review", "verdict", 10, Verdict::Fail), "bbbb"),
    ];
    let found = vec![Finding { failure_class: Some("regression".into()), ..finding(&runs[2], "F") }];
    let mut facts = facts(runs, found);
    covering(&mut facts, "reviewer-b", &["regression"]);
    let d = derive(facts, rules()).unwrap();
    assert_eq!(met(&d, "reviewer-b", Encounter::Missed)[0].miss_basis, Some(MissBasis::Proven));
    assert!(met(&d, "sensors", Encounter::Missed).is_empty());
    assert_eq!(d.problems[0].introduced_after.as_deref(), Some("sensors"));
}

#[test]
fn a_pass_on_an_unknown_state_is_no_miss_where_no_writes_are_recorded() {
    let runs = vec![gate_run("sensors", "s", 3, Verdict::Pass), gate_run("review", "verdict", 10, Verdict::Fail)];
    let found = vec![finding(&runs[1], "F")];
    assert!(met(&derived(runs, found), "sensors", Encounter::Missed).is_empty());
}

#[test]
fn the_same_defect_after_its_fix_is_a_new_problem_that_recurs() {
    let runs = vec![
        gate_run("review", "verdict", 10, Verdict::Fail),
        gate_run("review", "verdict", 20, Verdict::Pass),
        gate_run("review", "verdict", 30, Verdict::Fail),
    ];
    let found = vec![finding(&runs[0], "F"), finding(&runs[2], "F")];
    let d = derived(runs, found);
    assert_eq!(d.problems.len(), 2);
    assert_eq!(d.problems[1].recurs_of.as_ref(), Some(&d.problems[0].problem_id));
}

#[test]
fn fifteen_firings_on_one_broken_state_are_one_problem() {
    let runs: Vec<GateRun> = (1..=15).map(|m| gate_run("sensors", "s", m, Verdict::Fail)).collect();
    let found = runs.iter().map(|r| finding(r, "F")).collect();
    let d = derived(runs, found);
    assert_eq!((d.problems.len(), d.problems[0].n_findings), (1, 15));
}

#[test]
fn a_repeat_of_an_earlier_fingerprint_is_the_same_problem() {
    let runs = vec![gate_run("review", "verdict", 10, Verdict::Fail), gate_run("review", "verdict", 20, Verdict::Fail)];
    let mut found = vec![finding(&runs[0], "F"), finding(&runs[1], "G")];
    found[1].repeat_of = Some("F".into());
    assert_eq!(derived(runs, found).problems.len(), 1);
}

#[test]
fn a_pass_on_an_unchanged_tree_is_flaky_and_closes_nothing() {
    let mut runs = vec![gate_run("sensors", "s", 10, Verdict::Fail), gate_run("sensors", "s", 20, Verdict::Pass)];
    for run in &mut runs {
        run.head_sha = Some("cccc".repeat(10));
    }
    let found = vec![finding(&runs[0], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.closed_at, p.n_flaky_passes), (None, 1));
}

#[test]
fn a_problem_first_seen_after_the_merge_escaped() {
    let runs = vec![gate_run("closer", "merge", 10, Verdict::Pass), gate_run("review", "verdict", 20, Verdict::Fail)];
    let found = vec![finding(&runs[1], "F")];
    assert_eq!(derived(runs, found).problems[0].escaped, Some(true));
}

#[test]
fn a_span_about_another_pull_request_was_leaked_and_is_no_product_problem() {
    let mut runs = vec![gate_run("closer", "ci", 5, Verdict::Fail), gate_run("review", "open", 10, Verdict::Pass)];
    runs[0].subject = Some("pr:123".into());
    runs[1].subject = Some("pr:107".into());
    let found = vec![finding(&runs[0], "closer/ci")];
    let d = derived(runs, found);
    assert_eq!(d.gate_run_marks[0].reason, "leaked_span");
    assert_eq!(d.problems[0].about, About::Infrastructure);
}

#[test]
fn a_review_that_its_own_log_reports_takes_gate_and_interval_from_the_parents_record() {
    let mut sent = gate_run("agent:critic", "r", 20, Verdict::Inconclusive);
    sent.started_at = Some(Ts(5 * MINUTE));
    sent.context_id = Some("sub".into());
    let mut report = gate_run("agent:review", "r", 18, Verdict::Fail);
    report.context_id = Some("sub".into());
    report.enforcement = None;
    let found = vec![finding(&report, "F")];
    let d = derived(vec![sent, report], found);
    assert_eq!(d.problems[0].first_detection_gate_id.as_deref(), Some("agent:critic"));
    let marks: Vec<(&str, Option<Ts>, bool)> =
        d.gate_run_marks.iter().map(|m| (m.reason.as_str(), m.started_at, m.superseded_by.is_some())).collect();
    assert_eq!(marks, [("told_by_its_sub_agent", None, true), ("reported_by_its_sub_agent", Some(Ts(5 * MINUTE)), false)]);
}

#[test]
fn a_rejection_by_a_person_is_marked_human_and_stays_unlabelled() {
    let runs = vec![gate_run("human", "reject", 10, Verdict::Fail)];
    let found = vec![finding(&runs[0], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.human, p.label.clone()), (true, None));
}

#[test]
fn a_crash_is_no_finding_and_no_stop() {
    let runs = vec![gate_run("sensors", "s", 10, Verdict::Crashed)];
    let found = vec![finding(&runs[0], "sh not found")];
    let d = derived(runs, found);
    assert!(d.problems.is_empty());
}

#[test]
fn other_units_are_other_problems_and_a_pass_of_one_unit_closes_no_other() {
    let unit = |mut run: GateRun, unit: &str| {
        run.unit = Some(unit.into());
        run
    };
    let runs = vec![
        unit(gate_run("review", "verdict", 10, Verdict::Fail), "a"),
        unit(gate_run("review", "verdict", 11, Verdict::Fail), "b"),
        unit(gate_run("review", "verdict", 20, Verdict::Pass), "b"),
    ];
    let found = vec![finding(&runs[0], "F"), finding(&runs[1], "F")];
    let d = derived(runs, found);
    let closed: Vec<(Option<&str>, bool)> = d.problems.iter().map(|p| (p.unit_id.as_deref(), p.closed_at.is_some())).collect();
    assert_eq!(closed, [(Some("a"), false), (Some("b"), true)]);
}

#[test]
fn a_session_on_the_branch_of_an_issue_joins_its_run_whatever_came_first() {
    let mut facts = facts(vec![], vec![]);
    facts.contexts.push(context("c", "session:s1"));
    let d = derive(facts, rules()).unwrap();
    assert_eq!(d.runs.len(), 1);
    let run = &d.runs[0];
    assert_eq!((run.run_basis, run.task.as_deref(), run.harness_version.as_deref()), (RunBasis::Issue, Some("7"), Some("1.0.0")));
    assert_eq!((run.elapsed_ms, run.active_ms), (Some(110 * 60_000), Some(10 * 60_000)));
    assert!(d.run_members.iter().any(|m| m.member_id == "c" && m.link_basis == LinkBasis::Explicit));
}

#[test]
fn the_order_of_facts_does_not_matter() {
    let runs: Vec<GateRun> = (1..8)
        .map(|m| gate_run(if m % 2 == 0 { "sensors" } else { "review" }, "r", m, if m % 3 == 0 { Verdict::Pass } else { Verdict::Fail }))
        .collect();
    let found: Vec<Finding> = runs.iter().filter(|r| r.verdict == Verdict::Fail).map(|r| finding(r, "F")).collect();
    let forward = derived(runs.clone(), found.clone());
    let backward = derived(runs.into_iter().rev().collect(), found.into_iter().rev().collect());
    assert_eq!(forward, backward);
}
