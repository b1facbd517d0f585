//! Owns how the `git` program is run: read only, without a shell, without anything the repository or the user configured to be run.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use anyhow::{Context, bail};

/// A repository may hold configuration from anyone, so every setting that names a program to run is overridden.
const SETTINGS: &[&str] = &[
    "safe.directory=*",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.askPass=",
    "core.sshCommand=false",
    "core.attributesFile=/dev/null",
    "diff.external=",
    "log.showSignature=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "protocol.allow=never",
    "maintenance.auto=false",
    "gc.auto=0",
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_PAGER", "cat"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
];

/// A longer token (a commit message, a path) is cut: what follows in it is skipped, not held.
const TOKEN_CAP: usize = 1 << 20;

/// A running git whose output is read as NUL-terminated tokens.
pub struct Git {
    child: Arc<Mutex<Child>>,
    out: BufReader<ChildStdout>,
    watchdog: Option<(mpsc::Sender<()>, std::thread::JoinHandle<bool>)>,
    limit: Duration,
}

impl Git {
    /// Starts git on one git folder. It is killed when it runs longer than `limit`.
    pub fn start(git_dir: &Path, args: &[&str], limit: Duration) -> anyhow::Result<Git> {
        let mut command = Command::new("git");
        command.env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.envs(ENVIRONMENT.iter().copied());
        command.arg("--no-pager").arg("--git-dir").arg(git_dir);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                bail!(
                    "read the commits of {}: there is no `git` program on PATH; install git, or leave the repository out",
                    git_dir.display()
                )
            }
            Err(e) => return Err(e).with_context(|| format!("start git for {}", git_dir.display())),
        };
        let out = child.stdout.take().context("git has no standard output")?;
        let child = Arc::new(Mutex::new(child));
        let (done, wait) = mpsc::channel::<()>();
        let guarded = child.clone();
        let handle = std::thread::spawn(move || {
            let late = matches!(wait.recv_timeout(limit), Err(mpsc::RecvTimeoutError::Timeout));
            if late && let Ok(mut child) = guarded.lock() {
                // The reader then sees the end of the output; nothing to do where the process is gone already.
                let _ = child.kill();
            }
            late
        });
        Ok(Git { child, out: BufReader::with_capacity(1 << 16, out), watchdog: Some((done, handle)), limit })
    }

    /// Reads the next token into `token`; `false` at the end of the output.
    pub fn next_token(&mut self, token: &mut Vec<u8>) -> io::Result<bool> {
        token.clear();
        let mut any = false;
        loop {
            let held = self.out.fill_buf()?;
            if held.is_empty() {
                return Ok(any);
            }
            any = true;
            let (part, used, ended) = match memchr::memchr(0, held) {
                Some(at) => (&held[..at], at + 1, true),
                None => (held, held.len(), false),
            };
            token.extend_from_slice(&part[..part.len().min(TOKEN_CAP - token.len())]);
            self.out.consume(used);
            if ended {
                return Ok(true);
            }
        }
    }

    /// Waits for the end. An error says that git failed or was killed for running too long.
    pub fn finish(mut self) -> anyhow::Result<()> {
        // What is left unread would block git for ever.
        io::copy(&mut self.out, &mut io::sink())?;
        let late = self.stop_watchdog();
        let status = match self.child.lock() {
            Ok(mut child) => child.wait().context("wait for git")?,
            Err(_) => bail!("wait for git: the watchdog thread died"),
        };
        if late {
            bail!("git ran longer than {} seconds and was stopped", self.limit.as_secs());
        }
        match status.code() {
            Some(0) => Ok(()),
            Some(code) => bail!("git ended with status {code}: is the repository damaged? `git fsck` tells"),
            None => bail!("git was ended by a signal"),
        }
    }

    fn stop_watchdog(&mut self) -> bool {
        let Some((done, handle)) = self.watchdog.take() else { return false };
        drop(done);
        handle.join().unwrap_or(false)
    }
}

impl Drop for Git {
    fn drop(&mut self) {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.stop_watchdog();
    }
}
