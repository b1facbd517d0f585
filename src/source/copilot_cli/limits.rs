//! Owns the small events about endings and limits: aborts, refused API calls, changed regimes, judged completions.

use crate::model::vocabulary::{About, FingerprintBasis, GateKind, Mode, Purpose, Verdict, VerdictBasis};
use crate::source::emit::Emitter;
use crate::source::hook_identity::clean_name;

use super::events::Notice;
use super::reader::{At, Session};
use super::rows::{self, GateShape};

impl Session {
    pub fn notice(&mut self, kind: &str, notice: &Notice<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        match kind {
            "abort" => self.abort(notice, at, out),
            "session.error" => self.error(notice, at, out),
            "session.task_complete" => self.completion(notice, at, out),
            _ => {
                let to = notice.mode.as_str().or(notice.new_mode.as_str()).map(clean_name);
                let from = notice.previous_mode.as_str().map(clean_name);
                let detail = from.zip(to).map(|(from, to)| format!("{from} to {to}"));
                let gate = if kind == "session.permissions_changed" { "permission:user" } else { "session:mode" };
                self.guard_event(gate, "mode_changed", detail, at, out);
            }
        }
    }

    /// A spent budget is a limit of the infrastructure. A person who stops the agent says nothing about a defect: the stop is kept,
    /// unclassified.
    fn abort(&mut self, notice: &Notice<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        let reason = clean_name(notice.reason.as_str().unwrap_or("unknown"));
        let budget = reason == "autopilot_credit_limit";
        let (gate, kind) = if budget { ("limit:autopilot-credits", GateKind::Deterministic) } else { ("abort:user", GateKind::Human) };
        let shape = GateShape { purpose: Purpose::Control, kind, mode: Some(Mode::Block), pass_recorded: Some(false), identity: None };
        self.gate(gate, at.line, shape, out);
        let id = self.native_id("abort", at.event);
        let mut run = self.blank_run(gate, id, at, out);
        run.raw_verdict = Some(reason);
        run.stopped_work = Some(true);
        run.verdict_basis = VerdictBasis::Structured;
        run.verdict = if budget { Verdict::Fail } else { Verdict::Inconclusive };
        if budget {
            run.about = About::Infrastructure;
            rows::finding(&run, gate.to_owned(), FingerprintBasis::Native, at, out);
        }
        out.facts.gate_runs.push(run);
    }

    /// Limits of the service that refused an API call; other errors are no gate.
    fn error(&mut self, notice: &Notice<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        let error = clean_name(notice.error_type.as_str().unwrap_or("unknown"));
        if !matches!(error.as_str(), "rate_limit" | "quota" | "context_limit") {
            out.warn("session_error", Some(at.line), Some(&error));
            return;
        }
        let gate = format!("limit:{error}");
        let shape = GateShape {
            purpose: Purpose::Control,
            kind: GateKind::External,
            mode: Some(Mode::Block),
            pass_recorded: Some(false),
            identity: None,
        };
        self.gate(&gate, at.line, shape, out);
        let id = self.native_id("limit", at.event);
        let mut run = self.blank_run(&gate, id, at, out);
        run.about = About::Infrastructure;
        run.verdict = Verdict::Fail;
        run.verdict_basis = VerdictBasis::Structured;
        run.raw_verdict = notice.error_code.as_str().map(clean_name);
        let code = run.raw_verdict.clone().unwrap_or_else(|| error.clone());
        rows::finding(&run, format!("{gate}/{code}"), FingerprintBasis::Native, at, out);
        out.facts.gate_runs.push(run);
    }

    /// An autopilot objective is judged by a completion reviewer; without its outcome the event is only the agent's own word.
    fn completion(&mut self, notice: &Notice<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        let Some(outcome) = notice.outcome.as_str().map(clean_name) else { return };
        let gate = "completion:reviewer";
        let shape = GateShape {
            purpose: Purpose::Control,
            kind: GateKind::Model,
            mode: Some(Mode::Block),
            pass_recorded: Some(true),
            identity: None,
        };
        self.gate(gate, at.line, shape, out);
        let id = self.native_id("completion", at.event);
        let mut run = self.blank_run(gate, id, at, out);
        (run.verdict, run.stopped_work) = match outcome.as_str() {
            "completed" => (Verdict::Pass, Some(false)),
            "continue" | "blocked" => (Verdict::Fail, Some(true)),
            _ => (Verdict::Inconclusive, None),
        };
        run.verdict_basis = VerdictBasis::Structured;
        if run.verdict == Verdict::Fail {
            rows::finding(&run, format!("{gate}/{outcome}"), FingerprintBasis::GateStage, at, out);
        }
        run.raw_verdict = Some(outcome);
        out.facts.gate_runs.push(run);
    }
}
