//! Owns permission prompts: one request and its answer is one gate run, its wait is the run's duration. A person is a gate only
//! where a person answered; "could not request from user" is no person.

use serde::{Deserialize, Serialize};

use crate::model::decisions::Decision;
use crate::model::id::stable_id;
use crate::model::time::Ts;
use crate::model::vocabulary::{DecisionKind, FingerprintBasis, GateKind, Mode, Phase, Purpose, Verdict, VerdictBasis};
use crate::source::emit::Emitter;
use crate::source::hook_identity::clean_name;

use super::FORMAT;
use super::events::{self, PermissionCompleted, PermissionRequest, PermissionRequested, PermissionResult, nested};
use super::reader::{At, Session};
use super::rows::{self, GateShape};

/// Nobody reads and answers a prompt faster: a shorter wait without a recorded prompt was a rule.
const HUMAN_MS: i64 = 300;

/// A permission that was asked for.
#[derive(Serialize, Deserialize)]
pub struct Asked {
    tool: Option<String>,
    kind: Option<String>,
    /// Whether the log shows that a prompt stood before the user.
    prompted: bool,
    by_hook: bool,
    agent: usize,
    ts: Option<Ts>,
    pub line: i64,
}

impl Session {
    pub fn permission_requested(&mut self, asked: &PermissionRequested<'_>, at: At<'_>) {
        let request = nested::<PermissionRequest<'_>>(asked.permission_request).unwrap_or_default();
        let id = events::native(&asked.request_id).unwrap_or(at.event).to_owned();
        self.permissions.insert(
            id,
            Asked {
                tool: events::native(&request.tool_call_id).map(str::to_owned),
                kind: request.kind.as_str().map(clean_name),
                prompted: asked.prompt_request.is_some_and(|p| p.get() != "null"),
                by_hook: asked.resolved_by_hook.is_true(),
                agent: at.agent,
                ts: at.ts,
                line: at.line,
            },
        );
    }

    pub fn permission_completed(&mut self, done: &PermissionCompleted<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        let result = nested::<PermissionResult<'_>>(done.result).unwrap_or_default();
        let answer = clean_name(result.kind.as_str().unwrap_or("unknown"));
        let native = events::native(&done.request_id).unwrap_or(at.event).to_owned();
        let asked = self.permissions.remove(&native);
        if asked.is_none() {
            out.warn("permission_without_request", Some(at.line), Some(&answer));
        }
        let wait = asked.as_ref().and_then(|a| at.ts.zip(a.ts)).map(|(end, start)| end.millis_since(start).max(0));
        let prompted = asked.as_ref().is_some_and(|a| a.prompted);
        let by_hook = asked.as_ref().is_some_and(|a| a.by_hook);
        let Some(read) = Answer::of(&answer, by_hook, prompted, wait) else {
            out.warn("unknown_permission_answer", Some(at.line), Some(&answer));
            return;
        };
        let kind = match read.gate {
            "permission:user" => GateKind::Human,
            _ => GateKind::Deterministic,
        };
        let shape = GateShape { purpose: Purpose::Control, kind, mode: Some(Mode::Block), pass_recorded: Some(true), identity: None };
        self.gate(read.gate, at.line, shape, out);
        let id = self.native_id("permission", &native);
        let place = At { agent: asked.as_ref().map_or(at.agent, |a| a.agent), ..at };
        let mut run = self.blank_run(read.gate, id, place, out);
        run.phase = Some(Phase::Before);
        run.started_at = asked.as_ref().and_then(|a| a.ts);
        run.duration_ms = wait;
        run.verdict = read.verdict;
        run.raw_verdict = Some(answer.clone());
        run.verdict_basis = VerdictBasis::Structured;
        run.stopped_work = read.stopped;
        run.enforcement = Some(Mode::Block);
        run.rule_id = asked.as_ref().and_then(|a| a.kind.clone());
        run.source_line = asked.as_ref().map_or(at.line, |a| a.line);
        let tool = events::native(&done.tool_call_id).map(str::to_owned).or(asked.and_then(|a| a.tool));
        let args = tool.as_ref().and_then(|id| self.tools.get(id)).and_then(|t| t.args_hash.clone());
        run.tool_call_id = tool.as_ref().map(|id| self.native_id("tool", id));
        if let (Some(by), Some(open)) = (read.denied_by, tool.as_ref().and_then(|id| self.tools.get_mut(id))) {
            open.refused_by = Some(by.into());
        }
        if run.verdict == Verdict::Fail {
            // The same action refused again is the same problem; another action is another.
            let what = args.as_deref().and_then(|a| a.get(..8)).map(|a| format!("#{a}")).unwrap_or_default();
            let rule = run.rule_id.as_deref().unwrap_or("unknown");
            rows::finding(&run, format!("{}/{rule}{what}", read.gate), FingerprintBasis::GateStage, at, out);
        }
        if matches!(answer.as_str(), "approved-for-session" | "approved-for-location") {
            out.facts.decisions.push(Decision {
                decision_id: stable_id(&[FORMAT, "approval", &self.id, &native]),
                native_run_key: Some(self.run_key.clone()),
                kind: DecisionKind::Approval,
                who_hash: None,
                what: answer,
                target: run.rule_id.clone(),
                failure_mode: None,
                failure_class: None,
                why_hash: None,
                decided_at: at.ts,
                expires_at: None,
                source_id: out.source_id.clone(),
                source_line: at.line,
            });
        }
        out.facts.gate_runs.push(run);
    }
}

/// What an answer means.
struct Answer {
    gate: &'static str,
    verdict: Verdict,
    stopped: Option<bool>,
    denied_by: Option<&'static str>,
}

impl Answer {
    fn of(kind: &str, by_hook: bool, prompted: bool, wait: Option<i64>) -> Option<Answer> {
        const USER: &str = "permission:user";
        const RULE: &str = "permission:rule";
        const HOOK: &str = "permissionRequest:hook";
        let answer = |gate, verdict, stopped, denied_by| Some(Answer { gate, verdict, stopped: Some(stopped), denied_by });
        match kind {
            "approved" | "approved-for-session" | "approved-for-location" => {
                let person = prompted || wait.is_some_and(|ms| ms >= HUMAN_MS) || kind != "approved";
                let gate = if by_hook {
                    HOOK
                } else if person {
                    USER
                } else {
                    RULE
                };
                answer(gate, Verdict::Pass, false, None)
            }
            "denied-interactively-by-user" => answer(USER, Verdict::Fail, true, Some("user")),
            "denied-by-rules" | "denied-by-content-exclusion-policy" => answer(RULE, Verdict::Fail, true, Some("permission-rule")),
            "denied-by-permission-request-hook" => answer(HOOK, Verdict::Fail, true, Some("hook")),
            "denied-no-approval-rule-and-could-not-request-from-user" => answer(USER, Verdict::CouldNotRun, true, Some("no-user")),
            "cancelled" => answer(USER, Verdict::NotEvaluated, true, None),
            _ => None,
        }
    }
}
