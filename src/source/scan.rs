//! Owns a JSON scanner that walks one line once: it hands out the values that are asked for and passes over all others, without
//! building a tree and without decoding a text that nobody reads.
//!
//! It is lenient where that loses nothing (unknown escapes, odd numbers) and strict about structure: whoever gets an error asks
//! the full parser what is wrong. Of repeated keys the last one wins, because keys are handed out in their order.

use std::borrow::Cow;

use memchr::memchr2;

/// The line is no JSON of the expected structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

pub type Scanned<T> = Result<T, Broken>;

/// A text as it stands in the line, quotes removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Str<'a> {
    pub raw: &'a [u8],
    /// Bytes that decoding removes; 0 means that there is nothing to decode.
    removed: usize,
}

impl<'a> Str<'a> {
    /// A text without escapes.
    pub fn plain(raw: &'a [u8]) -> Str<'a> {
        Str { raw, removed: 0 }
    }

    /// Bytes of the decoded text.
    pub fn len(&self) -> usize {
        self.raw.len() - self.removed
    }

    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The decoded text. Invalid UTF-8 and lone surrogates become U+FFFD.
    pub fn text(&self) -> Cow<'a, str> {
        if self.removed == 0 { String::from_utf8_lossy(self.raw) } else { Cow::Owned(decode(self.raw)) }
    }

    /// At most the first `bytes` bytes as they stand in the line, decoded: enough to tell what a long text is.
    pub fn head(&self, bytes: usize) -> Cow<'a, str> {
        if self.raw.len() <= bytes {
            return self.text();
        }
        let mut end = bytes;
        // Neither half an escape nor half a character.
        while end > 0 && self.raw.get(end).is_some_and(|b| b & 0xC0 == 0x80) {
            end -= 1;
        }
        let cut = self.raw.get(..end).unwrap_or_default();
        Str { raw: cut, removed: self.removed }.text()
    }

    /// Whether the text begins so; the beginning must hold nothing that JSON escapes.
    pub fn starts_with(&self, plain: &str) -> bool {
        self.raw.starts_with(plain.as_bytes())
    }

    /// Whether the text is this; it must hold nothing that JSON escapes.
    pub fn is(&self, plain: &str) -> bool {
        self.raw == plain.as_bytes()
    }

    /// Characters of the decoded text.
    pub fn chars(&self) -> usize {
        if self.removed > 0 && memchr::memmem::find(self.raw, b"\\u").is_some() {
            return self.text().chars().count();
        }
        let continuations = self.raw.iter().filter(|b| *b & 0xC0 == 0x80).count();
        self.len().saturating_sub(continuations)
    }
}

/// One value: scalars ready, containers as they stand in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    Str(Str<'a>),
    Num(&'a [u8]),
    Bool(bool),
    Null,
    Object(&'a [u8]),
    Array(&'a [u8]),
}

impl<'a> Value<'a> {
    pub fn str(self) -> Option<Str<'a>> {
        if let Value::Str(s) = self { Some(s) } else { None }
    }

    pub fn bool(self) -> Option<bool> {
        if let Value::Bool(b) = self { Some(b) } else { None }
    }

    /// A whole number, written as integer, float or text.
    pub fn int(self) -> Option<i64> {
        let raw = match self {
            Value::Num(raw) => raw,
            Value::Str(s) => s.raw,
            _ => return None,
        };
        if raw.len() <= 18 && !raw.is_empty() && raw.iter().all(u8::is_ascii_digit) {
            return Some(raw.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')));
        }
        let text = std::str::from_utf8(raw).ok()?.trim();
        // 2^53: beyond it a float is no longer a count.
        text.parse().ok().or_else(|| text.parse::<f64>().ok().filter(|f| f.abs() <= 9_007_199_254_740_992.0).map(|f| f as i64))
    }

    /// A counter: a whole number that is not negative.
    pub fn count(self) -> Option<i64> {
        self.int().filter(|n| (0..=crate::source::lenient::MAX_COUNT).contains(n))
    }

    /// Text of an object or array.
    pub fn container(self) -> Option<&'a [u8]> {
        match self {
            Value::Object(raw) | Value::Array(raw) => Some(raw),
            _ => None,
        }
    }
}

/// A position in one line.
#[derive(Debug, Clone)]
pub struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Surrogate escapes seen that have no partner.
    pub lone_surrogates: usize,
}

impl<'a> Scan<'a> {
    pub fn new(bytes: &'a [u8]) -> Scan<'a> {
        Scan { bytes, at: 0, lone_surrogates: 0 }
    }

    #[inline]
    fn space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The first byte of the next value.
    #[inline]
    fn peek(&mut self) -> Scanned<u8> {
        self.space();
        self.bytes.get(self.at).copied().ok_or(Broken)
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Scanned<()> {
        if self.peek()? == byte {
            self.at += 1;
            Ok(())
        } else {
            Err(Broken)
        }
    }

    /// Nothing but white space may follow.
    pub fn end(&mut self) -> Scanned<()> {
        self.space();
        if self.at == self.bytes.len() { Ok(()) } else { Err(Broken) }
    }

    /// Walks an object. `field` gets each key as it stands in the line and must consume exactly one value. Any other value is
    /// passed over and answered by `false`.
    #[inline]
    pub fn object(&mut self, mut field: impl FnMut(&'a [u8], &mut Self) -> Scanned<()>) -> Scanned<bool> {
        if self.peek()? != b'{' {
            self.skip()?;
            return Ok(false);
        }
        self.at += 1;
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(true);
        }
        loop {
            if self.peek()? != b'"' {
                return Err(Broken);
            }
            let key = self.string()?.raw;
            self.expect(b':')?;
            field(key, self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(true);
                }
                _ => return Err(Broken),
            }
        }
    }

    /// Walks an array. `item` must consume exactly one value. Any other value is passed over and answered by `false`.
    #[inline]
    pub fn array(&mut self, mut item: impl FnMut(&mut Self) -> Scanned<()>) -> Scanned<bool> {
        if self.peek()? != b'[' {
            self.skip()?;
            return Ok(false);
        }
        self.at += 1;
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(true);
        }
        loop {
            item(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(true);
                }
                _ => return Err(Broken),
            }
        }
    }

    /// Whether the next value is a text, an object or an array, told without consuming it.
    pub fn next_is(&mut self, first: u8) -> Scanned<bool> {
        Ok(self.peek()? == first)
    }

    /// The next value.
    #[inline]
    pub fn value(&mut self) -> Scanned<Value<'a>> {
        match self.peek()? {
            b'"' => Ok(Value::Str(self.string()?)),
            b'{' => Ok(Value::Object(self.span()?)),
            b'[' => Ok(Value::Array(self.span()?)),
            _ => self.scalar(),
        }
    }

    /// The next value if it is a text.
    #[inline]
    pub fn str(&mut self) -> Scanned<Option<Str<'a>>> {
        Ok(self.value()?.str())
    }

    /// Passes over one value.
    #[inline]
    pub fn skip(&mut self) -> Scanned<()> {
        self.value().map(|_| ())
    }

    fn scalar(&mut self) -> Scanned<Value<'a>> {
        let from = self.at;
        while !matches!(self.bytes.get(self.at), None | Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        match self.bytes.get(from..self.at).unwrap_or_default() {
            b"true" => Ok(Value::Bool(true)),
            b"false" => Ok(Value::Bool(false)),
            // Python writes these; nothing else is said by them than by null.
            b"null" | b"NaN" | b"Infinity" | b"-Infinity" => Ok(Value::Null),
            raw => match raw.first() {
                Some(b'-' | b'0'..=b'9') if raw.iter().all(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) => {
                    Ok(Value::Num(raw))
                }
                _ => Err(Broken),
            },
        }
    }

    /// A text; the position stands on its opening quote.
    #[inline]
    fn string(&mut self) -> Scanned<Str<'a>> {
        let from = self.at + 1;
        // Most texts are short: a plain loop is faster there than the vector search.
        let mut at = from;
        let near = self.bytes.len().min(from + 24);
        while at < near {
            match self.bytes[at] {
                b'"' => {
                    self.at = at + 1;
                    return Ok(Str { raw: &self.bytes[from..at], removed: 0 });
                }
                b'\\' => break,
                _ => at += 1,
            }
        }
        self.long_string(from, at)
    }

    fn long_string(&mut self, from: usize, mut at: usize) -> Scanned<Str<'a>> {
        let bytes = self.bytes;
        let mut removed = 0;
        loop {
            at += memchr2(b'"', b'\\', bytes.get(at..).ok_or(Broken)?).ok_or(Broken)?;
            // Escapes come in groups (`\n\t`): stay out of the vector search while they last.
            loop {
                match bytes.get(at) {
                    Some(b'"') => {
                        self.at = at + 1;
                        return Ok(Str { raw: &bytes[from..at], removed });
                    }
                    Some(b'\\') => match bytes.get(at + 1) {
                        Some(b'u') => {
                            let (length, becomes) = self.unit(at)?;
                            removed += length - becomes;
                            at += length;
                        }
                        Some(_) => {
                            removed += 1;
                            at += 2;
                        }
                        None => return Err(Broken),
                    },
                    _ => break,
                }
            }
        }
    }

    /// A `\u` escape at `at`: its length in the line and in the decoded text.
    fn unit(&mut self, at: usize) -> Scanned<(usize, usize)> {
        match hex4(self.bytes, at + 2).ok_or(Broken)? {
            0..0x80 => Ok((6, 1)),
            0x80..0x800 => Ok((6, 2)),
            0xD800..0xDC00 if matches!(escaped_unit(self.bytes, at + 6), Some(0xDC00..0xE000)) => Ok((12, 4)),
            0xD800..0xE000 => {
                self.lone_surrogates += 1;
                Ok((6, 3))
            }
            _ => Ok((6, 3)),
        }
    }

    /// A container as it stands in the line; the position stands on its opening bracket.
    fn span(&mut self) -> Scanned<&'a [u8]> {
        let from = self.at;
        let mut depth = 0usize;
        loop {
            match self.bytes.get(self.at).ok_or(Broken)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Ok(&self.bytes[from..self.at]);
                    }
                }
                _ => {
                    // Numbers and commas in bulk (patches, diagnostics): jump over them.
                    let rest = &self.bytes[self.at..];
                    let quote_or_close = rest.iter().take(16).position(|b| matches!(b, b'"' | b'{' | b'[' | b'}' | b']'));
                    self.at += match quote_or_close {
                        Some(found) => found,
                        None => 16.min(rest.len()),
                    };
                    continue;
                }
            }
            self.at += 1;
        }
    }
}

fn hex4(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 4)?.iter().try_fold(0u16, |n, b| Some(n << 4 | char::from(*b).to_digit(16)? as u16))
}

/// The code unit of a `\uXXXX` escape at `at`.
pub(super) fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).filter(|b| *b == b"\\u").and_then(|_| hex4(bytes, at + 2))
}

fn decode(raw: &[u8]) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let (length, c) = match rest.get(at + 1) {
            Some(b'n') => (2, '\n'),
            Some(b't') => (2, '\t'),
            Some(b'r') => (2, '\r'),
            Some(b'b') => (2, '\u{8}'),
            Some(b'f') => (2, '\u{c}'),
            Some(b'u') => match (hex4(rest, at + 2), escaped_unit(rest, at + 6)) {
                (Some(high @ 0xD800..0xDC00), Some(low @ 0xDC00..0xE000)) => {
                    let c = 0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
                    (12, char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER))
                }
                (Some(unit), _) => (6, char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)),
                (None, _) => (rest.len() - at, char::REPLACEMENT_CHARACTER),
            },
            Some(other) if other.is_ascii() => (2, char::from(*other)),
            _ => (1, char::REPLACEMENT_CHARACTER),
        };
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        rest = rest.get(at + length..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// The members of an object that are asked for, by name; the rest is passed over. For small objects read rarely.
pub fn fields<'a, const N: usize>(object: &'a [u8], names: [&str; N]) -> [Option<Value<'a>>; N] {
    let mut found = [None; N];
    let _ = Scan::new(object).object(|key, scan| {
        let value = scan.value()?;
        if let Some(at) = names.iter().position(|n| n.as_bytes() == key) {
            found[at] = Some(value);
        }
        Ok(())
    });
    found
}

/// The items of an array as values; none where it is no array. For small arrays read rarely.
pub fn items(array: &[u8]) -> Vec<Value<'_>> {
    let mut found = Vec::new();
    let _ = Scan::new(array).array(|scan| {
        found.push(scan.value()?);
        Ok(())
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_found_whatever_stands_between_them() {
        let line = br#" {"a" : [1,{"x":"}]"},[]] ,"b":"q\"uo\\te","c":-1.5e3,"d":null,"e":{"b":"inner"},"b":"last"} "#;
        let [a, b, c, d, missing] = fields(line, ["a", "b", "c", "d", "z"]);
        assert_eq!(a, Some(Value::Array(br#"[1,{"x":"}]"},[]]"#)));
        assert_eq!(b.and_then(Value::str).unwrap().text(), "last", "of repeated keys the last wins");
        assert_eq!(c.and_then(Value::int), Some(-1500));
        assert_eq!(d, Some(Value::Null));
        assert_eq!(missing, None);
    }

    #[test]
    fn broken_structure_is_told() {
        for bad in [
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":\"x",
            "{\"a\":\"x\\",
            "{\"a\" 1}",
            "{a:1}",
            "{\"a\":tru}",
            "{\"a\":[1}",
            "",
            "{\"a\":\"\\u12\"}",
        ] {
            let walked = Scan::new(bad.as_bytes()).object(|_, s| s.skip());
            let whole = matches!(walked, Ok(true));
            // A wrong bracket inside a value that nobody reads balances out; everything else is refused.
            assert!(!whole || bad == "{\"a\":[1}", "{bad}");
        }
    }

    proptest! {
        #[test]
        fn texts_decode_as_the_full_parser_decodes_them(text in "(?s).{0,80}|[\\\\\"\n\t/\u{1F600}é]{0,40}", ascii in any::<bool>()) {
            let mut json = serde_json::to_string(&text).unwrap();
            if ascii {
                json = json.chars().map(|c| if c.is_ascii() { c.to_string() } else {
                    c.encode_utf16(&mut [0; 2]).iter().map(|u| format!("\\u{u:04x}")).collect()
                }).collect();
            }
            let value = Scan::new(json.as_bytes()).value().unwrap().str().unwrap();
            prop_assert_eq!(&value.text(), &text);
            prop_assert_eq!(value.len(), text.len());
            prop_assert_eq!(value.chars(), text.chars().count());
            let _ = value.head(7);
        }

        #[test]
        fn any_bytes_are_scanned_without_panic(bytes in proptest::collection::vec(prop_oneof![Just(b'{'), Just(b'"'), Just(b'\\'), Just(b'u'), Just(b'['), Just(b'}'), Just(b']'), Just(b','), Just(b':'), any::<u8>()], 0..200)) {
            let mut scan = Scan::new(&bytes);
            let _ = scan.object(|_, s| { let v = s.value()?; if let Value::Str(s) = v { let _ = (s.text(), s.len(), s.head(3)); } Ok(()) });
            let _ = Scan::new(&bytes).array(|s| s.skip());
        }
    }
}
