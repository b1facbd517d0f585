//! Owns the tests of isolation. Each hostile validator is bounded by itself as well: it stops even where isolation would fail.

mod degraded;
mod hostile;
mod killed;
mod outside;

use std::fs;
use std::time::{Duration, Instant};

use super::{Cage, End, Job, Level, Limits, Measures, Ran};
use crate::replay::stimulus::{Content, Item, Prepared};
use crate::replay::validator::Command;
use crate::replay::words::StimulusKind;

fn stimulus() -> Prepared {
    let item = |path: &str, text: &str| Item { path: path.into(), executable: false, content: Content::Bytes(text.as_bytes().into()) };
    Prepared { kind: StimulusKind::Tree, items: vec![item("a.txt", "one\n"), item("sub/b.txt", "two\n")], patch: None, file: None }
}

/// A whole program that ends with a code by the 32-bit gate of the kernel.
#[cfg(target_arch = "x86_64")]
pub(in crate::replay) fn old_program(code: u8) -> Vec<u8> {
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    elf.extend([2u8, 0, 0x3e, 0, 1, 0, 0, 0]);
    for word in [0x40_0078u64, 64, 0] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend([0u8, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    elf.extend([1u8, 0, 0, 0, 5, 0, 0, 0]);
    for word in [0u64, 0x40_0000, 0x40_0000, 132, 132, 0x1000] {
        elf.extend(word.to_le_bytes());
    }
    // mov eax, 1; mov ebx, code; int 0x80
    elf.extend([0xb8, 1, 0, 0, 0, 0xbb, code, 0, 0, 0, 0xcd, 0x80]);
    elf
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
        assert_eq!(ran.outside, Vec::<String>::new());
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
    super::scratch::sweep(dir.path());
    assert_eq!((dead.exists(), living.exists(), foreign.exists()), (false, true, true));
    // A number says nothing of a replay in another PID namespace; its lock does.
    fs::create_dir(&dead).unwrap();
    let held = fs::File::open(&dead).unwrap();
    // SAFETY: a descriptor we own.
    assert_eq!(unsafe { libc::flock(std::os::fd::AsRawFd::as_raw_fd(&held), libc::LOCK_EX) }, 0);
    super::scratch::sweep(dir.path());
    assert!(dead.exists());
    drop(held);
    super::scratch::sweep(dir.path());
    assert!(!dead.exists());
}
