//! Owns the filter of system calls: which pass, which are refused, and which are looked at first. A BPF program, built before the child is made.

use super::calls::{self, Does, WRITING};

/// What a filter is to do.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Calls that change files are looked at.
    pub watch: bool,
    /// Nothing may make a socket.
    pub refuse_sockets: bool,
    /// Signals are looked at.
    pub watch_signals: bool,
}

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xC000_00B7;

const ALLOW: u32 = 0x7FFF_0000;
const LOOK: u32 = 0x7FC0_0000;

const fn refuse(errno: libc::c_int) -> u32 {
    0x0005_0000 | errno as u32
}

/// Other processors have no filter, and the report says so.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn program(_: Wanted) -> Vec<libc::sock_filter> {
    Vec::new()
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn program(wanted: Wanted) -> Vec<libc::sock_filter> {
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const BITS: u16 = 0x45;
    const RETURN: u16 = 0x06;
    let op = |code: u16, k: u32, jt: u8, jf: u8| libc::sock_filter { code, jt, jf, k };
    let mut out = vec![op(LOAD, 4, 0, 0), op(EQUAL, NATIVE, 1, 0)];
    // A program of another processor mode (32 bits) has other numbers: nothing of it is understood, so it is looked at whole.
    out.push(op(RETURN, if wanted.watch { LOOK } else { refuse(libc::ENOSYS) }, 0, 0));
    out.push(op(LOAD, 0, 0, 0));
    #[cfg(target_arch = "x86_64")]
    {
        const AT_LEAST: u16 = 0x35;
        // The x32 calls: the same numbers with one more bit.
        out.extend([op(AT_LEAST, 0x4000_0000, 0, 1), op(RETURN, refuse(libc::ENOSYS), 0, 0)]);
    }
    let mut answer = |number: libc::c_long, with: u32| out.extend([op(EQUAL, number as u32, 0, 1), op(RETURN, with, 0, 0)]);
    // It would do all of this past the filter. Libraries take "not there" for an answer.
    answer(libc::SYS_io_uring_setup, refuse(libc::ENOSYS));
    if wanted.refuse_sockets {
        answer(libc::SYS_socket, refuse(libc::EACCES));
    }
    if wanted.watch_signals {
        for (number, _) in calls::SIGNALS {
            answer(*number, LOOK);
        }
    }
    if wanted.watch {
        let mut done = std::collections::BTreeSet::new();
        for call in calls::all().filter(|c| done.insert(c.number)) {
            match call.does {
                Does::Open(flags) => out.extend([
                    op(EQUAL, call.number as u32, 0, 4),
                    op(LOAD, 16 + 8 * flags as u32, 0, 0),
                    op(BITS, WRITING as u32, 0, 1),
                    op(RETURN, LOOK, 0, 0),
                    op(RETURN, ALLOW, 0, 0),
                ]),
                _ => out.extend([op(EQUAL, call.number as u32, 0, 1), op(RETURN, LOOK, 0, 0)]),
            }
        }
    }
    out.push(op(RETURN, ALLOW, 0, 0));
    out
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Runs a program as the kernel does.
    fn run(program: &[libc::sock_filter], arch: u32, number: u32, args: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        for word in [number, arch, 0, 0] {
            data.extend(word.to_ne_bytes());
        }
        args.iter().for_each(|a| data.extend(a.to_ne_bytes()));
        let (mut at, mut a) = (0, 0u32);
        loop {
            let i = &program[at];
            at += 1;
            let jump = |yes: bool| usize::from(if yes { i.jt } else { i.jf });
            match i.code {
                0x20 => a = u32::from_ne_bytes(data[i.k as usize..i.k as usize + 4].try_into().unwrap()),
                0x15 => at += jump(a == i.k),
                0x35 => at += jump(a >= i.k),
                0x45 => at += jump(a & i.k != 0),
                0x06 => return i.k,
                other => panic!("{other:#x}"),
            }
        }
    }

    #[test]
    fn what_writes_is_looked_at_and_what_reads_passes() {
        let program = program(Wanted { watch: true, refuse_sockets: false, watch_signals: false });
        let at = |number: libc::c_long, args: [u64; 6]| run(&program, NATIVE, number as u32, args);
        assert!(program.len() < 256);
        assert_eq!(at(libc::SYS_openat, [0, 0, libc::O_CLOEXEC as u64, 0, 0, 0]), ALLOW);
        assert_eq!(at(libc::SYS_openat, [0, 0, libc::O_WRONLY as u64, 0, 0, 0]), LOOK);
        assert_eq!(at(libc::SYS_open, [0, (libc::O_RDWR | libc::O_CREAT) as u64, 0, 0, 0, 0]), LOOK);
        for call in calls::all().filter(|c| !matches!(c.does, Does::Open(_))) {
            assert_eq!(at(call.number, [0; 6]), LOOK);
        }
        for number in
            [libc::SYS_read, libc::SYS_write, libc::SYS_execve, libc::SYS_socket, libc::SYS_kill, libc::SYS_sendmsg, libc::SYS_clone]
        {
            assert_eq!(at(number, [0; 6]), ALLOW);
        }
        assert_eq!(at(libc::SYS_io_uring_setup, [0; 6]), refuse(libc::ENOSYS));
        assert_eq!(at(libc::SYS_openat | 0x4000_0000, [0; 6]), refuse(libc::ENOSYS));
        assert_eq!(run(&program, 0x4000_0003, 5, [0; 6]), LOOK);
    }

    #[test]
    fn without_a_network_namespace_no_socket_is_made_and_signals_are_looked_at() {
        let wanted = Wanted { watch: false, refuse_sockets: true, watch_signals: true };
        let program = program(wanted);
        let at = |number: libc::c_long| run(&program, NATIVE, number as u32, [0; 6]);
        assert_eq!((at(libc::SYS_socket), at(libc::SYS_kill), at(libc::SYS_unlink)), (refuse(libc::EACCES), LOOK, ALLOW));
        assert_eq!(run(&program, 0x4000_0003, 359, [0; 6]), refuse(libc::ENOSYS));
    }
}
