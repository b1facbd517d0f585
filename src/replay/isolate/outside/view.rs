//! Owns what a file name means to a process of a run: read out of its memory, and followed link by link in its own view of the files.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

/// Links followed at most, as the kernel does.
const MOST_LINKS: usize = 40;

/// A thread of a run, by the number that we know it by.
pub struct View {
    tid: u32,
}

impl View {
    pub fn of(tid: u32) -> View {
        View { tid }
    }

    /// Bytes of its memory, as many as there are.
    pub fn memory(&self, at: u64, most: usize) -> Option<Vec<u8>> {
        let memory = fs::File::open(format!("/proc/{}/mem", self.tid)).ok()?;
        let mut bytes = vec![0; most];
        let mut n = 0;
        while n < most {
            match memory.read_at(bytes.get_mut(n..)?, at.checked_add(n as u64)?) {
                Ok(0) | Err(_) => break,
                Ok(more) => n += more,
            }
        }
        bytes.truncate(n);
        (n > 0).then_some(bytes)
    }

    /// A path in its memory. It ends at the first NUL, which must be there.
    pub fn text(&self, at: u64) -> Option<PathBuf> {
        // Most are short, and a long read may run into a page that is not there.
        for most in [256, libc::PATH_MAX as usize] {
            let mut bytes = self.memory(at, most)?;
            if let Some(end) = bytes.iter().position(|b| *b == 0) {
                bytes.truncate(end);
                return Some(PathBuf::from(OsString::from_vec(bytes)));
            }
        }
        None
    }

    /// Where a descriptor leads; `None` for pipes, sockets and files that have no name.
    pub fn descriptor(&self, fd: i32) -> Option<PathBuf> {
        let link = if fd == libc::AT_FDCWD { format!("/proc/{}/cwd", self.tid) } else { format!("/proc/{}/fd/{fd}", self.tid) };
        self.named(fs::read_link(link).ok()?)
    }

    /// What the kernel says of an open file, as the process would name it.
    fn named(&self, link: PathBuf) -> Option<PathBuf> {
        if !link.is_absolute() || link.starts_with("/memfd:") {
            return None;
        }
        let root = fs::read_link(format!("/proc/{}/root", self.tid)).ok()?;
        Some(Path::new("/").join(link.strip_prefix(root).unwrap_or(&link)))
    }

    /// A path as the process means it, without links; the last part's link is followed where `follow` says so. `None` where it leads to
    /// no file: a pipe by `/dev/stdout`, a circle of links.
    pub fn resolve(&self, base: &Path, path: &Path, follow: bool) -> Option<PathBuf> {
        let mut here = if path.is_absolute() { PathBuf::from("/") } else { base.to_owned() };
        let mut open: VecDeque<OsString> = parts(path);
        let mut links = 0;
        while let Some(part) = open.pop_front() {
            if part == ".." {
                here.pop();
                continue;
            }
            let next = here.join(&part);
            let last = open.is_empty();
            if last && !follow {
                return Some(next);
            }
            // Who reads the link would be meant, not who runs.
            let own = match next.as_os_str().as_bytes() {
                b"/proc/self" => Some(format!("/proc/{}", self.tid)),
                b"/proc/thread-self" => Some(format!("/proc/{0}/task/{0}", self.tid)),
                _ => None,
            };
            if let Some(own) = own {
                let Some(what) = open.pop_front() else { return Some(next) };
                let target = match what.as_os_str().as_bytes() {
                    b"root" => Some(PathBuf::from("/")),
                    b"cwd" => Some(self.descriptor(libc::AT_FDCWD)?),
                    b"fd" => match open.pop_front() {
                        Some(fd) => Some(self.named(fs::read_link(Path::new(&own).join("fd").join(fd)).ok()?)?),
                        None => None,
                    },
                    _ => None,
                };
                match target {
                    Some(target) => here = target,
                    // Its own switches and numbers.
                    None => return Some(next.join(what)),
                }
                continue;
            }
            match fs::read_link(self.outside(&next)) {
                Ok(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return None;
                    }
                    if next.starts_with("/proc") && !target.is_absolute() && target.as_os_str().as_bytes().contains(&b':') {
                        // pipe:[1], socket:[2], anon_inode:x
                        return None;
                    }
                    if target.is_absolute() {
                        here = PathBuf::from("/");
                    }
                    for part in parts(&target).into_iter().rev() {
                        open.push_front(part);
                    }
                }
                Err(_) => here = next,
            }
        }
        Some(here)
    }

    /// A path of the process as we reach it. It must be resolved: a link in it would be followed in our view.
    pub fn outside(&self, path: &Path) -> PathBuf {
        Path::new(&format!("/proc/{}/root", self.tid)).join(path.strip_prefix("/").unwrap_or(path))
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |c: Component<'_>| match c {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        _ => None,
    };
    path.components().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_what_the_process_would_reach_by_it() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", base.join("out")).unwrap();
        std::os::unix::fs::symlink("a", base.join("b")).unwrap();
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();
        fs::write(base.join("a"), "").unwrap();
        // This thread is a process like any other.
        let view = View::of(std::process::id());
        let to = |path: &str, follow| view.resolve(&base, Path::new(path), follow);
        assert_eq!(to("a", true), Some(base.join("a")));
        assert_eq!(to("b", true), Some(base.join("a")));
        assert_eq!(to("b", false), Some(base.join("b")));
        assert_eq!(to("out/x", true), Some("/etc/x".into()));
        assert_eq!(to("./x/../a", true), Some(base.join("a")));
        assert_eq!(to("loop", true), None);
        assert_eq!(to("/proc/self/root/etc/x", true), Some("/etc/x".into()));
        assert_eq!(to("/proc/self/cwd", true), std::env::current_dir().ok());
        assert_eq!(view.descriptor(libc::AT_FDCWD), std::env::current_dir().ok());
        let file = fs::File::open(base.join("a")).unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        assert_eq!(to(&format!("/proc/self/fd/{fd}"), true), Some(base.join("a")));
        assert_eq!(to(&format!("/dev/fd/{fd}"), true), Some(base.join("a")));
        let (pipe, _end) = std::io::pipe().unwrap();
        assert_eq!(to(&format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&pipe)), true), None);
    }

    #[test]
    fn text_is_read_out_of_memory_up_to_its_end() {
        let view = View::of(std::process::id());
        let text = std::ffi::CString::new("/a/b").unwrap();
        assert_eq!(view.text(text.as_ptr() as u64), Some("/a/b".into()));
        assert_eq!(view.text(8), None);
    }
}
