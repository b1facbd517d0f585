//! Owns the lock that keeps two writers of one lake apart. The system releases it when its holder dies, however it dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use super::LakeError;

/// Held while a process writes.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock; [`LakeError::Locked`] if another process still holds it after `wait`.
    pub(crate) fn take(root: &Path, wait: Duration) -> Result<Lock, LakeError> {
        let path = root.join("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(LakeError::io("open", &path))?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { file }),
                Err(TryLockError::WouldBlock) if began.elapsed() < wait => std::thread::sleep(Duration::from_millis(20)),
                Err(TryLockError::WouldBlock) => return Err(LakeError::Locked(root.to_owned())),
                Err(TryLockError::Error(e)) => return Err(LakeError::io("lock", &path)(e)),
            }
        }
    }
}

impl Drop for Lock {
    /// Closing alone is not enough: a process that was forked meanwhile holds the same open file until it runs another program.
    fn drop(&mut self) {
        // The system releases it at the latest when the last holder of the file is gone.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_holds_the_lock_and_it_is_free_again_when_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let first = Lock::take(dir.path(), Duration::ZERO).unwrap();
        assert!(matches!(Lock::take(dir.path(), Duration::ZERO), Err(LakeError::Locked(_))));
        drop(first);
        Lock::take(dir.path(), Duration::ZERO).unwrap();
    }

    #[test]
    fn it_is_free_when_dropped_though_a_forked_process_still_has_the_file_open() {
        let dir = tempfile::tempdir().unwrap();
        let lock = Lock::take(dir.path(), Duration::ZERO).unwrap();
        let forked = lock.file.try_clone().unwrap();
        drop(lock);
        Lock::take(dir.path(), Duration::ZERO).unwrap();
        drop(forked);
    }
}
