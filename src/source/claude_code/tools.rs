//! Owns the tool calls: requests and results paired by id, orphans kept, results read for exit status and refusal.

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::contexts::Window;
use super::ids;
use super::line::{Block, ToolResult};
use super::permissions::{self, Denial};
use crate::model::id::{digest, stable_id};
use crate::model::sessions::ToolCall;
use crate::model::time::Ts;
use crate::model::vocabulary::RoleBasis;
use crate::source::emit::Emitter;
use crate::source::hook_command::first_program;
use crate::source::lenient::name;
use crate::source::reviewer::{Dispatch, role_of};
use crate::source::scan::{Value, fields};

/// Requests without result that are held; the oldest is written as an orphan beyond it.
const MAX_PENDING: usize = 16_384;
/// Finished calls whose target is remembered for hooks that speak after the result.
const MAX_RECENT: usize = 64;

/// A request that waits for its result.
#[derive(Serialize, Deserialize)]
pub struct Pending {
    pub row: ToolCall,
    /// Repository-relative path, or the program of a shell command.
    pub target: Option<Target>,
    pub dispatch: Option<Dispatched>,
    /// Result came, the work goes on in the background.
    in_background: bool,
}

/// What a call works on, as far as an identifier may say it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Target {
    Path(String),
    Program(String),
}

/// A sub-agent that a call starts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Dispatched {
    pub agent_type: Option<String>,
    pub name: Option<String>,
    pub role: Option<String>,
    pub role_basis: Option<RoleBasis>,
}

#[derive(Default, Serialize, Deserialize)]
pub struct Tools {
    pending: HashMap<String, Pending>,
    order: VecDeque<String>,
    recent: VecDeque<(String, Option<Target>)>,
}

/// A finished call, for those who read more out of it.
pub struct Finished {
    pub row: ToolCall,
    /// Native id.
    pub native: String,
    pub target: Option<Target>,
    pub dispatch: Option<Dispatched>,
    pub denial: Option<Denial>,
}

impl Tools {
    /// Takes a request.
    pub fn request(&mut self, window: &Window, block: &Block<'_>, call_id: Option<&str>, ts: Option<Ts>, line: i64, out: &mut Emitter<'_>) {
        let (Some(id), Some(tool)) = (block.id.filter(|i| !i.is_empty()), block.name) else { return };
        let (id, tool) = (id.text().into_owned(), name(&tool.text()));
        let input = block.input.unwrap_or_default();
        let target = target(&tool, input, window.row.cwd.as_deref());
        let path = match &target {
            Some(Target::Path(path)) => Some(path.as_str()),
            _ => None,
        };
        let row = ToolCall {
            tool_call_id: ids::tool_call_id(&window.session, &id),
            context_id: window.row.context_id.clone(),
            call_id: call_id.map(str::to_owned),
            started_at: ts,
            ended_at: None,
            duration_ms: None,
            success: None,
            exit_status: None,
            denied_by: None,
            args_hash: (!input.is_empty()).then(|| digest(input)),
            command_name: match &target {
                Some(Target::Program(program)) => Some(program.clone()),
                _ => None,
            },
            writes: writes(&tool),
            paths_hash: path.map(|p| stable_id(&["paths", p])),
            result_bytes: None,
            result_tokens_est: None,
            source_id: out.source_id.clone(),
            source_line: line,
            name: tool,
        };
        let dispatch = matches!(row.name.as_str(), "Task" | "Agent").then(|| dispatched(input));
        if self.pending.insert(id.clone(), Pending { row, target, dispatch, in_background: false }).is_none() {
            self.order.push_back(id);
        }
        while self.pending.len() > MAX_PENDING {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some(orphan) = self.pending.remove(&oldest) {
                out.facts.tool_calls.push(orphan.row);
            }
        }
        // Finished calls leave their id behind in the queue.
        if self.order.len() > 4 * MAX_PENDING {
            let pending = &self.pending;
            self.order.retain(|id| pending.contains_key(id));
        }
    }

    /// Takes a result; `None` where its request is not in the file or it only went to the background.
    pub fn result(
        &mut self,
        block: &Block<'_>,
        info: Option<&ToolResult<'_>>,
        kind: Option<&str>,
        ts: Option<Ts>,
        line: i64,
        out: &mut Emitter<'_>,
    ) -> Option<Finished> {
        let id = block.id.filter(|i| !i.is_empty())?.text().into_owned();
        let Some(mut call) = self.pending.remove(&id) else {
            out.warn("result_without_request", Some(line), None);
            return None;
        };
        let row = &mut call.row;
        row.ended_at = ts;
        row.duration_ms = match (row.started_at, ts) {
            (Some(start), Some(end)) => Some(end.millis_since(start).max(0)),
            _ => None,
        };
        row.result_bytes = Some(block.bytes as i64);
        row.result_tokens_est = Some(block.bytes as i64 / 4);
        let failed = block.is_error == Some(true);
        let head = if failed || kind.is_some() { block.text.map(|t| t.head(600).into_owned()) } else { None };
        let denial = permissions::denial(kind, head.as_deref(), failed);
        let is_shell = is_shell(&row.name);
        row.success = Some(!failed);
        if let Some(denial) = &denial {
            row.success = Some(false);
            row.denied_by = Some(denial.by().to_owned());
            row.writes = Some(false);
        } else if failed {
            row.exit_status = head.as_deref().filter(|_| is_shell).and_then(exit_code);
            // An editor that failed changed nothing; a shell command may have done half its work.
            row.writes = if is_shell { row.writes } else { row.writes.map(|_| false) };
        } else if let Some(info) = info {
            if info.in_background {
                row.success = None;
                call.in_background = true;
                // Its end is told later, by a notification.
                self.pending.insert(id, call);
                return None;
            }
            if info.interrupted {
                row.success = None;
            } else if is_shell && !info.reinterpreted && info.is_object {
                row.exit_status = Some(0);
            }
        }
        self.remember(&id, call.target.clone());
        out.facts.tool_calls.push(call.row.clone());
        Some(Finished { row: call.row, native: id, target: call.target, dispatch: call.dispatch, denial })
    }

    /// A background command ended.
    pub fn background_ended(&mut self, id: &str, exit_status: Option<i64>, ts: Option<Ts>, out: &mut Emitter<'_>) {
        if self.pending.get(id).is_some_and(|call| call.in_background)
            && let Some(mut call) = self.pending.remove(id)
        {
            let row = &mut call.row;
            row.exit_status = exit_status;
            row.success = exit_status.map(|code| code == 0);
            row.ended_at = ts.or(row.ended_at);
            if let (Some(start), Some(end)) = (row.started_at, row.ended_at) {
                row.duration_ms = Some(end.millis_since(start).max(0));
            }
            out.facts.tool_calls.push(call.row);
        }
    }

    /// What the call of that id works on.
    pub fn target_of(&self, id: &str) -> Option<&Target> {
        match self.pending.get(id) {
            Some(call) => call.target.as_ref(),
            None => self.recent.iter().rev().find(|r| r.0 == id).and_then(|r| r.1.as_ref()),
        }
    }

    /// The sub-agent that a pending call started.
    pub fn dispatch_of(&self, id: &str) -> Option<&Dispatched> {
        self.pending.get(id).and_then(|call| call.dispatch.as_ref())
    }

    fn remember(&mut self, id: &str, target: Option<Target>) {
        if self.recent.len() >= MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((id.to_owned(), target));
    }

    /// Writes the requests that never got a result.
    pub fn finish(&mut self, out: &mut Emitter<'_>) {
        let mut orphans: Vec<Pending> = self.pending.drain().map(|p| p.1).collect();
        orphans.sort_by(|a, b| (a.row.source_line, &a.row.tool_call_id).cmp(&(b.row.source_line, &b.row.tool_call_id)));
        out.facts.tool_calls.extend(orphans.into_iter().map(|o| o.row));
        self.order.clear();
    }
}

fn is_shell(tool: &str) -> bool {
    matches!(tool, "Bash" | "PowerShell" | "BashOutput")
}

/// Whether a tool changes files when it succeeds. A shell command may do anything, and so may a tool of an unknown server.
fn writes(tool: &str) -> Option<bool> {
    match tool {
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => Some(true),
        "Read"
        | "Glob"
        | "Grep"
        | "LS"
        | "NotebookRead"
        | "WebFetch"
        | "WebSearch"
        | "TodoWrite"
        | "TodoRead"
        | "AskUserQuestion"
        | "ExitPlanMode"
        | "EnterPlanMode"
        | "ToolSearch"
        | "TaskCreate"
        | "TaskUpdate"
        | "TaskList"
        | "TaskGet"
        | "TaskOutput"
        | "BashOutput"
        | "KillShell"
        | "TaskStop"
        | "SendMessage"
        | "ReportFindings"
        | "StructuredOutput"
        | "ListMcpResourcesTool"
        | "ReadMcpResourceTool" => Some(false),
        _ => None,
    }
}

fn target(tool: &str, input: &[u8], cwd: Option<&str>) -> Option<Target> {
    if is_shell(tool) {
        let [command] = fields(input, ["command"]);
        return first_program(&command?.str()?.head(4_096)).map(Target::Program);
    }
    if !matches!(tool, "Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "Read" | "NotebookRead") {
        return None;
    }
    let [file, notebook] = fields(input, ["file_path", "notebook_path"]);
    let path = file.or(notebook)?.str()?;
    Some(Target::Path(relative(&path.text(), cwd)))
}

/// A path below the working directory without it; others with the home directory cut.
pub fn relative(path: &str, cwd: Option<&str>) -> String {
    let shown = crate::source::cut_home(path);
    let below = cwd.filter(|c| c.len() > 1).and_then(|c| shown.strip_prefix(c)).and_then(|rest| rest.strip_prefix(['/', '\\']));
    name(below.unwrap_or(&shown)).replace('\\', "/")
}

fn dispatched(input: &[u8]) -> Dispatched {
    let [kind, given, description, prompt] = fields(input, ["subagent_type", "name", "description", "prompt"]);
    let text = |v: Option<Value<'_>>, bytes: usize| v.and_then(Value::str).map(|s| s.head(bytes).into_owned()).filter(|t| !t.is_empty());
    let (kind, given, description, prompt) = (text(kind, 400), text(given, 400), text(description, 800), text(prompt, 8_000));
    let (role, role_basis) = role_of(&Dispatch {
        agent_type: kind.as_deref(),
        name: given.as_deref(),
        description: description.as_deref(),
        prompt: prompt.as_deref(),
    });
    Dispatched { agent_type: kind.map(|k| name(&k)), name: given.map(|n| name(&n)), role, role_basis }
}

/// `Exit code N` at the start of a failed command's result.
fn exit_code(text: &str) -> Option<i64> {
    let rest = text.trim_start().strip_prefix("Error: ").unwrap_or(text.trim_start());
    let digits = rest.strip_prefix("Exit code ")?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}
