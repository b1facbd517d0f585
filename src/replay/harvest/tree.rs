//! Owns a file tree in memory: paths with their bytes, from git objects or from edits.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::replay::stimulus::{Content, Item, Prepared};
use crate::replay::words::StimulusKind;

/// Files by relative path with `/`.
pub type Tree = BTreeMap<String, File>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub executable: bool,
    pub content: Held,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    Bytes(Arc<[u8]>),
    Link(String),
}

impl File {
    pub fn text(text: &str) -> File {
        File { executable: false, content: Held::Bytes(text.as_bytes().into()) }
    }

    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            Held::Bytes(bytes) => Some(bytes),
            Held::Link(_) => None,
        }
    }

    pub fn len(&self) -> u64 {
        match &self.content {
            Held::Bytes(bytes) => bytes.len() as u64,
            Held::Link(target) => target.len() as u64,
        }
    }
}

/// The tree of items that are held in memory.
pub fn of_items(items: Vec<Item>) -> Tree {
    let file = |item: Item| {
        let content = match item.content {
            Content::Bytes(bytes) => Held::Bytes(bytes),
            Content::Link(target) => Held::Link(target),
            Content::Folder | Content::File(_) => return None,
        };
        Some((item.path.to_str()?.to_owned(), File { executable: item.executable, content }))
    };
    items.into_iter().filter_map(file).collect()
}

pub fn item(path: &str, file: &File) -> Item {
    let content = match &file.content {
        Held::Bytes(bytes) => Content::Bytes(bytes.clone()),
        Held::Link(target) => Content::Link(target.clone()),
    };
    Item { path: PathBuf::from(path), executable: file.executable, content }
}

/// The tree as a validator is shown it.
pub fn prepared(tree: &Tree) -> Prepared {
    let items = tree.iter().map(|(path, file)| item(path, file)).collect();
    Prepared { kind: StimulusKind::Tree, items, patch: None, file: None }
}

pub fn size(tree: &Tree) -> u64 {
    tree.values().map(File::len).sum()
}
