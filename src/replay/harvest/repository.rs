//! Owns what harvest asks a local repository: its top, the commit of a time, and the files of a commit. Objects are read; nothing is
//! checked out, run or written.

use std::path::{Path, PathBuf};

use super::tree::{self, Tree};
use crate::model::time::Ts;
use crate::replay::stimulus::{git, output, stored_tree_with};
use crate::source::git::state::repository_of;

/// Names of left-out files that are told one by one.
const NAMED: usize = 10;

/// Top of the work tree that holds a folder.
pub fn top(folder: &Path) -> Option<PathBuf> {
    let mut command = git(folder);
    command.args(["rev-parse", "--show-toplevel"]);
    let top = String::from_utf8(output(command).ok()?).ok()?;
    let top = top.trim_end_matches('\n');
    (!top.is_empty()).then(|| PathBuf::from(top))
}

/// Whether two folders belong to one repository, be it by different work trees.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let real = |folder: &Path| repository_of(folder).and_then(|head| head.canonicalize().ok());
    matches!((real(one), real(other)), (Some(a), Some(b)) if a == b)
}

/// A commit that a record names, with its time; `None` where the repository does not have it.
pub fn stated(repository: &Path, sha: &str) -> Option<(String, Option<Ts>)> {
    if !matches!(sha.len(), 40 | 64) || !sha.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let sha = verify(repository, sha)?;
    let at = time_of(repository, &sha);
    Some((sha, at))
}

/// The last commit of a branch up to a time: the branch where it is still there, else what is checked out. The words say which.
pub fn commit_at(repository: &Path, branch: Option<&str>, at: Ts) -> Option<(String, Option<Ts>, String)> {
    let named = branch.filter(|b| !b.is_empty() && *b != "HEAD").map(|b| [format!("refs/heads/{b}"), format!("refs/remotes/origin/{b}")]);
    let there = named.into_iter().flatten().find(|r| verify(repository, r).is_some());
    let (from, words) = match &there {
        Some(reference) => (reference.as_str(), "the last commit of its branch before the failure"),
        None => ("HEAD", "the last commit before the failure of what is checked out now, for its branch is not known here"),
    };
    let mut command = git(repository);
    command.args(["rev-list", "-1", &format!("--before={at}"), "--end-of-options", from]);
    let sha = String::from_utf8(output(command).ok()?).ok()?.trim().to_owned();
    if sha.is_empty() {
        return None;
    }
    let time = time_of(repository, &sha);
    Some((sha, time, words.to_owned()))
}

/// Whether a name, written in full, is a commit there.
pub fn exists(repository: &Path, name: &str) -> bool {
    verify(repository, name).is_some()
}

fn verify(repository: &Path, name: &str) -> Option<String> {
    let mut command = git(repository);
    command.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]).arg(format!("{name}^{{commit}}"));
    Some(String::from_utf8(output(command).ok()?).ok()?.trim().to_owned()).filter(|sha| !sha.is_empty())
}

fn time_of(repository: &Path, sha: &str) -> Option<Ts> {
    let mut command = git(repository);
    command.args(["show", "-s", "--format=%ct", "--no-show-signature", "--end-of-options", sha]);
    let seconds: i64 = String::from_utf8(output(command).ok()?).ok()?.trim().parse().ok()?;
    seconds.checked_mul(1_000_000).map(Ts)
}

/// The files of a commit. A link that points out of the tree is left out and named.
pub fn tree(repository: &Path, treeish: &str, left_out: &mut Vec<String>) -> Result<Tree, String> {
    let mut n = 0;
    let items = stored_tree_with(repository, treeish, &mut |path, why| {
        n += 1;
        if n <= NAMED {
            left_out.push(format!("{path}: {why}"));
        }
        Ok(())
    })?;
    if n > NAMED {
        left_out.push(format!("{} more files", n - NAMED));
    }
    Ok(tree::of_items(items))
}
