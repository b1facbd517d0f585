//! Owns `validators.toml`: what a validator consists of, how it is run, and how its verdict is read.

mod duration;
mod load;
mod readers;
mod written;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;

use super::words::{Said, StimulusKind};

pub use duration::duration;

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
