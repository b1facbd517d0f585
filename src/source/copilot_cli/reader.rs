//! Owns the state of one file and the way of each event through it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::model::gate_runs::GateRun;
use crate::model::id::{digest, stable_id};
use crate::model::time::Ts;
use crate::source::emit::Emitter;
use crate::source::growing::Knowing;
use crate::source::lenient::name;
use crate::source::salvage::Record;
use crate::source::{PROBE_BYTES, cut_home};

use super::FORMAT;
use super::agents::{Agent, Spawn};
use super::calls::Requested;
use super::events::{self, Envelope, Place, SessionStart, nested};
use super::hooks::Hooks;
use super::permissions::Asked;
use super::tools::OpenTool;
use super::totals::Totals;

/// Where an event stands.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    pub line: i64,
    pub ts: Option<Ts>,
    /// The event's own id, or a digest of its text and the number of the same text before it.
    pub event: &'a str,
    /// Index of the context it belongs to.
    pub agent: usize,
}

/// One file.
#[derive(Serialize, Deserialize)]
pub struct Reader {
    pub session: Session,
    /// Whether a longer file would have begun with the same session id.
    is_settled: bool,
}

impl Knowing for Reader {
    fn is_settled(&self) -> bool {
        self.is_settled
    }
}

/// One session: what is open, and what its contexts came to.
#[derive(Serialize, Deserialize)]
pub struct Session {
    pub id: String,
    pub run_key: String,
    /// Whether the session's own start was read.
    pub started: bool,
    /// Whether any event was read.
    used: bool,
    pub tool_version: Option<String>,
    pub repo: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    /// The main context first.
    pub agents: Vec<Agent>,
    by_native: HashMap<String, usize>,
    /// Sub-agent dispatches by tool call id.
    pub spawns: HashMap<String, Spawn>,
    pub tools: HashMap<String, OpenTool>,
    pub requested: HashMap<String, Requested>,
    /// Hashes ([`super::tools::id_hash`]) of the tool call ids that were started: in some versions the request follows the start.
    pub tools_started: HashSet<u64>,
    pub hooks: Hooks,
    pub permissions: HashMap<String, Asked>,
    pub totals: Totals,
    pub gates_seen: BTreeSet<String>,
    /// Gate runs so far.
    pub seq: i64,
    /// Records without an id of their own, by digest.
    repeats: HashMap<String, i64>,
}

impl Session {
    fn new(id: String) -> Session {
        let mut session = Session {
            run_key: format!("session:{}", name(&id)),
            id,
            started: false,
            used: false,
            tool_version: None,
            repo: None,
            cwd: None,
            branch: None,
            agents: Vec::new(),
            by_native: HashMap::new(),
            spawns: HashMap::new(),
            tools: HashMap::new(),
            requested: HashMap::new(),
            tools_started: HashSet::new(),
            hooks: Hooks::default(),
            permissions: HashMap::new(),
            totals: Totals::default(),
            gates_seen: BTreeSet::new(),
            seq: 0,
            repeats: HashMap::new(),
        };
        let main = Agent::new(session.native_id("session", ""), None);
        session.agents.push(main);
        session
    }

    /// A stable id of something that has a native id inside this session.
    pub fn native_id(&self, kind: &str, native: &str) -> String {
        stable_id(&[FORMAT, kind, &self.id, native])
    }

    /// Index of the context of that envelope `agentId`; the main context without one.
    fn agent(&mut self, native: Option<&str>) -> usize {
        let Some(native) = native.filter(|n| !n.is_empty()) else { return 0 };
        if let Some(index) = self.by_native.get(native) {
            return *index;
        }
        let agent = Agent::new(self.native_id("agent", native), Some(native.to_owned()));
        self.agents.push(agent);
        self.by_native.insert(native.to_owned(), self.agents.len() - 1);
        self.agents.len() - 1
    }

    pub fn context_id(&self, agent: usize) -> String {
        self.agents.get(agent).map_or_else(String::new, |a| a.context_id.clone())
    }

    pub fn next_seq(&mut self) -> i64 {
        self.seq += 1;
        self.seq - 1
    }

    fn place(&mut self, place: &Place<'_>) {
        let known = |slot: &mut Option<String>, text: Option<&str>| {
            if slot.is_none() {
                *slot = text.filter(|t| !t.is_empty()).map(name);
            }
        };
        // The first place holds for the session: later ones are visits.
        known(&mut self.repo, place.repository.as_str());
        known(&mut self.branch, place.branch.as_str());
        known(&mut self.cwd, place.cwd.as_str().map(cut_home).as_deref());
    }
}

impl Reader {
    /// Of a file that begins with these bytes.
    pub fn of(head: &[u8]) -> Reader {
        // Looked for in so many bytes, however long the first line is: a longer file begins with the same.
        let searched = head.get(..PROBE_BYTES).unwrap_or(head);
        let id = events::session_id_in(searched);
        Reader { is_settled: id.is_some() || searched.len() == PROBE_BYTES, session: Session::new(id.unwrap_or_default()) }
    }

    /// Takes in one event. Nothing is changed before all of it is parsed.
    pub fn record(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> serde_json::Result<()> {
        let envelope: Envelope<'_> = serde_json::from_slice(record.bytes)?;
        // Hand-written and very old files have no `data`: the fields stand beside the type.
        let whole = std::str::from_utf8(record.bytes).unwrap_or("{}");
        let data = envelope.data.map(|d| d.get()).filter(|d| *d != "null").unwrap_or(whole);
        let kind = envelope.kind.as_ref();
        let ts = envelope.timestamp.as_str().and_then(Ts::parse_recorded);
        let agent = envelope.agent_id.as_str();
        match kind {
            "session.start" => {
                let start: SessionStart<'_> = serde_json::from_str(data)?;
                self.start(&start, record, out);
                self.with(agent, record, ts, &envelope, out, |_, _, _| ());
            }
            "session.resume" | "session.context_changed" => {
                let place: Place<'_> = match kind {
                    "session.resume" => nested(serde_json::from_str::<SessionStart<'_>>(data)?.context).unwrap_or_default(),
                    _ => serde_json::from_str(data)?,
                };
                self.with(agent, record, ts, &envelope, out, |session, _, out| {
                    session.place(&place);
                    if kind == "session.resume" {
                        session.flush_calls(out);
                        session.totals.resumed();
                    }
                });
            }
            "assistant.message" => {
                let message: events::AssistantMessage<'_> = serde_json::from_str(data)?;
                let agent = agent.or(message.parent_tool_call_id.as_str());
                self.with(agent, record, ts, &envelope, out, |session, at, out| session.message(&message, at, out));
            }
            "tool.execution_start" | "tool.user_requested" | "external_tool.requested" => {
                let start: events::ToolStart<'_> = serde_json::from_str(data)?;
                let agent = agent.or(start.parent_tool_call_id.as_str());
                self.with(agent, record, ts, &envelope, out, |session, at, out| session.tool_start(&start, at, out));
            }
            "tool.execution_complete" => {
                let complete: events::ToolComplete<'_> = serde_json::from_str(data)?;
                let agent = agent.or(complete.parent_tool_call_id.as_str());
                self.with(agent, record, ts, &envelope, out, |session, at, out| session.tool_complete(&complete, at, out));
            }
            "hook.start" => {
                let start: events::HookStart<'_> = serde_json::from_str(data)?;
                self.with(agent, record, ts, &envelope, out, |session, at, out| session.hook_start(&start, at, out));
            }
            "hook.end" => {
                let end: events::HookEnd<'_> = serde_json::from_str(data)?;
                self.with(agent, record, ts, &envelope, out, |session, at, out| session.hook_end(&end, at, out));
            }
            "permission.requested" => {
                let asked: events::PermissionRequested<'_> = serde_json::from_str(data)?;
                self.with(agent, record, ts, &envelope, out, |session, at, _| session.permission_requested(&asked, at));
            }
            "permission.completed" => {
                let done: events::PermissionCompleted<'_> = serde_json::from_str(data)?;
                self.with(agent, record, ts, &envelope, out, |session, at, out| session.permission_completed(&done, at, out));
            }
            "subagent.started" | "subagent.completed" | "subagent.failed" => {
                let sub: events::Subagent<'_> = serde_json::from_str(data)?;
                let agent = agent.or(events::native(&sub.tool_call_id));
                self.with(agent, record, ts, &envelope, out, |session, at, out| session.subagent(kind, &sub, at, out));
            }
            "session.shutdown" => {
                let shutdown: events::Shutdown<'_> = serde_json::from_str(data)?;
                self.with(agent, record, ts, &envelope, out, |session, at, out| session.shutdown(&shutdown, at, out));
            }
            "session.usage_checkpoint" => {
                let checkpoint: events::Checkpoint<'_> = serde_json::from_str(data)?;
                self.with(agent, record, ts, &envelope, out, |session, at, out| session.checkpoint(&checkpoint, at, out));
            }
            "session.compaction_complete" => {
                let compaction: events::CompactionComplete<'_> = serde_json::from_str(data)?;
                self.with(agent, record, ts, &envelope, out, |session, at, out| session.compaction(&compaction, at, out));
            }
            "abort" | "session.error" | "session.permissions_changed" | "session.mode_changed" | "session.task_complete" => {
                let notice: events::Notice<'_> = serde_json::from_str(data)?;
                self.with(agent, record, ts, &envelope, out, |session, at, out| session.notice(kind, &notice, at, out));
            }
            _ => {
                if !events::is_known(kind) {
                    out.warn("unknown_type", Some(record.line), Some(&name(kind)));
                }
                self.with(agent, record, ts, &envelope, out, |_, _, _| ());
            }
        }
        Ok(())
    }

    /// Settles what the event before left open, then lets `act` take the event in.
    fn with(
        &mut self,
        agent: Option<&str>,
        record: &Record<'_>,
        ts: Option<Ts>,
        envelope: &Envelope<'_>,
        out: &mut Emitter<'_>,
        act: impl FnOnce(&mut Session, At<'_>, &mut Emitter<'_>),
    ) {
        if !self.session.used && self.session.id.is_empty() {
            // No event of the first 64 KiB names the session: its first record has to stand for it.
            self.session = Session::new(format!("unnamed-{}", &digest(record.bytes)[..8]));
            out.warn("session_without_id", Some(record.line), None);
        }
        let event = self.event_id(envelope, record);
        self.session.settle_open_hooks(out);
        let agent = self.session.agent(agent);
        let at = At { line: record.line, ts, event: &event, agent };
        act(&mut self.session, at, out);
        self.session.used = true;
        if let Some(agent) = self.session.agents.get_mut(agent) {
            agent.seen(record.line, ts);
        }
    }

    /// A start with another id begins another session: some tools put several into one file.
    fn start(&mut self, start: &SessionStart<'_>, record: &Record<'_>, out: &mut Emitter<'_>) {
        let id = start.session_id.as_str().map(name).filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| match self.session.id.as_str() {
            "" => format!("unnamed-{}", &digest(record.bytes)[..8]),
            known => known.to_owned(),
        });
        if id != self.session.id {
            if self.session.used {
                self.session.close(out);
                out.warn("several_sessions", Some(record.line), None);
            }
            self.session = Session::new(id);
        } else if self.session.started {
            // A further segment of the same session.
            self.session.flush_calls(out);
            self.session.totals.resumed();
        }
        let session = &mut self.session;
        session.started |= !session.used;
        let version = start.copilot_version.as_str().or(start.cli_version.as_str()).filter(|v| !v.is_empty()).map(name);
        session.tool_version = version.or(session.tool_version.take());
        if let Some(place) = nested::<Place<'_>>(start.context) {
            session.place(&place);
        }
    }

    fn event_id(&mut self, envelope: &Envelope<'_>, record: &Record<'_>) -> String {
        if let Some(id) = envelope.id.as_str().filter(|id| id.len() >= 8 && !id.starts_with('[')) {
            return name(id);
        }
        let digest = digest(record.bytes);
        let nth = self.session.repeats.entry(digest.clone()).or_insert(0);
        *nth += 1;
        format!("{digest}#{nth}")
    }

    /// Ends the file.
    pub fn finish(mut self, out: &mut Emitter<'_>) {
        if self.session.used {
            self.session.close(out);
        }
    }
}

impl Session {
    /// Emits what is still open and every context.
    fn close(&mut self, out: &mut Emitter<'_>) {
        self.flush_calls(out);
        self.close_hooks(out);
        self.close_tools(out);
        let mut unanswered: Vec<&Asked> = self.permissions.values().collect();
        unanswered.sort_by_key(|a| a.line);
        for asked in unanswered {
            out.warn("permission_without_answer", Some(asked.line), None);
        }
        self.totals.close(out);
        self.close_agents(out);
    }

    /// A gate run with everything unknown that the event does not say.
    pub fn blank_run(&mut self, gate_id: &str, id: String, at: At<'_>, out: &Emitter<'_>) -> GateRun {
        super::rows::blank_run(gate_id, id, self, at, out)
    }

    /// Most used model of a context, by output tokens; ties go to the first name.
    pub fn dominant(models: &BTreeMap<String, i64>) -> Option<String> {
        models.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0))).map(|(model, _)| model.clone())
    }
}
