//! Owns the speed figures: cold ingest beside DuckDB's own JSON reader on the same files, warm ingest and audit, peak memory, and replay
//! beside a plain loop.
//!
//! `cargo bench` prints one line a figure; `cargo bench --bench ingest -- ingest` or `-- replay` one half of them. One binary, because
//! each one more links DuckDB once more. Both sides of a ratio are taken in turn in one run, medians are printed, and the load of the
//! machine stands beside them. Settings, as environment variables:
//!
//! - `MECHANIC_BENCH_MB`: megabytes of session logs to make (1000). One file of twice the size is read, too.
//! - `MECHANIC_BENCH_LOGS`: a folder of session logs to read instead of made-up ones; never written to.
//! - `MECHANIC_BENCH_ROUNDS`: rounds (5).
//! - `MECHANIC_BENCH_FIXTURES`: fixtures to replay (1000).
//! - `MECHANIC_PYTHON`: a Python with the package `duckdb`. The DuckDB of this project is built with little optimisation, for the sake of
//!   the build time; the package is the vendor's own build, and the fair one to compare with.

#[cfg(all(target_os = "linux", feature = "replay"))]
mod replay;
mod sessions;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const NOW: &str = "2026-11-30T00:00:00Z";

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wants = |part: &str| asked.is_empty() || asked.iter().any(|a| a == part);
    let folder = tempfile::tempdir().expect("a folder for the bench");
    if wants("ingest") {
        ingest(folder.path());
    }
    #[cfg(all(target_os = "linux", feature = "replay"))]
    if wants("replay") {
        replay::against_a_plain_loop(folder.path());
    }
    println!("{}", load());
}

fn ingest(folder: &Path) {
    let megabytes: u64 = from_env("MECHANIC_BENCH_MB", 1_000);
    let rounds = from_env("MECHANIC_BENCH_ROUNDS", 5).max(1) as usize;
    let logs = std::env::var_os("MECHANIC_BENCH_LOGS").map_or_else(|| folder.join("logs"), PathBuf::from);
    if !logs.exists() {
        sessions::many(&logs, megabytes * 1_000_000);
    }
    let (files, bytes) = size_of(&logs);
    println!("{files} files, {:.0} MB of session logs; {}", megas(bytes), load());
    against_duckdb(folder, &logs, bytes, rounds);
    warm(folder, &logs, rounds);
    one_long_file(folder, 2 * megabytes * 1_000_000);
}

/// Cold ingest, and DuckDB's reading of the same files to a narrow Parquet file.
fn against_duckdb(folder: &Path, logs: &Path, bytes: u64, rounds: usize) {
    let statement = read_json(logs, &folder.join("narrow.parquet"));
    let python = std::env::var_os("MECHANIC_PYTHON");
    let (mut ours, mut embedded, mut official, mut peak) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for round in 0..rounds {
        let run = mechanic(&["ingest", text(logs), "--lake", text(&folder.join(format!("lake-{round}")))]);
        ours.push(run.wall);
        peak = peak.max(run.peak_kib);
        embedded.push(by_embedded(&statement));
        official.extend(python.as_deref().map(|python| by_python(python, &statement)));
    }
    let ours = median(ours);
    let show = |name: &str, wall: Duration| {
        let rate = megas(bytes) / wall.as_secs_f64();
        let ratio = wall.as_secs_f64() / ours.as_secs_f64();
        println!("{name:<34}{rate:>8.0} MB/s  {:>7.2} s  {ratio:>5.2} times the ingest", wall.as_secs_f64());
    };
    show("cold ingest", ours);
    show("DuckDB read_json, as built here", median(embedded));
    match official.is_empty() {
        true => println!("DuckDB read_json, vendor's build    not measured: MECHANIC_PYTHON names no Python"),
        false => show("DuckDB read_json, vendor's build", median(official)),
    }
    println!("{:<34}{:>8.0} MiB", "cold ingest, peak memory", mebis(peak));
}

/// What the commands take where nothing is new.
fn warm(folder: &Path, logs: &Path, rounds: usize) {
    let lake = folder.join("lake-0");
    let out = folder.join("report");
    let median_of = |args: &[&str]| median((0..rounds.max(3)).map(|_| mechanic(args).wall).collect()).as_secs_f64() * 1e3;
    println!("{:<34}{:>8.1} ms", "warm ingest", median_of(&["ingest", text(logs), "--lake", text(&lake)]));
    let audit = ["audit", text(logs), "--lake", text(&lake), "--out", text(&out), "--now", NOW];
    let first = mechanic(&audit);
    println!("{:<34}{:>8.1} ms  peak {:.0} MiB", "first audit of the lake", first.wall.as_secs_f64() * 1e3, mebis(first.peak_kib));
    println!("{:<34}{:>8.1} ms", "warm audit", median_of(&audit));
}

fn one_long_file(folder: &Path, target: u64) {
    let one = folder.join("one");
    sessions::one(&one, target);
    let (_, bytes) = size_of(&one);
    let run = mechanic(&["ingest", text(&one), "--lake", text(&folder.join("lake-one"))]);
    let rate = megas(bytes) / run.wall.as_secs_f64();
    println!("{:<34}{rate:>8.0} MB/s  peak {:.0} MiB", format!("one file of {:.0} MB", megas(bytes)), mebis(run.peak_kib));
}

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[cfg(all(target_os = "linux", feature = "replay"))]
fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn megas(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn mebis(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How busy the machine is: figures of a busy one are no figures.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("{} cores, load {}", cores(), load.split(' ').next().unwrap_or("unknown"))
}

/// Session logs below a folder, and their bytes.
fn size_of(folder: &Path) -> (usize, u64) {
    let entries = walkdir::WalkDir::new(folder).into_iter().map(|e| e.expect("a readable folder"));
    let logs = entries.filter(|e| e.path().extension() == Some(OsStr::new("jsonl")));
    logs.fold((0, 0), |(files, bytes), e| (files + 1, bytes + e.metadata().expect("a file's size").len()))
}

struct Run {
    wall: Duration,
    /// Greatest resident set that was seen.
    peak_kib: u64,
}

/// Runs the binary and watches its resident set (`VmHWM`).
fn mechanic(args: &[&str]) -> Run {
    let begun = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mechanic"));
    let mut child = command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("mechanic starts");
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak_kib = 0;
    let exit = loop {
        let seen = std::fs::read_to_string(&status).unwrap_or_default();
        let high = seen.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().trim_end_matches(" kB").parse().ok());
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
fn read_json(logs: &Path, to: &Path) -> String {
    format!(
        "copy (select type, sessionId, timestamp, message.id as id, message.model as model, unnest(message.\"usage\")
             from read_json('{}/**/*.jsonl', format = 'newline_delimited', maximum_object_size = 134217728,
             columns = {{type: 'VARCHAR', sessionId: 'VARCHAR', timestamp: 'VARCHAR',
                 message: 'STRUCT(id VARCHAR, model VARCHAR, \"usage\" STRUCT(input_tokens BIGINT, cache_creation_input_tokens BIGINT,
                 cache_read_input_tokens BIGINT, output_tokens BIGINT))'}})) to '{}' (format parquet)",
        text(logs),
        text(to)
    )
}

fn by_embedded(statement: &str) -> Duration {
    let duck = duckdb::Connection::open_in_memory().expect("DuckDB opens");
    duck.execute_batch(&format!("set threads = {}", cores())).expect("DuckDB takes its threads");
    let begun = Instant::now();
    duck.execute_batch(statement).expect("DuckDB reads the logs");
    begun.elapsed()
}

/// The statement's own time, Python's start left out.
fn by_python(python: &OsStr, statement: &str) -> Duration {
    const RUN: &str = "import duckdb, sys, time
duck = duckdb.connect(config={'threads': int(sys.argv[2])})
duck.execute('set enable_progress_bar = false')
begun = time.perf_counter()
duck.execute(sys.argv[1])
print(time.perf_counter() - begun)";
    let output = Command::new(python).args(["-c", RUN, statement, &cores().to_string()]).output().expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Duration::from_secs_f64(String::from_utf8_lossy(&output.stdout).trim().parse().expect("seconds"))
}
