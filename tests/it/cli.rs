//! Owns what every command promises to whoever calls it: exit codes, streams, help, and that an ad-hoc statement can only read.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::{Scratch, body, csv_rows};

const COMMANDS: [&str; 13] =
    ["audit", "doctor", "explain", "harvest", "ingest", "init", "label", "lake", "query", "record", "replay", "schema", "sql"];

fn demo() -> Scratch {
    let scratch = Scratch::new();
    scratch.mechanic(&["ingest", "fixtures/demo/shop"]);
    scratch
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Exit status and what was said of it.
fn ends(scratch: &Scratch, args: &[&str]) -> (Option<i32>, String) {
    let output = scratch.run(args);
    (output.status.code(), said(&output))
}

/// Every file below a folder with its bytes.
fn bytes_of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().display().to_string(), fs::read(entry.path()).unwrap()))
        .collect();
    found.sort();
    found
}

#[test]
fn every_command_has_help_with_an_example_that_fits_a_screen() {
    let scratch = Scratch::new();
    for command in COMMANDS {
        let help = scratch.mechanic(&[command, "--help"]);
        assert!(help.contains("Example") && help.contains(&format!("mechanic {command}")), "{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 160, "{command}: {line}");
        }
    }
}

#[test]
fn what_the_caller_can_mend_ends_with_two_and_says_how() {
    let scratch = demo();
    let cases: [(&[&str], &str); 14] = [
        (&["audit", "--week", "2026-W99", "fixtures/demo/shop"], "2026-W99"),
        (&["audit", "--tz", "Mars/Olympus", "fixtures/demo/shop"], "Mars/Olympus"),
        (&["audit", "--fail-on", "everything", "fixtures/demo/shop"], "everything"),
        (&["query", "no_such_query"], "no_such_query"),
        (&["query", "gate_economics", "-p", "nosuch=1"], "nosuch"),
        (&["query", "gate_economics", "-p", "since=yesterday"], "since"),
        (&["schema", "no_such_table"], "no_such_table"),
        (&["explain", "gate", "no_such_gate"], "no_such_gate"),
        (&["label", "ffffffff", "true"], "ffffffff"),
        (&["sql", "select * from no_such_table"], "no_such_table"),
        (&["sql", "selec 1"], "selec"),
        (&["sql", "--format", "xml", "select 1"], "xml"),
        (&["ingest"], "PATH"),
        (&["ingest", "no/such/folder"], "no/such/folder"),
    ];
    for (args, named) in cases {
        let (code, said) = ends(&scratch, args);
        assert_eq!(code, Some(2), "{args:?}: {said}");
        assert!(said.contains(named), "{args:?}: {said}");
    }
}

#[test]
fn a_threshold_that_is_met_ends_with_one_and_only_then() {
    let scratch = Scratch::new();
    let out = scratch.path().join("report");
    let audit = |conditions: &str| {
        let out = out.to_str().unwrap();
        ends(&scratch, &["audit", "fixtures/demo/shop", "--now", "2026-11-30T00:00:00Z", "--out", out, "--fail-on", conditions])
    };
    let (code, said) = audit("escapes");
    assert_eq!(code, Some(1), "{said}");
    assert!(out.join("audit.md").is_file(), "the report stands all the same");
}

#[test]
fn a_failed_environment_ends_with_three_and_is_never_read_as_a_pass() {
    let empty = Scratch::new();
    for args in [&["sql", "select 1"][..], &["query", "runs"], &["lake", "digest"], &["explain", "gate", "x"], &["label", "ab", "true"]] {
        let (code, said) = ends(&empty, args);
        assert_eq!(code, Some(3), "{args:?}: {said}");
        assert!(said.contains("no lake at"), "{args:?}: {said}");
    }
    let broken = demo();
    let log = broken.lake().join("gate_runs/_delta_log");
    for entry in fs::read_dir(&log).unwrap() {
        fs::write(entry.unwrap().path(), "{\"add\":").unwrap();
    }
    for args in [&["sql", "select count(*) from gate_runs"][..], &["lake", "digest"], &["query", "gate_economics"]] {
        let (code, said) = ends(&broken, args);
        assert_eq!(code, Some(3), "{args:?}: {said}");
        assert!(said.contains("gate_runs"), "{args:?}: {said}");
    }
}

#[test]
fn standard_output_carries_the_answer_and_nothing_else() {
    let scratch = demo();
    let asked = scratch.run(&["sql", "--format", "csv", "select 1 as one"]);
    assert_eq!((asked.stdout.as_slice(), said(&asked).as_str()), (b"one\n1\n".as_slice(), ""));
    let wrong = scratch.run(&["sql", "select nonsense"]);
    assert!(wrong.stdout.is_empty() && said(&wrong).starts_with("mechanic: "), "{}", said(&wrong));
    let json = scratch.mechanic(&["audit", "fixtures/demo/shop", "--format", "json", "--out", scratch.path().join("r").to_str().unwrap()]);
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
}

#[test]
fn without_a_terminal_nothing_is_coloured_and_no_bar_is_drawn() {
    let scratch = Scratch::new();
    let mut command = scratch.command(&["audit", "fixtures/demo", "--out", scratch.path().join("r").to_str().unwrap()]);
    let output = command.env_remove("NO_COLOR").output().unwrap();
    assert!(output.status.success());
    assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b) && !output.stderr.contains(&b'\r'));
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let scratch = demo();
    for args in [&["sql", "--format", "csv", "select range as n from range(2000000)"][..], &["schema"], &["query", "verdicts"]] {
        let mut child = scratch.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn an_ad_hoc_statement_can_only_read_the_tables() {
    let scratch = demo();
    scratch.mechanic(&["sql", "select 1"]);
    let target = scratch.path().join("written");
    let path = target.display();
    let statements = [
        format!("copy gate_runs to '{path}'"),
        format!("copy (select 1) to '{path}'"),
        format!("attach '{path}' as other"),
        format!("export database '{path}'"),
        "install httpfs".to_owned(),
        "load json".to_owned(),
        "set memory_limit = '1GB'".to_owned(),
        "reset memory_limit".to_owned(),
        "pragma database_list".to_owned(),
        "call pragma_version()".to_owned(),
        "create table t as select 1".to_owned(),
        "create temp view v as select 1".to_owned(),
        "drop view gate_runs".to_owned(),
        "insert into gate_runs select * from gate_runs".to_owned(),
        "update gate_runs set seq = 0".to_owned(),
        "delete from gate_runs".to_owned(),
        "explain analyze delete from gate_runs".to_owned(),
        "select 1; select 2".to_owned(),
        "select 1; drop view gate_runs".to_owned(),
        "with x as (delete from gate_runs returning *) select * from x".to_owned(),
        "select * from read_csv('/etc/hostname')".to_owned(),
        "select * from read_text('/etc/hostname')".to_owned(),
        "select * from '/etc/hostname'".to_owned(),
        "select * from glob('/*')".to_owned(),
        "select * from query('select 1')".to_owned(),
        "select getenv('HOME')".to_owned(),
        "vacuum".to_owned(),
        "checkpoint".to_owned(),
        "begin".to_owned(),
        "prepare p as select 1".to_owned(),
        "use memory".to_owned(),
        String::new(),
        "-- nothing".to_owned(),
    ];
    let before = bytes_of(&scratch.lake());
    for statement in &statements {
        let output = scratch.run(&["sql", statement]);
        assert_eq!(output.status.code(), Some(2), "`{statement}`: {}{}", said(&output), String::from_utf8_lossy(&output.stdout));
        assert!(output.stdout.is_empty(), "`{statement}`");
    }
    assert!(!target.exists());
    assert!(bytes_of(&scratch.lake()) == before, "a refused statement changed the lake");
}

#[test]
fn a_statement_comes_from_the_argument_a_file_or_standard_input_alike() {
    let scratch = demo();
    let statement = "select count(*) as n from gate_runs";
    let asked = scratch.sql(statement);
    let file = scratch.path().join("q.sql");
    fs::write(&file, statement).unwrap();
    assert_eq!(scratch.mechanic(&["sql", "--format", "csv", "-f", file.to_str().unwrap()]), asked);
    let mut command = scratch.command(&["sql", "--format", "csv"]);
    command.stdin(fs::File::open(&file).unwrap());
    assert_eq!(String::from_utf8(command.output().unwrap().stdout).unwrap(), asked);
    assert_ne!(body(&asked), ["0"]);
}

#[test]
fn the_version_is_that_of_the_package() {
    let output = Command::new(env!("CARGO_BIN_EXE_mechanic")).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), concat!("mechanic ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
#[cfg(unix)]
fn a_failed_check_stays_failed_when_nobody_reads_on() {
    let scratch = Scratch::new();
    // The pipe is closed before anything is written.
    let run = |args: &[&str]| {
        let mut child = scratch.command(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        child.wait().unwrap().code()
    };
    let audit = ["audit", "fixtures/demo", "--now", "2026-11-30T00:00:00Z", "--fail-on", "quarantine"];
    let audit_all = ["audit", "fixtures/demo", "--now", "2026-11-30T00:00:00Z", "--week", "2026-W40", "--fail-on", "toll"];
    let told: Vec<Option<i32>> = [&audit[..], &audit_all[..]].iter().map(|args| scratch.run(args).status.code()).collect();
    assert!(told.contains(&Some(1)), "one of them fails: {told:?}");
    assert_eq!(vec![run(&audit), run(&audit_all)], told);
    assert_eq!(run(&["sql", "select * from range(100000)"]), Some(0), "enough was read");
}

#[test]
fn nothing_is_written_over_the_lake() {
    let scratch = demo();
    let before = scratch.digest();
    for name in ["lake.json", "gates/x.csv", "x"] {
        let out = format!("{}/{name}", scratch.lake().display());
        for args in
            [&["query", "toll", "-o", &out][..], &["sql", "select 1 as a", "-o", &out], &["audit", "fixtures/demo/shop", "--out", &out]]
        {
            let (code, told) = ends(&scratch, args);
            assert_eq!(code, Some(2), "{args:?}: {told}");
            assert!(told.contains("lies in the lake"), "{told}");
        }
    }
    assert_eq!(scratch.digest(), before);
}

#[test]
#[cfg(unix)]
fn a_file_that_could_not_be_read_shows_in_the_next_audit() {
    let scratch = demo();
    let folder = scratch.path().join("logs");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("trace.jsonl"), fs::read("fixtures/demo/shop/.copilot-tracking/issues/issue-102/trace.jsonl").unwrap()).unwrap();
    let audit = |scratch: &Scratch| {
        scratch.run(&[
            "audit",
            folder.to_str().unwrap(),
            "--now",
            "2026-11-30T00:00:00Z",
            "--format",
            "json",
            "--out",
            scratch.path().join("out").to_str().unwrap(),
        ])
    };
    audit(&scratch);
    // A packed file that ends in the middle: it cannot be read, and changes no fact.
    fs::write(folder.join("broken.jsonl"), [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1]).unwrap();
    audit(&scratch);
    let csv = fs::read_to_string(scratch.path().join("out/tables/coverage.csv"))
        .or_else(|_| fs::read_to_string(scratch.path().join("out/coverage.csv")))
        .unwrap();
    let failed: i64 = csv_rows(&csv).iter().map(|row| row["n_failed"].parse::<i64>().unwrap_or(0)).sum();
    assert_eq!(failed, 1, "{csv}");
}
