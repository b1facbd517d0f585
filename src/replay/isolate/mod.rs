//! Owns isolation: one validator runs once on a private copy of a stimulus, harms nothing, and leaves nothing.

#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod group;
#[cfg(target_os = "linux")]
mod landlock;
mod measures;
mod output;
#[cfg(target_os = "linux")]
mod outside;
mod place;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod run;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod scratch;
#[cfg(target_os = "linux")]
mod spawn;
#[cfg(all(test, target_os = "linux"))]
mod tests;
#[cfg(target_os = "linux")]
mod watch;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use measures::Measures;
pub use output::Captured;
pub(super) use place::put;
#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
pub(super) use tests::old_program;

use super::stimulus::Prepared;

/// How much the kernel allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Namespaces of its own, made without privileges.
    User,
    /// Namespaces made by root, where user namespaces are off.
    Root,
    /// No namespaces: a supervising process, process groups and Landlock.
    Bare,
}

/// What a run may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of all that it writes, its copy included.
    pub disk: u64,
    pub inodes: u64,
    /// Bytes of data of one process.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Processes the user has beside, where the limit counts those too.
    pub others: u64,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { disk: 512 << 20, inodes: 200_000, memory: 4 << 30, processes: 512, others: 0, grace: Duration::from_millis(500) }
    }
}

/// One run to be done.
pub struct Job<'a> {
    pub stimulus: &'a Prepared,
    /// Name beside the stimulus, and where it lies.
    pub files: &'a [(String, PathBuf)],
    pub command: &'a super::validator::Command,
    /// Names and values let through.
    pub env: &'a [(String, String)],
    pub timeout: Duration,
    /// Files of the copy or of `{out}` whose bytes are wanted afterwards.
    pub wanted: &'a [String],
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Signalled(i32),
    /// No end in time; whether SIGKILL was needed.
    TimedOut {
        killed: bool,
    },
    /// The program could not be started, and why.
    NotStarted(String),
}

/// What a run did.
#[derive(Debug, Clone)]
pub struct Ran {
    pub end: End,
    pub out: Captured,
    pub err: Captured,
    /// In the order of `wanted`; `None` where there is no such file.
    pub wanted: Vec<Option<Vec<u8>>>,
    /// It left processes, which were ended.
    pub left_processes: bool,
    /// Its place was full in the end.
    pub full: bool,
    /// Where it would have written outside its place, sorted. Nothing of it was done.
    pub outside: Vec<String>,
    pub measures: Measures,
    pub took: Duration,
    /// The folder its copy lay in, as it saw it.
    pub root: PathBuf,
}

/// Where runs happen, decided once: what the kernel allows, and where the copy lies.
#[derive(Debug, Clone)]
pub struct Cage {
    pub level: Level,
    pub limits: Limits,
    /// The mount point of a namespace, or the folder of all copies.
    pub(super) root: PathBuf,
    hidden: Vec<&'static str>,
    path: String,
    /// Measures that are not to be used: tests of the degraded ways leave some out.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing runs there"))]
    pub(super) without: Measures,
    #[cfg(target_os = "linux")]
    groups: Option<group::Groups>,
    /// Version of Landlock; 0 where there is none.
    #[cfg(target_os = "linux")]
    landlock: i64,
    #[cfg(target_os = "linux")]
    cores: u64,
    /// What a run without a command gives here.
    pub measures: Measures,
}

impl Cage {
    /// The best that the kernel allows and that is no better than `level`.
    pub fn new_at(level: Level, limits: Limits) -> std::io::Result<Cage> {
        Cage::new_without(level, limits, Measures::default())
    }

    /// The same without some measures that the kernel may allow.
    pub(super) fn new_without(level: Level, limits: Limits, without: Measures) -> std::io::Result<Cage> {
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
        let under = |folder: &str| path.split(':').any(|p| Path::new(p).starts_with(folder));
        let root = ["/tmp", "/mnt", "/media"].into_iter().find(|p| is_folder(p) && !under(p)).unwrap_or("/tmp");
        // Sockets of daemons lie there; programs do so on a few systems only.
        let hidden = if !under("/run") && is_folder("/run") { vec!["/run"] } else { Vec::new() };
        let mut cage = Cage {
            level,
            limits,
            root: PathBuf::from(root),
            hidden,
            path,
            without,
            #[cfg(target_os = "linux")]
            groups: if without.has(Measures::CGROUP) { None } else { group::Groups::find() },
            #[cfg(target_os = "linux")]
            landlock: landlock::version(),
            #[cfg(target_os = "linux")]
            cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
            measures: Measures::default(),
        };
        let levels = [Level::User, Level::Root, Level::Bare];
        for level in levels.into_iter().skip_while(|l| *l != level) {
            cage.level = level;
            if level == Level::Bare {
                // Links resolved: rules and outputs name the folder as the kernel does.
                let temp = std::env::temp_dir();
                cage.root = temp.canonicalize().unwrap_or(temp);
                cage.limits.others = others();
                run::sweep(&cage.root);
            }
            if let Some(measures) = run::probe(&cage) {
                cage.measures = measures;
                return Ok(cage);
            }
        }
        Err(std::io::Error::other(run::NOWHERE))
    }

    /// The program a command's first word names, as the run will find it.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(PathBuf::from(name));
        }
        self.path.split(':').filter(|p| p.starts_with('/')).map(|p| Path::new(p).join(name)).find(|p| is_program(p))
    }

    /// The cgroup of a run, where there can be one.
    #[cfg(target_os = "linux")]
    fn group(&self) -> Option<group::Group> {
        self.groups.as_ref()?.make(&self.limits).ok()
    }

    /// The folders programs are looked for in.
    pub fn path(&self) -> &str {
        &self.path
    }
}

fn is_folder(path: &str) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|m| m.is_dir())
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Processes of this user, threads included: a limit that counts per user counts them as well.
fn others() -> u64 {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: cannot fail.
    let uid = unsafe { libc::getuid() };
    let Ok(listing) = std::fs::read_dir("/proc") else { return 0 };
    let own = listing.flatten().filter(|e| e.file_name().to_str().is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())));
    let threads = own.filter(|e| e.metadata().is_ok_and(|m| m.uid() == uid)).map(|e| {
        let tasks = std::fs::read_dir(e.path().join("task"));
        tasks.map_or(1, |t| t.count() as u64)
    });
    threads.sum()
}
