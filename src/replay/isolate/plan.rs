//! Owns the plan of one run: everything the child needs, laid out before it is made, because the child may allocate nothing.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use super::measures::Measures;
use super::outside::{self, Wanted};
use super::{Cage, Level};

/// Everything in the form of system calls.
pub(super) struct Plan {
    pub level: Level,
    /// Who makes it: a child whose parent is another has lost it.
    pub parent: libc::pid_t,
    pub landlock: bool,
    /// The filter that asks about calls, and the one for where nobody can be asked; empty where there is none.
    pub watching: Vec<libc::sock_filter>,
    pub refusing: Vec<libc::sock_filter>,
    pub refuse_sockets: bool,
    pub flags: libc::c_int,
    pub uid_map: CString,
    pub gid_map: CString,
    pub tmpfs_options: CString,
    /// Where the copy lies, as the run sees it.
    pub root: CString,
    /// Writable folders below it.
    pub writable: Vec<CString>,
    pub files: CString,
    pub folders: Vec<CString>,
    pub hidden: Vec<CString>,
    /// What is shown instead of them, and what is `/dev/shm`.
    pub empty: CString,
    pub shared: CString,
    pub pid_max: CString,
    pub cwd: CString,
    pub program: CString,
    pub argv: Vec<*const libc::c_char>,
    pub envp: Vec<*const libc::c_char>,
    pub rlimits: Vec<(libc::c_int, u64)>,
    /// The strings `argv` and `envp` point to.
    _strings: Vec<CString>,
}

/// Folders of the place a run may write to, and `files`, which it may only read.
pub(super) const FOLDERS: [&str; 5] = ["stimulus", "out", "home", "tmp", "files"];

pub(super) fn c(bytes: impl AsRef<OsStr>) -> CString {
    // A NUL cannot be in a path or argument; what holds one is cut there, as the kernel would.
    let bytes: Vec<u8> = bytes.as_ref().as_bytes().iter().copied().take_while(|b| *b != 0).collect();
    CString::new(bytes).unwrap_or_default()
}

pub(super) struct What<'a> {
    pub program: &'a Path,
    pub argv: &'a [String],
    pub env: &'a [(String, String)],
    pub cwd: &'a Path,
    pub timeout: Duration,
}

impl Plan {
    pub fn new(cage: &Cage, root: &Path, what: &What<'_>) -> Plan {
        let Cage { level, limits, hidden, without, .. } = cage;
        let level = *level;
        // SAFETY: neither call can fail or touches memory.
        let (uid, gid) = unsafe { (libc::getuid(), libc::getgid()) };
        let spaces = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC;
        let flags = match level {
            Level::User => spaces | libc::CLONE_NEWUSER,
            Level::Root => spaces,
            Level::Bare => 0,
        };
        let mut strings: Vec<CString> = what.argv.iter().map(c).collect();
        let n = strings.len();
        strings.extend(what.env.iter().map(|(k, v)| c(format!("{k}={v}"))));
        let pointers = |list: &[CString]| list.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect::<Vec<_>>();
        let argv = pointers(&strings[..n]);
        let envp = pointers(&strings[n..]);
        let mut rlimits = vec![
            (libc::RLIMIT_CORE as libc::c_int, 0),
            (libc::RLIMIT_FSIZE as libc::c_int, limits.disk),
            (libc::RLIMIT_DATA as libc::c_int, limits.memory),
            (libc::RLIMIT_NOFILE as libc::c_int, 1024),
            // Time by the clock ends a run first; this ends what spins on after all.
            (libc::RLIMIT_CPU as libc::c_int, (what.timeout.as_secs() + 2) * cage.cores),
        ];
        let beside = if level == Level::Bare { limits.others } else { 0 };
        rlimits.push((libc::RLIMIT_NPROC as libc::c_int, limits.processes + beside));
        let under = |name: &str| c(root.join(name));
        let landlock = !without.has(Measures::LANDLOCK) && cage.landlock >= 1;
        let refuse_sockets = level == Level::Bare && !without.has(Measures::SOCKETS);
        // Since its sixth version Landlock keeps signals inside.
        let watch_signals = level == Level::Bare && !(landlock && cage.landlock >= 6);
        let watching = Wanted { watch: true, refuse_sockets, watch_signals };
        let refusing = Wanted { watch: false, refuse_sockets, watch_signals: false };
        Plan {
            level,
            // SAFETY: cannot fail.
            parent: unsafe { libc::getpid() },
            landlock,
            watching: if without.has(Measures::SEEN) { Vec::new() } else { outside::program(watching) },
            refusing: if refuse_sockets { outside::program(refusing) } else { Vec::new() },
            refuse_sockets,
            flags,
            uid_map: c(format!("{uid} {uid} 1")),
            gid_map: c(format!("{gid} {gid} 1")),
            tmpfs_options: c(format!("size={},nr_inodes={},mode=0755", limits.disk, limits.inodes)),
            root: c(root),
            writable: FOLDERS[..4].iter().map(|n| under(n)).collect(),
            files: under("files"),
            folders: FOLDERS.iter().map(|n| under(n)).collect(),
            hidden: hidden.iter().map(c).collect(),
            empty: under(".hidden"),
            shared: under(".shared"),
            pid_max: c(limits.processes.max(301).to_string()),
            cwd: c(what.cwd),
            program: c(what.program),
            argv,
            envp,
            rlimits,
            _strings: strings,
        }
    }
}
