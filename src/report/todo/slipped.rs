//! Owns the things to do about problems that got past a gate: escapes and blind spots.

use std::collections::{BTreeMap, BTreeSet};

use super::{Decides, Rank, Todo, severities};
use crate::report::answers::{Answers, Span};
use crate::report::figures::{count, counted};
use crate::report::rich::{Rich, command, short};
use crate::report::table::Row;

pub(super) fn add(answers: &Answers, out: &mut Vec<Todo>) {
    let mut misses: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for row in answers.rows("misses", Span::Evidence).filter(|r| r.text("miss_basis") == Some("proven")) {
        misses.entry(row.text("gate_id").unwrap_or_default()).or_default().push(row);
    }
    let escaped: BTreeSet<&str> = answers.rows("escapes", Span::Evidence).filter_map(|r| r.text("problem_id")).collect();
    for (gate, rows) in &misses {
        out.push(blind_spot(answers, gate, rows, &escaped));
    }
    let unseen: Vec<Row> = answers.rows("escapes", Span::Evidence).filter(|r| r.list("missed_proven").is_empty()).collect();
    out.extend(escapes(answers, &unseen));
}

fn blind_spot(answers: &Answers, gate: &str, rows: &[Row], escaped: &BTreeSet<&str>) -> Todo {
    let mut problems: BTreeMap<&str, Row> = BTreeMap::new();
    for row in rows {
        problems.entry(row.text("problem_id").unwrap_or_default()).or_insert(*row);
    }
    let n = problems.len() as i64;
    let n_escaped = problems.keys().filter(|id| escaped.contains(*id)).count() as i64;
    let rank = problems.values().map(|r| Rank::of_severity(r.text("severity"))).min().unwrap_or(Rank::Major);
    let mut title = Rich::words("Look at the blind spot of ").name(gate).then(format!(
        ": it passed on {} that {} provably there ({})",
        counted(n, "problem", "problems"),
        if n == 1 { "was" } else { "were" },
        severities(problems.values().map(|r| r.text("severity")))
    ));
    if n_escaped > 0 {
        title = title.then(format!(
            "; {} first seen after merge",
            if n_escaped == n && n == 1 { "it was".to_owned() } else { format!("{n_escaped} of them") }
        ));
    }
    let mut evidence = Vec::new();
    let mut caught: BTreeSet<&str> = problems.values().filter_map(|r| r.text("caught_by")).collect();
    let itself = caught.remove(gate);
    match (itself, caught.is_empty()) {
        (true, true) => evidence.push(Rich::words("reported by no other gate, only by itself at another time")),
        (true, false) => evidence.push(Rich::words("reported by itself at another time, and by ").names(caught, 4)),
        (false, false) => evidence.push(Rich::words("reported by ").names(caught, 4)),
        (false, true) => {}
    }
    if let Some(g) = answers.gates.iter().find(|g| g.gate_id == gate) {
        let stops = g.first_stops().unwrap_or(0);
        let possible = match g.n_misses_possible.unwrap_or(0) {
            0 => String::new(),
            n => format!("; {} more, not proven, not counted", counted(n, "possible miss", "possible misses")),
        };
        evidence.push(Rich::words(format!(
            "against {} in {}{possible}",
            counted(stops, "first stop", "first stops"),
            counted(g.n_runs_counted, "run", "runs")
        )));
    }
    let worst =
        problems.iter().min_by_key(|(id, r)| (Rank::of_severity(r.text("severity")), !escaped.contains(*id), *id)).map(|(id, _)| *id);
    Todo {
        id: format!("blind_spot:{gate}"),
        kind: "blind_spot",
        rank,
        decides: Decides::Reading,
        weight: n_escaped * 1_000 + n,
        title,
        evidence,
        commands: worst.into_iter().map(|id| command(&["explain", short(id)])).chain([command(&["explain", gate])]).collect(),
    }
}

/// Escapes that no gate provably passed on: what got through where nobody is known to have looked.
fn escapes(answers: &Answers, rows: &[Row]) -> Option<Todo> {
    let news: BTreeSet<&str> = answers.rows("escapes", Span::News).filter_map(|r| r.text("problem_id")).collect();
    let key = |r: &Row| (Rank::of_severity(r.text("severity")), !r.text("problem_id").is_some_and(|id| news.contains(id)));
    let worst = rows.iter().min_by_key(|r| (key(r), r.text("problem_id")))?;
    let n = rows.len() as i64;
    let n_news = rows.iter().filter(|r| r.text("problem_id").is_some_and(|id| news.contains(id))).count() as i64;
    let possible: BTreeSet<&str> = rows.iter().flat_map(|r| r.list("missed_possible")).map(String::as_str).collect();
    let seen_by: BTreeSet<&str> = rows.iter().filter_map(|r| r.text("first_detection_gate_id")).collect();
    let mut evidence = Vec::new();
    if !seen_by.is_empty() {
        evidence.push(Rich::words("first seen by ").names(seen_by, 4));
    }
    evidence.push(match possible.is_empty() {
        true => Rich::words("no gate is known to have passed while they were there: nothing looked, or nothing recorded it"),
        false => Rich::words("may have passed while they were there (not proven): ").names(possible, 4),
    });
    Some(Todo {
        id: "escape:unseen".to_owned(),
        kind: "escape",
        rank: Rank::of_severity(worst.text("severity")),
        decides: Decides::Reading,
        weight: n,
        title: Rich::words(format!(
            "Ask which gate should have seen {} first seen after merge ({}; {} of them in this span)",
            counted(n, "problem", "problems"),
            severities(rows.iter().map(|r| r.text("severity"))),
            if n_news == 0 { "none".to_owned() } else { count(n_news) }
        )),
        evidence,
        commands: worst.text("problem_id").into_iter().map(|id| command(&["explain", short(id)])).collect(),
    })
}
