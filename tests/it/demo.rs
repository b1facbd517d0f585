//! Owns the check that the demo is sound input: only what is broken on purpose is refused, and the traces, records and Copilot
//! sessions in it report the defects that `truth.csv` lists, no more and no fewer.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use harness_mechanic::model::vocabulary::{FingerprintBasis, Verdict};
use harness_mechanic::source::emit::{Collect, Facts};
use harness_mechanic::source::{self, Input, walk};

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo")
}

/// Facts of every file of the demo that a source claims, by path below the demo.
fn read_demo() -> Vec<(String, Facts)> {
    let mut read = Vec::new();
    for path in walk::walk(&[demo()], &[]).expect("the demo exists").files {
        let input = Input::new(&path).expect("a path");
        let head = source::head_of(&input).expect("readable");
        let shown = path.strip_prefix(demo()).expect("below the demo").display().to_string();
        if let Some(of) = source::claim(&input, &head) {
            let mut rows = Collect::default();
            source::read_file(of, &input, &mut rows).expect("read to the end");
            read.push((shown, rows.0));
        }
    }
    read
}

#[test]
fn only_the_lines_that_are_broken_on_purpose_reach_quarantine() {
    let broken = [
        "shop/.copilot-tracking/issues/issue-113/trace.jsonl",
        "claude/projects/-home-dev-shop/f18a157b-8423-4958-a504-3e6d88efd991.jsonl",
    ];
    for (path, facts) in read_demo() {
        assert_eq!(facts.quarantine.len(), usize::from(broken.contains(&path.as_str())), "{path}: {:?}", facts.quarantine);
    }
}

/// Defects by run and fingerprint, where the source names them or a gate's stage stands for them. Left out is what repeats another.
#[test]
fn the_defects_reported_are_those_of_the_truth() {
    let mut found = BTreeSet::new();
    for (path, facts) in read_demo() {
        for finding in &facts.findings {
            let run = facts.gate_runs.iter().find(|r| r.gate_run_id == finding.gate_run_id).expect("a finding has a gate run");
            let named = matches!(finding.fingerprint_basis, FingerprintBasis::Native | FingerprintBasis::GateStage);
            if named && finding.repeat_of.is_none() && run.verdict != Verdict::Crashed {
                let key = run.native_run_key.split('@').next().unwrap_or(&path);
                let key = key.trim_start_matches("issue:").trim_start_matches("session:");
                found.insert((key.to_owned(), finding.fingerprint.clone()));
            }
        }
    }
    let mut truth = BTreeSet::new();
    let mut reader = csv::Reader::from_path(demo().join("truth.csv")).expect("a truth table");
    for row in reader.records() {
        let row = row.expect("a row as wide as the header");
        let (run, fingerprint) = (row[0].to_owned(), row[2].to_owned());
        if !fingerprint.starts_with("file=") {
            truth.insert((run, fingerprint));
        }
    }
    if !source::all().iter().any(|s| s.format() == "claude-code") {
        truth.retain(|(_, fingerprint)| fingerprint != "permission:user/Bash:git");
    }
    assert_eq!(found, truth);
}
