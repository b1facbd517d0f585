//! Owns the things to do about problems whose record leaves a question open: nobody stopped them, a person rejected, they came back.

use std::collections::BTreeSet;

use super::{Decides, Rank, Todo, severities};
use crate::report::answers::{Answers, Span};
use crate::report::figures::{count, counted, percent};
use crate::report::rich::{Rich, command, short};
use crate::report::table::Row;

/// Share of first stops known to be wrong from which a gate deserves a look; fewer than [`FALSE_ALARMS`] prove no habit.
const FALSE_ALARM_SHARE: f64 = 0.5;
const FALSE_ALARMS: i64 = 3;

pub(super) fn add(answers: &Answers, out: &mut Vec<Todo>) {
    let product: Vec<Row> = answers.rows("problems", Span::Evidence).filter(|r| r.text("about") == Some("product")).collect();
    out.extend(unattributed(&product));
    out.extend(human(&product));
    out.extend(recurrences(answers));
    for gate in &answers.gates {
        let (wrong, known) = (gate.n_false_alarms.unwrap_or(0), gate.n_disposed.unwrap_or(0));
        let share = wrong as f64 / known.max(1) as f64;
        if wrong >= FALSE_ALARMS && share >= FALSE_ALARM_SHARE {
            out.push(Todo {
                id: format!("false_alarms:{}", gate.gate_id),
                kind: "false_alarms",
                rank: Rank::Minor,
                decides: Decides::Reading,
                weight: wrong,
                title: Rich::words("Make ").name(&gate.gate_id).then(format!(
                    " more exact: {} of {} with a known outcome were false alarms ({})",
                    count(wrong),
                    counted(known, "first stop", "first stops"),
                    percent(share)
                )),
                evidence: vec![Rich::words(format!(
                    "{} in all; of {} the outcome is not known",
                    counted(gate.first_stops().unwrap_or(0), "first stop", "first stops"),
                    count((gate.first_stops().unwrap_or(0) - known).max(0))
                ))],
                commands: vec![command(&["explain", &gate.gate_id])],
            });
        }
    }
}

fn unattributed(product: &[Row]) -> Option<Todo> {
    let rows: Vec<&Row> = product.iter().filter(|r| r.flag("unattributed") == Some(true)).collect();
    let worst = rows.iter().min_by_key(|r| (Rank::of_severity(r.text("severity")), r.text("problem_id")))?;
    let gates: BTreeSet<&str> = rows.iter().filter_map(|r| r.text("first_detection_gate_id")).collect();
    Some(Todo {
        id: "unattributed:all".to_owned(),
        kind: "unattributed",
        rank: Rank::Minor,
        decides: Decides::Reading,
        weight: rows.len() as i64,
        title: Rich::words(format!(
            "Read {} that no record attributes to a stop ({})",
            counted(rows.len() as i64, "problem", "problems"),
            severities(rows.iter().map(|r| r.text("severity")))
        )),
        evidence: vec![
            Rich::words("first reported by ").names(gates, 5),
            Rich::words(format!(
                "{} of {} product problems; they are credited to no gate",
                percent(rows.len() as f64 / product.len().max(1) as f64),
                count(product.len() as i64)
            )),
        ],
        commands: worst
            .text("problem_id")
            .into_iter()
            .map(|id| command(&["explain", short(id)]))
            .chain([command(&["query", "unattributed"])])
            .collect(),
    })
}

fn human(product: &[Row]) -> Option<Todo> {
    let rows: Vec<&Row> = product.iter().filter(|r| r.flag("human") == Some(true) && r.text("label").is_none()).collect();
    let worst = rows.iter().min_by_key(|r| (Rank::of_severity(r.text("severity")), r.text("problem_id")))?;
    let gates: BTreeSet<&str> = rows.iter().filter_map(|r| r.text("first_detection_gate_id")).collect();
    Some(Todo {
        id: "human_rejection:all".to_owned(),
        kind: "human_rejection",
        rank: Rank::Minor,
        decides: Decides::Person,
        weight: rows.len() as i64,
        title: Rich::words(format!("Label {} by a person", counted(rows.len() as i64, "rejection", "rejections"))),
        evidence: vec![
            Rich::words("through ").names(gates, 5),
            Rich::words("a person's no can mean a defect, a change of mind or a mistake: unclassified until labelled"),
        ],
        commands: worst
            .text("problem_id")
            .into_iter()
            .map(|id| command(&["explain", short(id)]))
            .chain(["mechanic label FINDING true|false-alarm|duplicate".to_owned()])
            .collect(),
    })
}

fn recurrences(answers: &Answers) -> Option<Todo> {
    let rows: Vec<Row> = answers.rows("recurrences", Span::News).filter(|r| r.flag("same_run") == Some(false)).collect();
    let worst = rows.iter().min_by_key(|r| (Rank::of_severity(r.text("severity")), r.text("problem_id")))?;
    let defects: BTreeSet<&str> = rows.iter().filter_map(|r| r.text("fingerprint")).collect();
    Some(Todo {
        id: "recurrence:later_run".to_owned(),
        kind: "recurrence",
        rank: Rank::of_severity(worst.text("severity")).max(Rank::Minor),
        decides: Decides::Reading,
        weight: rows.len() as i64,
        title: Rich::words(format!(
            "Ask why {} came back in a later run ({})",
            counted(defects.len() as i64, "defect", "defects"),
            severities(rows.iter().map(|r| r.text("severity")))
        )),
        evidence: vec![Rich::words("identity: ").names(defects, 3)],
        commands: worst.text("problem_id").into_iter().map(|id| command(&["explain", short(id)])).collect(),
    })
}
