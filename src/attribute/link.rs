//! Owns linking: which native run keys and contexts are one delivery, and how that is known.
//!
//! Explicit ids first (a trace that names the session, a branch or work tree that names the issue), then the commit trailer, then
//! overlap in time within one repository. A session that several deliveries could claim stays a run of its own, and the same number of
//! an issue joins nothing across two repositories.

use std::collections::{BTreeMap, HashMap};

use super::marks::leaked_spans;
use super::rulebook::Rulebook;
use crate::attribute::facts::Viewed;
use crate::config::layout::Layout;
use crate::model::id::stable_id;
use crate::model::sessions::Context;
use crate::model::time::Ts;
use crate::model::traces::TraceSpan;
use crate::model::vocabulary::{LinkBasis, RunBasis};

/// A run before its figures are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    pub run_id: String,
    pub basis: RunBasis,
    pub task: Option<String>,
    /// Native run keys, with the root below which the key means this delivery where it may mean another elsewhere, and how each was
    /// joined.
    pub keys: BTreeMap<(String, Option<String>), LinkBasis>,
}

impl Delivery {
    /// How rows with this native run key were joined; the weakest way where there are several.
    pub fn joined_by(&self, native_run_key: &str) -> Option<LinkBasis> {
        self.keys.iter().filter(|((key, _), _)| key == native_run_key).map(|(_, basis)| *basis).max()
    }
}

/// Deliveries, and the way from a row to its delivery.
#[derive(Debug, Default)]
pub struct Links {
    pub deliveries: Vec<Delivery>,
    by_key: HashMap<String, usize>,
    by_key_and_root: HashMap<(String, String), usize>,
    roots: HashMap<String, String>,
}

impl Links {
    /// The delivery of a row with this native run key from this source.
    pub fn of(&self, native_run_key: &str, source_id: &str) -> Option<usize> {
        if let Some(&at) = self.by_key.get(native_run_key) {
            return Some(at);
        }
        let root = self.roots.get(source_id)?;
        self.by_key_and_root.get(&(native_run_key.to_owned(), root.clone())).copied()
    }

    /// The run id of that row's delivery.
    pub fn run_id_of(&self, native_run_key: &str, source_id: &str) -> Option<&str> {
        self.of(native_run_key, source_id).and_then(|at| self.deliveries.get(at)).map(|d| d.run_id.as_str())
    }
}

/// What a trace says of one delivery.
#[derive(Default)]
struct Traced {
    task: Option<String>,
    branches: Vec<String>,
    sessions: Vec<String>,
    repo: Option<String>,
    root: String,
    /// Name of the checkout its file lies in, where the path tells.
    checkout: Option<String>,
    from: Option<Ts>,
    to: Option<Ts>,
}

pub fn link(facts: &Viewed, rules: &Rulebook) -> Links {
    let layout = &rules.layout;
    let paths = facts.paths();
    let mut links =
        Links { roots: paths.iter().map(|(id, path)| ((*id).to_owned(), layout.root_of(path).to_owned())).collect(), ..Links::default() };
    let traced = traces(facts, rules, &paths, &links.roots);
    for (key, trace) in &traced {
        links.by_key.insert(key.clone(), links.deliveries.len());
        links.deliveries.push(Delivery {
            run_id: stable_id(&["run", key]),
            basis: RunBasis::Issue,
            task: trace.task.clone(),
            keys: BTreeMap::from([((key.clone(), None), LinkBasis::Explicit)]),
        });
    }
    records(facts, &traced, layout, &paths, &mut links);
    sessions(facts, &traced, layout, &mut links);
    links
}

/// The order in which spans tell of a delivery: by time, those without one last.
pub fn told_before(a: &TraceSpan, b: &TraceSpan) -> std::cmp::Ordering {
    let key = |s: &TraceSpan| (s.ended_at.is_none(), s.ended_at, s.source_line);
    key(a).cmp(&key(b)).then_with(|| a.span_row_id.cmp(&b.span_row_id))
}

fn traces(facts: &Viewed, rules: &Rulebook, paths: &HashMap<&str, &str>, roots: &HashMap<String, String>) -> BTreeMap<String, Traced> {
    let mut traced: BTreeMap<String, Traced> = BTreeMap::new();
    let leaked = leaked_spans(facts, rules);
    let mut spans: Vec<&TraceSpan> = facts.trace_spans.iter().collect();
    spans.sort_by(|a, b| told_before(a, b));
    for span in spans {
        if leaked.contains(span.span_row_id.as_str()) {
            // The delivery is there all the same, with nothing told of it.
            traced.entry(span.native_run_key.clone()).or_default();
            continue;
        }
        let entry = traced.entry(span.native_run_key.clone()).or_default();
        entry.task = entry.task.take().or_else(|| span.task.clone());
        entry.repo = entry.repo.take().or_else(|| span.repo.clone());
        if entry.root.is_empty() {
            entry.root = roots.get(&span.source_id).cloned().unwrap_or_default();
            let path = paths.get(span.source_id.as_str()).copied().unwrap_or_default();
            entry.checkout = rules.layout.checkout_of(path).map(|root| base_name(root).to_owned());
        }
        if let Some(branch) = &span.branch
            && !entry.branches.contains(branch)
        {
            entry.branches.push(branch.clone());
        }
        if let Some(session) = &span.session
            && !entry.sessions.contains(session)
        {
            entry.sessions.push(session.clone());
        }
        if !span.reconstructed {
            let start = span.ended_at.map(|end| span.duration_ms.map_or(end, |ms| end.minus_millis(ms)));
            entry.from = earlier(entry.from, start);
            entry.to = later(entry.to, span.ended_at);
        }
    }
    traced
}

pub fn earlier(a: Option<Ts>, b: Option<Ts>) -> Option<Ts> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

pub fn later(a: Option<Ts>, b: Option<Ts>) -> Option<Ts> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// Per-issue records carry only the issue number: they belong to the trace of that issue in the same tracking root. Without one there
/// it is the only trace of such an issue that names their repository, or else is inferred to be the only trace of such an issue that is
/// not known to be of another one.
fn records(facts: &Viewed, traced: &BTreeMap<String, Traced>, layout: &Layout, paths: &HashMap<&str, &str>, links: &mut Links) {
    let rows = facts
        .units
        .iter()
        .map(|u| (&u.native_run_key, &u.source_id))
        .chain(facts.gate_runs.iter().map(|g| (&g.native_run_key, &g.source_id)))
        .chain(facts.decisions.iter().filter_map(|d| d.native_run_key.as_ref().map(|k| (k, &d.source_id))));
    // By key and root, with the checkout where a path tells one.
    let mut seen: BTreeMap<(String, String), Option<&str>> = BTreeMap::new();
    for (key, source) in rows {
        if key.starts_with("record:") {
            let root = links.roots.get(source).cloned().unwrap_or_default();
            let checkout = paths.get(source.as_str()).and_then(|path| layout.checkout_of(path)).map(base_name);
            let known = seen.entry((key.clone(), root)).or_default();
            *known = known.or(checkout);
        }
    }
    for ((key, root), checkout) in seen {
        let task = key.strip_prefix("record:").map(str::to_owned);
        let same_task = || traced.iter().filter(|(_, t)| t.task == task);
        let home: Vec<&String> = same_task().filter(|(_, t)| t.root == root).map(|(k, _)| k).collect();
        let names_it = |t: &Traced| checkout.is_some() && t.repo.as_deref().map(repo_name) == checkout;
        let named = || only(same_task().filter(|(_, t)| names_it(t)));
        let found = match home.as_slice() {
            [one] => Some((*one, LinkBasis::Explicit)),
            [] => named().map(|(key, _)| (key, LinkBasis::Explicit)).or_else(|| {
                let (key, trace) = only(same_task())?;
                checkout.is_none_or(|name| !trace.is_elsewhere(name)).then_some((key, LinkBasis::Inferred))
            }),
            _ => None,
        };
        let basis = found.map_or(LinkBasis::Explicit, |(_, basis)| basis);
        let at = found.and_then(|(one, _)| links.by_key.get(one).copied());
        let at = at.unwrap_or_else(|| {
            links.deliveries.push(Delivery {
                run_id: stable_id(&["run", &key, &root]),
                basis: RunBasis::Issue,
                task,
                keys: BTreeMap::new(),
            });
            links.deliveries.len() - 1
        });
        links.deliveries[at].keys.insert((key.clone(), Some(root.clone())), basis);
        links.by_key_and_root.insert((key, root), at);
    }
}

fn sessions(facts: &Viewed, traced: &BTreeMap<String, Traced>, layout: &Layout, links: &mut Links) {
    let mut by_key: BTreeMap<&str, Vec<&Context>> = BTreeMap::new();
    for context in &facts.contexts {
        by_key.entry(&context.native_run_key).or_default().push(context);
    }
    for row in &facts.gate_runs {
        if row.native_run_key.starts_with("session:") {
            by_key.entry(&row.native_run_key).or_default();
        }
    }
    let trailers = trailer_tasks(facts);
    for (key, contexts) in by_key {
        if links.by_key.contains_key(key) {
            continue;
        }
        let native = key.strip_prefix("session:").unwrap_or(key);
        let found = explicit(native, &contexts, traced, layout)
            .map(|key| (key, LinkBasis::Explicit))
            .or_else(|| by_trailer(native, &contexts, &trailers, traced, layout).map(|key| (key, LinkBasis::Trailer)))
            .or_else(|| by_time(&contexts, traced, layout).map(|key| (key, LinkBasis::TimeWindow)));
        let at = match found.and_then(|(trace, basis)| Some((links.by_key.get(&trace).copied()?, basis))) {
            Some((at, basis)) => {
                links.deliveries[at].keys.insert((key.to_owned(), None), basis);
                at
            }
            None => {
                let named = contexts.iter().find_map(|c| named_task(c, layout));
                let trailer = trailers.get(native).and_then(|named| {
                    let (task, _) = named.first()?;
                    named.iter().all(|(other, _)| other == task).then(|| task.clone())
                });
                let basis = if named.is_none() && trailer.is_some() { RunBasis::Trailer } else { RunBasis::Session };
                links.deliveries.push(Delivery {
                    run_id: stable_id(&["run", key]),
                    basis,
                    task: named.or(trailer),
                    keys: BTreeMap::from([((key.to_owned(), None), LinkBasis::None)]),
                });
                links.deliveries.len() - 1
            }
        };
        links.by_key.insert(key.to_owned(), at);
    }
}

fn named_task(context: &Context, layout: &Layout) -> Option<String> {
    let branch = context.git_branch.as_deref().and_then(|branch| layout.task_in(branch));
    let tree = || layout.split_at_worktree(context.cwd.as_deref()?).and_then(|(_, tree)| layout.task_in(tree));
    branch.or_else(tree)
}

fn explicit(native: &str, contexts: &[&Context], traced: &BTreeMap<String, Traced>, layout: &Layout) -> Option<String> {
    if let Some((key, _)) = only(traced.iter().filter(|(_, t)| t.sessions.iter().any(|s| s == native))) {
        return Some(key.clone());
    }
    let task = contexts.iter().find_map(|c| named_task(c, layout))?;
    let same_task: Vec<_> = traced.iter().filter(|(_, t)| t.task.as_ref() == Some(&task)).collect();
    let same_branch =
        same_task.iter().filter(|(_, t)| contexts.iter().any(|c| c.git_branch.as_ref().is_some_and(|b| t.branches.contains(b))));
    if let Some((key, _)) = only(same_branch) {
        return Some((*key).clone());
    }
    let same_repo = same_task.iter().filter(|(_, t)| contexts.iter().any(|c| in_repo(c, t, layout)));
    if let Some((key, _)) = only(same_repo) {
        return Some((*key).clone());
    }
    match same_task.as_slice() {
        [(key, t)] if contexts.iter().all(|c| !contradicts(c, t, layout)) => Some((*key).clone()),
        _ => None,
    }
}

/// The only item; `None` for none or several.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn repo_name(repo: &str) -> &str {
    base_name(repo.trim_end_matches(".git"))
}

/// Names by which a context's repository can be known.
fn context_repos<'c>(context: &'c Context, layout: &Layout) -> impl Iterator<Item = &'c str> + use<'c> {
    let cwd = context.cwd.as_deref().map(|cwd| base_name(layout.split_at_worktree(cwd).map_or(cwd, |(checkout, _)| checkout)));
    context.repo.as_deref().map(repo_name).into_iter().chain(cwd)
}

fn trace_repos(trace: &Traced) -> impl Iterator<Item = &str> {
    trace.repo.as_deref().map(repo_name).into_iter().chain(Some(base_name(&trace.root)).filter(|name| !name.is_empty()))
}

impl Traced {
    /// Whether the trace is known to be of another repository than the one of this name.
    fn is_elsewhere(&self, repo: &str) -> bool {
        let mut names = self.repo.as_deref().map(repo_name).into_iter().chain(self.checkout.as_deref()).peekable();
        names.peek().is_some() && names.all(|name| name != repo)
    }
}

fn in_repo(context: &Context, trace: &Traced, layout: &Layout) -> bool {
    context_repos(context, layout).any(|name| trace_repos(trace).any(|other| other == name))
}

/// Both sides name a repository, and they differ. A session may begin in any folder of its checkout.
fn contradicts(context: &Context, trace: &Traced, layout: &Layout) -> bool {
    let folders = || context.cwd.as_deref().into_iter().flat_map(|cwd| cwd.split('/')).filter(|name| !name.is_empty());
    context_repos(context, layout).chain(folders()).all(|name| trace.is_elsewhere(name)) && context_repos(context, layout).next().is_some()
}

/// Tasks that commits with a session's trailer name, with the repository of the commit.
fn trailer_tasks(facts: &Viewed) -> HashMap<String, Vec<(String, Option<String>)>> {
    let mut tasks: HashMap<String, Vec<(String, Option<String>)>> = HashMap::new();
    for commit in &facts.commits {
        if let Some(task) = &commit.task {
            for session in &commit.session_trailers {
                let of = tasks.entry(session.clone()).or_default();
                let named = (task.clone(), commit.repo.clone());
                if !of.contains(&named) {
                    of.push(named);
                }
            }
        }
    }
    tasks
}

fn by_trailer(
    native: &str,
    contexts: &[&Context],
    trailers: &HashMap<String, Vec<(String, Option<String>)>>,
    traced: &BTreeMap<String, Traced>,
    layout: &Layout,
) -> Option<String> {
    let named = trailers.get(native)?;
    let fits = |t: &Traced| {
        let same = |(task, repo): &(String, Option<String>)| {
            t.task.as_ref() == Some(task) && repo.as_deref().map(repo_name).is_none_or(|name| !t.is_elsewhere(name))
        };
        named.iter().any(same) && contexts.iter().all(|c| !contradicts(c, t, layout))
    };
    only(traced.iter().filter(|(_, t)| fits(t))).map(|(key, _)| key.clone())
}

fn by_time(contexts: &[&Context], traced: &BTreeMap<String, Traced>, layout: &Layout) -> Option<String> {
    let from = contexts.iter().fold(None, |t, c| earlier(t, c.started_at))?;
    let to = contexts.iter().fold(None, |t, c| later(t, c.ended_at))?;
    let overlaps = |t: &Traced| matches!((t.from, t.to), (Some(a), Some(b)) if a <= to && from <= b);
    only(traced.iter().filter(|(_, t)| overlaps(t) && contexts.iter().any(|c| in_repo(c, t, layout)))).map(|(key, _)| key.clone())
}
