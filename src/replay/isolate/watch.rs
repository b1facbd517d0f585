//! Owns the time between go and end of a run: reading what it says, answering what it asks, and its clock.

use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use super::child::{self, GO};
use super::measures::Measures;
use super::output::Captured;
use super::outside::{Refuse, Witness};
use super::spawn::{Started, note, wait};
use super::{End, Level};

pub(super) struct Watched {
    pub end: End,
    pub out: Captured,
    pub err: Captured,
    pub left: bool,
    pub full: bool,
    pub measures: Measures,
    pub took: Duration,
    /// Where it would have written outside its place.
    pub outside: Vec<String>,
    /// The place is still there to be read.
    pub reachable: bool,
}

/// Time a supervisor without namespaces has to hunt down what a run left.
const HUNT: Duration = Duration::from_secs(12);

/// Lets the validator go and follows it to its end.
pub(super) fn watch(started: &mut Started, root: &Path, timeout: Duration, grace: Duration) -> io::Result<Watched> {
    let mut seen = Watched {
        end: End::TimedOut { killed: true },
        out: Captured::default(),
        err: Captured::default(),
        left: false,
        full: false,
        measures: Measures::default(),
        took: Duration::ZERO,
        outside: Vec::new(),
        reachable: false,
    };
    let bare = started.child.level == Level::Bare;
    if let Some(go) = &mut started.go {
        go.write_all(&[GO])?;
    }
    let begun = Instant::now();
    let mut until = begun + timeout;
    let mut termed = false;
    let mut failed: Option<String> = None;
    let mut witness: Option<Witness> = None;
    let mut listening = true;
    let mut stayed = false;
    let mut buffer = vec![0u8; 64 << 10];
    let (mut out_open, mut err_open) = (true, true);
    loop {
        let mut fds = vec![started.status.as_raw_fd()];
        fds.extend(out_open.then(|| started.out.as_raw_fd()));
        fds.extend(err_open.then(|| started.err.as_raw_fd()));
        let asked = witness.as_ref().filter(|_| listening).map(Witness::fd);
        fds.extend(asked);
        let ready = wait(&fds, until)?;
        if let (Some(_), Some(witness), Some(events)) = (asked, &mut witness, ready.last()) {
            if events & libc::POLLIN != 0 {
                witness.answer();
            } else if events & (libc::POLLHUP | libc::POLLERR) != 0 {
                // Nobody is left to ask.
                listening = false;
            }
        }
        // One helping a turn: a stream without end must not keep us from the clock.
        out_open = out_open && drain(&mut started.out, &mut seen.out, &mut buffer, 4)?;
        err_open = err_open && drain(&mut started.err, &mut seen.err, &mut buffer, 4)?;
        match note(&started.status)? {
            Some((n, listener)) if n.tag == child::STARTING => {
                seen.measures = seen.measures.with(Measures(n.a as u32));
                if let Some(listener) = listener {
                    let refuse = match (bare, seen.measures.has(Measures::LANDLOCK)) {
                        (false, _) => Refuse::Nothing,
                        (true, true) => Refuse::Changes,
                        (true, false) => Refuse::Everything,
                    };
                    witness = Some(Witness::new(listener, root, bare, refuse, bare.then_some(started.child.pid)));
                }
            }
            Some((n, _)) if n.tag == child::NO_EXEC => {
                let why = io::Error::from_raw_os_error(n.a);
                failed = Some(match (n.b, n.a) {
                    (1, _) => format!("its folder cannot be entered: {why}"),
                    (_, libc::ENOENT) => "the program, or the interpreter that its first line names, is not there".to_owned(),
                    _ => format!("it cannot be started: {why}"),
                });
            }
            Some((n, _)) if n.tag == child::DONE => {
                seen.took = begun.elapsed();
                (seen.left, seen.full, seen.reachable) = (n.b != 0, n.c == 1, true);
                stayed = n.b == child::STAYED;
                seen.end = match failed {
                    Some(why) => End::NotStarted(why),
                    None if termed => End::TimedOut { killed: false },
                    None if libc::WIFSIGNALED(n.a) => End::Signalled(libc::WTERMSIG(n.a)),
                    None => End::Exited(libc::WEXITSTATUS(n.a)),
                };
                break;
            }
            _ => {}
        }
        if Instant::now() >= until {
            if termed {
                seen.took = begun.elapsed();
                break;
            }
            termed = true;
            until = Instant::now() + grace;
            started.child.signal(libc::SIGTERM);
        }
    }
    if let Some(witness) = witness {
        if witness.blind {
            seen.measures = seen.measures.without(Measures::SEEN);
        }
        // Closed with this: whoever still asks is told that there is nobody.
        seen.outside = witness.paths();
    }
    if !seen.reachable {
        seen.left = true;
        // It waits for nothing any more, and hears so before it is told to end.
        started.go = None;
        started.child.signal(if bare { libc::SIGUSR1 } else { libc::SIGKILL });
        stayed = !started.child.reap(HUNT);
    }
    if stayed {
        return Err(io::Error::other("it left processes that cannot be ended"));
    }
    // All writers are gone: what is left is what fits in a pipe.
    drain(&mut started.out, &mut seen.out, &mut buffer, 256)?;
    drain(&mut started.err, &mut seen.err, &mut buffer, 256)?;
    Ok(seen)
}

/// Reads what is there, at most `helpings` buffers; whether the stream is still open.
fn drain(from: &mut PipeReader, into: &mut Captured, buffer: &mut [u8], helpings: usize) -> io::Result<bool> {
    for _ in 0..helpings {
        match from.read(buffer) {
            Ok(0) => return Ok(false),
            Ok(n) => into.push(buffer.get(..n).unwrap_or_default()),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(true)
}
