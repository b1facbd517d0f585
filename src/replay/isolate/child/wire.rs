//! Owns what the child and we say to each other: notes on a socket, one byte back on a pipe. Raw system calls only (see `child`).

use std::ffi::CStr;

/// What the child tells. One message of the socket each, so always whole.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Note {
    pub tag: i32,
    pub a: i32,
    pub b: i32,
    pub c: i32,
}

/// The place is made; `a` = measures.
pub(in super::super) const READY: i32 = 1;
/// Just before exec; `a` = measures of the validator's own process. The listener of its filter comes along, if there is one.
pub(in super::super) const STARTING: i32 = 2;
/// exec failed; `a` = errno, `b` = 1 where its folder could not be entered.
pub(in super::super) const NO_EXEC: i32 = 3;
/// The validator ended; `a` = wait status, `b` = what it left (below), `c` = 1 where its place is full.
pub(in super::super) const DONE: i32 = 4;
/// The place cannot be made; `a` = step, `b` = errno.
pub(in super::super) const NO_PLACE: i32 = 5;

/// It left processes, which were ended.
pub(in super::super) const LEFT: i32 = 1;
/// It left processes, and some could not be ended.
pub(in super::super) const STAYED: i32 = 2;

pub(in super::super) const GO: u8 = b'g';

/// Ends of pipes and of the socket that the child uses.
pub(in super::super) struct Ends {
    pub out: libc::c_int,
    pub err: libc::c_int,
    pub status: libc::c_int,
    pub go: libc::c_int,
}

pub(super) const STATUS: libc::c_int = 3;
pub(super) const GO_END: libc::c_int = 4;

pub(super) fn errno() -> i32 {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() }
}

pub(super) fn exit(code: libc::c_int) -> ! {
    // SAFETY: _exit runs no handlers of the copied process.
    unsafe { libc::_exit(code) }
}

pub(super) fn tell(note: Note) {
    // SAFETY: the pointer and length are of `note`. A parent that is gone must not end us by a signal.
    unsafe { libc::send(STATUS, (&raw const note).cast(), size_of::<Note>(), libc::MSG_NOSIGNAL) };
}

/// Tells a note and hands a descriptor over.
pub(super) fn tell_with(mut note: Note, fd: libc::c_int) -> bool {
    let mut room = [0u64; 8];
    let size = size_of::<libc::c_int>() as u32;
    // SAFETY: the room is large and aligned enough for one header with one descriptor.
    unsafe {
        let mut part = libc::iovec { iov_base: (&raw mut note).cast(), iov_len: size_of::<Note>() };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = room.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        if head.is_null() {
            return false;
        }
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(head).cast::<libc::c_int>().write_unaligned(fd);
        libc::sendmsg(STATUS, &raw const message, libc::MSG_NOSIGNAL) > 0
    }
}

/// One byte of the parent's; 0 when the parent has closed its end or is gone.
pub(super) fn heard() -> u8 {
    let mut byte = 0u8;
    loop {
        // SAFETY: one byte into one byte.
        let n = unsafe { libc::read(GO_END, (&raw mut byte).cast(), 1) };
        match n {
            1 => return byte,
            -1 if errno() == libc::EINTR => {}
            _ => return 0,
        }
    }
}

pub(super) fn write_file(path: &CStr, text: &CStr) -> bool {
    // SAFETY: both are valid C strings.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return false;
        }
        let bytes = text.to_bytes();
        let n = libc::write(fd, bytes.as_ptr().cast(), bytes.len());
        libc::close(fd);
        n == bytes.len() as isize
    }
}
