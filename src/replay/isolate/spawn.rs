//! Owns the first process of a run from outside: making it, hearing what it tells, and making sure that it ends.

use std::io::{self, PipeReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use super::Level;
use super::child::{self, Ends, Note};
use super::group::Group;
use super::measures::Measures;
use super::plan::Plan;

/// Time the kernel has to make a place; more means that the machine is not able to.
pub(super) const SETUP: Duration = Duration::from_secs(20);

/// The first process of a run; ended and reaped when dropped.
pub(super) struct Child {
    pub pid: libc::pid_t,
    pub level: Level,
    reaped: bool,
}

impl Child {
    pub fn signal(&self, signal: libc::c_int) {
        if !self.reaped {
            // SAFETY: the process is not reaped yet, so its number is its own.
            unsafe { libc::kill(self.pid, signal) };
        }
    }

    pub fn reap(&mut self, within: Duration) -> bool {
        let end = Instant::now() + within;
        let mut pause = Duration::from_micros(30);
        while !self.reaped {
            // SAFETY: our own child, no status wanted.
            let pid = unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG) };
            self.reaped = pid == self.pid || pid < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD);
            if self.reaped || Instant::now() >= end {
                break;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(2));
        }
        self.reaped
    }

    /// Ends it and waits for that. Its namespaces end with it; without them it must have ended what it supervises.
    pub fn end(&mut self) {
        if self.level == Level::Bare {
            self.reap(Duration::from_secs(5));
        } else if !self.reaped {
            self.signal(libc::SIGKILL);
            loop {
                // SAFETY: our own child; SIGKILL ends it.
                let pid = unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
                if pid == self.pid || io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                    break;
                }
            }
            self.reaped = true;
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        if self.level == Level::Bare {
            // It ends what it supervises, then itself; killed at once it could not.
            self.signal(libc::SIGUSR1);
            if self.reap(Duration::from_secs(12)) {
                return;
            }
        }
        self.signal(libc::SIGKILL);
        // SAFETY: our own child; SIGKILL ends it.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

/// A run that has begun. The order matters when it is dropped: a child that waits for a word hears of the pipe's end first.
pub(super) struct Started {
    pub go: Option<io::PipeWriter>,
    pub child: Child,
    pub out: PipeReader,
    pub err: PipeReader,
    pub status: OwnedFd,
    /// Its cgroup is in force.
    pub grouped: bool,
}

pub(super) fn start(plan: &Plan, group: Option<&Group>) -> io::Result<Started> {
    let (out, out_end) = io::pipe()?;
    let (err, err_end) = io::pipe()?;
    let (status, status_end) = socket()?;
    let (go_end, go) = io::pipe()?;
    let ends = Ends { out: out_end.as_raw_fd(), err: err_end.as_raw_fd(), status: status_end.as_raw_fd(), go: go_end.as_raw_fd() };
    let all = blocked();
    let (mut pid, mut grouped) = (-1, false);
    if let Some(group) = group {
        // SAFETY: like fork; the child does raw system calls only and never returns from `supervise`.
        pid = unsafe { clone_into(plan.flags, group.fd()) };
        grouped = pid > 0;
    }
    if pid < 0 {
        let flags = libc::c_long::from(plan.flags | libc::SIGCHLD);
        // SAFETY: as above.
        pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } as libc::pid_t;
    }
    if pid == 0 {
        // SAFETY: this is the fresh child, which has its own copy of plan and descriptors.
        unsafe { child::supervise(plan, &ends) }
    }
    let failed = io::Error::last_os_error();
    // SAFETY: the set that was in force before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut()) };
    if pid < 0 {
        return Err(failed);
    }
    let child = Child { pid, level: plan.level, reaped: false };
    if let (Some(group), false) = (group, grouped) {
        grouped = group.add(pid);
    }
    for fd in [out.as_raw_fd(), err.as_raw_fd()] {
        // SAFETY: descriptors we own.
        unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) };
    }
    Ok(Started { go: Some(go), child, out, err, status, grouped })
}

/// Blocks every signal: a handler of ours must not run in the child. What was blocked before is given back.
fn blocked() -> libc::sigset_t {
    // SAFETY: zeroed sets are filled before use.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        before
    }
}

fn socket() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    // SAFETY: two descriptors into room for two, owned at once.
    unsafe {
        if libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, ends.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// Clones into a cgroup: moving a process later makes every thread of the machine wait.
unsafe fn clone_into(flags: libc::c_int, group: libc::c_int) -> libc::pid_t {
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    #[repr(C)]
    #[derive(Default)]
    struct Wanted {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }
    let wanted = Wanted {
        flags: u64::from(flags as u32) | INTO_CGROUP,
        exit_signal: libc::SIGCHLD as u64,
        cgroup: group as u64,
        ..Wanted::default()
    };
    // SAFETY: a structure of the kernel's layout and its size; no stack of its own, so it goes on as after fork.
    unsafe { libc::syscall(libc::SYS_clone3, &raw const wanted, size_of::<Wanted>()) as libc::pid_t }
}

/// Waits until one of the descriptors can be read or the time is over; which of them can.
pub(super) fn wait(fds: &[libc::c_int], until: Instant) -> io::Result<Vec<libc::c_short>> {
    let mut polled: Vec<libc::pollfd> = fds.iter().map(|fd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }).collect();
    let left = until.saturating_duration_since(Instant::now());
    let millis = left.as_millis().min(60_000) as libc::c_int + 1;
    // SAFETY: the array and its length belong together.
    if unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, millis) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        return Ok(vec![0; fds.len()]);
    }
    Ok(polled.iter().map(|p| p.revents).collect())
}

/// The next note, and what was handed over with it; `None` when there is none yet. An end of the socket is an error: the child is gone.
pub(super) fn note(status: &OwnedFd) -> io::Result<Option<(Note, Option<OwnedFd>)>> {
    let mut note = Note::default();
    let mut room = [0u64; 8];
    // SAFETY: one note into one note, and one header into room for more; what comes along is owned at once.
    unsafe {
        let mut part = libc::iovec { iov_base: (&raw mut note).cast(), iov_len: size_of::<Note>() };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = room.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<libc::c_int>() as u32) as _;
        let n = libc::recvmsg(status.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC);
        if n < 0 {
            let error = io::Error::last_os_error();
            let none = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            return if none { Ok(None) } else { Err(error) };
        }
        if n as usize != size_of::<Note>() {
            return Err(io::Error::other("the first process of the run is gone"));
        }
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        let handed = !head.is_null() && (*head).cmsg_level == libc::SOL_SOCKET && (*head).cmsg_type == libc::SCM_RIGHTS;
        let fd = handed.then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(head).cast::<libc::c_int>().read_unaligned()));
        Ok(Some((note, fd)))
    }
}

/// Waits for the place; which measures it has.
pub(super) fn ready(started: &Started) -> io::Result<Measures> {
    let end = Instant::now() + SETUP;
    while Instant::now() < end {
        match note(&started.status)? {
            Some((n, _)) if n.tag == child::READY => return Ok(Measures(n.a as u32)),
            Some((n, _)) if n.tag == child::NO_PLACE => {
                let why = io::Error::from_raw_os_error(n.b);
                return Err(io::Error::other(format!("no place for the run can be made (step {}): {why}", n.a)));
            }
            _ => drop(wait(&[started.status.as_raw_fd()], end)?),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "no place for the run was made in time"))
}
