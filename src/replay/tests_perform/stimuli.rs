//! Owns the tests of stimuli of each kind.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::super::weigh::Kind;
use super::super::words::Outcome;
use super::{Home, expect, outcome, told};

#[test]
fn a_commit_a_patch_and_a_trace_are_stimuli_and_no_hook_or_filter_runs() {
    let home = Home::new();
    home.write("a.txt", "bad");
    home.write(".gitattributes", "*.txt filter=evil\n");
    home.commit();
    let mark = home.path("ran");
    home.git(&["config", "filter.evil.smudge", &format!("touch {}", mark.display())]);
    home.git(&["config", "core.fsmonitor", &format!("touch {}", mark.display())]);
    let sha = Command::new("git").arg("-C").arg(home.dir.path()).args(["rev-parse", "HEAD"]).output().unwrap().stdout;
    let sha = String::from_utf8(sha).unwrap();
    let stimulus = |id: &str, text: &str| {
        home.fixture(id, "normative", "", &expect("g", "catches"));
        let file = home.path(&format!("failures/{id}/fixture.toml"));
        let old = fs::read_to_string(&file).unwrap();
        fs::write(&file, old.replace("kind = \"tree\"", text)).unwrap();
    };
    stimulus("patched", "kind = \"patch\"\npath = \"stimulus/p.diff\"\nbase = \"../_base\"");
    home.write("failures/_base/a.txt", "fine\n");
    home.write("failures/patched/stimulus/p.diff", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-fine\n+bad\n");
    stimulus("traced", "kind = \"trace\"\npath = \"stimulus/t.jsonl\"");
    home.write("failures/traced/stimulus/t.jsonl", "bad\n");
    home.write("validators/look.sh", "f=\"$1\"; [ -d \"$f\" ] && f=\"$f/a.txt\"; echo 1 read; grep -q bad \"$f\" && exit 1; exit 0\n");
    let results = home.replay();
    assert_eq!((outcome(&results, "patched", "look"), outcome(&results, "traced", "look")), (Outcome::Catches, Outcome::Catches));
    // A commit of this very repository, named from where the tests run.
    let items = super::super::stimulus::stored_tree(home.dir.path(), sha.trim()).unwrap();
    assert!(items.iter().any(|i| i.path == Path::new("a.txt")));
    assert!(!mark.exists());
}

#[test]
fn a_validator_that_reads_less_than_the_fixture_has_is_named() {
    let home = Home::new();
    home.fixture("one", "normative", "bad", &format!("subjects = 3\n{}", expect("g", "catches")));
    let results = home.replay();
    assert_eq!((results.exit, told(&results, Kind::Differs)), (0, vec!["read 1 of 3 subjects: its verdict (catches) is of a part"]));
}
