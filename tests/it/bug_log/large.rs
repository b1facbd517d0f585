//! Owns the cases of §4 about size: files and lines of any length are read in the memory of a small file.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::logs::{CLAUDE_ONE, COPILOT, Claude, Copilot, ONE, lake_of, row, rows, usage};
use crate::support::Scratch;

/// Writes lines until the file holds that many mebibytes; `line` makes the nth one.
fn file_of(scratch: &Scratch, name: &str, mebibytes: usize, line: impl Fn(usize) -> String) -> (PathBuf, usize) {
    let path = scratch.path().join("logs").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut out = BufWriter::new(File::create(&path).unwrap());
    let (mut bytes, mut lines) = (0, 0);
    while bytes < mebibytes << 20 {
        let text = line(lines);
        out.write_all(text.as_bytes()).unwrap();
        out.write_all(b"\n").unwrap();
        bytes += text.len() + 1;
        lines += 1;
    }
    out.flush().unwrap();
    (path, lines)
}

/// Ingests and returns the greatest resident memory that was seen, in MiB.
fn peak_of(scratch: &Scratch, path: &Path) -> u64 {
    let mut child = scratch.command(&["ingest", path.to_str().unwrap()]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let seen = fs::read_to_string(&status).unwrap_or_default();
        let high = seen.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(high.unwrap_or(0));
        if let Some(exit) = child.try_wait().unwrap() {
            assert!(exit.success());
            return peak / 1024;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Past the string limits (512 MiB) at which the readers of these reports died.
const MEBIBYTES: usize = 520;

/// Memory that any ingest may take. A reader that holds the file needs more.
const BOUND_MIB: u64 = 100;

#[test]
#[cfg(target_os = "linux")]
fn t25_t26_a_session_full_of_snapshots_is_streamed_and_its_calls_are_found() {
    let scratch = Scratch::new();
    let snapshot = format!(
        r#"{{"type":"file-history-snapshot","messageId":"m","snapshot":{{"trackedFileBackups":{{"a":"{}"}}}},"isSnapshotUpdate":false}}"#,
        "x".repeat(300_000)
    );
    let (path, lines) = file_of(&scratch, CLAUDE_ONE, MEBIBYTES, |n| match n % 50 {
        0 => Claude::new(ONE).call(&format!("m{n}"), "end_turn", &usage(1, 0, 0, 5)).lines.remove(0),
        _ => snapshot.clone(),
    });
    let peak = peak_of(&scratch, &path);
    assert_eq!(row(&scratch, "select records, quarantined from sources"), format!("{lines},0"));
    assert_eq!(row(&scratch, "select count(*), sum(output_tokens)::bigint from model_calls"), calls_of(lines, 5));
    assert!(peak > 0 && peak < BOUND_MIB, "{peak} MiB");
}

#[test]
#[cfg(target_os = "linux")]
fn t38_events_of_any_number_are_streamed() {
    let scratch = Scratch::new();
    let output = "y".repeat(100_000);
    let first = Copilot::new().events.remove(0);
    let (path, lines) = file_of(&scratch, COPILOT, MEBIBYTES, |n| match (n, n % 50) {
        (0, _) => first.clone(),
        (_, 1) => Copilot { events: Vec::new() }.call(&format!("c{n}"), 5).events.remove(0).replace("event-00000", &format!("event-{n}")),
        _ => format!(
            r#"{{"type":"tool.execution_partial_result","data":{{"toolCallId":"t","partialOutput":"{output}"}},"id":"e{n}","timestamp":"2026-02-03T10:00:00.000Z"}}"#
        ),
    });
    let peak = peak_of(&scratch, &path);
    assert_eq!(row(&scratch, "select records, quarantined from sources"), format!("{lines},0"));
    assert_eq!(row(&scratch, "select count(*), sum(output_tokens)::bigint from model_calls"), calls_of(lines - 1, 5));
    assert!(peak > 0 && peak < BOUND_MIB, "{peak} MiB");
}

/// Every fiftieth line is a call.
fn calls_of(lines: usize, output: usize) -> String {
    let calls = lines.div_ceil(50);
    format!("{calls},{}", calls * output)
}

#[test]
fn t37_thousands_of_events_in_three_segments_with_one_of_1_7_megabytes_are_a_valid_file() {
    let mut log = Copilot { events: Vec::new() };
    for segment in 1..=3 {
        log = log.start();
        for n in 0..2_786 {
            log = log.event("assistant.turn_start", &format!(r#"{{"turnId":"{segment}-{n}"}}"#));
        }
        let long = "z".repeat(if segment == 2 { 1_700_000 } else { 10 });
        log = log.event("user.message", &format!(r#"{{"content":"{long}"}}"#)).call(&format!("c{segment}"), 100);
        log = log.shutdown(segment, 1_000 * segment, 600 * segment, 0, 100 * segment);
    }
    let lake = lake_of(&[(COPILOT, log.bytes())]);
    assert_eq!(row(&lake, "select records, quarantined from sources"), "8370,0");
    assert_eq!(row(&lake, "select count(*) from contexts"), "1");
    let totals = "select leg, n_requests, input_tokens, output_tokens from usage_totals where kind = 'shutdown' order by leg";
    assert_eq!(rows(&lake, totals), ["0,1,400,100", "1,1,400,100", "2,1,400,100"]);
}

#[test]
fn t40_a_line_of_16_megabytes_is_read_and_one_past_the_cap_is_skipped_and_counted() {
    let line = |id: &str, length: usize| {
        let text = "w".repeat(length);
        Claude::new(ONE).blocks(id, "end_turn", &usage(1, 0, 0, 5), &format!(r#"{{"type":"text","text":"{text}"}}"#)).lines.remove(0)
    };
    let lines = [line("m1", 16_000_000), line("m2", (64 << 20) + 1), line("m3", 10)];
    let lake = lake_of(&[(CLAUDE_ONE, lines.join("\n").into_bytes())]);
    assert_eq!(row(&lake, "select count(*) from model_calls"), "2");
    assert_eq!(rows(&lake, "select reason, source_line from quarantine"), ["oversize,2"]);
}
