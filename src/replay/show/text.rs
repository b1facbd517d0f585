//! Owns the report for a person: what must be known first stands first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::results::{CellLine, Results};
use super::super::subsume::Cover;
use super::super::weigh::{Issue, Kind};
use super::super::words::{Classification, Outcome};
use super::about;
use crate::plain::{cut, visible};

/// Wider matrices are left to the JSON results.
const WIDEST: usize = 40;

/// The report.
pub fn text(results: &Results) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(head(results));
    line(isolation(results));
    if let Some(part) = &results.part {
        line(format!("only a part: {}", visible(part)));
    }
    for (title, kinds) in SECTIONS {
        let issues: Vec<&Issue> = results.issues.iter().filter(|i| kinds.contains(&i.kind)).collect();
        if issues.is_empty() {
            continue;
        }
        line(format!("\n{title} ({})", issues.len()));
        for issue in issues {
            let severity = issue.severity.map_or(String::new(), |s| format!("[{s}] "));
            line(format!("  {severity}{}: {}", visible(&about(issue)), visible(&issue.text)));
            if let Some(waived) = &issue.waived {
                line(format!("    waived by {}", visible(waived)));
            }
        }
    }
    let unanswered = unanswered(results);
    if !unanswered.is_empty() {
        line(format!("\nGates that are to catch and have no validator ({})", unanswered.len()));
        for text in unanswered {
            line(text);
        }
    }
    if let Some(c) = &results.comparison {
        line(format!("\nCompared with {}", visible(&c.baseline)));
        line(format!(
            "  newly missed {}, newly caught {}, newly wrong on controls {}, no longer wrong {}, unchanged {}, otherwise {}, new {}, without verdict {}",
            c.newly_missed.len(),
            c.newly_caught.len(),
            c.newly_wrong.len(),
            c.no_longer_wrong.len(),
            c.unchanged,
            c.otherwise,
            c.new,
            c.no_verdict
        ));
        line(format!("  problems lost {}, won {}: McNemar exact {}", c.problems.lost, c.problems.won, c.problems.note));
        for (id, f) in &c.validators {
            line(format!("  {}: lost {}, won {}: {}", visible(id), f.lost, f.won, f.note));
        }
    }
    line("\nValidators".to_owned());
    line(validators(results));
    let s = &results.subsumption;
    let list = |title: &str, ids: &[String]| (!ids.is_empty()).then(|| format!("  {title}: {}", visible(&ids.join(", "))));
    let told = [
        list("not believed (they fail controls or emptied stimuli)", &s.not_believed),
        list("catch nothing here", &s.dead),
        list("vacuous", &s.vacuous),
        list("caught by nobody", &s.uncaught),
    ];
    for text in told.into_iter().flatten() {
        line(text);
    }
    if let Some(cover) = s.cover.as_ref().or(results.measured.cover.as_ref()) {
        line(cover_line(cover, s.caught, s.cover.is_none()));
    }
    if results.validators.len() <= WIDEST && !results.cells.is_empty() {
        line(String::from("\nMatrix"));
        line(heatmap(results));
    }
    line(format!("\n{}", verdict(results)));
    out
}

const SECTIONS: &[(&str, &[Kind])] = &[
    ("Speak on nothing", &[Kind::OnNothing]),
    ("Wrote outside their copies", &[Kind::Outside]),
    ("Had to be cleaned up after", &[Kind::Unruly]),
    ("Ran with less isolation than others", &[Kind::Degraded]),
    ("Fail controls", &[Kind::FalseAlarm]),
    ("A change cannot acquit itself", &[Kind::SelfAcquittal]),
    ("Newly missed", &[Kind::NewlyMissed]),
    ("Missed", &[Kind::Missed]),
    ("Skipped with the reference at hand", &[Kind::SkippedReference]),
    ("No verdict", &[Kind::NoVerdict]),
    ("Resolved", &[Kind::Resolved]),
    ("Newly caught", &[Kind::NewlyCaught]),
    ("Otherwise than expected", &[Kind::Differs]),
    ("Waivers", &[Kind::ExpiredWaiver, Kind::UnusedWaiver]),
    ("Not locked", &[Kind::Unlocked]),
];

fn head(results: &Results) -> String {
    let controls = results.fixtures.iter().filter(|f| f.classification == Classification::Control).count();
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    for cell in &results.cells {
        *counts.entry(cell.outcome).or_default() += 1;
    }
    let counts = counts.iter().map(|(o, n)| format!("{n} {o}")).collect::<Vec<_>>().join(", ");
    format!(
        "Replayed {} fixtures ({controls} controls) × {} validators: {} cells ({counts}); {} runs, {} remembered",
        results.fixtures.len(),
        results.validators.len(),
        results.cells.len(),
        results.measured.runs,
        results.measured.remembered
    )
}

fn isolation(results: &Results) -> String {
    let i = &results.isolation;
    let missing =
        if i.missing.is_empty() { "everything in force".to_owned() } else { format!("DEGRADED, without {}", i.missing.join(", ")) };
    format!("Isolation: {} ({}); {missing}", i.level, i.in_force.join(", "))
}

fn validators(results: &Results) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header([
        "  validator",
        "gate",
        "catches",
        "misses",
        "other",
        "false alarms",
        "alone",
        "share",
        "cost ms",
        "all caught also by",
    ]);
    let controls: BTreeSet<&str> =
        results.fixtures.iter().filter(|f| f.classification == Classification::Control).map(|f| f.id.as_str()).collect();
    let mut of: BTreeMap<&str, Vec<&CellLine>> = BTreeMap::new();
    for cell in &results.cells {
        of.entry(cell.validator.as_str()).or_default().push(cell);
    }
    for v in &results.validators {
        let cells = of.get(v.id.as_str()).map(Vec::as_slice).unwrap_or_default();
        let control = |c: &CellLine| controls.contains(c.fixture.as_str());
        let count = |wanted: &dyn Fn(&CellLine) -> bool| cells.iter().filter(|c| wanted(c)).count().to_string();
        let worth = results.subsumption.worth.iter().find(|w| w.validator == v.id);
        table.add_row([
            format!("  {}", visible(&v.id)),
            visible(&v.gate),
            count(&|c| !control(c) && c.outcome == Outcome::Catches),
            count(&|c| !control(c) && c.outcome == Outcome::Misses),
            count(&|c| !control(c) && !matches!(c.outcome, Outcome::Catches | Outcome::Misses | Outcome::Unsupported)),
            count(&|c| control(c) && matches!(c.outcome, Outcome::Catches | Outcome::WrongReason | Outcome::Flaky)),
            worth.map_or(String::new(), |w| format!("{}", w.unique)),
            worth.map_or(String::new(), |w| format!("{:.2}", w.shapley)),
            results.measured.cost_ms.get(&v.id).map_or(String::new(), |c| format!("{c:.1}")),
            worth.map_or(String::new(), |w| cut(&visible(&w.dominated_by.join(", ")), 60)),
        ]);
    }
    table.lines().map(|l| l.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn cover_line(cover: &Cover, caught: usize, measured: bool) -> String {
    let how = if cover.exact { "cheapest set that catches all" } else { "a set that catches all (greedy, perhaps not the cheapest)" };
    let cost = if measured { "measured" } else { "stated" };
    format!("  {how} {caught} caught: {} ({:.1} ms a fixture, {cost})", visible(&cover.validators.join(", ")), cover.cost_ms)
}

/// One line a gate: it is the gate that is missing, not each fixture.
fn unanswered(results: &Results) -> Vec<String> {
    let mut gates: BTreeMap<&str, Vec<&Issue>> = BTreeMap::new();
    for issue in results.issues.iter().filter(|i| i.kind == Kind::Unanswered) {
        gates.entry(issue.gate.as_deref().or(issue.validator.as_deref()).unwrap_or_default()).or_default().push(issue);
    }
    let line = |(gate, issues): (&str, Vec<&Issue>)| {
        let names: Vec<&str> = issues.iter().filter_map(|i| i.fixture.as_deref()).take(3).collect();
        let more = if issues.len() > 3 { ", …" } else { "" };
        let waived = issues.iter().filter(|i| i.waived.is_some()).count();
        let waived = if waived > 0 { format!("; {waived} waived") } else { String::new() };
        format!("  {}: {} fixtures ({}{more}){waived}", visible(gate), issues.len(), visible(&names.join(", ")))
    };
    gates.into_iter().map(line).collect()
}

/// One line a fixture, one column a validator.
fn heatmap(results: &Results) -> String {
    let mut out = String::from(
        "  C catches, . passes, W wrong reason, S skipped, V vacuous, F flaky, O stale, X crashes, T times out, blank unsupported\n",
    );
    for (i, v) in results.validators.iter().enumerate() {
        out.push_str(&format!("  {:>2} {}\n", i + 1, visible(&v.id)));
    }
    let width = results.fixtures.iter().map(|f| f.id.len()).max().unwrap_or(0).min(48);
    out.push_str(&format!("  {:width$} ", ""));
    for i in 1..=results.validators.len() {
        out.push_str(&format!("{i:>3}"));
    }
    out.push('\n');
    let outcomes: HashMap<(&str, &str), Outcome> =
        results.cells.iter().map(|c| ((c.fixture.as_str(), c.validator.as_str()), c.outcome)).collect();
    for f in &results.fixtures {
        out.push_str(&format!("  {:width$} ", cut(&visible(&f.id), width)));
        for v in &results.validators {
            let cell = outcomes.get(&(f.id.as_str(), v.id.as_str())).map_or('-', |o| o.letter());
            out.push_str(&format!("  {cell}"));
        }
        if f.classification != Classification::Normative {
            out.push_str(&format!("  {}", f.classification));
        }
        out.push('\n');
    }
    out.trim_end().to_owned()
}

fn verdict(results: &Results) -> String {
    let failing = results.issues.iter().filter(|i| i.fails()).count();
    let waived = results.issues.iter().filter(|i| i.waived.is_some()).count();
    let silent = results.issues.iter().filter(|i| i.kind == Kind::NoVerdict).count();
    let waived = if waived > 0 { format!(", {waived} waived") } else { String::new() };
    let doubted = results.subsumption.not_believed.len();
    let doubt = match doubted {
        0 => String::new(),
        1 => "; 1 validator is not believed".to_owned(),
        n => format!("; {n} validators are not believed"),
    };
    match results.exit {
        0 => format!("Held: every expectation is met{waived}{doubt} (exit 0)"),
        3 => format!("No verdict in {silent} cells: this is no pass; {failing} proven failures beside{waived} (exit 3)"),
        _ => format!("Failed: {failing} failures{waived} (exit 1)"),
    }
}
