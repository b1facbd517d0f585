//! Owns the way every line format is read: each record once, and what can still be saved of a broken line saved in one fixed order.
//!
//! The order: invalid UTF-8, lone surrogates, repeated keys; several objects on one line; a later start of an object; joining
//! with the next lines (a raw line break inside a text); a growing tail; else quarantine (`malformed`, `not_object`, `schema`).

use std::collections::VecDeque;
use std::io::Read;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::emit::Emitter;
use super::lines::{Line, LineReader, Next};
use super::repair;

/// Lines that may be joined into one record.
const JOIN_LINES: usize = 64;
/// Bytes that may be held for joining.
const JOIN_BYTES: usize = 8 << 20;
/// Bytes that repeated parsing of broken lines may cost, beside [`BUDGET_FACTOR`] times what was read: a hostile file must not
/// turn salvage into quadratic work.
const BUDGET_BASE: usize = 64 << 20;
const BUDGET_FACTOR: usize = 4;

/// One complete JSON object of the file.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The object's text, repaired where that was needed.
    pub bytes: &'a [u8],
    /// 1-based line it starts on.
    pub line: i64,
    /// Offset of that line in the decoded file.
    pub offset: i64,
    /// Bytes it takes in the file.
    pub size: usize,
}

/// Reads every record of a line file.
///
/// `each` gets one object at a time. It parses the bytes (typed, see [`super::lenient`] for tolerant fields) and returns the
/// parser's error when it cannot; it must emit nothing before its parse has succeeded, because it is called again with a
/// repaired copy. `is_record` says whether an object found *behind* a broken prefix is a whole record of the format and not a
/// part of the broken one (a content block, say).
///
/// Records, quarantine, warnings (`salvaged` with what was done) and the offset read to are kept in `out`; rows are flushed
/// between records.
pub fn read_records<R: Read>(
    input: R,
    out: &mut Emitter<'_>,
    is_record: fn(&[u8]) -> bool,
    each: impl FnMut(&Record<'_>, &mut Emitter<'_>) -> serde_json::Result<()>,
) -> anyhow::Result<()> {
    read_on(input, Mark::default(), out, is_record, each, |_, _| Ok(()))
}

/// Where a reading stood behind a line end, with nothing held, and what salvage had cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub offset: i64,
    /// Number of the line that ends there.
    pub line: i64,
    spent: usize,
    budget: usize,
}

impl Default for Mark {
    fn default() -> Mark {
        Mark { offset: 0, line: 0, spent: 0, budget: BUDGET_BASE }
    }
}

/// [`read_records`] from `from` on, where `input` stands. Before anything is read that more bytes at the file's end could change
/// (a line without end, lines held for joining), `before_end` is told the mark from which a later reading may go on; not at all, where
/// there is none.
pub fn read_on<R: Read>(
    input: R,
    from: Mark,
    out: &mut Emitter<'_>,
    is_record: fn(&[u8]) -> bool,
    mut each: impl FnMut(&Record<'_>, &mut Emitter<'_>) -> serde_json::Result<()>,
    before_end: impl FnOnce(Mark, &mut Emitter<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut lines = LineReader::behind(input, from.offset, from.line);
    let mut salvage = Salvage {
        is_record,
        held: VecDeque::new(),
        prefix: Vec::new(),
        in_text: false,
        spent: from.spent,
        budget: from.budget,
        read_to: None,
    };
    let mut before_end = Some(before_end);
    let mut mark = from;
    let mut told = told_so_far(out);
    loop {
        if salvage.held.is_empty() {
            mark = Mark { offset: lines.offset(), line: lines.number(), spent: salvage.spent, budget: salvage.budget };
            told = told_so_far(out);
        }
        let next = lines.next_line()?;
        let is_end = matches!(next, None | Some(Next::Tail(_) | Next::Oversize { is_tail: true, .. }));
        // Where the loss of held lines was told since, what is still held has no mark of its own.
        if is_end
            && told == told_so_far(out)
            && let Some(before_end) = before_end.take()
        {
            before_end(mark, out)?;
        }
        let (line, is_tail) = match next {
            None => break,
            Some(Next::Line(line)) => (line, false),
            Some(Next::Tail(line)) => (line, true),
            Some(Next::Oversize { number, offset, bytes, .. }) => {
                salvage.give_up(out, &mut each);
                out.summary.records += 1;
                out.quarantine(number, offset, bytes, "oversize", None);
                continue;
            }
        };
        salvage.budget = salvage.budget.saturating_add(BUDGET_FACTOR * line.bytes.len());
        if salvage.held.is_empty() {
            let record = Record { bytes: line.bytes, line: line.number, offset: line.offset, size: line.bytes.len() };
            if line.bytes.starts_with(b"{") && each(&record, out).is_ok() {
                out.summary.records += 1;
            } else {
                salvage.first(line, is_tail, out, &mut each);
            }
        } else {
            salvage.next(line, is_tail, out, &mut each);
        }
        out.flush_if_full()?;
    }
    salvage.give_up(out, &mut each);
    out.summary.read_to = salvage.read_to.unwrap_or(lines.offset());
    Ok(())
}

fn told_so_far(out: &Emitter<'_>) -> [i64; 3] {
    [out.summary.records, out.summary.quarantined, out.summary.warnings]
}

/// A line kept because a record may go on in the next one.
struct Held {
    number: i64,
    offset: i64,
    bytes: Vec<u8>,
    is_tail: bool,
}

impl Held {
    fn of(line: Line<'_>, is_tail: bool) -> Held {
        Held { number: line.number, offset: line.offset, bytes: line.bytes.to_vec(), is_tail }
    }

    fn line(&self) -> Line<'_> {
        Line { bytes: &self.bytes, number: self.number, offset: self.offset }
    }
}

struct Salvage {
    is_record: fn(&[u8]) -> bool,
    /// Lines that together are the beginning of one record.
    held: VecDeque<Held>,
    /// The held lines joined so far.
    prefix: Vec<u8>,
    /// Whether what is held ends inside a text: the line break then belongs to the text.
    in_text: bool,
    spent: usize,
    budget: usize,
    /// Offset of a tail that may still grow.
    read_to: Option<i64>,
}

impl Salvage {
    fn affordable(&mut self, bytes: usize) -> bool {
        self.spent = self.spent.saturating_add(bytes);
        self.spent <= self.budget
    }

    /// Parses an object, repaired where the parser refused it. Tells the last error.
    fn parse<F>(&mut self, record: Record<'_>, out: &mut Emitter<'_>, each: &mut F) -> serde_json::Result<()>
    where
        F: FnMut(&Record<'_>, &mut Emitter<'_>) -> serde_json::Result<()>,
    {
        if !record.bytes.starts_with(b"{") {
            // A derived parser would take an array for a struct.
            return Err(serde::de::Error::custom("no object"));
        }
        let mut error = match each(&record, out) {
            Ok(()) => {
                out.summary.records += 1;
                return Ok(());
            }
            Err(error) => error,
        };
        let mut bytes = record.bytes.to_vec();
        for (what, fix) in [
            ("invalid_utf8", repair::lossy_utf8 as fn(&[u8]) -> Option<Vec<u8>>),
            ("lone_surrogate", repair::lone_surrogates),
            ("repeated_key", repair::last_key_wins),
        ] {
            if what == "repeated_key" && !error.is_data() {
                break;
            }
            let Some(fixed) = fix(&bytes) else { continue };
            bytes = fixed;
            match each(&Record { bytes: &bytes, ..record }, out) {
                Ok(()) => {
                    out.summary.records += 1;
                    out.warn("salvaged", Some(record.line), Some(what));
                    return Ok(());
                }
                Err(e) => error = e,
            }
        }
        Err(error)
    }

    /// A line that did not parse while nothing is held.
    fn first<F>(&mut self, line: Line<'_>, is_tail: bool, out: &mut Emitter<'_>, each: &mut F)
    where
        F: FnMut(&Record<'_>, &mut Emitter<'_>) -> serde_json::Result<()>,
    {
        let record = Record { bytes: line.bytes, line: line.number, offset: line.offset, size: line.bytes.len() };
        let Err(error) = self.parse(record, out, each) else { return };
        let done = self.objects(line, 0, out, each);
        let rest = line.bytes.get(done..).unwrap_or_default();
        if rest.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if let Some(at) = self.later_start(rest) {
            lose(Line { bytes: &rest[..at], ..line }, "malformed", "broken start of a line", out);
            out.warn("salvaged", Some(line.number), Some("later_object"));
            self.objects(line, done + at, out, each);
            return;
        }
        let unfinished = match serde_json::from_slice::<IgnoredAny>(rest) {
            Ok(_) => None,
            Err(e) => e.is_eof().then(|| ends_in_text(&e)),
        };
        match unfinished {
            Some(in_text) if !is_tail && done == 0 && line.bytes.len() <= JOIN_BYTES => {
                self.in_text = in_text;
                self.prefix = line.bytes.to_vec();
                self.held.push_back(Held::of(line, is_tail));
            }
            Some(_) if is_tail => {
                self.read_to = Some(line.offset);
                lose(Line { bytes: rest, ..line }, "truncated_tail", "the file ends inside a record", out);
            }
            _ => lose(Line { bytes: rest, ..line }, "malformed", category(&error), out),
        }
    }

    /// Delivers the complete values that follow each other from byte `from` of the line; returns where they end.
    fn objects<F>(&mut self, line: Line<'_>, from: usize, out: &mut Emitter<'_>, each: &mut F) -> usize
    where
        F: FnMut(&Record<'_>, &mut Emitter<'_>) -> serde_json::Result<()>,
    {
        let bytes = line.bytes.get(from..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
        let mut done = 0;
        let mut seen = 0;
        while let Some(Ok(_)) = values.next() {
            let end = values.byte_offset();
            let value = bytes.get(done..end).unwrap_or_default().trim_ascii();
            done = end;
            seen += 1;
            let part = Line { bytes: value, ..line };
            if !value.starts_with(b"{") {
                lose(part, "not_object", "a value that is no object", out);
                continue;
            }
            let record = Record { bytes: value, line: line.number, offset: line.offset, size: value.len() };
            if let Err(error) = self.parse(record, out, each) {
                lose(part, "schema", category(&error), out);
            }
        }
        if seen > 1 {
            out.warn("salvaged", Some(line.number), Some("several_objects"));
        }
        from + done
    }

    /// Where a whole record starts behind a broken prefix, so that nothing but complete values follows.
    fn later_start(&mut self, bytes: &[u8]) -> Option<usize> {
        for at in memchr::memmem::find_iter(bytes, b"{\"").filter(|at| *at > 0) {
            let rest = &bytes[at..];
            let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
            let mut first = None;
            let (whole, read) = loop {
                match values.next() {
                    Some(Ok(_)) => first = first.or(Some(values.byte_offset())),
                    // A line holds no line break: the column is how far the parser came.
                    Some(Err(e)) => break (false, e.column()),
                    None => break (true, rest.len()),
                }
            };
            if !self.affordable(read + 16) {
                return None;
            }
            if whole && first.and_then(|end| rest.get(..end)).is_some_and(self.is_record) {
                return Some(at);
            }
        }
        None
    }

    /// A line read while others are held: it is a record, the continuation of what is held, or proof that this is lost.
    fn next<F>(&mut self, line: Line<'_>, is_tail: bool, out: &mut Emitter<'_>, each: &mut F)
    where
        F: FnMut(&Record<'_>, &mut Emitter<'_>) -> serde_json::Result<()>,
    {
        let mut waiting = VecDeque::from([Held::of(line, is_tail)]);
        while let Some(piece) = waiting.pop_front() {
            if self.held.is_empty() {
                self.first(piece.line(), piece.is_tail, out, each);
                continue;
            }
            let alone = Record { bytes: &piece.bytes, line: piece.number, offset: piece.offset, size: piece.bytes.len() };
            if self.parse(alone, out, each).is_ok() {
                for lost in self.held.drain(..) {
                    lose(lost.line(), "malformed", "the record never ends", out);
                }
                continue;
            }
            match self.join(&piece, out, each) {
                Joined::Whole => self.held.clear(),
                Joined::Open => self.held.push_back(piece),
                Joined::Never => {
                    // The first is lost; the others may begin a record of their own.
                    if let Some(lost) = self.held.pop_front() {
                        lose(lost.line(), "malformed", "the record never ends", out);
                    }
                    waiting.push_front(piece);
                    while let Some(back) = self.held.pop_back() {
                        waiting.push_front(back);
                    }
                }
            }
        }
    }

    fn join<F>(&mut self, piece: &Held, out: &mut Emitter<'_>, each: &mut F) -> Joined
    where
        F: FnMut(&Record<'_>, &mut Emitter<'_>) -> serde_json::Result<()>,
    {
        let total = self.prefix.len() + piece.bytes.len() + 2;
        if self.held.len() >= JOIN_LINES || total > JOIN_BYTES || !self.affordable(total) {
            return Joined::Never;
        }
        let Some(first) = self.held.front() else { return Joined::Never };
        let (number, offset) = (first.number, first.offset);
        let mut bytes = std::mem::take(&mut self.prefix);
        // Inside a text the line break is part of it and must be escaped, between tokens it is white space.
        bytes.extend_from_slice(if self.in_text { b"\\n" } else { b" " });
        bytes.extend_from_slice(&piece.bytes);
        let record = Record { bytes: &bytes, line: number, offset, size: total };
        match self.parse(record, out, each) {
            Ok(()) => {
                out.warn("salvaged", Some(number), Some("joined_lines"));
                Joined::Whole
            }
            Err(_) => match serde_json::from_slice::<IgnoredAny>(&bytes) {
                Err(e) if e.is_eof() && !piece.is_tail => {
                    self.in_text = ends_in_text(&e);
                    self.prefix = bytes;
                    Joined::Open
                }
                _ => Joined::Never,
            },
        }
    }

    /// No more lines: what is held is lost, apart from records that begin in a later line of it.
    fn give_up<F>(&mut self, out: &mut Emitter<'_>, each: &mut F)
    where
        F: FnMut(&Record<'_>, &mut Emitter<'_>) -> serde_json::Result<()>,
    {
        while let Some(lost) = self.held.pop_front() {
            lose(lost.line(), "malformed", "the record never ends", out);
            let rest: Vec<Held> = self.held.drain(..).collect();
            for piece in rest {
                if self.held.is_empty() {
                    self.first(piece.line(), piece.is_tail, out, each);
                } else {
                    self.held.push_back(piece);
                }
            }
        }
    }
}

enum Joined {
    Whole,
    Open,
    Never,
}

/// Whether the parser met the end inside a text; its error tells that only in words.
fn ends_in_text(error: &serde_json::Error) -> bool {
    error.to_string().contains("a string")
}

/// Counts a record that becomes no row.
fn lose(part: Line<'_>, reason: &str, detail: &str, out: &mut Emitter<'_>) {
    out.summary.records += 1;
    out.quarantine(part.number, part.offset, part.bytes.len(), reason, Some(detail.to_owned()));
}

/// What kind of error it was; the parser's own message may hold text of the record.
fn category(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Data => "a field has another type",
        serde_json::error::Category::Eof => "the record never ends",
        _ => "not JSON",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::emit::{Collect, Summary};
    use proptest::prelude::*;

    #[derive(serde::Deserialize)]
    struct Shape {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        n: i64,
    }

    fn is_record(bytes: &[u8]) -> bool {
        serde_json::from_slice::<Shape>(bytes).is_ok_and(|s| s.kind.starts_with("rec"))
    }

    /// What was read (type, n, line), quarantine reasons with their lines, warning details, and the summary.
    type Got = (Vec<(String, i64, i64)>, Vec<(String, i64)>, Vec<String>, Summary);

    fn read(input: &[u8]) -> Got {
        let mut sink = Collect::default();
        let mut out = Emitter::new("s".into(), &mut sink);
        let mut seen = Vec::new();
        read_records(input, &mut out, is_record, |record, _| {
            let shape: Shape = serde_json::from_slice(record.bytes)?;
            seen.push((shape.kind, shape.n, record.line));
            Ok(())
        })
        .unwrap();
        let summary = out.finish().unwrap();
        let lost = sink.0.quarantine.iter().map(|q| (q.reason.clone(), q.source_line)).collect();
        (seen, lost, sink.0.warnings.iter().filter_map(|w| w.detail.clone()).collect(), summary)
    }

    fn rec(kind: &str, n: i64, line: i64) -> (String, i64, i64) {
        (kind.to_owned(), n, line)
    }

    #[test]
    fn two_objects_on_one_line_are_two_records_and_no_error() {
        let (seen, lost, warned, summary) = read(b"{\"type\":\"rec\",\"n\":1}{\"type\":\"rec\",\"n\":2}\n{\"type\":\"rec\"}\n");
        assert_eq!(seen, vec![rec("rec", 1, 1), rec("rec", 2, 1), rec("rec", 0, 2)]);
        assert!(lost.is_empty());
        assert_eq!(warned, vec!["several_objects"]);
        assert_eq!(summary.records, 3);
    }

    #[test]
    fn a_stub_followed_by_the_whole_record_is_one_malformed_and_one_record() {
        let (seen, lost, _, summary) = read(b"{\"type\":\"rec\",\"x\":\"cut o{\"type\":\"rec\",\"n\":7}\n");
        assert_eq!(seen, vec![rec("rec", 7, 1)]);
        assert_eq!(lost, vec![("malformed".into(), 1)]);
        assert_eq!(summary.records, 2);
    }

    #[test]
    fn a_complete_part_of_a_broken_record_is_no_record() {
        let (seen, lost, ..) = read(b"{\"type\":\"rec\",\"x\":[{\"type\":\"text\",\"n\":7}\n{\"type\":\"rec\"}\n");
        assert_eq!(seen, vec![rec("rec", 0, 2)]);
        assert_eq!(lost, vec![("malformed".into(), 1)]);
    }

    #[test]
    fn a_raw_line_break_inside_a_text_is_joined_and_between_tokens_too() {
        let (seen, lost, warned, _) = read(b"{\"type\":\"rec\",\"x\":\"one\ntwo\n\nthree\",\"n\":3}\n{\"type\":\n\"rec\",\n\"n\":4}\n");
        assert_eq!(seen, vec![rec("rec", 3, 1), rec("rec", 4, 5)]);
        assert!(lost.is_empty(), "{lost:?}");
        assert_eq!(warned, vec!["joined_lines"]);
    }

    #[test]
    fn a_record_that_never_ends_costs_only_itself() {
        let (seen, lost, ..) =
            read(b"{\"type\":\"rec\",\"x\":\"cut\n{\"type\":\"rec\",\"n\":1}\n{\"type\":\"rec\",\"x\":\"a\nb\",\"n\":2}\n");
        assert_eq!(seen, vec![rec("rec", 1, 2), rec("rec", 2, 3)]);
        assert_eq!(lost, vec![("malformed".into(), 1)]);
        let stub_then_broken = b"{\"type\":\"rec\",\"x\":\"cut\n{\"type\":\"rec\",\"x\":\"a\nb\",\"n\":2}\n";
        let (seen, lost, ..) = read(stub_then_broken);
        assert_eq!(seen, vec![rec("rec", 2, 2)]);
        assert_eq!(lost, vec![("malformed".into(), 1)]);
    }

    #[test]
    fn values_that_are_no_objects_are_told_apart_from_broken_lines() {
        let (seen, lost, _, summary) = read(b"\"massive error\"\n42\n[1]\n{oops}\nplain\n{\"n\":\"x\"}\n");
        assert!(seen.is_empty());
        let reasons: Vec<&str> = lost.iter().map(|l| l.0.as_str()).collect();
        assert_eq!(reasons, ["not_object", "not_object", "not_object", "malformed", "malformed", "schema"]);
        assert_eq!((summary.records, summary.quarantined), (6, 6));
    }

    #[test]
    fn invalid_utf8_lone_surrogates_and_repeated_keys_do_not_cost_the_record() {
        let (seen, lost, warned, _) =
            read(b"{\"type\":\"rec\xFF\"}\n{\"type\":\"rec\\ud83d\",\"n\":2}\n{\"type\":\"a\",\"type\":\"rec\",\"n\":1,\"n\":9}\n");
        assert_eq!(seen, vec![rec("rec\u{FFFD}", 0, 1), rec("rec\u{FFFD}", 2, 2), rec("rec", 9, 3)]);
        assert!(lost.is_empty());
        assert_eq!(warned, vec!["invalid_utf8", "lone_surrogate", "repeated_key"]);
    }

    #[test]
    fn a_tail_cut_at_any_byte_is_truncated_and_read_again_from_its_start() {
        let whole = "{\"type\":\"rec\",\"x\":\"é\\u00e9\\ud83d\\ude00\",\"n\":12}";
        let before = "{\"type\":\"rec\"}\n";
        for cut in 1..whole.len() {
            let mut input = before.as_bytes().to_vec();
            input.extend_from_slice(&whole.as_bytes()[..cut]);
            let (seen, lost, _, summary) = read(&input);
            assert_eq!(seen.len(), 1, "cut at {cut}");
            assert_eq!(lost, vec![("truncated_tail".into(), 2)], "cut at {cut}");
            assert_eq!(summary.read_to, before.len() as i64, "cut at {cut}");
        }
        let (seen, lost, _, summary) = read(format!("{before}{whole}").as_bytes());
        assert_eq!((seen.len(), lost.len(), summary.read_to), (2, 0, (before.len() + whole.len()) as i64));
    }

    #[test]
    fn hostile_nesting_ends_in_bounded_time() {
        let mut input = b"{\"a\":[".repeat(20_000);
        input.push(b'\n');
        for _ in 0..200 {
            input.extend_from_slice(b"{\"a\":\"");
            input.extend_from_slice(&b"{\\\"".repeat(1_000));
            input.push(b'\n');
        }
        let (seen, lost, ..) = read(&input);
        assert!(seen.is_empty());
        assert_eq!(lost.len(), 201);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic_and_every_record_is_counted(input in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            let (seen, lost, _, summary) = read(&input);
            prop_assert_eq!(summary.records as usize, seen.len() + lost.len());
        }

        #[test]
        fn good_lines_among_broken_ones_are_all_read(parts in proptest::collection::vec(
            prop_oneof![Just("{\"type\":\"rec\",\"n\":5}"), Just("{\"type\":\"re"), Just("}"), Just("[1"), Just("\"a"), Just("{\"x\":\"")], 0..40)) {
            let (seen, ..) = read(parts.join("\n").as_bytes());
            let good = parts.iter().filter(|p| p.ends_with(":5}")).count();
            prop_assert_eq!(seen.iter().filter(|s| s.1 == 5).count(), good);
        }
    }
}
