//! Owns minimising a tree against "still caught": the files first, then the changes in those that are left.

use std::time::Duration;

use super::changes::{self, Change};
use super::ddmin::{Ended, ddmin};
use super::tree::{File, Held, Tree};
use super::trial::{Said, Trials};

/// How long it may search.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    pub trials: usize,
    pub time: Duration,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { trials: 500, time: Duration::from_secs(120) }
    }
}

/// What minimising came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shrunk {
    pub tree: Tree,
    pub files: (usize, usize),
    /// Changes against the base, before and after; `None`: no base is known, or no file of it is left changed.
    pub changes: Option<(usize, usize)>,
    /// What cut the search: trials or time. `None`: nothing more can be left out.
    pub cut: Option<&'static str>,
    /// The base alone is caught as well: the changes are not what is caught.
    pub in_base: bool,
}

/// The smallest tree found that is still caught for the same thing.
pub fn shrink(full: &Tree, base: Option<&Tree>, said: &Said, trials: &mut Trials<'_>) -> Shrunk {
    let files: Vec<&String> = full.keys().collect();
    let changed = |path: &str| base.is_none_or(|b| b.get(path) != full.get(path));
    let part = |paths: &[&String]| -> Tree { paths.iter().filter_map(|p| Some(((*p).clone(), full.get(*p)?.clone()))).collect() };
    // What the session touched is often all that is needed.
    let touched: Vec<&String> = files.iter().copied().filter(|p| changed(p)).collect();
    let start = match touched.is_empty() || touched.len() == files.len() {
        false if trials.still(&part(&touched), said) == Some(true) => touched,
        _ => files.clone(),
    };
    let pick = |of: &[&String], keep: &[usize]| -> Tree { part(&keep.iter().filter_map(|i| of.get(*i).copied()).collect::<Vec<_>>()) };
    let (kept, ended) = ddmin(start.len(), |keep| trials.still(&pick(&start, keep), said));
    let mut tree = pick(&start, &kept);
    let mut in_base = false;
    let mut counts = None;
    if let (Some(base), Ended::Minimal) = (base, ended) {
        let list = changes_of(&tree, base);
        if !list.is_empty() {
            let make = |keep: &[usize]| with(&tree, base, &list, keep);
            // Without any of the changes: then the base itself has what is caught.
            let (left, n) = match trials.still(&make(&[]), said) {
                Some(true) => {
                    in_base = true;
                    (make(&[]), 0)
                }
                Some(false) => {
                    let (keep, _) = ddmin(list.len(), |keep| trials.still(&make(keep), said));
                    (make(&keep), keep.len())
                }
                None => (tree.clone(), list.len()),
            };
            counts = Some((list.len(), n));
            tree = left;
        }
    }
    Shrunk { files: (full.len(), tree.len()), changes: counts, cut: trials.cut, in_base, tree }
}

/// Every change of every file that the base has too.
fn changes_of(tree: &Tree, base: &Tree) -> Vec<(String, Change)> {
    let mut out = Vec::new();
    for (path, file) in tree {
        if let (Some(old), Some(new)) = (base.get(path).and_then(File::bytes), file.bytes()) {
            out.extend(changes::between(old, new).into_iter().map(|c| (path.clone(), c)));
        }
    }
    out
}

/// The tree with some of the changes made and the others taken back.
fn with(tree: &Tree, base: &Tree, list: &[(String, Change)], keep: &[usize]) -> Tree {
    let mut out = tree.clone();
    for (path, file) in &mut out {
        let own: Vec<(usize, &Change)> = list.iter().enumerate().filter(|(_, (p, _))| p == path).map(|(i, (_, c))| (i, c)).collect();
        if own.is_empty() {
            continue;
        }
        if let (Some(old), Some(new)) = (base.get(path).and_then(File::bytes), file.bytes()) {
            let changes: Vec<Change> = own.iter().map(|(_, c)| (*c).clone()).collect();
            let made = changes::with(old, new, &changes, |n| own.get(n).is_some_and(|(i, _)| keep.contains(i)));
            file.content = Held::Bytes(made.into());
        }
    }
    out
}
