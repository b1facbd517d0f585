//! Owns the chains behind figures: of a gate its first stops and proven misses, of a problem everything from the first finding to the
//! pass that closed it, of a run its members and gate runs. Each link stands with file and line.

use std::collections::{HashMap, HashSet};

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::evidence::Evidence;
use crate::model::derived::{GateProblem, Problem, Run};
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::time::Ts;
use crate::model::vocabulary::{Encounter, Verdict};
use crate::source::quote::Quote;

/// Where a row comes from, and what stands there now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Place {
    pub file: String,
    pub line: i64,
    #[serde(skip)]
    pub source_id: String,
    /// Read at this moment. `None`: not asked for.
    pub quote: Option<Quote>,
}

/// One link of a chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    /// What it is to the chain (`first detection`, `first stop, enforced`, `miss, proven` …), maybe several things at once; empty for a
    /// mere gate run.
    pub is: Vec<String>,
    pub at: Option<String>,
    pub gate: String,
    pub rule: Option<String>,
    pub verdict: Option<&'static str>,
    pub unit: Option<String>,
    pub severity: Option<&'static str>,
    pub about: Option<&'static str>,
    pub gate_run: Option<String>,
    pub finding: Option<String>,
    pub run: Option<String>,
    /// Id of the issue, where the run is one.
    pub task: Option<String>,
    pub problem: Option<String>,
    pub place: Option<Place>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateChain {
    pub gate: String,
    pub purpose: Option<&'static str>,
    pub kind: Option<&'static str>,
    pub mode: Option<&'static str>,
    pub declared_in: Option<String>,
    /// The row of the query `gate_economics`, in its order, without empty columns.
    #[serde(serialize_with = "as_object")]
    pub figures: Vec<(String, Value)>,
    /// Every problem the gate stopped first, by time; those not about the product too.
    pub first_stops: Vec<Link>,
    pub misses: Vec<Link>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProblemChain {
    pub problem: String,
    pub run: String,
    pub task: Option<String>,
    pub unit: Option<String>,
    pub fingerprint: String,
    pub fingerprint_basis: String,
    pub severity: Option<&'static str>,
    pub about: &'static str,
    pub first_detection: Option<String>,
    pub first_stop: Option<String>,
    pub stop_basis: Option<&'static str>,
    pub order_basis: &'static str,
    pub co_first: Vec<String>,
    pub unattributed: bool,
    pub escaped: Option<bool>,
    pub disposition: &'static str,
    pub label: Option<String>,
    pub recurs_of: Option<String>,
    pub opened_at: Option<String>,
    pub closed_at: Option<String>,
    pub n_findings: i64,
    pub chain: Vec<Link>,
    /// Gates of the harness that had no run in this delivery.
    pub never_ran: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunChain {
    pub run: String,
    pub run_basis: &'static str,
    pub link_basis: &'static str,
    pub task: Option<String>,
    pub repo: Option<String>,
    pub branch: Option<String>,
    pub harness: Option<String>,
    pub harness_version: Option<String>,
    pub model: Option<String>,
    pub outcome: Option<String>,
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    pub observes: Vec<String>,
    pub members: Vec<Member>,
    pub problems: Vec<Link>,
    pub gate_runs: Vec<Link>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Member {
    pub kind: String,
    pub id: String,
    pub link_basis: &'static str,
}

impl Evidence {
    pub fn gate_chain(&self, gate_id: &str, figures: Vec<(String, Value)>) -> GateChain {
        let declared = self.gates.iter().find(|g| g.gate_id == gate_id);
        let at = |encounter: Encounter| {
            let mut met: Vec<&GateProblem> = self.met.iter().filter(|m| m.gate_id == gate_id && m.encounter == encounter).collect();
            met.sort_by(|a, b| (a.at, &a.problem_id).cmp(&(b.at, &b.problem_id)));
            met
        };
        let link = |met: &GateProblem, is: String| {
            let problem = self.problem(&met.problem_id)?;
            let run = met.gate_run_id.as_deref().and_then(|id| self.gate_run(id))?;
            let finding = self.findings_of(problem).into_iter().find(|f| f.gate_run_id == run.gate_run_id);
            Some(Link { is: vec![is], at: met.at.map(|t| t.to_string()), ..self.link(run, finding, Some(problem)) })
        };
        GateChain {
            gate: gate_id.to_owned(),
            purpose: declared.map(|g| g.purpose.as_str()),
            kind: declared.and_then(|g| g.kind).map(|k| k.as_str()),
            mode: declared.and_then(|g| g.mode).map(|m| m.as_str()),
            declared_in: declared.and_then(|g| g.declared_in.clone()),
            figures,
            first_stops: at(Encounter::StoppedFirst).into_iter().filter_map(|m| link(m, self.first_stop_word(&m.problem_id))).collect(),
            misses: at(Encounter::Missed).into_iter().filter_map(|m| link(m, miss_word(m))).collect(),
        }
    }

    pub fn problem_chain(&self, problem: &Problem) -> ProblemChain {
        let mut links: Vec<(Option<Ts>, Link)> = Vec::new();
        let findings = self.findings_of(problem);
        let runs: HashMap<&str, &GateRun> = self.gate_runs.iter().map(|g| (g.gate_run_id.as_str(), g)).collect();
        for finding in &findings {
            if let Some(run) = runs.get(finding.gate_run_id.as_str()) {
                let is = if finding.finding_id == problem.first_finding_id { "first detection" } else { "finding" };
                let at = finding.observed_at.or(run.ended_at);
                links.push((at, Link { is: vec![is.to_owned()], ..self.link(run, Some(finding), Some(problem)) }));
            }
        }
        let mut never_ran = Vec::new();
        for met in self.met.iter().filter(|m| m.problem_id == problem.problem_id) {
            let word = match met.encounter {
                Encounter::StoppedFirst => self.first_stop_word(&problem.problem_id),
                Encounter::Stopped => "stop".to_owned(),
                Encounter::Missed => miss_word(met),
                Encounter::Skipped => "skipped".to_owned(),
                Encounter::NotRun => {
                    never_ran.push(met.gate_id.clone());
                    continue;
                }
                Encounter::Detected | Encounter::AfterFix => continue,
            };
            let Some(run) = met.gate_run_id.as_deref().and_then(|id| runs.get(id)) else { continue };
            match links.iter_mut().find(|(_, l)| l.gate_run.as_deref() == Some(run.gate_run_id.as_str())) {
                Some((_, link)) => link.is.push(word),
                None => links.push((met.at, Link { is: vec![word], ..self.link(run, None, Some(problem)) })),
            }
        }
        if let Some(run) = self.closing_pass(problem, &findings) {
            links.push((problem.closed_at, Link { is: vec!["closing pass".to_owned()], ..self.link(run, None, Some(problem)) }));
        }
        // Without a time a link comes last: its place in the order is unknown.
        links.sort_by_key(|(at, link)| (at.is_none(), *at, link.place.as_ref().map(|p| (p.file.clone(), p.line))));
        never_ran.sort();
        ProblemChain {
            problem: problem.problem_id.clone(),
            run: problem.run_id.clone(),
            task: self.task_of(&problem.run_id),
            unit: problem.unit_id.clone(),
            fingerprint: problem.fingerprint.clone(),
            fingerprint_basis: problem.fingerprint_basis.clone(),
            severity: problem.severity.map(|s| s.as_str()),
            about: problem.about.as_str(),
            first_detection: problem.first_detection_gate_id.clone(),
            first_stop: problem.first_stop_gate_id.clone(),
            stop_basis: problem.stop_basis.map(|s| s.as_str()),
            order_basis: problem.order_basis.as_str(),
            co_first: problem.co_first.clone(),
            unattributed: problem.unattributed,
            escaped: problem.escaped,
            disposition: problem.disposition.as_str(),
            label: problem.label.clone(),
            recurs_of: problem.recurs_of.clone(),
            opened_at: problem.opened_at.map(|t| t.to_string()),
            closed_at: problem.closed_at.map(|t| t.to_string()),
            n_findings: problem.n_findings,
            chain: links.into_iter().map(|(_, link)| link).collect(),
            never_ran,
        }
    }

    pub fn run_chain(&self, run: &Run) -> RunChain {
        let mut members: Vec<Member> = self
            .members
            .iter()
            .filter(|m| m.run_id == run.run_id)
            .map(|m| Member { kind: m.member_kind.clone(), id: m.member_id.clone(), link_basis: m.link_basis.as_str() })
            .collect();
        members.sort_by(|a, b| (&a.kind, &a.id).cmp(&(&b.kind, &b.id)));
        let mut problems: Vec<&Problem> = self.problems.iter().filter(|p| p.run_id == run.run_id).collect();
        problems
            .sort_by(|a, b| (a.opened_at.is_none(), a.opened_at, &a.problem_id).cmp(&(b.opened_at.is_none(), b.opened_at, &b.problem_id)));
        let problem_link = |problem: &&Problem| {
            let finding = self.findings.iter().find(|f| f.finding_id == problem.first_finding_id)?;
            let gate_run = self.gate_run(&finding.gate_run_id)?;
            let stop = problem.first_stop_gate_id.as_ref().map_or("stopped by no gate".to_owned(), |g| format!("stopped by {g}"));
            Some(Link { is: vec!["problem".to_owned(), stop], ..self.link(gate_run, Some(finding), Some(problem)) })
        };
        RunChain {
            run: run.run_id.clone(),
            run_basis: run.run_basis.as_str(),
            link_basis: run.link_basis.as_str(),
            task: run.task.clone(),
            repo: run.repo.clone(),
            branch: run.branch.clone(),
            harness: run.harness.clone(),
            harness_version: run.harness_version.clone(),
            model: run.model.clone(),
            outcome: run.outcome.clone(),
            started_at: run.started_at.map(|t| t.to_string()),
            ended_at: run.ended_at.map(|t| t.to_string()),
            observes: run.observes.clone(),
            members,
            problems: problems.iter().filter_map(problem_link).collect(),
            gate_runs: self.gate_runs_of(&run.run_id).into_iter().map(|g| self.link(g, None, None)).collect(),
        }
    }

    /// The findings of an episode: those of its run and unit that name its fingerprint, or repeat one that does, between its opening
    /// and its end. By time.
    pub fn findings_of(&self, problem: &Problem) -> Vec<&Finding> {
        let runs: HashMap<&str, &GateRun> = self.gate_runs_of(&problem.run_id).into_iter().map(|g| (g.gate_run_id.as_str(), g)).collect();
        let time = |f: &Finding| f.observed_at.or_else(|| runs.get(f.gate_run_id.as_str())?.ended_at);
        let mut near: Vec<&Finding> = self.findings.iter().filter(|f| runs.contains_key(f.gate_run_id.as_str())).collect();
        near.sort_by_key(|f| (time(f), f.source_line));
        let mut names: HashSet<&str> = HashSet::from([problem.fingerprint.as_str()]);
        near.retain(|f| {
            let same = names.contains(f.fingerprint.as_str()) || f.repeat_of.as_deref().is_some_and(|r| names.contains(r));
            if same {
                names.insert(&f.fingerprint);
            }
            let unit = match (f.unit.as_deref(), problem.unit_id.as_deref()) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            };
            let inside = time(f).is_none_or(|t| problem.opened_at.is_none_or(|o| o <= t) && problem.closed_at.is_none_or(|c| t <= c));
            f.finding_id == problem.first_finding_id || (same && unit && inside)
        });
        near
    }

    /// The gate run whose pass closed the problem: at the closing time, of a gate that reported it, or one that names it as resolved.
    fn closing_pass(&self, problem: &Problem, findings: &[&Finding]) -> Option<&GateRun> {
        let closed = problem.closed_at?;
        let names: HashSet<&str> = findings.iter().map(|f| f.fingerprint.as_str()).chain([problem.fingerprint.as_str()]).collect();
        let runs = self.gate_runs_of(&problem.run_id);
        let at_time = |g: &&&GateRun| g.ended_at.or(g.observed_at) == Some(closed);
        let resolves = |g: &&&GateRun| g.resolves.iter().flatten().any(|r| names.contains(r.as_str()));
        let reported = |g: &&&GateRun| g.verdict == Verdict::Pass && findings.iter().any(|f| f.gate_id == g.gate_id);
        let found = runs.iter().filter(at_time).find(resolves).or_else(|| runs.iter().filter(at_time).find(reported));
        found.copied()
    }

    fn first_stop_word(&self, problem_id: &str) -> String {
        match self.problem(problem_id).and_then(|p| p.stop_basis) {
            Some(basis) => format!("first stop, {}", basis.as_str()),
            None => "first stop".to_owned(),
        }
    }

    fn task_of(&self, run_id: &str) -> Option<String> {
        self.runs.get(run_id)?.task.clone()
    }

    /// A gate run, with the finding that makes it a link where there is one.
    fn link(&self, run: &GateRun, finding: Option<&Finding>, problem: Option<&Problem>) -> Link {
        let (source_id, line) = finding.map_or((&run.source_id, run.source_line), |f| (&f.source_id, f.source_line));
        let at = finding.and_then(|f| f.observed_at).or(run.ended_at).or(run.observed_at);
        Link {
            is: Vec::new(),
            at: at.map(|t| t.to_string()),
            gate: run.gate_id.clone(),
            rule: finding.and_then(|f| f.rule_id.clone()).or_else(|| run.rule_id.clone()),
            verdict: Some(run.verdict.as_str()),
            unit: finding.and_then(|f| f.unit.clone()).or_else(|| run.unit.clone()),
            severity: finding.and_then(|f| f.severity).map(|s| s.as_str()),
            about: Some(problem.map_or(run.about, |p| p.about).as_str()),
            gate_run: Some(run.gate_run_id.clone()),
            finding: finding.map(|f| f.finding_id.clone()),
            run: problem.map(|p| p.run_id.clone()),
            task: problem.and_then(|p| self.task_of(&p.run_id)),
            problem: problem.map(|p| p.problem_id.clone()),
            place: Some(Place { file: self.path_of(source_id).to_owned(), line, source_id: source_id.clone(), quote: None }),
        }
    }
}

fn as_object<S: Serializer>(pairs: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

fn miss_word(met: &GateProblem) -> String {
    match met.miss_basis {
        Some(basis) => format!("miss, {}", basis.as_str()),
        None => "miss".to_owned(),
    }
}
