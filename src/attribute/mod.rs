//! Owns attribution: runs, calls counted once, tree states, episodes, first stops and misses. A pure function of facts and
//! profiles; `refresh` keeps the derived tables of a lake up to date with it.

mod calls;
mod encounters;
mod episodes;
mod facts;
mod frame;
mod last_calls;
mod link;
mod marks;
mod overrides;
mod problems;
mod rulebook;
mod runs;
mod states;
mod stops;
mod timeline;
mod writes;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_refused;
#[cfg(test)]
mod tests_repos;
#[cfg(test)]
mod tests_unknown;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;

pub use facts::Viewed;
pub use rulebook::Rulebook;

use crate::lake::{Lake, LakeError};
use crate::model::decisions::Decision;
use crate::model::derived::{GateMark, GateProblem, GateRunMark, ModelCall, Problem, Run, RunMember, TreeState};
use crate::model::gate_runs::GateRun;
use crate::model::id::stable_id;
use crate::model::record::Record;
use crate::model::sessions::ToolCall;
use crate::model::time::Ts;
use crate::model::vocabulary::DecisionKind;

/// Raised whenever the same facts would give other derived rows.
const VERSION: &str = "3";

/// Why the derived tables could not be brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum AttributeError {
    #[error(transparent)]
    Lake(#[from] LakeError),
    #[error("failed to link facts: {0}")]
    Polars(#[from] polars::error::PolarsError),
    #[error("failed to write derived rows: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
}

/// The derived tables.
#[derive(Debug, Default, PartialEq)]
pub struct Derived {
    pub runs: Vec<Run>,
    pub run_members: Vec<RunMember>,
    pub model_calls: Vec<ModelCall>,
    pub tree_states: Vec<TreeState>,
    pub gate_run_marks: Vec<GateRunMark>,
    pub gate_marks: Vec<GateMark>,
    pub problems: Vec<Problem>,
    pub gate_problem: Vec<GateProblem>,
}

/// Brings the derived tables of the lake up to date. Returns whether anything had to be rebuilt.
pub fn refresh(lake: &Lake, rules: &Rulebook) -> Result<bool, AttributeError> {
    let snapshot = lake.snapshot()?;
    let input = stable_id(&["derived", VERSION, &snapshot.facts_digest(), &rules.digest()]);
    if snapshot.derived_input_digest() == Some(input.as_str()) {
        return Ok(false);
    }
    let derived = derive(Viewed::load(&snapshot)?, rules.clone())?;
    lake.replace_derived(
        &[
            (Run::TABLE, vec![Run::to_batch(&derived.runs)?]),
            (RunMember::TABLE, vec![RunMember::to_batch(&derived.run_members)?]),
            (ModelCall::TABLE, vec![ModelCall::to_batch(&derived.model_calls)?]),
            (TreeState::TABLE, vec![TreeState::to_batch(&derived.tree_states)?]),
            (GateRunMark::TABLE, vec![GateRunMark::to_batch(&derived.gate_run_marks)?]),
            (GateMark::TABLE, vec![GateMark::to_batch(&derived.gate_marks)?]),
            (Problem::TABLE, vec![Problem::to_batch(&derived.problems)?]),
            (GateProblem::TABLE, vec![GateProblem::to_batch(&derived.gate_problem)?]),
        ],
        &input,
    )?;
    Ok(true)
}

/// Derives everything from facts as viewed. The order of the facts does not matter.
pub fn derive(mut facts: Viewed, mut rules: Rulebook) -> Result<Derived, AttributeError> {
    let gate_marks = rules.overrides.gate_marks();
    for mark in &gate_marks {
        facts.gates.iter_mut().filter(|g| g.gate_id == mark.gate_id).for_each(|g| mark.apply(g));
    }
    rules.add_gates(&facts.gates);
    let links = link::link(&facts, &rules);
    let run_of_context: HashMap<String, String> = facts
        .contexts
        .iter()
        .filter_map(|c| Some((c.context_id.clone(), links.run_id_of(&c.native_run_key, &c.source_id)?.to_owned())))
        .collect();
    let mut calls = calls::merge(&facts.model_call_copies, &facts.paths(), &run_of_context);
    last_calls::complete(&mut calls, &facts.contexts, &facts.tool_calls);
    let marks = marks::mark(&facts.gate_runs, &links, &rules);
    facts.gate_runs = marks.apply(std::mem::take(&mut facts.gate_runs));
    facts.findings = marks.apply_to_findings(std::mem::take(&mut facts.findings));
    let facts = &facts;
    let (runs, run_members) = runs::runs(facts, &links, &calls, &rules, &marks)?;
    let gathered = Gathered::new(facts, &links, &marks, &rules, &run_of_context, &calls)?;
    let parts: Vec<(Vec<TreeState>, Vec<Problem>, Vec<GateProblem>)> = runs.par_iter().map(|run| gathered.of_run(run, &rules)).collect();
    let mut derived = Derived { runs, run_members, model_calls: calls, gate_run_marks: marks.rows, gate_marks, ..Derived::default() };
    for (states, problems, met) in parts {
        derived.tree_states.extend(states);
        derived.problems.extend(problems);
        derived.gate_problem.extend(met);
    }
    let repos: HashMap<&str, Option<&str>> = derived.runs.iter().map(|r| (r.run_id.as_str(), r.repo.as_deref())).collect();
    problems::link_recurrences(&mut derived.problems, &repos);
    Ok(derived)
}

/// Facts by run, so that each run can be derived by itself.
struct Gathered<'a> {
    events: BTreeMap<&'a str, Vec<timeline::Event<'a>>>,
    tool_calls: BTreeMap<&'a str, Vec<&'a ToolCall>>,
    calls: BTreeMap<&'a str, Vec<&'a ModelCall>>,
    decisions: BTreeMap<&'a str, Vec<&'a Decision>>,
    findings: HashMap<&'a str, Vec<&'a crate::model::gate_runs::Finding>>,
    tool_call_by_id: HashMap<&'a str, &'a ToolCall>,
    /// By finding, with the place of the label among all that were given: a greater one is later.
    labels: HashMap<&'a str, (usize, &'a str)>,
}

impl<'a> Gathered<'a> {
    fn new(
        facts: &'a Viewed,
        links: &'a link::Links,
        marks: &marks::Marks,
        rules: &Rulebook,
        run_of_context: &'a HashMap<String, String>,
        calls: &'a [ModelCall],
    ) -> Result<Self, AttributeError> {
        let paths = facts.paths();
        let effective = timeline::effective_times(&facts.gate_runs)?;
        let mut out = Gathered {
            events: BTreeMap::new(),
            tool_calls: BTreeMap::new(),
            calls: BTreeMap::new(),
            decisions: BTreeMap::new(),
            findings: timeline::findings_by_gate_run(&facts.findings),
            tool_call_by_id: facts.tool_calls.iter().map(|t| (t.tool_call_id.as_str(), t)).collect(),
            labels: HashMap::new(),
        };
        for (run, effective) in facts.gate_runs.iter().zip(effective) {
            if let Some(run_id) = links.run_id_of(&run.native_run_key, &run.source_id) {
                let path = paths.get(run.source_id.as_str()).copied().unwrap_or("");
                out.events.entry(run_id).or_default().push(timeline::event(run, effective, marks, rules, path));
            }
        }
        for events in out.events.values_mut() {
            events.sort_by(timeline::compare);
        }
        for call in &facts.tool_calls {
            if let Some(run_id) = run_of_context.get(&call.context_id) {
                out.tool_calls.entry(run_id).or_default().push(call);
            }
        }
        for call in calls {
            if let Some(run_id) = call.run_id.as_deref() {
                out.calls.entry(run_id).or_default().push(call);
            }
        }
        // Labels in the order they were given: a later one replaces an earlier.
        let mut labels: Vec<&Decision> = facts.decisions.iter().filter(|d| d.kind == DecisionKind::Label).collect();
        labels.sort_by(|a, b| (a.decided_at, &a.source_id, a.source_line).cmp(&(b.decided_at, &b.source_id, b.source_line)));
        for (at, label) in labels.into_iter().enumerate() {
            if let Some(finding) = label.target.as_deref() {
                out.labels.insert(finding, (at, &label.what));
            }
        }
        for decision in &facts.decisions {
            let run_id = decision.native_run_key.as_deref().and_then(|key| links.run_id_of(key, &decision.source_id));
            if let Some(run_id) = run_id {
                out.decisions.entry(run_id).or_default().push(decision);
            }
        }
        Ok(out)
    }

    fn of_run(&self, run: &'a Run, rules: &'a Rulebook) -> (Vec<TreeState>, Vec<Problem>, Vec<GateProblem>) {
        let id = run.run_id.as_str();
        let events = self.events.get(id).cloned().unwrap_or_default();
        let tool_calls = self.tool_calls.get(id).map(Vec::as_slice).unwrap_or_default();
        let judged = events.iter().filter_map(|e| Some((e.effective?, e.run as &GateRun)));
        let changes = states::changes(tool_calls.iter().copied(), judged);
        let tree_states = states::tree_states(id, run.started_at, changes);
        if events.is_empty() {
            return (tree_states, Vec::new(), Vec::new());
        }
        let writes = writes::Writes::of(tool_calls);
        let mut done: HashMap<(&str, &str), Vec<Ts>> = HashMap::new();
        for call in tool_calls.iter().filter(|t| t.success == Some(true)) {
            if let (Some(args), Some(at)) = (call.args_hash.as_deref(), call.started_at) {
                done.entry((&call.name, args)).or_default().push(at);
            }
        }
        let known_gates: BTreeSet<&str> =
            run.harness.as_ref().and_then(|h| rules.gates_of.get(h)).into_iter().flatten().map(String::as_str).collect();
        let evidence = problems::RunEvidence {
            run,
            timeline: timeline::Timeline::new(events, writes),
            findings: &self.findings,
            rules,
            known_gates,
            tool_calls: &self.tool_call_by_id,
            done,
            calls: self.calls.get(id).cloned().unwrap_or_default(),
            decisions: self.decisions.get(id).cloned().unwrap_or_default(),
            labels: &self.labels,
        };
        let (problems, met) = problems::problems(&evidence);
        (tree_states, problems, met)
    }
}
