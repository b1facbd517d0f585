//! Owns what happens between clone and exec: the first process of a run, which makes its place, starts the validator and ends what it leaves.
//! Raw system calls only: this code runs in a copy of a process with threads, where allocating, locking or panicking may hang.

mod ending;
mod spaces;
mod start;
mod wire;

pub(super) use wire::{DONE, Ends, GO, NO_EXEC, NO_PLACE, Note, READY, STARTING, STAYED};

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use super::Level;
use super::measures::Measures;
use super::plan::Plan;
use wire::{GO_END, STATUS, errno, exit, heard, tell};

/// The validator's process while it is ours to signal; 0 before and after. With namespaces a signal goes to all of them instead.
static TARGET: AtomicI32 = AtomicI32::new(0);
static BARE: AtomicBool = AtomicBool::new(false);
/// We were told to end everything, perhaps before there was anything.
static ENDING: AtomicBool = AtomicBool::new(false);

fn send(signal: libc::c_int) {
    let target = TARGET.load(Ordering::SeqCst);
    if target == 0 {
        return;
    }
    // SAFETY: kill is async-signal-safe, and the validator is not reaped while it is the target.
    unsafe {
        if BARE.load(Ordering::SeqCst) {
            // It may have moved to another group of its own. It is told once to end, and killed in any case.
            if libc::kill(-target, signal) != 0 || signal == libc::SIGKILL {
                libc::kill(target, signal);
            }
        } else {
            libc::kill(-1, signal);
        }
    }
}

extern "C" fn pass_on(_: libc::c_int) {
    let before = errno();
    send(libc::SIGTERM);
    // SAFETY: this thread's errno; what was interrupted may be about to read it.
    unsafe { *libc::__errno_location() = before };
}

extern "C" fn kill_all(_: libc::c_int) {
    let before = errno();
    ENDING.store(true, Ordering::SeqCst);
    send(libc::SIGKILL);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = before };
}

/// The first process of a run. Never returns. All signals are blocked when it begins.
///
/// # Safety
/// Only in a freshly cloned child; `plan` and `ends` must be valid in it.
pub(super) unsafe fn supervise(plan: &Plan, ends: &Ends) -> ! {
    // SAFETY: raw calls on descriptors and strings of this process alone.
    unsafe {
        let bare = plan.level == Level::Bare;
        BARE.store(bare, Ordering::SeqCst);
        let mut in_force = Measures(0);
        if libc::prctl(libc::PR_SET_PDEATHSIG, if bare { libc::SIGUSR1 } else { libc::SIGKILL }) == 0 {
            in_force = in_force.with(Measures::PDEATHSIG);
        }
        if !arrange(ends) {
            // Without its own ends it would write into ours.
            exit(1);
        }
        // A parent that died before it was to be told of is no parent. In a PID namespace it is not visible; there the pipe tells.
        if bare && libc::getppid() != plan.parent {
            exit(0);
        }
        libc::setsid();
        signals();
        libc::umask(0o022);
        if bare {
            // A run of the same user must not reach into what supervises it.
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) == 0 {
                in_force = in_force.with(Measures::REAPER);
            }
        } else {
            in_force = in_force.with(spaces::make(plan));
        }
        tell(Note { tag: READY, a: in_force.0 as i32, b: 0, c: 0 });
        if heard() != GO {
            exit(0);
        }
        let mut own = Measures(0);
        if !bare && spaces::read_only(&plan.files) {
            own = own.with(Measures::FILES);
        }
        let here = libc::getpid();
        let child = libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t;
        if child == 0 {
            start::start(plan, own, here);
        }
        // The writing ends belong to the run alone: once it is gone the reader sees the end.
        libc::close(1);
        libc::close(2);
        if child < 0 {
            tell(Note { tag: NO_EXEC, a: errno(), b: 0, c: 0 });
            tell(Note { tag: DONE, a: 127 << 8, b: 0, c: 0 });
            heard();
            exit(0);
        }
        // Here and in the child: whichever comes first, the group is there before a signal needs it.
        libc::setpgid(child, child);
        TARGET.store(child, Ordering::SeqCst);
        if ENDING.load(Ordering::SeqCst) {
            send(libc::SIGKILL);
        }
        ending::wait_for(child);
        TARGET.store(0, Ordering::SeqCst);
        let (status, left) = ending::end_the_rest(bare, child);
        tell(Note { tag: DONE, a: status, b: left, c: i32::from(ending::is_full(&plan.root)) });
        // Until the parent has read what it wants of the place, which ends with this process.
        heard();
        exit(0);
    }
}

/// Puts the pipes where they belong and closes everything else of the copied process; whether that worked.
unsafe fn arrange(ends: &Ends) -> bool {
    // SAFETY: descriptors of this process alone.
    unsafe {
        // First out of the way of the numbers they are to have.
        let high = |fd| libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 10);
        let null = high(libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC));
        let (out, err, status, go) = (high(ends.out), high(ends.err), high(ends.status), high(ends.go));
        let mut done = null >= 0 && out >= 0 && err >= 0 && status >= 0 && go >= 0;
        done = done && libc::dup2(null, 0) == 0 && libc::dup2(out, 1) == 1 && libc::dup2(err, 2) == 2;
        done = done && libc::dup3(status, STATUS, libc::O_CLOEXEC) == STATUS && libc::dup3(go, GO_END, libc::O_CLOEXEC) == GO_END;
        if done && libc::syscall(libc::SYS_close_range, 5u32, u32::MAX, 0u32) != 0 {
            let mut limit: libc::rlimit = std::mem::zeroed();
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
            for fd in 5..limit.rlim_cur.clamp(4096, 1 << 20) as libc::c_int {
                libc::close(fd);
            }
        }
        done
    }
}

/// Takes the handlers of the copied process away, sets our own, and lets signals in.
unsafe fn signals() {
    // SAFETY: zeroed sets and actions are valid, the handlers do only async-signal-safe calls.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        install(libc::SIGTERM, pass_on);
        install(libc::SIGUSR1, kill_all);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

unsafe fn install(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: a zeroed sigaction is valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}
