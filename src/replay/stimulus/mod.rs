//! Owns stimuli: the bytes a validator is shown, whatever form the fixture keeps them in.

mod commit;
mod patch;

pub use commit::{git, output, tree as stored_tree, tree_with as stored_tree_with};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fixture::Fixture;
use super::place::{Entry, entries};
use super::words::StimulusKind;
use super::wrong::{Result, Wrong};

/// A stimulus ready to be copied into a run's place.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub kind: StimulusKind,
    pub items: Vec<Item>,
    /// The patch itself, beside the patched tree.
    pub patch: Option<Arc<[u8]>>,
    /// Name of the one file, where the stimulus is one.
    pub file: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Item {
    /// Relative, without `..`.
    pub path: PathBuf,
    pub executable: bool,
    pub content: Content,
}

#[derive(Debug, Clone)]
pub enum Content {
    Folder,
    Link(String),
    /// Lies on disk, to be copied.
    File(PathBuf),
    Bytes(Arc<[u8]>),
}

impl Prepared {
    /// What a validator is shown of a fixture. Nothing of the fixture is run.
    pub fn of(fixture: &Fixture) -> Result<Prepared> {
        let stimulus = &fixture.stimulus;
        let kind = stimulus.kind;
        let at = |text: String| Wrong::at(&fixture.folder, text);
        let mut prepared = Prepared { kind, items: Vec::new(), patch: None, file: None };
        match kind {
            StimulusKind::Tree => prepared.items = tree(&stimulus.path)?,
            StimulusKind::Trace | StimulusKind::Transcript => {
                let name = stimulus.path.file_name().and_then(|n| n.to_str()).unwrap_or("stimulus").to_owned();
                prepared.items.push(Item { path: PathBuf::from(&name), executable: false, content: Content::File(stimulus.path.clone()) });
                prepared.file = Some(name);
            }
            StimulusKind::Patch => {
                let text = std::fs::read(&stimulus.path).map_err(|e| Wrong::at(&stimulus.path, e))?;
                let base = stimulus.base.as_deref().ok_or_else(|| at("a patch without its base".to_owned()))?;
                prepared.items = patch::apply(tree(base)?, &text).map_err(|e| Wrong::at(&stimulus.path, e))?;
                prepared.patch = Some(text.into());
            }
            StimulusKind::Commit => {
                let commit = stimulus.commit.as_deref().unwrap_or_default();
                prepared.items = commit::tree(&stimulus.path, commit).map_err(at)?;
            }
        }
        Ok(prepared)
    }

    /// The same kind of stimulus with nothing in it: who passes it has read nothing.
    pub fn emptied(kind: StimulusKind) -> Prepared {
        let mut prepared = Prepared { kind, items: Vec::new(), patch: None, file: None };
        if kind.is_file() {
            let name = "stimulus".to_owned();
            prepared.items.push(Item { path: PathBuf::from(&name), executable: false, content: Content::Bytes(Arc::from([])) });
            prepared.file = Some(name);
        }
        if kind == StimulusKind::Patch {
            prepared.patch = Some(Arc::from([]));
        }
        prepared
    }
}

fn tree(root: &Path) -> Result<Vec<Item>> {
    let item = |entry: Entry| match entry {
        Entry::Folder { path } => Item { path: path.into(), executable: false, content: Content::Folder },
        Entry::Link { path, target } => Item { path: path.into(), executable: false, content: Content::Link(target) },
        Entry::File { path, executable, .. } => {
            let from = root.join(&path);
            Item { path: path.into(), executable, content: Content::File(from) }
        }
    };
    Ok(entries(root)?.into_iter().map(item).collect())
}
