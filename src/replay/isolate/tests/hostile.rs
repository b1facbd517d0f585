//! Owns the tests with hostile validators: daemons, deaf ones, and those that fill, print and fork without end.

use std::time::{Duration, Instant};

use super::super::{Cage, End, Level, Measures};
use super::{alive, gone, levels, limits, shell};

#[test]
fn a_daemon_dies_with_its_run() {
    for (i, cage) in levels().iter().enumerate() {
        let mark = format!("3.1{i}9{}", std::process::id());
        // It ends by itself in any case.
        let ran = shell(
            cage,
            &format!("(setsid sleep {mark} >/dev/null 2>&1 &) ; (setsid sh -c 'sleep {mark}; sleep {mark}' &) ; sleep 0.1; exit 0"),
            5000,
        );
        assert_eq!(ran.end, End::Exited(0));
        assert!(ran.left_processes);
        assert!(gone(&mark), "left: {:?}", alive(&mark));
        assert!(ran.took < Duration::from_secs(2));
    }
}

#[test]
fn who_ignores_sigterm_is_killed_after_a_grace_and_who_obeys_is_not() {
    for (i, cage) in levels().iter().enumerate() {
        let mark = format!("4.2{i}7{}", std::process::id());
        let ran = shell(cage, &format!("trap '' TERM; echo begun; (trap '' TERM; sleep {mark}) & sleep {mark}; sleep {mark}"), 300);
        assert_eq!(ran.end, End::TimedOut { killed: true });
        assert_eq!(ran.out.text(), "begun\n");
        assert!(ran.took < Duration::from_secs(3), "{:?}", ran.took);
        assert!(gone(&mark));
        let ran = shell(cage, "trap 'echo told; exit 0' TERM; sleep 4 & wait", 300);
        assert_eq!((ran.end, ran.out.text().as_str()), (End::TimedOut { killed: false }, "told\n"));
    }
}

#[test]
fn who_fills_the_disk_fills_its_own_place_only() {
    for cage in levels() {
        // At most 40 MiB, whatever happens.
        let ran =
            shell(&cage, "for i in 1 2 3 4 5; do dd if=/dev/zero of=big$i bs=1M count=8 2>/dev/null || echo full; done; exit 1", 20_000);
        assert_eq!(ran.end, End::Exited(1));
        if ran.measures.has(Measures::TMPFS) {
            assert!(ran.full);
            assert!(ran.out.text().contains("full"));
        }
    }
}

#[test]
fn who_prints_without_end_is_stopped_by_the_clock_and_little_is_kept() {
    for cage in levels() {
        let ran = shell(&cage, "yes mechanic", 400);
        assert!(matches!(ran.end, End::TimedOut { .. }), "{:?}", ran.end);
        assert!(ran.out.total > 8 << 20, "{}", ran.out.total);
        assert!(ran.out.text().len() < 5 << 20);
        assert!(ran.took < Duration::from_secs(3));
    }
}

#[test]
fn who_forks_a_great_deal_meets_a_limit_and_is_gone_afterwards() {
    let cage = Cage::new_at(Level::User, limits()).unwrap();
    if !cage.measures.has(Measures::PIDS.with(Measures::PID)) {
        return;
    }
    let mark = format!("6.3{}", std::process::id());
    // 10,000 at most, each a few seconds long, and no more than the limit lets be.
    let script = format!("i=0; while [ $i -lt 10000 ]; do sleep {mark} & i=$((i+1)); done; echo all");
    let ran = shell(&cage, &script, 20_000);
    assert!(!ran.out.text().contains("all"), "nothing stopped it");
    assert!(ran.left_processes);
    assert!(gone(&mark));
}

#[test]
fn what_has_ended_by_itself_is_not_left() {
    for cage in levels() {
        for _ in 0..5 {
            let ran = shell(&cage, "(sleep 0.02 &) ; sleep 0.1; (true &) ; sleep 0.1; exit 0", 5000);
            assert_eq!((ran.end, ran.left_processes), (End::Exited(0), false));
        }
    }
}

#[test]
fn a_run_is_ended_at_once_and_does_not_wait_for_its_supervisor_to_give_up() {
    for level in [Level::User, Level::Bare] {
        let begun = Instant::now();
        let cage = Cage::new_at(level, limits()).unwrap();
        assert!(begun.elapsed() < Duration::from_millis(2500), "the probe took {:?}", begun.elapsed());
        let begun = Instant::now();
        let ran = shell(&cage, "trap '' TERM; sleep 9; sleep 9", 200);
        assert_eq!(ran.end, End::TimedOut { killed: true });
        assert!(begun.elapsed() < Duration::from_millis(2500), "{level:?}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_great_many_daemons_are_hunted_down_where_no_namespace_ends_them() {
    let cage = Cage::new_at(Level::Bare, limits()).unwrap();
    let mark = format!("8.1{}", std::process::id());
    let script = format!("i=0; while [ $i -lt 300 ]; do setsid sleep {mark} >/dev/null 2>&1 & i=$((i+1)); done; exit 0");
    let ran = shell(&cage, &script, 20_000);
    assert_eq!((ran.end, ran.left_processes), (End::Exited(0), true));
    assert!(gone(&mark), "{:?}", alive(&mark));
}
