//! Owns the tests of recording a gate command.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::config::profile::{DELIVERY_HARNESS_NAME, Profile};

fn plan(script: &str) -> Plan {
    Plan {
        gate: "lint".into(),
        rule: None,
        run: None,
        unit: None,
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        shadow: false,
        keep_stimuli: false,
        verdicts: Verdicts::default(),
        layout: Profile::builtin(DELIVERY_HARNESS_NAME).unwrap().layout,
        file: None,
    }
}

fn git(top: &Path, args: &[&str]) -> String {
    let done =
        Command::new("git").arg("-C").arg(top).args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args).output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A repository with one commit on the branch of issue 7.
fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "-b", "feature/issue-07-dates"]);
    fs::write(dir.path().join("a.txt"), "a\n").unwrap();
    fs::write(dir.path().join(".gitignore"), "ignored.txt\n.mechanic/\n").unwrap();
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-q", "-m", "Begin"]);
    dir
}

fn rows(file: &Path) -> Vec<Recorded> {
    fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_pass_leaves_one_line_that_names_commit_and_delivery_and_keeps_no_tree() {
    let dir = repository();
    let outcome = record(&plan("true"), dir.path());
    assert_eq!((outcome.code, outcome.notes.as_slice()), (0, [].as_slice()));
    let rows = rows(&dir.path().join(".mechanic/gate-runs.jsonl"));
    assert_eq!((rows.len(), rows[0].verdict, rows[0].run.as_str()), (1, Verdict::Pass, "record:7"));
    assert_eq!(rows[0].head_sha.as_deref(), Some(git(dir.path(), &["rev-parse", "HEAD"]).as_str()));
    assert_eq!(rows[0].tree_ref, None);
}

#[test]
fn whether_the_tree_was_the_commits_own_is_recorded_with_it() {
    let dir = repository();
    let clean = |name: &str, text: &str| {
        if !name.is_empty() {
            fs::write(dir.path().join(name), text).unwrap();
        }
        record(&plan("true"), dir.path());
        rows(&dir.path().join(".mechanic/gate-runs.jsonl")).pop().unwrap().clean
    };
    assert_eq!(clean("", ""), Some(true));
    assert_eq!(clean("ignored.txt", "x"), Some(true));
    assert_eq!(clean(".gitignore", "ignored.txt\n"), Some(false), "a change that is not committed");
    git(dir.path(), &["commit", "-q", "-am", "Ignore less"]);
    assert_eq!(clean("", ""), Some(true), "what this program keeps is no change of the work");
    assert_eq!(clean("new.txt", "x"), Some(false), "a file that git does not know");
    let outside = tempfile::tempdir().unwrap();
    record(&plan("true"), outside.path());
    assert_eq!(rows(&outside.path().join(".mechanic/gate-runs.jsonl"))[0].clean, None);
}

#[test]
fn a_fail_keeps_the_uncommitted_tree_and_changes_nothing_a_person_sees() {
    let dir = repository();
    fs::write(dir.path().join("a.txt"), "broken\n").unwrap();
    fs::write(dir.path().join("new.txt"), "untracked\n").unwrap();
    fs::write(dir.path().join("ignored.txt"), "secret\n").unwrap();
    let seen = |dir: &Path| (git(dir, &["status", "--porcelain"]), git(dir, &["branch", "--list"]), git(dir, &["stash", "list"]));
    let before = seen(dir.path());
    let outcome = record(&plan("exit 3"), dir.path());
    assert_eq!((outcome.code, outcome.notes.as_slice()), (3, [].as_slice()));
    assert_eq!(seen(dir.path()), before);
    let reference = rows(&dir.path().join(".mechanic/gate-runs.jsonl"))[0].tree_ref.clone().unwrap();
    let show = |file: &str| git(dir.path(), &["show", &format!("{reference}:{file}")]);
    assert_eq!((show("a.txt"), show("new.txt")), ("broken".to_owned(), "untracked".to_owned()));
    assert_eq!(git(dir.path(), &["ls-tree", "--name-only", &reference]), ".gitignore\na.txt\nnew.txt");
    assert_eq!(git(dir.path(), &["rev-parse", &format!("{reference}^")]), git(dir.path(), &["rev-parse", "HEAD"]));
}

#[test]
fn a_linked_work_tree_writes_to_the_main_checkout_and_reads_its_own_head() {
    let dir = repository();
    let linked = dir.path().join("wt");
    git(dir.path(), &["worktree", "add", "-q", "-b", "issue-8", "wt"]);
    fs::write(linked.join("b.txt"), "b\n").unwrap();
    git(&linked, &["add", "."]);
    git(&linked, &["commit", "-q", "-m", "Second"]);
    record(&plan("false"), &linked);
    let rows = rows(&dir.path().join(".mechanic/gate-runs.jsonl"));
    assert_eq!(rows[0].run, "record:8");
    assert_eq!(rows[0].head_sha.as_deref(), Some(git(&linked, &["rev-parse", "HEAD"]).as_str()));
    assert!(rows[0].tree_ref.is_some());
}

#[test]
fn outside_a_repository_there_is_a_line_and_no_tree() {
    let dir = tempfile::tempdir().unwrap();
    let outcome = record(&plan("exit 1"), dir.path());
    assert_eq!((outcome.code, outcome.notes.as_slice()), (1, [].as_slice()));
    let rows = rows(&dir.path().join(".mechanic/gate-runs.jsonl"));
    assert_eq!((rows[0].head_sha.as_deref(), rows[0].tree_ref.as_deref(), rows[0].verdict), (None, None, Verdict::Fail));
}

#[test]
fn a_record_that_cannot_be_written_is_one_note_and_the_command_has_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("taken");
    fs::create_dir(&file).unwrap();
    let mark = dir.path().join("ran");
    let plan = Plan { file: Some(file), ..plan(&format!("touch '{}'; exit 4", mark.display())) };
    let outcome = record(&plan, dir.path());
    assert_eq!(outcome.code, 4);
    assert!(mark.exists());
    assert_eq!(outcome.notes.len(), 1);
    assert!(outcome.notes[0].contains("not recorded"), "{:?}", outcome.notes);
}

#[test]
fn signals_and_missing_programs_have_the_statuses_a_shell_gives_and_are_no_verdict() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(record(&plan("kill -9 $$"), dir.path()).code, 137);
    let missing = Plan { command: vec!["no-such-program-here".into()], ..plan("") };
    assert_eq!(record(&missing, dir.path()).code, 127);
    let rows = rows(&dir.path().join(".mechanic/gate-runs.jsonl"));
    assert_eq!(rows.iter().map(|r| (r.verdict, r.signal)).collect::<Vec<_>>(), [(Verdict::Crashed, Some(9)), (Verdict::CouldNotRun, None)]);
}

#[test]
fn in_shadow_nothing_blocks_and_the_note_says_what_would_have() {
    let dir = tempfile::tempdir().unwrap();
    let outcome = record(&Plan { shadow: true, ..plan("exit 2") }, dir.path());
    assert_eq!(outcome.code, 0);
    assert_eq!(outcome.notes, ["in shadow: lint would have ended with 2 (fail)"]);
    let rows = rows(&dir.path().join(".mechanic/gate-runs.jsonl"));
    assert_eq!((rows[0].enforcement, rows[0].verdict, rows[0].exit_status), (Mode::Observe, Verdict::Fail, Some(2)));
}
