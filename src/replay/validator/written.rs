//! Owns what `validators.toml` may say, as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::words::{StimulusKind, ValidatorKind};
use super::Json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    pub format: u32,
    #[serde(default)]
    pub classes: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub validator: Vec<WrittenValidator>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenValidator {
    pub id: String,
    pub gate: String,
    pub command: Option<WrittenCommand>,
    #[serde(default)]
    pub shell: bool,
    #[serde(default)]
    pub files: Vec<String>,
    #[serde(default)]
    pub env: Vec<String>,
    pub timeout: Option<String>,
    pub stimuli: Option<Vec<StimulusKind>>,
    #[serde(default)]
    pub covers: Vec<String>,
    pub cost_ms: Option<f64>,
    pub kind: Option<ValidatorKind>,
    pub verdict: Option<WrittenReader>,
    pub substance: Option<WrittenSubstance>,
    pub judge: Option<WrittenJudge>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum WrittenCommand {
    Argv(Vec<String>),
    Line(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenReader {
    pub exit: Option<WrittenExit>,
    pub json: Option<Json>,
    pub junit: Option<WrittenFile>,
    pub sarif: Option<WrittenFile>,
    pub tap: Option<WrittenTap>,
    pub regex: Option<WrittenPatterns>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenExit {
    #[serde(default)]
    pub pass: Vec<i32>,
    #[serde(default)]
    pub fail: Vec<i32>,
    #[serde(default)]
    pub skipped: Vec<i32>,
    #[serde(default)]
    pub could_not_run: Vec<i32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenFile {
    pub path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenTap {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenPatterns {
    pub pass: Option<String>,
    pub fail: Option<String>,
    pub skipped: Option<String>,
    pub rule: Option<String>,
    pub fingerprint: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenSubstance {
    pub regex: Option<String>,
    pub json: Option<String>,
    pub path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenJudge {
    pub prompt: String,
    pub model: String,
    pub transcripts: String,
}
