//! Owns the reading of `validators.toml`: every validator checked, every problem found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

use super::super::digest::{self, Hasher};
use super::super::fixture::{first_line, is_id, is_word};
use super::super::place;
use super::super::words::{StimulusKind, ValidatorKind};
use super::super::wrong::{Problems, Result, Wrong, toml};
use super::duration::duration;
use super::readers::{read_reader, read_substance};
use super::written::{Written, WrittenCommand, WrittenJudge, WrittenValidator};
use super::{Command, Judge, Reader, Validator, Validators};

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
