//! Owns the speed figures: cold ingest against DuckDB's own JSON reader on the same files, warm ingest, warm audit, and peak memory.
//!
//! `cargo bench` prints one line a figure. `MECHANIC_BENCH_MB` sets the size (default 1000), `MECHANIC_BENCH_ROUNDS` the rounds
//! (default 5; medians are printed). Both sides of a ratio are taken in turn in one run.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    let megabytes: u64 = from_env("MECHANIC_BENCH_MB", 1_000);
    let rounds = from_env("MECHANIC_BENCH_ROUNDS", 5) as usize;
    let folder = tempfile::tempdir().expect("a folder for the bench");
    let logs = folder.path().join("logs");
    let (files, bytes) = sessions(&logs, megabytes * 1_000_000);
    println!("{files} files, {:.0} MB of session logs", bytes as f64 / 1e6);
    let rate = |d: Duration| bytes as f64 / 1e6 / d.as_secs_f64();

    let (mut cold, mut duck, mut peak) = (Vec::new(), Vec::new(), 0);
    for round in 0..rounds {
        let lake = folder.path().join(format!("lake-{round}"));
        let run = mechanic(&["ingest", text(&logs), "--lake", text(&lake)]);
        cold.push(run.wall);
        peak = peak.max(run.peak_kib);
        duck.push(read_json(&logs, &folder.path().join("narrow.parquet")));
    }
    let (cold, duck) = (median(cold), median(duck));
    println!("cold ingest       {:>8.0} MB/s  ({:.2} s)", rate(cold), cold.as_secs_f64());
    println!(
        "duckdb read_json  {:>8.0} MB/s  ({:.2} s), ratio {:.2}",
        rate(duck),
        duck.as_secs_f64(),
        duck.as_secs_f64() / cold.as_secs_f64()
    );
    println!("peak memory       {:>8.0} MiB", peak as f64 / 1024.0);

    let lake = folder.path().join("lake-0");
    let warm = |args: &[&str]| median((0..rounds.max(3)).map(|_| mechanic(args).wall).collect());
    let out = folder.path().join("report");
    let ingest = warm(&["ingest", text(&logs), "--lake", text(&lake)]);
    println!("warm ingest       {:>8.1} ms", ingest.as_secs_f64() * 1e3);
    let audit = ["audit", text(&logs), "--lake", text(&lake), "--out", text(&out), "--now", "2026-11-30T00:00:00Z"];
    mechanic(&audit);
    println!("warm audit        {:>8.1} ms", warm(&audit).as_secs_f64() * 1e3);

    let one = folder.path().join("one");
    let bytes = one_file(&one, &logs, 2 * bytes);
    let run = mechanic(&["ingest", text(&one), "--lake", text(&folder.path().join("lake-one"))]);
    println!(
        "one file of {:.0} MB: {:.0} MB/s, peak {:.0} MiB",
        bytes as f64 / 1e6,
        bytes as f64 / 1e6 / run.wall.as_secs_f64(),
        run.peak_kib as f64 / 1024.0
    );
}

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

struct Run {
    wall: Duration,
    /// Greatest resident set that was seen.
    peak_kib: u64,
}

/// Runs the binary and watches its resident set (`VmHWM`).
fn mechanic(args: &[&str]) -> Run {
    let begun = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_mechanic")).args(args).stdout(Stdio::null()).spawn().expect("mechanic starts");
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak_kib = 0;
    let exit = loop {
        let seen = std::fs::read_to_string(&status).unwrap_or_default();
        let high = seen.lines().find_map(|l| l.strip_prefix("VmHWM:")).and_then(|l| l.trim().trim_end_matches(" kB").parse().ok());
        peak_kib = peak_kib.max(high.unwrap_or(0));
        match child.try_wait().expect("mechanic can be waited for") {
            Some(exit) => break exit,
            None => std::thread::sleep(Duration::from_micros(500)),
        }
    };
    assert!(exit.success(), "{args:?}: {exit}");
    Run { wall: begun.elapsed(), peak_kib }
}

/// DuckDB's JSON reader to a narrow Parquet file: the columns that a token count needs.
fn read_json(logs: &Path, to: &Path) -> Duration {
    let begun = Instant::now();
    let duck = duckdb::Connection::open_in_memory().expect("DuckDB opens");
    let statement = format!(
        "set threads = 2; copy (select type, sessionId, timestamp, message.id as id, message.model as model,
             unnest(message.usage) from read_json('{}/**/*.jsonl', format = 'newline_delimited', maximum_object_size = 134217728,
             columns = {{type: 'VARCHAR', sessionId: 'VARCHAR', timestamp: 'VARCHAR',
                 message: 'STRUCT(id VARCHAR, model VARCHAR, \"usage\" STRUCT(input_tokens BIGINT, cache_creation_input_tokens BIGINT,
                 cache_read_input_tokens BIGINT, output_tokens BIGINT))'}})) to '{}' (format parquet)",
        text(logs),
        text(to)
    );
    duck.execute_batch(&statement).expect("DuckDB reads the logs");
    begun.elapsed()
}

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

const WORDS: [&str; 32] = [
    "fn",
    "let",
    "mut",
    "self",
    "Result",
    "error",
    "parse",
    "token",
    "span",
    "gate",
    "review",
    "tests",
    "passed",
    "failed",
    "src/main.rs",
    "src/lib.rs",
    "\\t",
    "\\n",
    "\\n",
    "    ",
    "\\\"",
    "\\\\",
    "//",
    "{",
    "}",
    "(",
    ")",
    "::",
    "->",
    "assert_eq!",
    "validator",
    "cargo test",
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

fn chunk(pool: &[String], dice: &mut Dice, length: usize) -> String {
    let mut out = String::with_capacity(length + 64);
    while out.len() < length {
        let from = &pool[dice.below(pool.len() as u64) as usize];
        // Words are cut only at spaces, so that no escape is split.
        let take = (length - out.len()).min(from.len());
        let end = from[..take].rfind(' ').map_or(take, |at| at + 1);
        if end == 0 {
            break;
        }
        out.push_str(&from[..end]);
        if take < 16 {
            break;
        }
    }
    out
}

/// Writes session logs of realistic shape until they hold that many bytes: returns files and bytes.
fn sessions(root: &Path, target: u64) -> (usize, u64) {
    let mut dice = Dice(7);
    let pool = pool(&mut dice);
    let (mut files, mut bytes) = (0usize, 0u64);
    while bytes < target {
        let folder = root.join(format!("projects/-home-u-proj{}", files % 12));
        std::fs::create_dir_all(&folder).expect("a folder for a project");
        let session = format!("{:08x}-0000-4000-8000-{:012x}", dice.below(1 << 32), files);
        let mut out = BufWriter::new(File::create(folder.join(format!("{session}.jsonl"))).expect("a session file"));
        let turns = dice.size(4.6, 0.9) + 5;
        let mut clock = 1_780_000_000_000i64 + files as i64 * 2_220_000;
        for turn in 0..turns {
            let lines = exchange(&pool, &mut dice, &session, files, turn, &mut clock);
            bytes += lines.len() as u64;
            out.write_all(lines.as_bytes()).expect("a session can be written");
        }
        out.flush().expect("a session can be written");
        files += 1;
    }
    (files, bytes)
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

/// One long session: the lines of the logs, again and again, until it holds that many bytes.
fn one_file(folder: &Path, logs: &Path, target: u64) -> u64 {
    std::fs::create_dir_all(folder).expect("a folder for one file");
    let mut out = BufWriter::new(File::create(folder.join("long.jsonl")).expect("a long session"));
    let sources: Vec<PathBuf> = walkdir::WalkDir::new(logs)
        .sort_by_file_name()
        .into_iter()
        .flatten()
        .filter(|e| e.file_type().is_file())
        .map(|e| e.into_path())
        .collect();
    let mut bytes = 0;
    'full: loop {
        for source in &sources {
            let lines = std::fs::read(source).expect("a session can be read");
            out.write_all(&lines).expect("a long session can be written");
            bytes += lines.len() as u64;
            if bytes >= target {
                break 'full;
            }
        }
    }
    out.flush().expect("a long session can be written");
    bytes
}
