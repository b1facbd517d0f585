//! Owns the rows that a chain is made of, as the views show them, with the ways between them.

use std::collections::{BTreeMap, HashMap};

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

    /// The members that could mean the run by a native run key of its own, by key: with those of other runs that use the same key.
    fn claims_on(&self, run_id: &str) -> HashMap<&str, Vec<&RunMember>> {
        let keys = || self.members.iter().filter(|m| m.member_kind == "native_run");
        let mut claims: HashMap<&str, Vec<&RunMember>> =
            keys().filter(|m| m.run_id == run_id).map(|m| (m.member_id.as_str(), Vec::new())).collect();
        for member in keys() {
            if let Some(of) = claims.get_mut(member.member_id.as_str()) {
                of.push(member);
            }
        }
        claims
    }

    /// Gate runs of a run, in order of time, source and line.
    pub fn gate_runs_of(&self, run_id: &str) -> Vec<&GateRun> {
        let claims = self.claims_on(run_id);
        let of_run = |g: &&GateRun| {
            let path = self.path_of(&g.source_id);
            let fitting =
                claims.get(g.native_run_key.as_str()).into_iter().flatten().filter_map(|m| Some((m.fits(&g.native_run_key, path)?, m)));
            fitting.max_by_key(|(fit, m)| (*fit, std::cmp::Reverse(&m.run_id))).is_some_and(|(_, m)| m.run_id == run_id)
        };
        let mut runs: Vec<&GateRun> = self.gate_runs.iter().filter(of_run).collect();
        runs.sort_by_key(|g| (g.ended_at.or(g.observed_at), self.path_of(&g.source_id), g.source_line, g.seq));
        runs
    }

    pub fn path_of(&self, source_id: &str) -> &str {
        self.sources.get(source_id).map_or("", |s| s.path.as_str())
    }
}
