//! Owns the memory of a lake's digest: it is computed over every row, so it is kept beside the lake, under everything that names those rows.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use crate::lake::{LakeError, Snapshot};
use crate::model;
use crate::model::id::stable_id;
use crate::sql::Tables;

/// The digest of what the snapshot shows. `mechanic lake digest` computes it anew.
pub fn remembered(snapshot: &Snapshot, tables: &Tables) -> Result<String, LakeError> {
    let Some(path) = path(snapshot, tables) else { return snapshot.digest() };
    if let Some(known) = fs::read_to_string(&path).ok().filter(|text| is_digest(text)) {
        return Ok(known);
    }
    let digest = snapshot.digest()?;
    // What cannot be kept is computed again.
    let _ = keep(&path, &digest);
    Ok(digest)
}

/// Names of the files, which hold the rows and are never written twice, and the versions that say which of the rows count.
fn path(snapshot: &Snapshot, tables: &Tables) -> Option<PathBuf> {
    let cache = tables.cache.as_ref()?;
    let mut parts: Vec<String> = vec![env!("CARGO_PKG_VERSION").to_owned(), tables.facts_digest.clone(), tables.derived_digest.clone()];
    for def in model::all_tables() {
        parts.push(format!("{} {:?}", def.name, snapshot.version(def.name)));
        parts.extend(snapshot.files(def.name).iter().map(|f| f.file_name().unwrap_or_default().to_string_lossy().into_owned()));
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    Some(cache.folder().join(format!("lake-digest-{}", stable_id(&parts))))
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn keep(path: &PathBuf, digest: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(digest.as_bytes())?;
    file.persist(path)?;
    Ok(())
}
