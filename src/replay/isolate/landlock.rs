//! Owns Landlock: after it a process writes below its own folders only, whatever mounts and modes say. Raw system calls only (see `child`).

use std::ffi::CStr;

use super::Level;
use super::plan::Plan;

#[repr(C)]
struct Ruleset {
    fs: u64,
    net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: i32,
}

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

/// The kernel's version of Landlock; 0 where it has none.
pub(super) fn version() -> i64 {
    // SAFETY: asks for the version, reads nothing.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, 1u32) }.max(0)
}

/// Confines this process and all that it starts; whether it is in force.
pub(super) unsafe fn restrict(plan: &Plan) -> bool {
    let version = version();
    if version < 1 {
        return false;
    }
    let fs: u64 = match version {
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3 | 4 => (1 << 15) - 1,
        _ => (1 << 16) - 1,
    };
    // A namespace of its own has no network to close, and its loopback is wanted.
    let net = if version >= 4 && plan.level == Level::Bare { 0b11 } else { 0 };
    let scoped = if version >= 6 { 0b11 } else { 0 };
    let size = match version {
        1..=3 => 8,
        4 | 5 => 16,
        _ => 24,
    };
    let attr = Ruleset { fs, net, scoped };
    // SAFETY: the structure is as long as the version's size says, or longer.
    unsafe {
        let ruleset = libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attr, size as usize, 0u32) as libc::c_int;
        if ruleset < 0 {
            return false;
        }
        let mut all = allow(ruleset, c"/", (EXECUTE | READ_FILE | READ_DIR) & fs);
        for folder in &plan.writable {
            all &= allow(ruleset, folder, fs);
        }
        // Devices of everyday use; missing ones are no fault.
        for device in [c"/dev/null", c"/dev/zero", c"/dev/full", c"/dev/tty"] {
            allow(ruleset, device, (READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV) & fs);
        }
        if plan.level != Level::Bare {
            allow(ruleset, c"/dev/shm", fs);
        }
        let done = all && libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0u32) == 0;
        libc::close(ruleset);
        done
    }
}

unsafe fn allow(ruleset: libc::c_int, path: &CStr, allowed: u64) -> bool {
    // SAFETY: a valid C string, and a structure of the kernel's layout.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
        if fd < 0 {
            return false;
        }
        let rule = Beneath { allowed, parent: fd };
        let done = libc::syscall(libc::SYS_landlock_add_rule, ruleset, 1u32, &raw const rule, 0u32) == 0;
        libc::close(fd);
        done
    }
}
