//! Owns the promise of `mechanic replay` on the project's own corpus: every preserved failure is still caught, and the answer is the same
//! each time. Runs where there is a Python, which most of the corpus's validators are written in.

use std::process::{Command, Output};

fn replay(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mechanic"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("replay").args(args).env("NO_COLOR", "1").output().unwrap()
}

#[test]
#[cfg_attr(not(mechanic_python), ignore)]
fn every_failure_of_the_corpus_is_still_caught_and_no_control_is_failed() {
    let output = replay(&["--no-cache"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.ends_with("Held: every expectation is met (exit 0)\n"), "{text}");
}

#[test]
#[cfg_attr(not(mechanic_python), ignore)]
fn two_replays_of_a_part_give_identical_results() {
    let folder = tempfile::tempdir().unwrap();
    let results = ["one.json", "two.json"].map(|name| {
        let out = folder.path().join(name);
        let output = replay(&["--no-cache", "--filter", "class=control", "--filter", "validator=ledger-*", "--out", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let mut value: serde_json::Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
        forget_times(&mut value);
        value
    });
    assert_eq!(results[0], results[1]);
}

/// Durations are measured; everything else must be the same.
fn forget_times(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            map.retain(|key, _| !key.ends_with("_ms") && !key.ends_with("_us") && !key.ends_with("_at"));
            map.values_mut().for_each(forget_times);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}

#[test]
fn a_corpus_with_a_changed_byte_is_refused_and_the_fixture_named() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("failures");
    for entry in walkdir::WalkDir::new("fixtures/failures") {
        let entry = entry.unwrap();
        let to = copy.join(entry.path().strip_prefix("fixtures/failures").unwrap());
        match entry.file_type().is_dir() {
            true => std::fs::create_dir_all(to).unwrap(),
            false => std::fs::copy(entry.path(), to).map(drop).unwrap(),
        }
    }
    let file = copy.join("shared-approval-marker/fixture.toml");
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + "\n").unwrap();
    let output = replay(&["--corpus", copy.to_str().unwrap(), "--no-cache", "--filter", "shared-approval-marker"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("shared-approval-marker"), "{said}");
}
