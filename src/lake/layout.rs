//! Owns `lake.json`: which layout a lake has, and which fact tables were begun.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::LakeError;
use super::disk::Disk;

/// Raised when older programs could no longer read the lake.
const LAYOUT: u32 = 3;
const FILE: &str = "lake.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Layout {
    layout: u32,
    /// Fact tables, `sources` among them, that have a commit. A lake begun before this was kept lists none until the next ingest.
    #[serde(default)]
    pub(super) tables: BTreeSet<String>,
}

impl Layout {
    /// What stands there; `None` where no lake is.
    pub(super) fn read(root: &Path) -> Result<Option<Layout>, LakeError> {
        let path = root.join(FILE);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(LakeError::io("read", &path)(e)),
        };
        let layout: Layout = serde_json::from_slice(&bytes).map_err(|cause| LakeError::Layout { path, cause })?;
        if layout.layout > LAYOUT {
            return Err(LakeError::Newer { path: root.to_owned(), found: layout.layout, known: LAYOUT });
        }
        Ok(Some(layout))
    }

    /// Begins a lake, where no other process does so at the same time.
    pub(super) fn begin(root: &Path, disk: &Disk) -> Result<(), LakeError> {
        let path = root.join(FILE);
        match disk.create(&path, &Layout { layout: LAYOUT, tables: BTreeSet::new() }.bytes()) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(LakeError::io("begin a lake at", &path)(e)),
            _ => Ok(()),
        }
    }

    /// Lists tables that have a commit, and raises an older layout to the one that is written now. Whoever calls holds the lock.
    pub(super) fn list(root: &Path, disk: &Disk, tables: &[&str]) -> Result<(), LakeError> {
        let mut layout = Layout::read(root)?.ok_or_else(|| LakeError::NotFound(root.to_owned()))?;
        let known = (layout.layout, layout.tables.len());
        layout.layout = LAYOUT;
        layout.tables.extend(tables.iter().map(|t| (*t).to_owned()));
        if (layout.layout, layout.tables.len()) == known {
            return Ok(());
        }
        let path = root.join(FILE);
        disk.replace(&path, &layout.bytes()).map_err(LakeError::io("write", &path))
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}
