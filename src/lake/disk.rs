//! Owns durable writes: what it reports done survives a crash. Files and their folders are synced before they are named by anything.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The one way the lake writes. In tests it can die at the n-th step, as a killed process does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    #[cfg(test)]
    pub(crate) steps_left: Option<std::sync::Arc<std::sync::atomic::AtomicI64>>,
}

impl Disk {
    /// Dies after that many more steps: every later step fails too.
    #[cfg(test)]
    pub(crate) fn dying_after(steps: i64) -> Disk {
        Disk { steps_left: Some(std::sync::Arc::new(std::sync::atomic::AtomicI64::new(steps))) }
    }

    /// One point at which a crash may happen. Free outside tests.
    #[cfg(test)]
    pub(crate) fn step(&self) -> io::Result<()> {
        match &self.steps_left {
            Some(left) if left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst) <= 0 => Err(io::Error::other("killed by the test")),
            _ => Ok(()),
        }
    }

    #[cfg(not(test))]
    #[inline]
    pub(crate) fn step(&self) -> io::Result<()> {
        Ok(())
    }

    /// Makes a folder and those above it, and syncs the entries that are new.
    pub(crate) fn create_dir(&self, dir: &Path) -> io::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        self.step()?;
        if let Some(parent) = dir.parent() {
            self.create_dir(parent)?;
        }
        match fs::create_dir(dir) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
            _ => self.sync_dir(dir.parent().unwrap_or(dir)),
        }
    }

    /// Makes the entries of a folder durable.
    pub(crate) fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.step()?;
        // No test can see whether a sync happened, and thousands of them would take minutes.
        #[cfg(all(unix, not(test)))]
        File::open(dir)?.sync_all()?;
        #[cfg(not(all(unix, not(test))))]
        let _ = dir;
        Ok(())
    }

    /// Makes the content of a file durable.
    pub(crate) fn sync_file(&self, file: &File) -> io::Result<()> {
        self.step()?;
        if cfg!(test) { Ok(()) } else { file.sync_all() }
    }

    /// Writes a file that must not exist yet; it appears whole or not at all.
    pub(crate) fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let staged = self.stage(path, bytes)?;
        self.step()?;
        let linked = fs::hard_link(&staged, path);
        let _ = fs::remove_file(&staged);
        linked?;
        self.sync_dir(parent(path))
    }

    /// Writes a file in place of what stands there; readers see the old or the new content.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let staged = self.stage(path, bytes)?;
        self.step()?;
        fs::rename(&staged, path)?;
        self.sync_dir(parent(path))
    }

    /// Removes a file; one that is not there is no error.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        match fs::remove_file(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn stage(&self, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
        self.step()?;
        self.create_dir(parent(path))?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!("{STAGED}{}", unique()));
        let staged = path.with_file_name(name);
        let mut file = File::create_new(&staged)?;
        file.write_all(bytes)?;
        self.sync_file(&file)?;
        Ok(staged)
    }
}

/// Marks a file that has not got its name yet; one left behind is rubbish of a crash.
pub(crate) const STAGED: &str = ".staged-";

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    }
}

/// A name part that no other process, and no other call, gives out.
pub(crate) fn unique() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    crate::model::id::stable_id(&[&std::process::id().to_string(), &since.as_nanos().to_string(), &count.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_created_once_and_replaced_any_number_of_times() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/file");
        let disk = Disk::default();
        disk.create(&path, b"one").unwrap();
        assert_eq!(disk.create(&path, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        disk.replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing staged is left");
    }

    #[test]
    fn a_dying_disk_leaves_the_old_content_or_the_new() {
        for steps in 0..6 {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            Disk::default().create(&path, b"old").unwrap();
            let done = Disk::dying_after(steps).replace(&path, b"new").is_ok();
            let content = fs::read(&path).unwrap();
            assert!(content == b"old" || content == b"new");
            assert!(!done || content == b"new");
        }
    }
}
