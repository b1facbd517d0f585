//! Owns the tests of harvest as a whole: from a case to a draft that the corpus loads.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::*;
use crate::model::time::Ts;
use crate::replay::corpus::Corpus;
use crate::source::edits::{Change, Edit};

fn git(top: &Path, args: &[&str]) -> String {
    let done =
        Command::new("git").arg("-C").arg(top).args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args).output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A repository with twenty files, and a validator that fails on the word `bad` in any of them.
fn home() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("repo");
    fs::create_dir_all(repo.join("src")).unwrap();
    for n in 0..20 {
        fs::write(repo.join(format!("src/f{n}.txt")), format!("one {n}\ntwo\nthree\nfour\nfive\n")).unwrap();
    }
    std::os::unix::fs::symlink("/etc/hostname", repo.join("out")).unwrap();
    git(&repo, &["init", "-q", "-b", "main"]);
    git(&repo, &["add", "."]);
    git(&repo, &["commit", "-q", "-m", "Begin"]);
    let script = "if grep -rn bad .; then exit 1; fi; exit 0";
    let text = format!(
        "format = 1\n[[validator]]\nid = \"grep\"\ngate = \"lint\"\ncommand = '''{script}'''\nshell = true\n[validator.verdict]\nexit = {{ pass = [0], fail = [1] }}\n"
    );
    fs::write(dir.path().join("validators.toml"), text).unwrap();
    dir
}

fn case(home: &Path, edits: Vec<Edit>) -> Case {
    let repository = home.join("repo");
    let sha = git(&repository, &["rev-parse", "HEAD"]);
    let plan = |edit| Planned { edit, at: Some(Ts(i64::MAX)), cwd: Some("/w/shop".into()), roots: vec!["/w/shop".into()] };
    Case {
        id: "0123456789abcdef0123".into(),
        gate: "lint".into(),
        rule: None,
        fingerprint: Some("lint/bad".into()),
        location: None,
        failure_mode: None,
        failure_class: None,
        severity: None,
        at: Some(Ts(1_770_000_000_000_000)),
        origin: "a session in /home/ann/shop".into(),
        command: Some("grep -rn bad /home/ann/shop".into()),
        exit_status: Some(1),
        caught_by: vec!["review gate".into()],
        missed_by: vec![],
        saw: Saw::Tree {
            base: Base::Commit { repository, sha, at: None, basis: "as the record says".into() },
            edits: edits.into_iter().map(plan).collect(),
        },
        gaps: vec!["2 shell commands may have written".into()],
    }
}

fn write(path: &str, text: &str) -> Edit {
    Edit { path: path.into(), change: Change::Write(text.into()), before: None }
}

fn options(home: &Path) -> Options {
    Options {
        out: home.join("drafts"),
        validators: Some(home.join("validators.toml")),
        validator: None,
        minimise: true,
        redact: true,
        budget: Budget::default(),
        largest: 1 << 20,
    }
}

fn written(drafted: &Drafted) -> (String, String, bool) {
    match &drafted.outcome {
        DraftOutcome::Written { built, gaps, verified } => (built.join("\n"), gaps.join("\n"), *verified),
        DraftOutcome::There => panic!("{} was there", drafted.id),
    }
}

#[test]
fn a_failure_on_uncommitted_edits_becomes_the_one_line_that_fails() {
    let home = home();
    let edits = vec![
        write("src/f3.txt", "ONE\ntwo\nbad\nfour\nFIVE\n"),
        write("src/f4.txt", "fine\n"),
        write("/etc/passwd", "x"),
        Edit { path: "src/f5.txt".into(), change: Change::Delete, before: None },
    ];
    let drafted = Harvester::new(options(home.path())).unwrap().draft(&case(home.path(), edits)).unwrap();
    let (built, gaps, verified) = written(&drafted);
    assert!(verified, "{built}");
    assert!(built.contains("19 → 1 files, 3 → 1 changes"), "{built}");
    assert!(gaps.contains("1 edits outside of the repository") && gaps.contains("out: is a link") && gaps.contains("2 shell"), "{gaps}");
    assert_eq!(fs::read_to_string(drafted.folder.join("stimulus/src/f3.txt")).unwrap(), "one 3\ntwo\nbad\nfour\nfive\n");
    let corpus = Corpus::load(&home.path().join("drafts")).unwrap();
    let [fixture] = corpus.fixtures.as_slice() else { panic!() };
    assert_eq!(fixture.id, "harvested-0123456789abcdef");
    assert_eq!(fixture.tags, ["draft", "partial", "severity-unknown"]);
    assert_eq!(fixture.caught_by, ["lint", "review_gate"]);
    let text = fs::read_to_string(drafted.folder.join("fixture.toml")).unwrap();
    assert!(!text.contains("ann") && text.contains("~/shop"), "{text}");
    assert!(super::super::validator::Validators::load(&home.path().join("drafts/_commands/harvested-0123456789abcdef.toml")).is_ok());
    // A second harvest leaves it as it is.
    fs::write(drafted.folder.join("note"), "mine").unwrap();
    let again = Harvester::new(options(home.path())).unwrap().draft(&case(home.path(), vec![])).unwrap();
    assert!(matches!(again.outcome, DraftOutcome::There));
    assert!(drafted.folder.join("note").exists());
}

#[test]
fn what_no_validator_catches_is_drafted_whole_and_says_so() {
    let home = home();
    let drafted = Harvester::new(options(home.path())).unwrap().draft(&case(home.path(), vec![write("src/new.txt", "fine\n")])).unwrap();
    let (built, _, verified) = written(&drafted);
    assert!(!verified && built.contains("grep does not catch it (misses: it passed)"), "{built}");
    let corpus = Corpus::load(&home.path().join("drafts")).unwrap();
    assert!(corpus.fixtures[0].tags.iter().any(|t| t == "unverified"));
    assert_eq!(fs::read_dir(drafted.folder.join("stimulus/src")).unwrap().count(), 21);
}

#[test]
fn a_validator_that_fails_whatever_it_is_shown_is_not_believed() {
    let home = home();
    let file = home.path().join("validators.toml");
    let text = fs::read_to_string(&file).unwrap().replace("if grep -rn bad .; then exit 1; fi; exit 0", "echo no; exit 1");
    fs::write(&file, text).unwrap();
    let drafted = Harvester::new(options(home.path())).unwrap().draft(&case(home.path(), vec![write("src/f1.txt", "bad\n")])).unwrap();
    let (built, _, verified) = written(&drafted);
    assert!(!verified && built.contains("of nothing at all"), "{built}");
}

#[test]
fn a_validator_of_another_gate_that_is_named_is_the_one_that_is_expected_to_catch_it() {
    let home = home();
    let case = Case { gate: "PostToolUse:lint.sh".into(), ..case(home.path(), vec![write("src/f1.txt", "bad\n")]) };
    let alone = Harvester::new(options(home.path())).unwrap().draft(&case).unwrap();
    assert!(written(&alone).0.contains("no validator reads a tree for the gate PostToolUse:lint.sh"));
    let named = Options { validator: Some("grep".into()), out: home.path().join("named"), ..options(home.path()) };
    assert!(written(&Harvester::new(named).unwrap().draft(&case).unwrap()).2);
    let corpus = Corpus::load(&home.path().join("named")).unwrap();
    assert!(corpus.fixtures[0].expectation("grep", "lint").is_some_and(|e| e.who.name() == "grep"));
    let wrong = Options { validator: Some("grap".into()), ..options(home.path()) };
    assert!(matches!(Harvester::new(wrong), Err(Failed::Wrong(w)) if w.to_string().contains("did you mean `grep`")));
}

#[test]
fn a_search_is_bounded_and_says_what_ended_it() {
    let home = home();
    let edits = vec![write("src/f3.txt", "bad\n"), write("src/f4.txt", "x\n"), write("src/f5.txt", "y\n")];
    let budget = Budget { trials: 4, time: Duration::from_secs(60) };
    let drafted = Harvester::new(Options { budget, ..options(home.path()) }).unwrap().draft(&case(home.path(), edits.clone())).unwrap();
    let (built, _, verified) = written(&drafted);
    assert!(verified && built.contains("trials were used up"), "{built}");
    let budget = Budget { trials: 500, time: Duration::ZERO };
    let out = home.path().join("other");
    let drafted = Harvester::new(Options { budget, out, ..options(home.path()) }).unwrap().draft(&case(home.path(), edits)).unwrap();
    assert!(written(&drafted).0.contains("its time was used up"));
}

#[test]
fn redaction_that_hides_what_is_caught_is_told() {
    let home = home();
    let file = home.path().join("validators.toml");
    let text = fs::read_to_string(&file).unwrap().replace("grep -rn bad .", "grep -rn hunter2 .");
    fs::write(&file, text).unwrap();
    let drafted =
        Harvester::new(options(home.path())).unwrap().draft(&case(home.path(), vec![write("a.env", "DB_PASSWORD=hunter2\n")])).unwrap();
    let (built, gaps, verified) = written(&drafted);
    assert!(!verified && gaps.contains("before it was redacted"), "{gaps}");
    assert!(built.contains("redacted: 1 places in 1 files"), "{built}");
    assert_eq!(fs::read_to_string(drafted.folder.join("stimulus/a.env")).unwrap(), "DB_PASSWORD=[redacted: secret]\n");
}

#[test]
fn a_tree_too_large_for_a_fixture_is_refused_with_what_to_do() {
    let home = home();
    let options = Options { largest: 100, validators: None, ..options(home.path()) };
    let said = Harvester::new(options).unwrap().draft(&case(home.path(), vec![])).unwrap_err().to_string();
    assert!(said.contains("too large for a fixture") && said.contains("--validators"), "{said}");
    assert!(!home.path().join("drafts/harvested-0123456789abcdef").exists());
}
