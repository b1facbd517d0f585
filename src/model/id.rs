//! Owns stable identifiers: 128-bit BLAKE3 hashes of natural keys, as 32 hex digits.

/// Hashes the parts of a natural key. Parts are length-prefixed, so `["ab", "c"]` and `["a", "bc"]` differ.
pub fn stable_id(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hex16(hasher.finalize().as_bytes())
}

/// A short digest of raw bytes (a text, an argument object), for `*_hash` columns.
pub fn digest(bytes: &[u8]) -> String {
    hex16(blake3::hash(bytes).as_bytes())
}

fn hex16(bytes: &[u8; 32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(32);
    for byte in &bytes[..16] {
        out.push(DIGITS[usize::from(byte >> 4)] as char);
        out.push(DIGITS[usize::from(byte & 15)] as char);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(stable_id(&["ab", "c"]), stable_id(&["a", "bc"]));
        assert_eq!(stable_id(&["ab", "c"]).len(), 32);
    }
}
