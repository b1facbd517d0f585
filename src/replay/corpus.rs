//! Owns the corpus: its fixtures, the lock over their bytes, and its waivers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fixture::{self, Fixture};
use super::validator::Validators;
use super::waivers::Waivers;
use super::words::Classification;
use super::wrong::{Problems, Result, Wrong, toml, unknown};

/// The lock beside the fixtures.
pub const LOCK: &str = "corpus.lock";

/// A corpus as loaded and checked.
#[derive(Debug, Clone, Default)]
pub struct Corpus {
    pub root: PathBuf,
    /// By id.
    pub fixtures: Vec<Fixture>,
    pub waivers: Waivers,
    pub lock: Lock,
}

/// Digests the corpus was locked with, by fixture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    #[serde(default)]
    pub format: u32,
    #[serde(default)]
    pub fixtures: BTreeMap<String, String>,
}

impl Corpus {
    /// Reads every fixture; all problems found, with the file of each.
    pub fn load(root: &Path) -> Result<Corpus> {
        let listing = fs::read_dir(root).map_err(|e| Wrong::at(root, format!("no corpus can be read here: {e}")))?;
        let mut folders = Vec::new();
        for item in listing {
            let item = item.map_err(|e| Wrong::at(root, e))?;
            let name = item.file_name();
            let hidden = name.to_str().is_some_and(|n| n.starts_with(['.', '_']));
            if item.file_type().is_ok_and(|t| t.is_dir()) && !hidden {
                folders.push(item.path());
            }
        }
        folders.sort();
        let mut problems = Problems::default();
        use rayon::prelude::*;
        let loaded: Vec<Result<Fixture>> = folders.par_iter().map(|folder| Fixture::load(root, folder)).collect();
        let fixtures = loaded.into_iter().filter_map(|f| problems.keep(f)).collect();
        let waivers = problems.keep(Waivers::load(root)).unwrap_or_default();
        let lock = problems.keep(Lock::load(root)).unwrap_or_default();
        problems.done(Corpus { root: root.to_owned(), fixtures, waivers, lock })
    }

    /// What differs from the lock: a changed or missing fixture is an error that names the file.
    pub fn check_lock(&self) -> Result<()> {
        let mut problems = Problems::default();
        for (id, digest) in &self.lock.fixtures {
            let file = self.root.join(LOCK);
            match self.get(id) {
                None => problems.push(
                    Wrong::at(
                        &file,
                        format!("fixture `{}` is locked but gone; restore it, or lock again on purpose", crate::plain::escape(id)),
                    )
                    .to_string(),
                ),
                Some(f) if f.digest != *digest => problems.push(
                    Wrong::at(
                        &f.folder,
                        "differs from the lock: a byte was changed; restore it, or lock again on purpose (mechanic replay --lock)",
                    )
                    .to_string(),
                ),
                Some(_) => {}
            }
        }
        problems.done(())
    }

    pub fn get(&self, id: &str) -> Option<&Fixture> {
        self.fixtures.binary_search_by(|f| f.id.as_str().cmp(id)).ok().and_then(|i| self.fixtures.get(i))
    }

    /// Whether the fixture is not locked yet.
    pub fn is_new(&self, id: &str) -> bool {
        !self.lock.fixtures.contains_key(id)
    }

    /// What the fixtures say that the validators do not know: classes, validators, gates by a near name.
    pub fn check_against(&self, validators: &Validators) -> Result<()> {
        let mut problems = Problems::default();
        let ids: Vec<&str> = validators.list.iter().map(|v| v.id.as_str()).collect();
        let classes: Vec<&str> = validators.classes.keys().map(String::as_str).collect();
        for fixture in &self.fixtures {
            let file = fixture.folder.join(fixture::FILE);
            for e in &fixture.expect {
                if let fixture::Who::Validator(id) = &e.who
                    && !ids.contains(&id.as_str())
                    && crate::config::error::nearest(id, &ids).is_some()
                {
                    problems.push(Wrong::at(&file, unknown("unknown validator", id, &ids)).to_string());
                }
                if let Some(class) = e.finding.as_ref().and_then(|f| f.class.as_deref())
                    && !classes.contains(&class)
                {
                    problems.push(Wrong::at(&file, unknown("unknown text class", class, &classes)).to_string());
                }
            }
        }
        problems.done(())
    }

    /// Writes the lock of the bytes as they are now. The file is replaced whole or not at all.
    pub fn write_lock(&self) -> Result<PathBuf> {
        let file = self.root.join(LOCK);
        let mut text = String::from("# written by mechanic replay --lock\nformat = 1\n\n[fixtures]\n");
        for f in &self.fixtures {
            text.push_str(&format!("{} = \"{}\"\n", f.id, f.digest));
        }
        write_whole(&file, text.as_bytes())?;
        Ok(file)
    }

    pub fn controls(&self) -> usize {
        self.fixtures.iter().filter(|f| f.classification == Classification::Control).count()
    }
}

impl Lock {
    fn load(root: &Path) -> Result<Lock> {
        let file = root.join(LOCK);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Lock::default()),
            Err(e) => return Err(Wrong::at(&file, e)),
        };
        let lock: Lock = toml(&file, &text)?;
        match lock.format {
            1 => Ok(lock),
            other => Err(Wrong::at(&file, format!("format {other} is not known: this version reads format 1"))),
        }
    }
}

/// Replaces a file by its new content, or leaves the old one.
pub fn write_whole(file: &Path, bytes: &[u8]) -> Result<()> {
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut staged = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut staged, bytes)?;
        // A temporary file is private to its owner; what is written for others to read is not.
        let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o644);
        staged.as_file().set_permissions(mode)?;
        staged.persist(file).map_err(|e| e.error)?;
        Ok(())
    };
    write().map_err(|e| Wrong::at(file, format!("cannot be written: {e}")))
}
