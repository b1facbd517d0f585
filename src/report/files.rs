//! Owns the folder of a report: which files it has, and writing them so that a reader never sees half of one.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::model::id::digest;

/// Files of a report by path relative to its folder, gathered before any is written.
#[derive(Debug, Default)]
pub struct Folder {
    files: BTreeMap<String, Vec<u8>>,
}

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub struct WriteError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// What to do about a folder of the report that is a link.
const LINKED: &str =
    "it is a link to another folder, whose files would be replaced and removed: remove the link, or name another folder with --out DIR";

/// Writes a file that is new; one that an interrupted report left, or a link of its name, is removed and never written through.
fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    fs::File::create_new(path)?.write_all(content)
}

impl Folder {
    pub fn add(&mut self, name: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.files.insert(name.into(), content.into());
    }

    /// Digest of every file, by name.
    pub fn digests(&self) -> BTreeMap<String, String> {
        self.files.iter().map(|(name, content)| (name.clone(), digest(content))).collect()
    }

    /// Names of the files, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Writes all files; each appears whole or not at all. `plots/` and `tables/` are folders of their own: through a link the report
    /// would be written, and tidied up, somewhere else. Files of an earlier report in the same folder that this one does not have are
    /// removed from `plots/` and `tables/`, which hold nothing else.
    pub fn write(&self, out: &Path) -> Result<(), WriteError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| WriteError { path, source }
        };
        for folder in ["plots", "tables"].map(|name| out.join(name)) {
            if folder.is_symlink() {
                return Err(failed(&folder)(io::Error::new(io::ErrorKind::InvalidInput, LINKED)));
            }
        }
        for folder in ["plots", "tables"] {
            let folder = out.join(folder);
            fs::create_dir_all(&folder).map_err(failed(&folder))?;
        }
        for (name, content) in &self.files {
            let path = out.join(name);
            let part = out.join(format!("{name}.part"));
            write_new(&part, content).and_then(|()| fs::rename(&part, &path)).map_err(failed(&path))?;
        }
        for folder in ["plots", "tables"] {
            let listed = fs::read_dir(out.join(folder)).map_err(failed(&out.join(folder)))?;
            for entry in listed.filter_map(Result::ok) {
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                let ours = [".svg", ".csv", ".parquet", ".part"].iter().any(|end| name.ends_with(end));
                if ours && !self.files.contains_key(&name) {
                    fs::remove_file(entry.path()).map_err(failed(&entry.path()))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_report_in_the_folder_leaves_nothing_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = Folder::default();
        first.add("audit.md", "one");
        first.add("plots/old.svg", "<svg/>");
        first.write(dir.path()).unwrap();
        fs::write(dir.path().join("plots/notes.txt"), "mine").unwrap();
        let mut second = Folder::default();
        second.add("audit.md", "two");
        second.add("tables/gates.csv", "a");
        second.write(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("audit.md")).unwrap(), "two");
        assert!(!dir.path().join("plots/old.svg").exists() && dir.path().join("plots/notes.txt").exists());
        assert_eq!(second.digests().keys().map(String::as_str).collect::<Vec<_>>(), ["audit.md", "tables/gates.csv"]);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_or_removed_through_a_link() {
        use std::os::unix::fs::symlink;
        for name in ["plots", "tables"] {
            let dir = tempfile::tempdir().unwrap();
            let (out, other) = (dir.path().join("out"), dir.path().join("other"));
            fs::create_dir_all(&out).unwrap();
            fs::create_dir_all(&other).unwrap();
            fs::write(other.join("mine.svg"), "mine").unwrap();
            fs::write(other.join("mine.csv"), "mine").unwrap();
            symlink(&other, out.join(name)).unwrap();
            let mut report = Folder::default();
            report.add("audit.md", "one");
            report.add(format!("{name}/new.svg"), "<svg/>");
            let error = report.write(&out).unwrap_err().to_string();
            assert!(error.contains(out.join(name).to_str().unwrap()) && error.contains("remove the link"), "{error}");
            assert_eq!(fs::read_dir(&other).unwrap().count(), 2);
            assert_eq!(fs::read_dir(&out).unwrap().count(), 1, "half a report would be worse than none");
        }
        let dir = tempfile::tempdir().unwrap();
        let mine = dir.path().join("mine.md");
        fs::write(&mine, "mine").unwrap();
        symlink(&mine, dir.path().join("audit.md")).unwrap();
        symlink(&mine, dir.path().join("audit.md.part")).unwrap();
        let mut report = Folder::default();
        report.add("audit.md", "one");
        report.write(dir.path()).unwrap();
        assert_eq!(
            (fs::read_to_string(&mine).unwrap().as_str(), fs::read_to_string(dir.path().join("audit.md")).unwrap().as_str()),
            ("mine", "one")
        );
    }
}
