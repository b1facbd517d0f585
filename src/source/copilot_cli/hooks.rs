//! Owns hooks: one start and end is one gate run. No event names the command, so hooks of one event cannot be told apart. A hook
//! that failed is a crash, never a catch: closed where the tool was refused, open where it ran.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::model::gate_runs::GateRun;
use crate::model::time::Ts;
use crate::model::vocabulary::{About, FingerprintBasis, GateKind, Mode, Verdict, VerdictBasis};
use crate::source::emit::Emitter;
use crate::source::hook_failure;
use crate::source::hook_identity::{self, clean_name};
use crate::source::lenient::Text;

use super::events::{self, Fault, HookEnd, HookStart, nested};
use super::reader::{At, Session};
use super::rows::{self, GateShape};

/// Finished hooks held until their tools end; more are settled unseen.
const MAX_WAITING: usize = 4_096;

/// Who refused a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Hook { errored: bool, cause: String },
    Other(&'static str),
}

/// A hook that was started and has not ended.
#[derive(Serialize, Deserialize)]
struct Open {
    run: GateRun,
    started: Option<Ts>,
    tools: Vec<String>,
    hook_type: String,
}

/// A hook that has ended and whose effect is not yet known.
#[derive(Serialize, Deserialize)]
struct Ended {
    run: GateRun,
    /// Cause of its failure. `None`: it did not fail.
    failed: Option<String>,
    /// Tools (or, under the empty name, the step itself) that its output refuses, with the cause.
    denies: BTreeMap<String, String>,
    /// Tools whose end is still to come.
    tools: HashSet<String>,
    refused: Option<(i64, Option<Ts>)>,
    event: String,
    line: i64,
    ts: Option<Ts>,
    agent: usize,
}

/// The hooks of a session.
#[derive(Default, Serialize, Deserialize)]
pub struct Hooks {
    open: HashMap<String, Open>,
    waiting: Vec<Ended>,
    /// Failures outside tool calls: the next event proves that the work went on.
    failed: Vec<Ended>,
}

impl Session {
    pub fn hook_start(&mut self, start: &HookStart<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        let hook_type = clean_name(start.hook_type.as_str().filter(|t| !t.is_empty()).unwrap_or("unknown"));
        let input = nested::<events::HookInput<'_>>(start.input).unwrap_or_default();
        let listed = nested::<Vec<events::HookTool<'_>>>(input.tool_calls);
        let substance = listed.as_ref().map(|l| l.len() as i64);
        let mut tools: Vec<String> = listed.into_iter().flatten().filter_map(|t| t.id.0.map(|id| id.into_owned())).collect();
        if tools.is_empty()
            && let Some(tool) = input.tool_name.as_str()
        {
            tools.extend(self.running_tool(at.agent, tool, input.tool_args));
        }
        let gate_id = format!("{hook_type}:hook");
        if !self.gates_seen.contains(&gate_id) {
            out.warn("hooks_indistinguishable", Some(at.line), Some(&hook_type));
            let shape = GateShape {
                purpose: hook_identity::purpose(&hook_type, ""),
                kind: GateKind::Deterministic,
                mode: hook_identity::mode(&hook_type),
                pass_recorded: Some(true),
                identity: Some(format!("{}:hook", hook_identity::canonical_event(&hook_type))),
            };
            self.gate(&gate_id, at.line, shape, out);
        }
        let native = events::native(&start.hook_invocation_id).unwrap_or(at.event).to_owned();
        let id = self.native_id("hook", &native);
        let mut run = self.blank_run(&gate_id, id, at, out);
        run.phase = hook_identity::phase(&hook_type);
        run.substance = substance.or_else(|| input.tool_name.0.is_some().then_some(1));
        if let [tool] = tools.as_slice() {
            run.tool_call_id = Some(self.native_id("tool", tool));
        }
        if let Some(earlier) = self.hooks.open.insert(native, Open { run, started: at.ts, tools, hook_type }) {
            out.warn("hook_without_end", Some(earlier.run.source_line), Some(&earlier.hook_type));
        }
    }

    pub fn hook_end(&mut self, end: &HookEnd<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        let hook_type = clean_name(end.hook_type.as_str().unwrap_or("unknown"));
        let native = events::native(&end.hook_invocation_id);
        let open = match native {
            Some(id) => self.hooks.open.remove(id),
            // Without an id, the last start of the same event in the same context.
            None => {
                let context = self.context_id(at.agent);
                let same =
                    self.hooks.open.iter().filter(|(_, o)| o.hook_type == hook_type && o.run.context_id.as_deref() == Some(&context));
                let last = same.max_by_key(|(_, o)| o.run.seq).map(|(id, _)| id.clone());
                last.and_then(|id| self.hooks.open.remove(&id))
            }
        };
        let open = open.unwrap_or_else(|| {
            out.warn("hook_without_start", Some(at.line), Some(&hook_type));
            let id = self.native_id("hook", native.unwrap_or(at.event));
            let mut run = self.blank_run(&format!("{hook_type}:hook"), id, at, out);
            run.started_at = None;
            Open { run, started: None, tools: Vec::new(), hook_type: hook_type.clone() }
        });
        let mut run = open.run;
        run.ended_at = at.ts;
        run.duration_ms = at.ts.zip(open.started).map(|(end, start)| end.millis_since(start).max(0));
        run.raw_verdict = end.success.0.map(|s| if s { "success" } else { "failure" }.to_owned());
        let output = Decision::of(end.output);
        run.injected_tokens_est = output.injected_bytes.map(|b| b / 4);
        run.evidence = native.map(clean_name);
        let failed = (end.success.0 == Some(false)).then(|| {
            let fault = Fault::of(end.error);
            hook_failure::cause(fault.as_ref().and_then(|f| f.message.as_str()).unwrap_or(""))
        });
        if end.success.0.is_none() && end.error.is_none() && end.output.is_none() {
            run.verdict = Verdict::Inconclusive;
        }
        if output.asks {
            run.verdict = Verdict::NeedsReview;
        }
        let ended = Ended {
            failed,
            denies: output.denies,
            // Running, or not started yet: in some versions the hook comes first.
            tools: open.tools.iter().filter(|id| !self.has_ended(id)).cloned().collect(),
            refused: None,
            event: at.event.to_owned(),
            line: at.line,
            ts: at.ts,
            agent: at.agent,
            run,
        };
        // Only a hook before the tool can refuse it.
        if !ended.tools.is_empty() && open.hook_type.to_ascii_lowercase().starts_with("pre") {
            self.hooks.waiting.push(ended);
            if self.hooks.waiting.len() > MAX_WAITING {
                let oldest = self.hooks.waiting.remove(0);
                self.settle(oldest, Effect::Unknown, out);
            }
        } else if ended.failed.is_some() {
            self.hooks.failed.push(ended);
        } else {
            let effect = if ended.denies.is_empty() { Effect::WentOn } else { Effect::Refused };
            self.settle(ended, effect, out);
        }
    }

    /// The next event has come: the work went on after hooks that failed outside tool calls.
    pub fn settle_open_hooks(&mut self, out: &mut Emitter<'_>) {
        for ended in std::mem::take(&mut self.hooks.failed) {
            self.settle(ended, Effect::WentOn, out);
        }
    }

    /// A tool has ended: hooks that waited for it know whether it was refused.
    pub fn settle_tool(&mut self, tool: &str, refusal: Option<Refusal>, at: At<'_>, out: &mut Emitter<'_>) {
        if self.hooks.waiting.is_empty() {
            return;
        }
        if let Some(Refusal::Hook { errored, cause }) = refusal {
            // Of several hooks on one tool, the one that said so; else the last that ran before it.
            let concerned = |e: &&mut Ended| e.tools.contains(tool);
            let says = |e: &&mut Ended| if errored { e.failed.is_some() } else { e.denies.contains_key(tool) || e.denies.contains_key("") };
            let waiting = &mut self.hooks.waiting;
            let said = waiting.iter_mut().filter(concerned).any(|e| says(&e));
            if said {
                for ended in waiting.iter_mut().filter(concerned).filter(says) {
                    ended.refused.get_or_insert((at.line, at.ts));
                }
            } else if let Some(last) = waiting.iter_mut().rfind(concerned) {
                last.refused = Some((at.line, at.ts));
                if errored {
                    last.failed.get_or_insert(cause);
                } else {
                    last.denies.entry(tool.to_owned()).or_insert(cause);
                }
            }
        }
        let mut index = 0;
        while let Some(ended) = self.hooks.waiting.get_mut(index) {
            if ended.tools.remove(tool) && ended.tools.is_empty() {
                let ended = self.hooks.waiting.remove(index);
                let effect = if ended.refused.is_some() { Effect::Refused } else { Effect::WentOn };
                self.settle(ended, effect, out);
            } else {
                index += 1;
            }
        }
    }

    fn settle(&mut self, ended: Ended, effect: Effect, out: &mut Emitter<'_>) {
        let Ended { mut run, failed, denies, refused, event, line, ts, agent, .. } = ended;
        let stated = denies.values().next().cloned();
        run.verdict_basis = VerdictBasis::Structured;
        run.stopped_work = match effect {
            Effect::Refused => Some(true),
            Effect::WentOn => Some(false),
            // The end of the file hides the effect; the hook's own output may state it.
            Effect::Unknown => stated.is_some().then_some(true),
        };
        let (line, ts) = refused.unwrap_or((line, ts));
        let at = At { line, ts, event: &event, agent };
        if let Some(cause) = failed {
            run.about = About::Infrastructure;
            run.verdict = if hook_failure::is_timeout(&cause) { Verdict::TimedOut } else { Verdict::Crashed };
            rows::finding(&run, format!("hook-crash/{cause}"), FingerprintBasis::OutputShape, at, out);
            if run.stopped_work == Some(false) {
                self.guard_event(&run.gate_id, "degraded_open", Some(cause), at, out);
            }
        } else if let Some(cause) = stated {
            run.verdict = Verdict::Fail;
            run.enforcement = Some(Mode::Block);
            rows::finding(&run, format!("{}/{cause}", run.gate_id), FingerprintBasis::OutputShape, at, out);
        } else if matches!(run.verdict, Verdict::Inconclusive) {
            run.verdict_basis = VerdictBasis::None;
        } else if run.verdict != Verdict::NeedsReview {
            run.verdict = Verdict::Pass;
        }
        out.facts.gate_runs.push(run);
    }

    /// The file is at its end.
    pub fn close_hooks(&mut self, out: &mut Emitter<'_>) {
        let Hooks { open, waiting, failed } = std::mem::take(&mut self.hooks);
        for ended in waiting.into_iter().chain(failed) {
            self.settle(ended, Effect::Unknown, out);
        }
        let mut open: Vec<Open> = open.into_values().collect();
        open.sort_by_key(|o| o.run.seq);
        for hook in open {
            // It was still running when the file was read, or the session ended with it: it gave no verdict, and a later copy of
            // the file will hold its end.
            out.warn("hook_without_end", Some(hook.run.source_line), Some(&hook.hook_type));
        }
    }
}

/// What came after a hook.
enum Effect {
    Refused,
    WentOn,
    Unknown,
}

/// What a hook's output decides.
#[derive(Default)]
struct Decision {
    denies: BTreeMap<String, String>,
    asks: bool,
    injected_bytes: Option<i64>,
}

impl Decision {
    /// Versions write `{permissionDecision: "deny"}`, `{decision: "block"}`, `{behavior: "deny"}`, the same inside
    /// `hookSpecificOutput`, or a map from tool call id to the refusal's text.
    fn of(raw: Option<&RawValue>) -> Decision {
        let mut decision = Decision::default();
        if let Some(output) = nested::<events::Output<'_>>(raw) {
            decision.read(&output, 0);
        }
        decision
    }

    fn read(&mut self, output: &events::Output<'_>, depth: usize) {
        let text = |key: &str| output.get(key).and_then(|raw| nested::<Text<'_>>(Some(raw))).and_then(|t| t.0);
        let mut reason = None;
        for key in ["permissionDecisionReason", "reason", "stopReason", "message"] {
            reason = reason.or_else(|| text(key));
        }
        for key in ["permissionDecision", "decision", "behavior"] {
            match text(key).as_deref() {
                Some("deny" | "block" | "reject") => {
                    self.denies.insert(String::new(), hook_failure::cause(reason.as_deref().unwrap_or("")));
                }
                Some("ask") => self.asks = true,
                _ => {}
            }
        }
        if let Some(context) = text("additionalContext") {
            self.injected_bytes = Some(self.injected_bytes.unwrap_or(0) + context.len() as i64);
        }
        for (key, value) in output {
            if key == "hookSpecificOutput" && depth == 0 {
                if let Some(inner) = nested::<events::Output<'_>>(Some(value)) {
                    self.read(&inner, 1);
                }
            } else if let Some(refused) = nested::<Text<'_>>(Some(value)).and_then(|t| t.0)
                && refused.starts_with("Denied by ")
            {
                self.denies.insert(key.clone().into_owned(), hook_failure::cause(&refused));
            }
        }
    }
}
