//! Owns reading a source's own words again: the record a row came from, at the moment it is asked for, redacted.
//!
//! The lake keeps no text. What a row's file says is shown only if the file still begins and ends as it did when it was read;
//! growth at its end is no change.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::lines::{LineReader, Next};
use super::redact::redact;
use super::{Input, edges, open};
use crate::model::sources::Source;

/// A longer record is named, not shown.
const RECORD_CAP: usize = 4 << 20;
/// A file that is one document is read up to here.
const DOCUMENT_CAP: u64 = 16 << 20;
/// Fields shown of one record, and characters of each.
const FIELDS: usize = 10;
const CHARS: usize = 400;

/// What became of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "detail", rename_all = "snake_case")]
pub enum State {
    /// It stands where it stood.
    Read,
    /// The file is not there any more.
    Gone,
    /// The file does not begin or end as it did: the line may be another record.
    Changed,
    /// The record is too long to show, of this many bytes.
    TooLong(usize),
    /// The source is no text (a repository): there is nothing to quote.
    NoText,
    /// The file has no such record.
    Missing,
    /// The system refused.
    Unreadable(String),
}

/// The words of one record: fields by their path in it, redacted and cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quote {
    #[serde(flatten)]
    pub state: State,
    pub fields: Vec<Field>,
}

/// One field of a record. `name` is empty where the record is no JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Field {
    pub name: String,
    pub text: String,
    /// Whether the field is what the record says, not what it is called.
    #[serde(skip)]
    pub said: bool,
}

impl Quote {
    fn of(state: State) -> Quote {
        Quote { state, fields: Vec::new() }
    }

    fn read(fields: Vec<Field>) -> Quote {
        Quote { state: State::Read, fields }
    }
}

/// The records of one file, each by its line (or entry, in a file that is one JSON document).
pub fn quotes(source: &Source, lines: &BTreeSet<i64>) -> BTreeMap<i64, Quote> {
    let all = |state: State| lines.iter().map(|l| (*l, Quote::of(state.clone()))).collect();
    if source.format.as_deref() == Some("git") {
        return all(State::NoText);
    }
    let path = real_path(&source.path);
    match edges::hold(&path, source) {
        Ok(true) => {}
        Ok(false) => return all(State::Changed),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return all(State::Gone),
        Err(e) => return all(State::Unreadable(e.to_string())),
    }
    let read = || -> io::Result<BTreeMap<i64, Quote>> {
        let input = Input::new(&path)?;
        if input.name().ends_with(".json") { entries(&input, lines) } else { records(&input, lines) }
    };
    let mut found = read().unwrap_or_else(|e| all(State::Unreadable(e.to_string())));
    for line in lines {
        found.entry(*line).or_insert_with(|| Quote::of(State::Missing));
    }
    found
}

/// The path as the system knows it: records name the home directory `~`.
pub fn real_path(shown: &str) -> PathBuf {
    match (shown.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(shown),
    }
}

fn records(input: &Input, lines: &BTreeSet<i64>) -> io::Result<BTreeMap<i64, Quote>> {
    let mut found = BTreeMap::new();
    let Some(&last) = lines.last() else { return Ok(found) };
    let mut reader = LineReader::new(open::open(input)?);
    while let Some(next) = reader.next_line()? {
        let (number, quote) = match next {
            Next::Line(line) | Next::Tail(line) if !lines.contains(&line.number) => (line.number, None),
            Next::Line(line) | Next::Tail(line) if line.bytes.len() > RECORD_CAP => {
                (line.number, Some(Quote::of(State::TooLong(line.bytes.len()))))
            }
            Next::Line(line) | Next::Tail(line) => (line.number, Some(Quote::read(words(line.bytes)))),
            Next::Oversize { number, bytes, .. } => (number, lines.contains(&number).then(|| Quote::of(State::TooLong(bytes)))),
        };
        found.extend(quote.map(|q| (number, q)));
        if number >= last {
            break;
        }
    }
    Ok(found)
}

/// Entries of a JSON document: of the array it is, or of the first array in it; otherwise the document is the one entry.
fn entries(input: &Input, lines: &BTreeSet<i64>) -> io::Result<BTreeMap<i64, Quote>> {
    let mut bytes = Vec::new();
    open::open(input)?.take(DOCUMENT_CAP).read_to_end(&mut bytes)?;
    let Ok(document) = serde_json::from_slice::<Value>(&bytes) else { return records(input, lines) };
    let list = match &document {
        Value::Array(list) => Some(list),
        Value::Object(map) => map.values().find_map(Value::as_array),
        _ => None,
    };
    let entry = |n: i64| match list {
        Some(list) => usize::try_from(n - 1).ok().and_then(|i| list.get(i)),
        None => Some(&document),
    };
    Ok(lines.iter().filter_map(|n| Some((*n, Quote::read(fields_of(entry(*n)?))))).collect())
}

/// The fields of a JSON record, else the line itself.
fn words(bytes: &[u8]) -> Vec<Field> {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(value) if value.is_object() || value.is_array() => fields_of(&value),
        _ => vec![Field { name: String::new(), text: shorten(&String::from_utf8_lossy(bytes)), said: true }],
    }
}

/// What a record says comes before what it is called: fields with these names are shown first.
const WORDS: &[&str] = &[
    "summary",
    "text",
    "content",
    "message",
    "stdout",
    "stderr",
    "output",
    "reason",
    "description",
    "command",
    "title",
    "details",
    "outcome",
    "verdict",
    "error",
    "finding",
    "stage",
    "harness.outcome",
    "harness.stage",
    "harness.summary",
    "result",
    "prompt",
    "exitcode",
    "exit_code",
    "hookerrors",
];
/// Ids and the like are shown last.
const NAMES: &[&str] = &[
    "id",
    "uuid",
    "parentuuid",
    "parentid",
    "signature",
    "sessionid",
    "requestid",
    "version",
    "cwd",
    "gitbranch",
    "timestamp",
    "usertype",
];

fn fields_of(value: &Value) -> Vec<Field> {
    let mut leaves = Vec::new();
    flatten("", value, &mut leaves);
    leaves.sort_by_key(|(path, _)| rank(path));
    leaves
        .into_iter()
        .take(FIELDS)
        .map(|(path, text)| Field { said: rank(&path) == 0, name: shorten(&path), text: shorten(&text) })
        .collect()
}

fn rank(path: &str) -> u8 {
    let path = path.to_lowercase();
    let name = path.rsplit(['/', '.']).find(|part| !part.bytes().all(|b| b.is_ascii_digit())).unwrap_or("");
    match () {
        () if path.contains("usage/") => 3,
        () if WORDS.contains(&name) => 0,
        () if NAMES.contains(&name) => 2,
        () => 1,
    }
}

/// Leaves with their paths; at most a few thousand, so that a hostile record costs little.
fn flatten(path: &str, value: &Value, into: &mut Vec<(String, String)>) {
    if into.len() > 4_000 {
        return;
    }
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}/{key}") };
    match value {
        Value::Null => {}
        Value::Bool(b) => into.push((path.to_owned(), b.to_string())),
        Value::Number(n) => into.push((path.to_owned(), n.to_string())),
        Value::String(s) if s.is_empty() => {}
        Value::String(s) => into.push((path.to_owned(), s.clone())),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, item)| flatten(&below(&i.to_string()), item, into)),
        Value::Object(map) => map.iter().for_each(|(key, item)| flatten(&below(key), item, into)),
    }
}

/// Redacted before it is cut: half a key would no longer look like one.
fn shorten(text: &str) -> String {
    let held: String = text.chars().take(64 << 10).collect();
    let clean = redact(&held);
    match clean.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{}…", clean.get(..at).unwrap_or("")),
        None => clean,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::time::Ts;
    use crate::model::vocabulary::SourceState;

    fn source_of(path: &std::path::Path) -> Source {
        let size_bytes = fs::metadata(path).unwrap().len().cast_signed();
        let (head_hash, tail_hash) = edges::of(path, size_bytes).unwrap();
        Source {
            source_id: "s".into(),
            path: path.display().to_string(),
            format: Some("agent-delivery-harness".into()),
            reader_digest: String::new(),
            state: SourceState::Current,
            records: 0,
            quarantined: 0,
            n_warnings: 0,
            capabilities: Vec::new(),
            size_bytes,
            head_hash,
            tail_hash,
            read_to: size_bytes,
            mtime: None,
            inode: None,
            ingested_at: Ts(0),
        }
    }

    fn one(source: &Source, line: i64) -> Quote {
        quotes(source, &BTreeSet::from([line])).remove(&line).unwrap()
    }

    #[test]
    fn the_record_is_shown_redacted_with_what_it_says_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.jsonl");
        fs::write(&path, "{}\n{\"id\":\"x\",\"harness\":{\"summary\":\"wrong date, ask ann@example.org\"},\"n\":3}\nplain text\n").unwrap();
        let source = source_of(&path);
        let quote = one(&source, 2);
        assert_eq!(quote.state, State::Read);
        let field = |i: usize| (quote.fields[i].name.as_str(), quote.fields[i].text.as_str());
        assert_eq!((field(0), field(2)), (("harness/summary", "wrong date, ask [redacted: e-mail]"), ("id", "x")));
        assert_eq!(one(&source, 3).fields[0].text, "plain text");
        assert_eq!(one(&source, 9).state, State::Missing);
    }

    #[test]
    fn a_file_that_grew_is_read_and_one_that_was_edited_or_removed_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.jsonl");
        fs::write(&path, "{\"text\":\"one\"}\n{\"text\":\"two\"}\n").unwrap();
        let source = source_of(&path);
        fs::write(&path, "{\"text\":\"one\"}\n{\"text\":\"two\"}\n{\"text\":\"three\"}\n").unwrap();
        assert_eq!(one(&source, 2).state, State::Read);
        fs::write(&path, "{\"text\":\"one\"}\n{\"text\":\"TWO\"}\n").unwrap();
        assert_eq!(one(&source, 2).state, State::Changed);
        fs::write(&path, "{}\n").unwrap();
        assert_eq!(one(&source, 2).state, State::Changed);
        fs::remove_file(&path).unwrap();
        assert_eq!(one(&source, 2).state, State::Gone);
    }

    #[test]
    fn entries_of_a_json_document_are_counted_from_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("feature_list.json");
        fs::write(&path, "{\n \"version\": 1,\n \"features\": [\n {\"title\": \"a\"},\n {\"title\": \"b\"}\n]}\n").unwrap();
        let source = source_of(&path);
        assert_eq!(one(&source, 2).fields, [Field { name: "title".into(), text: "b".into(), said: true }]);
        assert_eq!(one(&source, 3).state, State::Missing);
    }

    #[test]
    fn a_secret_that_would_be_cut_in_half_is_redacted_whole() {
        let text = "x".repeat(CHARS - 10) + " ghp_" + &"a1B2c3D4".repeat(5);
        let shown = shorten(&text);
        assert!(!shown.contains("ghp_"), "{shown}");
    }

    #[test]
    fn a_hostile_record_gives_few_and_short_fields() {
        let deep = "[".repeat(100) + &"]".repeat(100);
        for line in [deep.as_str(), "{\"a\":[1,2", "\u{0}\u{1b}[2J", &format!("[{}1]", "1,".repeat(100_000)), &"[".repeat(1_000_000)] {
            let fields = words(line.as_bytes());
            assert!(
                fields.len() <= FIELDS && fields.iter().all(|f| f.name.chars().count() <= CHARS + 1 && f.text.chars().count() <= CHARS + 1)
            );
        }
    }
}
