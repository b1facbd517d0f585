//! Owns making one draft: rebuild, redact, verify, minimise, write.

use std::fs;
use std::path::PathBuf;

use super::Harvester;
use super::case::{Base, Case, Saw};
use super::rebuild::{self, Rebuilt};
use super::redacted::{self, Taken};
use super::tree::{self, File, Tree};
use super::verify::{self, Verified};
use super::write::{Stimulus, fixture_text, keep_command, write};
use crate::replay::wrong::{Result, Wrong};
use crate::source::edits::Change;
use crate::source::redact::redact;

/// More files than this are no fixture.
const MOST_FILES: usize = 20_000;

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
            let verified = verify::of_command(harvester, case, &clean);
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
    let mut verified = verify::of_tree(harvester, case, &full, base.as_ref());
    if verified.by.is_none() && taken != Taken::default() && verify::catches(harvester, case, &rebuilt.tree) {
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
