//! Owns the tests of every trick by which a change could acquit itself.

use std::fs;

use super::super::lock;
use super::super::weigh::Kind;
use super::super::words::Outcome;
use super::{Home, LOOK, expect, outcome, told, validator};

/// One trick: what it changes, and the word that must be said.
type Trick = (&'static str, fn(&Home), &'static str);

const TRICKS: &[Trick] = &[
    ("the fixture is edited", |h| h.write("failures/one/stimulus/a.txt", "fine"), "is edited"),
    ("the fixture is deleted", |h| fs::remove_dir_all(h.path("failures/one")).unwrap(), "is deleted"),
    ("the fixture becomes a known defect", |h| h.fixture("one", "known_defect", "bad", &expect("g", "misses")), "is reclassified"),
    ("the fixture becomes a control", |h| h.fixture("one", "control", "bad", ""), "is reclassified"),
    ("the expectation is weakened", |h| h.fixture("one", "normative", "bad", &expect("g", "misses")), "expectations are changed"),
    ("the expectation is dropped", |h| h.fixture("one", "normative", "bad", ""), "expectations are changed"),
    (
        "a waiver is added",
        |h| {
            h.write(
                "failures/waivers.toml",
                "[[waiver]]\nfixture = \"one\"\ngate = \"g\"\nwho = \"me\"\nwhy = \"so\"\nexpires = \"2027-01-01\"\n",
            );
        },
        "waiver of g is added",
    ),
    (
        "an approval is added",
        |h| {
            h.write(
                "failures/waivers.toml",
                "[[approval]]\nchange = \"edit\"\nfixture = \"one\"\nwho = \"me\"\nwhy = \"so\"\nexpires = \"2027-01-01\"\n",
            );
            h.write("failures/one/stimulus/a.txt", "fine");
        },
        "approval (edit) is added",
    ),
    ("the validator is deleted", |h| h.validators(&[validator("other", "g", "look.sh", "")]), "validator is deleted"),
    ("the validator changes its gate", |h| h.validators(&[validator("look", "elsewhere", "look.sh", "")]), "moved to gate elsewhere"),
    (
        "the validator no longer reads such stimuli, and a new one of the gate fails everything",
        |h| {
            h.write("validators/all.sh", "exit 1\n");
            h.write("failures/one/stimulus/a.txt", "still bad");
            h.validators(&[validator("look", "g", "look.sh", "stimuli = [\"trace\"]\n"), validator("all", "g", "all.sh", "")]);
        },
        "is edited",
    ),
    (
        "the validator no longer says how much it read",
        |h| h.validators(&[validator("look", "g", "look.sh", "").split("[validator.substance]").next().unwrap().to_owned()]),
        "no longer says how much it read",
    ),
];

#[test]
fn no_trick_lets_a_change_acquit_itself() {
    for (name, trick, says) in TRICKS {
        let home = Home::new();
        home.commit();
        assert_eq!(home.against("HEAD").exit, 0, "{name}");
        // The change blinds the validator, hides it, and locks what it left.
        home.write("validators/look.sh", "echo 1 read; exit 0\n");
        trick(&home);
        lock(&home.path("failures")).unwrap();
        for locked in [true, false] {
            if !locked {
                home.git(&["checkout", "-q", "HEAD", "--", "failures/corpus.lock"]);
            }
            let results = home.against("HEAD");
            assert_eq!(results.exit, 1, "{name}: {:?}", results.issues);
            let named = told(&results, Kind::SelfAcquittal);
            assert!(named.iter().any(|t| t.contains(says)), "{name}: {named:?}");
            // The fixture of the baseline is what is replayed.
            let missed = results.issues.iter().any(|i| i.kind == Kind::NewlyMissed && i.fixture.as_deref() == Some("one"));
            assert!(missed, "{name}: {:?}", results.issues);
        }
        // Without the blinded validator the trick alone is enough to fail.
        home.write("validators/look.sh", LOOK);
        let results = home.against("HEAD");
        assert_eq!(results.exit, 1, "{name} alone: {:?}", results.issues);
    }
}

#[test]
fn a_changed_line_of_the_lock_is_named() {
    let home = Home::new();
    home.commit();
    let file = home.path("failures/corpus.lock");
    let text = fs::read_to_string(&file).unwrap();
    let cut: Vec<&str> = text.lines().filter(|l| !l.starts_with("one ")).collect();
    fs::write(&file, cut.join("\n")).unwrap();
    let results = home.against("HEAD");
    assert_eq!((results.exit, told(&results, Kind::SelfAcquittal).len()), (1, 1));
}

#[test]
fn text_classes_widened_in_the_change_do_not_turn_a_wrong_reason_into_a_catch() {
    let home = Home::new();
    home.fixture("one", "normative", "bad", &(expect("g", "catches") + "[expect.finding]\nclass = \"badness\"\n"));
    home.commit();
    home.write("validators/look.sh", "echo 1 read; [ \"$(cat \"$1\"/a.txt)\" = fine ] && exit 0; echo something; exit 1\n");
    let file = home.path("validators/validators.toml");
    let wider = fs::read_to_string(&file).unwrap().replace("[\"bad\"]", "[\".\"]");
    fs::write(&file, wider).unwrap();
    let results = home.against("HEAD");
    assert_eq!((results.exit, outcome(&results, "one", "look")), (1, Outcome::WrongReason));
}
