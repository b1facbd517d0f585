//! Owns the problems of the lake as cases: the gate run that stopped or first reported each, and the log it came from.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use super::records::{self, short};
use super::stimuli::{self, Gathered};
use super::{Found, Place, session};
use crate::cli::explain::evidence::Evidence;
use crate::cli::fresh;
use crate::model::derived::Problem;
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::sessions::Context;
use crate::model::sources::Source;
use crate::model::vocabulary::{Encounter, MissBasis};
use crate::replay::harvest::{self, Base, Case, Saw, Seen, SetOf};
use crate::replay::words::Severity;
use crate::source::edits::{self, Act, Change, Session};
use crate::source::quote::real_path;
use crate::source::{Input, edges};

/// The lake, and the logs read so far.
pub struct Opened {
    evidence: Evidence,
    /// Sources by native run key: a session and its sub-agents.
    sources_of: HashMap<String, BTreeSet<String>>,
    read: RefCell<BTreeMap<String, Result<Rc<Session>, String>>>,
}

impl Opened {
    pub fn open(lake: &Path) -> anyhow::Result<Option<Opened>> {
        let snapshot = fresh::open(lake)?.lake.snapshot()?;
        let mut sources_of: HashMap<String, BTreeSet<String>> = HashMap::new();
        for context in snapshot.read::<Context>()? {
            sources_of.entry(context.native_run_key).or_default().insert(context.source_id);
        }
        Ok(Some(Opened { evidence: Evidence::load(&snapshot)?, sources_of, read: RefCell::default() }))
    }

    pub fn ids(&self) -> Vec<String> {
        self.evidence.problems.iter().map(|p| p.problem_id.clone()).collect()
    }

    /// Every problem, or those named.
    pub fn found(&self, place: &Place, only: Option<&[String]>) -> Vec<Found> {
        let wanted = |p: &&Problem| only.is_none_or(|ids| ids.contains(&p.problem_id));
        self.evidence.problems.iter().filter(wanted).map(|p| self.one(p, place)).collect()
    }

    fn one(&self, problem: &Problem, place: &Place) -> Found {
        let finding = self.evidence.findings.iter().find(|f| f.finding_id == problem.first_finding_id);
        let stop = self.met(problem, Encounter::StoppedFirst).find_map(|m| m.gate_run_id.as_deref());
        let run = stop.or(finding.map(|f| f.gate_run_id.as_str())).and_then(|id| self.evidence.gate_run(id));
        let gate = run.map(|r| r.gate_id.clone()).or_else(|| problem.first_detection_gate_id.clone()).unwrap_or_else(|| "?".to_owned());
        let case = match run {
            Some(run) => self.case(problem, run, finding, place),
            None => Err("the lake has no gate run that reported it".to_owned()),
        };
        Found { id: problem.problem_id.clone(), gate, at: problem.opened_at, case }
    }

    fn met<'a>(
        &'a self,
        problem: &'a Problem,
        encounter: Encounter,
    ) -> impl Iterator<Item = &'a crate::model::derived::GateProblem> + use<'a> {
        self.evidence.met.iter().filter(move |m| m.problem_id == problem.problem_id && m.encounter == encounter)
    }

    fn case(&self, problem: &Problem, run: &GateRun, finding: Option<&Finding>, place: &Place) -> Result<Case, String> {
        let source = self.evidence.sources.get(&run.source_id).ok_or("the lake does not know the file it came from")?;
        let told = self.saw(run, source, place)?;
        let names = |encounters: &[Encounter]| -> Vec<String> {
            let of = |e: &Encounter| self.met(problem, *e).map(|m| m.gate_id.clone()).collect::<Vec<_>>();
            encounters.iter().flat_map(of).collect()
        };
        let missed = self.met(problem, Encounter::Missed).filter(|m| m.miss_basis == Some(MissBasis::Proven));
        let severity = problem.severity.map(|s| s.as_str());
        Ok(Case {
            id: problem.problem_id.clone(),
            gate: run.gate_id.clone(),
            rule: run.rule_id.clone().or_else(|| finding.and_then(|f| f.rule_id.clone())),
            fingerprint: Some(problem.fingerprint.clone()),
            location: finding.and_then(|f| f.location.clone()),
            failure_mode: finding.and_then(|f| f.failure_mode.clone()),
            failure_class: problem.failure_class.clone(),
            severity: Severity::ALL.iter().copied().find(|s| Some(s.as_str()) == severity),
            at: run.ended_at.or(problem.opened_at),
            origin: format!(
                "problem {} of the lake, from {} ({}:{})",
                short(&problem.problem_id),
                source.format.as_deref().unwrap_or("an unknown format"),
                source.path,
                run.source_line
            ),
            command: told.command,
            exit_status: run.exit_status,
            caught_by: names(&[Encounter::StoppedFirst, Encounter::Stopped, Encounter::Detected]),
            missed_by: missed.map(|m| m.gate_id.clone()).collect(),
            saw: told.saw,
            gaps: told.gaps,
        })
    }

    fn saw(&self, run: &GateRun, source: &Source, place: &Place) -> Result<session::Told, String> {
        let tree = |base| session::Told { saw: Saw::Tree { base, edits: Vec::new() }, command: None, gaps: Vec::new() };
        let path = real_path(&source.path);
        if let Some(reference) = run.evidence.as_deref().filter(|e| e.starts_with("refs/")) {
            return Ok(tree(records::recorded(&records::repository(&path, place)?, reference)?));
        }
        match self.session(source) {
            Ok(Some(own)) => {
                let others: Vec<Rc<Session>> = self.others(run).into_iter().filter_map(|s| self.session(s).ok().flatten()).collect();
                session::told(run, &own, &others.iter().map(Rc::as_ref).collect::<Vec<_>>(), place)
            }
            Err(why) => Err(why),
            Ok(None) => {
                let format = source.format.as_deref().unwrap_or("unknown");
                let sha = run.head_sha.as_deref().ok_or_else(|| format!("{format} keeps no edits, and the record names no commit"))?;
                let repository = records::repository(&path, place)?;
                let (sha, at) = harvest::stated(&repository, sha).ok_or_else(|| {
                    format!("the commit it judged ({}) is not in the repository {}", short(sha), records::shown(&repository))
                })?;
                let mut told = tree(Base::Commit { repository, sha, at, basis: "as the record states it".to_owned() });
                told.gaps.push(format!("{format} keeps no edits: what was not committed is missing"));
                Ok(told)
            }
        }
    }

    /// Other files of the same session.
    fn others(&self, run: &GateRun) -> Vec<&Source> {
        let ids = self.sources_of.get(&run.native_run_key);
        ids.into_iter().flatten().filter(|id| **id != run.source_id).filter_map(|id| self.evidence.sources.get(id)).collect()
    }

    /// What the log says, read at this moment. `None`: its format keeps no edits.
    fn session(&self, source: &Source) -> Result<Option<Rc<Session>>, String> {
        let Some(format) = source.format.as_deref().filter(|f| edits::knows(f)) else { return Ok(None) };
        let mut read = self.read.borrow_mut();
        let told = read.entry(source.source_id.clone()).or_insert_with(|| {
            let path = real_path(&source.path);
            match edges::hold(&path, source) {
                Ok(true) => {}
                Ok(false) => return Err(format!("its log {} is not the one that was read: ingest it again", source.path)),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(format!("its log {} is gone", source.path)),
                Err(e) => return Err(format!("its log {} cannot be read: {e}", source.path)),
            }
            let session = Input::new(&path).map_err(anyhow::Error::from).and_then(|input| edits::read(format, &input));
            let session = session.map_err(|e| format!("its log {} cannot be read: {e:#}", source.path))?;
            Ok(Rc::new(session.unwrap_or_default()))
        });
        told.clone().map(Some)
    }

    /// What a gate saw in sessions: the command or the edit that each of its runs guarded. `but_recorded`: without those of
    /// `mechanic record`.
    pub fn gather(&self, gate: &str, place: &Place, but_recorded: bool, all: &mut Gathered) {
        for run in self.evidence.gate_runs.iter().filter(|r| r.gate_id == gate) {
            let Some(source) = self.evidence.sources.get(&run.source_id) else { continue };
            if but_recorded && source.format.as_deref() == Some(crate::source::recorded::FORMAT) {
                continue;
            }
            all.runs += 1;
            let session = self.session(source).ok().flatten();
            let step = session.as_ref().and_then(|s| s.steps.iter().find(|s| Some(&s.tool_call_id) == run.tool_call_id.as_ref()));
            let (verdict, at) = (stimuli::word(run.verdict), run.ended_at.or(run.started_at));
            match step.map(|s| &s.act) {
                Some(Act::Shell(text)) => all.seen.push(Seen { what: SetOf::Command(text.clone()), verdict, at }),
                Some(Act::Edits(edits)) if edits.iter().any(|e| e.change != Change::Nothing) => {
                    let roots: Vec<String> = place.root.iter().chain(session.as_ref().and_then(|s| s.cwd.as_ref())).cloned().collect();
                    let cwd = step.and_then(|s| s.cwd.as_deref());
                    for edit in edits {
                        match (harvest::whole_after(edit), harvest::below(&edit.path, cwd, &roots)) {
                            (Some(text), Ok(path)) => all.seen.push(Seen { what: SetOf::File { path, text }, verdict, at }),
                            _ => all.in_part += 1,
                        }
                    }
                }
                _ => all.unknown += 1,
            }
        }
    }
}
