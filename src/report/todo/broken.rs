//! Owns the things to do about gates that did not do their work: crashes, skips where there was something to check, empty passes.

use super::{Decides, Rank, Todo};
use crate::report::answers::{Answers, Span};
use crate::report::figures::{count, counted, millis, tokens};
use crate::report::gate::Gate;
use crate::report::rich::{Rich, command};

pub(super) fn add(answers: &Answers, out: &mut Vec<Todo>) {
    let mut harmless = Vec::new();
    for gate in &answers.gates {
        match gate.kind.as_deref() {
            _ if gate.n_tolls == 0 => {}
            Some("human") => out.push(unanswered(answers, gate)),
            _ if !gate.is_control() && stopped_by(answers, gate) == 0 => harmless.push(gate),
            _ => out.push(broken(answers, gate)),
        }
        if gate.n_skipped_required > 0 {
            out.push(skipped(gate));
        }
        if gate.n_vacuous > 0 {
            out.push(vacuous(gate));
        }
    }
    match harmless.as_slice() {
        [] => {}
        [gate] => out.push(broken(answers, gate)),
        several => out.push(broken_together(several)),
    }
}

/// Gate runs that failed to run after which the work stopped.
fn stopped_by(answers: &Answers, gate: &Gate) -> i64 {
    answers.rows("toll", Span::Evidence).find(|r| r.text("gate_id") == Some(&gate.gate_id)).map_or(0, |r| r.n("n_stopped_work"))
}

/// Gates that are no controls and stopped nothing by failing: one thing to do, however many they are.
fn broken_together(gates: &[&Gate]) -> Todo {
    let failed: i64 = gates.iter().map(|g| g.n_tolls).sum();
    let all: i64 = gates.iter().map(|g| g.n_gate_runs).sum();
    Todo {
        id: "broken_gate:no_control".to_owned(),
        kind: "broken_gate",
        rank: Rank::Minor,
        decides: Decides::Repair,
        weight: failed,
        title: Rich::words(format!("Repair {} that are no controls: ", counted(gates.len() as i64, "gate", "gates")))
            .names(gates.iter().map(|g| g.gate_id.as_str()), 4),
        evidence: vec![Rich::words(format!(
            "{} of {} failed to run; nothing went unchecked, but what they were to add was missing",
            count(failed),
            counted(all, "gate run", "gate runs")
        ))],
        commands: gates.iter().take(2).map(|g| command(&["explain", &g.gate_id])).collect(),
    }
}

fn broken(answers: &Answers, gate: &Gate) -> Todo {
    let toll = answers.rows("toll", Span::Evidence).find(|r| r.text("gate_id") == Some(&gate.gate_id));
    let stopped = stopped_by(answers, gate);
    let open = toll.map_or(0, |r| r.n("n_blockages_open"));
    let fails_open = gate.is_control() && stopped == 0;
    let mut how = Vec::new();
    for (n, what) in [(gate.n_crashed, "crashed"), (gate.n_timed_out, "timed out"), (gate.n_could_not_run, "could not run")] {
        if n > 0 {
            how.push(format!("{} {what}", count(n)));
        }
    }
    let title = Rich::words("Repair ").name(&gate.gate_id).then(format!(
        ": {} of {} failed to run ({})",
        count(gate.n_tolls),
        counted(gate.n_gate_runs, "gate run", "gate runs"),
        how.join(", ")
    ));
    let mut evidence = vec![Rich::words(match (stopped, gate.is_control()) {
        (0, true) => "no record shows that it stopped the work then: it may have let everything through".to_owned(),
        (0, false) => "it is no control: nothing went unchecked, but what it was to add was missing".to_owned(),
        (n, _) => format!("{} of them stopped the work: a refusal that says nothing about the product", count(n)),
    })];
    evidence.extend(toll_of(gate, open));
    let grave = gate.is_control() && gate.irreversible == Some(true) && fails_open;
    Todo {
        id: format!("broken_gate:{}", gate.gate_id),
        kind: "broken_gate",
        rank: if grave {
            Rank::Critical
        } else if gate.is_control() || stopped > 0 {
            Rank::Major
        } else {
            Rank::Minor
        },
        decides: Decides::Repair,
        weight: gate.n_tolls,
        title,
        evidence,
        commands: vec![command(&["explain", &gate.gate_id])],
    }
}

/// What it cost that it failed to run. `open`: blockages that never ended.
fn toll_of(gate: &Gate, open: i64) -> Option<Rich> {
    let mut parts = Vec::new();
    if let Some(ms) = gate.toll_blocked_ms {
        parts.push(format!("work blocked for {}", millis(ms)));
    }
    if open > 0 {
        parts.push(format!("{} never let through again", counted(open, "call", "calls")));
    }
    if let Some(ms) = gate.toll_ms {
        parts.push(format!("{} of its own time", millis(ms)));
    }
    if let Some(n) = gate.toll_output_tokens {
        parts.push(format!("{} output tokens in refused calls", tokens(n)));
    }
    (!parts.is_empty()).then(|| Rich::words(format!("toll: {}", parts.join("; "))))
}

/// A person who was not there is no broken gate: an automatic "not available" says nothing of the work.
fn unanswered(answers: &Answers, gate: &Gate) -> Todo {
    let toll = answers.rows("toll", Span::Evidence).find(|r| r.text("gate_id") == Some(&gate.gate_id));
    let mut evidence = vec![Rich::words("an automatic refusal is no person's no: it is counted as toll, never as a stop")];
    evidence.extend(toll_of(gate, toll.map_or(0, |r| r.n("n_blockages_open"))));
    Todo {
        id: format!("unanswered:{}", gate.gate_id),
        kind: "unanswered",
        rank: Rank::Minor,
        decides: Decides::Person,
        weight: gate.n_tolls,
        title: Rich::words("See who answers ").name(&gate.gate_id).then(format!(
            ": nobody did for {} of {}",
            count(gate.n_tolls),
            counted(gate.n_gate_runs, "request", "requests")
        )),
        evidence,
        commands: vec![command(&["explain", &gate.gate_id])],
    }
}

fn skipped(gate: &Gate) -> Todo {
    Todo {
        id: format!("skipped_required:{}", gate.gate_id),
        kind: "skipped_required",
        rank: if gate.irreversible == Some(true) { Rank::Critical } else { Rank::Major },
        decides: Decides::Repair,
        weight: gate.n_skipped_required,
        title: Rich::words("Find out why ").name(&gate.gate_id).then(format!(
            " was skipped {} although there was something to check against",
            counted(gate.n_skipped_required, "time", "times")
        )),
        evidence: vec![Rich::words(format!(
            "{} in {}; a skip is never a pass",
            counted(gate.n_gate_runs, "gate run", "gate runs"),
            counted(gate.n_runs, "run", "runs")
        ))],
        commands: vec![command(&["explain", &gate.gate_id])],
    }
}

fn vacuous(gate: &Gate) -> Todo {
    Todo {
        id: format!("vacuous:{}", gate.gate_id),
        kind: "vacuous",
        rank: Rank::Major,
        decides: Decides::Repair,
        weight: gate.n_vacuous,
        title: Rich::words("Give ").name(&gate.gate_id).then(format!(
            " something to check: {} of {} passed having checked nothing",
            count(gate.n_vacuous),
            counted(gate.n_gate_runs, "gate run", "gate runs")
        )),
        evidence: vec![Rich::words("an empty pass enters no rate, and protects nothing")],
        commands: vec![command(&["explain", &gate.gate_id])],
    }
}
