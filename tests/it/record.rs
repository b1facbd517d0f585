//! Owns the tests of `mechanic record` as a program: what goes through unchanged, and how its lines reach the audit.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn recorded(folder: &Path, args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mechanic"))
        .current_dir(folder)
        .arg("record")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

const SCRIPT: &str = "cat; printf 'out\\377\\n'; echo err >&2; exit 7";

#[test]
fn input_output_and_status_go_through_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    for extra in [&[][..], &["--keep-stimuli"]] {
        let done = recorded(dir.path(), &[&["--gate", "g"], extra, &["--", "sh", "-c", SCRIPT]].concat(), "in\n");
        assert_eq!(done.status.code(), Some(7));
        assert_eq!(done.stdout, b"in\nout\xff\n");
        assert_eq!(done.stderr, b"err\n");
    }
}

#[test]
fn a_shadow_run_says_nothing_on_standard_output_where_a_hooks_answer_could_block() {
    let dir = tempfile::tempdir().unwrap();
    let done = recorded(dir.path(), &["--gate", "g", "--shadow", "--", "sh", "-c", SCRIPT], "in\n");
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(0), b"".as_slice()));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("would have ended with 7 (fail)"), "{said}");
}

#[test]
fn standard_input_that_was_kept_stands_under_its_digest_once() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        recorded(dir.path(), &["--gate", "g", "--keep-stimuli", "--", "cat"], "{\"tool\":\"Bash\"}");
    }
    let kept: Vec<_> = std::fs::read_dir(dir.path().join(".mechanic/stimuli")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(std::fs::read(&kept[0]).unwrap(), b"{\"tool\":\"Bash\"}");
    let lines = std::fs::read_to_string(dir.path().join(".mechanic/gate-runs.jsonl")).unwrap();
    assert_eq!(lines.matches(kept[0].file_name().unwrap().to_str().unwrap()).count(), 2);
}

#[test]
fn a_broken_configuration_does_not_keep_the_gate_from_running() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mechanic.toml"), "nonsense = [").unwrap();
    assert_eq!(recorded(dir.path(), &["--gate", "g", "--", "sh", "-c", "exit 5"], "").status.code(), Some(5));
}

#[test]
fn a_termination_reaches_the_command_and_its_status_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap 'exit 9' TERM; touch ready; while :; do sleep 0.05; done";
    let child = Command::new(env!("CARGO_BIN_EXE_mechanic"))
        .current_dir(dir.path())
        .args(["record", "--gate", "g", "--", "sh", "-c", script])
        .spawn()
        .unwrap();
    while !dir.path().join("ready").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(9));
}

#[test]
fn silent_passes_become_exposure_of_the_gate() {
    let dir = tempfile::tempdir().unwrap();
    for status in ["0", "0", "0", "1", "0"] {
        recorded(dir.path(), &["--gate", "lint", "--issue", "12", "--", "sh", "-c", &format!("exit {status}")], "");
    }
    let run = |args: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_mechanic")).current_dir(dir.path()).args(args).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    run(&["ingest", ".mechanic/gate-runs.jsonl"]);
    let told = run(&[
        "sql",
        "--format",
        "csv",
        "select gate_id, count(*) filter (where verdict = 'pass') as passes, count(*) filter (where verdict = 'fail') as fails, count(duration_ms) as timed from gate_runs group by gate_id order by gate_id",
    ]);
    assert_eq!(told, "gate_id,passes,fails,timed\nlint,4,1,5\n");
    let gate = run(&["query", "gate_economics", "--format", "csv"]);
    assert!(gate.lines().nth(1).is_some_and(|line| line.starts_with("lint,")), "{gate}");
}
