//! Owns the rows that a chain is made of, as the views show them, with the ways between them.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::lake::{LakeError, Snapshot};
use crate::model::derived::{GateMark, GateProblem, GateRunMark, Problem, Run, RunMember};
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::gates::Gate;
use crate::model::sources::Source;

/// Rows of one lake.
#[derive(Debug, Default)]
pub struct Evidence {
    pub runs: BTreeMap<String, Run>,
    pub members: Vec<RunMember>,
    pub problems: Vec<Problem>,
    pub met: Vec<GateProblem>,
    /// With their final verdict and subject.
    pub gate_runs: Vec<GateRun>,
    pub findings: Vec<Finding>,
    pub gates: Vec<Gate>,
    pub sources: HashMap<String, Source>,
}

impl Evidence {
    pub fn load(snapshot: &Snapshot) -> Result<Evidence, LakeError> {
        let marks: Vec<GateRunMark> = snapshot.read_view()?;
        let mut evidence = Evidence {
            runs: snapshot.read_view::<Run>()?.into_iter().map(|r| (r.run_id.clone(), r)).collect(),
            members: snapshot.read_view()?,
            problems: snapshot.read_view()?,
            met: snapshot.read_view()?,
            gate_runs: snapshot.read_view()?,
            findings: snapshot.read_view()?,
            gates: snapshot.read_view()?,
            sources: snapshot.read_view::<Source>()?.into_iter().map(|s| (s.source_id.clone(), s)).collect(),
        };
        evidence.apply(&marks, &snapshot.read_view::<GateMark>()?);
        Ok(evidence)
    }

    /// What only later lines, other files or the user's profile tell of a gate run or a gate.
    pub fn apply(&mut self, marks: &[GateRunMark], of_gates: &[GateMark]) {
        let marks: HashMap<&str, &GateRunMark> = marks.iter().map(|m| (m.gate_run_id.as_str(), m)).collect();
        let finally = |run: GateRun| match marks.get(run.gate_run_id.as_str()) {
            Some(mark) => mark.apply(run),
            None => Some(run),
        };
        self.gate_runs = std::mem::take(&mut self.gate_runs).into_iter().filter_map(finally).collect();
        let finally = |finding: Finding| match marks.get(finding.gate_run_id.as_str()) {
            Some(mark) => mark.apply_to_finding(finding),
            None => Some(finding),
        };
        self.findings = std::mem::take(&mut self.findings).into_iter().filter_map(finally).collect();
        for mark in of_gates {
            self.gates.iter_mut().filter(|g| g.gate_id == mark.gate_id).for_each(|g| mark.apply(g));
        }
    }

    pub fn gate_run(&self, id: &str) -> Option<&GateRun> {
        self.gate_runs.iter().find(|g| g.gate_run_id == id)
    }

    pub fn problem(&self, id: &str) -> Option<&Problem> {
        self.problems.iter().find(|p| p.problem_id == id)
    }

    /// Native run keys of a run.
    pub fn keys_of(&self, run_id: &str) -> HashSet<&str> {
        self.members.iter().filter(|m| m.run_id == run_id && m.member_kind == "native_run").map(|m| m.member_id.as_str()).collect()
    }

    /// Gate runs of a run, in order of time, source and line.
    pub fn gate_runs_of(&self, run_id: &str) -> Vec<&GateRun> {
        let keys = self.keys_of(run_id);
        let mut runs: Vec<&GateRun> = self.gate_runs.iter().filter(|g| keys.contains(g.native_run_key.as_str())).collect();
        runs.sort_by_key(|g| (g.ended_at.or(g.observed_at), self.path_of(&g.source_id), g.source_line, g.seq));
        runs
    }

    pub fn path_of(&self, source_id: &str) -> &str {
        self.sources.get(source_id).map_or("", |s| s.path.as_str())
    }
}
