//! Owns `runs` and `run_members`: figures of a delivery over all of its sources.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use polars::prelude::{IntoLazy, PolarsResult, SortMultipleOptions, col};

use super::facts::Viewed;
use super::frame::{Values, frame, ints};
use super::link::{Links, told_before};
use super::marks::leaked_spans;
use super::rulebook::Rulebook;
use crate::model::derived::{ModelCall, Run, RunMember};
use crate::model::sessions::Context;
use crate::model::time::Ts;
use crate::model::traces::TraceSpan;
use crate::model::vocabulary::{DecisionKind, LinkBasis, Verdict};

/// Longer gaps between records are idle (DESIGN §7).
const IDLE_GAP_MICROS: i64 = 30 * 60 * 1_000_000;

/// First and last record and the time without idle gaps, by delivery.
#[derive(Debug, Default, Clone, Copy)]
struct Span {
    from: Option<Ts>,
    to: Option<Ts>,
    active_ms: Option<i64>,
}

/// Sorts all instants by delivery and sums the gaps that are not idle.
fn spans(instants: Vec<(usize, Ts)>, deliveries: usize) -> PolarsResult<Vec<Span>> {
    let mut out = vec![Span::default(); deliveries];
    if instants.is_empty() {
        return Ok(out);
    }
    let sorted = frame(vec![
        ("delivery", Values::Int(instants.iter().map(|(at, _)| Some(*at as i64)).collect())),
        ("time", Values::Int(instants.iter().map(|(_, t)| Some(t.0)).collect())),
    ])?
    .lazy()
    .sort(["delivery", "time"], SortMultipleOptions::default())
    .collect()?;
    let mut active = vec![0i64; deliveries];
    let mut last: Option<(usize, i64)> = None;
    for (delivery, time) in ints(&sorted, "delivery")?.into_iter().zip(ints(&sorted, "time")?) {
        let (Some(delivery), Some(time)) = (delivery.map(|d| d as usize), time) else { continue };
        if let Some((before, earlier)) = last
            && before == delivery
            && time.saturating_sub(earlier) <= IDLE_GAP_MICROS
        {
            active[delivery] += time - earlier;
        }
        last = Some((delivery, time));
        out[delivery].from = out[delivery].from.or(Some(Ts(time)));
        out[delivery].to = Some(Ts(time));
    }
    for (span, active) in out.iter_mut().zip(active) {
        span.active_ms = span.from.map(|_| active / 1_000);
    }
    Ok(out)
}

/// Model by delivery with most output tokens; ties go to the name that sorts first.
fn dominant_models(calls: &[ModelCall]) -> PolarsResult<HashMap<String, String>> {
    let with_model: Vec<&ModelCall> = calls.iter().filter(|c| c.model.is_some() && c.run_id.is_some()).collect();
    if with_model.is_empty() {
        return Ok(HashMap::new());
    }
    let sums = frame(vec![
        ("run", Values::Text(with_model.iter().map(|c| c.run_id.as_deref()).collect())),
        ("model", Values::Text(with_model.iter().map(|c| c.model.as_deref()).collect())),
        ("output", Values::Int(with_model.iter().map(|c| Some(c.output_tokens.unwrap_or(0))).collect())),
    ])?
    .lazy()
    .group_by([col("run"), col("model")])
    .agg([col("output").sum()])
    .sort(["run", "output", "model"], SortMultipleOptions::default().with_order_descending_multi([false, true, false]))
    .collect()?;
    let mut dominant = HashMap::new();
    for (run, model) in super::frame::texts(&sums, "run")?.into_iter().zip(super::frame::texts(&sums, "model")?) {
        if let (Some(run), Some(model)) = (run, model) {
            dominant.entry(run).or_insert(model);
        }
    }
    Ok(dominant)
}

/// Everything collected for one delivery while facts are walked once.
#[derive(Debug, Default)]
struct Gathered {
    harness: BTreeSet<String>,
    version: Option<(Ts, i64, String)>,
    harness_commit: Option<(Ts, i64, String)>,
    repo: Option<String>,
    branch: Option<String>,
    merge_sha: Option<String>,
    /// The last judged commit, with its place among gate runs.
    judged: Option<((Ts, i64, String), String)>,
    sources: BTreeSet<String>,
    trace_models: BTreeMap<String, usize>,
    merged: bool,
    merge_unconfirmed: bool,
    abandoned: bool,
    finished: bool,
    steps: bool,
}

/// The `runs` and `run_members` rows.
pub fn runs(
    facts: &Viewed,
    links: &Links,
    calls: &[ModelCall],
    rules: &Rulebook,
    marks: &super::marks::Marks,
) -> PolarsResult<(Vec<Run>, Vec<RunMember>)> {
    let mut gathered: Vec<Gathered> = (0..links.deliveries.len()).map(|_| Gathered::default()).collect();
    let mut instants: Vec<(usize, Ts)> = Vec::new();
    let formats: HashMap<&str, &str> = facts.sources.iter().filter_map(|s| Some((s.source_id.as_str(), s.format.as_deref()?))).collect();
    walk_spans(facts, links, rules, &formats, &mut gathered, &mut instants);
    walk_sessions(facts, links, &mut gathered, &mut instants);
    walk_gate_runs(facts, links, rules, marks, &mut gathered, &mut instants);
    for unit in &facts.units {
        if let Some(at) = links.of(&unit.native_run_key, &unit.source_id) {
            gathered[at].sources.insert(unit.source_id.clone());
        }
    }
    for decision in facts.decisions.iter().filter(|d| d.kind == DecisionKind::Abandonment) {
        if let Some(at) = decision.native_run_key.as_deref().and_then(|key| links.of(key, &decision.source_id)) {
            gathered[at].abandoned = true;
        }
    }
    let index: HashMap<&str, usize> = links.deliveries.iter().enumerate().map(|(at, d)| (d.run_id.as_str(), at)).collect();
    for call in calls {
        if let (Some(&at), Some(time)) = (call.run_id.as_deref().and_then(|id| index.get(id)), call.ended_at) {
            instants.push((at, time));
        }
    }
    let spans = spans(instants, links.deliveries.len())?;
    let models = dominant_models(calls)?;
    let capabilities: HashMap<&str, &Vec<String>> = facts.sources.iter().map(|s| (s.source_id.as_str(), &s.capabilities)).collect();
    let mut runs = Vec::new();
    let mut members = Vec::new();
    for ((delivery, g), span) in links.deliveries.iter().zip(gathered).zip(spans) {
        let observes: BTreeSet<String> =
            g.sources.iter().filter_map(|s| capabilities.get(s.as_str())).flat_map(|c| c.iter().cloned()).collect();
        let trace_model = || g.trace_models.iter().max_by_key(|(name, n)| (**n, std::cmp::Reverse(*name))).map(|(name, _)| name.clone());
        let link_basis = delivery.keys.values().copied().max().unwrap_or(LinkBasis::None);
        runs.push(Run {
            run_id: delivery.run_id.clone(),
            run_basis: delivery.basis,
            link_basis,
            harness: only(&g.harness),
            harness_version_basis: g.version.as_ref().map(|_| "trace".to_owned()),
            harness_version: g.version.map(|(_, _, v)| v),
            harness_commit: g.harness_commit.map(|(_, _, v)| v),
            repo: g.repo,
            task: delivery.task.clone(),
            branch: g.branch,
            commit: g.merge_sha.or(g.judged.map(|(_, sha)| sha)),
            started_at: span.from,
            ended_at: span.to,
            elapsed_ms: span.from.zip(span.to).map(|(from, to)| to.millis_since(from)),
            active_ms: span.active_ms,
            outcome: outcome(g.steps, g.merged, g.abandoned, g.merge_unconfirmed, g.finished),
            model: models.get(&delivery.run_id).cloned().or_else(trace_model),
            observes: observes.into_iter().collect(),
        });
        for ((key, root), basis) in &delivery.keys {
            members.push(RunMember {
                run_id: delivery.run_id.clone(),
                member_kind: "native_run".into(),
                member_id: key.clone(),
                link_basis: *basis,
                root: root.clone(),
            });
        }
    }
    for context in &facts.contexts {
        if let Some(delivery) = links.of(&context.native_run_key, &context.source_id).map(|at| &links.deliveries[at]) {
            members.push(RunMember {
                run_id: delivery.run_id.clone(),
                member_kind: "context".into(),
                member_id: context.context_id.clone(),
                link_basis: delivery.joined_by(&context.native_run_key).unwrap_or(LinkBasis::None),
                root: None,
            });
        }
    }
    commits(facts, links, &runs, &mut members);
    runs.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    members.sort_by(|a, b| (&a.run_id, &a.member_kind, &a.member_id, &a.root).cmp(&(&b.run_id, &b.member_kind, &b.member_id, &b.root)));
    Ok((runs, members))
}

fn only(names: &BTreeSet<String>) -> Option<String> {
    if names.len() == 1 { names.first().cloned() } else { None }
}

fn outcome(steps: bool, merged: bool, abandoned: bool, merge_unconfirmed: bool, finished: bool) -> Option<String> {
    let word = match (merged, merge_unconfirmed, finished) {
        (false, _, _) if abandoned => "abandoned",
        _ if !steps => return None,
        (true, _, _) => "merged",
        (false, true, _) => "merge_unconfirmed",
        (false, false, true) => "finished",
        _ => "open",
    };
    Some(word.to_owned())
}

fn walk_spans(
    facts: &Viewed,
    links: &Links,
    rules: &Rulebook,
    formats: &HashMap<&str, &str>,
    gathered: &mut [Gathered],
    instants: &mut Vec<(usize, Ts)>,
) {
    let leaked = leaked_spans(facts, rules);
    let mut spans: Vec<&TraceSpan> = facts.trace_spans.iter().collect();
    spans.sort_by(|a, b| told_before(a, b));
    for span in spans {
        let Some(at) = links.of(&span.native_run_key, &span.source_id) else { continue };
        let g = &mut gathered[at];
        g.steps = true;
        g.sources.insert(span.source_id.clone());
        if let Some(format) = formats.get(span.source_id.as_str()) {
            g.harness.insert((*format).to_owned());
        }
        let own = !leaked.contains(span.span_row_id.as_str());
        if own {
            g.repo = g.repo.take().or_else(|| span.repo.clone());
            g.branch = g.branch.take().or_else(|| span.branch.clone());
            // The last merge; one without a time only where none has one.
            if g.merge_sha.is_none() || span.ended_at.is_some() {
                g.merge_sha = span.merge_sha.clone().or_else(|| g.merge_sha.take());
            }
        }
        if let Some(model) = &span.model {
            *g.trace_models.entry(model.clone()).or_default() += 1;
        }
        let Some(end) = span.ended_at else { continue };
        let first = |slot: &mut Option<(Ts, i64, String)>, value: &Option<String>| {
            if let Some(value) = value
                && slot.as_ref().is_none_or(|(t, line, _)| (end, span.source_line) < (*t, *line))
            {
                *slot = Some((end, span.source_line, value.clone()));
            }
        };
        if !span.reconstructed {
            first(&mut g.version, &span.harness_version);
            first(&mut g.harness_commit, &span.harness_commit);
            instants.push((at, end));
            if let Some(ms) = span.duration_ms {
                instants.push((at, end.minus_millis(ms)));
            }
        }
    }
}

fn walk_sessions(facts: &Viewed, links: &Links, gathered: &mut [Gathered], instants: &mut Vec<(usize, Ts)>) {
    let mut run_of_context: HashMap<&str, usize> = HashMap::new();
    let mut contexts: Vec<&Context> = facts.contexts.iter().collect();
    contexts.sort_by(|a, b| {
        let key = |c: &Context| (c.started_at.is_none(), c.started_at, c.source_line);
        key(a).cmp(&key(b)).then_with(|| a.context_id.cmp(&b.context_id))
    });
    for context in contexts {
        let Some(at) = links.of(&context.native_run_key, &context.source_id) else { continue };
        run_of_context.insert(&context.context_id, at);
        let g = &mut gathered[at];
        g.sources.insert(context.source_id.clone());
        g.branch = g.branch.take().or_else(|| context.git_branch.clone());
        g.repo = g.repo.take().or_else(|| context.repo.clone());
        instants.extend([context.started_at, context.ended_at].into_iter().flatten().map(|t| (at, t)));
    }
    for call in &facts.tool_calls {
        if let Some(&at) = run_of_context.get(call.context_id.as_str()) {
            instants.extend([call.started_at, call.ended_at].into_iter().flatten().map(|t| (at, t)));
        }
    }
}

fn walk_gate_runs(
    facts: &Viewed,
    links: &Links,
    rules: &Rulebook,
    marks: &super::marks::Marks,
    gathered: &mut [Gathered],
    instants: &mut Vec<(usize, Ts)>,
) {
    for run in &facts.gate_runs {
        let Some(at) = links.of(&run.native_run_key, &run.source_id) else { continue };
        let g = &mut gathered[at];
        g.sources.insert(run.source_id.clone());
        if run.reconstructed {
            continue;
        }
        instants.extend([run.started_at, run.ended_at].into_iter().flatten().map(|t| (at, t)));
        let verdict = run.verdict;
        if marks.leaked(&run.gate_run_id) {
            continue;
        }
        if let (Some(sha), Some(end)) = (&run.head_sha, run.ended_at) {
            let place = (end, run.source_line, run.gate_run_id.clone());
            if g.judged.as_ref().is_none_or(|(last, _)| *last < place) {
                g.judged = Some((place, sha.clone()));
            }
        }
        let rule = run.rule_id.as_deref();
        if rules.is(&rules.merges, &run.gate_id, rule) {
            g.merged |= verdict == Verdict::Pass;
            g.merge_unconfirmed |= verdict == Verdict::Inconclusive;
        }
        g.finished |= verdict == Verdict::Pass && rules.is(&rules.finishes, &run.gate_id, rule);
    }
}

/// Commits join the run of the session their trailer names, else the run of the issue they name in one repository.
fn commits(facts: &Viewed, links: &Links, runs: &[Run], members: &mut Vec<RunMember>) {
    for commit in &facts.commits {
        let by_trailer = commit
            .session_trailers
            .iter()
            .find_map(|s| links.of(&format!("session:{s}"), &commit.source_id))
            .map(|at| (at, LinkBasis::Trailer));
        let by_task = || {
            let mut same = links.deliveries.iter().enumerate().filter(|(_, d)| commit.task.is_some() && d.task == commit.task);
            let first = same.next()?;
            let repo = runs.iter().find(|r| r.run_id == first.1.run_id).and_then(|r| r.repo.as_deref());
            let same_repo = repo.is_none() || commit.repo.is_none() || repo == commit.repo.as_deref();
            (same.next().is_none() && same_repo).then_some((first.0, LinkBasis::Explicit))
        };
        if let Some((at, basis)) = by_trailer.or_else(by_task) {
            members.push(RunMember {
                run_id: links.deliveries[at].run_id.clone(),
                member_kind: "commit".into(),
                member_id: commit.commit_id.clone(),
                link_basis: basis,
                root: None,
            });
        }
    }
}
