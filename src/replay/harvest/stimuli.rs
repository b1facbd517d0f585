//! Owns real-stimulus sets: what a gate really saw, each thing once, with how often and what the gate said. What it always let pass is
//! written as controls, for hand-made cases cannot measure false alarms.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::case::word;
use super::redacted::{self, Taken};
use super::tree::{self, File, Tree};
use super::write::put_fixture;
use crate::model::time::Ts;
use crate::replay::digest;
use crate::replay::stimulus::{Content, Item};
use crate::replay::words::{Classification, Provenance, Severity, StimulusKind};
use crate::replay::wrong::{Result, Wrong};
use crate::source::redact::redact;

/// The list of a set.
const LIST: &str = "stimuli.jsonl";

/// What a gate saw once.
#[derive(Debug, Clone)]
pub struct Seen {
    pub what: SetOf,
    /// pass, fail or other.
    pub verdict: &'static str,
    pub at: Option<Ts>,
}

#[derive(Debug, Clone)]
pub enum SetOf {
    Command(String),
    /// A file as it was written.
    File {
        path: String,
        text: String,
    },
    /// Standard input.
    Input(Vec<u8>),
    Tree(Tree),
}

impl SetOf {
    pub fn tree(repository: &Path, reference: &str) -> std::result::Result<SetOf, String> {
        super::repository::tree(repository, reference, &mut Vec::new()).map(SetOf::Tree)
    }

    fn kind(&self) -> &'static str {
        match self {
            SetOf::Command(_) => "command",
            SetOf::File { .. } => "file",
            SetOf::Input(_) => "input",
            SetOf::Tree(_) => "tree",
        }
    }

    /// As the files of a fixture, redacted.
    fn items(&self, redacting: bool) -> Vec<Item> {
        let mut clean = Tree::new();
        let one = |path: &str, bytes: &[u8]| {
            let file = match std::str::from_utf8(bytes) {
                Ok(text) if redacting => File::text(&redact(text)),
                _ => File { executable: false, content: tree::Held::Bytes(bytes.into()) },
            };
            (path.to_owned(), file)
        };
        match self {
            SetOf::Command(text) => clean.extend([one("command.txt", text.as_bytes())]),
            SetOf::Input(bytes) => clean.extend([one("input.txt", bytes)]),
            SetOf::File { path, text } => clean.extend([one(path, text.as_bytes())]),
            SetOf::Tree(tree) if redacting => clean = redacted::tree(tree, &mut Taken::default()),
            SetOf::Tree(tree) => clean = tree.clone(),
        }
        clean.iter().map(|(path, file)| tree::item(path, file)).collect()
    }
}

/// One distinct stimulus of the list.
#[derive(Debug, Serialize)]
struct Line {
    digest: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    bytes: u64,
    n: u64,
    n_pass: u64,
    n_fail: u64,
    n_other: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_at: Option<String>,
    /// The control made of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fixture: Option<String>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub folder: PathBuf,
    pub seen: usize,
    pub distinct: usize,
    pub controls: usize,
    /// Distinct ones that passed each time, beyond the most that was asked for, or too large.
    pub left: usize,
}

#[derive(Serialize)]
struct Control<'a> {
    format: u32,
    id: &'a str,
    title: String,
    origin: String,
    happened: String,
    severity: Severity,
    classification: Classification,
    provenance: Provenance,
    tags: [&'static str; 2],
    stimulus: ControlStimulus,
}

#[derive(Serialize)]
struct ControlStimulus {
    kind: StimulusKind,
    path: &'static str,
}

/// Writes the set of a gate into a folder of its own, a corpus by itself. At most `most` controls, the most frequent ones first.
pub fn write(out: &Path, gate: &str, seen: &[Seen], redacting: bool, most: usize, largest: u64) -> Result<Written> {
    let slug: String = gate.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).take(60).collect();
    let folder = out.join(format!("_stimuli-{slug}"));
    if fs::symlink_metadata(&folder).is_ok() {
        return Err(Wrong::at(&folder, "is there already and stays as it is: take it away, or name another folder with --out"));
    }
    let mut distinct: BTreeMap<String, (Line, Vec<Item>)> = BTreeMap::new();
    for one in seen {
        let items = one.what.items(redacting);
        let (digest, bytes) = digest_of(one.what.kind(), &items);
        let (line, _) = distinct.entry(digest.clone()).or_insert_with(|| {
            let path = match &one.what {
                SetOf::File { path, .. } => Some(redact(path)),
                _ => None,
            };
            let line = Line {
                digest,
                kind: one.what.kind(),
                path,
                bytes,
                n: 0,
                n_pass: 0,
                n_fail: 0,
                n_other: 0,
                first_at: None,
                last_at: None,
                fixture: None,
            };
            (line, items)
        });
        line.n += 1;
        match one.verdict {
            "pass" => line.n_pass += 1,
            "fail" => line.n_fail += 1,
            _ => line.n_other += 1,
        }
        if let Some(at) = one.at.map(|t| t.to_string()) {
            line.first_at = Some(line.first_at.take().map_or(at.clone(), |f| f.min(at.clone())));
            line.last_at = Some(line.last_at.take().map_or(at.clone(), |l| l.max(at)));
        }
    }
    let mut list: Vec<(Line, Vec<Item>)> = distinct.into_values().collect();
    list.sort_by(|a, b| (b.0.n, &a.0.digest).cmp(&(a.0.n, &b.0.digest)));
    fs::create_dir_all(&folder).map_err(|e| Wrong::at(&folder, format!("cannot be made: {e}")))?;
    let mut written = Written { folder: folder.clone(), seen: seen.len(), distinct: list.len(), controls: 0, left: 0 };
    for (line, items) in &mut list {
        if line.n_pass != line.n || items.is_empty() {
            continue;
        }
        if written.controls >= most || line.bytes > largest {
            written.left += 1;
            continue;
        }
        let id = format!("seen-{}", line.digest.trim_start_matches("sha256:").get(..16).unwrap_or_default());
        put_fixture(&folder, &id, &control(&id, gate, line)?, items)?;
        line.fixture = Some(id);
        written.controls += 1;
    }
    let mut text = String::new();
    for (line, _) in &list {
        text.push_str(&serde_json::to_string(line).map_err(|e| Wrong::at(&folder, e))?);
        text.push('\n');
    }
    crate::replay::write_whole(&folder.join(LIST), text.as_bytes())?;
    Ok(written)
}

fn digest_of(kind: &str, items: &[Item]) -> (String, u64) {
    let mut hasher = digest::Hasher::default();
    let mut size = 0;
    hasher.text(kind);
    for item in items {
        hasher.text(&item.path.to_string_lossy());
        match &item.content {
            Content::Bytes(bytes) => {
                size += bytes.len() as u64;
                hasher.part(bytes);
            }
            Content::Link(target) => {
                hasher.text(target);
            }
            Content::Folder | Content::File(_) => {}
        }
    }
    (hasher.done(), size)
}

fn control(id: &str, gate: &str, line: &Line) -> Result<String> {
    let (kind, path) = match line.kind {
        "command" => (StimulusKind::Transcript, "stimulus/command.txt"),
        "input" => (StimulusKind::Transcript, "stimulus/input.txt"),
        _ => (StimulusKind::Tree, "stimulus"),
    };
    let gate = word(gate);
    let control = Control {
        format: 1,
        id,
        title: format!("A {} that {gate} let pass", line.kind),
        origin: format!("what {gate} really saw, {} times", line.n),
        happened: format!(
            "{gate} saw this {} times and let it pass each time. Nobody has looked whether it should have: before it counts as known good, read it.\n",
            line.n
        ),
        severity: Severity::Info,
        classification: Classification::Control,
        provenance: Provenance::Harvested,
        tags: ["draft", "real-stimulus"],
        stimulus: ControlStimulus { kind, path },
    };
    toml::to_string_pretty(&control).map_err(|e| Wrong::one(format!("a control cannot be written: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::corpus::Corpus;

    #[test]
    fn each_thing_seen_is_kept_once_and_only_what_always_passed_is_a_control() {
        let dir = tempfile::tempdir().unwrap();
        let seen = |what: SetOf, verdict: &'static str| Seen { what, verdict, at: Some(Ts(1_000_000)) };
        let command = |text: &str| SetOf::Command(text.into());
        let list = [
            seen(command("ls"), "pass"),
            seen(command("ls"), "pass"),
            seen(command("rm -rf /"), "fail"),
            seen(command("cat x"), "pass"),
            seen(command("cat x"), "other"),
            seen(command("cd /home/ann/x"), "pass"),
            seen(command("cd /home/bob/x"), "pass"),
            seen(SetOf::File { path: "src/a.rs".into(), text: "x".into() }, "pass"),
        ];
        let written = write(dir.path(), "PreToolUse:../guard.sh", &list, true, 2, 1 << 20).unwrap();
        assert_eq!((written.seen, written.distinct, written.controls, written.left), (8, 5, 2, 1));
        assert_eq!(written.folder, dir.path().join("_stimuli-pretooluse----guard-sh"));
        let corpus = Corpus::load(&written.folder).unwrap();
        assert_eq!((corpus.fixtures.len(), corpus.controls()), (2, 2));
        let lines = fs::read_to_string(written.folder.join(LIST)).unwrap();
        assert!(lines.lines().next().unwrap().contains("\"n\":2"), "{lines}");
        assert!(!lines.contains("ann"), "{lines}");
        assert!(write(dir.path(), "PreToolUse:../guard.sh", &list, true, 2, 1 << 20).is_err(), "never overwritten");
        // The folder of a set is no fixture of the drafts beside it.
        assert_eq!(Corpus::load(dir.path()).unwrap().fixtures.len(), 0);
    }
}
