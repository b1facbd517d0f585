//! Owns the figure of replay: many fixtures through no-op validators, beside a plain loop that does the same copies, namespaces and spawns.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::{cores, from_env, load, median, write};

const VALIDATORS: usize = 10;

/// Both sides in turn, medians, and the ratio of each pair.
pub fn against_a_plain_loop(folder: &Path) {
    let fixtures: usize = from_env("MECHANIC_BENCH_FIXTURES", 1_000) as usize;
    let rounds = from_env("MECHANIC_BENCH_ROUNDS", 3).max(1);
    let home = folder.join("replay");
    corpus(&home, fixtures);
    let cells = fixtures * VALIDATORS;
    println!("{fixtures} fixtures × {VALIDATORS} validators that do nothing; {}", load());
    let (mut loops, mut replays, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let plain = plain_loop(&home, fixtures);
        let replay = replay(&home);
        ratios.push(replay.as_secs_f64() / plain.as_secs_f64());
        loops.push(plain);
        replays.push(replay);
    }
    ratios.sort_by(f64::total_cmp);
    let show = |name: &str, wall: Duration| {
        println!("{name:<34}{:>8.2} ms a cell  {:>7.1} s", wall.as_secs_f64() * 1e3 / cells as f64, wall.as_secs_f64());
    };
    show("plain loop", median(loops));
    show("mechanic replay", median(replays));
    println!("{:<34}{:>8.2} times the plain loop (pairs: {})", "ratio", ratios[ratios.len() / 2], list(&ratios));
}

fn list(ratios: &[f64]) -> String {
    ratios.iter().map(|r| format!("{r:.2}")).collect::<Vec<_>>().join(", ")
}

fn corpus(home: &Path, fixtures: usize) {
    for i in 0..fixtures {
        let head = "format = 1\ntitle = \"t\"\norigin = \"o\"\nhappened = \"h\"\nfailure_mode = \"m\"\nseverity = \"major\"\nprovenance = \"hand_made\"\nclassification = \"known_defect\"\n";
        let folder = home.join(format!("fixtures/failures/f{i:04}"));
        let toml = format!("{head}id = \"f{i:04}\"\n[stimulus]\nkind = \"tree\"\n");
        write(&folder.join("fixture.toml"), &toml);
        for (name, text) in [("a.txt", "one\n".repeat(100)), ("src/lib.rs", "fn f() {}\n".repeat(400)), ("src/sub/b.rs", String::new())] {
            write(&folder.join("stimulus").join(name), &text);
        }
    }
    let mut text = String::from("format = 1\n");
    for v in 0..VALIDATORS {
        text += &format!(
            "[[validator]]\nid = \"v{v}\"\ngate = \"g\"\ncommand = [\"true\"]\n[validator.verdict]\nexit = {{ pass = [0], fail = [1] }}\n"
        );
    }
    write(&home.join("fixtures/validators/validators.toml"), &text);
}

fn replay(home: &Path) -> Duration {
    let begun = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mechanic"));
    let done = command.current_dir(home).args(["replay", "--no-cache"]).stdin(Stdio::null()).output().expect("mechanic starts");
    assert!(done.status.success(), "{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    begun.elapsed()
}

/// The same cells by hand, as many at a time as there are cores.
fn plain_loop(home: &Path, fixtures: usize) -> Duration {
    let begun = Instant::now();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..cores() {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= fixtures * VALIDATORS {
                        break;
                    }
                    let stimulus = home.join(format!("fixtures/failures/f{:04}/stimulus", i / VALIDATORS));
                    cell(&stimulus);
                }
            });
        }
    });
    begun.elapsed()
}

/// One cell: namespaces, a place, the copy, the spawn, its output and its end.
fn cell(stimulus: &Path) {
    let (mut ready, ready_end) = std::io::pipe().expect("a pipe");
    let (go_end, mut go) = std::io::pipe().expect("a pipe");
    let (mut out, out_end) = std::io::pipe().expect("a pipe");
    let (mut err, err_end) = std::io::pipe().expect("a pipe");
    let null: OwnedFd = fs::File::open("/dev/null").expect("/dev/null").into();
    let spaces = libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC;
    // SAFETY: cannot fail.
    let (uid, gid) = unsafe { (libc::getuid(), libc::getgid()) };
    let map = |id: u32| std::ffi::CString::new(format!("{id} {id} 1")).expect("no NUL");
    let (uids, gids) = (map(uid), map(gid));
    // SAFETY: like fork; the child makes system calls only and does not return.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(spaces | libc::SIGCHLD), 0, 0, 0, 0) } as libc::pid_t;
    if pid == 0 {
        let ends = [null.as_raw_fd(), out_end.as_raw_fd(), err_end.as_raw_fd(), ready_end.as_raw_fd(), go_end.as_raw_fd()];
        // SAFETY: the fresh child.
        unsafe { child(ends, &uids, &gids) }
    }
    assert!(pid > 0, "no namespaces here: {}", std::io::Error::last_os_error());
    drop((ready_end, go_end, out_end, err_end));
    ready.read_exact(&mut [0]).expect("the place is made");
    copy(stimulus, &PathBuf::from(format!("/proc/{pid}/root/tmp/stimulus")));
    go.write_all(b"g").expect("the child waits");
    let mut said = Vec::new();
    out.read_to_end(&mut said).expect("output");
    err.read_to_end(&mut said).expect("output");
    let mut status = 0;
    // SAFETY: our own child.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(status, 0);
}

unsafe fn child(ends: [libc::c_int; 5], uids: &std::ffi::CStr, gids: &std::ffi::CStr) -> ! {
    // SAFETY: raw calls on descriptors and strings of this process alone.
    unsafe {
        let null: *const libc::c_char = std::ptr::null();
        let put = |path: &std::ffi::CStr, text: &std::ffi::CStr| {
            let fd = OwnedFd::from_raw_fd(libc::open(path.as_ptr(), libc::O_WRONLY));
            libc::write(fd.as_raw_fd(), text.as_ptr().cast(), text.count_bytes());
        };
        put(c"/proc/self/setgroups", c"deny");
        put(c"/proc/self/uid_map", uids);
        put(c"/proc/self/gid_map", gids);
        let mount = |what: &std::ffi::CStr, at: &std::ffi::CStr, flags| {
            if libc::mount(what.as_ptr(), at.as_ptr(), what.as_ptr(), flags, null.cast()) != 0 {
                libc::_exit(2);
            }
        };
        mount(c"none", c"/", libc::MS_REC | libc::MS_PRIVATE);
        mount(c"tmpfs", c"/tmp", libc::MS_NOSUID | libc::MS_NODEV);
        mount(c"proc", c"/proc", libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC);
        libc::mkdir(c"/tmp/stimulus".as_ptr(), 0o755);
        libc::write(ends[3], c"r".as_ptr().cast(), 1);
        let mut byte = 0u8;
        libc::read(ends[4], (&raw mut byte).cast(), 1);
        // Not the library's fork: it takes locks that another thread may have held when this process was copied.
        let validator = libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t;
        if validator == 0 {
            for (i, fd) in ends.iter().take(3).enumerate() {
                libc::dup2(*fd, i as libc::c_int);
            }
            libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32);
            libc::chdir(c"/tmp/stimulus".as_ptr());
            for program in [c"/usr/bin/true", c"/bin/true"] {
                libc::execve(program.as_ptr(), [program.as_ptr(), null].as_ptr(), [null].as_ptr());
            }
            libc::_exit(127);
        }
        let mut status = 0;
        libc::waitpid(validator, &mut status, 0);
        libc::_exit(i32::from(status != 0))
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            fs::create_dir(&to).expect("a folder");
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).expect("a copy");
        }
    }
}
