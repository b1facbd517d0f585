//! Owns `<session>/subagents/**/agent-<id>.meta.json`: the type of a sub-agent, for its context's role.

use std::io::Read;

use super::ids;
use crate::model::sessions::Context;
use crate::source::emit::Emitter;
use crate::source::reviewer::{Dispatch, role_of};
use crate::source::scan::{Value, fields};
use crate::source::{Input, lenient, open};

/// Such files are a few hundred bytes; more is not read.
const MAX_BYTES: u64 = 1 << 20;

pub fn is_meta(input: &Input) -> bool {
    input.name().starts_with("agent-") && input.name().ends_with(".meta.json")
}

/// The session, which only the folder names, and the agent.
pub fn session_of(input: &Input) -> Option<(String, String)> {
    let agent = input.name().strip_prefix("agent-")?.strip_suffix(".meta.json")?;
    let parts: Vec<&str> = input.path.iter().filter_map(|p| p.to_str()).collect();
    let at = parts.iter().rposition(|p| *p == "subagents")?;
    let session = parts.get(at.checked_sub(1)?)?;
    (!agent.is_empty() && !session.is_empty()).then(|| ((*session).to_owned(), agent.to_owned()))
}

pub fn read(input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    open::open(input)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    out.summary.records = 1;
    out.summary.read_to = bytes.len() as i64;
    let (Some((session, agent)), Ok(_)) = (session_of(input), serde_json::from_slice::<serde::de::IgnoredAny>(&bytes)) else {
        out.quarantine(1, 0, bytes.len(), "malformed", None);
        return Ok(());
    };
    let [kind, name, description] = fields(&bytes, ["agentType", "name", "description"]);
    let text = |v: Option<Value<'_>>| v.and_then(Value::str).map(|s| s.head(1_000).into_owned()).filter(|t| !t.is_empty());
    let (kind, name, description) = (text(kind), text(name), text(description));
    let (role, role_basis) =
        role_of(&Dispatch { agent_type: kind.as_deref(), name: name.as_deref(), description: description.as_deref(), prompt: None });
    out.facts.contexts.push(Context {
        context_id: ids::context_id(&session, Some(&agent), true),
        parent_context_id: Some(ids::context_id(&session, None, false)),
        native_run_key: ids::run_key(&session),
        role,
        role_basis,
        agent_name: kind.or(name).map(|n| lenient::name(&n)),
        model: None,
        started_at: None,
        ended_at: None,
        token_basis: None,
        producer_total_tokens: None,
        tool_version: None,
        cwd: None,
        git_branch: None,
        repo: None,
        n_compactions: None,
        source_id: out.source_id.clone(),
        source_line: 1,
    });
    Ok(())
}
