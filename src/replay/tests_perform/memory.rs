//! Owns the tests of memory: what runs again, and what need not.

use super::super::perform::{Request, perform};
use super::super::results::Results;
use super::super::words::Outcome;
use super::{Home, LOOK, Quiet, expect, validator};

#[test]
fn two_replays_are_identical_and_the_second_runs_only_what_may_not_be_remembered() {
    let home = Home::new();
    home.write("validators/blind.sh", "echo 1 read; [ -e \"$1\"/a.txt ] || exit 77; exit 0\n");
    home.validators(&[validator("look", "g", "look.sh", ""), validator("blind", "h", "blind.sh", "")]);
    let request = Request { memo: Some(home.path("memo.json")), ..home.request() };
    let first = perform(&request, &Quiet).unwrap();
    let second = perform(&request, &Quiet).unwrap();
    let plain = |r: &Results| Results { measured: Default::default(), ..r.clone() };
    assert_eq!(plain(&first).json(), plain(&second).json());
    // 2 catches and 2 controls are as expected; the two misses of the blind one are not, and run again.
    assert_eq!((first.measured.remembered, second.measured.remembered), (0, 4));
    assert_eq!(second.measured.runs, 2 + emptied_that_run(&second));
    // Another byte of the validator, the fixture or the timeout is another key.
    home.write("validators/look.sh", &format!("{LOOK}# changed\n"));
    assert_eq!(perform(&request, &Quiet).unwrap().measured.remembered, 1);
    home.fixture("one", "normative", "bad!", &expect("g", "catches"));
    assert_eq!(perform(&request, &Quiet).unwrap().measured.remembered, 3);
    // A forged memory of an unexpected outcome is not believed, nor a regression ever remembered.
    home.write("validators/look.sh", "echo 1 read; exit 0\n");
    assert_eq!(perform(&request, &Quiet).unwrap().exit, 1);
    assert_eq!(perform(&request, &Quiet).unwrap().exit, 1);
}

/// Validators that speak on nothing run on it every time.
fn emptied_that_run(results: &Results) -> usize {
    results.emptied.iter().filter(|e| matches!(e.outcome, Outcome::Misses | Outcome::Catches)).count()
}
