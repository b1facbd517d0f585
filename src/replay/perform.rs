//! Owns one replay from request to results: load, select, run, compare, weigh, and check that nothing was touched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::civil::Date;

use super::compare;
use super::confine;
use super::corpus::Corpus;
use super::fixture::Fixture;
use super::isolate::{Cage, Limits};
use super::matrix::{self, Matrix, Options, Task};
use super::memo::{self, Memo};
use super::outcome::Classes;
use super::results::{CellLine, CellTime, EmptiedLine, FORMAT, FixtureLine, Isolation, Measured, Results, Subsumption, ValidatorLine};
use super::select::{self, Selection};
use super::subsume::{self, Catches};
use super::suite::{Commit, Suite};
use super::tamper;
use super::validator::Validator;
use super::waivers::Waivers;
use super::weigh::{self, Issue, Kind};
use super::words::{Classification, Outcome};
use super::wrong::{Wrong, shown};

/// What is asked of a replay.
#[derive(Debug, Clone)]
pub struct Request {
    pub corpus: PathBuf,
    pub validators: PathBuf,
    pub filters: Vec<String>,
    pub shard: Option<String>,
    pub changed_since: Option<String>,
    /// A git reference or a results file.
    pub baseline: Option<String>,
    pub jobs: usize,
    pub repeat: usize,
    pub timeout: Option<Duration>,
    /// File of the memory; `None`: everything runs.
    pub memo: Option<PathBuf>,
    pub today: Date,
    /// The best isolation to use; tests of the degraded way ask for less.
    pub level: super::isolate::Level,
}

/// Why there is no result at all.
#[derive(Debug)]
pub enum Failed {
    /// The user's to mend.
    Wrong(Wrong),
    /// The machine's.
    Environment(String),
}

impl From<Wrong> for Failed {
    fn from(wrong: Wrong) -> Failed {
        Failed::Wrong(wrong)
    }
}

/// Told how far it is.
pub trait Progress: Sync {
    fn begin(&self, cells: usize);
    fn tick(&self);
    fn end(&self);
}

enum Baseline {
    Commit(Box<Suite>, Commit),
    File(Box<Results>, String),
}

/// Runs a replay.
pub fn perform(request: &Request, progress: &dyn Progress) -> Result<Results, Failed> {
    let begun = Instant::now();
    let at = jiff::Timestamp::now();
    let selection = Selection::parse(&request.filters, request.shard.as_deref())?;
    let work = Suite::load(&request.corpus, &request.validators)?;
    let baseline = request.baseline.as_deref().map(|name| baseline(request, name)).transpose()?;
    let since = match &request.changed_since {
        None => None,
        Some(name) => {
            let commit = Commit::resolve(&request.corpus, name)?
                .ok_or_else(|| Wrong::one(format!("--changed-since: `{}` names no commit here", crate::plain::escape(name))))?;
            Some(Suite::at(&commit, &request.corpus, &request.validators)?)
        }
    };
    // With a commit as baseline its fixtures count, and its lock was checked; an edit in the work tree is named below.
    if !matches!(baseline, Some(Baseline::Commit(..))) {
        work.corpus.check_lock()?;
    }
    let cage =
        Cage::new_at(request.level, Limits::default()).map_err(|e| Failed::Environment(format!("no validator can be run here: {e}")))?;
    let memo = memory(request, &baseline);

    // The fixtures that count, each with the text classes that belong to it.
    let (old, added): (&Suite, Option<&Suite>) = match &baseline {
        Some(Baseline::Commit(suite, _)) => (suite.as_ref(), Some(&work)),
        _ => (&work, None),
    };
    let mut fixtures: Vec<(&Fixture, &Classes)> = old.corpus.fixtures.iter().map(|f| (f, &old.validators.classes)).collect();
    if let Some(work) = added {
        fixtures.extend(work.corpus.fixtures.iter().filter(|f| old.corpus.get(&f.id).is_none()).map(|f| (f, &work.validators.classes)));
    }
    fixtures.sort_by(|a, b| a.0.id.cmp(&b.0.id));
    fixtures.retain(|(f, _)| selection.takes_fixture(f));
    let tasks = tasks_of(&fixtures, &work, &selection, since.as_ref());
    let old_tasks: Vec<Task<'_>> = match &baseline {
        Some(Baseline::Commit(suite, _)) => {
            tasks_of(&fixtures, suite, &selection, since.as_ref()).into_iter().filter(|t| old.corpus.get(&t.fixture.id).is_some()).collect()
        }
        _ => Vec::new(),
    };
    if tasks.is_empty() && old_tasks.is_empty() && !selection.is_everything() {
        return Err(Wrong::one("no cell is left to replay: the filters or the shard take nothing").into());
    }
    if tasks.is_empty() && old_tasks.is_empty() {
        let text = "there is nothing to replay, and a replay of nothing proves nothing: the corpus needs a fixture, and validators.toml a validator";
        return Err(Wrong::one(text).into());
    }
    progress.begin(tasks.len() + old_tasks.len());
    let tick = || progress.tick();
    let options = Options { jobs: request.jobs, repeat: request.repeat, timeout: request.timeout, memo: memo.as_ref(), tick: &tick };
    let ran = matrix::run(&tasks, &cage, &options).and_then(|m| Ok((m, matrix::run(&old_tasks, &cage, &options)?)));
    progress.end();
    let (filled, before) = ran?;

    let asked: BTreeSet<&str> = tasks.iter().map(|t| t.fixture.id.as_str()).collect();
    let chosen: Vec<&Fixture> = fixtures.iter().map(|(f, _)| *f).filter(|f| asked.contains(f.id.as_str())).collect();
    let whole = selection.all_validators() && since.is_none();
    let mut issues = weigh::emptied(&filled.emptied);
    issues.extend(confine::issues(&filled.cells, &filled.emptied, cage.measures));
    issues.extend(weigh::expectations(&chosen, &filled.cells, whole));
    let waivers: &Waivers = &old.corpus.waivers;
    for f in &chosen {
        if old.corpus.is_new(&f.id) && !old.corpus.lock.fixtures.is_empty() {
            issues.push(Issue::plain(Kind::Unlocked, Some(&f.id), None, "is not in the lock yet (mechanic replay --lock)".to_owned()));
        }
    }
    if filled.runs + before.runs > 0 {
        untouched(&fixtures.iter().map(|(f, _)| *f).collect::<Vec<_>>(), &work)?;
    }
    if let Some(memo) = memo {
        // A memory that cannot be written costs time, nothing else.
        let _ = memo.save();
    }
    let mut results = results_of(&chosen, &tasks, &filled, &cage);
    results.part = part(request);
    match &baseline {
        None => {}
        Some(Baseline::Commit(suite, commit)) => {
            issues.extend(tamper::differences(suite, &work, request.today));
            let chosen: Vec<&Fixture> = chosen.iter().copied().filter(|f| suite.corpus.get(&f.id).is_some()).collect();
            let old_results = results_of(&chosen, &old_tasks, &before, &cage);
            against(&mut results, &mut issues, &old_results, &commit.name, whole);
        }
        Some(Baseline::File(old_results, name)) => {
            issues.extend(tamper::differences_of_file(old_results, &work));
            against(&mut results, &mut issues, old_results, name, whole);
        }
    }
    // Who fails whatever it is shown has resolved nothing.
    let unbelieved = not_believed(&issues, &filled);
    issues
        .retain(|i| !matches!(i.kind, Kind::Resolved | Kind::NewlyCaught) || i.validator.as_ref().is_none_or(|v| !unbelieved.contains(v)));
    weigh::waive(&mut issues, waivers, request.today, selection.is_everything() && since.is_none());
    issues.sort_by(|a, b| {
        (a.kind, a.severity, &a.fixture, &a.validator, &a.gate).cmp(&(b.kind, b.severity, &b.fixture, &b.validator, &b.gate))
    });
    results.exit = weigh::exit_code(&issues);
    results.issues = issues;
    subsumption(&mut results, &tasks, &filled);
    results.measured.began_at = Some(at.to_string());
    results.measured.took_ms = begun.elapsed().as_millis() as u64;
    results.measured.runs = filled.runs + before.runs;
    Ok(results)
}

/// The cells of fixtures and a suite's validators, in their order.
fn tasks_of<'a>(fixtures: &[(&'a Fixture, &'a Classes)], suite: &'a Suite, selection: &Selection, since: Option<&Suite>) -> Vec<Task<'a>> {
    let mut out = Vec::new();
    for (fixture, classes) in fixtures {
        for validator in &suite.validators.list {
            if selection.takes_validator(validator) && since.is_none_or(|s| select::changed(s, fixture, validator)) {
                out.push(Task { fixture, validator, classes });
            }
        }
    }
    out
}

fn baseline(request: &Request, name: &str) -> Result<Baseline, Failed> {
    let path = Path::new(name);
    if path.is_file() {
        return Ok(Baseline::File(Box::new(Results::load(path)?), shown(path)));
    }
    let commit = Commit::resolve(&request.corpus, name)?.ok_or_else(|| {
        Wrong::one(format!(
            "--baseline: `{}` is neither a results file nor a commit of the corpus's repository",
            crate::plain::escape(name)
        ))
    })?;
    let suite = Suite::at(&commit, &request.corpus, &request.validators)?;
    Ok(Baseline::Commit(Box::new(suite), commit))
}

/// With a commit as baseline only what stands in that commit is remembered: a change could have written the rest.
fn memory(request: &Request, baseline: &Option<Baseline>) -> Option<Memo> {
    let file = request.memo.as_ref()?;
    match baseline {
        Some(Baseline::Commit(_, commit)) => commit.file(file).map(|bytes| Memo::read_only(&bytes)),
        _ => Some(Memo::load(file)),
    }
}

/// The default place of the memory.
pub fn memo_file() -> PathBuf {
    PathBuf::from(memo::FILE)
}

/// Proves that no run changed a fixture or a validator: their digests are those from before.
fn untouched(fixtures: &[&Fixture], work: &Suite) -> Result<(), Failed> {
    use rayon::prelude::*;
    let touched = |what: &str, id: &str| {
        Failed::Environment(format!("{what} `{id}` was changed while it was replayed: nothing of this replay counts"))
    };
    fixtures.par_iter().try_for_each(|f| match f.digest_now() {
        Ok(digest) if digest == f.digest => Ok(()),
        _ => Err(touched("fixture", &f.id)),
    })?;
    let again = super::validator::Validators::load(&work.validators.file)?;
    match work.validators.list.iter().find(|v| again.get(&v.id).is_none_or(|a| a.digest != v.digest)) {
        None => Ok(()),
        Some(v) => Err(touched("validator", &v.id)),
    }
}

fn part(request: &Request) -> Option<String> {
    let mut parts: Vec<String> = request.filters.iter().map(|f| format!("filter {f}")).collect();
    parts.extend(request.shard.as_ref().map(|s| format!("shard {s}")));
    parts.extend(request.changed_since.as_ref().map(|s| format!("changed since {s}")));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Compares with the baseline. What it missed as well is no news.
fn against(results: &mut Results, issues: &mut Vec<Issue>, before: &Results, name: &str, whole: bool) {
    let (comparison, flips) = compare::compare(name, before, results, whole);
    let caught_before = |issue: &Issue| {
        let Some(fixture) = issue.fixture.as_deref() else { return true };
        let is_new = before.fixture(fixture).is_none_or(|b| results.fixture(fixture).is_some_and(|n| n.digest != b.digest));
        let asked = |c: &&CellLine| {
            c.fixture == fixture && (issue.validator.as_deref() == Some(&c.validator) || issue.gate.as_deref() == Some(&c.gate))
        };
        // The baseline may not have asked, or had no verdict: then it is not known to have missed.
        let mut asked = before.cells.iter().filter(asked).peekable();
        is_new || asked.peek().is_none() || asked.any(|c| c.outcome == Outcome::Catches || !c.outcome.is_verdict())
    };
    for issue in issues.iter_mut().filter(|i| matches!(i.kind, Kind::Missed | Kind::Unanswered)) {
        if !caught_before(issue) {
            issue.kind = Kind::Differs;
            issue.text = format!("{}; the baseline missed it as well", issue.text);
        }
    }
    let told: BTreeSet<(Option<String>, Option<String>)> = flips.iter().map(|i| (i.fixture.clone(), i.validator.clone())).collect();
    issues.retain(|i| i.kind != Kind::Missed || !told.contains(&(i.fixture.clone(), i.validator.clone())));
    for mut flip in flips {
        flip.severity = flip.fixture.as_deref().and_then(|f| results.fixture(f)).map(|f| f.severity);
        issues.push(flip);
    }
    for cell in &comparison.newly_caught {
        let control = results.fixture(&cell.fixture).is_some_and(|f| f.classification == Classification::Control);
        let told =
            issues.iter().any(|i| i.fixture.as_deref() == Some(&cell.fixture) && matches!(i.kind, Kind::NewlyCaught | Kind::Resolved));
        if !control && !told {
            issues.push(Issue::plain(
                Kind::NewlyCaught,
                Some(&cell.fixture),
                Some(&cell.validator),
                format!("was {}, is caught now", cell.before),
            ));
        }
    }
    results.comparison = Some(comparison);
    compare::mark(before, results);
}

fn results_of(fixtures: &[&Fixture], tasks: &[Task<'_>], matrix: &Matrix, cage: &Cage) -> Results {
    let mut seen = BTreeSet::new();
    let validators: Vec<&Validator> = tasks.iter().map(|t| t.validator).filter(|v| seen.insert(v.id.as_str())).collect();
    let emptied = matrix.emptied.iter().map(|e| EmptiedLine {
        validator: e.validator.clone(),
        kind: e.kind,
        outcome: e.once.outcome,
        why: e.once.why.clone(),
    });
    Results {
        format: FORMAT,
        mechanic: env!("CARGO_PKG_VERSION").to_owned(),
        exit: 0,
        isolation: Isolation::of(cage.level, matrix.measures),
        fixtures: fixtures.iter().map(|f| FixtureLine::of(f)).collect(),
        validators: validators.iter().map(|v| ValidatorLine::of(v)).collect(),
        cells: matrix.cells.iter().map(|c| CellLine::of(c, cage.measures)).collect(),
        emptied: emptied.collect(),
        issues: Vec::new(),
        subsumption: Subsumption::default(),
        comparison: None,
        part: None,
        measured: Measured { remembered: matrix.remembered, cells: matrix.cells.iter().map(CellTime::of).collect(), ..Measured::default() },
    }
}

/// Validators that fail controls, or fail nothing at all.
fn not_believed(issues: &[Issue], matrix: &Matrix) -> BTreeSet<String> {
    let on_controls = issues.iter().filter(|i| i.kind == Kind::FalseAlarm).filter_map(|i| i.validator.clone());
    let on_nothing = matrix.emptied.iter().filter(|e| e.once.outcome == Outcome::Catches).map(|e| e.validator.clone());
    on_controls.chain(on_nothing).collect()
}

/// Who catches what nobody else does. Catches of a validator that fails controls, or fails nothing at all, are not believed.
fn subsumption(results: &mut Results, tasks: &[Task<'_>], matrix: &Matrix) {
    let not_believed = not_believed(&results.issues, matrix);
    let problems: Vec<&FixtureLine> = results.fixtures.iter().filter(|f| f.classification != Classification::Control).collect();
    let index: BTreeMap<&str, usize> = problems.iter().enumerate().map(|(i, f)| (f.id.as_str(), i)).collect();
    let mut took: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for cell in matrix.cells.iter().filter(|c| !c.once.took.is_zero()) {
        took.entry(cell.validator.as_str()).or_default().push(cell.once.took.as_secs_f64() * 1e3);
    }
    let cost: BTreeMap<String, f64> = took.into_iter().map(|(id, list)| (id.to_owned(), median(list))).collect();
    let declared: BTreeMap<&str, Option<f64>> = tasks.iter().map(|t| (t.validator.id.as_str(), t.validator.cost_ms)).collect();
    let all_declared = declared.values().all(Option::is_some);
    let mut list = Vec::new();
    let (mut dead, mut vacuous) = (Vec::new(), Vec::new());
    for v in &results.validators {
        let cells: Vec<&CellLine> = results.cells.iter().filter(|c| c.validator == v.id).collect();
        let caught: BTreeSet<usize> = cells
            .iter()
            .filter(|c| c.outcome == Outcome::Catches && !not_believed.contains(&v.id))
            .filter_map(|c| index.get(c.fixture.as_str()).copied())
            .collect();
        let asked =
            cells.iter().filter(|c| index.contains_key(c.fixture.as_str()) && c.outcome.is_verdict() && c.outcome != Outcome::Unsupported);
        let (mut n, mut n_vacuous) = (0, 0);
        for cell in asked {
            n += 1;
            n_vacuous += usize::from(cell.outcome == Outcome::Vacuous);
        }
        if n > 0 && n_vacuous == n {
            vacuous.push(v.id.clone());
        } else if n > 0 && caught.is_empty() && !not_believed.contains(&v.id) {
            dead.push(v.id.clone());
        }
        let ms = declared.get(v.id.as_str()).copied().flatten().or_else(|| cost.get(&v.id).copied()).unwrap_or(0.0);
        list.push(Catches { validator: v.id.clone(), problems: caught.into_iter().collect(), cost: ms });
    }
    let caught: BTreeSet<usize> = list.iter().flat_map(|c| c.problems.iter().copied()).collect();
    let uncaught = problems.iter().enumerate().filter(|(i, _)| !caught.contains(i)).map(|(_, f)| f.id.clone()).collect();
    let cover = subsume::cover(&list);
    let worth = subsume::worth(&list, &vec![1.0; problems.len()]);
    let (fixed, measured) = if all_declared { (Some(cover), None) } else { (None, Some(cover)) };
    results.subsumption = Subsumption {
        caught: caught.len(),
        uncaught,
        worth,
        not_believed: not_believed.into_iter().collect(),
        dead,
        vacuous,
        cover: fixed,
    };
    results.measured.cost_ms = cost;
    results.measured.cover = measured;
}

fn median(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    let n = list.len();
    let at = |i: usize| list.get(i).copied().unwrap_or(0.0);
    if n % 2 == 1 { at(n / 2) } else { (at(n / 2) + at((n / 2).saturating_sub(1))) / 2.0 }
}

/// Writes the lock of a corpus; which file, and over how many fixtures.
pub fn lock(corpus: &Path) -> Result<(PathBuf, usize), Wrong> {
    let corpus = Corpus::load(corpus)?;
    Ok((corpus.write_lock()?, corpus.fixtures.len()))
}
