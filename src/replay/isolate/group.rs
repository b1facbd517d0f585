//! Owns the pids cgroup of a run, where a cgroup v2 subtree is ours to use: how many processes it may have, how much memory, and its end.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Limits;
use super::scratch::SCRATCH;

/// A cgroup in which we may make others.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    base: PathBuf,
    /// The memory controller is handed down as well.
    pub memory: bool,
}

/// The cgroup of one run; whatever is in it ends with it.
pub(super) struct Group {
    path: PathBuf,
    folder: OwnedFd,
    pub memory: bool,
}

impl Groups {
    /// The nearest cgroup above this process that hands the pids controller down and lets us make a group.
    pub fn find() -> Option<Groups> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        Groups::among(&candidates(&mounts, &own))
    }

    fn among(candidates: &[PathBuf]) -> Option<Groups> {
        candidates.iter().find_map(|base| {
            let handed = fs::read_to_string(base.join("cgroup.subtree_control")).ok()?;
            let has = |name: &str| handed.split_whitespace().any(|c| c == name);
            if !has("pids") {
                return None;
            }
            let groups = Groups { base: base.clone(), memory: has("memory") };
            groups.sweep();
            // Only trying tells whether we may.
            groups.make(&Limits::default()).ok().map(|_| groups)
        })
    }

    /// A group with the limits of a run.
    pub fn make(&self, limits: &Limits) -> io::Result<Group> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let path = self.base.join(format!("{SCRATCH}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir(&path)?;
        let folder = match fs::File::open(&path) {
            Ok(folder) => folder.into(),
            Err(e) => {
                let _ = fs::remove_dir(&path);
                return Err(e);
            }
        };
        let mut group = Group { path, folder, memory: false };
        // The first process of a run is not the validator's.
        fs::write(group.path.join("pids.max"), (limits.processes + 1).to_string())?;
        // What the place holds counts as memory, too.
        let memory = limits.memory.saturating_add(limits.disk);
        group.memory = self.memory && fs::write(group.path.join("memory.max"), memory.to_string()).is_ok();
        Ok(group)
    }

    /// Removes what replays that were killed left behind.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.base).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|n| n.strip_prefix(SCRATCH)).and_then(|n| n.split('-').next()?.parse::<u32>().ok());
            if pid.is_some_and(|p| !Path::new(&format!("/proc/{p}")).exists()) {
                end(&entry.path());
            }
        }
    }
}

impl Group {
    pub fn fd(&self) -> libc::c_int {
        self.folder.as_raw_fd()
    }

    /// Puts a process in, where it could not be made there.
    pub fn add(&self, pid: libc::pid_t) -> bool {
        fs::write(self.path.join("cgroup.procs"), pid.to_string()).is_ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        end(&self.path);
    }
}

/// Kills what is in a group and removes it. It goes only when the last process is reaped.
fn end(path: &Path) {
    if fs::remove_dir(path).is_ok() {
        return;
    }
    let _ = fs::write(path.join("cgroup.kill"), "1");
    let until = Instant::now() + Duration::from_secs(2);
    while let Err(e) = fs::remove_dir(path)
        && e.raw_os_error() == Some(libc::EBUSY)
        && Instant::now() < until
    {
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Folders of the cgroups from this process's own up to the top of what is mounted here.
fn candidates(mounts: &str, own: &str) -> Vec<PathBuf> {
    let Some(own) = own.lines().find_map(|l| l.strip_prefix("0::")) else { return Vec::new() };
    let mount = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        if after.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut words = before.split(' ').skip(3);
        Some((words.next()?, words.next()?))
    });
    let Some((root, at)) = mount else { return Vec::new() };
    let Ok(below) = Path::new(own).strip_prefix(root) else { return Vec::new() };
    // Of the group itself `..` is said where it lies outside of what this namespace shows.
    if below.components().any(|c| !matches!(c, std::path::Component::Normal(_))) {
        return Vec::new();
    }
    below.ancestors().map(|part| Path::new(at).join(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_looked_for_from_the_own_one_upwards() {
        let mounts = "25 30 0:23 / /sys rw - sysfs sysfs rw\n31 25 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        let found = |own: &str| candidates(mounts, own).iter().map(|p| p.display().to_string()).collect::<Vec<_>>();
        assert_eq!(
            found("0::/user.slice/a.scope\n"),
            ["/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup/"]
        );
        assert_eq!(found("0::/../x\n"), Vec::<String>::new());
        assert_eq!(found("4:pids:/x\n"), Vec::<String>::new());
        let part = mounts.replace("0:26 / ", "0:26 /box ");
        assert_eq!(candidates(&part, "0::/box/in\n"), [Path::new("/sys/fs/cgroup/in"), Path::new("/sys/fs/cgroup/")]);
    }

    #[test]
    fn only_a_cgroup_that_hands_the_controller_down_is_taken_and_one_without_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Groups::among(&[dir.path().to_owned()]).is_none());
        fs::write(dir.path().join("cgroup.subtree_control"), "memory io\n").unwrap();
        assert!(Groups::among(&[dir.path().to_owned()]).is_none());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
