//! Owns `.mechanic/labels.jsonl`, the file in which people say whether a finding was right: how a line is appended and how the file
//! becomes `decisions` of kind label.
//!
//! One JSON object a line: `schema_version` (1), `finding` (a finding id), `label` (`true`, `false-alarm`, `duplicate`), `why` (text or
//! null), `who` (text or null), `at` (RFC 3339). Lines are only ever appended; the latest label of a finding holds. Reason and
//! name leave the file only as digests.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::append::{Durable, append_line};
use super::emit::Emitter;
use super::lines::{LineReader, Next};
use super::{Input, Probe, Source};
use crate::model::decisions::Decision;
use crate::model::id::{digest, stable_id};
use crate::model::time::Ts;
use crate::model::vocabulary::DecisionKind;

/// Name of the file, in the folder `.mechanic`.
pub const FILE_NAME: &str = "labels.jsonl";
const SCHEMA_VERSION: i64 = 1;

/// What a person may say of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The defect was real.
    True,
    /// There was no defect.
    FalseAlarm,
    /// It says again what another finding had said.
    Duplicate,
}

impl Judgement {
    pub const ALL: &'static [Judgement] = &[Judgement::True, Judgement::FalseAlarm, Judgement::Duplicate];

    pub fn as_str(self) -> &'static str {
        match self {
            Judgement::True => "true",
            Judgement::FalseAlarm => "false-alarm",
            Judgement::Duplicate => "duplicate",
        }
    }
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Label {
    pub schema_version: i64,
    pub finding: String,
    pub label: Judgement,
    pub why: Option<String>,
    pub who: Option<String>,
    pub at: String,
}

impl Label {
    pub fn new(finding: String, label: Judgement, why: Option<String>, who: Option<String>, at: Ts) -> Label {
        Label { schema_version: SCHEMA_VERSION, finding, label, why, who, at: at.to_string() }
    }
}

/// Appends one label and makes it durable.
pub fn append(path: &Path, label: &Label) -> io::Result<()> {
    append_line(path, label, Durable::Yes)
}

pub struct Labels;

impl Source for Labels {
    fn format(&self) -> &'static str {
        "mechanic-labels"
    }

    fn version(&self) -> u32 {
        1
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        let first = probe.head.split(|b| *b == b'\n').next().unwrap_or_default();
        let holds = |key: &str| memchr::memmem::find(first, key.as_bytes()).is_some();
        probe.input.name() == FILE_NAME && holds("\"schema_version\"") && holds("\"finding\"") && holds("\"label\"")
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let mut reader = LineReader::new(input.open()?);
        let mut seen: HashMap<String, i64> = HashMap::new();
        loop {
            match reader.next_line()? {
                None => break,
                Some(Next::Line(line)) => {
                    out.summary.records += 1;
                    match parse(line.bytes) {
                        Ok(label) => emit(&label, line.bytes, line.number, &mut seen, out),
                        Err((reason, detail)) => out.quarantine(line.number, line.offset, line.bytes.len(), reason, detail),
                    }
                }
                Some(Next::Tail(line)) => {
                    out.summary.records += 1;
                    match parse(line.bytes) {
                        Ok(label) => emit(&label, line.bytes, line.number, &mut seen, out),
                        Err(_) => out.quarantine(line.number, line.offset, line.bytes.len(), "truncated_tail", None),
                    }
                }
                Some(Next::Oversize { number, offset, bytes, .. }) => {
                    out.summary.records += 1;
                    out.quarantine(number, offset, bytes, "oversize", None);
                }
            }
            out.flush_if_full()?;
        }
        out.summary.read_to = reader.offset();
        Ok(())
    }
}

/// Why a line is no label: reason and, without text of the line, detail.
type Refusal = (&'static str, Option<String>);

fn parse(bytes: &[u8]) -> Result<Label, Refusal> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: Option<i64>,
    }
    let place = |e: serde_json::Error| Some(format!("{:?} error at column {}", e.classify(), e.column()));
    let version: Version = serde_json::from_slice(bytes).map_err(|e| ("malformed", place(e)))?;
    match version.schema_version {
        Some(SCHEMA_VERSION) => {}
        Some(other) => return Err(("unknown_version", Some(other.to_string()))),
        None => return Err(("schema", Some("schema_version is missing".to_owned()))),
    }
    let label: Label = serde_json::from_slice(bytes).map_err(|e| ("schema", place(e)))?;
    if label.finding.is_empty() || label.finding.len() > 64 || !label.finding.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(("schema", Some("finding is no id".to_owned())));
    }
    Ok(label)
}

fn emit(label: &Label, bytes: &[u8], number: i64, seen: &mut HashMap<String, i64>, out: &mut Emitter<'_>) {
    let decided_at = Ts::parse(&label.at);
    if decided_at.is_none() {
        out.warn("unknown_time", Some(number), Some("at"));
    }
    let record = digest(bytes);
    let nth = seen.entry(record.clone()).or_insert(0);
    *nth += 1;
    let hash = |text: &Option<String>| text.as_deref().filter(|t| !t.is_empty()).map(|t| digest(t.as_bytes()));
    out.facts.decisions.push(Decision {
        decision_id: stable_id(&["label", &record, &nth.to_string()]),
        native_run_key: None,
        kind: DecisionKind::Label,
        who_hash: hash(&label.who),
        what: label.label.as_str().to_owned(),
        target: Some(label.finding.clone()),
        failure_mode: None,
        failure_class: None,
        why_hash: hash(&label.why),
        decided_at,
        expires_at: None,
        source_id: out.source_id.clone(),
        source_line: number,
    });
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    use super::*;
    use crate::source::emit::{Collect, Facts, Summary};
    use crate::source::{claim, head_of, read_file};

    const FINDING: &str = "0123456789abcdef0123456789abcdef";

    fn label(judgement: Judgement, why: &str) -> Label {
        Label::new(FINDING.into(), judgement, Some(why.into()), Some("ann".into()), Ts::parse("2026-07-01T10:00:00Z").unwrap())
    }

    fn read(path: &Path) -> (Facts, Summary) {
        let mut sink = Collect::default();
        let input = Input::new(path).unwrap();
        assert_eq!(claim(&input, &head_of(&input).unwrap()).map(|s| s.format()), Some("mechanic-labels"));
        let summary = read_file(&Labels, &input, &mut sink).unwrap();
        (sink.0, summary)
    }

    #[test]
    fn what_is_appended_is_read_back_as_decisions_without_reason_or_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".mechanic").join(FILE_NAME);
        append(&path, &label(Judgement::FalseAlarm, "the date is right")).unwrap();
        append(&path, &label(Judgement::True, "it was wrong after all")).unwrap();
        let (facts, summary) = read(&path);
        assert_eq!((summary.records, summary.quarantined), (2, 0));
        let words: Vec<_> = facts.decisions.iter().map(|d| (d.what.as_str(), d.target.as_deref(), d.source_line)).collect();
        assert_eq!(words, [("false-alarm", Some(FINDING), 1), ("true", Some(FINDING), 2)]);
        assert_eq!(facts.decisions[0].why_hash.as_deref(), Some(digest(b"the date is right").as_str()));
        assert!(!format!("{facts:?}").contains("date is right") && !format!("{facts:?}").contains("ann\""));
    }

    #[test]
    fn a_line_left_open_by_an_interrupted_writer_does_not_swallow_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        append(&path, &label(Judgement::True, "a")).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"schema_ver").unwrap();
        append(&path, &label(Judgement::Duplicate, "b")).unwrap();
        let (facts, summary) = read(&path);
        assert_eq!((facts.decisions.len(), summary.records, summary.quarantined), (2, 3, 1));
    }

    #[test]
    fn lines_of_another_version_or_shape_are_quarantined_with_a_reason_that_quotes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        append(&path, &label(Judgement::True, "a")).unwrap();
        let lines = [
            r#"{"schema_version":2,"finding":"ab","label":"true","at":"x"}"#,
            r#"{"schema_version":1,"finding":"ab","label":"SECRET","at":"x"}"#,
            r#"{"schema_version":1,"finding":"../x","label":"true","at":"x"}"#,
            r#"{"finding":"ab"}"#,
            "not json SECRET",
        ];
        fs::write(&path, fs::read_to_string(&path).unwrap() + &lines.join("\n") + "\n").unwrap();
        let (facts, _) = read(&path);
        let reasons: Vec<_> = facts.quarantine.iter().map(|q| q.reason.as_str()).collect();
        assert_eq!(reasons, ["unknown_version", "schema", "schema", "schema", "malformed"]);
        assert!(!format!("{facts:?}").contains("SECRET"));
    }

    #[test]
    fn two_identical_lines_stay_two_decisions_and_a_copy_of_the_file_adds_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        append(&path, &label(Judgement::True, "a")).unwrap();
        append(&path, &label(Judgement::True, "a")).unwrap();
        let ids = |path: &Path| read(path).0.decisions.into_iter().map(|d| d.decision_id).collect::<Vec<_>>();
        let first = ids(&path);
        assert_ne!(first[0], first[1]);
        let copy = dir.path().join("copy").join(FILE_NAME);
        fs::create_dir(copy.parent().unwrap()).unwrap();
        fs::copy(&path, &copy).unwrap();
        assert_eq!(first, ids(&copy));
    }
}
