//! Owns the tests of reading a corpus: what is accepted, and how every refusal reads.

use std::fs;

use super::corpus::{Corpus, LOCK};
use super::validator::Validators;

const FIXTURE: &str = r#"
format = 1
id = "one"
title = "t"
origin = "o"
happened = "h"
failure_mode = "shared_state"
severity = "critical"
classification = "normative"
provenance = "rebuilt"
[stimulus]
kind = "tree"
[[expect]]
gate = "g"
outcome = "catches"
"#;

const VALIDATOR: &str = r#"
format = 1
[[validator]]
id = "v"
gate = "g"
command = ["sh", "{files}/v.sh"]
files = ["v.sh"]
[validator.verdict]
exit = { pass = [0], fail = [1] }
"#;

fn corpus(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("one/stimulus")).unwrap();
    fs::write(dir.path().join("one/stimulus/a.txt"), "a").unwrap();
    fs::write(dir.path().join("one/fixture.toml"), text).unwrap();
    dir
}

fn validators(text: &str) -> super::wrong::Result<Validators> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("v.sh"), "exit 0\n").unwrap();
    fs::write(dir.path().join("validators.toml"), text).unwrap();
    Validators::load(&dir.path().join("validators.toml"))
}

fn refused(from: &str, to: &str) -> String {
    assert!(FIXTURE.contains(from), "{from}");
    let dir = corpus(&FIXTURE.replace(from, to));
    Corpus::load(dir.path()).unwrap_err().to_string()
}

#[test]
fn a_fixture_is_read_and_each_mistake_in_it_is_named() {
    let dir = corpus(FIXTURE);
    let loaded = Corpus::load(dir.path()).unwrap();
    assert_eq!(loaded.fixtures.len(), 1);
    assert!(loaded.is_new("one"));
    for (from, to, says) in [
        ("severity =", "serverity =", "did you mean `severity`?"),
        ("\"critical\"", "\"critcal\"", "did you mean `critical`?"),
        ("format = 1", "format = 2", "format 2 is not known"),
        ("id = \"one\"", "id = \"two\"", "differs from its folder's name"),
        ("kind = \"tree\"", "kind = \"tree\"\npath = \"../x\"", "leaves the folder"),
        ("kind = \"tree\"", "kind = \"tree\"\npath = \"/etc\"", "is absolute"),
        ("kind = \"tree\"", "kind = \"trace\"", "is one file"),
        ("kind = \"tree\"", "kind = \"tree\"\nbase = \"x\"", "belongs to kind `patch` only"),
        ("kind = \"tree\"", "kind = \"commit\"\ncommit = \"abc\"", "full name of the commit"),
        ("kind = \"tree\"", "kind = \"commit\"", "`commit` is missing"),
        ("outcome = \"catches\"", "outcome = \"crashes\"", "cannot be expected"),
        ("outcome = \"catches\"", "outcome = \"catchs\"", "did you mean `catches`?"),
        ("outcome = \"catches\"", "outcome = \"catches\"\nfinding = { text = \"(\" }", "no regular expression"),
        ("outcome = \"catches\"", "outcome = \"catches\"\nfinding = { ruel = \"x\" }", "did you mean `rule`?"),
        ("gate = \"g\"", "gate = \"g\"\nvalidator = \"v\"", "either `gate` or `validator`"),
        ("\"normative\"", "\"control\"", "a control has no expectations"),
        ("\"normative\"", "\"known_defect\"", "a known defect is missed"),
    ] {
        let said = refused(from, to);
        assert!(said.contains(says), "{to}: {said}");
        assert!(said.contains("one/fixture.toml"), "names no file: {said}");
    }
}

#[test]
fn a_changed_byte_of_a_locked_fixture_is_an_error_that_names_it() {
    let dir = corpus(FIXTURE);
    Corpus::load(dir.path()).unwrap().write_lock().unwrap();
    let again = Corpus::load(dir.path()).unwrap();
    assert!(again.check_lock().is_ok() && !again.is_new("one"));
    fs::write(dir.path().join("one/stimulus/a.txt"), "b").unwrap();
    let said = Corpus::load(dir.path()).unwrap().check_lock().unwrap_err().to_string();
    assert!(said.contains("/one: differs from the lock"), "{said}");
    fs::remove_dir_all(dir.path().join("one")).unwrap();
    let said = Corpus::load(dir.path()).unwrap().check_lock().unwrap_err().to_string();
    assert!(said.contains("locked but gone"), "{said}");
    fs::write(dir.path().join(LOCK), "format = 9\n").unwrap();
    assert!(Corpus::load(dir.path()).unwrap_err().to_string().contains("format 9"));
}

#[test]
fn nothing_of_a_fixture_may_lie_behind_a_link() {
    let dir = corpus(FIXTURE);
    std::os::unix::fs::symlink("/etc", dir.path().join("one/stimulus/etc")).unwrap();
    assert!(Corpus::load(dir.path()).unwrap_err().to_string().contains("points out of its folder"));
    fs::remove_dir_all(dir.path().join("one/stimulus")).unwrap();
    std::os::unix::fs::symlink("/etc", dir.path().join("one/stimulus")).unwrap();
    assert!(Corpus::load(dir.path()).unwrap_err().to_string().contains("is a link"));
}

#[test]
fn a_validator_is_read_and_each_mistake_in_it_is_named() {
    let read = validators(VALIDATOR).unwrap();
    assert_eq!((read.list.len(), read.list[0].files.len()), (1, 1));
    for (from, to, says) in [
        ("gate =", "gat =", "did you mean `gate`?"),
        ("[\"sh\", \"{files}/v.sh\"]", "\"sh x\"", "together with shell = true"),
        ("[\"v.sh\"]", "[\"../v.sh\"]", "leaves the folder"),
        ("[\"v.sh\"]", "[\"w.sh\"]", "does not exist"),
        ("fail = [1]", "fail = [0]", "means both"),
        ("fail = [1]", "fial = [1]", "did you mean `fail`?"),
        ("fail = [1] }", "fail = [1] }\ntap = {}", "exactly one of"),
        ("exit = { pass = [0], fail = [1] }", "json = { pointer = \"v\", pass = [1], fail = [0] }", "is no JSON pointer"),
        ("exit = { pass = [0], fail = [1] }", "regex = { fail = \"x\" }", "silence is no verdict"),
        ("id = \"v\"", "id = \"v\"\ntimeout = \"10\"", "no duration"),
        ("id = \"v\"", "id = \"v\"\nkind = \"judge\"", "a judge needs"),
        ("id = \"v\"", "id = \"v\"\nenv = [\"HOME\"]", "cannot be let through"),
    ] {
        assert!(VALIDATOR.contains(from), "{from}");
        let said = validators(&VALIDATOR.replace(from, to)).unwrap_err().to_string();
        assert!(said.contains(says), "{to}: {said}");
        assert!(said.contains("validators.toml"), "names no file: {said}");
    }
}

#[test]
fn a_validator_is_another_once_a_word_or_a_byte_of_it_changes() {
    let digest = |text: &str| validators(text).unwrap().list[0].digest.clone();
    assert_eq!(digest(VALIDATOR), digest(&format!("{VALIDATOR}\n\n")));
    assert_ne!(digest(VALIDATOR), digest(&VALIDATOR.replace("fail = [1]", "fail = [2]")));
}

#[test]
fn a_class_that_no_validators_file_names_is_an_error() {
    let dir = corpus(&FIXTURE.replace("outcome = \"catches\"", "outcome = \"catches\"\nfinding = { class = \"aproval\" }"));
    let loaded = Corpus::load(dir.path()).unwrap();
    let known = validators(&VALIDATOR.replace("format = 1", "format = 1\n[classes]\napproval = [\"x\"]\n")).unwrap();
    assert!(loaded.check_against(&known).unwrap_err().to_string().contains("did you mean `approval`?"));
}
