//! Explains the demo: its traces are read and attributed, and the chains are held against what attribution says.

use std::collections::HashSet;
use std::path::PathBuf;

use super::*;
use crate::attribute::{Rulebook, Viewed, derive};
use crate::config::Config;
use crate::config::profile::DELIVERY_HARNESS_NAME;
use crate::model::derived::RunMember;
use crate::model::id::digest;
use crate::model::sources::Source;
use crate::model::time::Ts;
use crate::model::vocabulary::{Encounter, SourceState};
use crate::source::emit::Collect;
use crate::source::quote::State;
use crate::source::walk::walk;
use crate::source::{Input, claim, head_of, read_file};

/// One row an id, the first in the order of files.
fn once<R>(rows: Vec<R>, id: impl Fn(&R) -> String) -> Vec<R> {
    let mut seen = HashSet::new();
    rows.into_iter().filter(|r| seen.insert(id(r))).collect()
}

fn demo() -> Evidence {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    let mut sink = Collect::default();
    let mut sources = Vec::new();
    for path in walk(&[folder], &[]).unwrap().files {
        let input = Input::new(&path).unwrap();
        let Some(source) = claim(&input, &head_of(&input).unwrap()) else { continue };
        let summary = read_file(source, &input, &mut sink).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let edge = bytes.len().min(4_096);
        sources.push(Source {
            source_id: input.source_id.clone(),
            path: path.display().to_string(),
            format: Some(source.format().to_owned()),
            reader_digest: String::new(),
            state: SourceState::Current,
            records: summary.records,
            quarantined: summary.quarantined,
            n_warnings: summary.warnings,
            capabilities: summary.capabilities.iter().map(|c| (*c).to_owned()).collect(),
            size_bytes: bytes.len() as i64,
            head_hash: digest(&bytes[..edge]),
            tail_hash: digest(&bytes[bytes.len() - edge..]),
            read_to: summary.read_to,
            mtime: None,
            inode: None,
            ingested_at: Ts(0),
        });
    }
    let facts = sink.0;
    let viewed = Viewed {
        sources: sources.clone(),
        gates: once(facts.gates, |g| g.gate_id.clone()),
        rules: facts.rules,
        units: once(facts.units, |u| u.unit_id.clone()),
        contexts: once(facts.contexts, |c| c.context_id.clone()),
        model_call_copies: facts.model_call_copies,
        tool_calls: once(facts.tool_calls, |t| t.tool_call_id.clone()),
        gate_runs: once(facts.gate_runs, |g| g.gate_run_id.clone()),
        findings: once(facts.findings, |f| f.finding_id.clone()),
        decisions: once(facts.decisions, |d| d.decision_id.clone()),
        commits: facts.commits,
        trace_spans: once(facts.trace_spans, |s| s.span_row_id.clone()),
    };
    let profile = Config::default().profile(DELIVERY_HARNESS_NAME).unwrap();
    let derived = derive(viewed.clone(), Rulebook::from_profiles([&profile])).unwrap();
    let mut evidence = Evidence {
        runs: derived.runs.into_iter().map(|r| (r.run_id.clone(), r)).collect(),
        members: derived.run_members,
        problems: derived.problems,
        met: derived.gate_problem,
        gate_runs: viewed.gate_runs,
        findings: viewed.findings,
        gates: viewed.gates,
        sources: sources.into_iter().map(|s| (s.source_id.clone(), s)).collect(),
    };
    evidence.apply(&derived.gate_run_marks, &derived.gate_marks);
    evidence
}

fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
        assert!(!line.contains('\u{1b}'), "{line}");
    }
}

#[test]
fn the_chain_of_every_problem_of_the_demo_holds_all_its_findings_its_first_stop_and_its_closing_pass() {
    let evidence = demo();
    assert!(evidence.problems.len() > 20, "{}", evidence.problems.len());
    for problem in &evidence.problems {
        let chain = evidence.problem_chain(problem);
        let is = |word: &str| chain.chain.iter().filter(|l| l.is.iter().any(|i| i.starts_with(word))).count();
        let n = chain.chain.iter().filter(|l| l.finding.is_some()).count() as i64;
        assert_eq!(n, problem.n_findings, "{problem:#?}\n{chain:#?}");
        assert_eq!(is("first detection"), 1, "{chain:#?}");
        assert_eq!(is("first stop"), usize::from(problem.first_stop_gate_id.is_some()), "{chain:#?}");
        assert_eq!(is("closing pass"), usize::from(problem.closed_at.is_some()), "{problem:#?}\n{chain:#?}");
        assert!(chain.chain.iter().all(|l| l.place.as_ref().is_some_and(|p| !p.file.is_empty() && p.line > 0)));
        let times: Vec<&String> = chain.chain.iter().filter_map(|l| l.at.as_ref()).collect();
        let read = |t: &str| Ts::parse(t).unwrap();
        assert!(times.windows(2).all(|w| read(w[0]) <= read(w[1])), "{chain:#?}");
        fits(&show::problem(&chain, true));
    }
}

#[test]
fn first_stops_of_all_gates_are_those_of_all_problems_and_each_names_run_unit_time_file_and_line() {
    let evidence = demo();
    let mut problems: Vec<String> = Vec::new();
    for gate in gate_ids(&evidence) {
        let chain = evidence.gate_chain(gate, Vec::new());
        for link in &chain.first_stops {
            assert!(link.run.is_some() && link.at.is_some() && link.place.is_some(), "{link:#?}");
            problems.extend(link.problem.clone());
        }
        fits(&show::gate(&chain, true));
    }
    problems.sort();
    let mut expected: Vec<String> =
        evidence.met.iter().filter(|m| m.encounter == Encounter::StoppedFirst).map(|m| m.problem_id.clone()).collect();
    expected.sort();
    assert!(!expected.is_empty());
    assert_eq!(problems, expected);
}

#[test]
fn a_run_goes_by_its_issue_and_shows_members_and_gate_runs_in_order() {
    let evidence = demo();
    let run = evidence.runs.values().find(|r| r.task.is_some()).unwrap();
    let task = run.task.clone().unwrap();
    for given in [task.clone(), format!("#{task}"), run.run_id.clone(), run.run_id[..10].to_owned()] {
        assert_eq!(find(&evidence, Kind::Run, &given).unwrap(), run.run_id, "{given}");
    }
    let chain = evidence.run_chain(run);
    assert!(!chain.members.is_empty() && !chain.gate_runs.is_empty());
    fits(&show::run(&chain, true));
}

#[test]
fn the_words_of_a_link_are_those_of_its_line_and_a_file_that_vanished_is_said_to_be_gone() {
    let mut evidence = demo();
    let problem = evidence.problems[0].clone();
    let mut chain = evidence.problem_chain(&problem);
    words::fill(chain.chain.iter_mut(), &evidence.sources);
    for link in &chain.chain {
        let quote = link.place.as_ref().unwrap().quote.as_ref().unwrap();
        assert_eq!(quote.state, State::Read);
        assert!(!quote.fields.is_empty());
    }
    fits(&show::problem(&chain, true));

    for source in evidence.sources.values_mut() {
        source.path.push_str(".gone");
    }
    words::fill(chain.chain.iter_mut(), &evidence.sources);
    assert!(chain.chain.iter().all(|l| l.place.as_ref().unwrap().quote.as_ref().unwrap().state == State::Gone));
    assert!(show::problem(&chain, true).contains("the file is gone"));
}

#[test]
fn an_id_without_its_kind_is_enough_where_only_one_kind_has_it() {
    let evidence = demo();
    let problem = &evidence.problems[0].problem_id;
    assert_eq!(find_any(&evidence, problem).unwrap(), (Kind::Problem, problem.clone()));
    assert!(find_any(&evidence, "no-such-thing").unwrap_err().to_string().contains("mechanic explain gate"));
    for kind in [Kind::Gate, Kind::Problem, Kind::Run] {
        fits(&list(&evidence, kind));
        assert!(!list(&Evidence::default(), kind).is_empty());
    }
}

#[test]
fn a_gate_run_of_another_repository_with_the_same_issue_number_is_in_the_chain_of_its_own_run_only() {
    let mut evidence = demo();
    let member = evidence.members.iter().find(|m| m.member_id.starts_with("record:")).unwrap().clone();
    let before = evidence.gate_runs_of(&member.run_id).len();
    let mut foreign = evidence.gate_runs_of(&member.run_id)[0].clone();
    foreign.gate_run_id = "foreign".into();
    foreign.native_run_key = member.member_id.clone();
    let mut source = evidence.sources[&foreign.source_id].clone();
    (source.source_id, source.path) = ("elsewhere".into(), "/elsewhere/.mechanic/gate-runs.jsonl".into());
    foreign.source_id = source.source_id.clone();
    evidence.sources.insert(source.source_id.clone(), source);
    evidence.members.push(RunMember { run_id: "other".into(), root: Some("/elsewhere".into()), ..member.clone() });
    evidence.gate_runs.push(foreign);
    assert_eq!(evidence.gate_runs_of(&member.run_id).len(), before);
    let ids: Vec<&str> = evidence.gate_runs_of("other").iter().map(|g| g.gate_run_id.as_str()).collect();
    assert_eq!(ids, ["foreign"]);
}
