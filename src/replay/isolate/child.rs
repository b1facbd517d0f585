//! Owns what happens between clone and exec: first process of a run, its namespaces, mounts and limits. Raw system calls only: this code runs
//! in a copy of a process with threads, where allocating, locking or panicking may hang.

use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, Ordering};

use super::Level;
use super::landlock;
use super::measures::Measures;
use super::plan::Plan;

/// What the child tells on the status pipe: always whole, because it is shorter than a pipe's atomic write.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Note {
    pub tag: i32,
    pub a: i32,
    pub b: i32,
    pub c: i32,
}

/// The place is made; `a` = measures.
pub(super) const READY: i32 = 1;
/// Just before exec; `a` = measures of the validator's own process.
pub(super) const STARTING: i32 = 2;
/// exec failed; `a` = errno.
pub(super) const NO_EXEC: i32 = 3;
/// The validator ended; `a` = wait status, `b` = 1 where it left processes, `c` = 1 where its place is full.
pub(super) const DONE: i32 = 4;
/// The place cannot be made; `a` = step, `b` = errno.
pub(super) const NO_PLACE: i32 = 5;

pub(super) const GO: u8 = b'g';
pub(super) const END: u8 = b'e';

/// Ends of pipes that the child uses.
pub(super) struct Ends {
    pub out: libc::c_int,
    pub err: libc::c_int,
    pub status: libc::c_int,
    pub go: libc::c_int,
}

const STATUS: libc::c_int = 3;
const GO_END: libc::c_int = 4;

/// What SIGTERM goes on to: -1 = everything of the namespace, -n = a process group.
static TARGET: AtomicI32 = AtomicI32::new(0);

extern "C" fn pass_on(_: libc::c_int) {
    let target = TARGET.load(Ordering::Relaxed);
    if target != 0 {
        // SAFETY: kill is async-signal-safe.
        unsafe { libc::kill(target, libc::SIGTERM) };
    }
}

extern "C" fn kill_all(_: libc::c_int) {
    let target = TARGET.load(Ordering::Relaxed);
    if target != 0 {
        // SAFETY: kill is async-signal-safe.
        unsafe { libc::kill(target, libc::SIGKILL) };
    }
}

fn errno() -> i32 {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() }
}

fn tell(note: Note) {
    // SAFETY: the pointer and length are of `note`.
    unsafe { libc::write(STATUS, (&raw const note).cast(), size_of::<Note>()) };
}

/// One byte of the parent's; 0 when the parent is gone.
fn heard() -> u8 {
    let mut byte = 0u8;
    loop {
        // SAFETY: one byte into one byte.
        let n = unsafe { libc::read(GO_END, (&raw mut byte).cast(), 1) };
        match n {
            1 => return byte,
            -1 if errno() == libc::EINTR => {}
            _ => return 0,
        }
    }
}

fn write_file(path: &CStr, text: &CStr) -> bool {
    // SAFETY: both are valid C strings.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return false;
        }
        let bytes = text.to_bytes();
        let n = libc::write(fd, bytes.as_ptr().cast(), bytes.len());
        libc::close(fd);
        n == bytes.len() as isize
    }
}

fn exit(code: libc::c_int) -> ! {
    // SAFETY: _exit runs no handlers of the copied process.
    unsafe { libc::_exit(code) }
}

/// The first process of a run. Never returns.
///
/// # Safety
/// Only in a freshly cloned child; `plan` and `ends` must be valid in it.
pub(super) unsafe fn supervise(plan: &Plan, ends: &Ends) -> ! {
    // SAFETY: raw calls on descriptors and strings of this process alone.
    unsafe {
        let death = if plan.level == Level::Bare { libc::SIGUSR1 } else { libc::SIGKILL };
        let mut in_force = Measures(0);
        if libc::prctl(libc::PR_SET_PDEATHSIG, death) == 0 {
            in_force = in_force.with(Measures::PDEATHSIG);
        }
        arrange(ends);
        libc::setsid();
        install(libc::SIGTERM, pass_on);
        install(libc::SIGUSR1, kill_all);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        libc::umask(0o022);
        if plan.level == Level::Bare {
            // A run of the same user must not reach into what supervises it.
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) == 0 {
                in_force = in_force.with(Measures::REAPER);
            }
        } else {
            in_force = in_force.with(spaces(plan));
        }
        tell(Note { tag: READY, a: in_force.0 as i32, b: 0, c: 0 });
        if heard() != GO {
            exit(0);
        }
        let mut own = Measures(0);
        if plan.level != Level::Bare && read_only(plan, &plan.files) {
            own = own.with(Measures::FILES);
        }
        let child = libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t;
        if child == 0 {
            start(plan, own);
        }
        if child < 0 {
            tell(Note { tag: NO_EXEC, a: errno(), b: 0, c: 0 });
            exit(0);
        }
        // Here and in the child: whichever comes first, the group is there before a signal needs it.
        libc::setpgid(child, child);
        TARGET.store(if plan.level == Level::Bare { -child } else { -1 }, Ordering::Relaxed);
        // The writing ends belong to the run alone: once it is gone the reader sees the end.
        libc::close(1);
        libc::close(2);
        let status = reap_until(child);
        let left = end_the_rest(plan.level, child);
        tell(Note { tag: DONE, a: status, b: i32::from(left), c: i32::from(is_full(&plan.root)) });
        // Until the parent has read what it wants of the place, which ends with this process.
        heard();
        exit(0);
    }
}

/// Puts the pipes where they belong and closes everything else of the copied process.
unsafe fn arrange(ends: &Ends) {
    // SAFETY: descriptors of this process alone.
    unsafe {
        // First out of the way of the numbers they are to have.
        let high = |fd| libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 10);
        let (out, err, status, go) = (high(ends.out), high(ends.err), high(ends.status), high(ends.go));
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let null = high(null);
        libc::dup2(null, 0);
        libc::dup2(out, 1);
        libc::dup2(err, 2);
        libc::dup3(status, STATUS, libc::O_CLOEXEC);
        libc::dup3(go, GO_END, libc::O_CLOEXEC);
        if libc::syscall(libc::SYS_close_range, 5u32, u32::MAX, 0u32) != 0 {
            for fd in 5..4096 {
                libc::close(fd);
            }
        }
    }
}

unsafe fn install(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: a zeroed sigaction is valid, the handler does only async-signal-safe calls.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// Ids, mounts, loopback and process limit of fresh namespaces.
unsafe fn spaces(plan: &Plan) -> Measures {
    let mut in_force = Measures::PID.with(Measures::NET).with(Measures::IPC).with(Measures::MOUNT).with(Measures::REAPER);
    // SAFETY: C strings of the plan, which lives in this process.
    unsafe {
        if plan.level == Level::User {
            write_file(c"/proc/self/setgroups", c"deny");
            if !write_file(c"/proc/self/uid_map", &plan.uid_map) || !write_file(c"/proc/self/gid_map", &plan.gid_map) {
                no_place(1);
            }
            in_force = in_force.with(Measures::USER);
        }
        let null = std::ptr::null();
        if libc::mount(c"none".as_ptr(), c"/".as_ptr(), null, libc::MS_REC | libc::MS_PRIVATE, null.cast()) != 0 {
            no_place(2);
        }
        if set_read_only(c"/", libc::AT_RECURSIVE as u32) {
            in_force = in_force.with(Measures::READONLY);
        }
        let quiet = libc::MS_NOSUID | libc::MS_NODEV;
        let tmpfs =
            |at: &CStr, options: &CStr| libc::mount(c"mechanic".as_ptr(), at.as_ptr(), c"tmpfs".as_ptr(), quiet, options.as_ptr().cast());
        for folder in &plan.hidden {
            tmpfs(folder, c"size=64k,mode=0755");
        }
        tmpfs(c"/dev/shm", c"size=16m,mode=1777");
        if tmpfs(&plan.root, &plan.tmpfs_options) != 0 {
            no_place(3);
        }
        in_force = in_force.with(Measures::TMPFS);
        for folder in &plan.folders {
            if libc::mkdir(folder.as_ptr(), 0o755) != 0 {
                no_place(4);
            }
        }
        if libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), quiet | libc::MS_NOEXEC, null.cast()) == 0 {
            in_force = in_force.with(Measures::PROC);
            // A limit of this namespace alone, since Linux 6.14; before, it is the machine's and cannot be written.
            if write_file(c"/proc/sys/kernel/pid_max", &plan.pid_max) {
                in_force = in_force.with(Measures::PIDS);
            }
        }
        loopback();
    }
    in_force
}

fn no_place(step: i32) -> ! {
    tell(Note { tag: NO_PLACE, a: step, b: errno(), c: 0 });
    exit(1)
}

#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

fn set_read_only(path: &CStr, flags: u32) -> bool {
    let attr = MountAttr { set: 1, clear: 0, propagation: 0, userns: 0 };
    // SAFETY: the structure and its size belong together.
    unsafe { libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path.as_ptr(), flags, &raw const attr, size_of::<MountAttr>()) == 0 }
}

/// Mounts a folder over itself, read-only.
fn read_only(_: &Plan, folder: &CStr) -> bool {
    let null = std::ptr::null();
    // SAFETY: C strings; null where the kernel takes none.
    let bound = unsafe { libc::mount(folder.as_ptr(), folder.as_ptr(), null, libc::MS_BIND, null.cast()) == 0 };
    bound && set_read_only(folder, 0)
}

/// Tests that talk to themselves over 127.0.0.1 work; nothing else is reachable.
unsafe fn loopback() {
    // SAFETY: a zeroed ifreq with a short name.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return;
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        libc::ioctl(socket, libc::SIOCSIFFLAGS, &request);
        libc::close(socket);
    }
}

/// The validator's own process: limits, then exec. Never returns.
unsafe fn start(plan: &Plan, mut in_force: Measures) -> ! {
    // SAFETY: raw calls on data of the plan.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
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
        if landlock::restrict(plan) {
            in_force = in_force.with(Measures::LANDLOCK);
            if plan.level == Level::Bare {
                in_force = in_force.with(Measures::FILES);
            }
        }
        // Without a namespace only root has any, and root's are not ours to take: programs may need them for their own files.
        let none = if plan.level == Level::Bare { libc::getuid() != 0 } else { drop_caps() };
        if none {
            in_force = in_force.with(Measures::NO_CAPS);
        }
        tell(Note { tag: STARTING, a: in_force.0 as i32, b: 0, c: 0 });
        libc::execve(plan.program.as_ptr(), plan.argv.as_ptr(), plan.envp.as_ptr());
        tell(Note { tag: NO_EXEC, a: errno(), b: 0, c: 0 });
        exit(127)
    }
}

/// Takes every capability for good: with them the read-only mounts could be undone from inside.
unsafe fn drop_caps() -> bool {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    let header = Header { version: 0x2008_0522, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: header and data have the layout of version 3.
    unsafe {
        for cap in 0..64 {
            if libc::prctl(libc::PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 {
                if cap == 0 {
                    return false;
                }
                break;
            }
        }
        libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) == 0
    }
}

/// Waits for the validator, and reaps what it left on the way.
fn reap_until(child: libc::pid_t) -> i32 {
    loop {
        let mut status = 0;
        // SAFETY: the status is ours.
        let pid = unsafe { libc::waitpid(-1, &mut status, 0) };
        if pid == child {
            return status;
        }
        if pid < 0 && errno() != libc::EINTR {
            return 0;
        }
    }
}

/// Ends everything that the validator left running; whether there was anything.
fn end_the_rest(level: Level, child: libc::pid_t) -> bool {
    // SAFETY: signals to what belongs to this run alone.
    unsafe {
        if level != Level::Bare {
            let left = libc::kill(-1, 0) == 0;
            libc::kill(-1, libc::SIGKILL);
            while libc::waitpid(-1, std::ptr::null_mut(), 0) > 0 || errno() == libc::EINTR {}
            return left;
        }
        let mut left = libc::kill(-child, libc::SIGKILL) == 0;
        // What has left the group comes to us when its parent dies; we look until nobody is left.
        for _ in 0..2000 {
            left |= kill_children();
            loop {
                match libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) {
                    0 => break,
                    -1 if errno() != libc::EINTR => return left,
                    _ => {}
                }
            }
            let pause = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            libc::nanosleep(&pause, std::ptr::null_mut());
        }
        left
    }
}

/// Kills the children the kernel lists for this process.
unsafe fn kill_children() -> bool {
    let mut buffer = [0u8; 4096];
    let mut any = false;
    // SAFETY: reads into a buffer of that length.
    unsafe {
        let fd = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return false;
        }
        let n = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(fd);
        let mut pid: libc::pid_t = 0;
        for byte in buffer.iter().take(n.max(0) as usize) {
            match byte {
                b'0'..=b'9' => pid = pid.wrapping_mul(10).wrapping_add(i32::from(byte - b'0')),
                _ if pid > 1 => {
                    libc::kill(pid, libc::SIGKILL);
                    any = true;
                    pid = 0;
                }
                _ => pid = 0,
            }
        }
    }
    any
}

/// Whether the place has no room left.
fn is_full(root: &CStr) -> bool {
    // SAFETY: a zeroed statfs is filled by the kernel.
    unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        libc::statfs(root.as_ptr(), &mut stat) == 0 && stat.f_blocks > 0 && (stat.f_bavail < 2 || stat.f_files > 0 && stat.f_ffree < 2)
    }
}
