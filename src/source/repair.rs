//! Owns the repairs of one line's bytes: invalid UTF-8, lone surrogate escapes, repeated keys. Each gives a copy, or nothing where there is nothing to repair.

use std::borrow::Cow;

use super::scan::escaped_unit;

/// Replaces invalid UTF-8 by U+FFFD.
pub fn lossy_utf8(bytes: &[u8]) -> Option<Vec<u8>> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text.into_bytes()),
    }
}

/// Replaces escaped halves of surrogate pairs that stand alone (`\ud83d` without its partner) by `\ufffd`.
pub fn lone_surrogates(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let start = at + found;
        match escaped_unit(bytes, start) {
            Some(0xD800..=0xDBFF) if matches!(escaped_unit(bytes, start + 6), Some(0xDC00..=0xDFFF)) => at = start + 12,
            Some(0xD800..=0xDFFF) => {
                let out = out.get_or_insert_with(|| Vec::with_capacity(bytes.len()));
                out.extend_from_slice(&bytes[copied..start]);
                out.extend_from_slice(b"\\ufffd");
                at = start + 6;
                copied = at;
            }
            Some(_) => at = start + 6,
            // Any other escape: the byte behind the backslash is no start of one.
            None => at = start + 2,
        }
    }
    if let Some(out) = &mut out {
        out.extend_from_slice(&bytes[copied..]);
    }
    out
}

/// Rewrites an object so that of repeated keys the last one stays, as JavaScript reads it. Only for lines that a typed parse
/// refused: it builds the whole tree.
pub fn last_key_wins(bytes: &[u8]) -> Option<Vec<u8>> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    serde_json::to_vec(&value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(text: &str) -> Option<String> {
        lone_surrogates(text.as_bytes()).map(|b| String::from_utf8(b).unwrap())
    }

    #[test]
    fn only_surrogates_without_partner_are_replaced() {
        assert_eq!(fixed(r#"{"a":"\ud83d\ude00 \u00e9"}"#), None);
        assert_eq!(fixed(r#"{"a":"x\ud83d"}"#).as_deref(), Some(r#"{"a":"x\ufffd"}"#));
        assert_eq!(fixed(r#"{"a":"\ud83d\ud83d\ude00"}"#).as_deref(), Some(r#"{"a":"\ufffd\ud83d\ude00"}"#));
        assert_eq!(fixed(r#"{"a":"\ude00\n"}"#).as_deref(), Some(r#"{"a":"\ufffd\n"}"#));
        assert_eq!(fixed(r#"{"a":"\\ud83d"}"#), None, "an escaped backslash followed by text");
        assert_eq!(fixed(r#"{"a":"\ud83"#), None);
        assert_eq!(fixed("\\"), None);
    }

    #[test]
    fn of_repeated_keys_the_last_one_stays() {
        assert_eq!(last_key_wins(br#"{"a":1,"b":2,"a":3}"#).unwrap(), br#"{"a":3,"b":2}"#);
        assert_eq!(last_key_wins(b"{"), None);
    }
}
