//! Owns harvest: from what is recorded of a failure to a draft fixture that replays it, as small as it gets, and to sets of what a gate
//! really saw.
//!
//! Everything a record or a log says is hostile: it chooses no path, is redacted before it is written, and is bounded in size.

mod case;
mod changes;
mod ddmin;
mod draft;
mod paths;
mod rebuild;
mod redacted;
mod repository;
mod shrink;
mod stimuli;
mod tree;
mod trial;
mod verify;
mod write;

pub use case::{Base, Case, Planned, Saw};
pub use draft::{Drafted, Outcome as DraftOutcome};
pub use paths::below;
pub use rebuild::whole_after;
pub use repository::{commit_at, exists, is_same, stated, top};
pub use shrink::Budget;
pub use stimuli::{Seen, SetOf, Written, write as write_stimuli};

use std::path::PathBuf;

use super::isolate::{Cage, Level, Limits};
use super::perform::Failed;
use super::validator::{Validator, Validators};
use super::words::StimulusKind;
use super::wrong::{Result, Wrong};

/// How to harvest.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of the drafts.
    pub out: PathBuf,
    /// `None`: drafts are not verified and not minimised.
    pub validators: Option<PathBuf>,
    /// The validator to minimise with; `None`: those of the case's gate.
    pub validator: Option<String>,
    pub minimise: bool,
    pub redact: bool,
    pub budget: Budget,
    /// Largest tree of a draft, in bytes.
    pub largest: u64,
}

/// The workshop of several cases: validators read once, isolation tried once.
pub struct Harvester {
    options: Options,
    validators: Validators,
    /// `None`: nothing is run.
    cage: Option<Cage>,
}

impl Harvester {
    pub fn new(options: Options) -> std::result::Result<Harvester, Failed> {
        let validators = match &options.validators {
            Some(file) => Validators::load(file)?,
            None => Validators::default(),
        };
        if let Some(id) = &options.validator
            && validators.get(id).is_none()
        {
            let known: Vec<&str> = validators.list.iter().map(|v| v.id.as_str()).collect();
            return Err(Wrong::one(format!("--validator: {}", super::wrong::unknown("unknown validator", id, &known))).into());
        }
        let cage = match validators.list.is_empty() {
            true => None,
            false => {
                let cage = Cage::new_at(Level::User, Limits::default());
                Some(cage.map_err(|e| Failed::Environment(format!("no validator can be run here: {e}")))?)
            }
        };
        Ok(Harvester { options, validators, cage })
    }

    /// Validators that judge such a stimulus for a case.
    fn validators_of(&self, case: &Case, kind: StimulusKind) -> Vec<&Validator> {
        let asked = |v: &&Validator| match &self.options.validator {
            Some(id) => v.id == *id,
            None => v.gate == case.gate_word(),
        };
        self.validators.list.iter().filter(|v| v.judge.is_none() && v.stimuli.contains(&kind)).filter(asked).collect()
    }

    /// Makes the draft of one case, or says why there is none.
    pub fn draft(&self, case: &Case) -> Result<Drafted> {
        draft::make(self, case)
    }
}

#[cfg(test)]
mod tests;
