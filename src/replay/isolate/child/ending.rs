//! Owns the end of a run from inside: waiting for the validator, and ending whatever it left. Raw system calls only (see `child`).

use std::ffi::CStr;

use super::wire::{LEFT, STAYED, errno};

/// How long what was left is hunted where no namespace ends it at once.
const HUNT_MS: u32 = 10_000;

/// Waits for the validator's end and reaps what else ends on the way. The validator itself stays unreaped: while it does, its number is
/// nobody else's, and signals to it reach nobody else.
pub(super) fn wait_for(child: libc::pid_t) {
    loop {
        // SAFETY: a zeroed siginfo is filled by the kernel.
        let (done, pid) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            (libc::waitid(libc::P_ALL, 0, &mut info, libc::WEXITED | libc::WNOWAIT), info.si_pid())
        };
        if done != 0 {
            if errno() == libc::EINTR {
                continue;
            }
            return;
        }
        if pid == child {
            return;
        }
        // SAFETY: our own child, which has ended.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    }
}

/// Ends everything that the validator left running; its status, and what it left.
pub(super) fn end_the_rest(bare: bool, child: libc::pid_t) -> (i32, i32) {
    let mut status = 0;
    // SAFETY: signals to what belongs to this run alone.
    unsafe {
        if bare {
            // While the validator is not reaped, its group is surely its own.
            libc::kill(-child, libc::SIGKILL);
        }
        while libc::waitpid(child, &mut status, 0) < 0 && errno() == libc::EINTR {}
        if bare {
            return (status, hunt());
        }
        // What has ended by itself is not left.
        while libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) > 0 {}
        let left = libc::kill(-1, libc::SIGKILL) == 0;
        while libc::waitpid(-1, std::ptr::null_mut(), 0) > 0 || errno() == libc::EINTR {}
        (status, if left { LEFT } else { 0 })
    }
}

/// What has left the group comes to us when its parent dies; we look until nobody is left.
unsafe fn hunt() -> i32 {
    let mut left = 0;
    // SAFETY: our own children only.
    unsafe {
        for _ in 0..HUNT_MS {
            loop {
                let mut status = 0;
                match libc::waitpid(-1, &mut status, libc::WNOHANG) {
                    0 => break,
                    -1 if errno() == libc::EINTR => {}
                    -1 => return left,
                    // It ended because we ended it.
                    _ if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL => left = LEFT,
                    _ => {}
                }
            }
            if kill_children() {
                left = LEFT;
            }
            let pause = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            libc::nanosleep(&pause, std::ptr::null_mut());
        }
    }
    STAYED
}

/// Kills the children the kernel lists for this process.
unsafe fn kill_children() -> bool {
    let mut buffer = [0u8; 4096];
    let mut any = false;
    // SAFETY: reads into a buffer of that length.
    unsafe {
        let fd = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return false;
        }
        let mut pid: libc::pid_t = 0;
        loop {
            let n = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
            if n <= 0 {
                break;
            }
            for byte in buffer.iter().take(n as usize) {
                match byte {
                    b'0'..=b'9' => pid = pid.wrapping_mul(10).wrapping_add(i32::from(byte - b'0')),
                    _ if pid > 1 => {
                        libc::kill(pid, libc::SIGKILL);
                        any = true;
                        pid = 0;
                    }
                    _ => pid = 0,
                }
            }
        }
        libc::close(fd);
    }
    any
}

/// Whether the place has no room left.
pub(super) fn is_full(root: &CStr) -> bool {
    // SAFETY: a zeroed statfs is filled by the kernel.
    unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        libc::statfs(root.as_ptr(), &mut stat) == 0 && stat.f_blocks > 0 && (stat.f_bavail < 2 || stat.f_files > 0 && stat.f_ffree < 2)
    }
}
