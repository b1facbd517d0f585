//! Owns the sight of writes outside: a run's calls that change files stop at us for a moment, and those that would reach outside its place
//! are written down. What stops them is the mounts and Landlock, which look again when the call goes on; where they cannot, we refuse. A
//! program that races with its own memory may hide a name from us, and gains nothing by it where mounts or Landlock are in force.

mod calls;
mod filter;
mod kin;
mod look;
mod view;

pub(super) use filter::{Wanted, program};

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use calls::{Does, Whom};
use kin::{descends, in_group};
use look::{Unseen, look};
use view::View;

/// Names kept of one run; a program that goes through a whole tree would fill the report.
const MOST: usize = 64;

/// What is refused here, because nothing else does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refuse {
    /// Mounts do it.
    Nothing,
    /// Landlock does it, all but modes, owners, times and attributes.
    Changes,
    /// Neither is there.
    Everything,
}

/// Answers a run's calls, and remembers those that reached outside.
pub(super) struct Witness {
    listener: OwnedFd,
    /// Folders that are the run's own.
    own: Vec<PathBuf>,
    /// The folder these lie in, where it is another each time.
    root: Option<PathBuf>,
    refuse: Refuse,
    /// The first process of a run without namespaces; sockets are closed there, and signals go to nobody else.
    supervisor: Option<libc::pid_t>,
    paths: BTreeSet<String>,
    /// There were calls that could not be looked at.
    pub blind: bool,
}

const RECEIVE: libc::c_ulong = 0xC050_2100;
const SEND: libc::c_ulong = 0xC018_2101;
const STILL_THERE: libc::c_ulong = 0x4008_2102;
const GO_ON: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Notice {
    id: u64,
    tid: u32,
    flags: u32,
    number: i32,
    arch: u32,
    at: u64,
    args: [u64; 6],
}

#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

impl Witness {
    pub fn new(listener: OwnedFd, root: &Path, bare: bool, refuse: Refuse, supervisor: Option<libc::pid_t>) -> Witness {
        let mut own: Vec<PathBuf> = super::plan::FOLDERS.iter().map(|n| root.join(n)).collect();
        if !bare {
            own.push(PathBuf::from("/dev/shm"));
        }
        Witness { listener, own, root: bare.then(|| root.to_owned()), refuse, supervisor, paths: BTreeSet::new(), blind: false }
    }

    pub fn fd(&self) -> libc::c_int {
        self.listener.as_raw_fd()
    }

    pub fn paths(self) -> Vec<String> {
        self.paths.into_iter().collect()
    }

    /// Answers one call that waits.
    pub fn answer(&mut self) {
        let mut notice = Notice::default();
        // SAFETY: a zeroed structure of the kernel's layout; who waited may be gone, which is an error and no notice.
        if unsafe { libc::ioctl(self.fd(), RECEIVE as _, &raw mut notice) } != 0 {
            return;
        }
        let error = self.decide(&notice);
        let answer = Answer { id: notice.id, value: 0, error: -error, flags: if error == 0 { GO_ON } else { 0 } };
        // SAFETY: as above; an answer to who is gone is an error without meaning.
        unsafe { libc::ioctl(self.fd(), SEND as _, &raw const answer) };
    }

    /// The error a call gets, or 0: it goes on.
    fn decide(&mut self, notice: &Notice) -> i32 {
        if notice.arch != NATIVE {
            self.blind = true;
            // Numbers of 32-bit x86: socketcall and socket.
            return if self.supervisor.is_some() && matches!(notice.number, 102 | 359) { libc::EACCES } else { 0 };
        }
        let number = libc::c_long::from(notice.number);
        let view = View::of(notice.tid);
        if let Some((_, whom)) = calls::SIGNALS.iter().find(|(n, _)| *n == number) {
            return if self.own_process(notice, *whom) { 0 } else { libc::EPERM };
        }
        let mut error = 0;
        for call in calls::all().filter(|c| c.number == number) {
            let looked = look(&view, call, &notice.args);
            // SAFETY: the number is in our memory. After this we know that what we read was the caller's.
            if unsafe { libc::ioctl(self.fd(), STILL_THERE as _, &raw const notice.id) } != 0 {
                return 0;
            }
            match looked {
                Err(Unseen) => self.blind = true,
                Ok(Some(path)) if !self.is_own(&path) => {
                    self.note(&path);
                    let refused = match self.refuse {
                        Refuse::Nothing => false,
                        Refuse::Changes => call.does == Does::Change,
                        Refuse::Everything => true,
                    };
                    if refused {
                        error = libc::EROFS;
                    }
                }
                Ok(_) => {}
            }
        }
        error
    }

    fn is_own(&self, path: &Path) -> bool {
        // Its own numbers in /proc are not the machine's.
        self.own.iter().any(|own| path.starts_with(own)) || path.starts_with("/proc/self") || path.starts_with("/proc/thread-self")
    }

    fn note(&mut self, path: &Path) {
        let shown = match self.root.as_deref().and_then(|root| path.strip_prefix(root).ok()) {
            Some(beside) => Path::new("..").join(beside),
            None => path.to_owned(),
        };
        let home = std::env::home_dir().filter(|h| h.components().count() > 1);
        let shown = match home.as_deref().and_then(|home| shown.strip_prefix(home).ok()) {
            Some(rest) => Path::new("~").join(rest),
            None => shown,
        };
        if self.paths.len() < MOST {
            self.paths.insert(shown.to_string_lossy().into_owned());
        }
    }

    /// Whether a signal stays within the run.
    fn own_process(&self, notice: &Notice, whom: Whom) -> bool {
        let Some(supervisor) = self.supervisor else { return true };
        let target = notice.args[0] as i32;
        match (whom, target) {
            (Whom::Descriptor, fd) => {
                let info = fs::read_to_string(format!("/proc/{}/fdinfo/{fd}", notice.tid)).unwrap_or_default();
                let pid = info.lines().find_map(|l| l.strip_prefix("Pid:")?.trim().parse().ok());
                pid.is_some_and(|pid| descends(pid, supervisor))
            }
            // Its own group.
            (Whom::Number, 0) => true,
            (Whom::Number, 1..) => descends(target, supervisor),
            (Whom::Number, -1) => false,
            (Whom::Number, group) => in_group(-group).into_iter().all(|pid| descends(pid, supervisor)),
        }
    }
}

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xC000_003E;
#[cfg(not(target_arch = "x86_64"))]
const NATIVE: u32 = 0xC000_00B7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_structures_have_the_size_that_its_calls_carry() {
        assert_eq!((size_of::<Notice>(), size_of::<Answer>()), (0x50, 0x18));
    }
}
