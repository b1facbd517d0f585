//! Owns what is kept of a run's output: its head and its tail; the rest is counted.

/// Kept of the beginning: enough for any report that is read from standard output.
const HEAD: usize = 4 << 20;
/// Kept of the end.
const TAIL: usize = 64 << 10;

/// One stream of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    /// All bytes written, kept or not.
    pub total: u64,
}

impl Captured {
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = HEAD.saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(TAIL)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(rest);
    }

    /// Bytes that were not kept.
    pub fn lost(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Head, a line that says what is left out, and tail.
    pub fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.lost() > 0 {
            bytes.extend_from_slice(format!("\n[{} bytes left out]\n", self.lost()).as_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept_and_the_rest_is_counted() {
        let mut out = Captured::default();
        out.push(b"begin ");
        for _ in 0..100 {
            out.push(&vec![b'x'; 100_000]);
        }
        out.push(b" end");
        assert_eq!(out.total, 10_000_010);
        let text = out.text();
        assert!(text.starts_with("begin xxx") && text.ends_with("xxx end") && text.contains("bytes left out"));
        assert_eq!(out.lost(), 10_000_010 - (HEAD + TAIL) as u64);
        let mut short = Captured::default();
        short.push(b"one");
        assert_eq!((short.text().as_str(), short.lost()), ("one", 0));
    }
}
