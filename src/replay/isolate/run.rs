//! Owns one run from outside: its place, its words and its end.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::group::Group;
use super::measures::Measures;
use super::output::Captured;
use super::place;
use super::plan::{Plan, What};
use super::scratch::Scratch;
use super::spawn::{self, SETUP, note, ready, wait};
use super::watch::watch;
use super::{Cage, End, Job, Level, Ran, child};
use crate::replay::validator::Command;

pub(super) use super::scratch::sweep;

/// Why there is no way to run anything.
pub(super) const NOWHERE: &str = "not even a supervised process can be started";

/// Whether the kernel allows what `cage` wants, by doing it once.
pub(super) fn probe(cage: &Cage) -> Option<Measures> {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    let folder = if cage.level == Level::Bare { Some(Scratch::new(&cage.root).ok()?) } else { None };
    let root = folder.as_ref().map_or(cage.root.as_path(), |f| f.path());
    let program = cage.program("true")?;
    let what = What { program: &program, argv: &["true".to_owned()], env: &[], cwd: Path::new("/"), timeout: Duration::from_secs(5) };
    let plan = Plan::new(cage, root, &what);
    let group = cage.group();
    let mut started = spawn::start(&plan, group.as_ref()).ok()?;
    let mut measures = ready(&started).ok()?.with(grouped(started.grouped, group.as_ref()));
    // The place must also be reachable from here, or no copy can be put into it.
    std::fs::metadata(outside(cage.level, started.child.pid, root).join("stimulus")).ok()?;
    started.go.as_mut()?.write_all(&[child::GO]).ok()?;
    let end = Instant::now() + SETUP;
    loop {
        match note(&started.status) {
            Ok(Some((n, _))) if n.tag == child::STARTING => measures = measures.with(Measures(n.a as u32)),
            Ok(Some((n, _))) if n.tag == child::DONE => break,
            Ok(Some(_)) | Err(_) => return None,
            Ok(None) if Instant::now() > end => return None,
            Ok(None) => drop(wait(&[started.status.as_raw_fd()], end).ok()?),
        }
    }
    Some(measures)
}

fn grouped(in_force: bool, group: Option<&Group>) -> Measures {
    match group {
        Some(group) if in_force => {
            let memory = if group.memory { Measures::MEMORY } else { Measures::default() };
            Measures::CGROUP.with(Measures::PIDS).with(memory)
        }
        _ => Measures::default(),
    }
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
        let folder = if self.level == Level::Bare { Some(Scratch::new(&self.root)?) } else { None };
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
        let plan = Plan::new(self, &root, &what);
        // Before the child, so dropped after it: a group goes when its last process is gone.
        let group = self.group();
        let mut started = spawn::start(&plan, group.as_ref())?;
        let measures = ready(&started)?.with(grouped(started.grouped, group.as_ref()));
        let outside = outside(self.level, started.child.pid, &root);
        place::fill(&outside, job.stimulus, job.files)
            .map_err(|e| io::Error::new(e.kind(), format!("the copy of the stimulus cannot be made: {e}")))?;
        let mut watched = watch(&mut started, &root, job.timeout, self.limits.grace)?;
        watched.measures = watched.measures.with(measures);
        let wanted = job.wanted.iter().map(|name| if watched.reachable { place::read_back(&outside, name) } else { None }).collect();
        // It waits for this to end; its end takes the place with it.
        started.go = None;
        started.child.end();
        Ok(Ran {
            end: watched.end,
            out: watched.out,
            err: watched.err,
            wanted,
            left_processes: watched.left,
            full: watched.full,
            outside: watched.outside,
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
        outside: Vec::new(),
        measures: cage.measures,
        took: Duration::ZERO,
        root,
    }
}
