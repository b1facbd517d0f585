//! Owns `validators.toml`: what a validator consists of, how it is run, and how its verdict is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;

use super::digest::{self, Hasher};
use super::fixture::{first_line, is_id, is_word};
use super::place;
use super::words::{Said, StimulusKind, ValidatorKind};
use super::wrong::{Problems, Result, Wrong, toml};

/// Time a validator has where it names none.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// The validators of one file.
#[derive(Debug, Clone, Default)]
pub struct Validators {
    pub file: PathBuf,
    pub list: Vec<Validator>,
    /// Named text classes.
    pub classes: BTreeMap<String, Vec<Regex>>,
}

#[derive(Debug, Clone)]
pub struct Validator {
    pub id: String,
    pub gate: String,
    pub command: Command,
    /// Files and folders it consists of: name beside the stimulus, and where they lie.
    pub files: Vec<(String, PathBuf)>,
    /// Names let through from outside.
    pub env: Vec<String>,
    /// As the file says; [`TIMEOUT`] otherwise.
    pub timeout: Option<Duration>,
    pub stimuli: Vec<StimulusKind>,
    pub covers: Vec<String>,
    pub cost_ms: Option<f64>,
    pub reader: Reader,
    pub substance: Option<Substance>,
    pub judge: Option<Judge>,
    /// Over its files and all that the file says of it.
    pub digest: String,
}

#[derive(Debug, Clone)]
pub enum Command {
    Argv(Vec<String>),
    Shell(String),
}

/// How a verdict is read.
#[derive(Debug, Clone)]
pub enum Reader {
    Exit(BTreeMap<i32, Said>),
    Json(Json),
    Junit {
        path: Option<String>,
    },
    Sarif {
        path: Option<String>,
    },
    Tap,
    Regex(Patterns),
    /// A judge's verdict is in its transcript.
    Transcript,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Json {
    pub path: Option<String>,
    pub pointer: String,
    #[serde(default)]
    pub pass: Vec<serde_json::Value>,
    #[serde(default)]
    pub fail: Vec<serde_json::Value>,
    #[serde(default)]
    pub skipped: Vec<serde_json::Value>,
    #[serde(default)]
    pub could_not_run: Vec<serde_json::Value>,
    pub findings: Option<String>,
    pub rule: Option<String>,
    pub fingerprint: Option<String>,
    pub message: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Patterns {
    pub pass: Option<Regex>,
    pub fail: Option<Regex>,
    pub skipped: Option<Regex>,
    pub rule: Option<Regex>,
    pub fingerprint: Option<Regex>,
}

/// How many subjects it read.
#[derive(Debug, Clone)]
pub enum Substance {
    Regex(Regex),
    Json { pointer: String, path: Option<String> },
}

#[derive(Debug, Clone)]
pub struct Judge {
    pub prompt: PathBuf,
    pub prompt_digest: String,
    pub model: String,
    pub transcripts: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: u32,
    #[serde(default)]
    classes: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    validator: Vec<WrittenValidator>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenValidator {
    id: String,
    gate: String,
    command: Option<WrittenCommand>,
    #[serde(default)]
    shell: bool,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    env: Vec<String>,
    timeout: Option<String>,
    stimuli: Option<Vec<StimulusKind>>,
    #[serde(default)]
    covers: Vec<String>,
    cost_ms: Option<f64>,
    kind: Option<ValidatorKind>,
    verdict: Option<WrittenReader>,
    substance: Option<WrittenSubstance>,
    judge: Option<WrittenJudge>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenCommand {
    Argv(Vec<String>),
    Line(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenReader {
    exit: Option<WrittenExit>,
    json: Option<Json>,
    junit: Option<WrittenFile>,
    sarif: Option<WrittenFile>,
    tap: Option<WrittenTap>,
    regex: Option<WrittenPatterns>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExit {
    #[serde(default)]
    pass: Vec<i32>,
    #[serde(default)]
    fail: Vec<i32>,
    #[serde(default)]
    skipped: Vec<i32>,
    #[serde(default)]
    could_not_run: Vec<i32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTap {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPatterns {
    pass: Option<String>,
    fail: Option<String>,
    skipped: Option<String>,
    rule: Option<String>,
    fingerprint: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSubstance {
    regex: Option<String>,
    json: Option<String>,
    path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenJudge {
    prompt: String,
    model: String,
    transcripts: String,
}

impl Validators {
    /// Reads a `validators.toml`, every problem found.
    pub fn load(file: &Path) -> Result<Validators> {
        let text = std::fs::read_to_string(file).map_err(|e| Wrong::at(file, e))?;
        let written: Written = toml(file, &text)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut problems = Problems::default();
        let at = |text: String| Wrong::at(file, text).to_string();
        if written.format != 1 {
            problems.push(at(format!("format {} is not known: this version reads format 1", written.format)));
        }
        let mut classes = BTreeMap::new();
        for (name, patterns) in &written.classes {
            let mut compiled = Vec::new();
            for pattern in patterns {
                match Regex::new(pattern) {
                    Ok(regex) => compiled.push(regex),
                    Err(e) => {
                        problems.push(at(format!("class `{name}`: no regular expression: {}", first_line(&e.to_string()))));
                    }
                }
            }
            classes.insert(name.clone(), compiled);
        }
        let mut list: Vec<Validator> = Vec::new();
        let mut seen = BTreeSet::new();
        // What the file says of each: a changed value is a changed validator, whatever the order and the spaces.
        let table: toml::Table = toml(file, &text)?;
        let tables = table.get("validator").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
        for (written, said) in written.validator.into_iter().zip(tables) {
            let said = said.to_string();
            let id = written.id.clone();
            if !seen.insert(id.clone()) {
                problems.push(at(format!("validator `{}` is there twice", crate::plain::escape(&id))));
            }
            match validator(folder, written, &said) {
                Ok(validator) => list.push(validator),
                Err(Wrong(lines)) => {
                    for line in lines {
                        problems.push(at(format!("validator `{}`: {line}", crate::plain::escape(&id))));
                    }
                }
            }
        }
        problems.done(Validators { file: file.to_owned(), list, classes })
    }

    pub fn get(&self, id: &str) -> Option<&Validator> {
        self.list.iter().find(|v| v.id == id)
    }
}

fn validator(folder: &Path, written: WrittenValidator, said: &str) -> Result<Validator> {
    let mut problems = Problems::default();
    if !is_id(&written.id) {
        problems.push("id: use small letters, digits and hyphens, at most 64");
    }
    if !is_word(&written.gate) {
        problems.push("gate: use letters, digits, _ - . : /");
    }
    let kind = written.kind.unwrap_or(ValidatorKind::Deterministic);
    let command = problems.keep(command(&written, kind));
    let mut files = Vec::new();
    let mut hasher = Hasher::default();
    hasher.text(said);
    for name in &written.files {
        let path = match place::inside(folder, name) {
            Ok(path) => path,
            Err(e) => {
                problems.push(format!("files: {e}"));
                continue;
            }
        };
        if problems.keep(place::no_link(folder, &path)).is_none() {
            continue;
        }
        if path == folder {
            problems.push("files: name what it consists of, not the whole folder");
            continue;
        }
        let digested = if path.is_dir() {
            hasher.tree(name, &path).map(|_| ())
        } else {
            use std::os::unix::fs::PermissionsExt;
            let executable = path.metadata().is_ok_and(|m| m.permissions().mode() & 0o111 != 0);
            hasher.file(name, &path, executable).map(|_| ())
        };
        if problems.keep(digested).is_some() {
            files.push((name.trim_end_matches('/').to_owned(), path));
        }
    }
    for name in &written.env {
        if name.is_empty() || name.contains(['=', '\0']) || ["PATH", "HOME", "TMPDIR", "LC_ALL"].contains(&name.as_str()) {
            problems.push(format!(
                "env: `{}` cannot be let through (PATH, HOME, TMPDIR, LC_ALL are set by replay)",
                crate::plain::escape(name)
            ));
        }
    }
    let timeout = match &written.timeout {
        None => None,
        Some(text) => problems.keep(duration(text).map_err(|e| Wrong::one(format!("timeout: {e}")))),
    };
    let stimuli = written.stimuli.clone().unwrap_or_else(|| StimulusKind::ALL.to_vec());
    if stimuli.is_empty() {
        problems.push("stimuli: an empty list reads nothing; leave it out for all kinds");
    }
    if written.cost_ms.is_some_and(|c| !c.is_finite() || c < 0.0) {
        problems.push("cost_ms: a number of milliseconds, not negative");
    }
    let judge = match (kind, &written.judge) {
        (ValidatorKind::Judge, Some(judge)) => problems.keep(read_judge(folder, judge)),
        (ValidatorKind::Judge, None) => {
            problems.push("a judge needs [validator.judge]: prompt, model, transcripts");
            None
        }
        (ValidatorKind::Deterministic, Some(_)) => {
            problems.push("[validator.judge] belongs to kind = \"judge\"");
            None
        }
        (ValidatorKind::Deterministic, None) => None,
    };
    if let Some(judge) = &judge {
        hasher.text(&judge.prompt_digest);
        if judge.transcripts.is_dir() {
            problems.keep(hasher.tree("transcripts", &judge.transcripts).map(|_| ()));
        }
    }
    let reader = match (kind, written.verdict) {
        (ValidatorKind::Judge, None) => Some(Reader::Transcript),
        (ValidatorKind::Judge, Some(_)) => {
            problems.push("a judge's verdict is in its transcripts: leave [validator.verdict] out");
            None
        }
        (_, Some(reader)) => problems.keep(read_reader(reader)),
        (_, None) => {
            problems.push("[validator.verdict] is missing: say how its verdict is read (exit, json, junit, sarif, tap or regex)");
            None
        }
    };
    let substance = match written.substance {
        None => None,
        Some(s) => problems.keep(read_substance(s)),
    };
    let digest = hasher.done();
    let (Some(command), Some(reader)) = (command, reader) else {
        return problems.done(()).and(Err(Wrong::one("cannot be read")));
    };
    problems.done(Validator {
        id: written.id,
        gate: written.gate,
        command,
        files,
        env: written.env,
        timeout,
        stimuli,
        covers: written.covers,
        cost_ms: written.cost_ms,
        reader,
        substance,
        judge,
        digest,
    })
}

fn command(written: &WrittenValidator, kind: ValidatorKind) -> Result<Command> {
    match (&written.command, written.shell, kind) {
        (None, _, ValidatorKind::Judge) => Ok(Command::Argv(Vec::new())),
        (Some(_), _, ValidatorKind::Judge) => Err(Wrong::one("a judge is not run: leave `command` out")),
        (None, ..) => Err(Wrong::one("command is missing")),
        (Some(WrittenCommand::Argv(argv)), false, _) if argv.first().is_some_and(|a| !a.is_empty()) => {
            match argv.iter().any(|a| a.contains('\0')) {
                true => Err(Wrong::one("command: holds a NUL character")),
                false => Ok(Command::Argv(argv.clone())),
            }
        }
        (Some(WrittenCommand::Line(line)), true, _) if !line.trim().is_empty() && !line.contains('\0') => Ok(Command::Shell(line.clone())),
        (Some(WrittenCommand::Line(_)), false, _) => {
            Err(Wrong::one("command: write a list of arguments, or one string together with shell = true"))
        }
        (Some(WrittenCommand::Argv(_)), true, _) => Err(Wrong::one("command: with shell = true write one string")),
        _ => Err(Wrong::one("command is empty")),
    }
}

fn read_judge(folder: &Path, written: &WrittenJudge) -> Result<Judge> {
    let prompt = place::inside(folder, &written.prompt).map_err(|e| Wrong::one(format!("judge.prompt: {e}")))?;
    let transcripts = place::inside(folder, &written.transcripts).map_err(|e| Wrong::one(format!("judge.transcripts: {e}")))?;
    place::no_link(folder, &prompt)?;
    if transcripts.exists() {
        place::no_link(folder, &transcripts)?;
    }
    let prompt_digest = digest::path(&prompt)?;
    Ok(Judge { prompt, prompt_digest, model: written.model.clone(), transcripts })
}

fn read_reader(written: WrittenReader) -> Result<Reader> {
    let n = [
        written.exit.is_some(),
        written.json.is_some(),
        written.junit.is_some(),
        written.sarif.is_some(),
        written.tap.is_some(),
        written.regex.is_some(),
    ]
    .iter()
    .filter(|given| **given)
    .count();
    if n != 1 {
        return Err(Wrong::one(format!("verdict: give exactly one of exit, json, junit, sarif, tap, regex ({n} are given)")));
    }
    let path = |file: WrittenFile| match &file.path {
        Some(p) => place::inside(Path::new(""), p).map(|_| file.path.clone()).map_err(|e| Wrong::one(format!("verdict.path: {e}"))),
        None => Ok(None),
    };
    if let Some(exit) = written.exit {
        let mut table = BTreeMap::new();
        for (said, codes) in
            [(Said::Pass, exit.pass), (Said::Fail, exit.fail), (Said::Skipped, exit.skipped), (Said::CouldNotRun, exit.could_not_run)]
        {
            for code in codes {
                if !(0..=255).contains(&code) {
                    return Err(Wrong::one(format!("verdict.exit: {code} is no exit code (0 to 255)")));
                }
                if let Some(other) = table.insert(code, said)
                    && other != said
                {
                    return Err(Wrong::one(format!("verdict.exit: {code} means both {other} and {said}")));
                }
            }
        }
        if !table.values().any(|s| *s == Said::Fail) || !table.values().any(|s| *s == Said::Pass) {
            return Err(Wrong::one("verdict.exit: name at least one code for pass and one for fail"));
        }
        return Ok(Reader::Exit(table));
    }
    if let Some(json) = written.json {
        if let Some(p) = &json.path {
            place::inside(Path::new(""), p).map_err(|e| Wrong::one(format!("verdict.path: {e}")))?;
        }
        if json.pass.is_empty() || json.fail.is_empty() {
            return Err(Wrong::one("verdict.json: give the values of `pass` and of `fail`"));
        }
        for pointer in [Some(&json.pointer), json.findings.as_ref(), json.rule.as_ref(), json.fingerprint.as_ref(), json.message.as_ref()]
            .into_iter()
            .flatten()
        {
            pointer_form(pointer)?;
        }
        return Ok(Reader::Json(json));
    }
    if let Some(file) = written.junit {
        return Ok(Reader::Junit { path: path(file)? });
    }
    if let Some(file) = written.sarif {
        return Ok(Reader::Sarif { path: path(file)? });
    }
    if let Some(WrittenTap {}) = written.tap {
        return Ok(Reader::Tap);
    }
    let Some(patterns) = written.regex else { return Err(Wrong::one("verdict: nothing is given")) };
    let compiled = |name: &str, text: Option<String>| match text {
        None => Ok(None),
        Some(text) => Regex::new(&text)
            .map(Some)
            .map_err(|e| Wrong::one(format!("verdict.regex.{name}: no regular expression: {}", first_line(&e.to_string())))),
    };
    let patterns = Patterns {
        pass: compiled("pass", patterns.pass)?,
        fail: compiled("fail", patterns.fail)?,
        skipped: compiled("skipped", patterns.skipped)?,
        rule: compiled("rule", patterns.rule)?,
        fingerprint: compiled("fingerprint", patterns.fingerprint)?,
    };
    if patterns.pass.is_none() || patterns.fail.is_none() {
        return Err(Wrong::one("verdict.regex: give a pattern for `pass` and one for `fail` (silence is no verdict)"));
    }
    Ok(Reader::Regex(patterns))
}

fn pointer_form(pointer: &str) -> Result<()> {
    match pointer.is_empty() || pointer.starts_with('/') {
        true => Ok(()),
        false => Err(Wrong::one(format!("`{}` is no JSON pointer: it begins with `/`", crate::plain::escape(pointer)))),
    }
}

fn read_substance(written: WrittenSubstance) -> Result<Substance> {
    match (written.regex, written.json) {
        (Some(text), None) => {
            let regex = Regex::new(&text)
                .map_err(|e| Wrong::one(format!("substance.regex: no regular expression: {}", first_line(&e.to_string()))))?;
            if regex.captures_len() < 2 {
                return Err(Wrong::one("substance.regex: put the number in a group, as in (\\d+) checked"));
            }
            Ok(Substance::Regex(regex))
        }
        (None, Some(pointer)) => {
            pointer_form(&pointer)?;
            if let Some(p) = &written.path {
                place::inside(Path::new(""), p).map_err(|e| Wrong::one(format!("substance.path: {e}")))?;
            }
            Ok(Substance::Json { pointer, path: written.path })
        }
        _ => Err(Wrong::one("substance: give either regex or json")),
    }
}

/// `10s`, `500ms`, `2m`.
pub fn duration(text: &str) -> std::result::Result<Duration, String> {
    let wrong = || format!("`{}` is no duration; write 500ms, 10s or 2m", crate::plain::escape(text));
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let duration = match unit {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.saturating_mul(60)),
        _ => return Err(wrong()),
    };
    match duration {
        d if d.is_zero() => Err("0 leaves no time to run".to_owned()),
        d if d > Duration::from_secs(24 * 3600) => Err("more than a day".to_owned()),
        d => Ok(d),
    }
}
