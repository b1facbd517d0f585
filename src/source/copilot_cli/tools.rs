//! Owns tool calls: request, start and end paired by tool call id. Arguments and results are measured and hashed, never kept.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::model::id::digest;
use crate::model::sessions::ToolCall;
use crate::model::time::Ts;
use crate::source::emit::Emitter;
use crate::source::hook_command::first_program;
use crate::source::lenient::{Text, name};
use crate::source::reviewer::Dispatch;

use super::agents::Spawn;
use super::events::{self, Arguments, Fault, ToolComplete, ToolStart, nested};
use super::hooks::Refusal;
use super::reader::{At, Session};

/// A tool that is running.
#[derive(Serialize, Deserialize)]
pub struct OpenTool {
    pub agent: usize,
    pub name: String,
    pub args_hash: Option<String>,
    pub call_id: Option<String>,
    started: Option<Ts>,
    line: i64,
    command_name: Option<String>,
    writes: Option<bool>,
    paths_hash: Option<String>,
    /// Who refused it when its permission was asked for.
    pub refused_by: Option<Cow<'static, str>>,
}

/// The arguments as JSON text: versions write an object, or the text of one.
fn arguments_text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let raw = raw?;
    if raw.get().starts_with('"') {
        return nested::<Text<'_>>(Some(raw)).and_then(|t| t.0);
    }
    Some(raw.get().into()).filter(|t: &Cow<'_, str>| t != "null")
}

/// Digest of the arguments, the same for both spellings.
pub fn args_hash(raw: Option<&RawValue>) -> Option<String> {
    arguments_text(raw).map(|text| digest(text.as_bytes()))
}

/// A tool call id in eight bytes: a long session has very many. The same in every version of the program, because a reading is put by.
pub fn id_hash(id: &str) -> u64 {
    let hash = digest(id.as_bytes());
    hash.get(..16).and_then(|head| u64::from_str_radix(head, 16).ok()).unwrap_or_default()
}

/// Whether a built-in tool may change files; a shell may, unless nothing is known of it.
fn writes(tool: &str, redirects: Option<bool>) -> Option<bool> {
    match tool {
        "edit" | "create" | "write" | "str_replace" | "str_replace_editor" | "apply_patch" | "edit_file" | "create_file" | "delete"
        | "move" => Some(true),
        "view"
        | "read"
        | "read_file"
        | "grep"
        | "glob"
        | "ls"
        | "web_fetch"
        | "web_search"
        | "report_intent"
        | "list_agents"
        | "read_agent"
        | "task_complete"
        | "ask_user"
        | "fetch_copilot_cli_documentation"
        | "read_bash"
        | "read_powershell"
        | "grep_search" => Some(false),
        _ => redirects.filter(|r| *r),
    }
}

impl Session {
    pub fn tool_start(&mut self, start: &ToolStart<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        let id = events::native(&start.tool_call_id).unwrap_or(at.event).to_owned();
        let tool = start.tool_name.as_str().or(start.name.as_str()).map_or_else(|| "unknown".to_owned(), name);
        let text = arguments_text(start.arguments);
        let arguments: Arguments<'_> = text.as_deref().and_then(|t| serde_json::from_str(t).ok()).unwrap_or_default();
        let redirects = nested::<events::ShellInfo>(start.shell_tool_info).and_then(|i| i.has_write_file_redirection.0);
        let path = arguments.path.as_str().or(arguments.file_path.as_str()).filter(|p| !p.is_empty());
        if arguments.prompt.0.is_some() && (arguments.agent_type.0.is_some() || arguments.description.0.is_some()) {
            let dispatch = Dispatch {
                agent_type: arguments.agent_type.as_str(),
                name: arguments.name.as_str(),
                description: arguments.description.as_str(),
                prompt: arguments.prompt.as_str(),
            };
            self.spawns.insert(id.clone(), Spawn::new(at.agent, &dispatch));
        }
        let open = OpenTool {
            agent: at.agent,
            args_hash: text.as_deref().map(|t| digest(t.as_bytes())),
            call_id: self.requested.remove(&id).map(|r| r.call_id),
            started: at.ts,
            line: at.line,
            command_name: arguments.command.as_str().and_then(first_program),
            writes: writes(&tool, redirects),
            paths_hash: path.map(|p| digest(p.replace('\\', "/").as_bytes())),
            refused_by: None,
            name: tool,
        };
        self.tools_started.insert(id_hash(&id));
        if let Some(earlier) = self.tools.insert(id.clone(), open) {
            out.warn("tool_started_twice", Some(at.line), None);
            self.emit_tool(&id, earlier, None, out);
        }
    }

    pub fn tool_complete(&mut self, complete: &ToolComplete<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        let id = events::native(&complete.tool_call_id).unwrap_or(at.event).to_owned();
        let open = self.tools.remove(&id).unwrap_or_else(|| {
            out.warn("tool_without_start", Some(at.line), None);
            self.tools_started.insert(id_hash(&id));
            let requested = self.requested.remove(&id);
            let named = complete.name.as_str().map(name);
            OpenTool {
                agent: at.agent,
                name: requested.as_ref().and_then(|r| r.name.clone()).or(named).unwrap_or_else(|| "unknown".to_owned()),
                args_hash: requested.as_ref().and_then(|r| r.args_hash.clone()),
                started: requested.as_ref().and_then(|r| r.ts),
                line: requested.as_ref().map_or(at.line, |r| r.line),
                call_id: requested.map(|r| r.call_id),
                command_name: None,
                writes: None,
                paths_hash: None,
                refused_by: None,
            }
        });
        let fault = Fault::of(complete.error);
        let refusal = fault.as_ref().and_then(refusal);
        self.settle_tool(&id, refusal.clone(), at, out);
        let result = nested::<events::ToolResult<'_>>(complete.result).unwrap_or_default();
        let parts = nested::<Vec<events::ContentPart>>(result.contents).unwrap_or_default();
        let exit_status = parts.iter().rev().find_map(|p| p.exit_code.0).or(result.content.exit_code);
        let message = fault.as_ref().and_then(|f| f.message.as_str()).map(|m| m.len() as i64);
        let end = End {
            ts: at.ts,
            success: complete.success.0,
            exit_status,
            denied_by: match refusal {
                Some(Refusal::Hook { .. }) => Some("hook".into()),
                Some(Refusal::Other(by)) => open.refused_by.clone().or(Some(by.into())),
                None => open.refused_by.clone().filter(|_| complete.success.0 == Some(false)),
            },
            result_bytes: result.content.bytes.or(message),
        };
        self.emit_tool(&id, open, Some(end), out);
    }

    fn emit_tool(&self, native: &str, tool: OpenTool, end: Option<End>, out: &mut Emitter<'_>) {
        let ended_at = end.as_ref().and_then(|e| e.ts);
        let result_bytes = end.as_ref().and_then(|e| e.result_bytes);
        // A refused tool ran nothing and wrote nothing.
        let denied_by = end.as_ref().and_then(|e| e.denied_by.as_deref());
        out.facts.tool_calls.push(ToolCall {
            tool_call_id: self.native_id("tool", native),
            context_id: self.context_id(tool.agent),
            call_id: tool.call_id,
            name: tool.name,
            started_at: tool.started,
            ended_at,
            duration_ms: ended_at.zip(tool.started).map(|(end, start)| end.millis_since(start).max(0)),
            success: end.as_ref().and_then(|e| e.success),
            exit_status: end.as_ref().and_then(|e| e.exit_status),
            denied_by: denied_by.map(str::to_owned),
            args_hash: tool.args_hash,
            command_name: tool.command_name,
            writes: if denied_by.is_some() { Some(false) } else { tool.writes },
            paths_hash: tool.paths_hash,
            result_bytes,
            result_tokens_est: result_bytes.map(|b| b / 4),
            source_id: out.source_id.clone(),
            source_line: tool.line,
        });
    }

    /// Tools without an end, and tools that were asked for and never started.
    pub fn close_tools(&mut self, out: &mut Emitter<'_>) {
        let mut open: Vec<(String, OpenTool)> = self.tools.drain().collect();
        let asked = self.requested.drain().map(|(id, r)| {
            let tool = OpenTool {
                agent: r.agent,
                name: r.name.unwrap_or_else(|| "unknown".to_owned()),
                args_hash: r.args_hash,
                call_id: Some(r.call_id),
                started: r.ts,
                line: r.line,
                command_name: None,
                writes: Some(false),
                paths_hash: None,
                refused_by: None,
            };
            (id, tool)
        });
        open.extend(asked);
        open.sort_by(|a, b| (a.1.line, &a.0).cmp(&(b.1.line, &b.0)));
        for (id, tool) in open {
            out.warn("tool_without_end", Some(tool.line), None);
            self.emit_tool(&id, tool, None, out);
        }
    }

    /// Whether the tool was started and runs no more.
    pub fn has_ended(&self, id: &str) -> bool {
        !self.tools.contains_key(id) && self.tools_started.contains(&id_hash(id))
    }

    /// The running tool of that name and context that a hook without tool call id is about: the only one, or the only one with
    /// the same arguments.
    pub fn running_tool(&self, agent: usize, tool: &str, args: Option<&RawValue>) -> Option<String> {
        let mut of_name = self.tools.iter().filter(|(_, t)| t.agent == agent && t.name == tool);
        let first = of_name.next()?;
        if of_name.next().is_none() {
            return Some(first.0.clone());
        }
        let hash = args_hash(args)?;
        let mut same = self.tools.iter().filter(|(_, t)| t.agent == agent && t.name == tool && t.args_hash.as_deref() == Some(&hash));
        let first = same.next()?;
        same.next().is_none().then(|| first.0.clone())
    }
}

struct End {
    ts: Option<Ts>,
    success: Option<bool>,
    exit_status: Option<i64>,
    denied_by: Option<Cow<'static, str>>,
    result_bytes: Option<i64>,
}

/// Who refused the tool, from the error of its end.
fn refusal(fault: &Fault<'_>) -> Option<Refusal> {
    if fault.code.as_str() != Some("denied") {
        return None;
    }
    let message = fault.message.or_empty();
    Some(if message.contains("ToolUse hook") || message.contains("Denied by hook") {
        Refusal::Hook { errored: message.contains("(hook errored)"), cause: crate::source::hook_failure::cause(message) }
    } else if message.contains("could not request") {
        Refusal::Other("no-user")
    } else if message.contains("by user") || message.contains("by the user") || message.contains("interactively") {
        Refusal::Other("user")
    } else if message.contains("rule") || message.contains("policy") {
        Refusal::Other("permission-rule")
    } else {
        Refusal::Other("unknown")
    })
}
