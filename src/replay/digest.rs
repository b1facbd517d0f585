//! Owns digests of trees: SHA-256 over sorted paths, x-bits, lengths and bytes. Empty folders and other mode bits do not count, as in git.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::place::{Entry, entries};
use super::wrong::{Result, Wrong};

/// A digest under way; parts are length-prefixed, so none runs into the next.
#[derive(Default, Clone)]
pub struct Hasher(Sha256);

impl Hasher {
    pub fn part(&mut self, bytes: &[u8]) -> &mut Hasher {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub fn text(&mut self, text: &str) -> &mut Hasher {
        self.part(text.as_bytes())
    }

    /// A file under the name it counts by.
    pub fn file(&mut self, name: &str, path: &Path, executable: bool) -> Result<&mut Hasher> {
        let bytes = fs::read(path).map_err(|e| Wrong::at(path, e))?;
        Ok(self.text("file").text(name).part(&[u8::from(executable)]).part(&bytes))
    }

    /// A tree under the name it counts by.
    pub fn tree(&mut self, name: &str, root: &Path) -> Result<&mut Hasher> {
        self.text("tree").text(name);
        for entry in entries(root)? {
            match entry {
                Entry::File { path, executable, .. } => {
                    self.file(&path, &root.join(&path), executable)?;
                }
                Entry::Link { path, target } => {
                    self.text("link").text(&path).text(&target);
                }
                Entry::Folder { .. } => {}
            }
        }
        Ok(self)
    }

    pub fn done(&self) -> String {
        let digest = self.0.clone().finalize();
        let mut out = String::with_capacity(71);
        out.push_str("sha256:");
        for byte in digest {
            out.push_str(&format!("{byte:02x}"));
        }
        out
    }
}

/// The digest of some bytes alone, as `sha256sum` prints it.
pub fn bytes(bytes: &[u8]) -> String {
    let mut hasher = Hasher::default();
    hasher.0.update(bytes);
    hasher.done()
}

/// The digest of a file or tree, whichever it is.
pub fn path(path: &Path) -> Result<String> {
    let meta = fs::symlink_metadata(path).map_err(|e| Wrong::at(path, e))?;
    if meta.is_file() {
        return fs::read(path).map(|b| bytes(&b)).map_err(|e| Wrong::at(path, e));
    }
    let mut hasher = Hasher::default();
    hasher.tree("", path)?;
    Ok(hasher.done())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_changed_byte_name_or_x_bit_changes_the_digest_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        fs::write(&file, "one").unwrap();
        let first = path(dir.path()).unwrap();
        fs::create_dir(dir.path().join("empty")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(path(dir.path()).unwrap(), first);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let executable = path(dir.path()).unwrap();
        assert_ne!(executable, first);
        fs::write(&file, "onf").unwrap();
        assert_ne!(path(dir.path()).unwrap(), executable);
        assert_eq!(bytes(b"abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
