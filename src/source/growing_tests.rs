//! Tests that a file read in parts gives the rows of one reading, wherever it was cut.

use std::fs;
use std::path::{Path, PathBuf};

use arrow::row::{RowConverter, SortField};

use super::claude_code::ClaudeCode;
use super::copilot_cli::CopilotCli;
use super::emit::{Collect, Facts, Sink, Summary};
use super::{Input, Source, growing, read_file, read_grown_file};
use crate::model::record::Record;

/// What one part gave: rows that stay, rows that a later part may replace, and from where that part goes on.
#[derive(Default)]
struct Part {
    settled: Collect,
    open: Collect,
    state: Option<Vec<u8>>,
}

impl Sink for Part {
    fn take(&mut self, facts: &mut Facts) -> anyhow::Result<()> {
        if self.state.is_some() { self.open.take(facts) } else { self.settled.take(facts) }
    }
    fn settled(&mut self, state: Vec<u8>) {
        self.state = Some(state);
    }
}

/// Rows of every table in a comparable form, sorted.
fn rows(facts: &Facts) -> Vec<(&'static str, Vec<u8>)> {
    fn add<R: Record>(into: &mut Vec<(&'static str, Vec<u8>)>, rows: &[R]) {
        let batch = R::to_batch(rows).unwrap();
        let fields = batch.schema().fields().iter().map(|f| SortField::new(f.data_type().clone())).collect();
        let converted = RowConverter::new(fields).unwrap().convert_columns(batch.columns()).unwrap();
        into.extend(converted.iter().map(|row| (R::TABLE.name, row.as_ref().to_vec())));
    }
    let mut all = Vec::new();
    add(&mut all, &facts.quarantine);
    add(&mut all, &facts.warnings);
    add(&mut all, &facts.gates);
    add(&mut all, &facts.contexts);
    add(&mut all, &facts.model_call_copies);
    add(&mut all, &facts.usage_totals);
    add(&mut all, &facts.tool_calls);
    add(&mut all, &facts.gate_runs);
    add(&mut all, &facts.findings);
    add(&mut all, &facts.decisions);
    add(&mut all, &facts.guard_events);
    assert_eq!(all.len(), facts.len(), "a table is not compared");
    all.sort();
    all
}

/// Reads the file as it was at each of the sizes, every time from where the time before ended. Returns the rows that are visible at the
/// end, what the last reading came to, and how often one went on.
fn in_parts(source: &dyn Source, file: &Path, text: &[u8], sizes: &[usize]) -> (Facts, Summary, usize) {
    let input = Input::new(file).unwrap();
    let mut kept = Collect::default();
    let mut state: Option<Vec<u8>> = None;
    let mut went_on = 0;
    let mut last = None;
    for size in sizes {
        fs::write(file, &text[..*size]).unwrap();
        let mut part = Part::default();
        let summary = read_grown_file(source, &input, state.as_deref(), &mut part).unwrap();
        match &summary.went_on {
            Some(before) => {
                went_on += 1;
                assert_eq!(Some(before.offset), state.as_deref().and_then(growing::offset_of));
            }
            None => kept = Collect::default(),
        }
        let settled = part.state.is_some();
        kept.take(&mut part.settled.0).unwrap();
        state = part.state;
        assert!(settled || part.open.0.is_empty());
        last = Some((part.open.0, summary));
    }
    let (mut open, summary) = last.unwrap();
    kept.take(&mut open).unwrap();
    (kept.0, summary, went_on)
}

/// Cuts the text at the places that matter (inside lines, at line ends, inside characters) and at some of no meaning.
fn assert_parts_are_the_whole(source: &dyn Source, name: &str, text: &[u8], every: usize) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("session-state").join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    let mut whole = Collect::default();
    let told = read_file(source, &Input::new(&file).unwrap(), &mut whole).unwrap();
    let whole = rows(&whole.0);
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', text).map(|at| at + 1).collect();
    let mut plans: Vec<Vec<usize>> = Vec::new();
    for (at, end) in ends.iter().enumerate().filter(|(at, _)| at % every == 0) {
        let inside = end + (at * 7) % 90 + 1;
        plans.push(vec![*end, text.len()]);
        plans.push(vec![inside.min(text.len()), text.len()]);
    }
    let step = (text.len() / 9).max(1);
    plans.push((1..=9).map(|n| n * step).chain([text.len()]).filter(|s| *s <= text.len()).collect());
    plans.push(vec![0, 0, 1.min(text.len()), text.len(), text.len()]);
    let mut went_on = 0;
    for sizes in plans {
        let (facts, summary, on) = in_parts(source, &file, text, &sizes);
        assert!(rows(&facts) == whole, "{name} read up to {sizes:?} has other rows");
        let counts = |s: &Summary| (s.records, s.quarantined, s.warnings, s.read_to, s.capabilities.clone());
        assert_eq!(counts(&summary), counts(&told), "{name} read up to {sizes:?}");
        went_on += on;
    }
    went_on
}

fn files(root: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "jsonl") {
            found.push(path);
        }
    }
}

fn check_all(root: &Path, most: usize) -> (usize, usize) {
    let mut found = Vec::new();
    files(root, &mut found);
    found.sort();
    let (mut read, mut went_on) = (0, 0);
    for path in found {
        let text = fs::read(&path).unwrap();
        let input = Input::new(&path).unwrap();
        let head = super::head_of(&input).unwrap();
        let probe = super::Probe { input: &input, head: &head };
        let sources: [&dyn Source; 2] = [&ClaudeCode, &CopilotCli];
        let Some(source) = sources.into_iter().find(|s| s.claims(&probe)) else { continue };
        let text = &text[..text.len().min(most)];
        let lines = memchr::memchr_iter(b'\n', text).count();
        let name = path.file_name().unwrap().to_str().unwrap();
        went_on += assert_parts_are_the_whole(source, name, text, (lines / 12).max(1));
        read += 1;
    }
    (read, went_on)
}

#[test]
fn a_session_read_in_parts_has_the_rows_of_one_reading() {
    let (read, went_on) = check_all(Path::new("fixtures"), usize::MAX);
    assert!(read >= 30 && went_on > 500, "{read} files, {went_on} times on");
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn a_real_session_read_in_parts_has_the_rows_of_one_reading() {
    let root = PathBuf::from(std::env::var_os("MECHANIC_DATA").unwrap()).join("sessions");
    for folder in ["claude-code", "copilot-cli"] {
        let (read, went_on) = check_all(&root.join(folder), 600_000);
        assert!(read >= 10 && went_on > 100, "{folder}: {read} files, {went_on} times on");
    }
}

#[test]
fn broken_lines_and_lines_to_be_joined_are_the_same_read_in_parts() {
    let line = |n: i32, more: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","isSidechain":false,"timestamp":"2026-05-01T10:00:{n:02}Z","message":{{"id":"m{n}","role":"assistant","content":[],"usage":{{"output_tokens":{n}}}{more}}}}}"#
        )
    };
    let mut text = Vec::new();
    for n in 0..30 {
        text.extend_from_slice(line(n, "").as_bytes());
        text.extend_from_slice(match n % 6 {
            // Broken inside a text; two records on one line; a start that never ends; no UTF-8; blank lines.
            0 => {
                b"\n{\"type\":\"user\",\"sessionId\":\"s\",\"isSidechain\":false,\"message\":{\"role\":\"user\",\"content\":\"a\nb\"}}\n"
                    as &[u8]
            }
            1 => b"{\"type\":\"summary\"}\n",
            2 => b"\n{\"type\":\"user\",\"x\":\n",
            3 => b"\n\xFF\xFE{\n[1]\n",
            4 => b"\r\n\0\0\n   \n",
            _ => b"\n{\"type\":\"newer\",\"sessionId\":\"s\"}\n",
        });
    }
    text.extend_from_slice(br#"{"type":"assistant","sess"#);
    assert_parts_are_the_whole(&ClaudeCode, "s.jsonl", &text, 1);
}

#[test]
fn a_state_that_is_none_a_packed_file_and_a_file_without_its_id_are_read_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("events.jsonl");
    let read = |source: &dyn Source, bytes: &[u8], state: Option<&[u8]>| {
        fs::write(&file, bytes).unwrap();
        let mut part = Part::default();
        let summary = read_grown_file(source, &Input::new(&file).unwrap(), state, &mut part).unwrap();
        (summary.went_on.is_some(), part.state)
    };
    let unnamed = b"{\"type\":\"session.info\",\"data\":{}}\n";
    assert_eq!(read(&CopilotCli, unnamed, None), (false, None), "a longer file may begin with the id");
    let named = b"{\"type\":\"session.start\",\"data\":{\"sessionId\":\"abc\"}}\n";
    let (_, state) = read(&CopilotCli, named, None);
    let state = state.unwrap();
    assert!(read(&CopilotCli, named, Some(&state)).0);
    for bad in [&state[..state.len() / 2], b"", b"{}", b"null"] {
        assert!(!read(&CopilotCli, named, Some(bad)).0);
    }
    let packed = zstd::encode_all(&named[..], 1).unwrap();
    assert_eq!(read(&CopilotCli, &packed, Some(&state)), (false, None), "offsets of the text are none of the file");
}

#[test]
fn what_is_put_by_holds_no_word_of_the_log() {
    let mut found = Vec::new();
    files(Path::new("fixtures/demo"), &mut found);
    let mut states = 0;
    for path in found {
        let input = Input::new(&path).unwrap();
        let head = super::head_of(&input).unwrap();
        if !ClaudeCode.claims(&super::Probe { input: &input, head: &head }) {
            continue;
        }
        let mut part = Part::default();
        read_file(&ClaudeCode, &input, &mut part).unwrap();
        let state = String::from_utf8(part.state.unwrap()).unwrap();
        let log = fs::read_to_string(&path).unwrap();
        // Free text has sentences: three words in a row that the log holds and the state holds too would be some of it.
        let words: Vec<&str> =
            state.split(|c: char| !c.is_alphanumeric() && c != ' ').filter(|w| w.trim().matches(' ').count() >= 2).collect();
        let free: Vec<&&str> = words.iter().filter(|w| log.contains(**w)).collect();
        assert!(free.is_empty(), "{}: {free:?}", path.display());
        states += 1;
    }
    assert!(states >= 20);
}
