//! Owns path safety: nothing a corpus names may lie outside it, by `..`, by an absolute path or by a link.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::wrong::{Result, Wrong, shown};

/// Largest number of files of one stimulus; more is a mistake.
const MOST_FILES: usize = 200_000;

/// One entry of a tree, by its relative path with `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    File { path: String, executable: bool, length: u64 },
    Link { path: String, target: String },
    Folder { path: String },
}

impl Entry {
    pub fn path(&self) -> &str {
        match self {
            Entry::File { path, .. } | Entry::Link { path, .. } | Entry::Folder { path } => path,
        }
    }
}

/// `base` joined with a path a file names: relative, no `..`. Existence is not checked.
pub fn inside(base: &Path, named: &str) -> std::result::Result<PathBuf, String> {
    if named.is_empty() {
        return Err("the path is empty".to_owned());
    }
    if named.contains('\0') {
        return Err("the path holds a NUL character".to_owned());
    }
    let mut out = base.to_path_buf();
    for part in Path::new(named).components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::CurDir => {}
            Component::ParentDir => return Err(format!("`{}` leaves the folder by `..`", shown(Path::new(named)))),
            Component::RootDir | Component::Prefix(_) => {
                return Err(format!("`{}` is absolute: name it relative", shown(Path::new(named))));
            }
        }
    }
    Ok(out)
}

/// A path of `root` that a fixture may name with `..` as long as it stays below `root` (bases are shared by fixtures).
pub fn below(root: &Path, base: &Path, named: &str) -> std::result::Result<PathBuf, String> {
    let relative = base.strip_prefix(root).map_err(|_| "the folder is outside the corpus".to_owned())?;
    let mut parts: Vec<std::ffi::OsString> = relative.components().map(|c| c.as_os_str().to_owned()).collect();
    for part in Path::new(named).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_owned()),
            Component::CurDir => {}
            Component::ParentDir if parts.pop().is_some() => {}
            Component::ParentDir => return Err(format!("`{}` leaves the corpus", shown(Path::new(named)))),
            Component::RootDir | Component::Prefix(_) => {
                return Err(format!("`{}` is absolute: name it relative", shown(Path::new(named))));
            }
        }
    }
    if parts.is_empty() {
        return Err(format!("`{}` is the corpus itself", shown(Path::new(named))));
    }
    Ok(root.join(parts.iter().collect::<PathBuf>()))
}

/// Refuses a path that goes through a link anywhere below `root`.
pub fn no_link(root: &Path, path: &Path) -> Result<()> {
    let relative = path.strip_prefix(root).map_err(|_| Wrong::at(path, "lies outside its folder"))?;
    let mut here = root.to_path_buf();
    for part in relative.components() {
        here.push(part);
        match fs::symlink_metadata(&here) {
            Ok(meta) if meta.is_symlink() => return Err(Wrong::at(&here, "is a link: a corpus owns its bytes, put the file itself there")),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(Wrong::at(&here, "does not exist")),
            Err(e) => return Err(Wrong::at(&here, e)),
        }
    }
    Ok(())
}

/// Everything below a folder, sorted by path. Links only where they point inside the folder; sockets, devices and pipes never.
pub fn entries(root: &Path) -> Result<Vec<Entry>> {
    let mut out = Vec::new();
    let mut open = vec![(root.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        let listing = fs::read_dir(&folder).map_err(|e| Wrong::at(&folder, e))?;
        for item in listing {
            let item = item.map_err(|e| Wrong::at(&folder, e))?;
            let full = item.path();
            let name = item.file_name();
            let Some(name) = name.to_str() else { return Err(Wrong::at(&full, "the name is not UTF-8: rename it")) };
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
            let kind = item.file_type().map_err(|e| Wrong::at(&full, e))?;
            if kind.is_dir() {
                out.push(Entry::Folder { path: path.clone() });
                open.push((full, path));
            } else if kind.is_symlink() {
                let target = fs::read_link(&full).map_err(|e| Wrong::at(&full, e))?;
                let Some(target) = target.to_str() else { return Err(Wrong::at(&full, "the link's target is not UTF-8")) };
                if !stays_inside(&prefix, target) {
                    return Err(Wrong::at(&full, format!("the link points out of its folder (to {})", shown(Path::new(target)))));
                }
                out.push(Entry::Link { path, target: target.to_owned() });
            } else if kind.is_file() {
                let meta = item.metadata().map_err(|e| Wrong::at(&full, e))?;
                let executable = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o111 != 0;
                out.push(Entry::File { path, executable, length: meta.len() });
            } else {
                return Err(Wrong::at(&full, "is neither file, folder nor link"));
            }
            if out.len() > MOST_FILES {
                return Err(Wrong::at(root, format!("holds more than {MOST_FILES} entries")));
            }
        }
    }
    out.sort_by(|a, b| a.path().cmp(b.path()));
    Ok(out)
}

/// Whether a link in the folder `prefix` stays inside the tree, step by step: a detour through the outside is one too.
pub fn stays_inside(prefix: &str, target: &str) -> bool {
    let mut depth = if prefix.is_empty() { 0 } else { prefix.split('/').count() };
    for part in Path::new(target).components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_path_stays_in_its_folder() {
        assert_eq!(inside(Path::new("c"), "a/./b"), Ok(PathBuf::from("c/a/b")));
        for bad in ["", "/etc/passwd", "../x", "a/../../x", "a\0b"] {
            assert!(inside(Path::new("c"), bad).is_err(), "{bad:?}");
        }
        assert_eq!(below(Path::new("c"), Path::new("c/one"), "../_bases/shop"), Ok(PathBuf::from("c/_bases/shop")));
        for bad in ["../../x", "..", "/x", "../_bases/../../x"] {
            assert!(below(Path::new("c"), Path::new("c/one"), bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_link_is_kept_only_when_it_stays_inside() {
        assert!(stays_inside("", "a/b"));
        assert!(stays_inside("x/y", "../../a"));
        assert!(!stays_inside("x", "../../a"));
        assert!(!stays_inside("", "/etc/passwd"));
        assert!(!stays_inside("", "a/../../b"));
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("out")).unwrap();
        assert!(entries(dir.path()).unwrap_err().to_string().contains("points out of its folder"));
        assert!(no_link(dir.path(), &dir.path().join("out")).unwrap_err().to_string().contains("is a link"));
    }
}
