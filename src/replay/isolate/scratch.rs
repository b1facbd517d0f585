//! Owns the scratch folders of runs without namespaces, and the sweeping of those that a killed replay left.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::plan::FOLDERS;

/// How scratch begins; the process that made it follows.
pub(super) const SCRATCH: &str = "mechanic-replay-";

/// A folder of one run, removed with it. It is locked while it is in use: a replay in another PID namespace cannot be asked for otherwise.
pub(super) struct Scratch {
    folder: tempfile::TempDir,
    _lock: Option<File>,
}

impl Scratch {
    pub fn new(below: &Path) -> io::Result<Scratch> {
        let prefix = format!("{SCRATCH}{}-", std::process::id());
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(below)?;
        let lock = lock(folder.path());
        for name in FOLDERS {
            std::fs::create_dir(folder.path().join(name))?;
        }
        Ok(Scratch { folder, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        open_up(self.folder.path());
    }
}

/// The lock of a folder; `None` where somebody has it.
fn lock(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    // SAFETY: a descriptor we own.
    (unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0).then_some(file)
}

/// Removes what replays that were killed left behind.
pub(super) fn sweep(root: &Path) {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|n| n.strip_prefix(SCRATCH)).and_then(|n| n.split('-').next()).and_then(|p| p.parse::<u32>().ok());
        let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
        if is_folder && pid.is_some_and(|p| !Path::new(&format!("/proc/{p}")).exists()) && is_free(&entry.path()) {
            open_up(&entry.path());
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Nobody holds its lock. What cannot even be opened is ours to open up first, or not ours at all.
fn is_free(folder: &Path) -> bool {
    File::open(folder).is_err() || lock(folder).is_some()
}

/// Makes every folder of a place removable: a run may have closed them.
fn open_up(root: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for entry in walkdir::WalkDir::new(root).follow_links(false) {
        let path: PathBuf = match &entry {
            Ok(entry) if entry.file_type().is_dir() => entry.path().to_owned(),
            Ok(_) => continue,
            Err(e) => match e.path() {
                Some(path) => path.to_owned(),
                None => continue,
            },
        };
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
    }
}
