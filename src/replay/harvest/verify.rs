//! Owns showing a stimulus to the validators of a case: which of them catches it and can be believed, and how small it gets.

use super::Harvester;
use super::case::Case;
use super::shrink::{self, Shrunk};
use super::tree::{self, Tree};
use super::trial::{Said, Trials};
use super::write::{COMMAND_FILE, command_item};
use crate::replay::stimulus::Prepared;
use crate::replay::words::StimulusKind;

/// What validators did with the stimulus.
#[derive(Default)]
pub struct Verified {
    /// The validator that catches it, its gate, and what it names.
    pub by: Option<(String, String, Said)>,
    pub lines: Vec<String>,
    pub shrunk: Option<Shrunk>,
}

/// A tree, minimised where that is asked for.
pub fn of_tree(harvester: &Harvester, case: &Case, full: &Tree, base: Option<&Tree>) -> Verified {
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

/// The text of a command.
pub fn of_command(harvester: &Harvester, case: &Case, text: &str) -> Verified {
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

/// Whether some validator catches the tree, believed or not.
pub fn catches(harvester: &Harvester, case: &Case, tree: &Tree) -> bool {
    let Some(cage) = &harvester.cage else { return false };
    let prepared = tree::prepared(tree);
    harvester.validators_of(case, StimulusKind::Tree).into_iter().any(|v| {
        let budget = harvester.options.budget;
        Trials::new(cage, v, &harvester.validators.classes, budget.trials, budget.time).first(&prepared).is_ok()
    })
}
