//! Owns the tests of `mechanic replay` as a program: exit codes, forms, results files, and what is left when it is killed.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const FIXTURE: &str = r#"format = 1
id = "one"
title = "t"
origin = "o"
happened = "h"
failure_mode = "m"
severity = "major"
classification = "normative"
provenance = "rebuilt"
[stimulus]
kind = "tree"
[[expect]]
gate = "g"
outcome = "catches"
"#;

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mechanic"));
    command.current_dir(folder).arg("replay").args(args);
    command
}

fn replay(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A corpus of one failure, and one validator that is a line of shell.
fn home(script: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "fixtures/failures/one/fixture.toml", FIXTURE);
    write(dir.path(), "fixtures/failures/one/stimulus/a.txt", "bad\n");
    validator(dir.path(), script);
    dir
}

fn validator(folder: &Path, script: &str) {
    let text = format!(
        "format = 1\n[[validator]]\nid = \"v\"\ngate = \"g\"\ncommand = '''{script}'''\nshell = true\ntimeout = \"40s\"\n[validator.verdict]\nexit = {{ pass = [0], fail = [1], could_not_run = [2] }}\n"
    );
    write(folder, "fixtures/validators/validators.toml", &text);
}

const GREP: &str = "grep -q bad a.txt; case $? in 0) exit 1;; 1) exit 0;; *) exit 2;; esac";

#[test]
fn each_end_of_a_replay_has_its_exit_code() {
    let dir = home(GREP);
    let code = |args: &[&str]| replay(dir.path(), args).status.code();
    assert_eq!(code(&[]), Some(0));
    validator(dir.path(), "exit 0");
    assert_eq!(code(&[]), Some(1));
    validator(dir.path(), "kill -9 $$");
    assert_eq!(code(&[]), Some(3));
    assert_eq!(code(&["--baseline", "no-such-thing"]), Some(2));
    write(dir.path(), "fixtures/failures/one/fixture.toml", &FIXTURE.replace("severity", "severty"));
    let done = replay(dir.path(), &[]);
    assert_eq!(done.status.code(), Some(2));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("fixture.toml:7: unknown key `severty`; did you mean `severity`?"), "{said}");
}

#[test]
fn a_locked_byte_that_changed_is_refused_and_a_results_file_is_a_baseline() {
    let dir = home(GREP);
    assert_eq!(replay(dir.path(), &["--lock"]).status.code(), Some(0));
    assert_eq!(replay(dir.path(), &["--out", "before.json"]).status.code(), Some(0));
    validator(dir.path(), "exit 0");
    let done = replay(dir.path(), &["--baseline", "before.json", "--format", "github"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(1));
    assert!(
        said.starts_with("::error file=fixtures/failures/one/fixture.toml,title=newly_missed%3A one × v::caught at the baseline"),
        "{said}"
    );
    write(dir.path(), "fixtures/failures/one/stimulus/a.txt", "bed\n");
    let done = replay(dir.path(), &[]);
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("fixtures/failures/one: differs from the lock"));
}

#[test]
fn every_form_is_well_formed_and_two_replays_are_identical() {
    let dir = home(GREP);
    let text = |args: &[&str]| String::from_utf8(replay(dir.path(), args).stdout).unwrap();
    let json = |args: &[&str]| serde_json::from_str::<serde_json::Value>(&text(args)).unwrap();
    let results = |args: &[&str]| {
        let mut value = json(args);
        value.as_object_mut().unwrap().remove("measured");
        value
    };
    let first = results(&["--format", "json"]);
    assert_eq!(first, results(&["--format", "json"]));
    assert_eq!(first, results(&["--format", "json", "--no-cache"]));
    assert_eq!(json(&["--format", "sarif"]).pointer("/version").unwrap(), "2.1.0");
    assert!(text(&["--format", "junit"]).contains("<testcase classname=\"v\" name=\"one\"/>"));
    assert!(text(&["--list"]).contains("one [normative major tree] t (not locked)"));
    assert!(json(&["--list", "--format", "json"]).pointer("/fixtures/0/input_digest").unwrap().as_str().unwrap().starts_with("sha256:"));
}

/// Processes whose command line holds the mark.
fn alive(mark: &str) -> usize {
    let line = |pid: &str| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let names = fs::read_dir("/proc").unwrap().flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    names.filter(|n| n.bytes().all(|b| b.is_ascii_digit())).filter(|n| line(n).windows(mark.len()).any(|w| w == mark.as_bytes())).count()
}

fn wait_until(what: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn kill_9_of_a_replay_leaves_no_process_and_no_half_result() {
    // Half a minute at most, whatever happens.
    let mark = format!("31.{}", std::process::id());
    let dir = home(&format!("(setsid sleep {mark} &); trap \"\" TERM; sleep {mark}"));
    let mut running = command(dir.path(), &["--out", "results.json"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(wait_until(|| alive(&mark) >= 2), "it never began");
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(wait_until(|| alive(&mark) == 0), "{} processes are left", alive(&mark));
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["fixtures"]);
}

/// Each stops by itself after a while, whatever isolation does.
const HOSTILE: &[(&str, &str, &str)] = &[
    ("daemon", "(setsid sleep 8.1317 >/dev/null 2>&1 &); exit 0", "daemon: left processes, which were ended"),
    ("deaf", "trap \"\" TERM; sleep 8.1317; sleep 8.1317", "deaf: no verdict in time; SIGTERM did not end it, SIGKILL did"),
    ("disk", "dd if=/dev/zero of=big bs=1M count=600 2>/dev/null; exit 0", "disk: filled its place"),
    ("loud", "yes mechanic | head -c 30000000; exit 0", "loud: wrote more output than is kept"),
    ("forks", "i=0; while [ $i -lt 10000 ]; do sleep 6.1317 & i=$((i+1)); done; exit 0", "forks: left processes, which were ended"),
    ("outside", "echo x > OUTSIDE/made 2>/dev/null; exit 0", "outside: wrote outside its copy: OUTSIDE/made (stopped)"),
];

#[test]
fn each_hostile_validator_harms_nothing_and_is_reported_in_one_clear_line() {
    let outside = tempfile::Builder::new().prefix(".outside-").tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let outside_folder = outside.path().canonicalize().unwrap();
    let place = |text: &str| text.replace("OUTSIDE", outside_folder.to_str().unwrap());
    let dir = home("exit 0");
    write(dir.path(), "fixtures/failures/one/fixture.toml", &FIXTURE.replace("normative", "known_defect").replace("catches", "misses"));
    let mut text = String::from("format = 1\n");
    for (id, script, _) in HOSTILE {
        text += &format!(
            "[[validator]]\nid = \"{id}\"\ngate = \"{id}\"\ncommand = '''{}'''\nshell = true\ntimeout = \"3s\"\n[validator.verdict]\nexit = {{ pass = [0], fail = [1], could_not_run = [2] }}\n",
            place(script)
        );
    }
    write(dir.path(), "fixtures/validators/validators.toml", &text);
    let done = replay(dir.path(), &["--jobs", "2", "--out", "results.json"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(3), "{said}{}", String::from_utf8_lossy(&done.stderr));
    let results: serde_json::Value = serde_json::from_slice(&fs::read(dir.path().join("results.json")).unwrap()).unwrap();
    let missing =
        results.pointer("/isolation/missing").unwrap().as_array().unwrap().iter().map(|m| m.as_str().unwrap()).collect::<Vec<_>>();
    for (id, _, line) in HOSTILE {
        // What cannot be had on this machine is named as missing, and is not asked for.
        let needs: &[&str] = match *id {
            "disk" => &["size-limited tmpfs"],
            "forks" => &["process limit"],
            "outside" => &["sight of writes outside"],
            _ => &[],
        };
        if needs.iter().any(|n| missing.contains(n)) || *id == "outside" && outside_folder.starts_with("/tmp") {
            continue;
        }
        let line = place(line);
        let lines = said.lines().filter(|l| l.contains(&line)).count();
        assert_eq!(lines, 1, "{line}\n{said}");
    }
    assert_eq!(fs::read_dir(&outside_folder).unwrap().count(), 0);
    assert_eq!(alive("sleep\x008.1317") + alive("sleep\x006.1317"), 0);
}
