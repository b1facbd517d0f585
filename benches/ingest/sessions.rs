//! Owns the session logs of the bench: made-up text in the shape and the sizes of real ones, the same each time.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// A small generator of numbers (xorshift): the same logs each time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// About log-normal: the exponential of a sum of twelve uniform numbers.
    fn size(&mut self, mu: f64, sigma: f64) -> usize {
        let sum: f64 = (0..12).map(|_| self.below(1 << 20) as f64 / (1 << 20) as f64).sum();
        (mu + sigma * (sum - 6.0)).exp() as usize
    }
}

#[rustfmt::skip]
const WORDS: [&str; 32] = [
    "fn", "let", "mut", "self", "Result", "error", "parse", "token", "span", "gate", "review", "tests", "passed", "failed", "src/main.rs",
    "src/lib.rs", "\\t", "\\n", "\\n", "    ", "\\\"", "\\\\", "//", "{", "}", "(", ")", "::", "->", "assert_eq!", "validator", "cargo test",
];

/// Text as it stands in a JSON string.
fn pool(dice: &mut Dice) -> Vec<String> {
    let mut text = || {
        let mut out = String::new();
        while out.len() < 40_000 {
            out.push_str(WORDS[dice.below(32) as usize]);
            out.push(' ');
        }
        out
    };
    (0..40).map(|_| text()).collect()
}

/// Text of about that length from anywhere in the pool. It is cut only at spaces, so that no escape is split.
fn chunk(pool: &[String], dice: &mut Dice, length: usize) -> String {
    let mut out = String::with_capacity(length + 64);
    while out.len() + 16 < length {
        let from = &pool[dice.below(pool.len() as u64) as usize];
        let begin = from[..dice.below(30_000) as usize].rfind(' ').map_or(0, |at| at + 1);
        let end = (begin + length - out.len()).min(from.len());
        let end = from[begin..end].rfind(' ').map_or(begin, |at| begin + at + 1);
        out.push_str(&from[begin..end]);
    }
    out
}

/// Writes sessions of realistic shape, one a file, until they hold that many bytes.
pub fn many(root: &Path, target: u64) {
    let mut dice = Dice(7);
    let pool = pool(&mut dice);
    let (mut file, mut bytes) = (0, 0);
    while bytes < target {
        let folder = root.join(format!("projects/-home-u-proj{}", file % 12));
        std::fs::create_dir_all(&folder).expect("a folder for a project");
        let turns = dice.size(4.6, 0.9) + 5;
        bytes += session(&folder, file, &pool, &mut dice, |turn, _| turn < turns);
        file += 1;
    }
}

/// Writes one session that goes on until its file holds that many bytes.
pub fn one(folder: &Path, target: u64) {
    let mut dice = Dice(11);
    let pool = pool(&mut dice);
    std::fs::create_dir_all(folder).expect("a folder for a session");
    session(folder, 0, &pool, &mut dice, |_, bytes| bytes < target);
}

/// Writes the file of a session, exchange by exchange while `goes_on` (exchanges and bytes so far) says so; returns its bytes.
fn session(folder: &Path, file: usize, pool: &[String], dice: &mut Dice, goes_on: impl Fn(usize, u64) -> bool) -> u64 {
    let id = format!("{:08x}-0000-4000-8000-{file:012x}", dice.below(1 << 32));
    let mut out = BufWriter::new(File::create(folder.join(format!("{id}.jsonl"))).expect("a session file"));
    let mut clock = 1_780_000_000_000i64 + file as i64 * 2_220_000;
    let (mut turn, mut bytes) = (0, 0);
    while goes_on(turn, bytes) {
        let lines = exchange(pool, dice, &id, file, turn, &mut clock);
        bytes += lines.len() as u64;
        out.write_all(lines.as_bytes()).expect("a session can be written");
        turn += 1;
    }
    out.flush().expect("a session can be written");
    bytes
}

fn iso(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).map(|t| format!("{t:.3}")).unwrap_or_default()
}

/// One assistant line with a tool call, and the line of its result.
fn exchange(pool: &[String], dice: &mut Dice, session: &str, file: usize, turn: usize, clock: &mut i64) -> String {
    let tool = format!("toolu_{file:08x}{turn:08x}");
    let name = ["Bash", "Read", "Edit", "Grep"][dice.below(4) as usize];
    let model = ["claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5"][dice.below(3) as usize];
    let base = format!(
        "\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/home/u/proj{}\",\"sessionId\":\"{session}\",\"version\":\"2.1.230\",\"gitBranch\":\"main\"",
        file % 12
    );
    *clock += 2_000 + dice.below(38_000) as i64;
    let (thinking, words, command) = (dice.size(6.0, 0.8), dice.size(5.0, 1.0), dice.size(4.5, 1.0));
    let mut out = format!(
        "{{\"parentUuid\":null,{base},\"type\":\"assistant\",\"message\":{{\"id\":\"msg_{file:08x}{turn:08x}\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"{model}\",\"content\":[{{\"type\":\"thinking\",\"thinking\":\"{}\",\"signature\":\"{}\"}},{{\"type\":\"text\",\"text\":\"{}\"}},{{\"type\":\"tool_use\",\"id\":\"{tool}\",\"name\":\"{name}\",\"input\":{{\"command\":\"{}\"}}}}],\"stop_reason\":\"tool_use\",\"stop_sequence\":null,\"usage\":{{\"input_tokens\":{},\"cache_creation_input_tokens\":{},\"cache_read_input_tokens\":{},\"output_tokens\":{},\"service_tier\":\"standard\"}}}},\"requestId\":\"req_{file:08x}{turn:08x}\",\"uuid\":\"a{file:08x}{turn:08x}\",\"timestamp\":\"{}\"}}\n",
        chunk(pool, dice, thinking),
        "0f".repeat(128),
        chunk(pool, dice, words),
        chunk(pool, dice, command),
        1 + dice.below(50),
        dice.below(9_000),
        8_000 + dice.below(142_000),
        1 + dice.below(3_000),
        iso(*clock),
    );
    *clock += dice.below(9_000) as i64;
    let length = dice.size(8.2, 1.3).min(400_000);
    let body = chunk(pool, dice, length);
    let again = if dice.below(2) == 0 { body.clone() } else { chunk(pool, dice, 200) };
    out.push_str(&format!(
        "{{\"parentUuid\":\"a{file:08x}{turn:08x}\",{base},\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"{tool}\",\"type\":\"tool_result\",\"content\":\"{body}\",\"is_error\":{}}}]}},\"uuid\":\"u{file:08x}{turn:08x}\",\"timestamp\":\"{}\",\"toolUseResult\":{{\"stdout\":\"{again}\",\"stderr\":\"\",\"interrupted\":false}}}}\n",
        dice.below(16) == 0,
        iso(*clock),
    ));
    out
}
