//! Owns contexts: the session's main window and one for each sub-agent, linked by the tool call that started it; and reviewers,
//! whose whole run is one gate run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::sessions::Context;
use crate::model::time::Ts;
use crate::model::vocabulary::{FingerprintBasis, GateKind, Purpose, RoleBasis, TokenBasis, Verdict, VerdictBasis};
use crate::source::emit::Emitter;
use crate::source::lenient::name;
use crate::source::reviewer::{self, Dispatch, REVIEWER};

use super::calls::{OpenCall, Stated};
use super::events::{self, Subagent};
use super::reader::{At, Session};
use super::rows::{self, GateShape};

/// One context of the session.
#[derive(Serialize, Deserialize)]
pub struct Agent {
    pub context_id: String,
    native: Option<String>,
    parent: Option<usize>,
    role: Option<String>,
    role_basis: Option<RoleBasis>,
    agent_name: Option<String>,
    /// Model the dispatch names; calls outrank it.
    model: Option<String>,
    pub models: BTreeMap<String, i64>,
    pub n_calls: i64,
    pub output_tokens: Option<i64>,
    producer_total: Option<i64>,
    pub n_compactions: i64,
    started: Option<Ts>,
    ended: Option<Ts>,
    first_line: Option<i64>,
    /// Time of the record before the one at hand.
    pub last_seen: Option<Ts>,
    pub open_call: Option<OpenCall>,
    pub verdict: Option<Stated>,
    /// When its start was recorded, and whether its end was.
    dispatched: Option<Ts>,
    finished: bool,
    linked: bool,
}

/// A tool call that starts a sub-agent.
#[derive(Serialize, Deserialize)]
pub struct Spawn {
    pub parent: usize,
    pub role: Option<String>,
    pub role_basis: Option<RoleBasis>,
    pub agent_type: Option<String>,
}

impl Spawn {
    pub fn new(parent: usize, dispatch: &Dispatch<'_>) -> Spawn {
        let (role, role_basis) = reviewer::role_of(dispatch);
        Spawn { parent, role, role_basis, agent_type: dispatch.agent_type.map(name).filter(|t| !t.is_empty()) }
    }
}

impl Agent {
    pub fn new(context_id: String, native: Option<String>) -> Agent {
        Agent {
            context_id,
            native,
            parent: None,
            role: None,
            role_basis: None,
            agent_name: None,
            model: None,
            models: BTreeMap::new(),
            n_calls: 0,
            output_tokens: None,
            producer_total: None,
            n_compactions: 0,
            started: None,
            ended: None,
            first_line: None,
            last_seen: None,
            open_call: None,
            verdict: None,
            dispatched: None,
            finished: false,
            linked: false,
        }
    }

    pub fn is_reviewer(&self) -> bool {
        self.role.as_deref() == Some(REVIEWER)
    }

    /// Notes that a record of the context was read. Times may run backwards in a file: the span is that of all records.
    pub fn seen(&mut self, line: i64, ts: Option<Ts>) {
        self.first_line.get_or_insert(line);
        if ts.is_some() {
            self.last_seen = ts;
            self.started = [self.started, ts].into_iter().flatten().min();
            self.ended = [self.ended, ts].into_iter().flatten().max();
        }
    }
}

impl Session {
    pub fn subagent(&mut self, kind: &str, sub: &Subagent<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        self.link(at.agent, events::native(&sub.tool_call_id));
        let Some(agent) = self.agents.get_mut(at.agent).filter(|a| a.native.is_some()) else { return };
        let type_name = sub.agent_name.as_str().filter(|n| !n.is_empty()).map(name);
        if agent.agent_name.is_none() {
            agent.agent_name = type_name;
        }
        if agent.role.is_none() {
            agent.role = agent.agent_name.clone();
            agent.role_basis = agent.role.as_ref().map(|_| RoleBasis::Type);
        }
        agent.model = sub.model.as_str().filter(|m| !m.is_empty()).map(name).or(agent.model.take());
        if kind == "subagent.started" {
            agent.dispatched = at.ts;
            return;
        }
        // A sub-agent that is written to again completes again; its total is cumulative.
        agent.producer_total = sub.total_tokens.count().max(agent.producer_total);
        agent.finished = true;
        if agent.is_reviewer() {
            self.review(kind, sub, at, out);
        }
    }

    /// Links a sub-agent to the context whose tool call started it.
    fn link(&mut self, index: usize, tool_call: Option<&str>) {
        let native = self.agents.get(index).filter(|a| !a.linked).and_then(|a| a.native.clone());
        let Some(native) = native else { return };
        let spawn = self.spawns.remove(&native).or_else(|| tool_call.and_then(|id| self.spawns.remove(id)));
        if let (Some(spawn), Some(agent)) = (spawn, self.agents.get_mut(index)) {
            agent.linked = true;
            agent.parent = Some(spawn.parent).filter(|p| *p != index);
            (agent.role, agent.role_basis) = (spawn.role, spawn.role_basis);
            agent.agent_name = spawn.agent_type.or(agent.agent_name.take());
        }
    }

    /// One end of a reviewer is one run of the gate `agent:<type>`; the calls it made since are its cost.
    fn review(&mut self, kind: &str, sub: &Subagent<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        self.flush_calls(out);
        let Some(agent) = self.agents.get_mut(at.agent) else { return };
        let stated = agent.verdict.take();
        let (dispatched, first_line, output) = (agent.dispatched.take(), agent.first_line, agent.output_tokens.take());
        let gate_id = format!("agent:{}", agent.agent_name.as_deref().unwrap_or(REVIEWER));
        let shape = GateShape { purpose: Purpose::Control, kind: GateKind::Model, mode: None, pass_recorded: Some(true), identity: None };
        self.gate(&gate_id, at.line, shape, out);
        let id = self.native_id("review", at.event);
        let mut run = self.blank_run(&gate_id, id, at, out);
        run.started_at = dispatched.or(run.started_at);
        run.duration_ms = sub.duration_ms.count().or_else(|| at.ts.zip(dispatched).map(|(end, start)| end.millis_since(start).max(0)));
        run.output_tokens = output;
        run.source_line = first_line.unwrap_or(at.line);
        (run.verdict, run.verdict_basis) = match (&stated, kind) {
            (_, "subagent.failed") => (Verdict::Crashed, VerdictBasis::Structured),
            (None, _) if sub.cancelled.is_true() => (Verdict::CouldNotRun, VerdictBasis::Structured),
            (Some((verdict, word)), _) => {
                run.raw_verdict = Some(name(word));
                (*verdict, VerdictBasis::Output)
            }
            (None, _) => (Verdict::Inconclusive, VerdictBasis::None),
        };
        if run.verdict == Verdict::Fail {
            rows::finding(&run, format!("{gate_id}/{REVIEWER}"), FingerprintBasis::GateStage, at, out);
        }
        out.facts.gate_runs.push(run);
    }

    /// Emits every context.
    pub fn close_agents(&mut self, out: &mut Emitter<'_>) {
        for index in 0..self.agents.len() {
            self.link(index, None);
        }
        for (index, agent) in self.agents.iter().enumerate() {
            let Some(source_line) = agent.first_line else { continue };
            if agent.native.is_some() && agent.dispatched.is_some() && !agent.finished {
                out.warn("subagent_without_end", Some(source_line), None);
            }
            let token_basis = match (agent.producer_total, agent.n_calls) {
                (Some(_), _) => Some(TokenBasis::ProducerTotal),
                (None, 0) => None,
                (None, _) => Some(TokenBasis::SumOfCalls),
            };
            out.facts.contexts.push(Context {
                context_id: agent.context_id.clone(),
                parent_context_id: agent.parent.map(|p| self.context_id(p)),
                native_run_key: self.run_key.clone(),
                role: agent.role.clone(),
                role_basis: agent.role_basis,
                agent_name: agent.agent_name.clone(),
                model: Session::dominant(&agent.models).or_else(|| agent.model.clone()),
                started_at: agent.started,
                ended_at: agent.ended,
                token_basis,
                producer_total_tokens: agent.producer_total,
                tool_version: self.tool_version.clone(),
                cwd: self.cwd.clone(),
                git_branch: self.branch.clone(),
                repo: self.repo.clone(),
                n_compactions: (index == 0 || agent.n_compactions > 0).then_some(agent.n_compactions),
                source_id: out.source_id.clone(),
                source_line,
            });
        }
    }
}
