//! Owns running the command so that nobody notices the recorder: same input, output, status and signals.

use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

/// Longer standard input is passed on and not kept.
const INPUT_CAP: usize = 16 << 20;

/// How the command ended.
#[derive(Debug)]
pub enum Ended {
    Exited { status: u8, input: Option<Vec<u8>> },
    Killed { signal: i32, input: Option<Vec<u8>> },
    NeverStarted { error: io::Error },
}

impl Ended {
    /// As a shell would say it.
    pub fn code(&self) -> u8 {
        match self {
            Ended::Exited { status, .. } => *status,
            Ended::Killed { signal, .. } => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            Ended::NeverStarted { error } if error.kind() == io::ErrorKind::NotFound => 127,
            Ended::NeverStarted { .. } => 126,
        }
    }

    pub fn exit_status(&self) -> Option<i64> {
        match self {
            Ended::Exited { status, .. } => Some(i64::from(*status)),
            _ => None,
        }
    }

    pub fn signal(&self) -> Option<i64> {
        match self {
            Ended::Killed { signal, .. } => Some(i64::from(*signal)),
            _ => None,
        }
    }
}

/// The whole standard input, where it was to be kept and came to its end.
pub(super) fn kept_input(ended: &Ended) -> Option<&[u8]> {
    match ended {
        Ended::Exited { input, .. } | Ended::Killed { input, .. } => input.as_deref(),
        Ended::NeverStarted { .. } => None,
    }
}

/// Runs it to its end. In shadow its standard output goes to ours of errors: a hook's answer on standard output could block, too.
pub(super) fn run(mut command: Command, shadow: bool, keep_input: bool) -> Ended {
    let tee = keep_input && !io::IsTerminal::is_terminal(&io::stdin());
    if tee {
        command.stdin(Stdio::piped());
    }
    if shadow {
        command.stdout(io::stderr());
    }
    // Caught before the child starts, or a signal between would end us alone. What is caught is set back to its default on exec.
    let signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ended::NeverStarted { error },
    };
    if let Ok(signals) = signals {
        forward(signals, &child);
    }
    let kept = tee.then(|| pass_on(&mut child)).flatten();
    let status = loop {
        match child.wait() {
            Ok(status) => break status,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Ended::NeverStarted { error },
        }
    };
    let input = kept.and_then(|kept| kept.lock().ok().and_then(|mut whole| whole.take()));
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited { status: u8::try_from(code & 0xff).unwrap_or(u8::MAX), input },
        (None, signal) => Ended::Killed { signal: signal.unwrap_or(0), input },
    }
}

/// Passes on what is sent to us. An interrupt or quit from a terminal reaches the child by itself, being of the same group.
fn forward(mut signals: Signals, child: &Child) {
    let Some(pid) = i32::try_from(child.id()).ok().map(Pid::from_raw) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if !matches!(signal, SIGINT | SIGQUIT)
                && let Ok(signal) = Signal::try_from(signal)
            {
                // The child may be gone already.
                let _ = kill(pid, signal);
            }
        }
    });
}

/// Copies our standard input to the child's, and keeps it once it has come to its end. The thread is never waited for: a child that
/// ends without reading leaves it blocked, and nothing is kept.
fn pass_on(child: &mut Child) -> Option<Arc<Mutex<Option<Vec<u8>>>>> {
    let mut to = child.stdin.take()?;
    let kept = Arc::new(Mutex::new(None));
    let whole = kept.clone();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        let mut chunk = vec![0; 64 << 10];
        let mut open = true;
        let mut input = io::stdin().lock();
        loop {
            let n = match input.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            if held.len() <= INPUT_CAP {
                held.extend_from_slice(&chunk[..n]);
            }
            // A child that stopped reading has still been given this input.
            open = open && to.write_all(&chunk[..n]).is_ok();
        }
        // Kept before the child sees the end of its input: it may end at once.
        if held.len() <= INPUT_CAP
            && let Ok(mut slot) = whole.lock()
        {
            *slot = Some(held);
        }
        drop(to);
    });
    Some(kept)
}
