//! Owns the edits of a Copilot session: `create`, `edit` and their kin, `apply_patch`, and the shell commands between them.

use std::collections::HashMap;
use std::io::Read;

use serde_json::Value;

use super::events::{self, Envelope, Fault, Place, ToolComplete, ToolStart, nested};
use super::{FORMAT, is_event};
use crate::model::id::stable_id;
use crate::model::time::Ts;
use crate::source::edits::{Act, Change, Edit, Outcome, Replace, Session, Step, TEXT_CAP};
use crate::source::emit::{Collect, Emitter};
use crate::source::salvage::Record;
use crate::source::{Input, PROBE_BYTES, apply_patch, open, salvage};

struct Reader {
    id: String,
    session: Session,
    cwd: Option<String>,
    open: HashMap<String, Step>,
}

/// Reads one `events.jsonl`.
pub fn read(input: &Input) -> anyhow::Result<Session> {
    let mut head = Vec::new();
    open::open(input)?.take(PROBE_BYTES as u64).read_to_end(&mut head)?;
    let id = events::session_id_in(&head).unwrap_or_default();
    let mut reader = Reader { id, session: Session::default(), cwd: None, open: HashMap::new() };
    let mut sink = Collect::default();
    let mut out = Emitter::new(input.source_id.clone(), &mut sink);
    salvage::read_records(open::open(input)?, &mut out, is_event, |record, _| reader.record(record))?;
    let Reader { mut session, open, .. } = reader;
    session.steps.extend(open.into_values());
    Ok(session)
}

impl Reader {
    fn record(&mut self, record: &Record<'_>) -> serde_json::Result<()> {
        let envelope: Envelope<'_> = serde_json::from_slice(record.bytes)?;
        let whole = std::str::from_utf8(record.bytes).unwrap_or("{}");
        let data = envelope.data.map(|d| d.get()).filter(|d| *d != "null").unwrap_or(whole);
        let at = envelope.timestamp.as_str().and_then(Ts::parse);
        match envelope.kind.as_ref() {
            "session.start" | "session.resume" => {
                let start: events::SessionStart<'_> = serde_json::from_str(data)?;
                self.place(&nested(start.context).unwrap_or_default(), record.line);
            }
            "session.context_changed" => self.place(&serde_json::from_str(data)?, record.line),
            "tool.execution_start" => {
                let start: ToolStart<'_> = serde_json::from_str(data)?;
                self.start(&start, record.line, at);
            }
            "tool.execution_complete" => {
                let complete: ToolComplete<'_> = serde_json::from_str(data)?;
                self.complete(&complete, record.line, at);
            }
            _ => {}
        }
        Ok(())
    }

    fn place(&mut self, place: &Place<'_>, line: i64) {
        if let Some(cwd) = place.cwd.as_str().filter(|c| !c.is_empty()) {
            self.cwd = Some(cwd.to_owned());
            self.session.cwd.get_or_insert_with(|| cwd.to_owned());
        }
        if let Some(branch) = place.branch.as_str().filter(|b| !b.is_empty()) {
            self.session.branches.push((line, branch.to_owned()));
        }
    }

    fn start(&mut self, start: &ToolStart<'_>, line: i64, at: Option<Ts>) {
        let Some(native) = events::native(&start.tool_call_id) else { return };
        let Some(tool) = start.tool_name.as_str().or(start.name.as_str()) else { return };
        let mut arguments: Value = nested(start.arguments).unwrap_or_default();
        // Versions write an object, or the text of one.
        if let Value::String(text) = &arguments
            && let Ok(inner) = serde_json::from_str::<Value>(text)
        {
            arguments = inner;
        }
        let Some(act) = act(tool, &arguments) else { return };
        let tool_call_id = stable_id(&[FORMAT, "tool", &self.id, native]);
        let step = Step { tool_call_id, line, ended_line: None, at, cwd: self.cwd.clone(), outcome: Outcome::Unknown, act };
        self.open.insert(native.to_owned(), step);
    }

    fn complete(&mut self, complete: &ToolComplete<'_>, line: i64, at: Option<Ts>) {
        let Some(mut step) = events::native(&complete.tool_call_id).and_then(|id| self.open.remove(id)) else { return };
        step.ended_line = Some(line);
        step.at = at.or(step.at);
        let denied = Fault::of(complete.error).is_some_and(|f| f.code.as_str() == Some("denied"));
        step.outcome = match complete.success.0 {
            _ if denied => Outcome::Refused,
            Some(true) => Outcome::Done,
            Some(false) => Outcome::Failed,
            None => Outcome::Unknown,
        };
        self.session.steps.push(step);
    }
}

/// `None`: the tool writes no files.
fn act(tool: &str, arguments: &Value) -> Option<Act> {
    let text = |names: &[&str]| names.iter().find_map(|n| arguments.get(n)?.as_str()).filter(|t| t.len() <= TEXT_CAP).map(str::to_owned);
    let one = |change: Option<Change>| {
        let edit = text(&["path", "file_path"]).zip(change).map(|(path, change)| Edit { path, change, before: None });
        Some(edit.map_or_else(|| Act::Other(tool.to_owned()), |edit| Act::Edits(vec![edit])))
    };
    let create = || text(&["file_text", "content"]).map(Change::Write);
    let replace = || {
        let (old, new) = (text(&["old_str", "old_string"])?, text(&["new_str", "new_string"])?);
        Some(Change::Replace(vec![Replace { old, new, all: false }]))
    };
    match tool {
        "bash" | "powershell" | "shell" => Some(Act::Shell(text(&["command"])?)),
        "create" | "create_file" | "write" => one(create()),
        "edit" | "edit_file" | "str_replace" => one(replace()),
        "str_replace_editor" => match arguments.get("command").and_then(Value::as_str) {
            Some("view") => None,
            Some("create") => one(create()),
            Some("str_replace") => one(replace()),
            _ => one(None),
        },
        "delete" => one(Some(Change::Delete)),
        "apply_patch" => {
            let patch = arguments.as_str().map(str::to_owned).or_else(|| text(&["input", "patch"]));
            let edits = patch.and_then(|p| apply_patch::parse(&p).ok());
            Some(edits.map_or_else(|| Act::Other(tool.to_owned()), Act::Edits))
        }
        "move" => one(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_is_read_or_named() {
        let event = |kind: &str, n: usize, data: &str| {
            format!(r#"{{"type":"{kind}","data":{data},"id":"event-{n:05}","timestamp":"2026-02-03T10:00:{n:02}Z"}}"#) + "\n"
        };
        let mut text = event("session.start", 0, r#"{"sessionId":"S-1","context":{"cwd":"/w/shop","branch":"b"}}"#);
        let calls = [
            ("create", r#"{"path":"/w/shop/a","file_text":"x"}"#, "true"),
            ("edit", r#"{"path":"/w/shop/a","old_str":"x","new_str":"y"}"#, "true"),
            ("apply_patch", r#""*** Begin Patch\n*** Delete File: a\n*** End Patch""#, "true"),
            ("str_replace_editor", r#"{"command":"insert","path":"a","insert_line":1}"#, "true"),
            ("bash", r#"{"command":"ls"}"#, "false"),
            ("view", r#"{"path":"a"}"#, "true"),
        ];
        for (n, (tool, arguments, success)) in calls.iter().enumerate() {
            text += &event(
                "tool.execution_start",
                2 * n + 1,
                &format!(r#"{{"toolCallId":"t{n}","toolName":"{tool}","arguments":{arguments}}}"#),
            );
            text += &event("tool.execution_complete", 2 * n + 2, &format!(r#"{{"toolCallId":"t{n}","success":{success}}}"#));
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        std::fs::write(&path, text).unwrap();
        let session = read(&Input::new(&path).unwrap()).unwrap();
        let edit = |change| Edit { path: "/w/shop/a".into(), change, before: None };
        let acts: Vec<&Act> = session.steps.iter().map(|s| &s.act).collect();
        assert_eq!(
            acts,
            [
                &Act::Edits(vec![edit(Change::Write("x".into()))]),
                &Act::Edits(vec![edit(Change::Replace(vec![Replace { old: "x".into(), new: "y".into(), all: false }]))]),
                &Act::Edits(vec![Edit { path: "a".into(), change: Change::Delete, before: None }]),
                &Act::Other("str_replace_editor".into()),
                &Act::Shell("ls".into()),
            ]
        );
        assert_eq!(session.steps[4].outcome, Outcome::Failed);
        assert_eq!((session.cwd.as_deref(), session.branch_at(1)), (Some("/w/shop"), Some("b")));
    }
}
