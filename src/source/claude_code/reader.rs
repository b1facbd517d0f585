//! Owns the state of one file while it is read, and sends each line to those who understand it.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use serde::de::{Error, IgnoredAny};

use super::calls::{self, At};
use super::contexts::Contexts;
use super::hook_answer;
use super::hook_records;
use super::hooks::{Hooks, Place};
use super::line::{Entry, Message};
use super::messages::{self, Said};
use super::reviewers::{Answered, Report, Reviewers};
use super::runs::{Pen, Runs};
use super::tools::{Target, Tools};
use crate::model::id::digest;
use crate::model::time::Ts;
use crate::source::emit::Emitter;
use crate::source::growing::Knowing;
use crate::source::reviewer::{Dispatch, role_of};
use crate::source::salvage::Record;
use crate::source::scan::{Str, Value, fields};

/// Stands in place of the command of a hook that stopped a prompt.
const STOPPING_HOOK: &str = "stopping-hook";
/// Bytes of an answer that are decoded for a verdict.
pub const MAX_ANSWER: usize = 512 << 10;
/// Entries of the sets that tell repetitions apart.
const MAX_SEEN: usize = 65_536;

#[derive(Default, Serialize, Deserialize)]
pub struct Reader {
    pub(super) contexts: Contexts,
    tools: Tools,
    pub(super) hooks: Hooks,
    pub(super) reviewers: Reviewers,
    pub(super) runs: Runs,
    /// Occurrences of records without a native id.
    occurrences: HashMap<String, i64>,
    /// Notifications that were read: the same one stands in several lines.
    notified: HashSet<String>,
}

impl Knowing for Reader {}

/// The window of a line, in values of its own.
pub struct Here {
    pub at: usize,
    pub session: String,
    pub context_id: String,
    pub run_key: String,
    pub cwd: Option<String>,
    pub ts: Option<Ts>,
    pub line: i64,
}

impl Here {
    pub fn answered(&self) -> Answered<'_> {
        Answered { session: &self.session, run_key: &self.run_key, cwd: self.cwd.as_deref(), ts: self.ts, line: self.line }
    }

    pub fn place<'a>(&'a self, guards: Option<String>, target: Option<&'a Target>) -> Place<'a> {
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
                let Some(here) = self.here(at, ts, record.line) else { continue };
                self.finished(finished, block, info, &here, out);
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
                // Which of the event's hooks it was is not said; it is not one that only adds text.
                self.hooks.fired(
                    &native,
                    "UserPromptSubmit",
                    STOPPING_HOOK,
                    |_| answer,
                    &here.place(None, None),
                    &mut Pen { runs: &mut self.runs, out },
                );
            }
            Said::StopFeedback(feedback) => {
                let feedback = feedback.trim_start_matches(['-', ' ']);
                if let (Some(command), said) = super::permissions::bracketed(feedback) {
                    let answer = hook_answer::blocking(said);
                    self.hooks.stop_feedback(&native, &command, answer, &here.place(None, None), &mut Pen { runs: &mut self.runs, out });
                }
            }
            Said::Agent { from, body } => {
                self.reviewers.message(from, body, &native, &here.answered(), &mut Pen { runs: &mut self.runs, out })
            }
            Said::Notification(note) => {
                if self.notified.len() >= MAX_SEEN || !self.notified.insert(format!("{}/{}", note.task_id, digest(text.as_bytes()))) {
                    return;
                }
                let exit = messages::exit_code(note.summary);
                self.tools.background_ended(note.tool_use_id, exit, ts, out);
                self.contexts.ended(&here.session, note.task_id, ts);
                self.reviewers.notified(&note, &here.answered(), &mut Pen { runs: &mut self.runs, out });
            }
        }
    }

    fn attachment(&mut self, raw: &[u8], at: usize, ts: Option<Ts>, line: i64, out: &mut Emitter<'_>) {
        if let Some(named) = hook_records::named(raw) {
            let Some(here) = self.here(at, ts, line) else { return };
            let guards = guarded(&named.tool_use_id, &named.event);
            let target = guards.as_deref().and_then(|id| self.tools.target_of(id)).cloned();
            let place = here.place(guards, target.as_ref());
            return hook_records::attachment(raw, &named, &place, &mut self.hooks, &mut Pen { runs: &mut self.runs, out });
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
                let report = Report { findings, gate_id: &gate, native: &native, context_id: &here.context_id, tool_call_id: None };
                self.reviewers.reported(report, &here.answered(), &mut Pen { runs: &mut self.runs, out });
            }
            Some(b"max_turns_reached") => {
                if let Some(here) = self.here(at, ts, line) {
                    self.max_turns(raw, &here, out);
                }
            }
            Some(b"queued_command") => {
                let [prompt] = fields(raw, ["prompt"]);
                if let Some(text) = prompt.and_then(Value::str).filter(|t| t.starts_with("<task-notification>")) {
                    self.said(&text, None, at, ts, line, out);
                }
            }
            _ => {}
        }
    }

    fn system(&mut self, entry: &Entry<'_>, at: usize, ts: Option<Ts>, line: i64, out: &mut Emitter<'_>) {
        match entry.subtype.map(|s| s.raw) {
            Some(b"stop_hook_summary") => {
                let Some(here) = self.here(at, ts, line) else { return };
                let id = entry.tool_use_id.or(entry.uuid).map(|i| i.text().into_owned()).unwrap_or_default();
                let event = if self.contexts.get(here.at).is_some_and(|w| w.agent.is_some()) { "SubagentStop" } else { "Stop" };
                let summary = hook_records::stop_summary(entry);
                self.hooks.stop_summary(&id, event, &summary, &here.place(None, None), &mut Pen { runs: &mut self.runs, out });
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
                hook_records::progress(
                    data,
                    &id,
                    &here.place(guards, target.as_ref()),
                    &mut self.hooks,
                    &mut Pen { runs: &mut self.runs, out },
                );
            }
            Some(b"agent_progress") => {
                let (Some(agent), Some(Value::Object(inner))) = (agent.and_then(Value::str), message) else { return };
                self.embedded(entry, &agent.text(), inner, at, record, out);
            }
            _ => {}
        }
    }

    /// A line of a sub-agent that its parent's file repeats. It belongs to the sub-agent's window.
    fn embedded(&mut self, entry: &Entry<'_>, agent: &str, inner: &[u8], at: usize, record: &Record<'_>, out: &mut Emitter<'_>) {
        let Ok(mut line) = Entry::parse(inner) else { return };
        let Some(session) = self.contexts.get(at).map(|w| w.session.clone()) else { return };
        (line.version, line.cwd, line.branch) = (entry.version, entry.cwd, entry.branch);
        let ts = time(line.timestamp.or(entry.timestamp), record.line, out);
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
        self.hooks.finish(&mut Pen { runs: &mut self.runs, out });
        self.reviewers.finish(&mut Pen { runs: &mut self.runs, out });
        self.tools.finish(out);
        self.contexts.finish(out);
    }
}

/// The time of a line; one that cannot be read is unknown.
fn time(text: Option<Str<'_>>, line: i64, out: &mut Emitter<'_>) -> Option<Ts> {
    let text = text?.text();
    let ts = Ts::parse_recorded(&text);
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
