//! Owns the matrix: every validator on every fixture, in parallel and in a fixed order, controls and emptied stimuli first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use rayon::prelude::*;

use super::confine::Conduct;
use super::fixture::{Expect, Fixture};
use super::isolate::{Cage, Job, Measures, Ran};
use super::judge::{self, Recorded};
use super::memo::{self, Memo, Remembered};
use super::outcome::{self, Classes, Once};
use super::stimulus::Prepared;
use super::validator::{TIMEOUT, Validator};
use super::verdict;
use super::words::{Classification, Outcome, StimulusKind};
use super::wrong::{Result, Wrong};

/// How to run.
pub struct Options<'a> {
    pub jobs: usize,
    pub repeat: usize,
    /// For validators that name none.
    pub timeout: Option<Duration>,
    pub memo: Option<&'a Memo>,
    /// Called after each cell.
    pub tick: &'a (dyn Fn() + Sync),
}

/// One cell to be filled.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub fixture: &'a Fixture,
    pub validator: &'a Validator,
    pub classes: &'a Classes,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub fixture: String,
    pub validator: String,
    pub gate: String,
    pub expected: Option<Outcome>,
    pub once: Once,
    pub from_memo: bool,
}

/// What a validator does with nothing at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Emptied {
    pub validator: String,
    pub kind: StimulusKind,
    pub once: Once,
}

impl Emptied {
    /// A verdict on nothing: it read nothing and says otherwise.
    pub fn is_suspicious(&self) -> bool {
        matches!(self.once.outcome, Outcome::Catches | Outcome::Misses | Outcome::WrongReason)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// In the order of the tasks.
    pub cells: Vec<Cell>,
    pub emptied: Vec<Emptied>,
    pub runs: usize,
    pub remembered: usize,
    /// Measures that were in force in every run; of a replay without runs, what the machine gives.
    pub measures: Measures,
}

struct Bench<'a> {
    cage: &'a Cage,
    options: &'a Options<'a>,
    runs: AtomicUsize,
    measures: AtomicU32,
    /// By the validator's digest.
    parts: BTreeMap<&'a str, Part>,
}

/// A validator's part of its keys, its environment, and its time.
type Part = (super::digest::Hasher, Vec<(String, String)>, Duration);

/// Fills every cell. An error is the corpus's: a stimulus that cannot be made.
pub fn run(tasks: &[Task<'_>], cage: &Cage, options: &Options<'_>) -> Result<Matrix> {
    let mut parts = BTreeMap::new();
    for task in tasks {
        let v = task.validator;
        parts.entry(v.digest.as_str()).or_insert_with(|| {
            let env: Vec<(String, String)> = v.env.iter().filter_map(|n| std::env::var(n).ok().map(|value| (n.clone(), value))).collect();
            let timeout = v.timeout.or(options.timeout).unwrap_or(TIMEOUT);
            (memo::validator_part(v, cage, &env, timeout, options.repeat), env, timeout)
        });
    }
    let bench = Bench { cage, options, runs: AtomicUsize::new(0), measures: AtomicU32::new(u32::MAX), parts };
    let mut prepared: BTreeMap<&str, OnceLock<Result<Prepared>>> = BTreeMap::new();
    for task in tasks {
        prepared.entry(task.fixture.digest.as_str()).or_default();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.jobs.max(1)).build();
    let pool = pool.map_err(|e| Wrong::one(format!("no threads can be started: {e}")))?;
    pool.install(|| {
        let (emptied, declined) = bench.emptied(tasks);
        // What fails a control is known before its catches are counted.
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by_key(|i| tasks.get(*i).is_none_or(|t| t.fixture.classification != Classification::Control));
        let (controls, others): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|i| tasks.get(*i).is_some_and(|t| t.fixture.classification == Classification::Control));
        let mut filled: Vec<(usize, Result<Cell>)> = Vec::with_capacity(tasks.len());
        for part in [controls, others] {
            filled.par_extend(part.into_par_iter().filter_map(|i| {
                let task = tasks.get(i)?;
                let cell = bench.cell(task, prepared.get(task.fixture.digest.as_str())?);
                (options.tick)();
                Some((i, cell))
            }));
        }
        filled.sort_by_key(|(i, _)| *i);
        let mut cells = Vec::with_capacity(filled.len());
        let mut problems = Vec::new();
        for (_, cell) in filled {
            match cell {
                Ok(cell) => cells.push(cell),
                Err(Wrong(lines)) => problems.extend(lines),
            }
        }
        if !problems.is_empty() {
            problems.dedup();
            return Err(Wrong(problems));
        }
        bench.keep_declined(declined, &cells);
        let remembered = cells.iter().filter(|c| c.from_memo).count();
        let runs = bench.runs.load(Ordering::Relaxed);
        let measures = if runs == 0 { cage.measures } else { Measures(bench.measures.load(Ordering::Relaxed)) };
        Ok(Matrix { cells, emptied, runs, remembered, measures })
    })
}

impl<'a> Bench<'a> {
    /// Every validator on an emptied stimulus of each kind it reads here; and, with the keys they would be remembered by, those that
    /// said of nothing that they could not run.
    fn emptied(&self, tasks: &[Task<'a>]) -> (Vec<Emptied>, Vec<(String, Emptied)>) {
        let mut wanted: BTreeMap<(&str, StimulusKind), &Validator> = BTreeMap::new();
        for task in tasks {
            let v = task.validator;
            if v.judge.is_none() && outcome::unsupported(v, task.fixture).is_none() {
                wanted.insert((v.id.as_str(), task.fixture.stimulus.kind), v);
            }
        }
        let run = |((id, kind), validator): ((&str, StimulusKind), &Validator)| {
            let part = self.parts.get(validator.digest.as_str());
            let key = part.map(|(part, ..)| memo::cell(part, &format!("emptied {kind}"), None, &Classes::new()));
            if let Some(known) = key.as_ref().and_then(|k| self.options.memo?.get(k)) {
                let known = Emptied { validator: id.to_owned(), kind, once: once_of(known) };
                // Only such are put there; whoever wrote something else there is not believed.
                if !known.is_suspicious() {
                    return (known, None);
                }
            }
            let once = self.once(validator, &Prepared::emptied(kind), None, &Classes::new());
            let emptied = Emptied { validator: id.to_owned(), kind, once };
            let clean = self.is_clean(&emptied.once) && !emptied.is_suspicious();
            let later = match (key, self.options.memo) {
                (Some(key), Some(memo)) if clean && emptied.once.outcome.is_verdict() => {
                    memo.put(key, remembered(&emptied.once));
                    None
                }
                (key, _) => key.filter(|_| clean && emptied.once.declined).map(|key| (key, emptied.clone())),
            };
            (emptied, later)
        };
        let (emptied, later): (Vec<_>, Vec<_>) = wanted.into_iter().collect::<Vec<_>>().into_par_iter().map(run).unzip();
        (emptied, later.into_iter().flatten().collect())
    }

    /// "It could not run" is the right answer to nothing, but it may as well be about a tool that is missing here: it is remembered only
    /// of a validator that gave a verdict on some fixture.
    fn keep_declined(&self, declined: Vec<(String, Emptied)>, cells: &[Cell]) {
        let Some(memo) = self.options.memo.filter(|_| !declined.is_empty()) else { return };
        let ran = |c: &&Cell| c.once.outcome.is_verdict() && c.once.outcome != Outcome::Unsupported;
        let works: BTreeSet<&str> = cells.iter().filter(ran).map(|c| c.validator.as_str()).collect();
        for (key, emptied) in declined.into_iter().filter(|(_, e)| works.contains(e.validator.as_str())) {
            memo.put(key, remembered(&emptied.once));
        }
    }

    fn cell(&self, task: &Task<'a>, prepared: &OnceLock<Result<Prepared>>) -> Result<Cell> {
        let Task { fixture, validator, classes } = *task;
        let expect = fixture.expectation(&validator.id, &validator.gate);
        let expected = match (expect, fixture.classification) {
            (Some(e), _) => Some(e.outcome),
            (None, Classification::Control) => Some(Outcome::Misses),
            (None, Classification::KnownDefect) => Some(Outcome::Misses),
            (None, Classification::Normative) => None,
        };
        let cell = |once: Once, from_memo: bool| Cell {
            fixture: fixture.id.clone(),
            validator: validator.id.clone(),
            gate: validator.gate.clone(),
            expected,
            once,
            from_memo,
        };
        if let Some(why) = outcome::unsupported(validator, fixture) {
            return Ok(cell(unran(Outcome::Unsupported, why), false));
        }
        if let Some(judge) = &validator.judge {
            return Ok(cell(of_judge(judge::recorded(judge, fixture), expect, classes), false));
        }
        let key = self.parts.get(validator.digest.as_str()).map(|(part, ..)| memo::cell(part, &fixture.digest, expect, classes));
        if let Some(known) = key.as_ref().and_then(|k| self.options.memo?.get(k)) {
            // Only what is expected counts, also when the file was written by somebody else.
            if Some(known.outcome) == expected {
                return Ok(cell(once_of(known), true));
            }
        }
        let prepared = prepared.get_or_init(|| Prepared::of(fixture)).as_ref().map_err(Clone::clone)?;
        let runs = (0..self.options.repeat.max(1)).map(|_| self.once(validator, prepared, expect, classes)).collect();
        let Some(once) = outcome::of_repeats(runs) else { return Err(Wrong::one("no run at all")) };
        if let (Some(key), Some(memo), true) =
            (key, self.options.memo, Some(once.outcome) == expected && once.outcome.is_verdict() && self.is_clean(&once))
        {
            memo.put(key, remembered(&once));
        }
        Ok(cell(once, false))
    }

    /// One run, and a second one after a crash.
    fn once(&self, validator: &Validator, stimulus: &Prepared, expect: Option<&Expect>, classes: &Classes) -> Once {
        let first = self.run(validator, stimulus, expect, classes);
        if first.outcome != Outcome::Crashes {
            return first;
        }
        let mut second = self.run(validator, stimulus, expect, classes);
        second.conduct.add(&first.conduct);
        if second.outcome != Outcome::Crashes {
            second.why = format!("{} (a first run crashed: {})", second.why, first.why);
        }
        second
    }

    fn run(&self, validator: &Validator, stimulus: &Prepared, expect: Option<&Expect>, classes: &Classes) -> Once {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let none = (Vec::new(), TIMEOUT);
        let (env, timeout) = match self.parts.get(validator.digest.as_str()) {
            Some((_, env, timeout)) => (env, *timeout),
            None => (&none.0, none.1),
        };
        let wanted = verdict::wanted(validator);
        let job = Job { stimulus, files: &validator.files, command: &validator.command, env, timeout, wanted: &wanted };
        match self.cage.run(&job) {
            Ok(ran) => {
                self.note(&ran);
                outcome::of_run(validator, &ran, expect, classes)
            }
            Err(e) => unran(Outcome::Crashes, format!("the run could not be made: {e}")),
        }
    }

    fn is_clean(&self, once: &Once) -> bool {
        once.conduct.is_clean(self.cage.measures)
    }

    fn note(&self, ran: &Ran) {
        self.measures.fetch_and(ran.measures.0, Ordering::Relaxed);
    }
}

fn unran(outcome: Outcome, why: String) -> Once {
    Once { outcome, why, findings: Vec::new(), substance: None, declined: false, took: Duration::ZERO, conduct: Conduct::default() }
}

fn of_judge(recorded: Recorded, expect: Option<&Expect>, classes: &Classes) -> Once {
    match recorded {
        Recorded::Reading(reading, output) => outcome::of_reading(reading, expect, classes, &output, Duration::ZERO),
        Recorded::Stale(why) => unran(Outcome::Stale, why),
        Recorded::Missing => unran(Outcome::Unsupported, "no verdict of it is recorded".to_owned()),
        Recorded::Unreadable(why) => unran(Outcome::Crashes, why),
    }
}

fn remembered(once: &Once) -> Remembered {
    Remembered {
        outcome: once.outcome,
        why: once.why.clone(),
        findings: once.findings.clone(),
        substance: once.substance,
        took_us: once.took.as_micros() as u64,
    }
}

fn once_of(known: &Remembered) -> Once {
    Once {
        outcome: known.outcome,
        why: known.why.clone(),
        findings: known.findings.clone(),
        substance: known.substance,
        declined: false,
        took: Duration::from_micros(known.took_us),
        // Only what behaved and had all that the machine gives is remembered.
        conduct: Conduct::default(),
    }
}
