//! Owns the place of a run as we see it from outside: filling it with the copy, and reading what was written there without being led out.

#[cfg(target_os = "linux")]
use std::ffi::CString;
use std::fs;
use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::super::stimulus::{Content, Item, Prepared};

/// Longest file that is read back.
#[cfg(target_os = "linux")]
const LONGEST: u64 = 16 << 20;

/// Writes the copy of a stimulus and a validator's files below `root`.
#[cfg(target_os = "linux")]
pub(super) fn fill(root: &Path, stimulus: &Prepared, files: &[(String, PathBuf)]) -> io::Result<()> {
    for item in &stimulus.items {
        put(&root.join("stimulus"), item)?;
    }
    if let Some(patch) = &stimulus.patch {
        fs::write(root.join("patch.diff"), patch)?;
    }
    let target = root.join("files");
    for (name, path) in files {
        let to = target.join(name);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        if path.is_dir() { copy_tree(path, &to)? } else { copy(path, &to, is_executable(path))? }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.permissions().mode() & 0o111 != 0)
}

/// Writes one item of a tree.
pub(in crate::replay) fn put(root: &Path, item: &Item) -> io::Result<()> {
    let to = root.join(&item.path);
    match &item.content {
        Content::Folder => fs::DirBuilder::new().recursive(true).mode(0o755).create(&to),
        Content::Link(target) => std::os::unix::fs::symlink(target, &to),
        Content::File(from) => copy(from, &to, item.executable),
        Content::Bytes(bytes) => {
            let mut file = create(&to, item.executable)?;
            file.write_all(bytes)
        }
    }
}

fn create(to: &Path, executable: bool) -> io::Result<fs::File> {
    let mode = if executable { 0o755 } else { 0o644 };
    let made = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(to);
    match made {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(to)
        }
        made => made,
    }
}

/// Copies the bytes of a file; the kernel shares them where the file system can.
fn copy(from: &Path, to: &Path, executable: bool) -> io::Result<()> {
    let mut source = fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(from)?;
    io::copy(&mut source, &mut create(to, executable)?).map(|_| ())
}

#[cfg(target_os = "linux")]
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    use super::super::place::{Entry, entries};
    fs::create_dir_all(to)?;
    for entry in entries(from).map_err(io::Error::other)? {
        match entry {
            Entry::Folder { path } => fs::create_dir_all(to.join(path))?,
            Entry::Link { path, target } => std::os::unix::fs::symlink(target, to.join(path))?,
            Entry::File { path, executable, .. } => copy(&from.join(&path), &to.join(&path), executable)?,
        }
    }
    Ok(())
}

/// The bytes of a file below `root`; `None` where it is not there, no plain file, too long, or behind a link: a run may have put one to
/// lead us out.
#[cfg(target_os = "linux")]
pub(super) fn read_back(root: &Path, name: &str) -> Option<Vec<u8>> {
    let c = |path: &Path| CString::new(path.as_os_str().as_encoded_bytes()).ok();
    let start = c(root)?;
    let folder = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: a valid C string; the descriptor is owned at once.
    let mut here = unsafe { owned(libc::open(start.as_ptr(), folder))? };
    let parts: Vec<_> = Path::new(name).components().collect();
    let (last, before) = parts.split_last()?;
    for part in before {
        let part = c(Path::new(part))?;
        // SAFETY: as above.
        here = unsafe { owned(libc::openat(here.as_raw_fd(), part.as_ptr(), folder | libc::O_NOFOLLOW))? };
    }
    let last = c(Path::new(last))?;
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: as above.
    let fd = unsafe { owned(libc::openat(here.as_raw_fd(), last.as_ptr(), flags))? };
    let file = fs::File::from(fd);
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.len() > LONGEST {
        return None;
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, LONGEST), &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(target_os = "linux")]
unsafe fn owned(fd: libc::c_int) -> Option<OwnedFd> {
    // SAFETY: the caller hands over a fresh descriptor.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_leads_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("out")).unwrap();
        fs::write(dir.path().join("out/a"), "here").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("folder")).unwrap();
        assert_eq!(read_back(dir.path(), "out/a").as_deref(), Some(&b"here"[..]));
        assert_eq!(read_back(dir.path(), "link"), None);
        assert_eq!(read_back(dir.path(), "folder/hostname"), None);
        assert_eq!(read_back(dir.path(), "out"), None);
    }
}
