//! Owns the tests of the things to do.

use super::{FIRST, Rank, Todo, todos};
use crate::report::answers::Span;
use crate::report::testing::{empty, shop, table};

fn find<'a>(all: &'a [Todo], id: &str) -> &'a Todo {
    all.iter().find(|t| t.id == id).unwrap_or_else(|| panic!("{id} is not among {:?}", all.iter().map(|t| &t.id).collect::<Vec<_>>()))
}

#[test]
fn nothing_recorded_gives_nothing_to_do() {
    assert_eq!(todos(&empty()), []);
}

#[test]
fn the_most_severe_comes_first_and_ties_have_one_order() {
    let all = todos(&shop());
    let ranks: Vec<Rank> = all.iter().map(|t| t.rank).collect();
    assert!(ranks.is_sorted(), "{ranks:?}");
    let ids: Vec<&str> = all.iter().map(|t| t.id.as_str()).take(FIRST).collect();
    assert_eq!(
        ids,
        ["blind_spot:gate_sensors", "escape:unseen", "broken_gate:PreToolUse:pre-tool-use.mjs", "vacuous:gate_sensors", "quarantine:all"]
    );
}

#[test]
fn a_blind_spot_counts_problems_not_passes_and_names_who_saw_them() {
    let all = todos(&shop());
    let todo = find(&all, "blind_spot:gate_sensors");
    assert_eq!(
        todo.title.to_text(),
        "Look at the blind spot of gate_sensors: it passed on 2 problems that were provably there (1 critical, 1 major); 1 of them first seen after merge"
    );
    assert_eq!(todo.evidence[0].to_text(), "reported by ci_checks, gate_review");
    assert_eq!(todo.commands, ["mechanic explain aa01", "mechanic explain gate_sensors"]);
}

#[test]
fn a_gate_that_crashes_shows_its_toll_and_whether_it_let_all_through() {
    let all = todos(&shop());
    let todo = find(&all, "broken_gate:PreToolUse:pre-tool-use.mjs");
    assert_eq!(todo.rank, Rank::Major);
    assert!(todo.title.to_text().contains("6 of 20 gate runs failed to run (6 crashed)"), "{:?}", todo.title);
    assert_eq!(todo.evidence[1].to_text(), "toll: work blocked for 30 min; 1.2 s of its own time; 16 k output tokens in refused calls");
}

#[test]
fn broken_gates_that_are_no_controls_are_one_thing_to_do() {
    let mut answers = empty();
    let gates = table(
        "gate_id | purpose | n_gate_runs | n_crashed | n_tolls
         SessionStart:a.sh | context | 3 | 3 | 3
         Stop:b.sh | recorder | 9 | 1 | 1",
    );
    answers.insert("gate_economics", Span::Evidence, gates);
    let all = todos(&answers);
    assert_eq!(all.iter().map(|t| t.id.as_str()).collect::<Vec<_>>(), ["broken_gate:no_control"]);
    assert_eq!(all[0].title.to_text(), "Repair 2 gates that are no controls: SessionStart:a.sh, Stop:b.sh");
    assert!(all[0].evidence[0].to_text().starts_with("4 of 12 gate runs failed to run"));
}

#[test]
fn a_gate_before_the_irreversible_that_crashes_open_is_critical() {
    let mut answers = empty();
    let mut gates = table(
        "gate_id | purpose | irreversible | n_gate_runs | n_crashed | n_tolls
         merge_guard | control | true | 9 | 2 | 2",
    );
    gates.name = "gate_economics".into();
    answers.insert("gate_economics", Span::Evidence, gates);
    let all = todos(&answers);
    assert_eq!((all[0].id.as_str(), all[0].rank), ("broken_gate:merge_guard", Rank::Critical));
    assert!(all[0].evidence[0].to_text().contains("may have let everything through"));
}

#[test]
fn zero_first_stops_ask_for_more_runs_and_never_for_removal() {
    let all = todos(&shop());
    let todo = find(&all, "zero_yield:gate_start");
    assert_eq!(
        todo.title.to_text(),
        "Wait with a verdict on gate_start: it stopped nothing first in 48 runs, which leaves up to 6.0 % of runs"
    );
    assert_eq!(todo.evidence[0].to_text(), "11 more runs without a first stop would bring the bound to 5.0 %");
    let merge = find(&all, "zero_yield:gate_merge_closeout");
    assert!(merge.evidence.iter().any(|e| e.to_text().contains("cannot be undone")));
    for todo in &all {
        let text = todo.title.to_text().to_lowercase();
        assert!(!text.contains("remov") && !text.contains("delet"), "{text}");
    }
}

#[test]
fn what_only_a_person_can_say_is_asked_of_a_person() {
    let all = todos(&shop());
    let todo = find(&all, "human_rejection:all");
    assert_eq!(todo.title.to_text(), "Label 1 rejection by a person");
    assert_eq!(todo.commands, ["mechanic explain aa04", "mechanic label FINDING true|false-alarm|duplicate"]);
}

#[test]
fn records_that_are_missing_are_named_with_what_they_would_tell() {
    let all = todos(&shop());
    assert!(find(&all, "unpriced:all").evidence[0].to_text().contains("12 calls with 900 output tokens have no price: unknown, not free"));
    assert!(find(&all, "never_seen:all").evidence[1].to_text().contains("dead and healthy but quiet look alike"));
    assert!(find(&all, "no_passes:all").title.to_text().contains("PreToolUse:pre-tool-use.mjs"));
    assert!(find(&all, "quarantine:all").title.to_text().contains("3 records that could not be read (0.03 % of 11,500)"));
}

#[test]
fn an_expensive_gate_shows_what_it_stopped_for_the_price() {
    let all = todos(&shop());
    let todo = find(&all, "expensive:gate_review");
    assert!(todo.title.to_text().contains("62 % of all gate time (2.5 h of 4.0 h)"), "{}", todo.title.to_text());
    assert_eq!(todo.evidence[0].to_text(), "15 first stops for that: 10 min each");
}

#[test]
fn a_persons_stops_without_a_label_are_no_zero_yield_and_show_as_waiting() {
    let gate = |unclassified: &str| {
        let mut answers = empty();
        let gates = table(&format!(
            "gate_id | purpose | rate_basis | n_runs_counted | n_first_stops_enforced | n_first_stops_acted_on | n_unclassified
             permission:user | control | recorded | 2 | 0 | 0 | {unclassified}"
        ));
        answers.insert("gate_economics", Span::Evidence, gates);
        (todos(&answers).iter().any(|t| t.id == "zero_yield:permission:user"), answers.gates[0].stops_text().unwrap())
    };
    assert_eq!(gate("0"), (true, "0 + 0".to_owned()));
    assert_eq!(gate("2"), (false, "0 + 0 (2?)".to_owned()));
}
