//! Owns the engine's storage: listing, reading and writing files by URL.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use delta_kernel::{FileMeta, FileSlice, KernelError, KernelResult, KernelResultIteratorStatic, StorageHandler};
use url::Url;

use super::{Disk, local_path, put, read};
use crate::lake::disk::STAGED;

pub(super) struct LocalStorage {
    pub(super) disk: Disk,
}

impl StorageHandler for LocalStorage {
    fn list_from(&self, path: &Url) -> KernelResult<KernelResultIteratorStatic<FileMeta>> {
        let from = local_path(path)?;
        let dir = if path.path().ends_with('/') { from.as_path() } else { from.parent().unwrap_or(Path::new("/")) };
        let mut found = Vec::new();
        list(dir, &mut found)?;
        found.retain(|(at, _)| at.as_path() > from.as_path());
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Box::new(found.into_iter().map(|(_, meta)| Ok(meta))))
    }

    fn read_files(&self, files: Vec<FileSlice>) -> KernelResult<KernelResultIteratorStatic<Bytes>> {
        Ok(Box::new(files.into_iter().map(|(url, range)| {
            let bytes = Bytes::from(read(&url)?);
            let Some(range) = range else { return Ok(bytes) };
            let (from, to) = (usize::try_from(range.start), usize::try_from(range.end));
            match (from, to) {
                (Ok(from), Ok(to)) if from <= to && to <= bytes.len() => Ok(bytes.slice(from..to)),
                _ => Err(KernelError::generic(format!("{url} is shorter than expected"))),
            }
        })))
    }

    fn copy_atomic(&self, src: &Url, dest: &Url) -> KernelResult<()> {
        put(&self.disk, dest, &read(src)?, false)
    }

    fn put(&self, path: &Url, data: Bytes, overwrite: bool) -> KernelResult<()> {
        put(&self.disk, path, &data, overwrite)
    }

    fn head(&self, path: &Url) -> KernelResult<FileMeta> {
        let at = local_path(path)?;
        match fs::metadata(&at) {
            Ok(meta) => Ok(file_meta(path.clone(), &meta)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(KernelError::FileNotFound(path.to_string())),
            Err(e) => Err(KernelError::IOError(e)),
        }
    }

    fn delete(&self, path: &Url) -> KernelResult<()> {
        self.disk.remove(&local_path(path)?).map_err(KernelError::IOError)
    }
}

/// Lists files at any depth; a folder that is not there holds none.
fn list(dir: &Path, found: &mut Vec<(std::path::PathBuf, FileMeta)>) -> KernelResult<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(KernelError::IOError(e)),
    };
    for entry in entries {
        let entry = entry.map_err(KernelError::IOError)?;
        let path = entry.path();
        let meta = match entry.metadata() {
            Ok(meta) => meta,
            // Staged files vanish at any time.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => return Err(KernelError::IOError(e)),
        };
        if meta.is_dir() {
            list(&path, found)?;
        } else if !path.to_string_lossy().contains(STAGED) {
            let url = Url::from_file_path(&path).map_err(|()| KernelError::generic(format!("{} has no URL", path.display())))?;
            found.push((path, file_meta(url, &meta)));
        }
    }
    Ok(())
}

fn file_meta(location: Url, meta: &fs::Metadata) -> FileMeta {
    let modified = meta.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    let millis = modified.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX));
    FileMeta::new(location, millis, meta.len())
}
