//! Owns the line reader that every line format uses: bounded memory, any line length, truncated tails told apart from broken lines.

use std::io::{self, Read};

/// Longer lines are skipped and counted, never held.
pub const LINE_CAP: usize = 64 << 20;
const CHUNK: usize = 1 << 20;

/// One line without its line end, `\r` and surrounding NUL bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub bytes: &'a [u8],
    /// 1-based.
    pub number: i64,
    /// Offset of the line in the (uncompressed) file.
    pub offset: i64,
}

/// What stands next in the file.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    Line(Line<'a>),
    /// The last line has no line end: it may still be growing. Parse it; when that fails it is a `truncated_tail`.
    Tail(Line<'a>),
    Oversize {
        number: i64,
        offset: i64,
        bytes: usize,
        /// It has no line end.
        is_tail: bool,
    },
}

/// Reads lines from anything that reads.
pub struct LineReader<R> {
    inner: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: i64,
    number: i64,
    cap: usize,
    ended: bool,
}

impl<R: Read> LineReader<R> {
    pub fn new(inner: R) -> Self {
        Self::with_cap(inner, LINE_CAP)
    }

    pub fn with_cap(inner: R, cap: usize) -> Self {
        LineReader { inner, buffer: vec![0; CHUNK.min(cap.max(64))], start: 0, end: 0, offset: 0, number: 0, cap, ended: false }
    }

    /// Reads on behind the line of that number, which ends at `offset`, where `inner` stands.
    pub fn behind(inner: R, offset: i64, number: i64) -> Self {
        LineReader { offset, number, ..Self::new(inner) }
    }

    /// Number of the last line that was returned or was blank.
    pub fn number(&self) -> i64 {
        self.number
    }

    /// Offset of the byte after the last line that was returned.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The next line that is not blank. `None` at the end.
    pub fn next_line(&mut self) -> io::Result<Option<Next<'_>>> {
        loop {
            let mut scanned = 0;
            let (from, to, found) = loop {
                match memchr::memchr(b'\n', &self.buffer[self.start + scanned..self.end]) {
                    Some(at) => break (self.start, self.start + scanned + at, true),
                    None if self.ended => break (self.start, self.end, false),
                    None => {
                        scanned = self.end - self.start;
                        if scanned > self.cap {
                            return self.skip_oversize().map(Some);
                        }
                        self.fill()?;
                    }
                }
            };
            if !found && from == to {
                return Ok(None);
            }
            self.number += 1;
            let offset = self.offset;
            self.offset += (to - from) as i64 + i64::from(found);
            self.start = if found { to + 1 } else { to };
            if to - from > self.cap {
                return Ok(Some(Next::Oversize { number: self.number, offset, bytes: to - from, is_tail: !found }));
            }
            let mut bytes = &self.buffer[from..to];
            if offset == 0 {
                bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
            }
            let bytes = trim(bytes);
            if bytes.is_empty() {
                continue;
            }
            // Borrow again with the lifetime of the result: the loop above is over.
            let range = bytes.as_ptr() as usize - self.buffer.as_ptr() as usize;
            let line = Line { bytes: &self.buffer[range..range + bytes.len()], number: self.number, offset };
            return Ok(Some(if found { Next::Line(line) } else { Next::Tail(line) }));
        }
    }

    /// Reads more bytes behind those held; grows the buffer only for a line longer than it.
    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            let grown = (self.buffer.len() * 2).min(self.cap + CHUNK);
            self.buffer.resize(grown.max(self.end + 1), 0);
        }
        loop {
            match self.inner.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            }
            return Ok(());
        }
    }

    fn skip_oversize(&mut self) -> io::Result<Next<'_>> {
        self.number += 1;
        let (number, offset) = (self.number, self.offset);
        let mut bytes = 0usize;
        let mut is_tail = false;
        loop {
            match memchr::memchr(b'\n', &self.buffer[self.start..self.end]) {
                Some(at) => {
                    bytes += at;
                    self.start += at + 1;
                    self.offset += bytes as i64 + 1;
                    break;
                }
                None => {
                    bytes += self.end - self.start;
                    (self.start, self.end) = (0, 0);
                    if self.ended {
                        self.offset += bytes as i64;
                        is_tail = true;
                        break;
                    }
                    self.fill()?;
                }
            }
        }
        self.buffer.truncate(CHUNK.max(self.end));
        self.buffer.shrink_to_fit();
        Ok(Next::Oversize { number, offset, bytes, is_tail })
    }
}

fn trim(bytes: &[u8]) -> &[u8] {
    let junk = |b: &u8| matches!(b, 0 | b'\r' | b' ' | b'\t');
    let from = bytes.iter().position(|b| !junk(b)).unwrap_or(bytes.len());
    let to = bytes.iter().rposition(|b| !junk(b)).map_or(from, |at| at + 1);
    &bytes[from..to]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_all(input: &[u8], cap: usize) -> Vec<(String, i64, i64, &'static str)> {
        let mut reader = LineReader::with_cap(input, cap);
        let mut out = Vec::new();
        while let Some(next) = reader.next_line().unwrap() {
            out.push(match next {
                Next::Line(l) => (String::from_utf8_lossy(l.bytes).into_owned(), l.number, l.offset, "line"),
                Next::Tail(l) => (String::from_utf8_lossy(l.bytes).into_owned(), l.number, l.offset, "tail"),
                Next::Oversize { number, offset, bytes, .. } => (bytes.to_string(), number, offset, "oversize"),
            });
        }
        assert_eq!(reader.offset(), input.len() as i64);
        out
    }

    #[test]
    fn line_ends_byte_order_mark_and_nul_blocks_are_not_content() {
        let input = b"\xEF\xBB\xBFa\r\n\n\0\0\0b\n   \nc";
        assert_eq!(read_all(input, 100), vec![("a".into(), 1, 0, "line"), ("b".into(), 3, 7, "line"), ("c".into(), 5, 16, "tail")]);
    }

    #[test]
    fn an_oversize_line_is_skipped_and_the_next_one_read() {
        let mut input = vec![b'x'; 500];
        input.extend_from_slice(b"\nok\n");
        assert_eq!(read_all(&input, 100), vec![("500".into(), 1, 0, "oversize"), ("ok".into(), 2, 501, "line")]);
    }

    #[test]
    fn empty_input_and_only_newlines_hold_no_line() {
        assert!(read_all(b"", 10).is_empty());
        assert!(read_all(b"\n\n\n", 10).is_empty());
    }

    proptest! {
        #[test]
        fn lines_are_those_of_a_plain_split(parts in proptest::collection::vec("[a-z]{0,200}", 0..30)) {
            let text = parts.join("\n");
            let expected: Vec<String> = parts.iter().filter(|p| !p.is_empty()).cloned().collect();
            let got: Vec<String> = read_all(text.as_bytes(), 1000).into_iter().map(|l| l.0).collect();
            prop_assert_eq!(got, expected);
        }
    }
}
