//! Owns the facts of what follows a refusal: a retry is no override, work that went on was not stopped, a release lifts its own rule.

use super::tests::*;
use super::*;
use crate::measure::sample;
use crate::model::gate_runs::Finding;
use crate::model::vocabulary::*;

const SECOND: i64 = 1_000_000;

fn at(second: i64) -> Option<Ts> {
    Some(Ts(second * SECOND))
}

/// A call of the made session, from one second to the next.
fn call(id: &str, name: &str, second: i64, writes: Option<bool>) -> ToolCall {
    ToolCall {
        started_at: at(second),
        ended_at: at(second + 1),
        success: Some(true),
        args_hash: Some(format!("args of {name}")),
        writes,
        source_id: "log".into(),
        ..sample::tool_call(id, "c", name)
    }
}

/// What the hook said of a call.
fn hook(call: &ToolCall, second: i64, verdict: Verdict) -> GateRun {
    GateRun {
        gate_run_id: format!("hook@{second}"),
        ended_at: at(second),
        tool_call_id: Some(call.tool_call_id.clone()),
        phase: Some(Phase::Before),
        subject: Some("command:git".into()),
        source_id: "log".into(),
        source_line: second,
        ..gate_run("hook", "commit", 0, verdict)
    }
}

/// A hook refuses a commit in second 10; something happens; the same commit goes through in second 50.
fn retried(between: Vec<ToolCall>, mut hooks: Vec<GateRun>) -> crate::model::derived::Problem {
    let mut refused = call("refused", "commit", 9, Some(false));
    (refused.denied_by, refused.success) = (Some("hook".into()), Some(false));
    let again = call("again", "commit", 50, None);
    let fail = hook(&refused, 10, Verdict::Fail);
    let found = vec![finding(&fail, "F")];
    hooks.push(fail);
    hooks.push(hook(&again, 51, Verdict::Pass));
    let mut facts = facts(hooks, found);
    facts.contexts.push(context("c", "session:s1"));
    facts.tool_calls = vec![refused, again];
    facts.tool_calls.extend(between);
    let mut problems = derive(facts, rules()).unwrap().problems;
    assert_eq!(problems.len(), 1);
    problems.remove(0)
}

#[test]
fn the_same_call_again_at_once_overrides_the_refusal() {
    let p = retried(vec![call("look", "Read", 20, Some(false))], vec![]);
    assert_eq!((p.disposition, p.first_stop_gate_id), (Disposition::Overridden, None));
}

#[test]
fn the_same_call_again_after_work_is_a_retry_and_the_refusal_a_stop() {
    for (name, writes) in [("Edit", Some(true)), ("Bash", None)] {
        let p = retried(vec![call("work", name, 20, writes)], vec![]);
        assert_eq!((p.first_stop_gate_id.as_deref(), p.stop_basis), (Some("hook"), Some(StopBasis::Enforced)), "{name}");
        assert_eq!(p.disposition, Disposition::Fixed, "{name}");
    }
}

#[test]
fn a_pass_of_the_gate_on_the_same_subject_in_between_is_no_override() {
    let other = call("other", "commit --amend", 30, Some(false));
    let p = retried(vec![other.clone()], vec![hook(&other, 31, Verdict::Pass)]);
    assert_eq!(p.first_stop_gate_id.as_deref(), Some("hook"));
}

#[test]
fn a_review_that_is_asked_for_again_overrides_nothing() {
    let (first, again) = (call("first", "Task", 5, Some(false)), call("again", "Task", 30, Some(false)));
    let mut fail = hook(&first, 10, Verdict::Fail);
    fail.phase = None;
    let found = vec![finding(&fail, "F")];
    let mut facts = facts(vec![fail], found);
    facts.contexts.push(context("c", "session:s1"));
    facts.tool_calls = vec![first, again];
    let p = &derive(facts, rules()).unwrap().problems[0];
    assert_eq!((p.first_stop_gate_id.as_deref(), p.disposition), (Some("hook"), Disposition::Unknown));
}

/// A gate that no harness declares, as `mechanic record` tells of it.
fn lint(minute: i64, verdict: Verdict) -> GateRun {
    gate_run("lint", "all", minute, verdict)
}

#[test]
fn a_gate_without_a_declared_place_stopped_nothing_that_was_merged_past_it() {
    let runs = vec![lint(10, Verdict::Fail), gate_run("closer", "merge", 20, Verdict::Pass)];
    let found = vec![finding(&runs[0], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.first_stop_gate_id.as_deref(), p.unattributed, p.disposition), (None, true, Disposition::Ignored));
}

#[test]
fn a_merge_that_another_file_tells_of_in_the_same_line_is_another_record() {
    let mut fail = lint(10, Verdict::Fail);
    fail.source_line = 20;
    fail.source_id = "log".into();
    let runs = vec![fail, gate_run("closer", "merge", 20, Verdict::Pass)];
    let found = vec![finding(&runs[0], "F")];
    assert!(derived(runs, found).problems[0].unattributed);
}

#[test]
fn a_gate_without_a_declared_place_that_passed_before_the_merge_had_stopped_the_work() {
    let runs = vec![lint(10, Verdict::Fail), lint(15, Verdict::Pass), gate_run("closer", "merge", 20, Verdict::Pass)];
    let found = vec![finding(&runs[0], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.first_stop_gate_id.as_deref(), p.disposition), (Some("lint"), Disposition::Fixed));
}

#[test]
fn what_the_record_itself_says_was_stopped_stays_so_without_a_declared_place() {
    let mut runs = vec![lint(10, Verdict::Fail), gate_run("closer", "merge", 20, Verdict::Pass)];
    runs[0].stopped_work = Some(true);
    let found = vec![finding(&runs[0], "F")];
    assert_eq!(derived(runs, found).problems[0].first_stop_gate_id.as_deref(), Some("lint"));
}

#[test]
fn a_refused_call_is_not_ignored_by_a_merge_without_it() {
    let refused = call("refused", "commit", 9, Some(false));
    let runs = vec![hook(&refused, 10, Verdict::Fail), gate_run("closer", "merge", 20, Verdict::Pass)];
    let found = vec![finding(&runs[0], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.first_stop_gate_id.as_deref(), p.disposition), (Some("hook"), Disposition::Unknown));
}

fn decision(kind: DecisionKind, target: &str, minute: i64) -> Decision {
    Decision {
        decision_id: format!("{target}@{minute}"),
        native_run_key: Some(KEY.into()),
        kind,
        who_hash: None,
        what: "said".into(),
        target: Some(target.into()),
        failure_mode: None,
        failure_class: None,
        why_hash: None,
        decided_at: Some(Ts(minute * MINUTE)),
        expires_at: None,
        source_id: "trace".into(),
        source_line: minute,
    }
}

fn released(target: &str, minute: i64, more: Vec<GateRun>) -> Disposition {
    let mut runs = vec![gate_run("review", "verdict", 10, Verdict::Fail)];
    let found = vec![finding(&runs[0], "F")];
    runs.extend(more);
    let mut facts = facts(runs, found);
    facts.decisions.push(decision(DecisionKind::Release, target, minute));
    derive(facts, rules()).unwrap().problems[0].disposition
}

#[test]
fn a_release_names_the_gate_or_the_rule_that_it_lifts_and_no_other() {
    for target in ["review", "review/verdict"] {
        assert_eq!(released(target, 11, vec![]), Disposition::Overridden, "{target}");
    }
    for target in ["review/open", "reviewer", "verdict", "review/"] {
        assert_eq!(released(target, 11, vec![]), Disposition::Unknown, "{target}");
    }
    assert_eq!(released("review", 9, vec![]), Disposition::Unknown, "what was lifted before was not this");
}

#[test]
fn a_pass_that_only_a_release_brought_about_is_no_repair() {
    let pass = || vec![gate_run("review", "verdict", 20, Verdict::Pass)];
    assert_eq!(released("review/verdict", 15, pass()), Disposition::Overridden);
    assert_eq!(released("review/verdict", 25, pass()), Disposition::Fixed, "it passed before anyone released it");
}

#[test]
fn stops_that_overlap_are_first_together_though_another_gate_had_warned_before() {
    let mut runs = vec![
        gate_run("warner", "w", 1, Verdict::Warn),
        gate_run("review", "verdict", 10, Verdict::Fail),
        gate_run("reviewer-b", "verdict", 12, Verdict::Fail),
    ];
    runs[1].started_at = Some(Ts(5 * MINUTE));
    runs[2].started_at = Some(Ts(6 * MINUTE));
    let found = runs.iter().map(|r| finding(r, "F")).collect();
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.first_detection_gate_id.as_deref(), p.first_stop_gate_id.as_deref()), (Some("warner"), Some("review")));
    assert_eq!((p.order_basis, p.co_first.clone()), (OrderBasis::Concurrent, vec!["review".to_owned(), "reviewer-b".to_owned()]));
}

#[test]
fn of_two_labels_the_later_stands_whichever_finding_it_names() {
    for (early, late) in [(0, 1), (1, 0)] {
        let runs = vec![gate_run("review", "verdict", 10, Verdict::Fail), gate_run("review", "verdict", 20, Verdict::Fail)];
        let found: Vec<Finding> = runs.iter().map(|r| finding(r, "F")).collect();
        let label = |of: usize, what: &str, minute| Decision {
            what: what.into(),
            native_run_key: None,
            ..decision(DecisionKind::Label, &found[of].finding_id, minute)
        };
        let decisions = vec![label(early, "true", 30), label(late, "false-alarm", 40)];
        let mut facts = facts(runs, found.clone());
        facts.decisions = decisions;
        assert_eq!(derive(facts, rules()).unwrap().problems[0].label.as_deref(), Some("false-alarm"));
    }
}

#[test]
fn a_delivery_that_a_person_gave_up_is_abandoned_unless_it_was_merged() {
    for (more, wanted) in [(vec![], "abandoned"), (vec![gate_run("closer", "merge", 20, Verdict::Pass)], "merged")] {
        let mut facts = facts(more, vec![]);
        facts.decisions.push(decision(DecisionKind::Abandonment, "pr:7", 30));
        assert_eq!(derive(facts, rules()).unwrap().runs[0].outcome.as_deref(), Some(wanted));
    }
}
