//! Owns the validator's own process up to exec: its limits, and what it may never do. Raw system calls only (see `child`).

use super::super::Level;
use super::super::landlock;
use super::super::measures::Measures;
use super::super::plan::Plan;
use super::wire::{NO_EXEC, Note, STARTING, errno, exit, tell, tell_with};

/// Sets the limits, then execs. Never returns.
pub(super) unsafe fn start(plan: &Plan, mut in_force: Measures, supervisor: libc::pid_t) -> ! {
    // SAFETY: raw calls on data of the plan.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != supervisor {
            // It died before its death could be told of.
            exit(0);
        }
        for signal in [libc::SIGTERM, libc::SIGUSR1, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_DFL);
        }
        if libc::chdir(plan.cwd.as_ptr()) != 0 {
            tell(Note { tag: NO_EXEC, a: errno(), b: 1, c: 0 });
            exit(127);
        }
        let mut all = true;
        for (resource, most) in &plan.rlimits {
            let mut limit: libc::rlimit = std::mem::zeroed();
            libc::getrlimit(*resource as _, &mut limit);
            // The process may already have less.
            let most = (*most).min(limit.rlim_max);
            limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            all &= libc::setrlimit(*resource as _, &limit) == 0;
        }
        if all {
            in_force = in_force.with(Measures::RLIMITS);
        }
        // The kernel does not count the processes of root.
        if all && libc::getuid() != 0 {
            in_force = in_force.with(Measures::PIDS);
        }
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 {
            in_force = in_force.with(Measures::NO_NEW_PRIVS);
        }
        if plan.landlock && landlock::restrict(plan) {
            in_force = in_force.with(Measures::LANDLOCK);
            if plan.level == Level::Bare {
                in_force = in_force.with(Measures::FILES);
            }
        }
        // Without a namespace only root has any, and those over files are not ours to take: programs may need them for their own.
        let dropped = drop_caps(if plan.level == Level::Bare { OVER_FILES } else { 0 });
        if dropped && (plan.level != Level::Bare || libc::getuid() != 0) {
            in_force = in_force.with(Measures::NO_CAPS);
        }
        let (filtered, listener) = filter(plan);
        if filtered && plan.refuse_sockets {
            in_force = in_force.with(Measures::SOCKETS);
        }
        // From here on no call that the filter looks at may be made: nobody would answer before the listener is told of.
        let told = listener >= 0 && {
            let seen = in_force.with(Measures::SEEN);
            tell_with(Note { tag: STARTING, a: seen.0 as i32, b: 0, c: 0 }, listener)
        };
        if !told {
            if listener >= 0 {
                // Whoever waits for an answer would get none.
                tell(Note { tag: NO_EXEC, a: errno(), b: 0, c: 0 });
                exit(127);
            }
            tell(Note { tag: STARTING, a: in_force.0 as i32, b: 0, c: 0 });
        }
        libc::execve(plan.program.as_ptr(), plan.argv.as_ptr(), plan.envp.as_ptr());
        tell(Note { tag: NO_EXEC, a: errno(), b: 0, c: 0 });
        exit(127)
    }
}

/// Sets the filter of system calls; whether one is in force, and its listener or -1.
unsafe fn filter(plan: &Plan) -> (bool, libc::c_int) {
    const SET_FILTER: libc::c_uint = 1;
    const NEW_LISTENER: libc::c_ulong = 1 << 3;
    /// Since Linux 5.19: a call that is being answered is not interrupted by a harmless signal.
    const KILLABLE: libc::c_ulong = 1 << 5;
    // SAFETY: the programs lie in the plan, which lives in this process; the kernel only reads them.
    unsafe {
        let set = |program: &[libc::sock_filter], flags: libc::c_ulong| {
            if program.is_empty() {
                return -1;
            }
            let whole = libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_ptr().cast_mut() };
            libc::syscall(libc::SYS_seccomp, SET_FILTER, flags, &raw const whole) as libc::c_int
        };
        for flags in [NEW_LISTENER | KILLABLE, NEW_LISTENER] {
            let listener = set(&plan.watching, flags);
            if listener >= 0 {
                return (true, listener);
            }
        }
        (set(&plan.refusing, 0) == 0, -1)
    }
}

/// `CAP_CHOWN`, `DAC_OVERRIDE`, `DAC_READ_SEARCH`, `FOWNER`, `FSETID`, `SETGID`, `SETUID`.
const OVER_FILES: u64 = 0b1101_1111;

/// Takes every capability but those to keep, for good: with them the read-only mounts could be undone from inside.
unsafe fn drop_caps(keep: u64) -> bool {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    let mut header = Header { version: 0x2008_0522, pid: 0 };
    // Effective, permitted and inheritable, the low words first.
    let mut data = [0u32; 6];
    // SAFETY: header and data have the layout of version 3.
    unsafe {
        if libc::syscall(libc::SYS_capget, &raw mut header, data.as_mut_ptr()) != 0 {
            return false;
        }
        if data.iter().all(|word| *word == 0) {
            // Who has none can take none from the set that bounds them, and needs not: nothing gives new ones.
            return true;
        }
        for cap in 0..64 {
            if keep >> cap & 1 == 0 && libc::prctl(libc::PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 {
                if errno() == libc::EPERM {
                    return false;
                }
                break;
            }
        }
        for (word, keep) in data.iter_mut().zip([keep as u32; 3].into_iter().chain([(keep >> 32) as u32; 3])) {
            *word &= keep;
        }
        libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) == 0
    }
}
