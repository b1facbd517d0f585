//! Owns the lock that keeps two writers of one lake apart. The system releases it when its holder dies, however it dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use super::LakeError;

/// Held while a process writes.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock; [`LakeError::Locked`] if another process still holds it after `wait`.
    pub(crate) fn take(root: &Path, wait: Duration) -> Result<Lock, LakeError> {
        let path = root.join("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(LakeError::io("open", &path))?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::WouldBlock) if began.elapsed() < wait => std::thread::sleep(Duration::from_millis(20)),
                Err(TryLockError::WouldBlock) => return Err(LakeError::Locked(root.to_owned())),
                Err(TryLockError::Error(e)) => return Err(LakeError::io("lock", &path)(e)),
            }
        }
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
}
