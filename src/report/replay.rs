//! Owns what a report says of replays: what the newest one proves, in a few lines and three tables.

use std::collections::BTreeSet;

use super::answers::{Answers, Span};
use super::figures::{UNKNOWN, count, counted};
use super::rich::Rich;
use super::table::Row;
use super::views::{Cell, View, num, word};
use crate::model::time::Ts;

/// Kinds of what fails the check unless waived.
pub const FAILING: &[&str] = &["missed", "newly_missed", "false_alarm", "skipped_reference", "unanswered", "self_acquittal"];
/// Flips and modes a page lists; the files have all.
const MOST: usize = 60;
/// Names in a line.
const NAMES: usize = 6;

/// The part of a report that is about replays.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    pub lines: Vec<Rich>,
    pub views: Vec<View>,
}

pub fn replay(answers: &Answers) -> Replay {
    let cells: Vec<Row> = answers.rows("replay_matrix", Span::Lake).collect();
    let Some(first) = cells.first() else {
        let line = Rich::words("no replay results; run ").command(&["replay"]);
        return Replay { lines: vec![line], views: Vec::new() };
    };
    let mut views = vec![validators(answers), modes(answers), flips(answers)];
    views.retain(|v| !v.rows.is_empty());
    Replay { lines: lines(answers, first, &cells), views }
}

fn lines(answers: &Answers, first: &Row, cells: &[Row]) -> Vec<Rich> {
    let ids = |class: &[&str]| -> BTreeSet<&str> {
        let of = |r: &&Row| r.text("fixture_class").is_some_and(|c| class.contains(&c));
        cells.iter().filter(of).filter_map(|r| r.text("fixture_id")).collect()
    };
    let (failures, controls) = (ids(&["normative", "known_defect"]), ids(&["control"]));
    let rows: Vec<Row> = answers.rows("replay_validators", Span::Lake).collect();
    let named = |of: &dyn Fn(&Row) -> bool| -> Vec<&str> { rows.iter().filter(|r| of(r)).filter_map(|r| r.text("validator_id")).collect() };
    let when = first.time("replayed_at").map_or("at an unknown time".to_owned(), |t| format!("of {}", second(t)));
    let mut out = Vec::new();
    let mut begin = Rich::words(format!(
        "the newest replay, {when}: {} and {} through {}",
        counted(failures.len() as i64, "preserved failure", "preserved failures"),
        counted(controls.len() as i64, "control", "controls"),
        counted(rows.len() as i64, "validator", "validators")
    ));
    if let Some(part) = first.text("part") {
        begin = begin.then("; only a part: ").name(part);
    }
    out.push(begin);
    let caught: i64 = answers.rows("replay_coverage", Span::Lake).filter(|r| r.text("gate_id").is_none()).map(|r| r.n("n_caught")).sum();
    let uncaught: BTreeSet<&str> = cells
        .iter()
        .filter(|r| r.n("n_catchers") == 0 && r.text("fixture_id").is_some_and(|f| failures.contains(f)))
        .filter_map(|r| r.text("fixture_id"))
        .collect();
    let mut line = Rich::words(format!("{} of {} caught", count(caught), counted(failures.len() as i64, "failure", "failures")));
    if !uncaught.is_empty() {
        line = line.then(format!("; {} by nobody: ", count(uncaught.len() as i64))).names(uncaught, NAMES);
    }
    out.push(line);
    for (against, words) in [("baseline", "than in the baseline"), ("previous", "than in the replay before")] {
        let of = |kind: &'static str| -> BTreeSet<&str> {
            let is = |r: &Row| r.text("against") == Some(against) && r.text("flip") == Some(kind);
            answers.rows("replay_flips", Span::Lake).filter(is).filter_map(|r| r.text("fixture_id")).collect()
        };
        for (kind, told) in [("newly_missed", "caught by fewer validators"), ("newly_wrong", "failed by more validators, and known good,")]
        {
            let fixtures = of(kind);
            if !fixtures.is_empty() {
                let n = counted(fixtures.len() as i64, "fixture is", "fixtures are");
                out.push(Rich::words(format!("{n} {told} {words}: ")).names(fixtures, NAMES));
            }
        }
    }
    let alone = named(&|r| r.n("n_alone") > 0);
    if !alone.is_empty() {
        let n: i64 = rows.iter().map(|r| r.n("n_alone")).sum();
        let line = format!("{} on a single validator, without which nothing stops them: ", counted(n, "failure hangs", "failures hang"));
        out.push(Rich::words(line).names(alone, NAMES));
    }
    let told: [(&str, Vec<&str>); 4] = [
        ("not believed, for they fail controls or an emptied stimulus: ", named(&|r| r.flag("believed") == Some(false))),
        ("catch nothing that is kept here: ", named(&|r| r.flag("dead") == Some(true))),
        ("read nothing of what they are shown: ", named(&|r| r.flag("vacuous") == Some(true))),
        (
            "catch nothing that another validator does not catch too (no reason to remove them: the corpus holds only what once went wrong): ",
            named(&|r| !r.list("dominated_by").is_empty()),
        ),
    ];
    for (words, names) in told.into_iter().filter(|(_, names)| !names.is_empty()) {
        out.push(Rich::words(words).names(names, NAMES));
    }
    out
}

/// An instant to the second.
fn second(at: Ts) -> String {
    let text = at.to_string();
    text.split_once('.').map_or(text.clone(), |(until, _)| format!("{until}Z"))
}

/// A share to two places.
fn share(value: Option<f64>) -> Cell {
    Cell { text: value.map_or(UNKNOWN.to_owned(), |x| format!("{x:.2}")), sort: value, name: false, alarm: false }
}

fn remark(r: &Row) -> &'static str {
    match () {
        () if r.flag("believed") == Some(false) => "not believed",
        () if r.flag("vacuous") == Some(true) => "vacuous",
        () if r.flag("dead") == Some(true) => "dead",
        () if r.text("emptied_outcome").is_some() => "speaks on nothing",
        () => "",
    }
}

fn names(list: &[String], most: usize) -> Cell {
    let mut text = list.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    if list.len() > most {
        text.push_str(&format!(", {} more", list.len() - most));
    }
    // An empty code span would be seen.
    if text.is_empty() { Cell::plain("") } else { Cell::name(Some(&text)) }
}

fn validators(answers: &Answers) -> View {
    let rows = answers.rows("replay_validators", Span::Lake).map(|r| {
        let others = ["n_wrong_reason", "n_vacuous", "n_skipped", "n_stale", "n_flaky"].iter().map(|c| r.n(c)).sum();
        let failed = r.n("n_controls_failed");
        vec![
            Cell::name(r.text("validator_id")),
            Cell::name(r.text("gate_id")),
            Cell { alarm: r.flag("believed") == Some(false), ..Cell::plain(remark(&r)) },
            Cell::figure(r.int("n_caught"), count),
            Cell::figure(r.int("n_alone"), count),
            share(r.float("share")),
            Cell::figure(r.int("n_misses"), count),
            Cell::figure(Some(others), count),
            Cell::trouble(Some(r.n("n_crashes") + r.n("n_times_out"))),
            Cell {
                text: format!("{} of {}", count(failed), count(r.n("n_controls"))),
                sort: Some(failed as f64),
                name: false,
                alarm: failed > 0,
            },
            Cell {
                text: r.float("wall_median_ms").map_or(UNKNOWN.to_owned(), |ms| format!("{ms:.1}")),
                sort: r.float("wall_median_ms"),
                name: false,
                alarm: false,
            },
            names(r.list("dominated_by"), 3),
        ]
    });
    View {
        id: "replay-validators",
        title: "Replay: what each validator is worth",
        note: "Over the preserved failures, each counted once; catches of a validator that fails a control or an emptied stimulus are not believed. Alone is what would slip through \
               without it; the share divides each failure evenly among all who catch it. A validator that catches nothing here is not proven useless: the corpus holds only what once went wrong and was kept.",
        file: "replay_validators".to_owned(),
        columns: vec![
            word("Validator", ""),
            word("Gate", "Gate it belongs to"),
            word("Remark", "not believed, vacuous, dead, or speaks on nothing"),
            num("Caught", "Failures it catches, and is believed"),
            num("Alone", "Of these, those nobody else catches: lost without it"),
            num("Share", "Shapley value: each failure divided among all who catch it"),
            num("Passed", "Failures it passes"),
            num("Otherwise", "Failures it fails for another reason, skips, reads nothing of, is flaky or stale on"),
            num("No verdict", "Failures on which it crashes or gives no verdict in time"),
            num("Controls failed", "Known good, and failed all the same"),
            num("Median ms", "Wall time of a run"),
            word("All caught also by", "Validators that catch all it catches"),
        ],
        rows: rows.collect(),
    }
}

fn modes(answers: &Answers) -> View {
    let rows = answers.rows("replay_coverage", Span::Lake).filter(|r| r.text("gate_id").is_none()).take(MOST).map(|r| {
        vec![
            Cell::name(r.text("failure_mode")),
            Cell::figure(r.int("n_failures"), count),
            Cell::figure(r.int("n_caught"), count),
            Cell::trouble(r.int("n_missed")),
            Cell::trouble(r.int("n_no_verdict")),
            Cell::trouble(r.int("n_not_read")),
            Cell::plain(r.text("worst_missed").unwrap_or_default()),
            names(r.list("missed"), 3),
        ]
    });
    View {
        id: "replay-modes",
        title: "Replay: which failure modes are stopped",
        note: "All gates together; the file has each gate too. Each failure is caught, missed, without verdict or not read by anyone.",
        file: "replay_coverage".to_owned(),
        columns: vec![
            word("Failure mode", ""),
            num("Failures", "Preserved failures of this mode"),
            num("Caught", "By a validator that is believed"),
            num("Missed", "Read, and caught by nobody"),
            num("No verdict", "Not caught, and somebody crashed or timed out on it"),
            num("Not read", "No validator reads such a stimulus"),
            word("Worst missed", "Severity"),
            word("Missed fixtures", ""),
        ],
        rows: rows.collect(),
    }
}

fn flips(answers: &Answers) -> View {
    let rows = answers.rows("replay_flips", Span::Lake).take(MOST).map(|r| {
        let flip = r.text("flip").unwrap_or_default();
        let waived = if r.flag("waived") == Some(true) { " (waived)" } else { "" };
        let gone = if r.flag("gone") == Some(true) { ", which is gone" } else { "" };
        let held = match r.time("earlier_at") {
            Some(at) => Cell::plain(format!("replay of {}", second(at))),
            None => Cell::name(r.text("earlier")),
        };
        vec![
            Cell { alarm: matches!(flip, "newly_missed" | "newly_wrong"), ..Cell::plain(format!("{}{waived}", flip.replace('_', " "))) },
            Cell::name(r.text("fixture_id")),
            Cell::plain(r.text("severity").unwrap_or(UNKNOWN)),
            Cell::name(Some(&format!("{}{gone}", r.text("validator_id").unwrap_or_default()))),
            Cell::plain(r.text("outcome_before").unwrap_or(UNKNOWN).replace('_', " ")),
            Cell::plain(r.text("outcome").unwrap_or(UNKNOWN).replace('_', " ")),
            held,
        ]
    });
    View {
        id: "replay-flips",
        title: "Replay: what became otherwise",
        note: "Cells of the newest replay that are not what they were on the same bytes, in the baseline it was compared with and in the replay before.",
        file: "replay_flips".to_owned(),
        columns: vec![
            word("How", ""),
            word("Fixture", ""),
            word("Severity", ""),
            word("Validator", ""),
            word("Was", "Outcome then"),
            word("Is", "Outcome now"),
            word("Held against", ""),
        ],
        rows: rows.collect(),
    }
}
