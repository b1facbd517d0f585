//! Owns the tests of what is kept in: no run touches a fixture, and who tries is named.

use std::fs;
use std::path::PathBuf;

use super::super::Level;
use super::super::perform::{Failed, Progress, Request, perform};
use super::super::weigh::Kind;
use super::super::words::Outcome;
use super::{Home, LOOK, Quiet, outcome, told, validator};

#[test]
fn a_fixture_that_cannot_be_touched_is_not_touched() {
    let home = Home::new();
    let evil = |more: &str| {
        let d = home.dir.path().display();
        format!("echo 1 read; echo x > {d}/failures/one/stimulus/a.txt; rm -rf {d}; {more}; echo y > \"$1\"/a.txt; exit 1\n")
    };
    let modes = format!("chmod -R 777 {}", home.dir.path().display());
    for level in [Level::User, Level::Bare] {
        home.write("validators/look.sh", &evil(&modes));
        let before = super::super::digest::path(home.dir.path()).unwrap();
        let results = perform(&Request { level, ..home.request() }, &Quiet).unwrap();
        assert!(results.isolation.missing.iter().all(|m| m != "Landlock"), "{:?}", results.isolation);
        assert_eq!(super::super::digest::path(home.dir.path()).unwrap(), before);
        assert_eq!(results.isolation.missing.is_empty(), level == Level::User && results.isolation.level == "namespaces");
    }
}

/// Changes a fixture while it is replayed, as something beside the replay could.
struct Meddler(PathBuf);

impl Progress for Meddler {
    fn begin(&self, _: usize) {}
    fn tick(&self) {
        fs::write(&self.0, "changed").unwrap();
    }
    fn end(&self) {}
}

#[test]
fn a_fixture_that_was_changed_all_the_same_makes_the_whole_replay_count_for_nothing() {
    let home = Home::new();
    match perform(&home.request(), &Meddler(home.path("failures/one/stimulus/a.txt"))) {
        Err(Failed::Environment(text)) => assert!(text.contains("fixture `one` was changed while it was replayed"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_writes_outside_keeps_its_outcome_and_is_named_in_one_line_every_time() {
    // Where a namespace's own folders do not hide it.
    let outside = tempfile::Builder::new().prefix(".outside-").tempdir_in(".").unwrap();
    let folder = outside.path().canonicalize().unwrap();
    for level in [Level::User, Level::Bare] {
        let home = Home::new();
        let script = format!("echo x > {d}/$(cat \"$1\"/a.txt) 2>/dev/null; {LOOK}", d = folder.display());
        home.write("validators/look.sh", &script);
        let request = Request { level, memo: Some(home.path("memo.json")), ..home.request() };
        let first = perform(&request, &Quiet).unwrap();
        if first.isolation.missing.iter().any(|m| m == "sight of writes outside") || folder.starts_with("/tmp") {
            continue;
        }
        let second = perform(&request, &Quiet).unwrap();
        for results in [&first, &second] {
            assert_eq!(
                (results.exit, outcome(results, "one", "look"), outcome(results, "good", "look")),
                (0, Outcome::Catches, Outcome::Misses)
            );
            let d = folder.display();
            let told: Vec<&str> = told(results, Kind::Outside);
            assert_eq!(told, [format!("wrote outside its copy: {d}/bad, {d}/fine (stopped); in 3 cells")]);
            assert!(super::super::show::text(results).contains(&format!("  look: wrote outside its copy: {d}/bad")));
            let cell = results.cell("one", "look").unwrap();
            assert_eq!(cell.outside, [format!("{d}/bad")]);
            assert!(cell.why.ends_with(&format!("; it wrote outside its copy: {d}/bad (stopped)")), "{}", cell.why);
            assert_eq!(results.measured.remembered, 0);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
}

/// A program of the 32-bit mode cannot be watched: where all others are, that is said of its cell, in every form.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_cell_that_ran_with_less_than_the_others_is_seen_in_every_form() {
    let home = Home::new();
    home.write_bytes("validators/old", &super::super::isolate::old_program(1));
    let old = "[[validator]]\nid = \"old\"\ngate = \"h\"\ncommand = [\"{files}/old\"]\nfiles = [\"old\"]\n[validator.verdict]\nexit = { pass = [0], fail = [1] }\n";
    home.validators(&[validator("look", "g", "look.sh", ""), old.to_owned()]);
    let results = home.replay();
    // A kernel without that mode ends it by a signal.
    if outcome(&results, "one", "old") == Outcome::Crashes || results.isolation.level == "supervised process" {
        return;
    }
    assert_eq!(results.cell("one", "old").unwrap().degraded, ["sight of writes outside"]);
    assert_eq!(results.cell("one", "look").unwrap().degraded, Vec::<String>::new());
    assert!(results.isolation.missing.contains(&"sight of writes outside".to_owned()));
    let line = "ran without sight of writes outside, which other runs here have; in 3 cells";
    assert_eq!(told(&results, Kind::Degraded), [line]);
    use super::super::show;
    assert!(show::text(&results).contains(&format!("  old: {line}")));
    assert!(show::junit(&results).contains("<property name=\"degraded\" value=\"sight of writes outside\"/>"));
    assert!(show::sarif(&results, "c").contains(line) && show::github(&results, "c").contains(line) && results.json().contains(line));
}
