//! Owns making one draft: rebuild, redact, verify, minimise, and a folder that the corpus can load, written whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Harvester;
use super::case::{Base, Case, Saw, word};
use super::rebuild::{self, Rebuilt};
use super::redacted::{self, Taken};
use super::shrink::{self, Shrunk};
use super::tree::{self, File, Tree};
use super::trial::{Said, Trials};
use crate::plain::{cut, visible};
use crate::replay::fixture::{FILE, Fixture, Named};
use crate::replay::isolate::put;
use crate::replay::stimulus::{Content, Item, Prepared};
use crate::replay::validator::Validators;
use crate::replay::words::{Classification, Outcome as Cell, Provenance, Severity, StimulusKind};
use crate::replay::wrong::{Result, Wrong};
use crate::source::edits::Change;
use crate::source::redact::redact;

/// More files than this are no fixture.
const MOST_FILES: usize = 20_000;
/// Folder of recorded commands; the corpus passes over names that begin so.
const COMMANDS: &str = "_commands";

/// What became of a case.
#[derive(Debug, Clone)]
pub struct Drafted {
    pub id: String,
    pub folder: PathBuf,
    pub outcome: Outcome,
}

#[derive(Debug, Clone)]
pub enum Outcome {
    /// A draft of it is there already and stays as it is.
    There,
    /// Written, with what is to be said of it, a line each.
    Written { built: Vec<String>, gaps: Vec<String>, verified: bool },
}

/// What validators did with the stimulus.
#[derive(Default)]
struct Verified {
    /// The validator that catches it, its gate, and what it names.
    by: Option<(String, String, Said)>,
    lines: Vec<String>,
    shrunk: Option<Shrunk>,
}

/// What the draft holds.
enum Stimulus {
    Tree(Tree),
    Command(String),
}

pub fn make(harvester: &Harvester, case: &Case) -> Result<Drafted> {
    let id = case.draft_id();
    let folder = harvester.options.out.join(&id);
    if fs::symlink_metadata(&folder).is_ok() {
        return Ok(Drafted { id, folder, outcome: Outcome::There });
    }
    let mut built = Vec::new();
    let mut gaps: Vec<String> = case.gaps.clone();
    let (stimulus, verified, partial) = match &case.saw {
        Saw::Tree { base, edits } => {
            let rebuilt = rebuild::rebuild(base, edits).map_err(Wrong::one)?;
            built.push(told_base(base));
            let planned = edits.iter().filter(|p| p.edit.change != Change::Nothing).count();
            told_rebuilt(&rebuilt, planned, &mut built, &mut gaps);
            if rebuilt.tree.is_empty() {
                return Err(Wrong::one(format!("nothing of what the gate saw can be rebuilt: {}", gaps.join("; "))));
            }
            let (tree, verified) = of_tree(harvester, case, &rebuilt, &mut built, &mut gaps);
            let size = tree::size(&tree);
            if size > harvester.options.largest || tree.len() > MOST_FILES {
                return Err(Wrong::one(format!(
                    "the tree is too large for a fixture ({} files, {} MiB): name validators that catch it (--validators) so that it can be minimised, or allow more (--largest)",
                    tree.len(),
                    size >> 20
                )));
            }
            (Stimulus::Tree(tree), verified, rebuilt.is_partial())
        }
        Saw::Command(text) => {
            built.push("the command that was asked for, as the log has it".to_owned());
            let clean = if harvester.options.redact { redact(text) } else { text.clone() };
            if clean != *text {
                built.push("redacted: secrets or home directories in the command".to_owned());
            }
            let verified = of_command(harvester, case, &clean);
            (Stimulus::Command(clean), verified, false)
        }
    };
    let is_verified = verified.by.is_some();
    let text = fixture_text(case, &id, &stimulus, &built, &gaps, &verified, partial)?;
    write(&harvester.options.out, &id, &text, &stimulus)?;
    built.extend(verified.lines);
    if let Some(command) = &case.command {
        built.extend(keep_command(&harvester.options.out, &id, case, command)?);
    }
    Ok(Drafted { id, folder, outcome: Outcome::Written { built, gaps, verified: is_verified } })
}

fn told_base(base: &Base) -> String {
    match base {
        Base::Recorded { reference, .. } => format!("the tree that was recorded ({reference})"),
        Base::Commit { sha, basis, .. } => format!("commit {}, {basis}", sha.get(..12).unwrap_or(sha)),
        Base::LogAlone => "what the log itself keeps of the files it touched".to_owned(),
    }
}

fn told_rebuilt(rebuilt: &Rebuilt, planned: usize, built: &mut Vec<String>, gaps: &mut Vec<String>) {
    if planned > 0 {
        built.push(format!("{} of the {planned} edits of the session up to the failure", rebuilt.applied));
    }
    if rebuilt.older > 0 {
        built.push(format!("{} older edits are taken as part of the commit", rebuilt.older));
    }
    if !rebuilt.from_log.is_empty() {
        let first: Vec<&str> = rebuilt.from_log.iter().take(5).map(String::as_str).collect();
        let more = if rebuilt.from_log.len() > 5 { ", …" } else { "" };
        built.push(format!(
            "{} files stood otherwise than the log says, its own copy was taken: {}{more}",
            rebuilt.from_log.len(),
            first.join(", ")
        ));
    }
    if rebuilt.base.is_none() {
        gaps.push("the commit the session worked on is not known: files it did not touch are missing".to_owned());
    }
    gaps.extend(rebuilt.failed.iter().map(|f| format!("an edit does not apply: {f}")));
    if rebuilt.refused > 0 {
        gaps.push(format!("{} edits outside of the repository, through `..` or through links are refused", rebuilt.refused));
    }
    gaps.extend(rebuilt.left_out.iter().map(|l| format!("left out: {l}")));
}

fn of_tree(harvester: &Harvester, case: &Case, rebuilt: &Rebuilt, built: &mut Vec<String>, gaps: &mut Vec<String>) -> (Tree, Verified) {
    let mut taken = Taken::default();
    let (full, base) = if harvester.options.redact {
        let full = redacted::tree(&rebuilt.tree, &mut taken);
        (full.clone(), rebuilt.base.as_ref().map(|base| clean_base(base, &rebuilt.tree, &full)))
    } else {
        built.push("not redacted, as asked for".to_owned());
        (rebuilt.tree.clone(), rebuilt.base.clone())
    };
    if taken.names > 0 {
        gaps.push(format!("{} files are left out, for their names hold secrets", taken.names));
    }
    let mut verified = try_validators(harvester, case, &full, base.as_ref());
    if verified.by.is_none() && taken != Taken::default() && caught_as_it_was(harvester, case, &rebuilt.tree) {
        gaps.push("before it was redacted a validator caught it: what was taken out is part of what is caught".to_owned());
    }
    let tree = match &mut verified.shrunk {
        Some(shrunk) => std::mem::take(&mut shrunk.tree),
        None => full,
    };
    if taken.places > 0 {
        // Of the whole tree; most of it may be gone by now.
        let left = tree.values().filter_map(File::bytes).map(|b| String::from_utf8_lossy(b).matches("[redacted: ").count()).sum::<usize>();
        built.push(format!("redacted: {} places in {} files of the whole tree, {left} secrets in what is left", taken.places, taken.files));
    }
    (tree, verified)
}

/// The redacted base: files that did not change are redacted already.
fn clean_base(base: &Tree, raw: &Tree, clean: &Tree) -> Tree {
    let mut changed = Tree::new();
    let mut out = Tree::new();
    for (path, file) in base {
        match clean.get(path) {
            Some(done) if raw.get(path) == Some(file) => out.insert(path.clone(), done.clone()),
            _ => changed.insert(path.clone(), file.clone()),
        };
    }
    out.extend(redacted::tree(&changed, &mut Taken::default()));
    out
}

fn caught_as_it_was(harvester: &Harvester, case: &Case, tree: &Tree) -> bool {
    let Some(cage) = &harvester.cage else { return false };
    let prepared = tree::prepared(tree);
    harvester.validators_of(case, StimulusKind::Tree).into_iter().any(|v| {
        let budget = harvester.options.budget;
        Trials::new(cage, v, &harvester.validators.classes, budget.trials, budget.time).first(&prepared).is_ok()
    })
}

fn try_validators(harvester: &Harvester, case: &Case, full: &Tree, base: Option<&Tree>) -> Verified {
    let mut out = Verified::default();
    let budget = harvester.options.budget;
    let Some(mut trials_of) = validators(harvester, case, StimulusKind::Tree, &mut out.lines) else { return out };
    let prepared = tree::prepared(full);
    for (id, gate, trials) in &mut trials_of {
        let Some(said) = believed(id, trials, &prepared, &Prepared::emptied(StimulusKind::Tree), &mut out.lines) else { continue };
        if harvester.options.minimise {
            let shrunk = shrink::shrink(full, base, &said, trials);
            if shrunk.tree.is_empty() || !trials.says(&tree::prepared(&shrunk.tree), &said) {
                out.lines.push(format!("{id} does not say the same each time: not minimised"));
            } else {
                out.lines.push(told_shrunk(id, &shrunk, trials.made, budget.trials));
                if shrunk.in_base {
                    out.lines.push("the base alone is caught as well: the changes are not what is caught".to_owned());
                }
                out.shrunk = Some(shrunk);
            }
        } else {
            out.lines.push(format!("{id} catches it; not minimised, as asked for"));
        }
        out.by = Some((id.clone(), gate.clone(), said));
        break;
    }
    out
}

fn of_command(harvester: &Harvester, case: &Case, text: &str) -> Verified {
    let mut out = Verified::default();
    let Some(mut trials_of) = validators(harvester, case, StimulusKind::Transcript, &mut out.lines) else { return out };
    let shown = |text: &str| Prepared {
        kind: StimulusKind::Transcript,
        items: vec![command_item(text)],
        patch: None,
        file: Some(COMMAND_FILE.to_owned()),
    };
    for (id, gate, trials) in &mut trials_of {
        if let Some(said) = believed(id, trials, &shown(text), &shown(""), &mut out.lines) {
            out.lines.push(format!("{id} catches it"));
            out.by = Some((id.clone(), gate.clone(), said));
            break;
        }
    }
    out
}

type TrialsOf<'a> = Vec<(String, String, Trials<'a>)>;

/// The validators that may be asked; a line says why there are none.
fn validators<'a>(harvester: &'a Harvester, case: &Case, kind: StimulusKind, lines: &mut Vec<String>) -> Option<TrialsOf<'a>> {
    let found = harvester.validators_of(case, kind);
    match (&harvester.cage, found.is_empty()) {
        (Some(cage), false) => {
            let budget = harvester.options.budget;
            let trials = |v| Trials::new(cage, v, &harvester.validators.classes, budget.trials, budget.time);
            Some(found.into_iter().map(|v| (v.id.clone(), v.gate.clone(), trials(v))).collect())
        }
        (Some(_), true) => {
            lines.push(format!(
                "neither verified nor minimised: no validator reads a {kind} for the gate {} (--validator names one)",
                case.gate_word()
            ));
            None
        }
        (None, _) => {
            lines.push("neither verified nor minimised: no validators are named (--validators FILE)".to_owned());
            None
        }
    }
}

/// What a validator names of the stimulus, if it can be believed; else a line says why not.
fn believed(id: &str, trials: &mut Trials<'_>, full: &Prepared, emptied: &Prepared, lines: &mut Vec<String>) -> Option<Said> {
    let said = match trials.first(full) {
        Ok(said) => said,
        Err(once) => {
            lines.push(format!("{id} does not catch it ({}: {})", once.outcome, once.why));
            return None;
        }
    };
    if trials.says(emptied, &said) {
        lines.push(format!("{id} says the same of nothing at all: not believed"));
        return None;
    }
    if !trials.says(full, &said) {
        lines.push(format!("{id} does not say the same each time: not believed"));
        return None;
    }
    Some(said)
}

fn told_shrunk(id: &str, shrunk: &Shrunk, made: usize, most: usize) -> String {
    let changes = shrunk.changes.map_or(String::new(), |(before, after)| format!(", {before} → {after} changes in files of the base"));
    let end = match shrunk.cut {
        None => "nothing more can be left out".to_owned(),
        Some("time") => "its time was used up, it may get smaller".to_owned(),
        Some(_) => format!("its {most} trials were used up, it may get smaller"),
    };
    format!("minimised with {id}: {} → {} files{changes}, in {made} runs; {end}", shrunk.files.0, shrunk.files.1)
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

fn fixture_text(
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

/// Name of the one file of a command.
const COMMAND_FILE: &str = "command.txt";

fn command_item(text: &str) -> Item {
    Item { path: PathBuf::from(COMMAND_FILE), executable: false, content: Content::Bytes(text.as_bytes().into()) }
}

/// Writes beside its place, reads it as the corpus will, and puts it there whole.
fn write(out: &Path, id: &str, text: &str, stimulus: &Stimulus) -> Result<()> {
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
fn keep_command(out: &Path, id: &str, case: &Case, command: &str) -> Result<Option<String>> {
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
