//! Owns the list of system calls that change a file system: where each names its file, and what it does to it.

/// Where a call names a file: argument numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A folder's descriptor and a path.
    At(usize, usize),
    Path(usize),
    Open(usize),
}

/// What a call does to the file it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Opens it; the flags are this argument.
    Open(usize),
    /// Opens it; the flags begin the structure this argument points to.
    OpenHow(usize),
    /// Creates or empties it.
    Creat,
    /// Makes a new name; fails where there is one.
    Make,
    /// Gives a file this name, whether or not there is one.
    Put,
    /// Takes the name away.
    Remove,
    /// Changes its length, mode, owner, times or attributes.
    Change,
}

pub struct Call {
    pub number: libc::c_long,
    pub place: Place,
    pub does: Does,
}

const fn call(number: libc::c_long, place: Place, does: Does) -> Call {
    Call { number, place, does }
}

use Does::{Change, Make, Put, Remove};
use Place::{At, Path};

/// Calls of every architecture. The last ones have the same number everywhere.
const COMMON: &[Call] = &[
    call(libc::SYS_openat, At(0, 1), Does::Open(2)),
    call(libc::SYS_openat2, At(0, 1), Does::OpenHow(2)),
    call(libc::SYS_mkdirat, At(0, 1), Make),
    call(libc::SYS_mknodat, At(0, 1), Make),
    call(libc::SYS_unlinkat, At(0, 1), Remove),
    call(libc::SYS_renameat2, At(0, 1), Remove),
    call(libc::SYS_renameat2, At(2, 3), Put),
    // A link is a second way to the file: what is then written inside is written outside.
    call(libc::SYS_linkat, At(0, 1), Change),
    call(libc::SYS_linkat, At(2, 3), Make),
    call(libc::SYS_symlinkat, At(1, 2), Make),
    call(libc::SYS_truncate, Path(0), Change),
    call(libc::SYS_fchmodat, At(0, 1), Change),
    call(libc::SYS_fchmod, Place::Open(0), Change),
    call(libc::SYS_fchownat, At(0, 1), Change),
    call(libc::SYS_fchown, Place::Open(0), Change),
    call(libc::SYS_utimensat, At(0, 1), Change),
    call(libc::SYS_setxattr, Path(0), Change),
    call(libc::SYS_lsetxattr, Path(0), Change),
    call(libc::SYS_fsetxattr, Place::Open(0), Change),
    call(libc::SYS_removexattr, Path(0), Change),
    call(libc::SYS_lremovexattr, Path(0), Change),
    call(libc::SYS_fremovexattr, Place::Open(0), Change),
    // fchmodat2, setxattrat, removexattrat, file_setattr
    call(452, At(0, 1), Change),
    call(463, At(0, 1), Change),
    call(466, At(0, 1), Change),
    call(469, At(0, 1), Change),
];

/// Calls that only the older architectures have.
#[cfg(target_arch = "x86_64")]
const OLD: &[Call] = &[
    call(libc::SYS_open, Path(0), Does::Open(1)),
    call(libc::SYS_creat, Path(0), Does::Creat),
    call(libc::SYS_mkdir, Path(0), Make),
    call(libc::SYS_mknod, Path(0), Make),
    call(libc::SYS_rmdir, Path(0), Remove),
    call(libc::SYS_unlink, Path(0), Remove),
    call(libc::SYS_rename, Path(0), Remove),
    call(libc::SYS_rename, Path(1), Put),
    call(libc::SYS_renameat, At(0, 1), Remove),
    call(libc::SYS_renameat, At(2, 3), Put),
    call(libc::SYS_link, Path(0), Change),
    call(libc::SYS_link, Path(1), Make),
    call(libc::SYS_symlink, Path(1), Make),
    call(libc::SYS_chmod, Path(0), Change),
    call(libc::SYS_chown, Path(0), Change),
    call(libc::SYS_lchown, Path(0), Change),
    call(libc::SYS_utime, Path(0), Change),
    call(libc::SYS_utimes, Path(0), Change),
    call(libc::SYS_futimesat, At(0, 1), Change),
];
#[cfg(target_arch = "aarch64")]
const OLD: &[Call] = &[call(libc::SYS_renameat, At(0, 1), Remove), call(libc::SYS_renameat, At(2, 3), Put)];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OLD: &[Call] = &[];

pub fn all() -> impl Iterator<Item = &'static Call> {
    COMMON.iter().chain(OLD)
}

/// Calls that reach other processes: which one, by a number or by a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    Number,
    Descriptor,
}

pub const SIGNALS: &[(libc::c_long, Whom)] = &[
    (libc::SYS_kill, Whom::Number),
    (libc::SYS_tkill, Whom::Number),
    (libc::SYS_tgkill, Whom::Number),
    (libc::SYS_rt_sigqueueinfo, Whom::Number),
    (libc::SYS_rt_tgsigqueueinfo, Whom::Number),
    (libc::SYS_pidfd_send_signal, Whom::Descriptor),
];

/// Flags of open that ask for more than reading.
pub const WRITING: u64 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | UNNAMED) as u64;
/// `O_TMPFILE` without the folder's bit.
pub const UNNAMED: libc::c_int = 0o20_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_reading_asks_for_nothing_that_is_looked_at() {
        assert_eq!((libc::O_RDONLY | libc::O_CLOEXEC | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK) as u64 & WRITING, 0);
        for flags in [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TMPFILE | libc::O_RDWR] {
            assert_ne!(flags as u64 & WRITING, 0);
        }
    }

    #[test]
    fn a_call_is_there_once_for_each_file_it_names() {
        let mut seen = std::collections::BTreeSet::new();
        assert!(all().all(|c| seen.insert((c.number, format!("{:?}", c.place)))));
    }
}
