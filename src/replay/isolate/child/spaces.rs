//! Owns a run's namespaces from inside: ids, mounts, loopback and process limit. Raw system calls only (see `child`).

use std::ffi::CStr;

use super::super::Level;
use super::super::measures::Measures;
use super::super::plan::Plan;
use super::wire::{NO_PLACE, Note, errno, exit, tell, write_file};

/// Makes the place of a run in fresh namespaces.
pub(super) unsafe fn make(plan: &Plan) -> Measures {
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
        if !plan.landlock {
            devices();
        }
        if set(c"/", libc::AT_RECURSIVE as u32, READ_ONLY, 0) {
            in_force = in_force.with(Measures::READONLY);
        }
        let quiet = libc::MS_NOSUID | libc::MS_NODEV;
        let tmpfs =
            |at: &CStr, options: &CStr| libc::mount(c"mechanic".as_ptr(), at.as_ptr(), c"tmpfs".as_ptr(), quiet, options.as_ptr().cast());
        if tmpfs(&plan.root, &plan.tmpfs_options) != 0 {
            no_place(3);
        }
        in_force = in_force.with(Measures::TMPFS);
        for folder in plan.folders.iter().chain([&plan.empty, &plan.shared]) {
            if libc::mkdir(folder.as_ptr(), 0o755) != 0 {
                no_place(4);
            }
        }
        // Folders of the one tmpfs: each file system more is made and undone at a cost that a short run feels.
        for folder in &plan.hidden {
            if !bind(&plan.empty, folder) || !set(folder, 0, READ_ONLY, 0) {
                no_place(5);
            }
        }
        libc::chmod(plan.shared.as_ptr(), 0o1777);
        bind(&plan.shared, c"/dev/shm");
        if libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), quiet | libc::MS_NOEXEC, null.cast()) == 0 {
            in_force = in_force.with(Measures::PROC);
            // A limit of this namespace alone, since Linux 6.14; before, it is the machine's and cannot be written.
            if write_file(c"/proc/sys/kernel/pid_max", &plan.pid_max) {
                in_force = in_force.with(Measures::PIDS);
            }
            // For root the kernel's switches lie there, capabilities or not.
            set(c"/proc", 0, READ_ONLY, 0);
        }
        loopback();
    }
    in_force
}

fn no_place(step: i32) -> ! {
    tell(Note { tag: NO_PLACE, a: step, b: errno(), c: 0 });
    exit(1)
}

const READ_ONLY: u64 = 1;
const NO_DEVICES: u64 = 4;

#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

fn set(path: &CStr, flags: u32, set: u64, clear: u64) -> bool {
    let attr = MountAttr { set, clear, propagation: 0, userns: 0 };
    // SAFETY: the structure and its size belong together.
    unsafe { libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path.as_ptr(), flags, &raw const attr, size_of::<MountAttr>()) == 0 }
}

fn bind(path: &CStr, at: &CStr) -> bool {
    let null = std::ptr::null();
    // SAFETY: C strings; null where the kernel takes none.
    unsafe { libc::mount(path.as_ptr(), at.as_ptr(), null, libc::MS_BIND, null.cast()) == 0 }
}

/// Mounts a folder over itself, read-only.
pub(super) fn read_only(folder: &CStr) -> bool {
    bind(folder, folder) && set(folder, 0, READ_ONLY, 0)
}

/// A read-only mount does not stop writing to a device, and root owns the disk's. Where no Landlock does, all but the harmless are closed.
fn devices() {
    const HARMLESS: [&CStr; 6] = [c"/dev/null", c"/dev/zero", c"/dev/full", c"/dev/random", c"/dev/urandom", c"/dev/tty"];
    let bound = HARMLESS.map(|device| bind(device, device));
    set(c"/", libc::AT_RECURSIVE as u32, NO_DEVICES, 0);
    for (device, bound) in HARMLESS.iter().zip(bound) {
        if bound {
            set(device, 0, 0, NO_DEVICES);
        }
    }
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
