//! Owns recorded verdicts of judges: a transcript counts only for the prompt, the model and the input it was recorded with.

use serde::Deserialize;

use super::digest::{self, Hasher};
use super::fixture::Fixture;
use super::validator::Judge;
use super::verdict::{Finding, Reading};
use super::words::Said;
use super::wrong::Result as Checked;

#[derive(Debug, Deserialize)]
struct Transcript {
    prompt_digest: String,
    model: String,
    input_digest: String,
    verdict: Said,
    #[serde(default)]
    findings: Vec<Finding>,
    substance: Option<u64>,
    #[serde(default)]
    output: String,
}

/// What the recorded verdict is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    Reading(Reading, String),
    /// It belongs to something else, and to what.
    Stale(String),
    /// There is none.
    Missing,
    Unreadable(String),
}

/// The digest of what a judge is shown of a fixture: the stimulus alone, whatever the fixture says of it.
pub fn input_digest(fixture: &Fixture) -> Checked<String> {
    let stimulus = &fixture.stimulus;
    match (&stimulus.base, &stimulus.commit) {
        (_, Some(commit)) => Ok(format!("commit:{commit}")),
        (Some(base), _) => {
            let mut hasher = Hasher::default();
            hasher.tree("base", base)?.file("patch", &stimulus.path, false)?;
            Ok(hasher.done())
        }
        _ => digest::path(&stimulus.path),
    }
}

/// Reads a judge's transcript of a fixture.
pub fn recorded(judge: &Judge, fixture: &Fixture) -> Recorded {
    let path = judge.transcripts.join(format!("{}.json", fixture.id));
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Recorded::Missing,
        Err(e) => return Recorded::Unreadable(format!("its transcript cannot be read: {e}")),
    };
    let transcript: Transcript = match serde_json::from_str(&text) {
        Ok(transcript) => transcript,
        Err(e) => return Recorded::Unreadable(format!("its transcript cannot be read: {e}")),
    };
    let input = match input_digest(fixture) {
        Ok(digest) => digest,
        Err(e) => return Recorded::Unreadable(e.to_string()),
    };
    let mut other = Vec::new();
    if transcript.prompt_digest != judge.prompt_digest {
        other.push("prompt");
    }
    if transcript.model != judge.model {
        other.push("model");
    }
    if transcript.input_digest != input {
        other.push("input");
    }
    if !other.is_empty() {
        return Recorded::Stale(format!("recorded with another {}", other.join(", ")));
    }
    Recorded::Reading(
        Reading { said: transcript.verdict, findings: transcript.findings, substance: transcript.substance },
        transcript.output,
    )
}
