//! Owns the cache: relations that are costly and depend on the snapshot alone are kept as Parquet beside the lake's tables, so that the
//! next process reads them instead of computing them. It holds nothing that cannot be computed again: deleting it costs time only.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Answer, SqlError, render};

/// Folders of other snapshots are removed when they are older, so that a process that still reads one is not disturbed.
const KEEP: Duration = Duration::from_secs(3_600);

/// Where relations of one snapshot are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// Folder of all snapshots' relations.
    pub root: PathBuf,
    /// What they depend on: facts, derived tables, prices, queries.
    pub key: String,
}

impl Cache {
    /// Folder of this snapshot's relations.
    pub fn folder(&self) -> PathBuf {
        self.root.join(&self.key)
    }

    /// The file of a relation, if it is there.
    pub(super) fn find(&self, relation: &str) -> Option<PathBuf> {
        let path = self.path(relation);
        path.is_file().then_some(path)
    }

    fn path(&self, relation: &str) -> PathBuf {
        self.folder().join(format!("{relation}.parquet"))
    }

    /// Keeps a relation. Written under another name first: a file of the right name is whole.
    pub(super) fn keep(&self, relation: &str, rows: &Answer) -> Result<(), SqlError> {
        let folder = self.folder();
        if !folder.is_dir() {
            fs::create_dir_all(&folder)?;
            self.remove_old();
        }
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        render::write_own(rows, file.as_file_mut())?;
        file.persist(self.path(relation)).map_err(|e| e.error)?;
        Ok(())
    }

    /// Removes what other snapshots left: only folders named as keys are, and only in a folder of our own, never through a link.
    fn remove_old(&self) {
        if self.root.is_symlink() {
            return;
        }
        let Ok(entries) = fs::read_dir(&self.root) else { return };
        let now = SystemTime::now();
        let ours = |e: &fs::DirEntry| e.file_type().is_ok_and(|t| t.is_dir()) && is_key(&e.file_name().to_string_lossy());
        for path in entries.filter_map(Result::ok).filter(ours).map(|e| e.path()).filter(|p| *p != self.folder()) {
            if age(&path, now).is_some_and(|age| age > KEEP) {
                // A folder that cannot be removed now is tried again at the next snapshot.
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

/// Keys are digests: 32 lower-case hex digits.
fn is_key(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn age(path: &Path, now: SystemTime) -> Option<Duration> {
    now.duration_since(File::open(path).ok()?.metadata().ok()?.modified().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::sample::world;
    use crate::measure::{Window, measure};
    use crate::sql::testing::lines;

    #[test]
    fn answers_from_the_cache_are_the_answers_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut world = world();
        let plain = world.engine();
        world.tables.cache = Some(Cache { root: folder.path().join("cache"), key: "k".into() });
        let first = world.engine();
        let ask = |engine: &crate::sql::Engine, name: &str| {
            let columns: Vec<&str> = crate::sql::find(name).unwrap().columns.iter().map(|c| c.name).collect();
            lines(&measure(engine, name, Window::ALL, "UTC").unwrap(), &columns)
        };
        for name in crate::sql::queries().iter().map(|q| q.name) {
            assert_eq!(ask(&first, name), ask(&plain, name), "{name}");
        }
        assert!(folder.path().join("cache/k/run_time.parquet").is_file());
        let second = world.engine();
        for name in crate::sql::queries().iter().map(|q| q.name) {
            assert_eq!(ask(&second, name), ask(&plain, name), "{name}");
            let (a, b) =
                (measure(&second, name, Window::ALL, "UTC").unwrap().schema, measure(&plain, name, Window::ALL, "UTC").unwrap().schema);
            assert_eq!(a, b, "{name}");
        }
    }

    #[test]
    fn only_old_folders_of_other_snapshots_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * KEEP;
        let (theirs, snapshot) = (folder.path().join("alternatives"), folder.path().join("0123456789abcdef0123456789abcdef"));
        for path in [&theirs, &snapshot] {
            fs::create_dir(path).unwrap();
            File::open(path).unwrap().set_modified(old).unwrap();
        }
        let cache = Cache { root: folder.path().to_owned(), key: "k".into() };
        cache.remove_old();
        assert!(theirs.is_dir() && !snapshot.exists());
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_removed_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        let inside = other.join("0123456789abcdef0123456789abcdef");
        fs::create_dir_all(&inside).unwrap();
        File::open(&inside).unwrap().set_modified(SystemTime::now() - 2 * KEEP).unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("cache")).unwrap();
        Cache { root: folder.path().join("cache"), key: "k".into() }.remove_old();
        assert!(inside.is_dir());
    }

    #[test]
    fn a_broken_file_is_computed_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { root: folder.path().to_owned(), key: "k".into() };
        fs::create_dir_all(cache.folder()).unwrap();
        fs::write(cache.folder().join("run_time.parquet"), "no Parquet").unwrap();
        let mut world = world();
        world.tables.cache = Some(cache);
        assert_eq!(world.engine().select("SELECT * FROM run_time").unwrap().n_rows(), 3);
    }

    #[test]
    fn a_cache_that_cannot_be_written_costs_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let mut world = world();
        world.tables.cache = Some(Cache { root: file, key: "k".into() });
        assert_eq!(world.engine().select("SELECT * FROM run_time").unwrap().n_rows(), 3);
    }
}
