//! Owns appending one line to a file of JSON lines that several processes write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;

/// Whether the line must survive a power cut before the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    Yes,
    /// The system writes it when it likes: for lines whose loss only leaves one more thing unknown.
    No,
}

/// Appends one line. Makes the file and its folder where they are missing; ends a line that an interrupted writer left open, so that
/// it cannot swallow this one.
pub fn append_line<T: Serialize>(path: &Path, value: &T, durable: Durable) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    if file.metadata()?.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            line.insert(0, b'\n');
        }
    }
    // One write: lines of two writers do not mix.
    file.write_all(&line)?;
    if durable == Durable::Yes {
        file.sync_all()?;
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
