//! Owns the tests of comparison with a baseline, and of replaying a part.

use std::fs;

use super::super::lock;
use super::super::perform::{Failed, Request, perform};
use super::super::weigh::Kind;
use super::{Home, Quiet, expect, told, validator};

#[test]
fn a_blinded_validator_is_newly_missed_against_a_commit_and_against_a_results_file() {
    let home = Home::new();
    home.commit();
    let file = home.path("before.json");
    fs::write(&file, home.replay().json()).unwrap();
    home.write("validators/look.sh", "echo 1 read; exit 0\n");
    for baseline in ["HEAD", file.to_str().unwrap()] {
        let results = home.against(baseline);
        assert_eq!((results.exit, told(&results, Kind::NewlyMissed).len()), (1, 2), "{baseline}: {:?}", results.issues);
        let c = results.comparison.unwrap();
        assert_eq!((c.newly_missed.len(), c.unchanged, c.problems.lost, c.problems.won), (2, 1, 2, 0));
        assert!(c.problems.note.contains("fewer than six flips"));
    }
    home.write("validators/look.sh", "echo 1 read; grep -q fine \"$1\"/a.txt && exit 1; grep -q bad \"$1\"/a.txt && exit 1; exit 0\n");
    let results = home.against("HEAD");
    assert_eq!((results.exit, results.comparison.unwrap().newly_wrong.len()), (1, 1));
}

#[test]
fn what_the_baseline_missed_as_well_is_no_news_and_what_is_new_counts_at_once() {
    let home = Home::new();
    home.fixture("old", "normative", "unseen", &expect("g", "catches"));
    home.commit();
    assert_eq!(home.replay().exit, 1);
    let results = home.against("HEAD");
    assert_eq!(results.exit, 0, "{:?}", results.issues);
    home.fixture("added", "normative", "unseen", &expect("g", "catches"));
    let results = home.against("HEAD");
    assert_eq!((results.exit, told(&results, Kind::Missed).len()), (1, 1), "{:?}", results.issues);
}

#[test]
fn what_was_approved_at_the_baseline_may_change() {
    let home = Home::new();
    home.write(
        "failures/waivers.toml",
        "[[approval]]\nchange = \"delete\"\nfixture = \"one\"\nwho = \"ann\"\nwhy = \"a duplicate\"\nexpires = \"2026-07-01\"\n",
    );
    home.commit();
    fs::remove_dir_all(home.path("failures/one")).unwrap();
    let results = home.against("HEAD");
    assert_eq!(results.exit, 0, "{:?}", results.issues);
    let late = Request { baseline: Some("HEAD".into()), today: "2026-07-02".parse().unwrap(), ..home.request() };
    assert_eq!(perform(&late, &Quiet).unwrap().exit, 1);
}

#[test]
fn only_what_changed_since_a_commit_is_replayed_and_shards_make_up_the_whole() {
    let home = Home::new();
    home.validators(&[validator("look", "g", "look.sh", ""), validator("same", "h", "look.sh", "")]);
    home.commit();
    home.fixture("three", "normative", "bad", &expect("g", "catches"));
    let since = perform(&Request { changed_since: Some("HEAD".into()), ..home.request() }, &Quiet).unwrap();
    assert_eq!(since.cells.iter().map(|c| c.fixture.as_str()).collect::<Vec<_>>(), ["three", "three"]);
    let mut all = Vec::new();
    for i in 1..=3 {
        match perform(&Request { shard: Some(format!("{i}/3")), ..home.request() }, &Quiet) {
            Ok(part) => all.extend(part.cells.into_iter().map(|c| (c.fixture, c.validator))),
            Err(Failed::Wrong(w)) => assert!(w.to_string().contains("no cell is left")),
            Err(other) => panic!("{other:?}"),
        }
    }
    all.sort();
    let whole: Vec<_> = home.replay().cells.into_iter().map(|c| (c.fixture, c.validator)).collect();
    let mut sorted = whole.clone();
    sorted.sort();
    assert_eq!(all, sorted);
}

#[test]
fn a_forged_memory_in_the_change_is_not_read() {
    let home = Home::new();
    home.commit();
    let memo = home.path("memo.json");
    let request = Request { memo: Some(memo.clone()), ..home.request() };
    // Entries that would be believed without a baseline.
    perform(&request, &Quiet).unwrap();
    assert_eq!(perform(&request, &Quiet).unwrap().measured.remembered, 3);
    let results = perform(&Request { baseline: Some("HEAD".into()), ..request.clone() }, &Quiet).unwrap();
    assert_eq!((results.exit, results.measured.remembered), (0, 0));
    // Written at the baseline it counts, and is not written to.
    home.commit();
    let kept = fs::read(&memo).unwrap();
    let results = perform(&Request { baseline: Some("HEAD".into()), ..request }, &Quiet).unwrap();
    assert_eq!((results.exit, results.measured.remembered, fs::read(&memo).unwrap() == kept), (0, 3, true));
}

#[test]
fn a_baseline_that_did_not_ask_does_not_excuse_a_miss() {
    let home = Home::new();
    home.validators(&[validator("look", "g", "look.sh", ""), validator("other", "h", "look.sh", "")]);
    home.commit();
    let part = perform(&Request { filters: vec!["validator=other".to_owned()], ..home.request() }, &Quiet).unwrap();
    let file = home.path("part.json");
    fs::write(&file, part.json()).unwrap();
    // Blinded: gate g no longer catches what it must.
    home.validators(&[validator("look", "g", "blind.sh", ""), validator("other", "h", "look.sh", "")]);
    home.write("validators/blind.sh", "echo 1 read; exit 0\n");
    let results = home.against(file.to_str().unwrap());
    assert_eq!(results.exit, 1, "{:?}", results.issues);
}

#[test]
fn an_approved_reclassification_does_not_cover_an_edit_of_the_stimulus() {
    let home = Home::new();
    home.write(
        "failures/waivers.toml",
        "[[approval]]\nchange = \"expectation\"\nfixture = \"one\"\nwho = \"me\"\nwhy = \"so\"\nexpires = \"2027-01-01\"\n",
    );
    home.commit();
    home.fixture("one", "normative", "bad", &(expect("g", "catches") + &expect("h", "misses")));
    lock(&home.path("failures")).unwrap();
    assert!(told(&home.against("HEAD"), Kind::SelfAcquittal).is_empty(), "that much is approved");
    home.write("failures/one/stimulus/a.txt", "still bad");
    lock(&home.path("failures")).unwrap();
    let results = home.against("HEAD");
    let named = told(&results, Kind::SelfAcquittal);
    assert!(named.iter().any(|t| t.contains("is edited")), "{named:?}");
}

#[test]
fn a_replay_of_nothing_and_a_normative_fixture_that_expects_nothing_are_no_pass() {
    let home = Home::new();
    home.validators(&[]);
    assert!(perform(&home.request(), &Quiet).is_err(), "no validator");
    home.validators(&[validator("look", "g", "look.sh", "")]);
    home.fixture("two", "normative", "bad", "");
    let results = home.replay();
    assert_eq!(results.exit, 1);
    assert!(told(&results, Kind::Unanswered).iter().any(|t| t.contains("nothing is expected to catch it")), "{:?}", results.issues);
    fs::remove_dir_all(home.path("failures")).unwrap();
    fs::create_dir(home.path("failures")).unwrap();
    assert!(perform(&home.request(), &Quiet).is_err(), "no fixture");
}
