//! Owns the attribution truth: what the tool says of every problem of the demo is what a person wrote down from the traces.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{Scratch, csv_rows};

/// One row for each problem, in the words of `truth.csv`.
const PROBLEMS: &str = "
with session as (
    select run_id, min(substr(member_id, 9)) as session from run_members where member_kind = 'native_run' and member_id like 'session:%' group by run_id
), named as (
    select p.*, coalesce(r.task, s.session) as run,
        case when p.fingerprint_basis = 'rule_and_file'
            then 'file=' || split_part(f.location, ':', 1) || ' rule=' || coalesce(f.rule_id, f.failure_class, '')
            else p.fingerprint end as name
    from problems p join runs r using (run_id) left join session s using (run_id) join findings f on f.finding_id = p.first_finding_id
), missed as (
    select problem_id, string_agg(gate_id || ':' || miss_basis, ';' order by gate_id, miss_basis) as misses
    from (select distinct problem_id, gate_id, miss_basis from gate_problem where encounter = 'missed') group by problem_id
)
select n.run, n.unit_id as unit, n.name as fingerprint, n.about, n.first_detection_gate_id as first_detection,
    n.first_stop_gate_id as first_stop, n.first_stop_rule_id as first_stop_rule, n.stop_basis, n.order_basis,
    array_to_string(n.co_first, ';') as co_first, m.misses, n.unattributed, n.escaped,
    e.name || '@' || e.run as recurs_of, n.severity, n.n_findings
from named n left join missed m using (problem_id) left join named e on e.problem_id = n.recurs_of
order by all";

/// The columns that are compared, in the order of a row's text.
const COLUMNS: [&str; 16] = [
    "run",
    "unit",
    "fingerprint",
    "about",
    "first_detection",
    "first_stop",
    "first_stop_rule",
    "stop_basis",
    "order_basis",
    "co_first",
    "misses",
    "unattributed",
    "escaped",
    "recurs_of",
    "severity",
    "n_findings",
];

fn lines(rows: &[BTreeMap<String, String>]) -> Vec<String> {
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| COLUMNS.map(|c| row.get(c).map(String::as_str).unwrap_or_default().trim_start_matches('\'')).join(" | "))
        .collect();
    lines.sort();
    lines
}

#[test]
fn every_problem_of_the_demo_is_attributed_as_a_person_wrote_it_down() {
    let scratch = Scratch::new();
    scratch.mechanic(&["ingest", "fixtures/demo"]);
    let told = lines(&csv_rows(&scratch.sql(PROBLEMS)));
    let truth = std::fs::read_to_string(Path::new("fixtures/demo/truth.csv")).unwrap();
    let wanted = lines(&csv_rows(&truth));
    let missing: Vec<&String> = wanted.iter().filter(|line| !told.contains(line)).collect();
    let extra: Vec<&String> = told.iter().filter(|line| !wanted.contains(line)).collect();
    assert!(missing.is_empty() && extra.is_empty(), "written down but not told:\n{missing:#?}\ntold but not written down:\n{extra:#?}");
    assert_eq!(told, wanted, "the same rows, each as often as written down");
}
