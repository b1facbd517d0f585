//! Owns writing a draft: its `fixture.toml`, its stimulus, and the gate's command beside it; each whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::case::{Case, word};
use super::tree::{self, Tree};
use super::verify::Verified;
use crate::plain::{cut, visible};
use crate::replay::fixture::{FILE, Fixture, Named};
use crate::replay::isolate::put;
use crate::replay::stimulus::{Content, Item};
use crate::replay::validator::Validators;
use crate::replay::words::{Classification, Outcome as Cell, Provenance, Severity, StimulusKind};
use crate::replay::wrong::{Result, Wrong};
use crate::source::redact::redact;

/// Folder of recorded commands; the corpus passes over names that begin so.
const COMMANDS: &str = "_commands";
/// Name of the one file of a command.
pub const COMMAND_FILE: &str = "command.txt";

/// What the draft holds.
pub enum Stimulus {
    Tree(Tree),
    Command(String),
}

#[derive(Serialize)]
struct Written<'a> {
    format: u32,
    id: &'a str,
    title: String,
    origin: String,
    happened: String,
    failure_mode: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_class: Option<String>,
    severity: Severity,
    classification: Classification,
    provenance: Provenance,
    caught_by: Vec<String>,
    missed_by: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    tags: Vec<&'static str>,
    stimulus: WrittenStimulus,
    expect: Vec<WrittenExpect>,
}

#[derive(Serialize)]
struct WrittenStimulus {
    kind: StimulusKind,
    path: String,
}

#[derive(Serialize)]
struct WrittenExpect {
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validator: Option<String>,
    outcome: Cell,
    #[serde(skip_serializing_if = "Option::is_none")]
    finding: Option<WrittenFinding>,
}

#[derive(Serialize)]
struct WrittenFinding {
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
}

/// A text of a log as it may be written: one line, nothing unseen, no secret.
fn clean(text: &str, width: usize) -> String {
    cut(&visible(&redact(text)), width)
}

/// The text of `fixture.toml`.
pub fn fixture_text(
    case: &Case,
    id: &str,
    stimulus: &Stimulus,
    built: &[String],
    gaps: &[String],
    verified: &Verified,
    partial: bool,
) -> Result<String> {
    let gate = case.gate_word();
    let mut tags = vec!["draft"];
    tags.extend(verified.by.is_none().then_some("unverified"));
    tags.extend(partial.then_some("partial"));
    tags.extend(case.severity.is_none().then_some("severity-unknown"));
    let finding = |named: Named| WrittenFinding { rule: named.rule, fingerprint: named.fingerprint };
    let expect = match &verified.by {
        // Where the validator stands for another gate, what is expected is expected of it alone.
        Some((validator, of, said)) if *of != gate => {
            WrittenExpect { gate: None, validator: Some(validator.clone()), outcome: Cell::Catches, finding: said.named().map(finding) }
        }
        by => WrittenExpect {
            gate: Some(gate.clone()),
            validator: None,
            outcome: Cell::Catches,
            finding: by.as_ref().and_then(|(_, _, said)| said.named()).map(finding),
        },
    };
    let what = case.fingerprint.as_deref().or(case.rule.as_deref()).unwrap_or("it does not say what it found");
    let words = |list: &[String]| {
        let mut out: Vec<String> = list.iter().map(|n| word(n)).collect();
        out.sort();
        out.dedup();
        out
    };
    let mut caught_by = case.caught_by.clone();
    caught_by.push(case.gate.clone());
    let written = Written {
        format: 1,
        id,
        title: clean(&format!("{} failed: {what}", case.gate), 160),
        origin: clean(&case.origin, 400),
        happened: happened(case, built, &verified.lines, gaps),
        failure_mode: case.failure_mode.as_deref().map_or_else(|| "unclassified".to_owned(), word),
        failure_class: case.failure_class.as_deref().map(word),
        severity: case.severity.unwrap_or(Severity::Minor),
        classification: Classification::Normative,
        provenance: Provenance::Harvested,
        caught_by: words(&caught_by),
        missed_by: words(&case.missed_by),
        date: case.at.map(|t| t.to_string()).and_then(|t| t.get(..10).map(str::to_owned)),
        tags,
        stimulus: match stimulus {
            Stimulus::Tree(_) => WrittenStimulus { kind: StimulusKind::Tree, path: "stimulus".to_owned() },
            Stimulus::Command(_) => WrittenStimulus { kind: StimulusKind::Transcript, path: format!("stimulus/{COMMAND_FILE}") },
        },
        expect: vec![expect],
    };
    toml::to_string_pretty(&written).map_err(|e| Wrong::one(format!("the draft cannot be written: {e}")))
}

fn happened(case: &Case, built: &[String], checked: &[String], gaps: &[String]) -> String {
    let mut lines = vec!["A draft: read it, say in your own words what went wrong, then move it into the corpus and lock it.".to_owned()];
    let at = case.at.map_or(String::new(), |t| format!(" at {t}"));
    let status = case.exit_status.map_or(String::new(), |s| format!(" with exit status {s}"));
    lines.push(format!("The gate {} failed{at}{status}.", clean(&case.gate, 120)));
    for (name, text) in [("Rule", &case.rule), ("Finding", &case.fingerprint), ("Place", &case.location), ("Command", &case.command)] {
        if let Some(text) = text {
            lines.push(format!("{name}: {}", clean(text, 400)));
        }
    }
    lines.extend(built.iter().map(|l| format!("Built from: {}", clean(l, 400))));
    lines.extend(checked.iter().map(|l| format!("Checked: {}", clean(l, 400))));
    lines.extend(gaps.iter().map(|l| format!("Gap: {}", clean(l, 400))));
    lines.join("\n") + "\n"
}

/// A command as a file.
pub fn command_item(text: &str) -> Item {
    Item { path: PathBuf::from(COMMAND_FILE), executable: false, content: Content::Bytes(text.as_bytes().into()) }
}

/// Writes beside its place, reads it as the corpus will, and puts it there whole.
pub fn write(out: &Path, id: &str, text: &str, stimulus: &Stimulus) -> Result<()> {
    let items = match stimulus {
        Stimulus::Tree(tree) => tree.iter().map(|(path, file)| tree::item(path, file)).collect(),
        Stimulus::Command(text) => vec![command_item(text)],
    };
    put_fixture(out, id, text, &items)
}

/// A fixture's folder, whole or not at all. One that is there is never touched.
pub fn put_fixture(out: &Path, id: &str, text: &str, items: &[Item]) -> Result<()> {
    fs::create_dir_all(out).map_err(|e| Wrong::at(out, format!("cannot be made: {e}")))?;
    let staged = tempfile::Builder::new().prefix(".harvest-").tempdir_in(out).map_err(|e| Wrong::at(out, e))?;
    let folder = staged.path().join(id);
    let stimulus = folder.join("stimulus");
    fs::create_dir_all(&stimulus).map_err(|e| Wrong::at(&folder, e))?;
    for item in items {
        let to = stimulus.join(&item.path);
        let made = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| put(&stimulus, item));
        made.map_err(|e| Wrong::at(&to, format!("cannot be written: {e}")))?;
    }
    fs::write(folder.join(FILE), text).map_err(|e| Wrong::at(&folder, e))?;
    Fixture::load(staged.path(), &folder)?;
    let to = out.join(id);
    if fs::symlink_metadata(&to).is_ok() {
        return Err(Wrong::at(&to, "is there already and stays as it is"));
    }
    fs::rename(&folder, &to).map_err(|e| Wrong::at(&to, format!("cannot be put there: {e}")))
}

#[derive(Serialize)]
struct CommandFile<'a> {
    format: u32,
    validator: [CommandOf<'a>; 1],
}

#[derive(Serialize)]
struct CommandOf<'a> {
    id: &'a str,
    gate: String,
    command: String,
    shell: bool,
    verdict: CommandVerdict,
}

#[derive(Serialize)]
struct CommandVerdict {
    exit: Exits,
}

#[derive(Serialize)]
struct Exits {
    pass: [i64; 1],
    fail: Vec<i64>,
}

/// The gate's command as a validator to begin with; a line says where it stands.
pub fn keep_command(out: &Path, id: &str, case: &Case, command: &str) -> Result<Option<String>> {
    let command = redact(command);
    let fail = match case.exit_status {
        Some(code @ 1..=255) => vec![code],
        _ => vec![1, 2],
    };
    let exit = Exits { pass: [0], fail };
    let of = CommandOf { id, gate: case.gate_word(), command, shell: true, verdict: CommandVerdict { exit } };
    let Ok(body) = toml::to_string_pretty(&CommandFile { format: 1, validator: [of] }) else { return Ok(None) };
    let head = "# The command as it was recorded, to begin a validator with. A hook gets its input on standard input, which replay leaves closed.\n";
    let folder = out.join(COMMANDS);
    let file = folder.join(format!("{id}.toml"));
    if fs::symlink_metadata(&file).is_ok() {
        return Ok(None);
    }
    fs::create_dir_all(&folder).map_err(|e| Wrong::at(&folder, e))?;
    crate::replay::write_whole(&file, format!("{head}{body}").as_bytes())?;
    if Validators::load(&file).is_err() {
        // A command with a NUL, or one that is blank: no validator.
        let _ = fs::remove_file(&file);
        return Ok(None);
    }
    Ok(Some(format!("the gate's command stands in {COMMANDS}/{id}.toml")))
}
