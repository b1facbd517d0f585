//! Owns what could not be known: from what the sources delivered, never from what would be convenient.

use std::collections::BTreeSet;

use super::answers::{Answers, Span};
use super::figures::{count, counted, percent};
use super::headline::Headline;
use super::rich::Rich;
use super::table::Row;

/// A kind of datum, the column that counts the files which delivered it, and what follows without.
const DATA: &[(&str, &str, &str)] = &[
    ("n_with_verdicts", "verdicts", "no yield of any gate in them"),
    ("n_with_finding_identity", "finding identities", "gate and stage stand for the defect"),
    ("n_with_tokens", "token counters", "no tokens and no price"),
    ("n_with_durations", "durations", "no tool time"),
    ("n_with_gate_costs", "costs of single gates", "what each gate took is unknown there"),
];

/// The list, most far-reaching first.
pub fn unknowns(answers: &Answers) -> Vec<Rich> {
    let mut out = Vec::new();
    out.push(Rich::words(
        "which gate would have stopped what another stopped first: a trace shows one order only; a first stop is credit under that order, no proof that nobody else would have",
    ));
    formats(answers, &mut out);
    gates(answers, &mut out);
    problems(answers, &mut out);
    runs(answers, &mut out);
    records(answers, &mut out);
    out
}

fn formats(answers: &Answers, out: &mut Vec<Rich>) {
    for row in answers.rows("coverage", Span::Lake) {
        let Some(format) = row.text("format") else { continue };
        let files = row.n("n_files");
        let mut nothing = Vec::new();
        let mut partly = Vec::new();
        for (column, what, then) in DATA {
            let Some(n) = row.int(column) else { continue };
            if n == 0 {
                nothing.push(format!("no {what} ({then})"));
            } else if n < files {
                partly.push(format!("{what} in {} of {}", count(n), counted(files, "file", "files")));
            }
        }
        // A source that delivers none of these (settings, git) is no log that lacks them.
        if nothing.len() < DATA.len() && (!nothing.is_empty() || !partly.is_empty()) {
            let mut parts = nothing;
            if !partly.is_empty() {
                parts.push(format!("only {}", partly.join(", ")));
            }
            out.push(Rich::words("from ").name(format).then(format!(" ({}): {}", counted(files, "file", "files"), parts.join("; "))));
        }
    }
}

fn gates(answers: &Answers, out: &mut Vec<Rich>) {
    let silent: Vec<&str> = answers
        .gates
        .iter()
        .filter(|g| g.is_control() && g.n_gate_runs > 0 && g.rate_basis.is_none() && g.pass_recorded != Some(true))
        .map(|g| g.gate_id.as_str())
        .collect();
    if !silent.is_empty() {
        out.push(Rich::words("rates of gates whose passes nothing records: ").names(silent, 5));
    }
    let implied: Vec<&str> =
        answers.gates.iter().filter(|g| g.rate_basis.as_deref() == Some("implied_by_stage")).map(|g| g.gate_id.as_str()).collect();
    if !implied.is_empty() {
        out.push(Rich::words("whether a stage really looked, where its pass is only implied by a later stage: ").names(implied, 5));
    }
    let hooks: Vec<&str> =
        answers.gates.iter().filter(|g| g.gate_id.ends_with(":hook") && g.n_gate_runs > 0).map(|g| g.gate_id.as_str()).collect();
    if !hooks.is_empty() {
        out.push(Rich::words("which hook of an event ran, where the log names none: ").names(hooks, 5));
    }
    let unclear: Vec<&str> =
        answers.gates.iter().filter(|g| g.purpose == "unknown" && g.n_gate_runs > 0).map(|g| g.gate_id.as_str()).collect();
    if !unclear.is_empty() {
        out.push(Rich::words("what these are for, so they have a cost and no yield: ").names(unclear, 5));
    }
    let untimed: i64 = answers.gates.iter().map(|g| (g.n_gate_runs - g.n_timed).max(0)).sum();
    let all: i64 = answers.gates.iter().map(|g| g.n_gate_runs).sum();
    if untimed > 0 {
        out.push(Rich::words(format!(
            "how long {} of {} took ({}); many share the time of the script they are part of",
            count(untimed),
            counted(all, "gate run", "gate runs"),
            percent(untimed as f64 / all.max(1) as f64)
        )));
    }
}

fn problems(answers: &Answers, out: &mut Vec<Rich>) {
    let product: Vec<Row> = answers.rows("problems", Span::Evidence).filter(|r| r.text("about") == Some("product")).collect();
    let count_of = |test: fn(&Row) -> bool| product.iter().filter(|r| test(r)).count() as i64;
    let concurrent = count_of(|r| r.text("order_basis") == Some("concurrent"));
    if concurrent > 0 {
        out.push(Rich::words(format!("who was first for {} whose gates ran at the same time", counted(concurrent, "problem", "problems"))));
    }
    let unattributed = count_of(|r| r.flag("unattributed") == Some(true));
    if unattributed > 0 {
        out.push(Rich::words(format!(
            "who stopped {} of {}",
            count(unattributed),
            counted(product.len() as i64, "product problem", "product problems")
        )));
    }
    let fate = count_of(|r| r.text("disposition") == Some("unknown") && r.text("label").is_none());
    if fate > 0 {
        out.push(Rich::words(format!(
            "whether {} of {} were right: no record shows what became of them",
            count(fate),
            counted(product.len() as i64, "product problem", "product problems")
        )));
    }
    let unrated = count_of(|r| r.text("severity").is_none());
    if unrated > 0 {
        out.push(Rich::words(format!(
            "how bad {}: no finding says; ranked as major, never as harmless",
            counted(unrated, "problem is", "problems are")
        )));
    }
}

fn runs(answers: &Answers, out: &mut Vec<Rich>) {
    let h = Headline::read(answers, Span::Evidence);
    if h.n_runs > 0 && h.n_with_tokens < h.n_runs {
        out.push(Rich::words(format!(
            "what {} of {} cost in tokens and money",
            count(h.n_runs - h.n_with_tokens),
            counted(h.n_runs, "run", "runs")
        )));
    }
    let bound: i64 = answers
        .rows("tokens_by_model", Span::Evidence)
        .filter(|r| r.text("output_quality") == Some("lower_bound"))
        .map(|r| r.n("n_calls"))
        .sum();
    let calls: i64 = answers.rows("tokens_by_model", Span::Evidence).map(|r| r.n("n_calls")).sum();
    if bound > 0 {
        out.push(Rich::words(format!(
            "the true output of {} of {}: their counters are placeholders of the tool that wrote them, kept as lower bounds",
            count(bound),
            counted(calls, "model call", "model calls")
        )));
    }
    let (timed, recorded) =
        answers.rows("time_shares", Span::Evidence).fold((0, 0), |(t, m), r| (t + r.n("n_runs"), m + r.n("n_with_model")));
    if recorded < timed {
        out.push(Rich::words(format!(
            "where the time went in {} of {} without a session log",
            count(timed - recorded),
            counted(timed, "run", "runs")
        )));
    }
}

fn records(answers: &Answers, out: &mut Vec<Rich>) {
    let sum = |column: &str| answers.rows("coverage", Span::Lake).map(|r| r.n(column)).sum::<i64>();
    let quarantined = sum("n_quarantined");
    if quarantined > 0 {
        out.push(Rich::words(format!("what stands in {} that could not be read", counted(quarantined, "record", "records"))));
    }
    let gone = sum("n_gone");
    if gone > 0 {
        out.push(Rich::words(format!(
            "what {} would say today; what was read before stays",
            counted(gone, "vanished file", "vanished files")
        )));
    }
    let ignored: BTreeSet<i64> =
        answers.rows("coverage", Span::Lake).filter(|r| r.text("format").is_none()).map(|r| r.n("n_files")).collect();
    if let Some(n) = ignored.first().filter(|n| **n > 0) {
        out.push(Rich::words(format!("what stands in {} that no source reads", counted(*n, "file", "files"))));
    }
}
