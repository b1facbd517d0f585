//! Owns the sight of writes outside: a run's calls that change files stop at us for a moment, and those that would reach outside its place
//! are written down. What stops them is the mounts and Landlock, which look again when the call goes on; where they cannot, we refuse. A
//! program that races with its own memory may hide a name from us, and gains nothing by it where mounts or Landlock are in force.

mod calls;
mod filter;
mod view;

pub(super) use filter::{Wanted, program};

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use calls::{Call, Does, Place, UNNAMED, WRITING, Whom};
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
        let number = i64::from(notice.number);
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

/// Parent and group of a process.
fn kin(pid: i32) -> Option<(i32, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = text.get(text.rfind(')')? + 1..)?.split_whitespace().skip(1).map(str::parse::<i32>);
    Some((words.next()?.ok()?, words.next()?.ok()?))
}

fn descends(pid: i32, from: libc::pid_t) -> bool {
    let mut here = pid;
    for _ in 0..4096 {
        match kin(here) {
            Some((parent, _)) if parent == from => return true,
            Some((parent, _)) if parent > 1 => here = parent,
            // Who is gone cannot be hurt.
            None => return here == pid,
            _ => return false,
        }
    }
    false
}

fn in_group(group: i32) -> Vec<i32> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    names.filter_map(|e| e.file_name().to_str()?.parse().ok()).filter(|pid| kin(*pid).is_some_and(|(_, g)| g == group)).collect()
}

/// A call that could not be looked at.
struct Unseen;

/// The file a call would change; `None` where it would change nothing.
fn look(view: &View, call: &Call, args: &[u64; 6]) -> Result<Option<PathBuf>, Unseen> {
    let arg = |i: usize| args.get(i).copied().unwrap_or(0);
    let flags = match call.does {
        Does::Open(i) => arg(i),
        Does::OpenHow(i) => {
            let bytes = view.memory(arg(i), 8).ok_or(Unseen)?;
            bytes.try_into().map(u64::from_ne_bytes).map_err(|_| Unseen)?
        }
        Does::Creat => (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64,
        _ => 0,
    };
    let opens = matches!(call.does, Does::Open(_) | Does::OpenHow(_) | Does::Creat);
    if opens && (flags & WRITING == 0 || flags & libc::O_PATH as u64 != 0) {
        return Ok(None);
    }
    let (folder, named) = match call.place {
        Place::Open(fd) => (arg(fd) as i32, None),
        Place::At(fd, path) if arg(path) == 0 => (arg(fd) as i32, None),
        Place::At(fd, path) => (arg(fd) as i32, Some(view.text(arg(path)).ok_or(Unseen)?)),
        Place::Path(path) => (libc::AT_FDCWD, Some(view.text(arg(path)).ok_or(Unseen)?)),
    };
    let path = match named {
        // The open file itself, or no name at all, which the kernel refuses.
        None => view.descriptor(folder),
        Some(path) if path.as_os_str().is_empty() => view.descriptor(folder),
        Some(path) => {
            let base = if path.is_absolute() { Some(PathBuf::from("/")) } else { view.descriptor(folder) };
            let exclusive = (libc::O_CREAT | libc::O_EXCL) as u64;
            let follow = match call.does {
                Does::Make | Does::Put | Does::Remove => false,
                _ if opens => flags & libc::O_NOFOLLOW as u64 == 0 && flags & exclusive != exclusive,
                _ => true,
            };
            base.and_then(|base| view.resolve(&base, &path, follow))
        }
    };
    let Some(path) = path else { return Ok(None) };
    let at = view.outside(&path);
    let found = fs::symlink_metadata(&at).ok().map(|m| m.file_type());
    let could_be = found.is_some() || at.parent().is_some_and(Path::is_dir);
    Ok((could_be && changes(call.does, flags, found.map(kind))).then_some(path))
}

/// What there is under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Folder,
    /// A terminal, `/dev/null` and the like: nothing stays there.
    Device,
    Other,
}

fn kind(kind: fs::FileType) -> Found {
    match () {
        () if kind.is_dir() => Found::Folder,
        () if kind.is_char_device() => Found::Device,
        () => Found::Other,
    }
}

/// Whether a call would change what there is under a name, if it were let. What fails anyway for another reason is no write: `mkdir -p`
/// asks for every folder on its way.
fn changes(does: Does, flags: u64, found: Option<Found>) -> bool {
    let has = |flag: libc::c_int| flags & flag as u64 != 0;
    match (does, found) {
        (Does::Make, found) => found.is_none(),
        (Does::Put, _) => true,
        (Does::Remove, found) => found.is_some(),
        (Does::Change, found) => found.is_some_and(|f| f != Found::Device),
        (_, None) => has(libc::O_CREAT),
        (_, Some(_)) if has(libc::O_CREAT) && has(libc::O_EXCL) => false,
        (_, Some(Found::Folder)) => has(UNNAMED),
        (_, Some(Found::Device)) => false,
        (_, Some(Found::Other)) => has(libc::O_WRONLY | libc::O_RDWR | libc::O_TRUNC),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_would_change_something_is_a_write() {
        use Found::{Device, Folder, Other};
        let open = |flags: libc::c_int, found| changes(Does::Open(0), flags as u64, found);
        assert!(open(libc::O_WRONLY, Some(Other)) && open(libc::O_CREAT, None) && open(libc::O_TRUNC, Some(Other)));
        assert!(!open(libc::O_WRONLY, None) && !open(libc::O_WRONLY, Some(Device)) && !open(libc::O_RDWR, Some(Folder)));
        assert!(!open(libc::O_CREAT, Some(Other)) && !open(libc::O_CREAT | libc::O_EXCL | libc::O_RDWR, Some(Other)));
        assert!(open(libc::O_TMPFILE | libc::O_RDWR, Some(Folder)));
        assert!(changes(Does::Make, 0, None) && !changes(Does::Make, 0, Some(Folder)));
        assert!(changes(Does::Remove, 0, Some(Folder)) && !changes(Does::Remove, 0, None));
        assert!(changes(Does::Change, 0, Some(Folder)) && !changes(Does::Change, 0, None));
    }

    #[test]
    fn the_kernels_structures_have_the_size_that_its_calls_carry() {
        assert_eq!((size_of::<Notice>(), size_of::<Answer>()), (0x50, 0x18));
    }
}
