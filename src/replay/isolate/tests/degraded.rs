//! Owns the tests of the degraded ways: what is still stopped without namespaces, and that what is missing is said.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};

use super::super::{Cage, End, Level, Measures};
use super::{limits, shell};

/// Run only by the test below, as a validator.
#[test]
fn helper_that_opens_sockets() {
    let Ok(file) = std::env::var("MECHANIC_OUT").map(|out| format!("{out}/sockets")) else { return };
    let ok = [UdpSocket::bind("127.0.0.1:0").is_ok(), UdpSocket::bind("[::1]:0").is_ok(), TcpListener::bind("127.0.0.1:0").is_ok()];
    let pair = UnixStream::pair().is_ok();
    std::fs::write(file, format!("{ok:?} {} {pair}", UnixDatagram::unbound().is_ok())).unwrap();
}

#[test]
fn without_namespaces_no_socket_can_be_made_of_any_kind() {
    let program = std::env::current_exe().unwrap();
    let script = format!("'{}' --exact replay::isolate::tests::degraded::helper_that_opens_sockets", program.display());
    let run = |without: Measures| {
        let cage = Cage::new_without(Level::Bare, limits(), without).unwrap();
        let ran = super::shell_with(&cage, &script, 20_000, &["out/sockets"]);
        let said = ran.wanted[0].as_deref().map(|b| String::from_utf8_lossy(b).into_owned());
        (cage, said.unwrap_or_else(|| panic!("{:?}: {}", ran.end, ran.err.text())))
    };
    // With nobody to ask about writes, too.
    for without in [Measures::default(), Measures::SEEN] {
        let (cage, said) = run(without);
        if !cage.measures.has(Measures::SOCKETS) {
            assert!(cage.measures.missing().contains(&"no network (own namespace)"));
            continue;
        }
        assert_eq!(said, "[false, false, false] false true");
        assert!(!cage.measures.missing().contains(&"no network (own namespace)"), "{:?}", cage.measures.missing());
        assert_eq!(cage.measures.has(Measures::SEEN), without == Measures::default());
    }
    let (cage, said) = run(Measures::SOCKETS.with(Measures::LANDLOCK));
    assert!(cage.measures.missing().contains(&"no network (own namespace)"));
    assert!(said.starts_with("[true"), "{said}");
}

#[test]
fn without_namespaces_and_landlock_signals_stay_within_the_run() {
    let cage = Cage::new_without(Level::Bare, limits(), Measures::LANDLOCK).unwrap();
    if !cage.measures.has(Measures::SEEN) {
        return;
    }
    // Signal 0 asks only whether it would be let.
    let script = format!(
        "sleep 3 & kill -s 0 $! && echo own; kill -s 0 0 && echo group; kill $!; wait; \
         kill -s 0 $PPID && echo supervisor; kill -s 0 {us} && echo replay; kill -s 0 -- -1 && echo all; kill -s 0 1 && echo init; exit 7",
        us = std::process::id()
    );
    let ran = shell(&cage, &script, 5000);
    assert_eq!((ran.end, ran.out.text().as_str()), (End::Exited(7), "own\ngroup\n"), "{}", ran.err.text());
}

#[test]
fn a_measure_that_is_left_out_is_reported_as_missing_and_the_others_are_in_force() {
    let cage = Cage::new_at(Level::User, limits()).unwrap();
    for (measure, name) in [(Measures::LANDLOCK, "Landlock"), (Measures::SEEN, "sight of writes outside")] {
        if !cage.measures.has(measure) {
            continue;
        }
        let less = Cage::new_without(Level::User, limits(), measure).unwrap();
        assert!(less.measures.missing().contains(&name));
        // Without namespaces it is Landlock that keeps a validator's files as they are.
        let with_it = if cage.level == Level::Bare { measure.with(Measures::FILES) } else { measure };
        assert_eq!(less.measures.with(with_it), cage.measures);
        assert_eq!(shell(&less, "exit 3", 5000).measures, less.measures);
    }
}

/// Where Landlock is missing a read-only mount does not stop writing to a device; the disk of root must be closed all the same.
#[test]
fn without_landlock_only_harmless_devices_can_be_opened() {
    let cage = Cage::new_without(Level::User, limits(), Measures::LANDLOCK).unwrap();
    if !cage.measures.has(Measures::MOUNT) {
        return;
    }
    let script = "echo x > /dev/null && head -c1 /dev/zero >/dev/null && head -c1 /dev/urandom >/dev/null && echo harmless; \
         for d in $(find /dev -maxdepth 1 -type b); do head -c1 $d >/dev/null 2>&1 && echo open $d; done; \
         echo x > /proc/sysrq-trigger-not-there; [ -w /proc/sys/kernel/hostname ] && echo writable; exit 0";
    let ran = shell(&cage, script, 5000);
    assert_eq!(ran.out.text(), "harmless\n", "{}", ran.err.text());
}

#[test]
fn a_cgroup_limits_a_run_where_there_is_one_and_is_not_claimed_where_there_is_none() {
    let cage = Cage::new_at(Level::User, limits()).unwrap();
    let ran = shell(&cage, "cat /proc/self/cgroup", 5000);
    let named = ran.out.text().contains("/mechanic-replay-");
    assert_eq!(ran.measures.has(Measures::CGROUP), named, "{}", ran.out.text());
    assert_eq!(cage.measures.names().contains(&"pids cgroup"), named);
    // No group is no degrade: the process limit is in force without it.
    assert!(!cage.measures.missing().contains(&"pids cgroup"));
    if named {
        let mark = format!("9.2{}", std::process::id());
        let ran = shell(&cage, &format!("i=0; while [ $i -lt 1000 ]; do sleep {mark} & i=$((i+1)); done; echo all"), 20_000);
        assert!(!ran.out.text().contains("all"));
        assert!(super::gone(&mark));
    } else {
        // Root's processes are counted by the PID namespace or by nothing, and that is said.
        assert_eq!(ran.measures.has(Measures::PIDS), !cage.measures.missing().contains(&"process limit"));
    }
}

#[test]
fn without_namespaces_even_root_keeps_no_capability_but_those_over_files() {
    let cage = Cage::new_at(Level::Bare, limits()).unwrap();
    let ran = shell(&cage, "grep CapEff /proc/self/status", 5000);
    let caps = u64::from_str_radix(ran.out.text().trim().trim_start_matches("CapEff:").trim(), 16).unwrap();
    assert_eq!(caps & !0b1101_1111, 0, "{caps:x}");
}
