//! Owns the way from a gate run of a session log to what the gate saw: the commit the session worked on, its own edits up to the
//! failure, and what of it cannot be repeated.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::Place;
use super::records::shown;
use crate::model::gate_runs::GateRun;
use crate::model::time::Ts;
use crate::model::vocabulary::Phase;
use crate::replay::harvest::{self, Base, Planned, Saw};
use crate::source::edits::{Act, Change, Edit, Outcome, Session, Step, shell_writes};
use crate::source::hook_command::first_program;

/// What the gate saw, the gate's command, and what cannot be repeated.
pub struct Told {
    pub saw: Saw,
    pub command: Option<String>,
    pub gaps: Vec<String>,
}

/// `session` is the log of the gate run; `others` are logs of the same delivery (sub-agents), told apart by time.
pub fn told(run: &GateRun, session: &Session, others: &[&Session], place: &Place) -> Result<Told, String> {
    let guarded = run.tool_call_id.as_deref().and_then(|id| session.steps.iter().find(|s| s.tool_call_id == id));
    let asked = |step: &Step| run.phase == Some(Phase::Before) || step.outcome == Outcome::Refused;
    let command = match guarded.map(|s| &s.act) {
        // The gate is the command itself.
        Some(Act::Shell(text)) if run.phase.is_none() => Some(text.clone()),
        _ => session.hook_at(run.source_line).map(str::to_owned),
    };
    if let Some(step) = guarded.filter(|s| asked(s))
        && let Act::Shell(text) = &step.act
    {
        return Ok(Told { saw: Saw::Command(text.clone()), command, gaps: Vec::new() });
    }
    let mut gaps = Vec::new();
    let (steps, at) = steps(run, session, others, guarded);
    let base = base(run, session, place, at, &mut gaps)?;
    let roots = roots(session, place);
    let since = match &base {
        Base::Commit { at, .. } => *at,
        _ => None,
    };
    let mut edits = Vec::new();
    let mut counts = Counts::default();
    for step in steps {
        let is_older = matches!((step.at, since), (Some(at), Some(since)) if at <= since);
        match &step.act {
            Act::Edits(list) if step.outcome == Outcome::Done => edits.extend(list.iter().map(|e| planned(e, step, &roots))),
            Act::Edits(_) if step.outcome == Outcome::Unknown => counts.unknown += 1,
            Act::Other(tool) if step.outcome == Outcome::Done && !is_older => *counts.tools.entry(tool.clone()).or_default() += 1,
            Act::Shell(text) if step.outcome != Outcome::Refused && !is_older => counts.shell(text),
            _ => {}
        }
    }
    if let Some(step) = guarded.filter(|s| asked(s))
        && let Act::Edits(list) = &step.act
    {
        edits.extend(list.iter().map(|e| planned(e, step, &roots)));
        gaps.push("the last edit was refused; it is made as if it had been let through, for that is what the gate judged".to_owned());
    }
    counts.tell(&mut gaps);
    if matches!(base, Base::LogAlone) && edits.iter().all(|p| p.edit.change == Change::Nothing) {
        return Err(format!("the session made no edits before it, and {}", gaps.first().map_or("its commit is not known", String::as_str)));
    }
    Ok(Told { saw: Saw::Tree { base, edits }, command, gaps })
}

fn planned(edit: &Edit, step: &Step, roots: &[String]) -> Planned {
    Planned { edit: edit.clone(), at: step.at, cwd: step.cwd.clone(), roots: roots.to_vec() }
}

/// The steps before the failure in their order, each once, and the time of the failure.
fn steps<'a>(run: &GateRun, session: &'a Session, others: &[&'a Session], guarded: Option<&Step>) -> (Vec<&'a Step>, Option<Ts>) {
    let at = run.ended_at.or(run.started_at).or(run.observed_at);
    let is_guarded = |s: &Step| guarded.is_some_and(|g| g.tool_call_id == s.tool_call_id);
    let after = run.phase == Some(Phase::After);
    // A hook that comes after a call may stand before the call's result.
    let before = |s: &&Step| if is_guarded(s) { after } else { s.ended_line.map_or(s.line < run.source_line, |l| l < run.source_line) };
    let mut seen = HashSet::new();
    let mut steps: Vec<&Step> = session.steps.iter().filter(before).filter(|s| seen.insert(s.tool_call_id.as_str())).collect();
    let own = steps.len();
    let until = run.started_at.or(at);
    for other in others {
        let before = |s: &&Step| matches!((s.at, until), (Some(s), Some(until)) if s <= until);
        steps.extend(other.steps.iter().filter(before).filter(|s| !is_guarded(s) && seen.insert(s.tool_call_id.as_str())));
    }
    if steps.len() > own {
        // A step without a time stays beside the one before it in its file.
        let mut last = None;
        let mut keyed: Vec<(Option<Ts>, &Step)> = Vec::new();
        for step in steps {
            last = step.at.or(last);
            keyed.push((last, step));
        }
        keyed.sort_by_key(|(at, _)| *at);
        steps = keyed.into_iter().map(|(_, s)| s).collect();
    }
    (steps, at)
}

/// The commit the session worked on. A log names any folder, so only the user's own repository, or one the user names, is read.
fn base(run: &GateRun, session: &Session, place: &Place, at: Option<Ts>, gaps: &mut Vec<String>) -> Result<Base, String> {
    let Some(repository) = repository(session, place) else {
        let cwd = session.cwd.as_deref().map_or("an unknown folder".to_owned(), |c| shown(Path::new(c)));
        gaps.push(format!("no repository is known of it: the session worked in {cwd}, name its repository with --repo DIR"));
        return Ok(Base::LogAlone);
    };
    if let Some(sha) = &run.head_sha {
        match harvest::stated(&repository, sha) {
            Some((sha, at)) => return Ok(Base::Commit { repository, sha, at, basis: "as the gate run states it".to_owned() }),
            None => gaps.push("the commit that the gate run states is not in the repository".to_owned()),
        }
    }
    let found = at.and_then(|at| harvest::commit_at(&repository, session.branch_at(run.source_line), at));
    match found {
        Some((sha, at, basis)) => Ok(Base::Commit { repository, sha, at, basis }),
        None => {
            let when = at.map_or("the log states no time".to_owned(), |at| format!("it has no commit from before {at}"));
            gaps.push(format!("the repository tells nothing of the commit: {when}"));
            Ok(Base::LogAlone)
        }
    }
}

fn repository(session: &Session, place: &Place) -> Option<PathBuf> {
    let repo = place.repo.as_ref()?;
    let cwd = session.cwd.as_deref().map(Path::new);
    let is_here = || cwd.is_some_and(|cwd| cwd.is_absolute() && harvest::is_same(cwd, repo));
    (place.named || is_here()).then(|| repo.clone())
}

/// What the log may call the top of the repository: as the user says, else the top of the work tree the session began in, where that is
/// on this machine, else the folder it began in.
fn roots(session: &Session, place: &Place) -> Vec<String> {
    if let Some(root) = &place.root {
        return vec![root.clone()];
    }
    let Some(cwd) = &session.cwd else { return Vec::new() };
    let path = Path::new(cwd);
    let is_here = place.repo.as_ref().is_some_and(|repo| path.is_absolute() && harvest::is_same(path, repo));
    // The path as the log writes it: links in it are not resolved there either.
    let top = path.ancestors().find(|at| is_here && at.join(".git").exists());
    vec![top.map_or_else(|| cwd.clone(), |t| t.to_string_lossy().into_owned())]
}

/// What cannot be repeated, counted.
#[derive(Default)]
struct Counts {
    unknown: usize,
    tools: BTreeMap<String, usize>,
    wrote: usize,
    may: usize,
    programs: BTreeMap<String, usize>,
}

impl Counts {
    fn shell(&mut self, text: &str) {
        match shell_writes(text) {
            Some(false) => return,
            Some(true) => self.wrote += 1,
            None => self.may += 1,
        }
        *self.programs.entry(first_program(text).unwrap_or_else(|| "?".to_owned())).or_default() += 1;
    }

    fn tell(self, gaps: &mut Vec<String>) {
        if self.unknown > 0 {
            gaps.push(format!("{} edits without a result in the log are not made", self.unknown));
        }
        for (tool, n) in self.tools {
            gaps.push(format!("{n} changes by {tool} cannot be read from the log"));
        }
        if self.wrote + self.may > 0 {
            let mut programs: Vec<(&String, &usize)> = self.programs.iter().collect();
            programs.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), (*name).clone()));
            let first: Vec<String> = programs.iter().take(4).map(|(name, n)| format!("{name} {n}×")).collect();
            gaps.push(format!(
                "{} shell commands wrote files and {} may have: none can be repeated ({})",
                self.wrote,
                self.may,
                first.join(", ")
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: &str, line: i64, at: i64, act: Act) -> Step {
        Step { tool_call_id: id.into(), line, ended_line: Some(line + 1), at: Some(Ts(at)), cwd: None, outcome: Outcome::Done, act }
    }

    fn write(path: &str) -> Act {
        Act::Edits(vec![Edit { path: path.into(), change: Change::Write("x".into()), before: None }])
    }

    fn paths(saw: &Saw) -> Vec<&str> {
        match saw {
            Saw::Tree { edits, .. } => edits.iter().map(|p| p.edit.path.as_str()).collect(),
            Saw::Command(text) => vec![text],
        }
    }

    #[test]
    fn what_sub_agents_did_before_the_failure_counts_each_thing_once_and_in_its_order() {
        let own = Session {
            cwd: Some("/w".into()),
            steps: vec![step("a", 1, 10, write("a")), step("c", 3, 30, write("c"))],
            ..Session::default()
        };
        let agent = Session {
            steps: vec![step("b", 1, 20, write("b")), step("c", 2, 30, write("c")), step("late", 9, 90, write("late"))],
            ..Session::default()
        };
        let mut run = gate_run();
        run.started_at = Some(Ts(50));
        let nowhere = Place { repo: None, named: false, root: None };
        let told = told(&run, &own, &[&agent], &nowhere).unwrap();
        assert_eq!(paths(&told.saw), ["a", "b", "c"]);
        assert!(told.gaps[0].contains("name its repository with --repo DIR"), "{:?}", told.gaps);
    }

    #[test]
    fn a_call_is_part_of_what_a_gate_saw_after_it_and_is_what_a_gate_judged_before_it() {
        let shell = Act::Shell("git push --force".into());
        let session = Session {
            cwd: Some("/w".into()),
            steps: vec![step("a", 1, 10, write("a")), step("b", 3, 30, write("b")), step("s", 30, 60, shell)],
            ..Session::default()
        };
        let nowhere = Place { repo: None, named: false, root: None };
        let saw = |phase: Option<Phase>, id: &str| {
            let mut run = gate_run();
            // The call's result stands behind the gate's line.
            (run.phase, run.tool_call_id, run.source_line) = (phase, Some(id.into()), 3);
            paths(&told(&run, &session, &[], &nowhere).unwrap().saw).join(" ")
        };
        assert_eq!(saw(Some(Phase::After), "b"), "a b");
        assert_eq!(saw(Some(Phase::Before), "b"), "a b", "as if it had been let through");
        assert_eq!(saw(Some(Phase::Before), "s"), "git push --force");
        assert_eq!(saw(None, "s"), "a", "the call is the gate itself");
    }

    fn gate_run() -> GateRun {
        let line = serde_json::json!({
            "schema_version": 1, "id": "0".repeat(32), "gate": "g", "rule": null, "run": "session:s", "unit": null,
            "started_at": "2026-02-03T10:00:00Z", "ended_at": "2026-02-03T10:00:00Z", "duration_ms": 0, "exit_status": 1, "signal": null,
            "verdict": "fail", "enforcement": "block", "program": "p", "command_hash": "0".repeat(32), "head_sha": null, "tree_ref": null,
            "stimulus": null,
        });
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(crate::source::recorded::FILE_NAME);
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let mut sink = crate::source::emit::Collect::default();
        let input = crate::source::Input::new(&path).unwrap();
        crate::source::read_file(&crate::source::recorded::RecordedRuns, &input, &mut sink).unwrap();
        GateRun { source_line: 20, ..sink.0.gate_runs.remove(0) }
    }

    #[test]
    fn a_repository_that_only_a_log_names_is_not_read() {
        let here = tempfile::tempdir().unwrap();
        let there = tempfile::tempdir().unwrap();
        for dir in [&here, &there] {
            let done = std::process::Command::new("git").args(["init", "-q"]).arg(dir.path()).status().unwrap();
            assert!(done.success());
        }
        let session = |dir: &Path| Session { cwd: Some(dir.to_string_lossy().into_owned()), ..Session::default() };
        let place = |named| Place { repo: Some(here.path().to_owned()), named, root: None };
        assert_eq!(repository(&session(here.path()), &place(false)).as_deref(), Some(here.path()));
        assert_eq!(repository(&session(there.path()), &place(false)), None);
        assert_eq!(repository(&session(Path::new("/nowhere")), &place(false)), None);
        assert_eq!(repository(&session(Path::new("/nowhere")), &place(true)).as_deref(), Some(here.path()));
    }
}
