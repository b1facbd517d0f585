//! Owns the edges of a file: digests of its first and last bytes, by which a later look tells whether it still holds what was read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::model::id::digest;
use crate::model::sources::Source;

/// Bytes at each end whose digests stand for the content.
const EDGE_BYTES: i64 = 4 << 10;

/// Digests of the first and the last bytes of the first `size` bytes of a file as it is on disk. What a running program has added
/// since its size was taken is left out, so that the file is known again when it has grown.
pub fn of(path: &Path, size: i64) -> io::Result<(String, String)> {
    let mut file = File::open(path)?;
    let edge = EDGE_BYTES.min(size.max(0));
    let mut part = |from: i64| -> io::Result<String> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from.unsigned_abs()))?;
        (&mut file).take(edge.unsigned_abs()).read_to_end(&mut bytes)?;
        Ok(digest(&bytes))
    };
    let head = part(0)?;
    let tail = if size <= edge { head.clone() } else { part(size - edge)? };
    Ok((head, tail))
}

/// Whether the bytes that were read are still there: as many, and the same at both ends. Growth at the end is no change.
pub fn hold(path: &Path, read: &Source) -> io::Result<bool> {
    if std::fs::metadata(path)?.len() < read.size_bytes.max(0).unsigned_abs() {
        return Ok(false);
    }
    let (head, tail) = of(path, read.size_bytes)?;
    Ok(head == read.head_hash && tail == read.tail_hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_of_a_part_of_a_file_are_those_of_the_part_by_itself() {
        let dir = tempfile::tempdir().unwrap();
        let (whole, part) = (dir.path().join("whole"), dir.path().join("part"));
        let bytes: Vec<u8> = (0..20_000u32).map(|n| (n % 251) as u8).collect();
        std::fs::write(&whole, &bytes).unwrap();
        for size in [0, 1, 4_095, 4_096, 4_097, 8_191, 8_192, 19_999, 20_000] {
            std::fs::write(&part, &bytes[..size as usize]).unwrap();
            assert_eq!(of(&whole, size).unwrap(), of(&part, size).unwrap(), "{size}");
            let (head, tail) = of(&part, size).unwrap();
            assert_eq!(head == tail, size <= 4_096, "{size}");
        }
    }
}
