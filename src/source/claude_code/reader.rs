//! Owns the state of one file while it is read, and sends each line to those who understand it.

use std::collections::{HashMap, HashSet};

use serde::de::{Error, IgnoredAny};

use super::calls::{self, At};
use super::contexts::Contexts;
use super::hook_answer;
use super::hook_records;
use super::hooks::{Hooks, Place};
use super::ids;
use super::line::{Block, Entry, Message};
use super::messages::{self, Said};
use super::permissions::Denial;
use super::reviewers::{Answered, Reviewers};
use super::runs::{Defect, GateSeen, Runs, findings};
use super::tools::{Finished, Target, Tools};
use crate::model::id::digest;
use crate::model::time::Ts;
use crate::model::vocabulary::{FingerprintBasis, GateKind, Mode, Purpose, TokenBasis, Verdict, VerdictBasis};
use crate::source::emit::Emitter;
use crate::source::reviewer::{Dispatch, REVIEWER, role_of};
use crate::source::salvage::Record;
use crate::source::scan::{Str, Value, fields};

/// Bytes of an answer that are decoded for a verdict.
const MAX_ANSWER: usize = 512 << 10;
/// Entries of the sets that tell repetitions apart.
const MAX_SEEN: usize = 65_536;

#[derive(Default)]
pub struct Reader {
    contexts: Contexts,
    tools: Tools,
    hooks: Hooks,
    reviewers: Reviewers,
    runs: Runs,
    /// Occurrences of records without a native id.
    occurrences: HashMap<String, i64>,
    /// Notifications that were read: the same one stands in several lines.
    notified: HashSet<String>,
}

/// The window of a line, in values of its own.
struct Here {
    at: usize,
    session: String,
    context_id: String,
    run_key: String,
    cwd: Option<String>,
    ts: Option<Ts>,
    line: i64,
}

impl Here {
    fn answered(&self) -> Answered<'_> {
        Answered { session: &self.session, run_key: &self.run_key, cwd: self.cwd.as_deref(), ts: self.ts, line: self.line }
    }

    fn place<'a>(&'a self, guards: Option<String>, target: Option<&'a Target>) -> Place<'a> {
        Place {
            session: &self.session,
            context_id: &self.context_id,
            run_key: &self.run_key,
            cwd: self.cwd.as_deref(),
            ts: self.ts,
            line: self.line,
            guards,
            target,
        }
    }
}

impl Reader {
    /// Takes one line. The error is the full parser's, for the salvage of broken lines.
    pub fn record(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> serde_json::Result<()> {
        let Ok(entry) = Entry::parse(record.bytes) else {
            serde_json::from_slice::<IgnoredAny>(record.bytes)?;
            return Err(serde_json::Error::custom("unexpected structure"));
        };
        if entry.lone_surrogates > 0 {
            out.warn("salvaged", Some(record.line), Some("lone_surrogate"));
        }
        if !record.bytes.is_ascii() && std::str::from_utf8(record.bytes).is_err() {
            out.warn("salvaged", Some(record.line), Some("invalid_utf8"));
        }
        let Some(kind) = entry.kind else {
            out.quarantine(record.line, record.offset, record.size, "schema", Some("no type".to_owned()));
            return Ok(());
        };
        match kind.raw {
            b"assistant" | b"user" | b"attachment" | b"system" | b"progress" | b"pr-link" => self.session_line(&entry, record, out),
            b"queue-operation"
            | b"summary"
            | b"file-history-snapshot"
            | b"file-history-delta"
            | b"last-prompt"
            | b"ai-title"
            | b"custom-title"
            | b"agent-name"
            | b"mode"
            | b"permission-mode"
            | b"bridge-session"
            | b"frame-link"
            | b"atis-latch" => {}
            _ => out.warn("unknown_type", Some(record.line), Some(&kind.head(200))),
        }
        Ok(())
    }

    fn session_line(&mut self, entry: &Entry<'_>, record: &Record<'_>, out: &mut Emitter<'_>) {
        let ts = time(entry.timestamp, record.line, out);
        let Some(at) = self.contexts.of_line(entry, record.line, ts, out) else {
            out.quarantine(record.line, record.offset, record.size, "schema", Some("no session".to_owned()));
            return;
        };
        match entry.kind.map(|k| k.raw) {
            Some(b"assistant") => self.assistant(entry, at, ts, record, out),
            Some(b"user") => self.user(entry, at, ts, record, out),
            Some(b"attachment") => {
                if let Some(raw) = entry.attachment {
                    self.attachment(raw, at, ts, record.line, out);
                }
            }
            Some(b"system") => self.system(entry, at, ts, record.line, out),
            Some(b"progress") => self.progress(entry, at, ts, record, out),
            _ => {}
        }
        if ts.is_some()
            && let Some(window) = self.contexts.get(at)
        {
            window.last_ts = ts;
        }
    }

    fn here(&mut self, at: usize, ts: Option<Ts>, line: i64) -> Option<Here> {
        let window = self.contexts.get(at)?;
        Some(Here {
            at,
            session: window.session.clone(),
            context_id: window.row.context_id.clone(),
            run_key: window.row.native_run_key.clone(),
            cwd: window.row.cwd.clone(),
            ts,
            line,
        })
    }

    fn assistant(&mut self, entry: &Entry<'_>, at: usize, ts: Option<Ts>, record: &Record<'_>, out: &mut Emitter<'_>) {
        let Some(message) = &entry.message else { return };
        let version = entry.version.map(|v| v.text());
        let place = At { line: record.line, ts, version: version.as_deref() };
        let occurrences = &mut self.occurrences;
        let Some(window) = self.contexts.get(at) else { return };
        let session = window.session.clone();
        // Without a native id: the record itself and its occurrence.
        let own_id = || {
            let digest = digest(record.bytes);
            let nth = if occurrences.len() < MAX_SEEN { occurrences.entry(digest.clone()).or_insert(0) } else { &mut 0 };
            *nth += 1;
            format!("{session}/{digest}/{nth}")
        };
        let call_id = calls::take(window, message, own_id, &place, out);
        for block in message.blocks.iter().filter(|b| b.is("tool_use")) {
            self.tools.request(window, block, call_id.as_deref(), ts, record.line, out);
        }
    }

    fn user(&mut self, entry: &Entry<'_>, at: usize, ts: Option<Ts>, record: &Record<'_>, out: &mut Emitter<'_>) {
        let Some(message) = &entry.message else { return };
        let results = message.blocks.iter().filter(|b| b.is("tool_result")).count();
        if results > 0 {
            let denial = entry.denial.map(|d| d.text());
            // The structured result belongs to one block; which one of several is not said.
            let info = (results == 1).then_some(&entry.result);
            for block in message.blocks.iter().filter(|b| b.is("tool_result")) {
                let Some(finished) = self.tools.result(block, info, denial.as_deref(), ts, record.line, out) else { continue };
                self.finished(finished, block, entry, info.is_some(), at, ts, record.line, out);
            }
            return;
        }
        if entry.is_summary {
            return;
        }
        let Some(text) = only_text(message) else { return };
        self.prompt_of_agent(at, &text);
        self.said(&text, entry.uuid, at, ts, record.line, out);
    }

    /// The first prompt of a sub-agent's own file says what it is for.
    fn prompt_of_agent(&mut self, at: usize, text: &Str<'_>) {
        let Some(window) = self.contexts.get(at).filter(|w| w.agent.is_some() && !w.prompt_seen) else { return };
        window.prompt_seen = true;
        if window.row.role.is_none() {
            let (role, basis) = role_of(&Dispatch { prompt: Some(&text.head(8_000)), ..Dispatch::default() });
            (window.row.role, window.row.role_basis) = (role, basis);
        }
    }

    /// Text of a user line or of a queued command.
    fn said(&mut self, text: &Str<'_>, uuid: Option<Str<'_>>, at: usize, ts: Option<Ts>, line: i64, out: &mut Emitter<'_>) {
        // Prompts are long and begin in no such way: only what may be a record of the program is decoded.
        let may =
            ["Operation stopped", "UserPromptSubmit", "Stop hook", "<task-notification>", "<agent-message", "Another Claude", "\\n", " "];
        if !may.iter().any(|m| text.starts_with(m)) {
            return;
        }
        let text = text.head(MAX_ANSWER);
        let Some(here) = self.here(at, ts, line) else { return };
        // A line without an id of its own is told by its words.
        let native = uuid.map_or_else(|| digest(text.as_bytes()), |u| u.text().into_owned());
        match messages::read(&text) {
            Said::Other => {}
            Said::StoppedByHook(reason) => {
                let answer = hook_answer::blocking(reason);
                self.hooks.unnamed(&native, "UserPromptSubmit", answer, &here.place(None, None), &mut self.runs, out);
            }
            Said::StopFeedback(feedback) => {
                let feedback = feedback.trim_start_matches(['-', ' ']);
                if let (Some(command), said) = super::permissions::bracketed(feedback) {
                    let answer = hook_answer::blocking(said);
                    self.hooks.stop_feedback(&native, &command, answer, &here.place(None, None), &mut self.runs, out);
                }
            }
            Said::Agent { from, body } => self.reviewers.message(from, body, &native, &here.answered(), &mut self.runs, out),
            Said::Notification(note) => {
                if self.notified.len() >= MAX_SEEN || !self.notified.insert(format!("{}/{}", note.task_id, digest(text.as_bytes()))) {
                    return;
                }
                let exit = messages::exit_code(note.summary);
                self.tools.background_ended(note.tool_use_id, exit, ts, out);
                self.contexts.ended(&here.session, note.task_id, ts);
                self.reviewers.notified(note.task_id, note.tool_use_id, note.status, note.result, &here.answered(), &mut self.runs, out);
            }
        }
    }

    /// What the end of a tool call says beyond the call itself.
    fn finished(
        &mut self,
        call: Finished,
        block: &Block<'_>,
        entry: &Entry<'_>,
        has_info: bool,
        at: usize,
        ts: Option<Ts>,
        line: i64,
        out: &mut Emitter<'_>,
    ) {
        let Some(here) = self.here(at, ts, line) else { return };
        let native = block.id.map(|i| i.text().into_owned()).unwrap_or_default();
        if call.row.name == "ExitPlanMode" {
            self.plan(&call, &native, block, &here, out);
        } else if let Some(denial) = &call.denial {
            self.denied(&call, denial, &native, &here, out);
        }
        if let Some(findings) = entry.result.findings.filter(|_| has_info && call.row.name == "ReportFindings") {
            let gate = self.review_gate(at);
            let (context, tool) = (here.context_id.clone(), Some(call.row.tool_call_id.clone()));
            self.reviewers.reported(findings, &gate, &native, &context, tool, &here.answered(), &mut self.runs, out);
        }
        if let Some(dispatch) = call.dispatch.filter(|_| call.denial.is_none()) {
            let info = &entry.result;
            let agent_id = info.agent_id.filter(|_| has_info).map(|a| a.text().into_owned());
            let is_later = info.is_async || info.status.is_some_and(|s| s.is("async_launched") || s.is("teammate_spawned"));
            let context_id = agent_id.as_deref().filter(|a| !a.is_empty()).map(|agent| {
                let sub = self.contexts.at(&here.session, Some(agent), true, line, out);
                if let Some(window) = self.contexts.get(sub) {
                    let row = &mut window.row;
                    if row.role_basis.is_none() {
                        (row.role, row.role_basis) = (dispatch.role.clone(), dispatch.role_basis);
                    }
                    let stated = info.agent_type.map(|t| crate::source::lenient::name(&t.text()));
                    row.agent_name = row.agent_name.take().or(stated).or(dispatch.agent_type.clone()).or(dispatch.name.clone());
                    row.started_at = row.started_at.or(call.row.started_at);
                    if !is_later {
                        row.ended_at = row.ended_at.max(ts);
                    }
                    if info.total_tokens.is_some() {
                        // The sum of the four counters of the last call only.
                        row.producer_total_tokens = info.total_tokens;
                        row.token_basis = Some(TokenBasis::LastCallOnly);
                    }
                }
                ids::context_id(&here.session, Some(agent), true)
            });
            if dispatch.role.as_deref() == Some(REVIEWER) {
                if is_later && call.row.success != Some(false) {
                    self.reviewers.started(&call.row, &native, dispatch, agent_id, context_id, &here.answered(), &mut self.runs, out);
                } else {
                    let text = block.text.map(|t| t.head(MAX_ANSWER).into_owned()).unwrap_or_default();
                    self.reviewers.answered(&call.row, &native, &dispatch, context_id, &text, &here.answered(), &mut self.runs, out);
                }
            }
        }
    }

    /// Name of the gate that a window's own review is.
    fn review_gate(&mut self, at: usize) -> String {
        let agent = self.contexts.get(at).and_then(|w| w.row.agent_name.clone().or_else(|| w.row.role.clone()));
        format!("agent:{}", agent.as_deref().unwrap_or("review"))
    }

    /// A refused call.
    fn denied(&mut self, call: &Finished, denial: &Denial, native: &str, here: &Here, out: &mut Emitter<'_>) {
        if let Denial::Hook { event, command, text } = denial {
            let answer = hook_answer::blocking(text);
            let place = here.place(Some(native.to_owned()), call.target.as_ref());
            match command {
                Some(command) => self.hooks.fired(native, event, command, |_| answer, &place, &mut self.runs, out),
                None => self.hooks.refused(native, event, answer, &place, &mut self.runs, out),
            }
            return;
        }
        let Some((gate_id, kind, verdict, raw)) = denial.gate() else { return };
        self.permission(gate_id, kind, verdict, raw, call, native, here, out);
    }

    /// A plan shown to the user.
    fn plan(&mut self, call: &Finished, native: &str, block: &Block<'_>, here: &Here, out: &mut Emitter<'_>) {
        let approved = block.text.is_some_and(|t| t.starts_with("User has approved"));
        let (verdict, raw) = match (&call.denial, approved) {
            (Some(Denial::User), _) => (Verdict::Fail, "user-rejected"),
            (Some(denial), _) => return self.denied(call, denial, native, here, out),
            (None, true) => (Verdict::Pass, "approved"),
            (None, false) => return,
        };
        self.permission("permission:plan", GateKind::Human, verdict, raw, call, native, here, out);
    }

    #[allow(clippy::too_many_arguments)]
    fn permission(
        &mut self,
        gate_id: &str,
        kind: GateKind,
        verdict: Verdict,
        raw: &str,
        call: &Finished,
        native: &str,
        here: &Here,
        out: &mut Emitter<'_>,
    ) {
        let id = ids::gate_run_id(&here.session, native, &["permission", gate_id]);
        let mut run = self.runs.start(id, gate_id, &here.run_key, here.line, out);
        run.context_id = Some(call.row.context_id.clone());
        run.tool_call_id = Some(call.row.tool_call_id.clone());
        run.ended_at = here.ts;
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
            run.about = crate::model::vocabulary::About::Infrastructure;
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

    fn attachment(&mut self, raw: &[u8], at: usize, ts: Option<Ts>, line: i64, out: &mut Emitter<'_>) {
        if let Some(named) = hook_records::named(raw) {
            let Some(here) = self.here(at, ts, line) else { return };
            let guards = guarded(&named.tool_use_id, &named.event);
            let target = guards.as_deref().and_then(|id| self.tools.target_of(id)).cloned();
            let place = here.place(guards, target.as_ref());
            return hook_records::attachment(raw, &named, &place, &mut self.hooks, &mut self.runs, out);
        }
        let [kind] = fields(raw, ["type"]);
        match kind.and_then(Value::str).map(|k| k.raw) {
            Some(b"structured_output") => {
                let [data, id] = fields(raw, ["data", "toolUseID"]);
                let findings = data.and_then(Value::container).map(|d| fields(d, ["findings"]));
                let Some(Value::Array(findings)) = findings.and_then(|[f]| f) else { return };
                let Some(here) = self.here(at, ts, line) else { return };
                let gate = self.review_gate(at);
                let native = id.and_then(Value::str).map_or_else(|| digest(raw), |i| i.text().into_owned());
                let context = here.context_id.clone();
                self.reviewers.reported(findings, &gate, &native, &context, None, &here.answered(), &mut self.runs, out);
            }
            Some(b"max_turns_reached") => self.max_turns(raw, at, ts, line, out),
            Some(b"queued_command") => {
                let [prompt] = fields(raw, ["prompt"]);
                if let Some(text) = prompt.and_then(Value::str).filter(|t| t.starts_with("<task-notification>")) {
                    self.said(&text, None, at, ts, line, out);
                }
            }
            _ => {}
        }
    }

    fn max_turns(&mut self, raw: &[u8], at: usize, ts: Option<Ts>, line: i64, out: &mut Emitter<'_>) {
        let Some(here) = self.here(at, ts, line) else { return };
        let [turns] = fields(raw, ["turnCount"]);
        let gate_id = "budget:max-turns";
        let key = format!("{}/{}", here.session, ts.map(|t| t.to_string()).unwrap_or_default());
        let mut run = self.runs.start(ids::gate_run_id(&here.session, &key, &[gate_id]), gate_id, &here.run_key, line, out);
        run.context_id = Some(here.context_id.clone());
        run.ended_at = ts;
        run.verdict = Verdict::Fail;
        run.verdict_basis = VerdictBasis::Structured;
        run.raw_verdict = Some("max_turns_reached".to_owned());
        run.stopped_work = Some(true);
        run.enforcement = Some(Mode::Block);
        run.substance = turns.and_then(Value::count);
        let seen = GateSeen { gate_id, purpose: Purpose::Control, kind: GateKind::Deterministic, mode: Some(Mode::Block), identity: None };
        self.runs.gate(&seen, line, out);
        let defect =
            Defect { fingerprint: gate_id.to_owned(), rule: None, basis: FingerprintBasis::GateStage, location: None, severity: None };
        out.facts.findings.extend(findings(&run, vec![defect]));
        out.facts.gate_runs.push(run);
    }

    fn system(&mut self, entry: &Entry<'_>, at: usize, ts: Option<Ts>, line: i64, out: &mut Emitter<'_>) {
        match entry.subtype.map(|s| s.raw) {
            Some(b"stop_hook_summary") => {
                let Some(here) = self.here(at, ts, line) else { return };
                let id = entry.tool_use_id.or(entry.uuid).map(|i| i.text().into_owned()).unwrap_or_default();
                let event = if self.contexts.get(here.at).is_some_and(|w| w.agent.is_some()) { "SubagentStop" } else { "Stop" };
                let summary = hook_records::stop_summary(entry);
                self.hooks.stop_summary(&id, event, &summary, &here.place(None, None), &mut self.runs, out);
            }
            Some(b"compact_boundary") => {
                if let Some(window) = self.contexts.get(at) {
                    *window.row.n_compactions.get_or_insert(0) += 1;
                }
            }
            Some(b"api_error") => out.warn("api_error", Some(line), None),
            Some(b"model_refusal_fallback") => out.warn("model_refusal_fallback", Some(line), None),
            _ => {}
        }
    }

    fn progress(&mut self, entry: &Entry<'_>, at: usize, ts: Option<Ts>, record: &Record<'_>, out: &mut Emitter<'_>) {
        let Some(data) = entry.data else { return };
        // Most of these lines only repeat a command's output so far.
        if data.starts_with(b"{\"type\":\"bash_progress\"") {
            return;
        }
        let [kind, agent, message] = fields(data, ["type", "agentId", "message"]);
        match kind.and_then(Value::str).map(|k| k.raw) {
            Some(b"hook_progress") => {
                let Some(here) = self.here(at, ts, record.line) else { return };
                let id = entry.tool_use_id.map(|i| i.text().into_owned()).unwrap_or_default();
                let [event] = fields(data, ["hookEvent"]);
                let event = event.and_then(Value::str).map(|e| e.text().into_owned()).unwrap_or_default();
                let guards = guarded(&id, &event);
                let target = guards.as_deref().and_then(|id| self.tools.target_of(id)).cloned();
                hook_records::progress(data, &id, &here.place(guards, target.as_ref()), &mut self.hooks, &mut self.runs, out);
            }
            Some(b"agent_progress") => {
                let (Some(agent), Some(Value::Object(inner))) = (agent.and_then(Value::str), message) else { return };
                self.embedded(entry, &agent.text(), inner, at, ts, record, out);
            }
            _ => {}
        }
    }

    /// A line of a sub-agent that its parent's file repeats. It belongs to the sub-agent's window.
    #[allow(clippy::too_many_arguments)]
    fn embedded(
        &mut self,
        entry: &Entry<'_>,
        agent: &str,
        inner: &[u8],
        at: usize,
        ts: Option<Ts>,
        record: &Record<'_>,
        out: &mut Emitter<'_>,
    ) {
        let Ok(mut line) = Entry::parse(inner) else { return };
        let Some(session) = self.contexts.get(at).map(|w| w.session.clone()) else { return };
        (line.version, line.cwd, line.branch) = (entry.version, entry.cwd, entry.branch);
        let ts = time(line.timestamp, record.line, out).or(ts);
        let sub = self.contexts.at(&session, Some(agent), true, record.line, out);
        let dispatch = entry.parent_tool_use_id.and_then(|id| self.tools.dispatch_of(&id.text()));
        if let Some(window) = self.contexts.get(sub) {
            window.see(&line, ts);
            // Its prompt is in the call that started it.
            window.prompt_seen = true;
            if let Some(dispatch) = dispatch
                && window.row.role_basis.is_none()
            {
                (window.row.role, window.row.role_basis) = (dispatch.role.clone(), dispatch.role_basis);
                window.row.agent_name = dispatch.agent_type.clone().or(dispatch.name.clone());
            }
        }
        match line.kind.map(|k| k.raw) {
            Some(b"assistant") => self.assistant(&line, sub, ts, record, out),
            Some(b"user") => self.user(&line, sub, ts, record, out),
            _ => {}
        }
        if ts.is_some()
            && let Some(window) = self.contexts.get(sub)
        {
            window.last_ts = ts;
        }
    }

    /// Writes what is still open.
    pub fn finish(mut self, out: &mut Emitter<'_>) {
        self.hooks.finish(&mut self.runs, out);
        self.reviewers.finish(&mut self.runs, out);
        self.tools.finish(out);
        self.contexts.finish(out);
    }
}

/// The time of a line; one that cannot be read is unknown.
fn time(text: Option<Str<'_>>, line: i64, out: &mut Emitter<'_>) -> Option<Ts> {
    let text = text?.text();
    let ts = Ts::parse(&text);
    if ts.is_none() {
        out.warn("bad_time", Some(line), None);
    }
    ts
}

/// The tool use that a hook guards. Other events give ids of their own.
fn guarded(tool_use_id: &str, event: &str) -> Option<String> {
    (event.contains("ToolUse") || event == "PermissionRequest").then(|| tool_use_id.to_owned()).filter(|id| !id.is_empty())
}

/// The text of a message that holds nothing else.
fn only_text<'a>(message: &Message<'a>) -> Option<Str<'a>> {
    message.text.or_else(|| message.blocks.iter().find(|b| b.is("text")).and_then(|b| b.text))
}
