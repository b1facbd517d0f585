//! Owns the things to do about cost against yield: the expensive gate, and gates that stopped nothing first and how many runs would tell.

use super::{Decides, Rank, Todo};
use crate::report::answers::Answers;
use crate::report::figures::{count, counted, known, millis, percent, trials_for, upper95, usd};
use crate::report::gate::Gate;
use crate::report::rich::{Rich, command};

/// Share of all gates' own time from which a gate is called expensive.
const EXPENSIVE: f64 = 0.25;

/// The bound that a gate without first stops is held against, in runs of a hundred.
const TARGET: f64 = 0.05;

pub(super) fn add(answers: &Answers, out: &mut Vec<Todo>) {
    let total: i64 = answers.gates.iter().filter_map(Gate::own_ms).sum();
    for gate in &answers.gates {
        if let Some(own) = gate.own_ms().filter(|own| total > 0 && *own as f64 >= EXPENSIVE * total as f64 && gate.n_gate_runs > 0) {
            out.push(expensive(gate, own, total));
        }
        if gate.is_zero_yield() {
            out.push(zero_yield(gate));
        }
    }
}

fn expensive(gate: &Gate, own: i64, total: i64) -> Todo {
    let mut evidence = Vec::new();
    match gate.first_stops() {
        Some(0) => evidence
            .push(Rich::words("it stopped nothing first in that time; that alone says nothing about what it deters or would stop next")),
        Some(n) => {
            evidence.push(Rich::words(format!("{} for that: {} each", counted(n, "first stop", "first stops"), millis(own / n.max(1)))))
        }
        None => evidence.push(Rich::words("it is no control: there is no yield to set against it")),
    }
    evidence.push(Rich::words(format!(
        "median {} a gate run, 95th percentile {}; time known for {} of {}",
        known(gate.busy_median_ms, millis),
        known(gate.busy_p95_ms, millis),
        count(gate.n_timed),
        counted(gate.n_gate_runs, "gate run", "gate runs")
    )));
    if let Some(nano) = gate.nano_usd {
        evidence.push(Rich::words(format!(
            "{} for its own calls; {} of {} unpriced",
            usd(nano),
            count(gate.n_calls_unpriced),
            counted(gate.n_calls, "call", "calls")
        )));
    }
    Todo {
        id: format!("expensive:{}", gate.gate_id),
        kind: "expensive",
        rank: Rank::Minor,
        decides: Decides::Reading,
        weight: own,
        title: Rich::words("See whether ").name(&gate.gate_id).then(format!(
            " can be made cheaper: {} of all gate time ({} of {})",
            percent(own as f64 / total as f64),
            millis(own),
            millis(total)
        )),
        evidence,
        commands: vec![command(&["explain", &gate.gate_id])],
    }
}

fn zero_yield(gate: &Gate) -> Todo {
    let n = gate.n_runs_counted;
    let bound = gate.upper95.or_else(|| upper95(n));
    let wanted = trials_for(TARGET).unwrap_or(i64::MAX);
    let more = (wanted - n).max(0);
    let mut evidence = vec![Rich::words(match more {
        0 => format!("the bound is under {} already; what a miss would cost decides, not the zero", percent(TARGET)),
        more => format!("{} without a first stop would bring the bound to {}", counted(more, "more run", "more runs"), percent(TARGET)),
    })];
    if gate.rate_basis.as_deref() == Some("implied_by_stage") {
        evidence.push(Rich::words("its passes are implied by later stages of a script, not recorded by itself"));
    }
    if gate.irreversible == Some(true) {
        evidence.push(Rich::words("what is behind it cannot be undone: it stays, whatever its yield"));
    }
    if let Some(change) = &gate.changed {
        evidence.push(change.tell(Rich::words(format!("its evidence begins on {}: ", change.on))));
    }
    if gate.n_later_detections.unwrap_or(0) > 0 {
        evidence.push(Rich::words(format!(
            "it did report {} after another gate",
            counted(gate.n_later_detections.unwrap_or(0), "problem", "problems")
        )));
    }
    Todo {
        id: format!("zero_yield:{}", gate.gate_id),
        kind: "zero_yield",
        rank: Rank::Info,
        decides: if more == 0 { Decides::Person } else { Decides::MoreRuns },
        weight: -more,
        title: Rich::words("Wait with a verdict on ").name(&gate.gate_id).then(format!(
            ": it stopped nothing first in {}, which leaves up to {} of runs",
            counted(n, "run", "runs"),
            known(bound, percent)
        )),
        evidence,
        commands: vec![command(&["explain", &gate.gate_id])],
    }
}
