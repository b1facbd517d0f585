//! Owns what changed since the last report, or, where there is none, against the span before.

use std::collections::BTreeSet;

use serde::Serialize;

use super::answers::{Answers, Span};
use super::figures::{count, counted, known, millis, percent, tokens, upper95, usd};
use super::gate::Gate;
use super::headline::Headline;
use super::manifest::{GateMark, Manifest, marks};
use super::rich::Rich;
use super::todo::{Rank, Todo};
use super::window::Window;

/// What the news are held against.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Against {
    /// `2026-W47`.
    pub label: String,
    /// Whether it is an earlier report, not only the figures of the span before.
    pub is_report: bool,
    pub headline: Headline,
}

/// The news in sentences.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct News {
    pub against: Against,
    pub headline: Headline,
    /// What happened.
    pub happened: Vec<Rich>,
    /// What is different.
    pub changed: Vec<Rich>,
}

/// Tells the news of the span.
pub fn news(answers: &Answers, todos: &[Todo], before: &Window, previous: Option<&Manifest>) -> News {
    let headline = Headline::read(answers, Span::News);
    let against = match previous {
        Some(m) => Against { label: m.news.label.clone(), is_report: true, headline: m.headline.clone() },
        None => Against { label: before.label.clone(), is_report: false, headline: Headline::read(answers, Span::Before) },
    };
    let mut changed = figures(&headline, &against.headline);
    changed.extend(gates_that_changed(answers));
    match previous {
        Some(m) => {
            changed.extend(gates_against_marks(&answers.gates, m));
            changed.extend(todo_changes(todos, m));
        }
        None => changed.extend(gates_against_before(answers)),
    }
    if changed.is_empty() {
        changed.push("nothing that these records can show".into());
    }
    News { happened: happened(answers, &headline), headline, against, changed }
}

fn happened(answers: &Answers, h: &Headline) -> Vec<Rich> {
    if h.n_runs == 0 {
        return vec!["no run ended in this span: there is no news, only the evidence of the weeks before".into()];
    }
    let mut out = vec![Rich::words(format!(
        "{} ended ({} merged), with {}",
        counted(h.n_runs, "run", "runs"),
        count(h.n_merged),
        h.n_gate_runs.map_or_else(|| "no source that records gate runs".to_owned(), |n| counted(n, "gate run", "gate runs"))
    ))];
    match h.n_problems {
        None => out.push("no record of these runs tells a verdict, so whether they had product problems is not known".into()),
        Some(0) => out.push(Rich::words(format!(
            "no product problem was recorded. {} without one {} little: up to {} of runs could still have one (exact 95 % bound)",
            counted(h.n_runs_observing, "run", "runs"),
            if h.n_runs_observing == 1 { "proves" } else { "prove" },
            known(upper95(h.n_runs_observing), percent)
        ))),
        Some(problems) => out.push(Rich::words(format!(
            "{}: {} stopped first by a gate ({} enforced, {} acted on), {} that no record attributes; {} first seen after merge",
            counted(problems, "product problem", "product problems"),
            known(h.first_stops(), count),
            known(h.n_first_stops_enforced, count),
            known(h.n_first_stops_acted_on, count),
            known(h.n_unattributed, count),
            known(h.n_escaped, count)
        ))),
    }
    let escapes: Vec<&str> =
        answers.rows("problems", Span::News).filter(|r| r.flag("escaped") == Some(true)).filter_map(|r| r.text("fingerprint")).collect();
    if !escapes.is_empty() {
        out.push(Rich::words("after merge: ").names(escapes, 4));
    }
    if let Some(misses) = h.n_misses_proven.filter(|n| *n > 0) {
        let gates: Vec<&str> = answers
            .rows("gate_economics", Span::News)
            .filter(|r| r.int("n_misses_proven") > Some(0))
            .filter_map(|r| r.text("gate_id"))
            .collect();
        out.push(
            Rich::words(format!("{}, passes on a problem that was there: ", counted(misses, "proven miss", "proven misses")))
                .names(gates, 4),
        );
    }
    if let Some(tolls) = h.n_tolls.filter(|n| *n > 0) {
        let gates: Vec<&str> =
            answers.rows("gate_economics", Span::News).filter(|r| r.n("n_tolls") > 0).filter_map(|r| r.text("gate_id")).collect();
        out.push(Rich::words(format!("{} failed to run: ", counted(tolls, "gate run", "gate runs"))).names(gates, 4));
    }
    let mut cost = Vec::new();
    if let Some(ms) = h.gate_busy_ms {
        cost.push(format!("{} of gate time", millis(ms)));
    }
    if let Some(n) = h.output_tokens {
        cost.push(format!("{} output tokens ({} of {} known)", tokens(n), count(h.n_with_tokens), counted(h.n_runs, "run", "runs")));
    }
    if let Some(nano) = h.nano_usd {
        let more = h
            .nano_usd_lower_bound
            .filter(|n| *n > 0)
            .map_or_else(String::new, |n| format!(", and at least {} of calls with incomplete counters", usd(n)));
        cost.push(format!("{} for calls with complete counters{more}", usd(nano)));
    }
    if !cost.is_empty() {
        out.push(Rich::words(format!("cost: {}", cost.join("; "))));
    }
    out
}

fn figures(now: &Headline, then: &Headline) -> Vec<Rich> {
    let pairs = [
        ("runs", Some(then.n_runs), Some(now.n_runs)),
        ("product problems", then.n_problems, now.n_problems),
        ("first stops, enforced", then.n_first_stops_enforced, now.n_first_stops_enforced),
        ("first stops, acted on", then.n_first_stops_acted_on, now.n_first_stops_acted_on),
        ("not attributed", then.n_unattributed, now.n_unattributed),
        ("first seen after merge", then.n_escaped, now.n_escaped),
        ("gate runs that failed to run", then.n_tolls, now.n_tolls),
    ];
    let moved: Vec<String> = pairs
        .iter()
        .filter(|(_, then, now)| then != now)
        .map(|(what, then, now)| format!("{what} {} → {}", known(*then, count), known(*now, count)))
        .collect();
    if moved.is_empty() { Vec::new() } else { vec![Rich::words(moved.join("; "))] }
}

fn gates_that_changed(answers: &Answers) -> Option<Rich> {
    let gates: Vec<&str> = answers.changed_in_news.iter().map(String::as_str).collect();
    (!gates.is_empty()).then(|| Rich::words("changed, so that their evidence begins anew: ").names(gates, 5))
}

/// Gates seen in this span and not before, or the other way round.
fn gates_against_before(answers: &Answers) -> Vec<Rich> {
    let seen = |span: Span| -> BTreeSet<&str> {
        answers.rows("gate_economics", span).filter(|r| r.n("n_gate_runs") > 0).filter_map(|r| r.text("gate_id")).collect()
    };
    let (now, then) = (seen(Span::News), seen(Span::Before));
    let mut out = Vec::new();
    let came: Vec<&str> = now.difference(&then).copied().collect();
    let went: Vec<&str> = then.difference(&now).copied().collect();
    if !came.is_empty() && !then.is_empty() {
        out.push(Rich::words("ran now and not in the span before: ").names(came, 5));
    }
    if !went.is_empty() && !now.is_empty() {
        out.push(Rich::words("ran in the span before and not now: ").names(went, 5));
    }
    out
}

fn gates_against_marks(gates: &[Gate], previous: &Manifest) -> Vec<Rich> {
    let now = marks(gates);
    let mut out = Vec::new();
    let new: Vec<&str> = now.keys().filter(|g| !previous.gates.contains_key(*g)).map(String::as_str).collect();
    let gone: Vec<&str> = previous.gates.keys().filter(|g| !now.contains_key(*g)).map(String::as_str).collect();
    if !new.is_empty() {
        out.push(Rich::words("new gates: ").names(new, 5));
    }
    if !gone.is_empty() {
        out.push(Rich::words("gates no longer in any record: ").names(gone, 5));
    }
    let rose = |pick: fn(&GateMark) -> i64| -> Vec<&str> {
        now.iter()
            .filter(|(id, mark)| previous.gates.get(*id).is_some_and(|old| pick(mark) > pick(old)))
            .map(|(id, _)| id.as_str())
            .collect()
    };
    for (what, gates) in [
        ("more first stops over the evidence than last time: ", rose(|m| m.first_stops.unwrap_or(0))),
        ("more proven misses than last time: ", rose(|m| m.n_misses_proven.unwrap_or(0))),
        ("failed to run more often than last time: ", rose(|m| m.n_tolls)),
    ] {
        if !gates.is_empty() {
            out.push(Rich::words(what).names(gates, 5));
        }
    }
    out
}

fn todo_changes(todos: &[Todo], previous: &Manifest) -> Vec<Rich> {
    let old: BTreeSet<&str> = previous.todo.iter().map(String::as_str).collect();
    let now: BTreeSet<&str> = todos.iter().map(|t| t.id.as_str()).collect();
    let settled: Vec<&str> = old.difference(&now).copied().collect();
    let new: Vec<&str> = todos.iter().filter(|t| t.rank < Rank::Info && !old.contains(t.id.as_str())).map(|t| t.id.as_str()).collect();
    let mut out = Vec::new();
    if !settled.is_empty() {
        out.push(Rich::words("no longer to do: ").names(settled, 5));
    }
    if !new.is_empty() {
        out.push(Rich::words("new to do: ").names(new, 5));
    }
    out
}
