//! Owns the way from the paths a user names to the input files: hidden folders walked, repositories and lakes recognised.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::git::state::head_of_entry;
use super::{cut_home, open};

/// The input files of some paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Absolute, sorted, each once. A repository stands here as `HEAD` of its git folder, all its worktrees together.
    pub files: Vec<PathBuf>,
    /// What could not be read, and what the system said.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// Finds the files of `paths`. Links to folders are not followed except where `paths` names them. Left out are the folders of
/// `skip`, Delta tables (a lake is no input), `node_modules`, and caches that say so (`CACHEDIR.TAG`). An error means that a path of
/// `paths` does not exist.
pub fn walk(paths: &[PathBuf], skip: &[PathBuf]) -> io::Result<Walked> {
    let skip: Vec<PathBuf> = skip.iter().filter_map(|p| std::path::absolute(p).ok()).collect();
    let mut files = BTreeSet::new();
    let mut unreadable = Vec::new();
    for path in paths {
        let path = absolute(path)?;
        if let Err(e) = fs::metadata(&path) {
            return Err(io::Error::new(e.kind(), format!("{}: {e}", path.display())));
        }
        let mut entries = WalkDir::new(&path).into_iter();
        while let Some(entry) = entries.next() {
            match entry {
                Err(e) => {
                    let place = e.path().unwrap_or(&path).to_owned();
                    unreadable.push((place, e.io_error().map_or_else(|| e.to_string(), open::told)));
                }
                Ok(entry) if entry.file_name() == ".git" => {
                    files.extend(head_of_entry(entry.path()));
                    if entry.file_type().is_dir() {
                        entries.skip_current_dir();
                    }
                }
                Ok(entry) if entry.file_type().is_dir() => {
                    if is_left_out(&entry, &skip) {
                        entries.skip_current_dir();
                    }
                }
                // A link to a file counts as the file; devices and pipes are never opened.
                Ok(entry) => {
                    if fs::metadata(entry.path()).is_ok_and(|m| m.is_file()) {
                        files.insert(entry.into_path());
                    } else if entry.depth() == 0 {
                        unreadable.push((entry.into_path(), "neither a file nor a folder: write it to a file first".to_owned()));
                    }
                }
            }
        }
    }
    Ok(Walked { files: files.into_iter().collect(), unreadable })
}

/// The way records name a path that a user named.
pub fn shown(path: &Path) -> String {
    cut_home(&absolute(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy())
}

/// One name a file: `a/../b` would be another file than `b`.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    if path.components().any(|c| c == std::path::Component::ParentDir) && path.exists() {
        return fs::canonicalize(path);
    }
    std::path::absolute(path)
}

fn is_left_out(entry: &DirEntry, skip: &[PathBuf]) -> bool {
    let path = entry.path();
    let holds = |name: &str| path.join(name).exists();
    // The same folder can be written in two ways, through a link and without.
    let same = |s: &PathBuf| {
        s == path || (s.file_name() == path.file_name() && s.canonicalize().is_ok_and(|s| path.canonicalize().is_ok_and(|p| s == p)))
    };
    skip.iter().any(same) || entry.file_name() == "node_modules" || holds("_delta_log") || (entry.depth() > 0 && is_cache(path))
}

/// The convention of bford.info/cachedir: the file begins with a fixed signature.
fn is_cache(folder: &Path) -> bool {
    const SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
    fs::read(folder.join("CACHEDIR.TAG")).is_ok_and(|text| text.starts_with(SIGNATURE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        dir
    }

    fn found(dir: &Path, paths: &[&str], skip: &[&str]) -> Vec<String> {
        let join = |names: &[&str]| names.iter().map(|n| dir.join(n)).collect::<Vec<_>>();
        let walked = walk(&join(paths), &join(skip)).unwrap();
        walked.files.iter().map(|f| f.strip_prefix(dir).unwrap().to_str().unwrap().replace('\\', "/")).collect()
    }

    #[test]
    fn hidden_folders_are_walked_and_a_file_named_twice_is_found_once() {
        let dir = tree(&["b.jsonl", ".copilot-tracking/issues/issue-01/trace.jsonl", "a/c"]);
        let all = [".copilot-tracking/issues/issue-01/trace.jsonl", "a/c", "b.jsonl"];
        assert_eq!(found(dir.path(), &["."], &[]), all);
        assert_eq!(found(dir.path(), &["b.jsonl", "a", "a/c", "a/../b.jsonl", "."], &[]), all);
    }

    #[test]
    fn lakes_caches_packages_and_skipped_folders_are_left_out() {
        let dir = tree(&["t/_delta_log/0.json", "t/p.parquet", "node_modules/x/y", "out/a", "target/x", "keep/CACHEDIR.TAG", "keep/a"]);
        fs::write(dir.path().join("target/CACHEDIR.TAG"), "Signature: 8a477f597d28d172789f06886806bc55\n").unwrap();
        assert_eq!(found(dir.path(), &["."], &["out"]), ["keep/CACHEDIR.TAG", "keep/a"]);
    }

    #[test]
    fn a_repository_is_one_file_and_its_objects_are_none() {
        let dir = tree(&["repo/.git/HEAD", "repo/.git/objects/ab/cd", "repo/src/x", "fake/.git/HEAD", "sub/.git"]);
        assert_eq!(found(dir.path(), &["."], &[]), ["repo/.git/HEAD", "repo/src/x"]);
        assert_eq!(found(dir.path(), &["repo/.git"], &[]), ["repo/.git/HEAD"]);
    }

    #[test]
    fn a_path_is_named_as_its_files_are() {
        assert_eq!(shown(Path::new("/tmp/./x")), "/tmp/x");
        let dir = tree(&["a/b"]);
        let file = dir.path().join("a/../a/b");
        assert_eq!(shown(&file), shown(&walk(std::slice::from_ref(&file), &[]).unwrap().files[0]));
    }

    #[test]
    fn a_path_that_does_not_exist_is_an_error_that_names_it() {
        let dir = tree(&[]);
        let error = walk(&[dir.path().join("nothing-here")], &[]).unwrap_err();
        assert!(error.to_string().contains("nothing-here"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_pipe_or_socket_named_by_itself_is_told_of_and_never_opened() {
        let dir = tree(&[]);
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("device")).unwrap();
        let paths = ["socket", "device"].map(|n| dir.path().join(n));
        let walked = walk(&paths, &[]).unwrap();
        assert!(walked.files.is_empty());
        assert_eq!(walked.unreadable.iter().map(|(p, _)| p.clone()).collect::<Vec<_>>(), paths);
        assert!(walk(&[dir.path().to_owned()], &[]).unwrap().unreadable.is_empty(), "in a folder they are no input");
    }

    #[cfg(unix)]
    #[test]
    fn a_skipped_folder_is_left_out_however_it_is_written() {
        let dir = tree(&["logs/lake/lake.json", "logs/a", "logs/other/lake/b"]);
        std::os::unix::fs::symlink(dir.path().join("logs"), dir.path().join("link")).unwrap();
        assert_eq!(found(dir.path(), &["logs"], &["link/lake"]), ["logs/a", "logs/other/lake/b"]);
        assert_eq!(found(dir.path(), &["link"], &["logs/lake"]), ["link/a", "link/other/lake/b"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_to_files_count_and_links_to_folders_and_loops_do_not() {
        let dir = tree(&["real/a"]);
        std::os::unix::fs::symlink(dir.path().join("real/a"), dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("real/loop")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("device")).unwrap();
        assert_eq!(found(dir.path(), &["."], &[]), ["link", "real/a"]);
    }
}
