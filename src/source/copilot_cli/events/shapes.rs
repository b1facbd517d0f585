//! Owns the data of each kind of event, as far as it is read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::measured::Measured;
use super::{Raw, nested};
use crate::source::lenient::{Flag, Num, Text};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct SessionStart<'a> {
    #[serde(borrow)]
    pub session_id: Text<'a>,
    #[serde(borrow)]
    pub copilot_version: Text<'a>,
    #[serde(borrow)]
    pub cli_version: Text<'a>,
    #[serde(borrow)]
    pub context: Raw<'a>,
}

/// Where the session works; the data of `session.context_changed`, and part of start and resume.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Place<'a> {
    #[serde(borrow)]
    pub cwd: Text<'a>,
    #[serde(borrow)]
    pub repository: Text<'a>,
    #[serde(borrow)]
    pub branch: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct AssistantMessage<'a> {
    #[serde(borrow)]
    pub message_id: Text<'a>,
    #[serde(borrow)]
    pub api_call_id: Text<'a>,
    pub chunk_index: Num,
    pub chunk_count: Num,
    #[serde(borrow)]
    pub model: Text<'a>,
    pub output_tokens: Num,
    #[serde(borrow)]
    pub content: Text<'a>,
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(borrow)]
    pub tool_requests: Raw<'a>,
    #[serde(borrow)]
    pub parent_tool_call_id: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolRequest<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub arguments: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolStart<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub arguments: Raw<'a>,
    #[serde(borrow)]
    pub shell_tool_info: Raw<'a>,
    #[serde(borrow)]
    pub parent_tool_call_id: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ShellInfo {
    pub has_write_file_redirection: Flag,
}

/// Arguments of the built-in tools that are looked at while they are in memory.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Arguments<'a> {
    #[serde(borrow)]
    pub command: Text<'a>,
    #[serde(borrow)]
    pub path: Text<'a>,
    #[serde(borrow)]
    pub file_path: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub description: Text<'a>,
    #[serde(borrow)]
    pub agent_type: Text<'a>,
    #[serde(borrow)]
    pub prompt: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolComplete<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    pub success: Flag,
    #[serde(borrow)]
    pub result: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub parent_tool_call_id: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolResult<'a> {
    pub content: Measured,
    #[serde(borrow)]
    pub contents: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ContentPart {
    pub exit_code: Num,
}

/// An error or a failed hook's cause. Some versions write the message alone.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Fault<'a> {
    #[serde(borrow)]
    pub message: Text<'a>,
    #[serde(borrow)]
    pub code: Text<'a>,
}

impl<'a> Fault<'a> {
    pub fn of(raw: Raw<'a>) -> Option<Fault<'a>> {
        nested(raw).or_else(|| nested::<Text<'a>>(raw).filter(|t| t.0.is_some()).map(|message| Fault { message, ..Fault::default() }))
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HookStart<'a> {
    #[serde(borrow)]
    pub hook_invocation_id: Text<'a>,
    #[serde(borrow)]
    pub hook_type: Text<'a>,
    #[serde(borrow)]
    pub input: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HookInput<'a> {
    #[serde(borrow)]
    pub tool_calls: Raw<'a>,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    #[serde(borrow)]
    pub tool_args: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct HookTool<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HookEnd<'a> {
    #[serde(borrow)]
    pub hook_invocation_id: Text<'a>,
    #[serde(borrow)]
    pub hook_type: Text<'a>,
    pub success: Flag,
    #[serde(borrow)]
    pub output: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
}

/// A hook's output: decisions by name, or by tool call id.
pub type Output<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct PermissionRequested<'a> {
    #[serde(borrow)]
    pub request_id: Text<'a>,
    #[serde(borrow)]
    pub permission_request: Raw<'a>,
    #[serde(borrow)]
    pub prompt_request: Raw<'a>,
    pub resolved_by_hook: Flag,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct PermissionRequest<'a> {
    #[serde(borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct PermissionCompleted<'a> {
    #[serde(borrow)]
    pub request_id: Text<'a>,
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub result: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct PermissionResult<'a> {
    #[serde(borrow)]
    pub kind: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Subagent<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub agent_name: Text<'a>,
    #[serde(borrow)]
    pub model: Text<'a>,
    pub total_tokens: Num,
    pub duration_ms: Num,
    pub cancelled: Flag,
}

/// The fields of the small events about limits, modes and endings.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Notice<'a> {
    #[serde(borrow)]
    pub reason: Text<'a>,
    #[serde(borrow)]
    pub error_type: Text<'a>,
    #[serde(borrow)]
    pub error_code: Text<'a>,
    #[serde(borrow)]
    pub mode: Text<'a>,
    #[serde(borrow)]
    pub previous_mode: Text<'a>,
    #[serde(borrow)]
    pub new_mode: Text<'a>,
    #[serde(borrow)]
    pub outcome: Text<'a>,
}
