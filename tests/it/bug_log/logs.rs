//! Owns the self-made sessions of the bug log: both programs' logs in few words, and the lake that files of them give.

use std::fs;
use std::path::PathBuf;

use crate::support::{Scratch, body};

pub const ONE: &str = "11111111-2222-4333-8444-555555555555";
pub const TWO: &str = "99999999-2222-4333-8444-555555555555";

/// A file below a folder of logs, and its bytes.
pub type LogFile = (&'static str, Vec<u8>);

/// Writes the files below `logs` of the scratch folder.
pub fn write(scratch: &Scratch, files: &[LogFile]) -> PathBuf {
    let folder = scratch.path().join("logs");
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

/// A fresh lake of these files, read in one ingest of their folder.
pub fn lake_of(files: &[LogFile]) -> Scratch {
    let scratch = Scratch::new();
    let folder = write(&scratch, files);
    scratch.mechanic(&["ingest", folder.to_str().unwrap()]);
    scratch
}

/// The rows that a statement gives, without their header.
pub fn rows(lake: &Scratch, statement: &str) -> Vec<String> {
    body(&lake.sql(statement)).into_iter().map(str::to_owned).collect()
}

/// The one row that a statement gives.
pub fn row(lake: &Scratch, statement: &str) -> String {
    let rows = rows(lake, statement);
    assert_eq!(rows.len(), 1, "{statement}: {rows:?}");
    rows[0].clone()
}

/// Time of day of a second of the day the logs are written on.
fn clock(second: u32) -> String {
    format!("2026-02-03T{:02}:{:02}:{:02}.000Z", 10 + second / 3600, second / 60 % 60, second % 60)
}

/// The four counters of a call as Claude Code writes them; what is written to the cache lives an hour.
pub fn usage(input: i64, write: i64, read: i64, output: i64) -> String {
    format!(
        r#""input_tokens":{input},"cache_creation_input_tokens":{write},"cache_read_input_tokens":{read},"output_tokens":{output},"cache_creation":{{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":{write}}}"#
    )
}

/// The line of a Claude Code session, one second after the line before it.
#[derive(Clone)]
pub struct Claude {
    session: &'static str,
    agent: Option<&'static str>,
    pub lines: Vec<String>,
}

impl Claude {
    pub fn new(session: &'static str) -> Claude {
        Claude { session, agent: None, lines: Vec::new() }
    }

    /// The own file of a sub-agent.
    pub fn agent(session: &'static str, agent: &'static str) -> Claude {
        Claude { agent: Some(agent), ..Claude::new(session) }
    }

    /// A line of any kind; `rest` is what stands behind the envelope.
    pub fn line(mut self, kind: &str, rest: &str) -> Claude {
        let n = self.lines.len();
        let agent = self.agent.map(|a| format!(r#","agentId":"{a}""#)).unwrap_or_default();
        self.lines.push(format!(
            r#"{{"parentUuid":null,"isSidechain":{}{agent},"cwd":"/w/shop","sessionId":"{}","version":"2.1.230","gitBranch":"main","type":"{kind}","uuid":"{kind}-{}-{n}","timestamp":"{}",{rest}}}"#,
            self.agent.is_some(),
            self.session,
            self.agent.unwrap_or("main"),
            clock(n as u32)
        ));
        self
    }

    /// A line of a call with these content blocks; an empty `stop` is none.
    pub fn blocks(self, id: &str, stop: &str, usage: &str, blocks: &str) -> Claude {
        let stop = if stop.is_empty() { "null".to_owned() } else { format!("\"{stop}\"") };
        let rest = format!(
            r#""message":{{"id":"{id}","role":"assistant","model":"claude-opus-4-6","content":[{blocks}],"stop_reason":{stop},"usage":{{{usage}}}}}"#
        );
        self.line("assistant", &rest)
    }

    /// A line of a call that says something.
    pub fn call(self, id: &str, stop: &str, usage: &str) -> Claude {
        self.blocks(id, stop, usage, r#"{"type":"text","text":"words"}"#)
    }

    /// A line of a call that asks for a tool.
    pub fn asks(self, id: &str, stop: &str, usage: &str, tool: &str, name: &str, input: &str) -> Claude {
        self.blocks(id, stop, usage, &format!(r#"{{"type":"tool_use","id":"{tool}","name":"{name}","input":{input}}}"#))
    }

    /// The line of a tool's result; `more` stands behind the message.
    pub fn result(self, tool: &str, more: &str) -> Claude {
        let block = format!(r#"{{"type":"tool_result","tool_use_id":"{tool}","is_error":false,"content":"done"}}"#);
        self.line("user", &format!(r#""message":{{"role":"user","content":[{block}]}}{more}"#))
    }

    pub fn said(self, text: &str) -> Claude {
        self.line("user", &format!(r#""message":{{"role":"user","content":"{text}"}}"#))
    }

    pub fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.text().into_bytes()
    }

    /// The same history as another session tells it: byte for byte but for the session.
    pub fn forked(&self, session: &'static str) -> Claude {
        let here = format!("\"sessionId\":\"{}\"", self.session);
        let there = format!("\"sessionId\":\"{session}\",\"sessionKind\":\"bg\"");
        Claude { session, ..self.replaced(&here, &there) }
    }

    /// The same lines with a part of each replaced.
    pub fn replaced(&self, part: &str, by: &str) -> Claude {
        Claude { lines: self.lines.iter().map(|l| l.replace(part, by)).collect(), ..*self }
    }
}

/// The events of a Copilot CLI session, one a second.
#[derive(Clone)]
pub struct Copilot {
    pub events: Vec<String>,
}

impl Copilot {
    pub fn new() -> Copilot {
        Copilot { events: Vec::new() }.start()
    }

    /// The beginning of a segment of the one session.
    pub fn start(self) -> Copilot {
        self.event(
            "session.start",
            r#"{"sessionId":"S-1","copilotVersion":"1.0.74","context":{"cwd":"/w/shop","repository":"o/shop","branch":"b"}}"#,
        )
    }

    pub fn event(mut self, kind: &str, data: &str) -> Copilot {
        let n = self.events.len();
        self.events.push(format!(r#"{{"type":"{kind}","data":{data},"id":"event-{n:05}","timestamp":"{}"}}"#, clock(n as u32)));
        self
    }

    /// An API call, of which an event tells no more than the output.
    pub fn call(self, id: &str, output: i64) -> Copilot {
        let data = format!(r#"{{"messageId":"m-{id}","apiCallId":"{id}","model":"gpt-5","outputTokens":{output},"content":"x"}}"#);
        self.event("assistant.message", &data)
    }

    /// The counters at the end of a segment. `input` includes both cache counters, as the program writes it.
    pub fn shutdown(self, requests: i64, input: i64, read: i64, write: i64, output: i64) -> Copilot {
        let usage = format!(r#"{{"inputTokens":{input},"outputTokens":{output},"cacheReadTokens":{read},"cacheWriteTokens":{write}}}"#);
        let metrics = format!(r#"{{"gpt-5":{{"requests":{{"count":{requests},"cost":0.33}},"usage":{usage}}}}}"#);
        self.event("session.shutdown", &format!(r#"{{"shutdownType":"routine","totalPremiumRequests":0.33,"modelMetrics":{metrics}}}"#))
    }

    pub fn text(&self) -> String {
        self.events.join("\n") + "\n"
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.text().into_bytes()
    }
}

/// Where the programs keep the sessions.
pub const CLAUDE_ONE: &str = "projects/-w-shop/11111111-2222-4333-8444-555555555555.jsonl";
pub const CLAUDE_TWO: &str = "projects/-w-shop/99999999-2222-4333-8444-555555555555.jsonl";
pub const COPILOT: &str = "session-state/S-1/events.jsonl";
