//! Owns reviewers as gates: sub-agents sent to review, their verdicts wherever the log brings them (result, notification, message),
//! and findings that a session reports in a structured form.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::ids;
use super::messages::Notification;
use super::review_findings::{Stated, from_array, from_text};
use super::runs::{GateSeen, Pen};
use super::tools::Dispatched;
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::sessions::ToolCall;
use crate::model::time::Ts;
use crate::model::vocabulary::{About, BaselineState, FingerprintBasis, GateKind, Purpose, Verdict, VerdictBasis};
use crate::source::lenient::name;
use crate::source::reviewer::{Dispatch, REVIEWER, role_of, verdict_of};

/// Reviewers that are waited for.
const MAX_WAITING: usize = 1_024;

/// A call that sent a reviewer.
#[derive(Serialize, Deserialize)]
pub struct Sent {
    pub call: ToolCall,
    /// Native id of the call.
    pub native: String,
    pub dispatch: Dispatched,
    pub agent_id: Option<String>,
    /// Context of the reviewer.
    pub context_id: Option<String>,
}

/// A reviewer whose answer comes later.
#[derive(Serialize, Deserialize)]
struct Waiting {
    sent: Sent,
    run_key: String,
    session: String,
    rounds: i64,
}

/// Findings in a structured form.
pub struct Report<'a> {
    pub findings: &'a [u8],
    pub gate_id: &'a str,
    /// Native id of the record that holds them.
    pub native: &'a str,
    pub context_id: &'a str,
    pub tool_call_id: Option<String>,
}

/// Where an answer stands.
pub struct Answered<'a> {
    pub session: &'a str,
    pub run_key: &'a str,
    pub cwd: Option<&'a str>,
    pub ts: Option<Ts>,
    pub line: i64,
}

#[derive(Default, Serialize, Deserialize)]
pub struct Reviewers {
    waiting: VecDeque<Waiting>,
}

impl Reviewers {
    /// A reviewer was started and works on its own.
    pub fn started(&mut self, sent: Sent, at: &Answered<'_>, pen: &mut Pen<'_, '_>) {
        if self.waiting.len() >= MAX_WAITING
            && let Some(oldest) = self.waiting.pop_front()
        {
            unanswered(&oldest, pen);
        }
        self.waiting.push_back(Waiting { sent, run_key: at.run_key.to_owned(), session: at.session.to_owned(), rounds: 0 });
    }

    /// A reviewer answered in the result of its call.
    pub fn answered(&mut self, sent: &Sent, text: &str, at: &Answered<'_>, pen: &mut Pen<'_, '_>) {
        let id = ids::gate_run_id(at.session, &sent.native, &["review", "0"]);
        let mut run = pen.runs.start(id, &gate_id(&sent.dispatch), at.run_key, at.line, pen.out);
        run.context_id = sent.context_id.clone();
        run.tool_call_id = Some(sent.call.tool_call_id.clone());
        run.started_at = sent.call.started_at;
        run.ended_at = sent.call.ended_at;
        run.duration_ms = sent.call.duration_ms;
        if sent.call.success == Some(false) {
            could_not_run(&mut run, "failed");
            emit(run, Vec::new(), pen);
        } else {
            judged(run, text, at.cwd, pen);
        }
    }

    /// A notification that a background agent stopped.
    pub fn notified(&mut self, note: &Notification<'_>, at: &Answered<'_>, pen: &mut Pen<'_, '_>) {
        let found = self.waiting.iter_mut().find(|w| {
            w.sent.agent_id.as_deref().is_some_and(|a| !a.is_empty() && a == note.task_id)
                || (!note.tool_use_id.is_empty() && w.sent.native == note.tool_use_id)
        });
        if let Some(waiting) = found {
            let mut run = waiting.run(at, pen);
            if note.status == "completed" {
                judged(run, note.result, at.cwd, pen);
            } else {
                could_not_run(&mut run, "stopped");
                emit(run, Vec::new(), pen);
            }
        }
    }

    /// A message of another agent. It is a review where its sender was sent to review, or is named so.
    pub fn message(&mut self, from: &str, text: &str, native: &str, at: &Answered<'_>, pen: &mut Pen<'_, '_>) {
        let found =
            self.waiting.iter_mut().rfind(|w| w.sent.dispatch.name.as_deref() == Some(from) || w.sent.agent_id.as_deref() == Some(from));
        let run = match found {
            Some(waiting) => waiting.run(at, pen),
            None => {
                let (role, _) = role_of(&Dispatch { name: Some(from), ..Dispatch::default() });
                if role.as_deref() != Some(REVIEWER) {
                    return;
                }
                let mut run = pen.runs.start(
                    ids::gate_run_id(at.session, native, &["message"]),
                    &format!("agent:{}", name(from)),
                    at.run_key,
                    at.line,
                    pen.out,
                );
                run.ended_at = at.ts;
                run
            }
        };
        judged(run, text, at.cwd, pen);
    }

    /// `ReportFindings`, or a structured answer that holds findings.
    pub fn reported(&mut self, report: Report<'_>, at: &Answered<'_>, pen: &mut Pen<'_, '_>) {
        let id = ids::gate_run_id(at.session, report.native, &["report"]);
        let mut run = pen.runs.start(id, report.gate_id, at.run_key, at.line, pen.out);
        run.context_id = Some(report.context_id.to_owned());
        run.tool_call_id = report.tool_call_id;
        run.ended_at = at.ts;
        let stated = from_array(report.findings, at.cwd);
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
        emit(run, open, pen);
    }

    /// Reviewers that never answered in this file.
    pub fn finish(&mut self, pen: &mut Pen<'_, '_>) {
        for waiting in self.waiting.drain(..) {
            unanswered(&waiting, pen);
        }
    }
}

impl Waiting {
    /// The run that an answer ends.
    fn run(&mut self, at: &Answered<'_>, pen: &mut Pen<'_, '_>) -> GateRun {
        let id = ids::gate_run_id(&self.session, &self.sent.native, &["review", &self.rounds.to_string()]);
        let mut run = pen.runs.start(id, &gate_id(&self.sent.dispatch), &self.run_key, at.line, pen.out);
        self.rounds += 1;
        run.round = Some(self.rounds);
        run.context_id = self.sent.context_id.clone();
        run.tool_call_id = Some(self.sent.call.tool_call_id.clone());
        run.ended_at = at.ts;
        if self.rounds == 1 {
            run.started_at = self.sent.call.started_at;
            run.duration_ms = match (run.started_at, at.ts) {
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

fn unanswered(waiting: &Waiting, pen: &mut Pen<'_, '_>) {
    if waiting.rounds > 0 {
        return;
    }
    let sent = &waiting.sent;
    let id = ids::gate_run_id(&waiting.session, &sent.native, &["review", "0"]);
    let mut run = pen.runs.start(id, &gate_id(&sent.dispatch), &waiting.run_key, sent.call.source_line, pen.out);
    run.context_id = sent.context_id.clone();
    run.tool_call_id = Some(sent.call.tool_call_id.clone());
    run.started_at = sent.call.started_at;
    run.verdict = Verdict::Pending;
    emit(run, Vec::new(), pen);
}

fn could_not_run(run: &mut GateRun, raw: &str) {
    run.verdict = Verdict::CouldNotRun;
    run.verdict_basis = VerdictBasis::Structured;
    run.raw_verdict = Some(raw.to_owned());
    run.about = About::Infrastructure;
}

/// Reads the verdict that an answer states. Without one the run is inconclusive, whatever the answer sounds like.
fn judged(mut run: GateRun, text: &str, cwd: Option<&str>, pen: &mut Pen<'_, '_>) {
    let stated = from_text(text, cwd);
    match verdict_of(text) {
        // An approval with remarks is a warning.
        Some((Verdict::Pass, word)) if !stated.is_empty() => (run.verdict, run.raw_verdict) = (Verdict::Warn, Some(name(&word))),
        Some((verdict, word)) => (run.verdict, run.raw_verdict) = (verdict, Some(name(&word))),
        None => run.verdict = Verdict::Inconclusive,
    }
    run.verdict_basis = if run.raw_verdict.is_some() { VerdictBasis::Output } else { VerdictBasis::None };
    emit(run, stated, pen);
}

fn emit(run: GateRun, stated: Vec<Stated>, pen: &mut Pen<'_, '_>) {
    let gate_id = run.gate_id.clone();
    pen.runs.gate(
        &GateSeen { gate_id: &gate_id, purpose: Purpose::Control, kind: GateKind::Model, mode: None, identity: None },
        run.source_line,
        pen.out,
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
        pen.out.facts.findings.push(finding(&run, only, 0));
    }
    let mut seen: Vec<String> = Vec::new();
    for one in stated {
        let k = seen.iter().filter(|f| **f == one.fingerprint).count();
        seen.push(one.fingerprint.clone());
        pen.out.facts.findings.push(finding(&run, one, k));
    }
    pen.out.facts.gate_runs.push(run);
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
