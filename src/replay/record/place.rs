//! Owns where a gate command runs: which repository, which commit, which delivery.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::layout::Layout;
use crate::source::git::state::{repository_of, top_of};

/// The place of a gate run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The working directory.
    pub folder: PathBuf,
    /// Top of the work tree the folder is in. `None`: in no repository.
    pub top: Option<PathBuf>,
    /// Top of the main checkout: what is written there outlives a linked work tree.
    pub main: Option<PathBuf>,
    /// `None`: a detached head, or no repository.
    pub branch: Option<String>,
    /// `None`: no commit yet, or it cannot be read.
    pub head_sha: Option<String>,
}

impl Place {
    /// Reads git's own files; runs nothing, because every millisecond is the gate's.
    pub fn of(folder: &Path) -> Place {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let mut place = Place { folder: folder.clone(), ..Place::default() };
        let Some(head) = repository_of(&folder) else { return place };
        place.top = folder.ancestors().find(|at| at.join(".git").exists()).map(Path::to_owned);
        place.main = top_of(&head).map(Path::to_owned);
        let common = head.parent().map(Path::to_owned).unwrap_or_default();
        let own = place.top.as_deref().and_then(own_git_dir).unwrap_or_else(|| common.clone());
        let Ok(text) = fs::read_to_string(own.join("HEAD")) else { return place };
        match text.trim().strip_prefix("ref: ") {
            Some(reference) => {
                place.branch = reference.strip_prefix("refs/heads/").map(str::to_owned);
                place.head_sha = resolve(&own, &common, reference);
            }
            None => place.head_sha = sha(text.trim()),
        }
        place
    }

    /// The folder `.mechanic` that records of this place go to.
    pub fn folder(&self) -> PathBuf {
        self.main.as_deref().unwrap_or(&self.folder).join(".mechanic")
    }

    /// The delivery, where nobody names it: the issue of the branch, else the branch of the repository as a run of its own.
    pub fn run_key(&self, layout: &Layout) -> String {
        match self.branch.as_deref().and_then(|branch| layout.task_in(branch)) {
            Some(issue) => format!("record:{issue}"),
            None => {
                let at = self.main.as_deref().unwrap_or(&self.folder);
                let name = at.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
                format!("session:recorded/{name}/{}", self.branch.as_deref().or(self.head_sha.as_deref()).unwrap_or("-"))
            }
        }
    }
}

/// The git folder of one work tree: `.git` itself, or what a linked work tree's `.git` file names.
fn own_git_dir(top: &Path) -> Option<PathBuf> {
    let entry = top.join(".git");
    if entry.is_dir() {
        return Some(entry);
    }
    let text = fs::read_to_string(&entry).ok()?;
    Some(top.join(text.strip_prefix("gitdir:")?.trim()))
}

fn resolve(own: &Path, common: &Path, reference: &str) -> Option<String> {
    if reference.split('/').any(|part| part == "..") || reference.starts_with('/') {
        return None;
    }
    let loose = [own, common].iter().find_map(|dir| fs::read_to_string(dir.join(reference)).ok());
    if let Some(text) = loose {
        return sha(text.trim());
    }
    let packed = fs::read_to_string(common.join("packed-refs")).ok()?;
    packed.lines().find_map(|line| line.split_once(' ').filter(|(_, name)| *name == reference).and_then(|(id, _)| sha(id)))
}

fn sha(text: &str) -> Option<String> {
    (matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text.to_owned())
}
