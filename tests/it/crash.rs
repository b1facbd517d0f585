//! Owns the promise that an ingest may be killed at any moment: whatever was visible stays whole, and running it again gives the
//! lake that one undisturbed run gives.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::Scratch;

/// Ingests that die, in all, and on how many lakes.
const KILLS: u64 = 200;
const LAKES: u64 = 4;

/// A small generator of pseudo-random numbers (splitmix64): the moments differ, the test does not.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit.max(1)
    }
}

/// Session logs of our own making: `turns` calls in each of `files` sessions.
fn sessions(folder: &Path, files: usize, turns: usize) {
    std::fs::create_dir_all(folder).unwrap();
    for file in 0..files {
        let mut text = String::new();
        for turn in 0..turns {
            let at = format!("2026-06-01T{:02}:{:02}:{:02}.000Z", file % 24, turn / 60 % 60, turn % 60);
            text.push_str(&format!(
                r#"{{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/home/u/p","sessionId":"s-{file}","version":"2.1.30","gitBranch":"main","type":"assistant","message":{{"model":"claude-opus-4-6","id":"msg_{file}_{turn}","type":"message","role":"assistant","content":[{{"type":"text","text":"{}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":{turn},"cache_creation_input_tokens":10,"cache_read_input_tokens":20,"output_tokens":30}}}},"requestId":"req_{file}_{turn}","uuid":"u-{file}-{turn}","timestamp":"{at}"}}"#,
                "word ".repeat(200)
            ));
            text.push('\n');
        }
        std::fs::write(folder.join(format!("session-{file}.jsonl")), text).unwrap();
    }
}

/// Runs ingest and kills it after `delay`; whether it had ended by itself.
fn killed(scratch: &Scratch, input: &str, delay: Duration) -> bool {
    let mut command = scratch.command(&["ingest", input]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while began.elapsed() < delay {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    let _ = child.kill();
    child.wait().unwrap();
    false
}

/// Adds a blank line to every file: each must be read again, and says what it said.
fn touch_all(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let mut file = std::fs::File::options().append(true).open(entry.unwrap().path()).unwrap();
        file.write_all(b"\n").unwrap();
    }
}

#[test]
fn killed_at_two_hundred_moments_and_run_again_the_lake_is_the_same() {
    let logs = tempfile::tempdir().unwrap();
    // More files than a batch takes, so that there are several commits to die between.
    sessions(logs.path(), 150, 20);
    let input = logs.path().to_str().unwrap();
    let undisturbed = |expected_calls: &str| {
        let scratch = Scratch::new();
        let began = Instant::now();
        scratch.mechanic(&["ingest", input]);
        let whole = began.elapsed();
        let calls = scratch.sql("SELECT count(*) AS n FROM model_calls");
        assert_eq!(calls.trim(), expected_calls);
        (whole, scratch.mechanic(&["lake", "digest"]))
    };
    let (mut whole, _) = undisturbed("n\n3000");

    let mut random = Random(2);
    for _ in 0..LAKES {
        let scratch = Scratch::new();
        let mut kills = 0;
        while kills < KILLS / LAKES {
            let delay = Duration::from_micros(random.below(whole.as_micros() as u64));
            if killed(&scratch, input, delay) {
                // It ended first: there must be work again, and the next moments are sooner.
                touch_all(logs.path());
                whole = whole.mul_f64(0.9).max(Duration::from_millis(5));
            } else {
                kills += 1;
            }
        }
        scratch.mechanic(&["ingest", input]);
        let (again, expected) = undisturbed("n\n3000");
        assert_eq!(scratch.mechanic(&["lake", "digest"]), expected);
        assert!(!scratch.lake().join("pending").exists(), "the ingest that ended says so");
        whole = again;
    }
}

#[test]
fn a_lake_that_is_being_written_is_refused_with_exit_code_three() {
    let scratch = Scratch::new();
    let input = scratch.path().join("logs");
    sessions(&input, 1, 1);
    let input = input.to_str().unwrap();
    scratch.mechanic(&["ingest", input]);
    let held = std::fs::File::options().write(true).open(scratch.lake().join("lock")).unwrap();
    held.lock().unwrap();
    let refused = scratch.run(&["ingest", input]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("being written by another mechanic process"));
    held.unlock().unwrap();
    scratch.mechanic(&["ingest", input]);
}
