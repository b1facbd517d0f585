//! Owns one run from outside: making the child, filling its place, reading what it says within its time, and ending it.

use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::child::{self, Ends, Note};
use super::measures::Measures;
use super::output::Captured;
use super::place;
use super::plan::{FOLDERS, Plan, What};
use super::{Cage, End, Job, Level, Ran};
use crate::replay::validator::Command;

/// Why there is no way to run anything.
pub(super) const NOWHERE: &str = "not even a supervised process can be started";

/// Time the kernel has to make a place; more means that the machine is not able to.
const SETUP: Duration = Duration::from_secs(20);

/// The first process of a run; ended and reaped when dropped.
struct Child {
    pid: libc::pid_t,
    level: Level,
    reaped: bool,
}

impl Child {
    fn signal(&self, signal: libc::c_int) {
        // SAFETY: the process is not reaped yet, so its number is its own.
        unsafe { libc::kill(self.pid, signal) };
    }

    fn reap(&mut self, within: Duration) -> bool {
        let end = Instant::now() + within;
        while !self.reaped {
            // SAFETY: our own child, no status wanted.
            let pid = unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG) };
            self.reaped = pid == self.pid || pid < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD);
            if self.reaped || Instant::now() >= end {
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        self.reaped
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        if self.level == Level::Bare {
            // It ends what it supervises, then itself; killed at once it could not.
            self.signal(libc::SIGUSR1);
            if self.reap(Duration::from_secs(3)) {
                return;
            }
        }
        self.signal(libc::SIGKILL);
        // SAFETY: our own child; SIGKILL ends it.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

struct Started {
    child: Child,
    out: PipeReader,
    err: PipeReader,
    status: PipeReader,
    go: io::PipeWriter,
}

fn start(plan: &Plan) -> io::Result<Started> {
    let (out, out_end) = io::pipe()?;
    let (err, err_end) = io::pipe()?;
    let (status, status_end) = io::pipe()?;
    let (go_end, go) = io::pipe()?;
    let ends = Ends { out: out_end.as_raw_fd(), err: err_end.as_raw_fd(), status: status_end.as_raw_fd(), go: go_end.as_raw_fd() };
    let flags = libc::c_long::from(plan.flags | libc::SIGCHLD);
    // SAFETY: like fork; the child does raw system calls only and never returns from `supervise`.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } as libc::pid_t;
    if pid == 0 {
        // SAFETY: this is the fresh child, which has its own copy of plan and descriptors.
        unsafe { child::supervise(plan, &ends) }
    }
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let child = Child { pid, level: plan.level, reaped: false };
    for fd in [out.as_raw_fd(), err.as_raw_fd(), status.as_raw_fd()] {
        // SAFETY: descriptors we own.
        unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) };
    }
    Ok(Started { child, out, err, status, go })
}

/// Waits until one of the pipes can be read or the time is over.
fn wait(fds: &[libc::c_int], until: Instant) -> io::Result<()> {
    let mut polled: Vec<libc::pollfd> = fds.iter().map(|fd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }).collect();
    let left = until.saturating_duration_since(Instant::now());
    let millis = left.as_millis().min(60_000) as libc::c_int + 1;
    // SAFETY: the array and its length belong together.
    if unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, millis) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

/// The next note; `None` when there is none yet. An end of the pipe is an error: the child is gone.
fn note(status: &mut PipeReader) -> io::Result<Option<Note>> {
    let mut bytes = [0u8; size_of::<Note>()];
    match status.read(&mut bytes) {
        Ok(n) if n == bytes.len() => {
            let word = |i: usize| bytes.get(i * 4..i * 4 + 4).and_then(|b| b.try_into().ok()).map_or(0, i32::from_ne_bytes);
            Ok(Some(Note { tag: word(0), a: word(1), b: word(2), c: word(3) }))
        }
        Ok(_) => Err(io::Error::other("the first process of the run is gone")),
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Waits for the place; which measures it has.
fn ready(started: &mut Started) -> io::Result<Measures> {
    let end = Instant::now() + SETUP;
    while Instant::now() < end {
        match note(&mut started.status)? {
            Some(n) if n.tag == child::READY => return Ok(Measures(n.a as u32)),
            Some(n) if n.tag == child::NO_PLACE => {
                let why = io::Error::from_raw_os_error(n.b);
                return Err(io::Error::other(format!("no place for the run can be made (step {}): {why}", n.a)));
            }
            _ => wait(&[started.status.as_raw_fd()], end)?,
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "no place for the run was made in time"))
}

/// Whether the kernel allows what `cage` wants, by doing it once.
pub(super) fn probe(cage: &Cage) -> Option<Measures> {
    let folder = if cage.level == Level::Bare { Some(bare_folder(cage).ok()?) } else { None };
    let root = folder.as_ref().map_or(cage.root.as_path(), |f| f.path());
    let program = cage.program("true")?;
    let what = What { program: &program, argv: &["true".to_owned()], env: &[], cwd: Path::new("/"), timeout: Duration::from_secs(5) };
    let plan = Plan::new(cage.level, root, &cage.hidden, &cage.limits, &what);
    let mut started = start(&plan).ok()?;
    let mut measures = ready(&mut started).ok()?;
    // The place must also be reachable from here, or no copy can be put into it.
    std::fs::metadata(outside(cage.level, started.child.pid, root).join("stimulus")).ok()?;
    started.go.write_all(&[child::GO]).ok()?;
    let end = Instant::now() + SETUP;
    loop {
        match note(&mut started.status) {
            Ok(Some(n)) if n.tag == child::STARTING => measures = measures.with(Measures(n.a as u32)),
            Ok(Some(n)) if n.tag == child::DONE => break,
            Ok(Some(_)) | Err(_) => return None,
            Ok(None) if Instant::now() > end => return None,
            Ok(None) => wait(&[started.status.as_raw_fd()], end).ok()?,
        }
    }
    Some(measures)
}

/// How scratch folders begin; the process that made one follows.
const SCRATCH: &str = "mechanic-replay-";

/// Removes what replays that were killed left behind.
pub(super) fn sweep(root: &Path) {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|n| n.strip_prefix(SCRATCH)).and_then(|n| n.split('-').next()).and_then(|p| p.parse::<u32>().ok());
        if pid.is_some_and(|p| !Path::new(&format!("/proc/{p}")).exists()) {
            open_up(&entry.path());
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn bare_folder(cage: &Cage) -> io::Result<tempfile::TempDir> {
    let prefix = format!("{SCRATCH}{}-", std::process::id());
    let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(&cage.root)?;
    for name in FOLDERS {
        std::fs::create_dir(folder.path().join(name))?;
    }
    Ok(folder)
}

/// The place as we reach it.
fn outside(level: Level, pid: libc::pid_t, root: &Path) -> PathBuf {
    match level {
        Level::Bare => root.to_owned(),
        _ => Path::new(&format!("/proc/{pid}/root")).join(root.strip_prefix("/").unwrap_or(root)),
    }
}

impl Cage {
    /// Runs one validator once. An error means that the machine failed, not the validator.
    pub fn run(&self, job: &Job<'_>) -> io::Result<Ran> {
        let folder = if self.level == Level::Bare { Some(bare_folder(self)?) } else { None };
        let root = folder.as_ref().map_or(self.root.as_path(), |f| f.path()).to_owned();
        let stimulus_folder = root.join("stimulus");
        let stimulus = match &job.stimulus.file {
            Some(name) => stimulus_folder.join(name),
            None => stimulus_folder.clone(),
        };
        let fill_in = |text: &str| {
            text.replace("{stimulus}", &stimulus.to_string_lossy())
                .replace("{files}", &root.join("files").to_string_lossy())
                .replace("{out}", &root.join("out").to_string_lossy())
        };
        let argv: Vec<String> = match job.command {
            Command::Argv(argv) => argv.iter().map(|a| fill_in(a)).collect(),
            Command::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), fill_in(line)],
        };
        let name = argv.first().map_or("", String::as_str);
        let Some(program) = self.program(name) else {
            return Ok(not_started(format!("the program `{}` is in no folder of PATH", crate::plain::escape(name)), self, root));
        };
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut env: Vec<(String, String)> = [
            ("PATH", self.path.clone()),
            ("HOME", text(&root.join("home"))),
            ("TMPDIR", text(&root.join("tmp"))),
            ("LC_ALL", "C.UTF-8".to_owned()),
            ("MECHANIC_STIMULUS", text(&stimulus)),
            ("MECHANIC_FILES", text(&root.join("files"))),
            ("MECHANIC_OUT", text(&root.join("out"))),
            ("MECHANIC_KIND", job.stimulus.kind.to_string()),
        ]
        .map(|(k, v)| (k.to_owned(), v))
        .to_vec();
        if job.stimulus.patch.is_some() {
            env.push(("MECHANIC_PATCH".to_owned(), text(&root.join("patch.diff"))));
        }
        env.extend(job.env.iter().cloned());
        let what = What { program: &program, argv: &argv, env: &env, cwd: &stimulus_folder, timeout: job.timeout };
        let plan = Plan::new(self.level, &root, &self.hidden, &self.limits, &what);
        let mut started = start(&plan)?;
        let measures = ready(&mut started)?;
        let outside = outside(self.level, started.child.pid, &root);
        place::fill(&outside, job.stimulus, job.files)
            .map_err(|e| io::Error::new(e.kind(), format!("the copy of the stimulus cannot be made: {e}")))?;
        let mut watched = watch(&mut started, job.timeout, self.limits.grace)?;
        watched.measures = watched.measures.with(measures);
        let wanted = job.wanted.iter().map(|name| if watched.reachable { place::read_back(&outside, name) } else { None }).collect();
        // It waits for this to end; its end takes the place with it.
        let _ = started.go.write_all(&[child::END]);
        started.child.reap(Duration::from_secs(5));
        if let Some(folder) = folder {
            open_up(folder.path());
        }
        Ok(Ran {
            end: watched.end,
            out: watched.out,
            err: watched.err,
            wanted,
            left_processes: watched.left,
            full: watched.full,
            measures: watched.measures,
            took: watched.took,
            root,
        })
    }
}

fn not_started(why: String, cage: &Cage, root: PathBuf) -> Ran {
    Ran {
        end: End::NotStarted(why),
        out: Captured::default(),
        err: Captured::default(),
        wanted: Vec::new(),
        left_processes: false,
        full: false,
        measures: cage.measures,
        took: Duration::ZERO,
        root,
    }
}

struct Watched {
    end: End,
    out: Captured,
    err: Captured,
    left: bool,
    full: bool,
    measures: Measures,
    took: Duration,
    /// The place is still there to be read.
    reachable: bool,
}

/// Lets the validator go and follows it to its end.
fn watch(started: &mut Started, timeout: Duration, grace: Duration) -> io::Result<Watched> {
    let mut seen = Watched {
        end: End::TimedOut { killed: true },
        out: Captured::default(),
        err: Captured::default(),
        left: false,
        full: false,
        measures: Measures::default(),
        took: Duration::ZERO,
        reachable: false,
    };
    started.go.write_all(&[child::GO])?;
    let begun = Instant::now();
    let mut until = begun + timeout;
    let mut termed = false;
    let mut failed: Option<String> = None;
    let mut buffer = vec![0u8; 256 << 10];
    let (mut out_open, mut err_open) = (true, true);
    loop {
        let mut fds = vec![started.status.as_raw_fd()];
        fds.extend(out_open.then(|| started.out.as_raw_fd()));
        fds.extend(err_open.then(|| started.err.as_raw_fd()));
        wait(&fds, until)?;
        // One helping a turn: a stream without end must not keep us from the clock.
        out_open = out_open && drain(&mut started.out, &mut seen.out, &mut buffer, 1)?;
        err_open = err_open && drain(&mut started.err, &mut seen.err, &mut buffer, 1)?;
        match note(&mut started.status)? {
            Some(n) if n.tag == child::STARTING => seen.measures = seen.measures.with(Measures(n.a as u32)),
            Some(n) if n.tag == child::NO_EXEC => {
                let why = io::Error::from_raw_os_error(n.a);
                failed = Some(match (n.b, n.a) {
                    (1, _) => format!("its folder cannot be entered: {why}"),
                    (_, libc::ENOENT) => "the program, or the interpreter that its first line names, is not there".to_owned(),
                    _ => format!("it cannot be started: {why}"),
                });
            }
            Some(n) if n.tag == child::DONE => {
                seen.took = begun.elapsed();
                (seen.left, seen.full, seen.reachable) = (n.b == 1, n.c == 1, true);
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
    if !seen.reachable {
        seen.left = true;
        if started.child.level == Level::Bare {
            started.child.signal(libc::SIGUSR1);
            started.child.reap(Duration::from_secs(3));
        } else {
            started.child.signal(libc::SIGKILL);
            started.child.reap(Duration::from_secs(5));
        }
    }
    // All writers are gone: what is left is what fits in a pipe.
    drain(&mut started.out, &mut seen.out, &mut buffer, 64)?;
    drain(&mut started.err, &mut seen.err, &mut buffer, 64)?;
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

/// Makes every folder of a place removable: a run may have closed them.
fn open_up(root: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for entry in walkdir::WalkDir::new(root).follow_links(false) {
        let path = match &entry {
            Ok(entry) if entry.file_type().is_dir() => entry.path(),
            Ok(_) => continue,
            Err(e) => match e.path() {
                Some(path) => path,
                None => continue,
            },
        };
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
    }
}
