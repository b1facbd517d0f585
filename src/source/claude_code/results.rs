//! Owns what the end of a tool call says beyond the call: refusals, plans, sub-agents, reported findings.

use super::hook_answer;
use super::ids;
use super::line::{Block, ToolResult};
use super::permissions::Denial;
use super::reader::{Here, MAX_ANSWER, Reader};
use super::reviewers::{Report, Sent};
use super::runs::{Defect, GateSeen, Pen, findings, subject};
use super::tools::{Dispatched, Finished, Target};
use crate::model::sessions::ToolCall;
use crate::model::vocabulary::{About, FingerprintBasis, GateKind, Mode, Phase, Purpose, TokenBasis, Verdict, VerdictBasis};
use crate::source::emit::Emitter;
use crate::source::lenient::name;
use crate::source::reviewer::REVIEWER;
use crate::source::scan::{Value, fields};

/// A permission gate and its answer.
struct Permission {
    gate_id: &'static str,
    kind: GateKind,
    verdict: Verdict,
    raw: &'static str,
}

impl Reader {
    /// Takes a finished call. `info` is its structured result, where it is known to be its own.
    pub(super) fn finished(
        &mut self,
        call: Finished,
        block: &Block<'_>,
        info: Option<&ToolResult<'_>>,
        here: &Here,
        out: &mut Emitter<'_>,
    ) {
        if call.row.name == "ExitPlanMode" {
            self.plan(&call, block, here, out);
        } else if let Some(denial) = &call.denial {
            self.denied(&call, denial, here, out);
        }
        if let Some(findings) = info.and_then(|i| i.findings).filter(|_| call.row.name == "ReportFindings") {
            let gate = self.review_gate(here.at);
            let report = Report {
                findings,
                gate_id: &gate,
                native: &call.native,
                context_id: &here.context_id,
                tool_call_id: Some(call.row.tool_call_id.clone()),
            };
            self.reviewers.reported(report, &here.answered(), &mut Pen { runs: &mut self.runs, out });
        }
        if let Some(dispatch) = call.dispatch.filter(|_| call.denial.is_none()) {
            self.sub_agent(call.row, call.native, dispatch, block, info, here, out);
        }
    }

    /// A call that started a sub-agent.
    #[allow(clippy::too_many_arguments, reason = "the parts of one finished call")]
    fn sub_agent(
        &mut self,
        call: ToolCall,
        native: String,
        dispatch: Dispatched,
        block: &Block<'_>,
        info: Option<&ToolResult<'_>>,
        here: &Here,
        out: &mut Emitter<'_>,
    ) {
        let is_later = info.is_some_and(|i| i.is_async || i.status.is_some_and(|s| s.is("async_launched") || s.is("teammate_spawned")));
        let agent_id = info.and_then(|i| i.agent_id).map(|a| a.text().into_owned()).filter(|a| !a.is_empty());
        let context_id = agent_id.as_deref().map(|agent| {
            let at = self.contexts.at(&here.session, Some(agent), true, here.line, out);
            if let Some(window) = self.contexts.get(at) {
                let row = &mut window.row;
                if row.role_basis.is_none() {
                    (row.role, row.role_basis) = (dispatch.role.clone(), dispatch.role_basis);
                }
                let stated = info.and_then(|i| i.agent_type).map(|t| name(&t.text()));
                row.agent_name = row.agent_name.take().or(stated).or(dispatch.agent_type.clone()).or(dispatch.name.clone());
                row.started_at = row.started_at.or(call.started_at);
                if !is_later {
                    row.ended_at = row.ended_at.max(here.ts);
                }
                if let Some(total) = info.and_then(|i| i.total_tokens) {
                    // The sum of the four counters of the last call only.
                    row.producer_total_tokens = Some(total);
                    row.token_basis = Some(TokenBasis::LastCallOnly);
                }
            }
            ids::context_id(&here.session, Some(agent), true)
        });
        if dispatch.role.as_deref() != Some(REVIEWER) {
            return;
        }
        let sent = Sent { call, native, dispatch, agent_id, context_id };
        let pen = &mut Pen { runs: &mut self.runs, out };
        if is_later && sent.call.success != Some(false) {
            self.reviewers.started(sent, &here.answered(), pen);
        } else {
            let text = block.text.map(|t| t.head(MAX_ANSWER).into_owned()).unwrap_or_default();
            self.reviewers.answered(&sent, &text, &here.answered(), pen);
        }
    }

    /// Name of the gate that a window's own review is.
    pub(super) fn review_gate(&mut self, at: usize) -> String {
        let agent = self.contexts.get(at).and_then(|w| w.row.agent_name.clone().or_else(|| w.row.role.clone()));
        format!("agent:{}", agent.as_deref().unwrap_or("review"))
    }

    /// A refused call.
    fn denied(&mut self, call: &Finished, denial: &Denial, here: &Here, out: &mut Emitter<'_>) {
        if let Denial::Hook { event, command, text } = denial {
            let answer = hook_answer::blocking(text);
            let place = here.place(Some(call.native.clone()), call.target.as_ref());
            let pen = &mut Pen { runs: &mut self.runs, out };
            match command {
                Some(command) => self.hooks.fired(&call.native, event, command, |_| answer, &place, pen),
                None => self.hooks.refused(&call.native, event, answer, &place, pen),
            }
            return;
        }
        if let Some((gate_id, kind, verdict, raw)) = denial.gate() {
            self.permission(&Permission { gate_id, kind, verdict, raw }, call, here, out);
        }
    }

    /// A plan shown to the user.
    fn plan(&mut self, call: &Finished, block: &Block<'_>, here: &Here, out: &mut Emitter<'_>) {
        let approved = block.text.is_some_and(|t| t.starts_with("User has approved"));
        let (verdict, raw) = match (&call.denial, approved) {
            (Some(Denial::User), _) => (Verdict::Fail, "user-rejected"),
            (Some(denial), _) => return self.denied(call, denial, here, out),
            (None, true) => (Verdict::Pass, "approved"),
            (None, false) => return,
        };
        self.permission(&Permission { gate_id: "permission:plan", kind: GateKind::Human, verdict, raw }, call, here, out);
    }

    fn permission(&mut self, permission: &Permission, call: &Finished, here: &Here, out: &mut Emitter<'_>) {
        let Permission { gate_id, kind, verdict, raw } = *permission;
        let id = ids::gate_run_id(&here.session, &call.native, &["permission", gate_id]);
        let mut run = self.runs.start(id, gate_id, &here.run_key, here.line, out);
        run.context_id = Some(call.row.context_id.clone());
        run.tool_call_id = Some(call.row.tool_call_id.clone());
        run.ended_at = here.ts;
        run.phase = Some(Phase::Before);
        run.subject = call.target.as_ref().map(|t| subject(t, None));
        if kind == GateKind::Human {
            // The wait for the answer is the gate's own time.
            (run.started_at, run.duration_ms) = (call.row.started_at, call.row.duration_ms);
        }
        run.verdict = verdict;
        run.raw_verdict = Some(raw.to_owned());
        run.verdict_basis = VerdictBasis::Structured;
        run.stopped_work = Some(verdict != Verdict::Pass);
        run.enforcement = Some(Mode::Block);
        if verdict == Verdict::CouldNotRun {
            run.about = About::Infrastructure;
        }
        self.runs.gate(&GateSeen { gate_id, purpose: Purpose::Control, kind, mode: Some(Mode::Block), identity: None }, here.line, out);
        if verdict == Verdict::Fail {
            let tool = &call.row.name;
            let (what, basis, location) = match &call.target {
                Some(Target::Path(path)) => (format!("{tool}:{path}"), FingerprintBasis::RuleAndFile, Some(path.clone())),
                Some(Target::Program(program)) => (format!("{tool}:{program}"), FingerprintBasis::GateStage, None),
                None => (tool.clone(), FingerprintBasis::GateStage, None),
            };
            let defect = Defect { fingerprint: format!("{gate_id}/{what}"), rule: None, basis, location, severity: None };
            out.facts.findings.extend(findings(&run, vec![defect]));
        }
        out.facts.gate_runs.push(run);
    }

    /// The session ran out of turns.
    pub(super) fn max_turns(&mut self, raw: &[u8], here: &Here, out: &mut Emitter<'_>) {
        let [turns] = fields(raw, ["turnCount"]);
        let gate_id = "budget:max-turns";
        let key = format!("{}/{}", here.session, here.ts.map(|t| t.to_string()).unwrap_or_default());
        let mut run = self.runs.start(ids::gate_run_id(&here.session, &key, &[gate_id]), gate_id, &here.run_key, here.line, out);
        run.context_id = Some(here.context_id.clone());
        run.ended_at = here.ts;
        run.verdict = Verdict::Fail;
        run.verdict_basis = VerdictBasis::Structured;
        run.raw_verdict = Some("max_turns_reached".to_owned());
        run.stopped_work = Some(true);
        run.enforcement = Some(Mode::Block);
        run.substance = turns.and_then(Value::count);
        let seen = GateSeen { gate_id, purpose: Purpose::Control, kind: GateKind::Deterministic, mode: Some(Mode::Block), identity: None };
        self.runs.gate(&seen, here.line, out);
        let defect =
            Defect { fingerprint: gate_id.to_owned(), rule: None, basis: FingerprintBasis::GateStage, location: None, severity: None };
        out.facts.findings.extend(findings(&run, vec![defect]));
        out.facts.gate_runs.push(run);
    }
}
