//! Owns the tests of a replay that is killed: nothing of its runs lives on.

use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use super::super::{Cage, Level};
use super::{alive, limits, shell};

/// Run only by the test below, in a process of its own that is killed.
#[test]
fn helper_that_is_killed() {
    let Ok(level) = std::env::var("MECHANIC_TEST_LEVEL") else { return };
    let mark = std::env::var("MECHANIC_TEST_MARK").unwrap();
    let cage = Cage::new_at(if level == "bare" { Level::Bare } else { Level::User }, limits()).unwrap();
    shell(&cage, &format!("(setsid sleep {mark} &); sleep {mark}; sleep {mark}"), 20_000);
}

#[test]
fn kill_9_of_the_replay_leaves_no_process() {
    for (i, level) in ["user", "bare"].iter().enumerate() {
        let mark = format!("7.4{i}3{}", std::process::id());
        let program: PathBuf = std::env::current_exe().unwrap();
        let mut helper = Process::new(program)
            .args(["--exact", "replay::isolate::tests::killed::helper_that_is_killed", "--nocapture"])
            .env("MECHANIC_TEST_LEVEL", level)
            .env("MECHANIC_TEST_MARK", &mark)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(5);
        while alive(&mark).len() < 2 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(alive(&mark).len() >= 2, "it never began ({level})");
        helper.kill().unwrap();
        helper.wait().unwrap();
        let soon = Instant::now() + Duration::from_secs(2);
        while !alive(&mark).is_empty() && Instant::now() < soon {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(alive(&mark), Vec::<String>::new(), "{level}");
    }
    assert!(Path::new("/proc/self").exists());
}
