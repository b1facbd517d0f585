//! Owns the things to do about the records themselves: what could not be read, priced or seen.

use std::collections::BTreeSet;

use super::{Decides, Rank, Todo};
use crate::report::answers::{Answers, Span};
use crate::report::figures::{count, counted, known, percent, tokens};
use crate::report::rich::{Rich, command};
use crate::report::table::Row;

pub(super) fn add(answers: &Answers, out: &mut Vec<Todo>) {
    out.extend(quarantine(answers));
    out.extend(unreadable(answers));
    out.extend(unpriced(answers));
    out.extend(no_passes(answers));
    out.extend(never_seen(answers));
}

fn quarantine(answers: &Answers) -> Option<Todo> {
    let rows: Vec<Row> = answers.rows("quarantine_summary", Span::Lake).collect();
    let n: i64 = rows.iter().map(|r| r.n("n_records")).sum();
    let all: i64 = answers.rows("coverage", Span::Lake).map(|r| r.n("n_records")).sum();
    let most = rows.iter().max_by_key(|r| (r.n("n_records"), std::cmp::Reverse(r.text("reason"))))?;
    let mut evidence = Vec::new();
    for row in rows.iter().take(4) {
        let mut line = Rich::words(format!(
            "{} in {}: ",
            counted(row.n("n_records"), "record", "records"),
            counted(row.n("n_files"), "file", "files")
        ))
        .name(row.text("reason").unwrap_or("unknown"));
        if let (Some(path), Some(at)) = (row.text("example_path"), row.int("example_line")) {
            line = line.then(", first at ").name(&format!("{}:{at}", tail(path)));
        }
        evidence.push(line);
    }
    Some(Todo {
        id: "quarantine:all".to_owned(),
        kind: "quarantine",
        rank: if all > 0 && n as f64 > 0.01 * all as f64 { Rank::Major } else { Rank::Minor },
        decides: Decides::Reading,
        weight: n,
        title: Rich::words(format!(
            "Look at {} that could not be read ({} of {}), most often ",
            counted(n, "record", "records"),
            percent(n as f64 / all.max(1) as f64),
            count(all)
        ))
        .name(most.text("reason").unwrap_or("unknown")),
        evidence,
        commands: vec![command(&["query", "quarantine_summary"])],
    })
}

/// The last parts of a path: enough to find the file, the same wherever the folder stands.
fn tail(path: &str) -> String {
    let parts: Vec<&str> = path.split(['/', '\\']).collect();
    if parts.len() <= 3 { path.to_owned() } else { format!("…/{}", parts[parts.len() - 3..].join("/")) }
}

fn unreadable(answers: &Answers) -> Option<Todo> {
    let failed: i64 = answers.rows("coverage", Span::Lake).map(|r| r.n("n_failed")).sum();
    (failed > 0).then(|| Todo {
        id: "unreadable:all".to_owned(),
        kind: "unreadable",
        rank: Rank::Major,
        decides: Decides::Repair,
        weight: failed,
        title: Rich::words(format!("Make {} readable: nothing of them is in this report", counted(failed, "file", "files"))),
        evidence: Vec::new(),
        commands: vec![command(&["sql", "select path from sources where state = 'failed' order by path"])],
    })
}

fn unpriced(answers: &Answers) -> Option<Todo> {
    let rows: Vec<Row> = answers.rows("unpriced_models", Span::Lake).filter(|r| r.text("model").is_some()).collect();
    if rows.is_empty() {
        return None;
    }
    let calls: i64 = rows.iter().map(|r| r.n("n_calls")).sum();
    let output: Option<i64> = rows.iter().filter_map(|r| r.int("output_tokens")).reduce(i64::saturating_add);
    Some(Todo {
        id: "unpriced:all".to_owned(),
        kind: "unpriced",
        rank: Rank::Info,
        decides: Decides::Record,
        weight: calls,
        title: Rich::words(format!("Give {} a price: ", counted(rows.len() as i64, "model", "models")))
            .names(rows.iter().filter_map(|r| r.text("model")), 4),
        evidence: vec![Rich::words(format!(
            "{} with {} output tokens have no price: unknown, not free",
            counted(calls, "call", "calls"),
            known(output, tokens)
        ))],
        commands: vec![command(&["query", "unpriced_models"])],
    })
}

/// Controls that ran and whose passes nothing records: firings without a rate.
fn no_passes(answers: &Answers) -> Option<Todo> {
    let gates: Vec<&str> = answers
        .gates
        .iter()
        .filter(|g| g.is_control() && g.n_gate_runs > 0 && g.rate_basis.is_none() && g.pass_recorded != Some(true))
        .map(|g| g.gate_id.as_str())
        .collect();
    (!gates.is_empty()).then(|| Todo {
        id: "no_passes:all".to_owned(),
        kind: "no_passes",
        rank: Rank::Info,
        decides: Decides::Record,
        weight: gates.len() as i64,
        title: Rich::words(format!(
            "Let {}: ",
            counted(gates.len() as i64, "control record that it passed", "controls record that they passed")
        ))
        .names(gates.iter().copied(), 4),
        evidence: vec![Rich::words("heard only when it speaks: there are firings, but no rate and no bound")],
        commands: vec![command(&["query", "hooks"])],
    })
}

fn never_seen(answers: &Answers) -> Option<Todo> {
    let rows: Vec<Row> = answers.rows("declared_not_seen", Span::Lake).filter(|r| r.text("what") == Some("gate")).collect();
    let files: BTreeSet<&str> = rows.iter().filter_map(|r| r.text("declared_in")).collect();
    let silent = rows.iter().filter(|r| r.flag("pass_recorded") != Some(true)).count() as i64;
    (!rows.is_empty()).then(|| Todo {
        id: "never_seen:all".to_owned(),
        kind: "never_seen",
        rank: Rank::Info,
        decides: Decides::Record,
        weight: rows.len() as i64,
        title: Rich::words(format!("See whether {} still at work: ", counted(rows.len() as i64, "declared gate is", "declared gates are")))
            .names(rows.iter().filter_map(|r| r.text("id")), 4),
        evidence: vec![
            Rich::words(format!("declared in {} and in no record at all", counted(files.len() as i64, "file", "files"))),
            Rich::words(format!("{} of them would leave no record of a pass: dead and healthy but quiet look alike", count(silent))),
        ],
        commands: vec![command(&["query", "declared_not_seen"])],
    })
}
