//! Owns the facts of several repositories: one number of an issue in two of them is two deliveries, and what names a run depends on no
//! order of rows.

use super::tests::*;
use super::*;
use crate::model::decisions::Commit;
use crate::model::traces::TraceSpan;
use crate::model::vocabulary::*;

/// A gate run that `mechanic record` kept for issue 12, in a file.
fn recorded(source_id: &str, minute: i64, verdict: Verdict) -> GateRun {
    let mut run = gate_run("lint", "all", minute, verdict);
    run.gate_run_id = format!("{source_id}@{minute}");
    run.native_run_key = "record:12".into();
    run.source_id = source_id.into();
    run
}

fn two_checkouts() -> Viewed {
    Viewed {
        sources: vec![source("a", "~/shop/.mechanic/gate-runs.jsonl"), source("b", "~/bank/.mechanic/gate-runs.jsonl")],
        gate_runs: vec![recorded("a", 1, Verdict::Pass), recorded("b", 2, Verdict::Pass)],
        ..Viewed::default()
    }
}

#[test]
fn two_repositories_with_one_issue_number_are_two_runs_and_their_members_tell_which_files_are_whose() {
    let facts = two_checkouts();
    let d = derive(facts.clone(), rules()).unwrap();
    assert_eq!(d.runs.len(), 2);
    let run_of = |path: &str| {
        let fitting = d.run_members.iter().filter_map(|m| Some((m.fits("record:12", path)?, &m.run_id)));
        fitting.max().map(|(_, run)| run.clone())
    };
    let runs: Vec<String> = facts.sources.iter().filter_map(|s| run_of(&s.path)).collect();
    assert_eq!(runs.len(), 2);
    assert_ne!(runs[0], runs[1]);
    assert_eq!(run_of("~/elsewhere/.mechanic/gate-runs.jsonl"), None);
}

/// A trace of issue 12 in a file, of a repository where one is named.
fn traced(source_id: &str, repo: Option<&str>) -> TraceSpan {
    TraceSpan {
        native_run_key: "issue:12@aaaa".into(),
        task: Some("12".into()),
        repo: repo.map(str::to_owned),
        branch: Some("feature/issue-12-x".into()),
        source_id: source_id.into(),
        ..span(0)
    }
}

#[test]
fn a_record_joins_the_only_trace_of_its_issue_unless_they_lie_in_different_repositories() {
    for (trace, repo, runs, basis) in [
        ("~/shop/.copilot-tracking/issues/issue-12/trace.jsonl", None, 1, LinkBasis::Explicit),
        ("/exports/issue-12.trace.jsonl", None, 1, LinkBasis::Inferred),
        ("/exports/issue-12.trace.jsonl", Some("acme/shop"), 1, LinkBasis::Explicit),
        ("/exports/issue-12.trace.jsonl", Some("acme/bank"), 2, LinkBasis::Explicit),
        ("~/bank/.copilot-tracking/issues/issue-12/trace.jsonl", None, 2, LinkBasis::Explicit),
    ] {
        let facts = Viewed {
            sources: vec![source("t", trace), source("a", "~/shop/.mechanic/gate-runs.jsonl")],
            gate_runs: vec![recorded("a", 1, Verdict::Pass)],
            trace_spans: vec![traced("t", repo)],
            ..Viewed::default()
        };
        let d = derive(facts, rules()).unwrap();
        assert_eq!(d.runs.len(), runs, "{trace} {repo:?}");
        let joined = d.run_members.iter().find(|m| m.member_id == "record:12").unwrap();
        assert_eq!(joined.link_basis, basis, "{trace} {repo:?}");
    }
}

fn commit(session: &str, repo: &str) -> Commit {
    Commit {
        commit_id: "c1".into(),
        repo: Some(repo.into()),
        sha: "d".repeat(40),
        committed_at: Some(Ts(0)),
        task: Some("12".into()),
        session_trailers: vec![session.into()],
        co_authors: Vec::new(),
        n_files: None,
        paths_hash: None,
        control_paths: None,
        reverts: None,
        tag: None,
        source_id: "git".into(),
        source_line: 1,
    }
}

#[test]
fn a_commits_trailer_joins_a_session_to_the_trace_of_its_own_repository_only() {
    for (repo, cwd, runs) in [("shop", "~/shop", 1), ("bank", "~/bank", 2), ("shop", "~/bank/src", 2), ("shop", "~/shop/src", 1)] {
        let mut session = context("c", "session:s1");
        (session.git_branch, session.cwd) = (None, Some(cwd.into()));
        (session.started_at, session.ended_at) = (None, None);
        let facts = Viewed {
            sources: vec![source("t", "~/shop/.copilot-tracking/issues/issue-12/trace.jsonl"), source("log", "~/logs/s.jsonl")],
            trace_spans: vec![traced("t", None)],
            contexts: vec![session],
            commits: vec![commit("s1", repo)],
            ..Viewed::default()
        };
        assert_eq!(derive(facts, rules()).unwrap().runs.len(), runs, "{repo} {cwd}");
    }
}

#[test]
fn the_same_defect_in_two_runs_recurs_within_one_repository_and_not_where_it_is_unknown() {
    for (repos, recurs) in [([Some("shop"), Some("shop")], true), ([Some("shop"), Some("bank")], false), ([None, None], false)] {
        let mut facts = Viewed::default();
        for (n, repo) in repos.iter().enumerate() {
            let key = format!("issue:{n}@aaaa");
            let (minute, source_id) = (10 + n as i64, format!("t{n}"));
            facts.sources.push(source(&source_id, &format!("/exports/{n}/trace.jsonl")));
            facts.trace_spans.push(TraceSpan {
                span_row_id: key.clone(),
                native_run_key: key.clone(),
                task: Some(n.to_string()),
                repo: repo.map(str::to_owned),
                source_id: source_id.clone(),
                ..span(minute)
            });
            let run = GateRun { native_run_key: key, source_id, ..gate_run("review", "verdict", minute, Verdict::Fail) };
            facts.findings.push(finding(&run, "F"));
            facts.gate_runs.push(run);
        }
        let d = derive(facts, rules()).unwrap();
        assert_eq!(d.problems.len(), 2);
        assert_eq!(d.problems.iter().any(|p| p.recurs_of.is_some()), recurs, "{repos:?}");
    }
}

#[test]
fn what_names_a_run_comes_from_its_earliest_spans_its_merge_from_the_last_and_none_from_a_leaked_one() {
    let told = |id: &str, minute: i64, branch: &str, repo: &str, merge: &str, pr: Option<&str>| TraceSpan {
        span_row_id: id.into(),
        branch: Some(branch.into()),
        repo: Some(repo.into()),
        merge_sha: Some(merge.into()),
        pr_number: pr.map(str::to_owned),
        task: Some(if minute == 0 { "99" } else { "7" }.into()),
        ..span(minute)
    };
    // Ids sort against the times.
    let spans = [
        told("z", 1, "feature/first", "shop", "early", None),
        told("y", 2, "feature/second", "aardvark", "middle", Some("107")),
        told("x", 3, "feature/third", "zebra", "late", None),
        told("a", 0, "test/fixture", "fixture", "leaked", Some("123")),
        told("b", 9, "test/fixture", "fixture", "leaked", Some("123")),
    ];
    let mut own = gate_run("review", "open", 2, Verdict::Pass);
    own.subject = Some("pr:107".into());
    let told: Vec<_> = [spans.to_vec(), spans.iter().rev().cloned().collect()]
        .into_iter()
        .map(|spans| {
            let mut facts = facts(vec![own.clone()], vec![]);
            facts.trace_spans = spans;
            let run = derive(facts, rules()).unwrap().runs.remove(0);
            (run.branch, run.repo, run.commit, run.task)
        })
        .collect();
    let wanted = ["feature/first", "shop", "late", "7"].map(|s| Some(s.to_owned()));
    assert_eq!(told[0], (wanted[0].clone(), wanted[1].clone(), wanted[2].clone(), wanted[3].clone()));
    assert_eq!(told[1], told[0]);
}
