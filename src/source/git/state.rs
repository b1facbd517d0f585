//! Owns what git's own files say without running git: which repository a folder belongs to, and a digest of all its references.

use std::fs;
use std::path::{Path, PathBuf};

/// Files looked at for one digest. A repository with more references is read again on every ingest rather than missed.
const MAX_REFERENCES: usize = 200_000;

/// The file that stands for the repository a folder is in: `HEAD` of its main git folder, so that all worktrees of one
/// repository are one source. Looks upwards from `folder`. `None`: no repository, or a `.git` file that does not lead to a
/// worktree which leads back (such a file could name any place).
pub fn repository_of(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find_map(|at| head_of_entry(&at.join(".git")))
}

/// The same for a `.git` entry, folder or worktree file.
pub fn head_of_entry(entry: &Path) -> Option<PathBuf> {
    let git_dir = if fs::symlink_metadata(entry).ok()?.is_file() { main_of_worktree(entry)? } else { entry.to_owned() };
    is_git_dir(&git_dir).then(|| git_dir.join("HEAD"))
}

/// The working folder of the main checkout, from the file that stands for the repository.
pub fn top_of(head: &Path) -> Option<&Path> {
    head.parent()?.parent()
}

/// The working folders of a repository: the main checkout first, then its linked worktrees, by path.
pub fn worktrees_of(head: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let Some(git_dir) = head.parent() else { return found };
    let linked = fs::read_dir(git_dir.join("worktrees")).into_iter().flatten().flatten();
    for entry in linked {
        // Each names `<worktree>/.git`; the file there must lead back.
        if let Ok(text) = fs::read_to_string(entry.path().join("gitdir"))
            && let dot_git = PathBuf::from(text.trim())
            && main_of_worktree(&dot_git).is_some()
            && let Some(top) = dot_git.parent()
        {
            found.push(top.to_owned());
        }
    }
    found.sort();
    if let Some(top) = git_dir.parent() {
        found.insert(0, top.to_owned());
    }
    found
}

fn is_git_dir(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir()
}

/// `gitdir: <main>/.git/worktrees/<name>` in `entry`, when that folder's `gitdir` file names `entry` again.
fn main_of_worktree(entry: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(entry).ok()?;
    let admin = entry.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    let back = fs::read_to_string(admin.join("gitdir")).ok()?;
    if fs::canonicalize(admin.join(back.trim())).ok()? != fs::canonicalize(entry).ok()? {
        return None;
    }
    let common = fs::read_to_string(admin.join("commondir")).ok()?;
    fs::canonicalize(admin.join(common.trim())).ok()
}

/// A digest of everything that decides which commits and tags `git log --all` shows. Changes with every commit, fetch, branch
/// and tag, wherever git keeps it (loose, packed or reftable). `None`: some of it could not be read.
pub fn references_digest(git_dir: &Path) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    for name in ["HEAD", "packed-refs", "shallow", "config"] {
        hash_file(&mut hasher, git_dir, Path::new(name))?;
    }
    let mut files = Vec::new();
    for folder in ["refs", "reftable"] {
        list(git_dir, Path::new(folder), &mut files)?;
    }
    let mut linked: Vec<PathBuf> = fs::read_dir(git_dir.join("worktrees")).into_iter().flatten().flatten().map(|e| e.path()).collect();
    linked.sort();
    for worktree in linked {
        files.push(worktree.strip_prefix(git_dir).ok()?.join("HEAD"));
    }
    for file in files {
        hash_file(&mut hasher, git_dir, &file)?;
    }
    Some(hasher.finalize().to_hex().to_string())
}

/// A file that is missing is part of the state; one that cannot be read makes it unknown.
fn hash_file(hasher: &mut blake3::Hasher, git_dir: &Path, name: &Path) -> Option<()> {
    let content = match fs::read(git_dir.join(name)) {
        Ok(content) => content,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Some(()),
        Err(_) => return None,
    };
    let name = name.to_string_lossy();
    for part in [name.as_bytes(), &content] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    Some(())
}

/// Files below `folder`, sorted, links not followed.
fn list(git_dir: &Path, folder: &Path, into: &mut Vec<PathBuf>) -> Option<()> {
    let walk = walkdir::WalkDir::new(git_dir.join(folder)).follow_links(false).sort_by_file_name();
    for entry in walk {
        match entry {
            Ok(entry) if entry.file_type().is_file() => into.push(entry.path().strip_prefix(git_dir).ok()?.to_owned()),
            Ok(_) => {}
            Err(e) if e.io_error().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound) => {}
            Err(_) => return None,
        }
        if into.len() > MAX_REFERENCES {
            return None;
        }
    }
    Some(())
}
