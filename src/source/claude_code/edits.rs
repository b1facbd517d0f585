//! Owns the edits of a transcript: what its editing tools were asked to write, whether they did, and what the file held before.

use std::collections::HashMap;

use serde::de::{Error, IgnoredAny};

use super::line::{self, Block, Entry};
use super::{ids, permissions};
use crate::model::time::Ts;
use crate::source::edits::{Act, Change, Edit, Outcome, Replace, Session, Step, TEXT_CAP};
use crate::source::emit::{Collect, Emitter};
use crate::source::salvage::Record;
use crate::source::scan::{Str, Value, fields, items};
use crate::source::{Input, open, salvage};

#[derive(Default)]
struct Reader {
    session: Session,
    /// Session id of the line before.
    last: Option<String>,
    open: HashMap<String, Step>,
}

/// Reads one transcript. What is broken in it was told when it was ingested.
pub fn read(input: &Input) -> anyhow::Result<Session> {
    let mut sink = Collect::default();
    let mut out = Emitter::new(input.source_id.clone(), &mut sink);
    let mut reader = Reader::default();
    salvage::read_records(open::open(input)?, &mut out, line::is_line, |record, _| reader.record(record))?;
    let Reader { mut session, open, .. } = reader;
    let reads = |s: &Step| matches!(&s.act, Act::Edits(edits) if edits.iter().all(|e| e.change == Change::Nothing));
    session.steps.extend(open.into_values().filter(|s| !reads(s)));
    Ok(session)
}

impl Reader {
    fn record(&mut self, record: &Record<'_>) -> serde_json::Result<()> {
        let Ok(entry) = Entry::parse(record.bytes) else {
            serde_json::from_slice::<IgnoredAny>(record.bytes)?;
            return Err(serde_json::Error::custom("unexpected structure"));
        };
        if let Some(session) = entry.session.filter(|s| !s.is_empty()) {
            self.last = Some(session.text().into_owned());
        }
        let text = |s: Option<Str<'_>>| s.filter(|t| !t.is_empty()).map(|t| t.head(4_096).into_owned());
        let cwd = text(entry.cwd);
        if self.session.cwd.is_none() {
            self.session.cwd.clone_from(&cwd);
        }
        if let Some(branch) = text(entry.branch)
            && self.session.branches.last().is_none_or(|(_, last)| *last != branch)
        {
            self.session.branches.push((record.line, branch));
        }
        self.line(&entry, record.bytes, record.line, cwd.as_deref());
        Ok(())
    }

    fn line(&mut self, entry: &Entry<'_>, bytes: &[u8], line: i64, cwd: Option<&str>) {
        let at = entry.timestamp.and_then(|t| Ts::parse(&t.text()));
        match entry.kind.map(|k| k.raw) {
            Some(b"assistant") => {
                for block in entry.message.iter().flat_map(|m| &m.blocks).filter(|b| b.is("tool_use")) {
                    self.request(block, line, at, cwd);
                }
            }
            Some(b"user") => {
                let results: Vec<&Block<'_>> = entry.message.iter().flat_map(|m| &m.blocks).filter(|b| b.is("tool_result")).collect();
                // The structured result belongs to one block; which one of several is not said.
                let info = if results.len() == 1 { fields(bytes, ["toolUseResult"])[0].and_then(Value::container) } else { None };
                for block in results {
                    self.result(block, info, entry, line, at);
                }
            }
            Some(b"attachment") => self.hook(entry.attachment, line),
            Some(b"progress") => {
                let Some(data) = entry.data else { return };
                let [kind, message] = fields(data, ["type", "message"]);
                match (kind.and_then(Value::str).map(|k| k.raw), message) {
                    (Some(b"hook_progress"), _) => self.hook(Some(data), line),
                    (Some(b"agent_progress"), Some(Value::Object(inner))) => {
                        if let Ok(inside) = Entry::parse(inner) {
                            self.line(&inside, inner, line, cwd);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn hook(&mut self, raw: Option<&[u8]>, line: i64) {
        let Some(raw) = raw else { return };
        let [command, blocking] = fields(raw, ["command", "blockingError"]);
        let inner = blocking.and_then(Value::container).and_then(|b| fields(b, ["command"])[0]);
        if let Some(command) = inner.or(command).and_then(Value::str).filter(|c| !c.is_empty()) {
            self.session.hooks.push((line, command.head(16 << 10).into_owned()));
        }
    }

    fn request(&mut self, block: &Block<'_>, line: i64, at: Option<Ts>, cwd: Option<&str>) {
        let (Some(id), Some(tool)) = (block.id.filter(|i| !i.is_empty()), block.name) else { return };
        let input = block.input.unwrap_or_default();
        let Some(act) = act(&tool.head(200), input) else { return };
        let native = id.text().into_owned();
        let tool_call_id = ids::tool_call_id(self.last.as_deref().unwrap_or_default(), &native);
        let step = Step { tool_call_id, line, ended_line: None, at, cwd: cwd.map(str::to_owned), outcome: Outcome::Unknown, act };
        // A parent's file may repeat its sub-agent's request.
        self.open.entry(native).or_insert(step);
    }

    fn result(&mut self, block: &Block<'_>, info: Option<&[u8]>, entry: &Entry<'_>, line: i64, at: Option<Ts>) {
        let Some(id) = block.id.filter(|i| !i.is_empty()) else { return };
        let Some(mut step) = self.open.remove(id.text().as_ref()) else { return };
        step.ended_line = Some(line);
        step.at = at.or(step.at);
        let failed = block.is_error == Some(true);
        let denial = entry.denial.map(|d| d.text());
        let head = if failed || denial.is_some() { block.text.map(|t| t.head(600).into_owned()) } else { None };
        step.outcome = match permissions::denial(denial.as_deref(), head.as_deref(), failed) {
            Some(_) => Outcome::Refused,
            None if failed => Outcome::Failed,
            None => Outcome::Done,
        };
        if let (Outcome::Done, Some(info), Act::Edits(edits)) = (step.outcome, info, &mut step.act)
            && let [edit] = edits.as_mut_slice()
        {
            if edit.change == Change::Nothing { shown(edit, info) } else { confirm(edit, info) }
        }
        // A file that was read in part tells nothing of the rest.
        if !matches!(&step.act, Act::Edits(edits) if edits.iter().all(|e| e.change == Change::Nothing && e.before.is_none())) {
            self.session.steps.push(step);
        }
    }
}

/// What the result adds: the file as it was before, and what was really written where a person changed the proposal.
fn confirm(edit: &mut Edit, info: &[u8]) {
    let [original, kind, old, new, content, modified] =
        fields(info, ["originalFile", "type", "oldString", "newString", "content", "userModified"]);
    edit.before = match (original, kind.and_then(Value::str)) {
        (Some(Value::Str(text)), _) => whole(text).map(Some),
        (Some(Value::Null), Some(kind)) if kind.is("create") => Some(None),
        _ => None,
    };
    if modified.and_then(Value::bool) != Some(true) {
        return;
    }
    let text = |v: Option<Value<'_>>| v.and_then(Value::str).and_then(whole);
    match &mut edit.change {
        Change::Write(held) => *held = text(content).unwrap_or(std::mem::take(held)),
        Change::Replace(list) => {
            if let ([one], Some(old), Some(new)) = (list.as_mut_slice(), text(old), text(new)) {
                (one.old, one.new) = (old, new);
            }
        }
        _ => {}
    }
}

/// The whole file, where it was read from its first line to its last.
fn shown(edit: &mut Edit, info: &[u8]) {
    let Some(file) = fields(info, ["file"])[0].and_then(Value::container) else { return };
    let [content, start, n, total] = fields(file, ["content", "startLine", "numLines", "totalLines"]);
    let count = |v: Option<Value<'_>>| v.and_then(Value::count);
    if count(start) == Some(1) && count(n).is_some() && count(n) == count(total) {
        edit.before = content.and_then(Value::str).and_then(whole).map(Some);
    }
}

fn whole(text: Str<'_>) -> Option<String> {
    (text.len() <= TEXT_CAP).then(|| text.text().into_owned())
}

fn replace(old: Option<Value<'_>>, new: Option<Value<'_>>, all: Option<Value<'_>>) -> Option<Replace> {
    let text = |v: Option<Value<'_>>| v.and_then(Value::str).and_then(whole);
    // Some models write the flag as a text.
    let all = all.is_some_and(|a| a.bool() == Some(true) || a.str().is_some_and(|s| s.is("true")));
    Some(Replace { old: text(old)?, new: text(new)?, all })
}

/// `None`: the tool writes no files.
fn act(tool: &str, input: &[u8]) -> Option<Act> {
    let [path, content, old, new, all, edits, command] =
        fields(input, ["file_path", "content", "old_string", "new_string", "replace_all", "edits", "command"]);
    let text = |v: Option<Value<'_>>| v.and_then(Value::str).and_then(whole);
    let change = match tool {
        "Bash" | "PowerShell" => return Some(Act::Shell(command?.str()?.head(64 << 10).into_owned())),
        "NotebookEdit" => return Some(Act::Other(tool.to_owned())),
        "Read" => path.map(|_| Change::Nothing),
        "Write" => text(content).map(Change::Write),
        "Edit" => replace(old, new, all).map(|r| Change::Replace(vec![r])),
        "MultiEdit" => {
            let list: Option<Vec<Replace>> = edits.and_then(Value::container).map(items).and_then(|list| {
                let each = |item: Value<'_>| {
                    let [old, new, all] = fields(item.container()?, ["old_string", "new_string", "replace_all"]);
                    replace(old, new, all)
                };
                list.into_iter().map(each).collect()
            });
            list.filter(|l| !l.is_empty()).map(Change::Replace)
        }
        _ => return None,
    };
    let edit = text(path).zip(change).map(|(path, change)| Edit { path, change, before: None });
    Some(edit.map_or_else(|| Act::Other(tool.to_owned()), |edit| Act::Edits(vec![edit])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Session {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, text).unwrap();
        crate::source::edits::read(ids::FORMAT, &Input::new(&path).unwrap()).unwrap().unwrap()
    }

    fn envelope(kind: &str, n: usize, rest: &str) -> String {
        format!(
            r#"{{"type":"{kind}","isSidechain":false,"cwd":"/w/shop","sessionId":"s1","gitBranch":"main","uuid":"u{n}","timestamp":"2026-02-03T10:00:{n:02}Z",{rest}}}"#
        ) + "\n"
    }

    fn asks(n: usize, id: &str, tool: &str, input: &str) -> String {
        envelope(
            "assistant",
            n,
            &format!(
                r#""message":{{"id":"m{n}","role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}]}}"#
            ),
        )
    }

    fn result(n: usize, id: &str, failed: bool, said: &str, more: &str) -> String {
        envelope(
            "user",
            n,
            &format!(
                r#""message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","is_error":{failed},"content":"{said}"}}]}}{more}"#
            ),
        )
    }

    #[test]
    fn edits_come_in_the_order_they_ended_with_their_outcome_and_what_stood_before() {
        let text = asks(0, "a", "Write", r#"{"file_path":"/w/shop/a.txt","content":"one\n"}"#)
            + &asks(1, "b", "Edit", r#"{"file_path":"/w/shop/b.txt","old_string":"x","new_string":"y","replace_all":true}"#)
            + &result(2, "b", false, "ok", r#","toolUseResult":{"originalFile":"x x\n","oldString":"x","newString":"y"}"#)
            + &result(3, "a", false, "ok", r#","toolUseResult":{"type":"create","originalFile":null,"content":"one\n"}"#)
            + &asks(4, "c", "Edit", r#"{"file_path":"/w/shop/b.txt","old_string":"q","new_string":"r"}"#)
            + &result(5, "c", true, "String to replace not found", "")
            + &asks(6, "d", "MultiEdit", r#"{"file_path":"b","edits":[{"old_string":"1","new_string":"2"}]}"#)
            + &result(7, "d", true, "The user doesn't want to proceed with this tool use.", "")
            + &asks(8, "e", "NotebookEdit", r#"{"notebook_path":"n.ipynb"}"#)
            + &asks(9, "f", "Read", r#"{"file_path":"a"}"#)
            + &result(
                10,
                "f",
                false,
                "1 x",
                r#","toolUseResult":{"type":"text","file":{"content":"x","startLine":1,"numLines":1,"totalLines":2}}"#,
            )
            + &asks(11, "g", "Read", r#"{"file_path":"a"}"#)
            + &result(
                12,
                "g",
                false,
                "1 x",
                r#","toolUseResult":{"type":"text","file":{"content":"x\ny","startLine":1,"numLines":2,"totalLines":2}}"#,
            );
        let session = read_text(&text);
        let told: Vec<(i64, Option<i64>, Outcome)> = session.steps.iter().map(|s| (s.line, s.ended_line, s.outcome)).collect();
        assert_eq!(
            told,
            [
                (2, Some(3), Outcome::Done),
                (1, Some(4), Outcome::Done),
                (5, Some(6), Outcome::Failed),
                (7, Some(8), Outcome::Refused),
                (12, Some(13), Outcome::Done),
                (9, None, Outcome::Unknown)
            ]
        );
        let Act::Edits(edits) = &session.steps[0].act else { panic!() };
        assert_eq!(edits[0].before, Some(Some("x x\n".into())));
        assert_eq!(edits[0].change, Change::Replace(vec![Replace { old: "x".into(), new: "y".into(), all: true }]));
        let Act::Edits(edits) = &session.steps[1].act else { panic!() };
        assert_eq!((edits[0].before.clone(), edits[0].change.clone()), (Some(None), Change::Write("one\n".into())));
        let read = Edit { path: "a".into(), change: Change::Nothing, before: Some(Some("x\ny".into())) };
        assert_eq!(session.steps[4].act, Act::Edits(vec![read]), "only what was read from the first line to the last");
        assert_eq!(session.steps[5].act, Act::Other("NotebookEdit".into()));
        assert_eq!((session.cwd.as_deref(), session.branch_at(5)), (Some("/w/shop"), Some("main")));
    }

    #[test]
    fn what_a_person_changed_in_a_proposal_is_what_was_written() {
        let text = asks(0, "a", "Edit", r#"{"file_path":"a","old_string":"x","new_string":"y"}"#)
            + &result(1, "a", false, "ok", r#","toolUseResult":{"originalFile":"x","oldString":"x","newString":"z","userModified":true}"#);
        let Act::Edits(edits) = &read_text(&text).steps[0].act else { panic!() };
        assert_eq!(edits[0].change, Change::Replace(vec![Replace { old: "x".into(), new: "z".into(), all: false }]));
    }
}
