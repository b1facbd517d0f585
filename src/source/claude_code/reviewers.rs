//! Owns reviewers as gates: sub-agents sent to review, their verdicts wherever the log brings them (result, notification, message),
//! and findings that a session reports in a structured form.

use std::collections::VecDeque;

use super::ids;
use super::review_findings::{Stated, from_array, from_text};
use super::runs::{GateSeen, Runs};
use super::tools::Dispatched;
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::sessions::ToolCall;
use crate::model::time::Ts;
use crate::model::vocabulary::{About, BaselineState, FingerprintBasis, GateKind, Purpose, Verdict, VerdictBasis};
use crate::source::emit::Emitter;
use crate::source::lenient::name;
use crate::source::reviewer::{Dispatch, REVIEWER, role_of, verdict_of};

/// Reviewers that are waited for.
const MAX_WAITING: usize = 1_024;

/// A reviewer whose answer comes later.
struct Waiting {
    agent_id: Option<String>,
    tool_use_id: String,
    dispatch: Dispatched,
    context_id: Option<String>,
    tool_call_id: String,
    run_key: String,
    session: String,
    started_at: Option<Ts>,
    line: i64,
    rounds: i64,
}

/// Where an answer stands.
pub struct Answered<'a> {
    pub session: &'a str,
    pub run_key: &'a str,
    pub cwd: Option<&'a str>,
    pub ts: Option<Ts>,
    pub line: i64,
}

#[derive(Default)]
pub struct Reviewers {
    waiting: VecDeque<Waiting>,
    /// Structured reports so far, for their ids.
    reports: i64,
}

impl Reviewers {
    /// A reviewer was started and works on its own.
    pub fn started(
        &mut self,
        call: &ToolCall,
        native: &str,
        dispatch: Dispatched,
        agent_id: Option<String>,
        context_id: Option<String>,
        at: &Answered<'_>,
        runs: &mut Runs,
        out: &mut Emitter<'_>,
    ) {
        if self.waiting.len() >= MAX_WAITING
            && let Some(oldest) = self.waiting.pop_front()
        {
            unanswered(&oldest, runs, out);
        }
        self.waiting.push_back(Waiting {
            agent_id,
            tool_use_id: native.to_owned(),
            dispatch,
            context_id,
            tool_call_id: call.tool_call_id.clone(),
            run_key: at.run_key.to_owned(),
            session: at.session.to_owned(),
            started_at: call.started_at,
            line: call.source_line,
            rounds: 0,
        });
    }

    /// A reviewer answered in the result of its call.
    pub fn answered(
        &mut self,
        call: &ToolCall,
        native: &str,
        dispatch: &Dispatched,
        context_id: Option<String>,
        text: &str,
        at: &Answered<'_>,
        runs: &mut Runs,
        out: &mut Emitter<'_>,
    ) {
        let gate_id = gate_id(dispatch);
        let id = ids::gate_run_id(at.session, native, &["review", "0"]);
        let mut run = runs.start(id, &gate_id, at.run_key, at.line, out);
        run.context_id = context_id;
        run.tool_call_id = Some(call.tool_call_id.clone());
        run.started_at = call.started_at;
        run.ended_at = call.ended_at;
        run.duration_ms = call.duration_ms;
        if call.success == Some(false) {
            could_not_run(&mut run, "failed");
            emit(run, Vec::new(), runs, out);
        } else {
            judged(run, text, at.cwd, runs, out);
        }
    }

    /// A notification that a background agent stopped.
    pub fn notified(
        &mut self,
        agent_id: &str,
        tool_use_id: &str,
        status: &str,
        text: &str,
        at: &Answered<'_>,
        runs: &mut Runs,
        out: &mut Emitter<'_>,
    ) {
        let found = self.waiting.iter_mut().find(|w| {
            w.agent_id.as_deref().is_some_and(|a| !a.is_empty() && a == agent_id)
                || (!tool_use_id.is_empty() && w.tool_use_id == tool_use_id)
        });
        if let Some(waiting) = found {
            let run = waiting.run(at, runs, out);
            if status == "completed" {
                judged(run, text, at.cwd, runs, out);
            } else {
                let mut run = run;
                could_not_run(&mut run, "stopped");
                emit(run, Vec::new(), runs, out);
            }
        }
    }

    /// A message of another agent. It is a review where its sender was sent to review, or is named so.
    pub fn message(&mut self, from: &str, text: &str, native: &str, at: &Answered<'_>, runs: &mut Runs, out: &mut Emitter<'_>) {
        let found = self.waiting.iter_mut().rfind(|w| w.dispatch.name.as_deref() == Some(from) || w.agent_id.as_deref() == Some(from));
        let run = match found {
            Some(waiting) => waiting.run(at, runs, out),
            None => {
                let (role, _) = role_of(&Dispatch { name: Some(from), ..Dispatch::default() });
                if role.as_deref() != Some(REVIEWER) {
                    return;
                }
                let mut run = runs.start(
                    ids::gate_run_id(at.session, native, &["message"]),
                    &format!("agent:{}", name(from)),
                    at.run_key,
                    at.line,
                    out,
                );
                run.ended_at = at.ts;
                run
            }
        };
        judged(run, text, at.cwd, runs, out);
    }

    /// `ReportFindings`, or a structured answer that holds findings.
    pub fn reported(
        &mut self,
        findings: &[u8],
        gate: &str,
        native: &str,
        context_id: &str,
        tool_call_id: Option<String>,
        at: &Answered<'_>,
        runs: &mut Runs,
        out: &mut Emitter<'_>,
    ) {
        self.reports += 1;
        let mut run = runs.start(ids::gate_run_id(at.session, native, &["report"]), gate, at.run_key, at.line, out);
        run.context_id = Some(context_id.to_owned());
        run.tool_call_id = tool_call_id;
        run.ended_at = at.ts;
        let stated = from_array(findings, at.cwd);
        let (resolved, open): (Vec<Stated>, Vec<Stated>) = stated.into_iter().partition(|s| s.state == Some(BaselineState::Resolved));
        run.verdict_basis = VerdictBasis::Structured;
        run.verdict = match (open.is_empty(), open.iter().all(|s| s.state.is_some())) {
            (true, _) => Verdict::Pass,
            // What is left was looked at and put aside.
            (false, true) => Verdict::Warn,
            (false, false) => Verdict::Fail,
        };
        run.raw_verdict = Some(format!("findings:{}", open.len()));
        run.resolves = (!resolved.is_empty()).then(|| resolved.into_iter().map(|s| s.fingerprint).collect());
        emit(run, open, runs, out);
    }

    /// Reviewers that never answered in this file.
    pub fn finish(&mut self, runs: &mut Runs, out: &mut Emitter<'_>) {
        for waiting in self.waiting.drain(..) {
            unanswered(&waiting, runs, out);
        }
    }
}

impl Waiting {
    /// The run that an answer ends.
    fn run(&mut self, at: &Answered<'_>, runs: &mut Runs, out: &Emitter<'_>) -> GateRun {
        let id = ids::gate_run_id(&self.session, &self.tool_use_id, &["review", &self.rounds.to_string()]);
        let mut run = runs.start(id, &gate_id(&self.dispatch), &self.run_key, at.line, out);
        self.rounds += 1;
        run.round = Some(self.rounds);
        run.context_id = self.context_id.clone();
        run.tool_call_id = Some(self.tool_call_id.clone());
        run.ended_at = at.ts;
        if self.rounds == 1 {
            run.started_at = self.started_at;
            run.duration_ms = match (self.started_at, at.ts) {
                (Some(start), Some(end)) => Some(end.millis_since(start).max(0)),
                _ => None,
            };
        }
        run
    }
}

fn gate_id(dispatch: &Dispatched) -> String {
    format!("agent:{}", dispatch.agent_type.as_deref().or(dispatch.name.as_deref()).unwrap_or("reviewer"))
}

fn unanswered(waiting: &Waiting, runs: &mut Runs, out: &mut Emitter<'_>) {
    if waiting.rounds > 0 {
        return;
    }
    let id = ids::gate_run_id(&waiting.session, &waiting.tool_use_id, &["review", "0"]);
    let mut run = runs.start(id, &gate_id(&waiting.dispatch), &waiting.run_key, waiting.line, out);
    run.context_id = waiting.context_id.clone();
    run.tool_call_id = Some(waiting.tool_call_id.clone());
    run.started_at = waiting.started_at;
    run.verdict = Verdict::Pending;
    emit(run, Vec::new(), runs, out);
}

fn could_not_run(run: &mut GateRun, raw: &str) {
    run.verdict = Verdict::CouldNotRun;
    run.verdict_basis = VerdictBasis::Structured;
    run.raw_verdict = Some(raw.to_owned());
    run.about = About::Infrastructure;
}

/// Reads the verdict that an answer states. Without one the run is inconclusive, whatever the answer sounds like.
fn judged(mut run: GateRun, text: &str, cwd: Option<&str>, runs: &mut Runs, out: &mut Emitter<'_>) {
    let stated = from_text(text, cwd);
    match verdict_of(text) {
        // An approval with remarks is a warning.
        Some((Verdict::Pass, word)) if !stated.is_empty() => (run.verdict, run.raw_verdict) = (Verdict::Warn, Some(name(&word))),
        Some((verdict, word)) => (run.verdict, run.raw_verdict) = (verdict, Some(name(&word))),
        None => run.verdict = Verdict::Inconclusive,
    }
    run.verdict_basis = if run.raw_verdict.is_some() { VerdictBasis::Output } else { VerdictBasis::None };
    emit(run, stated, runs, out);
}

fn emit(run: GateRun, stated: Vec<Stated>, runs: &mut Runs, out: &mut Emitter<'_>) {
    let gate_id = run.gate_id.clone();
    runs.gate(
        &GateSeen { gate_id: &gate_id, purpose: Purpose::Control, kind: GateKind::Model, mode: None, identity: None },
        run.source_line,
        out,
    );
    if stated.is_empty() && run.verdict == Verdict::Fail {
        let only = Stated {
            fingerprint: gate_id,
            basis: FingerprintBasis::GateStage,
            severity: None,
            raw_severity: None,
            category: None,
            location: None,
            state: None,
        };
        out.facts.findings.push(finding(&run, only, 0));
    }
    let mut seen: Vec<String> = Vec::new();
    for one in stated {
        let k = seen.iter().filter(|f| **f == one.fingerprint).count();
        seen.push(one.fingerprint.clone());
        out.facts.findings.push(finding(&run, one, k));
    }
    out.facts.gate_runs.push(run);
}

fn finding(run: &GateRun, stated: Stated, k: usize) -> Finding {
    Finding {
        finding_id: ids::finding_id(&run.gate_run_id, &stated.fingerprint, k),
        gate_run_id: run.gate_run_id.clone(),
        gate_id: run.gate_id.clone(),
        rule_id: stated.category,
        unit: None,
        observed_at: run.ended_at,
        severity: stated.severity,
        raw_severity: stated.raw_severity,
        failure_mode: None,
        failure_class: None,
        about: run.about,
        fingerprint: stated.fingerprint,
        fingerprint_basis: stated.basis,
        repeat_of: None,
        baseline_state: stated.state,
        location: stated.location,
        actionable: None,
        count: None,
        source_id: run.source_id.clone(),
        source_line: run.source_line,
    }
}
