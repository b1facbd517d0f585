//! Owns the tests of isolation with hostile validators. Each is bounded by itself as well: it stops even where isolation would fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use super::{Cage, End, Job, Level, Limits, Measures, Ran};
use crate::replay::stimulus::{Content, Item, Prepared};
use crate::replay::validator::Command;
use crate::replay::words::StimulusKind;

fn stimulus() -> Prepared {
    let item = |path: &str, text: &str| Item { path: path.into(), executable: false, content: Content::Bytes(text.as_bytes().into()) };
    Prepared { kind: StimulusKind::Tree, items: vec![item("a.txt", "one\n"), item("sub/b.txt", "two\n")], patch: None, file: None }
}

fn limits() -> Limits {
    Limits { disk: 8 << 20, memory: 512 << 20, processes: 400, grace: Duration::from_millis(200), ..Limits::default() }
}

fn levels() -> Vec<Cage> {
    let best = Cage::new_at(Level::User, limits()).unwrap();
    let bare = Cage::new_at(Level::Bare, limits()).unwrap();
    if best.level == Level::Bare { vec![bare] } else { vec![best, bare] }
}

fn shell(cage: &Cage, script: &str, timeout_ms: u64) -> Ran {
    shell_with(cage, script, timeout_ms, &[])
}

fn shell_with(cage: &Cage, script: &str, timeout_ms: u64, wanted: &[&str]) -> Ran {
    let wanted: Vec<String> = wanted.iter().map(|w| (*w).to_owned()).collect();
    let command = Command::Shell(script.to_owned());
    let job =
        Job { stimulus: &stimulus(), files: &[], command: &command, env: &[], timeout: Duration::from_millis(timeout_ms), wanted: &wanted };
    cage.run(&job).unwrap()
}

/// Processes whose command line holds the mark.
fn alive(mark: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        if pid == own || !pid.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if line.windows(mark.len()).any(|w| w == mark.as_bytes()) {
            found.push(pid);
        }
    }
    found
}

fn gone(mark: &str) -> bool {
    let end = Instant::now() + Duration::from_secs(5);
    while Instant::now() < end {
        if alive(mark).is_empty() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn a_run_sees_its_copy_its_folders_and_a_small_environment_only() {
    for cage in levels() {
        let ran = shell_with(
            &cage,
            "cat a.txt sub/b.txt; pwd; echo $HOME; env | cut -d= -f1 | sort | tr '\\n' ' '; read x || echo closed; echo r > {out}/r; exit 7",
            5000,
            &["out/r", "out/none"],
        );
        assert_eq!(ran.end, End::Exited(7), "{:?}", ran.err.text());
        let text = ran.out.text();
        let root = ran.root.display().to_string();
        assert!(text.starts_with(&format!("one\ntwo\n{root}/stimulus\n{root}/home\n")), "{text}");
        assert!(
            text.contains("HOME LC_ALL MECHANIC_FILES MECHANIC_KIND MECHANIC_OUT MECHANIC_STIMULUS") && text.ends_with("closed\n"),
            "{text}"
        );
        assert!(!text.contains("CARGO"));
        assert_eq!(ran.wanted, [Some(b"r\n".to_vec()), None]);
        assert!(!ran.left_processes && !ran.full);
    }
}

#[test]
fn the_measures_in_force_are_those_the_run_itself_can_see() {
    for cage in levels() {
        let ran =
            shell(&cage, "grep -E 'NoNewPrivs|CapBnd' /proc/self/status; ls /proc | grep -c '^[0-9]'; cat /proc/net/dev | grep -c :", 5000);
        let text = ran.out.text();
        assert_eq!(ran.measures.has(Measures::NO_NEW_PRIVS), text.contains("NoNewPrivs:\t1"), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        if ran.measures.has(Measures::PID.with(Measures::PROC)) {
            assert!(lines[2].parse::<u32>().unwrap() < 8, "{text}");
            assert!(text.contains("CapBnd:\t0000000000000000"), "{text}");
            assert_eq!(lines[3], "1", "more than loopback: {text}");
        }
        assert_eq!(ran.measures, cage.measures);
    }
}

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
    // 600 at most, each a few seconds long.
    let script = format!("i=0; while [ $i -lt 600 ]; do sleep {mark} & i=$((i+1)); done; echo all");
    let ran = shell(&cage, &script, 20_000);
    assert!(!ran.out.text().contains("all"), "nothing stopped it");
    assert!(ran.left_processes);
    assert!(gone(&mark));
}

#[test]
fn nothing_outside_the_copy_can_be_written() {
    let outside = tempfile::Builder::new().tempdir_in(std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| ".".into())).unwrap();
    let file = outside.path().canonicalize().unwrap().join("victim");
    fs::write(&file, "before").unwrap();
    let probe = std::env::temp_dir().join(format!("mechanic-outside-{}", std::process::id()));
    for cage in levels() {
        if !cage.measures.has(Measures::READONLY) && !cage.measures.has(Measures::LANDLOCK) {
            continue;
        }
        let script = format!(
            "echo after > {f}; rm -f {f}; mkdir {d}/new; echo x > {p}; mount -o remount,rw / 2>&1; chmod 777 {f}; echo done",
            f = file.display(),
            d = outside.path().display(),
            p = probe.display()
        );
        let ran = shell(&cage, &script, 5000);
        assert_eq!(ran.end, End::Exited(0));
        assert_eq!(fs::read_to_string(&file).unwrap(), "before");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert!(!probe.exists());
    }
}

#[test]
fn validator_files_are_there_and_cannot_be_changed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("v.sh"), "cat $1/a.txt; echo changed > $0; echo more > {files}/new; exit 3\n").unwrap();
    let files = [("v.sh".to_owned(), dir.path().join("v.sh"))];
    let command = Command::Argv(["sh", "{files}/v.sh", "{stimulus}"].map(str::to_owned).to_vec());
    let (stimulus, timeout) = (stimulus(), Duration::from_secs(5));
    let wanted = ["files/v.sh".to_owned()];
    let job = Job { stimulus: &stimulus, files: &files, command: &command, env: &[], timeout, wanted: &wanted };
    for cage in levels() {
        let ran = cage.run(&job).unwrap();
        assert_eq!((ran.end, ran.out.text().as_str()), (End::Exited(3), "one\n"));
        if ran.measures.has(Measures::FILES) {
            assert!(ran.wanted[0].as_deref().unwrap().starts_with(b"cat"), "{:?}", ran.wanted);
        }
    }
    assert!(fs::read_to_string(&files[0].1).unwrap().starts_with("cat"));
}

#[test]
fn a_missing_program_or_interpreter_is_told_and_is_no_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("v");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let files = [("v".to_owned(), script)];
    let (stimulus, timeout) = (stimulus(), Duration::from_secs(5));
    for cage in levels() {
        for (argv, says) in
            [("no-such-program-here", "in no folder of PATH"), ("{files}/v", "interpreter"), ("{files}", "cannot be started")]
        {
            let command = Command::Argv(vec![argv.to_owned()]);
            let job = Job { stimulus: &stimulus, files: &files, command: &command, env: &[], timeout, wanted: &[] };
            match cage.run(&job).unwrap().end {
                End::NotStarted(why) => assert!(why.contains(says), "{argv}: {why}"),
                other => panic!("{argv}: {other:?}"),
            }
        }
        assert_eq!(shell(&cage, "kill -SEGV $$", 5000).end, End::Signalled(libc::SIGSEGV));
    }
}

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
            .args(["--exact", "replay::isolate::tests::helper_that_is_killed", "--nocapture"])
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

#[test]
fn scratch_of_a_killed_replay_is_swept_and_that_of_a_living_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let dead = dir.path().join("mechanic-replay-999999999-abc");
    let living = dir.path().join(format!("mechanic-replay-{}-abc", std::process::id()));
    let foreign = dir.path().join("mechanic-replay-notes");
    for folder in [&dead, &living, &foreign] {
        fs::create_dir_all(folder.join("inner")).unwrap();
    }
    fs::set_permissions(dead.join("inner"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    super::run::sweep(dir.path());
    assert_eq!((dead.exists(), living.exists(), foreign.exists()), (false, true, true));
}
