//! Owns the facts of what is not known: an unknown state is no unchanged one, an unknown cover no whole one, an unknown time no place.

use super::tests::*;
use super::*;
use crate::measure::sample;
use crate::model::gate_runs::Finding;
use crate::model::vocabulary::*;

fn at_commit(mut run: GateRun, sha: &str) -> GateRun {
    run.head_sha = Some(sha.repeat(10));
    run
}

fn of_class(run: &GateRun, class: Option<&str>) -> Finding {
    Finding { failure_class: class.map(str::to_owned), ..finding(run, "F") }
}

/// The basis of the miss of `sensors`, which passed in minute 3 on the commit that the review refused in minute 10.
fn missed(change: impl Fn(&mut GateRun, &mut GateRun), class: Option<&str>, covers: Option<&[&str]>) -> Option<MissBasis> {
    let mut pass = at_commit(gate_run("sensors", "s", 3, Verdict::Pass), "aaaa");
    let mut fail = at_commit(gate_run("review", "verdict", 10, Verdict::Fail), "aaaa");
    change(&mut pass, &mut fail);
    let found = vec![of_class(&fail, class)];
    let mut facts = facts(vec![pass, fail], found);
    if let Some(covers) = covers {
        covering(&mut facts, "sensors", covers);
    }
    let d = derive(facts, rules()).unwrap();
    let missed = met(&d, "sensors", Encounter::Missed);
    missed.first().and_then(|m| m.miss_basis)
}

const COVERS: Option<&[&str]> = Some(&["regression"]);

#[test]
fn a_miss_is_proven_only_where_the_gate_is_known_to_cover_the_class() {
    let same = |_: &mut GateRun, _: &mut GateRun| {};
    assert_eq!(missed(same, Some("regression"), COVERS), Some(MissBasis::Proven));
    assert_eq!(missed(same, Some("regression"), None), Some(MissBasis::Possible), "the gate does not say what it covers");
    assert_eq!(missed(same, None, COVERS), Some(MissBasis::Possible), "nobody says what it is");
    assert_eq!(missed(same, Some("complexity"), COVERS), None, "it is known not to cover it");
}

#[test]
fn a_miss_is_proven_only_where_the_gate_looked_as_widely() {
    let scoped = |pass, fail| {
        move |p: &mut GateRun, f: &mut GateRun| {
            (p.scope, f.scope) = (pass, fail);
        }
    };
    for (pass, fail, wanted) in [
        (Some(Scope::Full), Some(Scope::Full), MissBasis::Proven),
        (Some(Scope::Full), Some(Scope::Scoped), MissBasis::Proven),
        (Some(Scope::Full), None, MissBasis::Proven),
        (Some(Scope::Scoped), Some(Scope::Full), MissBasis::Possible),
        (Some(Scope::Scoped), None, MissBasis::Possible),
        (None, Some(Scope::Full), MissBasis::Possible),
    ] {
        assert_eq!(missed(scoped(pass, fail), Some("regression"), COVERS), Some(wanted), "{pass:?} {fail:?}");
    }
}

#[test]
fn a_source_that_keeps_passes_only_proves_no_miss() {
    let green = |p: &mut GateRun, _: &mut GateRun| p.exposure_basis = ExposureBasis::PassesOnly;
    assert_eq!(missed(green, Some("regression"), COVERS), Some(MissBasis::Possible));
    let inferred = |p: &mut GateRun, _: &mut GateRun| p.exposure_basis = ExposureBasis::Inferred;
    assert_eq!(missed(inferred, Some("regression"), COVERS), None);
}

#[test]
fn without_a_known_commit_nothing_is_proven_and_without_known_writes_nothing_is_possible() {
    let dirty = |p: &mut GateRun, f: &mut GateRun| (p.head_sha, f.head_sha) = (None, None);
    assert_eq!(missed(dirty, Some("regression"), COVERS), None);
}

/// A gate fails in second 10 and passes in second 40; the calls of the session are given.
fn failed_then_passed(calls: Vec<ToolCall>, sha: Option<&str>) -> crate::model::derived::Problem {
    let mut runs = vec![gate_run("sensors", "s", 0, Verdict::Fail), gate_run("sensors", "s", 1, Verdict::Pass)];
    for (run, second) in runs.iter_mut().zip([10, 40]) {
        run.ended_at = Some(Ts(second * 1_000_000));
        run.head_sha = sha.map(|s| s.repeat(10));
    }
    let found = vec![finding(&runs[0], "F")];
    let mut facts = facts(runs, found);
    facts.contexts.push(context("c", "session:s1"));
    facts.tool_calls = calls;
    derive(facts, rules()).unwrap().problems.remove(0)
}

fn call(name: &str, second: i64, writes: Option<bool>) -> ToolCall {
    ToolCall {
        started_at: Some(Ts(second * 1_000_000)),
        ended_at: Some(Ts((second + 1) * 1_000_000)),
        writes,
        success: Some(true),
        source_id: "log".into(),
        ..sample::tool_call(&format!("{name}@{second}"), "c", name)
    }
}

#[test]
fn a_pass_after_a_call_that_may_have_written_closes_and_is_never_called_flaky() {
    let read = || call("Read", 12, Some(false));
    for (calls, closed, flaky) in [
        (vec![read()], false, 1),
        (vec![read(), call("Edit", 20, Some(true))], true, 0),
        (vec![read(), call("Bash", 20, None)], true, 0),
        (vec![read(), ToolCall { denied_by: Some("user".into()), ..call("Bash", 20, None) }], false, 1),
        (vec![read(), call("Bash", 50, None)], false, 1),
        (vec![], true, 0),
    ] {
        let names: Vec<String> = calls.iter().map(|c| c.tool_call_id.clone()).collect();
        let p = failed_then_passed(calls, None);
        assert_eq!((p.closed_at.is_some(), p.n_flaky_passes), (closed, flaky), "{names:?}");
    }
}

#[test]
fn a_commit_that_is_known_to_have_been_judged_twice_is_one_state_whatever_is_not_known() {
    let p = failed_then_passed(vec![call("Read", 12, Some(false)), call("Bash", 20, None)], Some("cccc"));
    assert_eq!((p.closed_at, p.n_flaky_passes), (None, 1));
}

fn untimed(mut run: GateRun) -> GateRun {
    run.ended_at = None;
    run
}

#[test]
fn a_pass_without_a_time_closes_nothing() {
    let runs = vec![gate_run("review", "verdict", 10, Verdict::Fail), untimed(gate_run("review", "verdict", 20, Verdict::Pass))];
    let found = vec![finding(&runs[0], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.closed_at, p.disposition), (None, Disposition::Unknown));
}

#[test]
fn a_boundary_without_a_time_was_crossed_nobody_knows_when() {
    let runs = vec![gate_run("review", "verdict", 10, Verdict::Fail), untimed(gate_run("closer", "merge", 20, Verdict::Pass))];
    let found = vec![finding(&runs[0], "F")];
    let p = &derived(runs, found).problems[0];
    assert_eq!((p.first_stop_gate_id.as_deref(), p.disposition, p.escaped), (Some("review"), Disposition::Unknown, None));
}

#[test]
fn a_refusal_without_a_time_stops_nothing_that_others_reported() {
    let runs = vec![gate_run("review", "verdict", 10, Verdict::Warn), untimed(gate_run("sensors", "s", 20, Verdict::Fail))];
    let found = runs.iter().map(|r| finding(r, "F")).collect();
    let d = derived(runs, found);
    assert_eq!(d.problems.len(), 1);
    assert!(d.problems[0].unattributed);
}

#[test]
fn a_refusal_without_a_time_that_says_so_itself_and_stands_alone_is_a_stop() {
    for (stopped, wanted) in [(Some(true), Some("sensors")), (None, None)] {
        let mut runs = vec![untimed(gate_run("sensors", "s", 20, Verdict::Fail))];
        runs[0].stopped_work = stopped;
        let found = vec![finding(&runs[0], "F")];
        assert_eq!(derived(runs, found).problems[0].first_stop_gate_id.as_deref(), wanted);
    }
}

#[test]
fn a_report_without_a_time_is_no_new_defect_after_a_fix() {
    let runs = vec![
        gate_run("review", "verdict", 10, Verdict::Fail),
        gate_run("review", "verdict", 20, Verdict::Pass),
        untimed(gate_run("review", "verdict", 30, Verdict::Fail)),
    ];
    let found = vec![finding(&runs[0], "F"), finding(&runs[2], "F")];
    let d = derived(runs, found);
    assert_eq!((d.problems.len(), d.problems[0].n_findings, d.problems[0].closed_at), (1, 2, Some(Ts(20 * MINUTE))));
}

#[test]
fn whether_it_escaped_is_unknown_where_it_was_merged_and_a_time_is_missing() {
    let escaped = |merge: Option<GateRun>, report: GateRun| {
        let found = vec![finding(&report, "F")];
        derived(merge.into_iter().chain([report]).collect(), found).problems[0].escaped
    };
    let merge = || gate_run("closer", "merge", 10, Verdict::Pass);
    let report = |minute| gate_run("review", "verdict", minute, Verdict::Fail);
    assert_eq!(escaped(Some(merge()), report(20)), Some(true));
    assert_eq!(escaped(Some(merge()), report(5)), Some(false));
    assert_eq!(escaped(Some(untimed(merge())), report(20)), None);
    assert_eq!(escaped(Some(merge()), untimed(report(20))), None);
    assert_eq!(escaped(None, untimed(report(20))), Some(false), "it was never merged");
}
