//! Tests of the lifecycle trace on self-made lines, era by era.

use std::path::Path;

use proptest::prelude::*;

use super::LifecycleTrace;
use crate::model::gate_runs::GateRun;
use crate::model::time::Ts;
use crate::model::vocabulary::{
    About, BaselineState, DecisionKind, ExposureBasis, FingerprintBasis, Scope, Severity, Verdict, VerdictBasis,
};
use crate::source::emit::{Collect, Facts, Summary};
use crate::source::{Input, Probe, Source, read_file};

/// Facts of a trace with these bytes.
fn facts_of(bytes: &[u8]) -> (Facts, Summary) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jsonl");
    std::fs::write(&path, bytes).unwrap();
    let input = Input::new(&path).unwrap();
    let mut sink = Collect::default();
    let summary = read_file(&LifecycleTrace, &input, &mut sink).unwrap();
    (sink.0, summary)
}

/// A span of issue 7 with these further keys, `span` first.
fn line(span: &str, time: &str, version: &str, more: &str) -> String {
    let comma = if more.is_empty() { "" } else { "," };
    format!(
        "{{\"schema_version\":1,\"timestamp\":\"{time}\",\"span\":\"{span}\",\"harness.issue\":7,\"harness.version\":\"{version}\"{comma}{more}}}\n"
    )
}

fn facts(lines: &[String]) -> Facts {
    facts_of(lines.concat().as_bytes()).0
}

fn step(time: &str, version: &str, step: &str, outcome: &str, more: &str) -> String {
    let comma = if more.is_empty() { "" } else { "," };
    line("lifecycle", time, version, &format!("\"harness.lifecycle_step\":\"{step}\",\"harness.outcome\":\"{outcome}\"{comma}{more}"))
}

fn verdict(time: &str, outcome: &str, more: &str) -> String {
    let keys = "\"gen_ai.agent.name\":\"conductor\",\"harness.lifecycle_step\":\"review_verdict\"";
    line("agent", time, "0.44.0", &format!("{keys},\"harness.outcome\":\"{outcome}\",{more}"))
}

fn stages(facts: &Facts) -> Vec<(&str, Verdict)> {
    facts.gate_runs.iter().map(|g| (g.rule_id.as_deref().unwrap_or("-"), g.verdict)).collect()
}

fn warned(facts: &Facts, kind: &str) -> i64 {
    facts.warnings.iter().filter(|w| w.kind == kind).map(|w| w.count).sum()
}

fn rule<'a>(facts: &'a Facts, rule: &str) -> &'a GateRun {
    facts.gate_runs.iter().find(|g| g.rule_id.as_deref() == Some(rule)).unwrap()
}

const T: &str = "2026-08-10T10:00:00Z";
const PASS: Verdict = Verdict::Pass;

#[test]
fn a_failed_composite_passes_its_earlier_stages_fails_at_one_and_says_nothing_of_the_rest() {
    let f = facts(&[step(
        T,
        "0.44.0",
        "pr_create",
        "fail",
        "\"harness.stage\":\"rebase\",\"harness.duration_ms\":4000,\"harness.exit_status\":1,\"harness.pr_number\":\"9\"",
    )]);
    assert_eq!(stages(&f), [("preconditions", PASS), ("round_budget", PASS), ("review_gate", PASS), ("rebase", Verdict::Fail)]);
    let failed = rule(&f, "rebase");
    assert_eq!((failed.duration_ms, failed.exit_status, failed.stopped_work), (Some(4000), Some(1), Some(true)));
    assert_eq!(failed.started_at, Ts::parse("2026-08-10T09:59:56Z"));
    assert_eq!((failed.about, failed.exposure_basis), (About::Infrastructure, ExposureBasis::Recorded));
    for run in &f.gate_runs[..3] {
        assert_eq!(
            (run.exposure_basis, run.duration_ms, run.started_at, run.exit_status),
            (ExposureBasis::ImpliedByStage, None, None, None)
        );
    }
    assert!(f.gate_runs.iter().all(|g| g.subject.as_deref() == Some("pr:9") && g.ended_at == Ts::parse(T)));
    assert_eq!(f.findings.len(), 1);
    assert_eq!(f.findings[0].fingerprint, "gate_review/rebase");
    assert_eq!(f.findings[0].fingerprint_basis, FingerprintBasis::GateStage);
    assert_eq!(f.findings[0].gate_run_id, failed.gate_run_id);
}

#[test]
fn a_successful_composite_passes_the_stages_of_its_release_and_its_time_stands_on_the_last() {
    let pass = |version| stages_of(version, "pr_create");
    assert_eq!(pass("0.30.0"), ["preconditions", "review_gate", "rebase", "post_sync_gate", "push", "pr_create"]);
    assert_eq!(pass("0.37.2"), ["preconditions", "review_gate", "rebase", "post_sync_gate", "sensor_gate", "push", "pr_create"]);
    assert_eq!(
        pass("0.43.0"),
        ["preconditions", "round_budget", "review_gate", "rebase", "post_sync_gate", "sensor_gate", "push", "pr_create"]
    );
    assert_eq!(stages_of("0.21.0", "pr_merge"), ["resolve_pr", "ci_checks", "merge"]);
    assert_eq!(stages_of("0.21.1", "pr_merge"), ["resolve_pr", "ci_checks", "merge", "merge_verify"]);
}

fn stages_of(version: &str, name: &str) -> Vec<String> {
    let f = facts(&[step(T, version, name, "pass", "\"harness.stage\":\"done\",\"harness.duration_ms\":90")]);
    let with_time = f.gate_runs.iter().filter(|g| g.duration_ms == Some(90)).count();
    assert_eq!((with_time, f.gate_runs.last().unwrap().duration_ms), (1, Some(90)));
    assert!(f.gate_runs.iter().all(|g| g.verdict == PASS && g.exposure_basis == ExposureBasis::ImpliedByStage));
    assert!(f.findings.is_empty());
    f.gate_runs.iter().filter_map(|g| g.rule_id.clone()).collect()
}

#[test]
fn a_stage_that_says_whether_it_did_its_work_is_believed() {
    let finish = |removed: &str, deleted: &str| {
        let more =
            format!("\"harness.stage\":\"done\",\"harness.worktree_removed\":\"{removed}\",\"harness.branch_deleted\":\"{deleted}\"");
        let f = facts(&[step("2026-07-04T16:01:17Z", "1652e7e", "finish", "pass", &more)]);
        f.gate_runs.iter().filter_map(|g| g.rule_id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(finish("true", "false"), ["completion_check", "worktree_remove"]);
    assert_eq!(finish("true", "true"), ["completion_check", "worktree_remove", "branch_delete"]);
}

#[test]
fn a_fallback_sync_proves_that_the_push_before_it_did_not_pass() {
    let f = facts(&[step(T, "0.44.0", "pr_create", "fail", "\"harness.stage\":\"fallback_sync\"")]);
    let names: Vec<&str> = stages(&f).iter().map(|(name, _)| *name).collect();
    assert!(!names.contains(&"push"));
    assert_eq!(names.last(), Some(&"fallback_sync"));
}

#[test]
fn a_failed_merge_proves_nothing_before_its_exit_status_was_right() {
    let merge = |time: &str, version: &str| {
        let f = facts(&[step(time, version, "pr_merge", "fail", "\"harness.stage\":\"merge\"")]);
        let run = rule(&f, "merge");
        assert_eq!(f.findings.is_empty(), run.verdict == Verdict::Inconclusive, "an inconclusive run reports no defect");
        assert_eq!(rule(&f, "ci_checks").verdict, PASS);
        (run.verdict, run.stopped_work)
    };
    let unknown = (Verdict::Inconclusive, None);
    let fail = (Verdict::Fail, Some(true));
    assert_eq!(merge(T, "0.21.0"), unknown);
    assert_eq!(merge("2026-07-01T00:00:00Z", "0.21.1"), fail);
    assert_eq!(merge(T, "4f5f8f0"), unknown);
    assert_eq!(merge("2026-07-21T00:31:34Z", ""), unknown);
    assert_eq!(merge("2026-07-21T00:31:35Z", ""), fail);
    assert_eq!(merge("soon", "dev"), unknown);
    assert_eq!(merge(T, "0.0.0-dev"), unknown);
}

#[test]
fn ci_is_an_external_check_that_the_harness_reads() {
    let f = facts(&[step(T, "0.44.0", "pr_merge", "fail", "\"harness.stage\":\"ci_checks\",\"harness.exit_status\":3")]);
    let run = rule(&f, "ci_checks");
    assert_eq!((run.verdict, run.observed_via.as_deref(), run.observed_at), (Verdict::Fail, Some("ci"), Ts::parse(T)));
    assert_eq!((run.about, f.findings[0].about), (About::Product, About::Product));
    assert_eq!(rule(&f, "resolve_pr").observed_at, None);
}

#[test]
fn a_failure_at_an_unknown_or_missing_stage_implies_no_pass() {
    let f = facts(&[
        step(T, "0.44.0", "pr_create", "fail", "\"harness.stage\":\"teleport\""),
        step(T, "0.44.0", "finish", "fail", "\"harness.exit_status\":1"),
    ]);
    assert_eq!(stages(&f), [("teleport", Verdict::Fail), ("-", Verdict::Fail)]);
    assert_eq!((warned(&f, "unknown_stage"), warned(&f, "missing_stage")), (1, 1));
    assert!(f.rules.iter().any(|r| r.rule_id == "teleport" && r.gate_id.as_deref() == Some("gate_review")));
}

#[test]
fn a_script_that_dies_by_a_signal_gives_no_verdict() {
    let f = facts(&[step(T, "0.44.0", "pr_create", "fail", "\"harness.stage\":\"sensor_gate\",\"harness.exit_status\":137")]);
    let run = rule(&f, "sensor_gate");
    assert_eq!((run.verdict, run.raw_verdict.as_deref(), run.verdict_basis), (Verdict::Crashed, Some("fail"), VerdictBasis::ExitStatus));
    assert_eq!(run.stopped_work, Some(true));
    assert!(f.findings.is_empty());
}

#[test]
fn a_rule_that_a_person_lifted_is_waived_once() {
    let release = line(
        "tool",
        T,
        "0.44.0",
        "\"gen_ai.tool.name\":\"create-pr.round-cap-release\",\"harness.outcome\":\"pass\",\"harness.round_count\":\"3\",\"harness.round_cap\":\"3\"",
    );
    let create = step(T, "0.44.0", "pr_create", "pass", "\"harness.stage\":\"done\"");
    let f = facts(&[release, create.clone(), create]);
    let budget: Vec<Verdict> = f.gate_runs.iter().filter(|g| g.rule_id.as_deref() == Some("round_budget")).map(|g| g.verdict).collect();
    assert_eq!(budget, [Verdict::Waived, PASS]);
    let decision = &f.decisions[0];
    assert_eq!((decision.kind, decision.what.as_str()), (DecisionKind::Release, "round-cap-release"));
    assert_eq!(decision.target.as_deref(), Some("gate_review/round_budget"));
}

#[test]
fn a_defect_that_a_called_script_reported_is_the_same_defect_in_the_calling_one() {
    let check = line(
        "tool",
        "2026-07-20T10:00:00Z",
        "0.18.0",
        "\"gen_ai.tool.name\":\"review-gate.check\",\"harness.outcome\":\"fail\",\"harness.exit_status\":1,\"harness.stage\":\"stale_head\"",
    );
    let create = |end| step(end, "0.18.0", "pr_create", "fail", "\"harness.stage\":\"review_gate\",\"harness.duration_ms\":900");
    let f = facts(&[check.clone(), create("2026-07-20T10:00:00Z")]);
    let prints: Vec<&str> = f.findings.iter().map(|f| f.fingerprint.as_str()).collect();
    assert_eq!(prints, ["gate_review/check/stale_head", "gate_review/check/stale_head"]);
    let apart = facts(&[check, create("2026-07-20T11:00:00Z")]);
    assert_eq!(apart.findings[1].fingerprint, "gate_review/review_gate");
}

#[test]
fn seven_verdict_spans_of_three_reviews_are_three_gate_runs() {
    let at = |sha: &str, mode: &str, unit: &str, outcome: &str| {
        let more = format!("\"harness.reviewed_sha\":\"{sha}\",\"harness.review_mode\":\"{mode}\",\"harness.feature_id\":\"{unit}\"");
        verdict(T, outcome, &more)
    };
    let f = facts(&[
        at("sha-a", "full", "f1", "pass"),
        at("sha-a", "full", "f2", "fail"),
        at("sha-a", "full", "f3", "pass"),
        at("sha-b", "full", "f1", "pass"),
        at("sha-b", "full", "f2", "pass"),
        at("sha-b", "repair", "f1", "pass"),
        at("sha-b", "repair", "f2", "pass"),
    ]);
    let got: Vec<(Verdict, Option<&str>, Option<i64>)> =
        f.gate_runs.iter().map(|g| (g.verdict, g.head_sha.as_deref(), g.substance)).collect();
    assert_eq!(got, [(Verdict::Fail, Some("sha-a"), Some(3)), (PASS, Some("sha-b"), Some(2)), (PASS, Some("sha-b"), Some(2))]);
    assert_eq!(f.gate_runs.iter().map(|g| g.seq).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(f.findings.len(), 1);
    assert_eq!(f.findings[0].unit.as_deref(), Some("f2"));
    assert_eq!(f.findings[0].gate_run_id, f.gate_runs[0].gate_run_id);
    assert!(f.gate_runs.iter().all(|g| g.stopped_work.is_none() && g.unit.is_none()));
}

#[test]
fn a_span_without_event_and_sha_is_a_review_of_its_own() {
    let f = facts(&[
        verdict(T, "pass", "\"harness.reviewed_sha\":\"sha-a\",\"harness.review_mode\":\"full\""),
        verdict(T, "fail", "\"harness.reviewed_sha\":\"sha-b\",\"harness.review_mode\":\"quick\""),
        verdict(T, "pass", "\"harness.review_mode\":\"repair\""),
        verdict(T, "pass", "\"harness.review_mode\":\"repair\""),
    ]);
    assert_eq!(f.gate_runs.len(), 4);
}

#[test]
fn a_span_without_an_event_id_joins_the_only_event_with_its_coordinates() {
    let sha = "\"harness.reviewed_sha\":\"sha-a\",\"harness.review_mode\":\"full\"";
    let with = |id: &str| format!("{sha},\"harness.review_event_id\":\"{id}\"");
    let one = facts(&[verdict(T, "pass", sha), verdict(T, "fail", &with("r1"))]);
    assert_eq!(one.gate_runs.len(), 1);
    assert_eq!(one.gate_runs[0].evidence.as_deref(), Some("event:r1 mode:full"));
    let several = facts(&[verdict(T, "pass", sha), verdict(T, "fail", &with("r1")), verdict(T, "pass", &with("r2"))]);
    assert_eq!(several.gate_runs.len(), 3);
    assert_eq!(warned(&several, "ambiguous_review_event"), 1);
}

#[test]
fn only_a_fail_that_can_be_acted_on_fails_a_review() {
    let event = |actionable: &str| {
        let f = facts(&[
            verdict(T, "pass", "\"harness.review_event_id\":\"r\""),
            verdict(T, "fail", &format!("\"harness.review_event_id\":\"r\"{actionable}")),
        ]);
        assert_eq!((f.gate_runs.len(), f.findings.len()), (1, 1));
        f.gate_runs[0].verdict
    };
    assert_eq!(event(",\"harness.actionable\":\"false\""), Verdict::Warn);
    assert_eq!(event(",\"harness.actionable\":false"), Verdict::Warn);
    assert_eq!(event(",\"harness.actionable\":\"true\""), Verdict::Fail);
    assert_eq!(event(""), Verdict::Fail);
}

#[test]
fn a_finding_keeps_its_identity_and_a_pass_names_what_it_resolves() {
    let f = facts(&[
        verdict(
            T,
            "fail",
            "\"harness.review_event_id\":\"r1\",\"harness.feature_id\":\"cart\",\"harness.finding_fingerprint\":\"cart-total\",\
             \"harness.repeat_of\":\"cart-sum\",\"harness.finding_baseline_state\":\"updated\",\"harness.failure_class\":\"regression\",\
             \"harness.actionable\":\"true\"",
        ),
        verdict(
            "2026-08-10T11:00:00Z",
            "pass",
            "\"harness.review_event_id\":\"r2\",\"harness.feature_id\":\"cart\",\"harness.finding_fingerprint\":\"cart-total\",\
             \"harness.finding_baseline_state\":\"resolved\"",
        ),
        verdict(
            "2026-08-10T12:00:00Z",
            "pass",
            "\"harness.review_event_id\":\"r3\",\"harness.finding_fingerprint\":\"cart-total\",\"harness.finding_baseline_state\":\"new\"",
        ),
    ]);
    let finding = &f.findings[0];
    assert_eq!((finding.fingerprint.as_str(), finding.fingerprint_basis), ("cart-total", FingerprintBasis::Native));
    assert_eq!((finding.repeat_of.as_deref(), finding.baseline_state), (Some("cart-sum"), Some(BaselineState::Updated)));
    assert_eq!((finding.failure_class.as_deref(), finding.actionable, finding.count), (Some("regression"), Some(true), None));
    assert_eq!(f.findings.len(), 1);
    assert_eq!(f.gate_runs[0].unit.as_deref(), Some("cart"));
    assert_eq!(f.gate_runs[1].resolves.as_deref(), Some(&["cart-total".to_owned()][..]));
    assert_eq!(f.gate_runs[2].resolves, None);
}

#[test]
fn an_aggregate_fail_is_one_lossy_finding() {
    let f = facts(&[
        verdict(T, "fail", "\"harness.review_event_id\":\"r\",\"harness.summary\":\"3 critical and 4 warning findings: all of it\""),
        verdict(T, "fail", "\"harness.review_event_id\":\"r\",\"harness.summary\":\"1 critical finding: one thing\""),
        verdict(T, "pass", "\"harness.review_event_id\":\"s\",\"harness.summary\":\"fixed 3 findings\""),
    ]);
    assert_eq!(f.findings.iter().map(|f| f.count).collect::<Vec<_>>(), [Some(7), None]);
    assert_eq!(warned(&f, "aggregate_finding"), 1);
    assert_eq!(f.findings[0].severity, Some(Severity::Critical));
}

#[test]
fn a_severity_is_read_from_the_start_of_the_summary_and_the_summary_is_not_kept() {
    let f = facts(&[
        verdict(T, "fail", "\"harness.summary\":\"MAJOR: the basket forgets\""),
        verdict(T, "fail", "\"harness.summary\":\"the basket forgets a major thing\""),
    ]);
    let got: Vec<_> = f.findings.iter().map(|f| (f.severity, f.raw_severity.as_deref())).collect();
    assert_eq!(got, [(Some(Severity::Major), Some("MAJOR")), (None, None)]);
    assert!(!format!("{f:?}").contains("basket"));
}

#[test]
fn the_role_era_hands_back_red_and_green() {
    let hand = |step: &str, outcome: &str, more: &str| {
        line(
            "agent",
            "2026-07-20T10:00:00Z",
            "0.20.0",
            &format!(
                "\"gen_ai.agent.name\":\"test-subagent\",\"harness.lifecycle_step\":\"{step}\",\"harness.feature_id\":\"f1\",\
                 \"harness.outcome\":\"{outcome}\"{more}"
            ),
        )
    };
    let f = facts(&[
        hand("plan_handback", "pass", ""),
        hand("feature_start", "pass", ""),
        hand("red_handback", "pass", ""),
        hand("impl_handback", "pass", ""),
        hand("green_handback", "fail", ",\"harness.sensor_scope\":\"scoped\",\"harness.sensor_count\":\"3\""),
        hand("green_handback", "blocked", ""),
        hand("green_handback", "pass", ",\"harness.sensor_count\":\"0\""),
        hand("green_handback", "pass", ",\"harness.sensor_count\":3"),
    ]);
    assert_eq!(
        stages(&f),
        [
            ("red_handback", Verdict::ExpectedRed),
            ("green_handback", Verdict::Fail),
            ("green_handback", Verdict::CouldNotRun),
            ("green_handback", Verdict::Vacuous),
            ("green_handback", PASS),
        ]
    );
    let fail = &f.gate_runs[1];
    assert_eq!((fail.scope, fail.substance, fail.stopped_work), (Some(Scope::Scoped), Some(3), None));
    assert_eq!(f.findings.len(), 1);
    assert_eq!(f.findings[0].fingerprint, "gate_sensors/green_handback/f1");
    assert_eq!(f.trace_spans.len(), 8);
}

#[test]
fn a_skipped_preflight_and_a_blind_check_are_no_pass() {
    let f = facts(&[
        step(T, "0.44.0", "preflight", "pass", "\"harness.preflight_skipped\":\"true\""),
        line(
            "tool",
            T,
            "0.30.0",
            "\"gen_ai.tool.name\":\"check-feature-list\",\"harness.outcome\":\"pass\",\"harness.warning\":\"jq_skipped\"",
        ),
        line(
            "tool",
            T,
            "0.30.0",
            "\"gen_ai.tool.name\":\"check-feature-list\",\"harness.outcome\":\"pass\",\"harness.warning\":\"incomplete_features\",\"harness.incomplete_count\":2",
        ),
    ]);
    assert_eq!(stages(&f), [("preflight", Verdict::Skipped), ("tracking-ready", Verdict::Vacuous), ("tracking-ready", Verdict::Warn)]);
    let events: Vec<&str> = f.guard_events.iter().map(|g| g.event.as_str()).collect();
    assert_eq!(events, ["skipped_init", "degraded_open"]);
    assert_eq!((f.findings.len(), f.findings[0].count), (1, Some(2)));
}

#[test]
fn a_trace_check_that_counts_rule_findings_stands_for_that_many() {
    let check = |outcome, v, w| {
        line(
            "tool",
            T,
            "0.30.0",
            &format!(
                "\"gen_ai.tool.name\":\"review-gate.trace\",\"harness.outcome\":\"{outcome}\",\"harness.violation_count\":{v},\"harness.warning_count\":{w}"
            ),
        )
    };
    let f = facts(&[check("fail", 2, 1), check("pass", 0, 1), check("pass", 0, 0)]);
    assert_eq!(f.gate_runs.iter().map(|g| g.verdict).collect::<Vec<_>>(), [Verdict::Fail, Verdict::Warn, PASS]);
    assert_eq!(f.findings.iter().map(|f| f.count).collect::<Vec<_>>(), [Some(3), None]);
    assert!(f.gate_runs.iter().all(|g| g.about == About::Harness && g.stopped_work != Some(true)));
}

#[test]
fn a_carried_approval_is_a_decision_and_no_pass() {
    let sha = "98ecdd71b0012a9893d9d2518097caaf0e758a7b";
    let f = facts(&[
        step(
            T,
            "0.44.0",
            "review_gate_approve",
            "pass",
            &format!("\"harness.review_gate_sha\":\"{sha}\",\"harness.review_gate_carry\":\"docs-only\""),
        ),
        step(T, "0.44.0", "review_gate_approve", "pass", &format!("\"harness.review_gate_sha\":\"{sha}\"")),
        step(T, "0.44.0", "review_gate_approve", "fail", "\"harness.exit_status\":1"),
    ]);
    assert_eq!(stages(&f), [("approve", Verdict::Waived), ("approve", PASS), ("approve", Verdict::Fail)]);
    assert_eq!(f.decisions.len(), 1);
    assert_eq!((f.decisions[0].kind, f.decisions[0].what.as_str()), (DecisionKind::Approval, "carry:docs-only"));
    assert_eq!(f.decisions[0].target.as_deref(), Some(sha));
    assert_eq!(f.gate_runs[1].head_sha.as_deref(), Some(sha));
}

#[test]
fn a_deviation_is_a_decision_without_its_text() {
    let f = facts(&[line(
        "agent",
        T,
        "0.44.0",
        "\"gen_ai.agent.name\":\"conductor\",\"harness.lifecycle_step\":\"deviation\",\"harness.feature_id\":\"f1\",\"harness.outcome\":\"fail\",\
         \"harness.failure_mode\":\"weak-sensor\",\"harness.failure_class\":\"regression\",\"harness.failure_disposition\":\"class-fix\",\
         \"harness.summary\":\"the secret reason\"",
    )]);
    let d = &f.decisions[0];
    assert_eq!((d.kind, d.what.as_str(), d.target.as_deref()), (DecisionKind::Deviation, "class-fix", Some("f1")));
    assert_eq!((d.failure_mode.as_deref(), d.failure_class.as_deref()), (Some("weak-sensor"), Some("regression")));
    assert!(d.why_hash.is_some() && !format!("{f:?}").contains("secret"));
    assert!(f.gate_runs.is_empty());
}

#[test]
fn a_reconstructed_tool_span_has_no_time_of_its_own() {
    let f = facts(&[line(
        "tool",
        T,
        "0.1.1",
        "\"gen_ai.tool.name\":\"bash\",\"harness.tool_call_id\":\"c1\",\"harness.session_id\":\"s1\",\"harness.duration_ms\":12,\"harness.outcome\":\"pass\"",
    )]);
    let row = &f.trace_spans[0];
    assert_eq!((row.reconstructed, row.ended_at, row.duration_ms), (true, None, Some(12)));
    assert_eq!((row.step.as_deref(), row.session.as_deref()), (Some("bash"), Some("s1")));
    assert!(f.gate_runs.is_empty());
}

#[test]
fn economics_are_read_in_each_of_their_places() {
    let keys = "\"harness.economics.wall_clock_ms\":7200500,\"harness.economics.active_ms\":2400250,\"harness.economics.review_rounds\":3,\
                \"gen_ai.usage.input_tokens\":15,\"gen_ai.usage.output_tokens\":27,\"harness.economics.native_subagent_tokens\":3500";
    let tool = line("tool", T, "0.8.0", &format!("\"gen_ai.tool.name\":\"finish-issue.economics\",\"harness.outcome\":\"pass\",{keys}"));
    let finish = step(T, "0.33.0", "finish", "pass", &format!("\"harness.stage\":\"done\",{keys}"));
    let f = facts(&[tool, finish]);
    for row in &f.trace_spans {
        assert_eq!((row.econ_wall_clock_ms, row.econ_active_ms, row.econ_review_rounds), (Some(7_200_500), Some(2_400_250), Some(3)));
        assert_eq!((row.input_tokens, row.output_tokens, row.econ_subagent_tokens), (Some(15), Some(27), Some(3500)));
    }
    assert!(f.gate_runs.iter().all(|g| g.source_line == 2 && g.input_tokens.is_none()));
}

#[test]
fn a_model_span_is_a_row_and_nothing_else() {
    let f = facts(&[line("model", T, "0.8.0", "\"gen_ai.request.model\":\"m-1\",\"gen_ai.usage.input_tokens\":\"10\"")]);
    assert_eq!(
        (f.trace_spans[0].model.as_deref(), f.trace_spans[0].input_tokens, f.trace_spans[0].output_tokens),
        (Some("m-1"), Some(10), None)
    );
    assert!(f.model_call_copies.is_empty() && f.gate_runs.is_empty());
}

#[test]
fn another_version_is_quarantined_and_what_is_no_span_too() {
    let text = format!(
        "{}{{\"schema_version\":2,\"span\":\"tool\"}}\n{{\"hello\":1}}\n17\nbroken\n{}",
        line("tool", T, "0.44.0", "\"gen_ai.tool.name\":\"bash\""),
        line("tool", T, "0.44.0", "\"gen_ai.tool.name\":\"edit\"")
    );
    let (f, summary) = facts_of(text.as_bytes());
    let reasons: Vec<&str> = f.quarantine.iter().map(|q| q.reason.as_str()).collect();
    assert_eq!(reasons, ["unknown_version", "schema", "not_object", "malformed"]);
    assert_eq!((summary.records, summary.quarantined, f.trace_spans.len()), (6, 4, 2));
}

#[test]
fn oddities_are_counted_by_name() {
    let f = facts(&[
        line("metric", T, "0.44.0", "\"x.y\":1,\"harness.lifecycle_step\":\"moonwalk\",\"harness.outcome\":\"maybe\""),
        line("agent", "yesterday", "0.44.0", "\"x.y\":2"),
        "{\"span\":\"agent\",\"harness.stage\":[1]}\n".to_owned(),
    ]);
    let count = |kind| warned(&f, kind);
    assert_eq!((count("unknown_key"), count("unknown_span"), count("unknown_step"), count("unknown_outcome")), (2, 1, 1, 1));
    assert_eq!((count("bad_timestamp"), count("missing_key"), count("nested_value")), (1, 4, 1));
    assert_eq!(f.trace_spans.len(), 3);
}

#[test]
fn the_key_of_a_delivery_does_not_depend_on_where_the_file_lies() {
    let lines =
        [step(T, "0.44.0", "pr_create", "fail", "\"harness.stage\":\"rebase\""), verdict(T, "fail", "\"harness.feature_id\":\"f1\"")];
    let (one, other) = (facts(&lines), facts(&lines));
    let ids = |f: &Facts| {
        let runs = f.gate_runs.iter().map(|g| (g.gate_run_id.clone(), g.native_run_key.clone()));
        let rest = f.findings.iter().map(|f| (f.finding_id.clone(), f.gate_run_id.clone()));
        runs.chain(rest).chain(f.trace_spans.iter().map(|t| (t.span_row_id.clone(), String::new()))).collect::<Vec<_>>()
    };
    assert_eq!(ids(&one), ids(&other));
    assert!(one.gate_runs[0].native_run_key.starts_with("issue:7@"));
    assert_eq!(one.gate_runs[0].native_run_key.len(), "issue:7@".len() + 8);
}

#[test]
fn every_gate_of_the_profile_is_listed_once_and_an_empty_file_lists_none() {
    let f = facts(&[line("tool", T, "0.44.0", "\"gen_ai.tool.name\":\"bash\"")]);
    assert_eq!(f.gates.len(), 4);
    assert!(f.gates.iter().all(|g| g.declared_in.is_none() && g.harness.as_deref() == Some("agent-delivery-harness")));
    assert!(f.rules.iter().any(|r| r.rule_id == "sensor_gate" && r.since.as_deref() == Some("0.37.2")));
    assert_eq!(facts_of(b"").0, Facts::default());
}

#[test]
fn only_files_that_look_like_a_trace_are_claimed() {
    let span = line("tool", T, "0.44.0", "");
    let claims = |name: &str, head: &str| {
        let input = Input::new(Path::new(name)).unwrap();
        LifecycleTrace.claims(&Probe { input: &input, head: head.as_bytes() })
    };
    assert!(claims("/x/issue-97/trace.jsonl", &span));
    assert!(claims("/x/issue-97-deviation.trace.jsonl", &span));
    assert!(claims("/x/trace.jsonl.gz", &span));
    assert!(!claims("/x/events.jsonl", &span));
    assert!(!claims("/x/backtrace.jsonl", &span));
    assert!(!claims("/x/trace.jsonl", "{\"type\":\"user\",\"span\":\"x\"}"));
    assert!(!claims("/x/trace.jsonl", ""));
}

#[test]
fn many_open_reviews_and_gate_runs_are_bounded_and_said_so() {
    let mut text = String::new();
    for n in 0..super::review::HELD_SPANS + 5 {
        text += &verdict(T, "fail", &format!("\"harness.finding_fingerprint\":\"f{n}\""));
    }
    let (f, _) = facts_of(text.as_bytes());
    assert_eq!(f.gate_runs.len(), super::review::HELD_SPANS + 5);
    assert_eq!(f.findings.len(), f.gate_runs.len());
    assert!(warned(&f, "state_capped") > 0);
    let seqs: Vec<i64> = f.gate_runs.iter().map(|g| g.seq).collect();
    assert_eq!(seqs, (0..seqs.len() as i64).collect::<Vec<_>>());
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn the_one_published_trace_reads_whole() {
    let root = std::env::var("MECHANIC_DATA").unwrap();
    let path = Path::new(&root).join("harnesses/agent-delivery-harness/issue-97-deviation.trace.jsonl");
    let input = Input::new(&path).unwrap();
    let head = crate::source::head_of(&input).unwrap();
    let source = crate::source::claim(&input, &head).unwrap();
    assert_eq!(source.format(), "agent-delivery-harness");
    let mut sink = Collect::default();
    let summary = read_file(source, &input, &mut sink).unwrap();
    let f = sink.0;
    assert_eq!((summary.records, summary.quarantined, f.trace_spans.len()), (37, 0, 37));
    let of = |kind: &str| f.trace_spans.iter().filter(|t| t.span == kind).count();
    assert_eq!((of("agent"), of("lifecycle"), of("tool")), (17, 16, 4));
    let at = |line: i64| f.gate_runs.iter().filter(move |g| g.source_line == line).collect::<Vec<_>>();
    assert_eq!(at(35).last().map(|g| (g.rule_id.as_deref(), g.verdict)), Some((Some("merge"), Verdict::Inconclusive)));
    for line in 18..=27 {
        assert!(!at(line).is_empty() && at(line).iter().all(|g| g.subject.as_deref() == Some("pr:123")), "line {line}");
    }
    assert_eq!(at(34).last().and_then(|g| g.subject.as_deref()), Some("pr:107"));
    assert_eq!((at(32).len(), at(33).len()), (1, 1));
    assert_ne!(at(32)[0].gate_run_id, at(33)[0].gate_run_id);
    assert!(f.findings.iter().all(|f| f.about != About::Product), "{:?}", f.findings);
    assert!(f.gate_runs.iter().all(|g| g.verdict != Verdict::Fail));
    let deviations: Vec<_> = f.decisions.iter().collect();
    assert_eq!(deviations.len(), 1);
    assert_eq!((deviations[0].source_line, deviations[0].failure_mode.as_deref()), (15, None));
    assert!(f.warnings.is_empty(), "{:?}", f.warnings);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic_and_every_record_is_accounted_for(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let (f, summary) = facts_of(&bytes);
        prop_assert_eq!(f.trace_spans.len() as i64 + summary.quarantined, summary.records);
    }

    #[test]
    fn any_values_under_known_keys_are_read_without_panic(
        pairs in proptest::collection::vec(
            (proptest::sample::select(super::span::KEYS), prop_oneof![
                Just("null".to_owned()), Just("{}".to_owned()), Just("[1,{\"a\":2}]".to_owned()), Just("-1".to_owned()),
                Just("9223372036854775807".to_owned()), Just("1e308".to_owned()), Just("true".to_owned()),
                Just("\"pass\"".to_owned()), Just("\"fail\"".to_owned()), Just("\"pr_create\"".to_owned()), Just("\"finish\"".to_owned()),
                Just("\"review_verdict\"".to_owned()), Just("\"done\"".to_owned()), Just("\"rebase\"".to_owned()),
                Just("\"2026-07-21T00:31:35Z\"".to_owned()), Just("\"0.21.1\"".to_owned()), Just("\"lifecycle\"".to_owned()),
                "[a-z .0-9-]{0,12}".prop_map(|s| format!("\"{s}\"")),
            ]),
            0..20,
        ),
        copies in 1usize..4,
    ) {
        let body: Vec<String> = pairs.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
        let text = format!("{{\"span\":\"agent\"{}{}}}\n", if body.is_empty() { "" } else { "," }, body.join(",")).repeat(copies);
        let (f, summary) = facts_of(text.as_bytes());
        prop_assert_eq!(f.trace_spans.len() as i64 + summary.quarantined, summary.records);
        prop_assert!(f.findings.iter().all(|x| f.gate_runs.iter().any(|g| g.gate_run_id == x.gate_run_id)));
    }
}
