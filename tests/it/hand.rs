//! Owns the checks of the commands a person uses around an audit: init, doctor, explain, label, through the binary.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::Scratch;

/// The binary in a folder, with a home that holds nothing.
fn mechanic(folder: &Path, args: &[&str]) -> Output {
    let home = folder.join("home");
    fs::create_dir_all(&home).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mechanic"));
    command.current_dir(folder).args(args).env("NO_COLOR", "1").env("HOME", &home);
    command.env_remove("CLAUDE_CONFIG_DIR").env_remove("COPILOT_HOME").output().unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn init_writes_a_file_that_changes_nothing_and_replaces_it_only_when_asked() {
    let scratch = Scratch::new();
    let first = mechanic(scratch.path(), &["init"]);
    assert!(first.status.success(), "{}", err(&first));
    let file = scratch.path().join("mechanic.toml");
    fs::write(&file, "timezone = \"Mars\"\n").unwrap();
    let again = mechanic(scratch.path(), &["init"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(err(&again).contains("mechanic.toml"), "{}", err(&again));
    fs::write(&file, "").unwrap();
    assert!(mechanic(scratch.path(), &["init", "--force"]).status.success());
    assert!(fs::read_to_string(&file).unwrap().contains("# timezone"));
}

#[test]
fn a_wrong_configuration_is_a_usage_error_with_line_and_remedy() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("mechanic.toml"), "\ntimezon = \"UTC\"\n").unwrap();
    let output = mechanic(scratch.path(), &["doctor", "."]);
    assert_eq!(output.status.code(), Some(2));
    let text = err(&output);
    assert!(text.contains("mechanic.toml:2") && text.contains("did you mean `timezone`?"), "{text}");
}

#[test]
fn doctor_reports_the_demo_by_source_within_a_hundred_columns_and_as_json() {
    let scratch = Scratch::new();
    let text = scratch.mechanic(&["doctor", "fixtures/demo", "--now", "2026-11-30T00:00:00Z"]);
    fits(&text);
    for part in ["claude-code: ", "copilot-cli: ", "agent-delivery-harness: ", "Declared and never seen running", "it cannot be known"] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&scratch.mechanic(&["doctor", "fixtures/demo", "--format", "json"])).unwrap();
    let sources = json["sources"].as_array().unwrap();
    let quarantined: i64 = sources.iter().map(|s| s["quarantined"].as_i64().unwrap()).sum();
    assert_eq!(quarantined, 2);
    assert!(!scratch.lake().exists(), "doctor needs no lake and makes none");
}

#[test]
fn doctor_without_a_path_says_where_it_looked_and_a_missing_path_is_named() {
    let scratch = Scratch::new();
    let nothing = mechanic(scratch.path(), &["doctor"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(err(&nothing).contains("--all-projects"), "{}", err(&nothing));
    let missing = mechanic(scratch.path(), &["doctor", "no-such-folder"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(err(&missing).contains("no-such-folder"), "{}", err(&missing));
}

#[test]
fn explain_leads_from_a_gate_to_a_problem_to_file_and_line_with_its_words() {
    let scratch = Scratch::new();
    scratch.mechanic(&["ingest", "fixtures/demo"]);
    let gates = scratch.mechanic(&["explain", "gate"]);
    assert!(gates.contains("gate_review"));
    let text = scratch.mechanic(&["explain", "gate_review"]);
    fits(&text);
    assert!(text.contains("n_gate_runs") && text.contains("First stops: ") && text.contains("trace.jsonl:"), "{text}");

    let chain: serde_json::Value =
        serde_json::from_str(&scratch.mechanic(&["explain", "gate", "gate_review", "--format", "json"])).unwrap();
    let stops = chain["first_stops"].as_array().unwrap();
    let product = stops.iter().filter(|s| s["about"] == "product").count() as i64;
    let figure = |name: &str| chain["figures"][name].as_i64().unwrap_or(0);
    assert_eq!(
        product,
        figure("n_first_stops_enforced") + figure("n_first_stops_acted_on"),
        "the chain holds as many links as the figure says"
    );

    let stop = stops.iter().find(|s| s["about"] == "product").unwrap();
    let place = &stop["place"];
    let line = place["line"].as_u64().unwrap() as usize;
    let file = fs::read_to_string(place["file"].as_str().unwrap().replacen('~', &home(), 1)).unwrap();
    let said = place["quote"]["fields"][0]["text"].as_str().unwrap();
    assert!(file.lines().nth(line - 1).unwrap().contains(said), "{said}");

    let problem = stop["problem"].as_str().unwrap();
    let text = scratch.mechanic(&["explain", "problem", &problem[..12]]);
    fits(&text);
    assert!(text.contains(problem) && text.contains("first detection"), "{text}");
    let run = stop["task"].as_str().unwrap();
    fits(&scratch.mechanic(&["explain", "run", run]));
}

fn home() -> String {
    std::env::home_dir().map_or(String::new(), |h| h.display().to_string())
}

#[test]
fn what_is_not_in_the_lake_is_a_usage_error_and_a_missing_lake_is_none() {
    let scratch = Scratch::new();
    let none = scratch.run(&["explain", "gate"]);
    assert_eq!(none.status.code(), Some(3));
    assert!(err(&none).contains("mechanic ingest"), "{}", err(&none));
    scratch.mechanic(&["ingest", "fixtures/demo/truth.csv"]);
    for args in [["explain", "problem", "abcdef"].as_slice(), &["explain", "nothing"], &["label", "abcdef", "true"]] {
        let output = scratch.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", err(&output));
    }
}

#[test]
fn a_label_counts_at_once_and_the_latest_of_a_finding_holds() {
    let scratch = Scratch::new();
    scratch.mechanic(&["ingest", "fixtures/demo/shop"]);
    let file = scratch.path().join("labels.jsonl");
    let problem = scratch.sql("select problem_id, first_finding_id from problems where about = 'product' order by 1 limit 1");
    let (problem, finding) = problem.lines().nth(1).unwrap().split_once(',').unwrap();
    let label = |word: &str| {
        let said = scratch.mechanic(&["label", &finding[..12], word, "--why", "a reason", "--by", "ann", "--file", file.to_str().unwrap()]);
        fits(&said);
        assert!(said.contains(finding) && said.contains(word), "{said}");
        scratch.sql(&format!("select label from problems where problem_id = '{problem}'")).lines().nth(1).unwrap_or("").to_owned()
    };
    assert_eq!(label("false-alarm"), "false-alarm");
    assert_eq!(label("true"), "true");
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 2);
    let kept = scratch.sql("select * from decisions where kind = 'label'");
    assert!(!kept.contains("a reason") && !kept.contains("ann"), "{kept}");
}

#[test]
fn an_explained_file_that_vanished_or_changed_is_said_to_be_so() {
    let scratch = Scratch::new();
    let copy = scratch.path().join("issue-102");
    fs::create_dir(&copy).unwrap();
    let trace = copy.join("trace.jsonl");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/shop/.copilot-tracking/issues/issue-102/trace.jsonl"), &trace)
        .unwrap();
    scratch.mechanic(&["ingest", copy.to_str().unwrap()]);
    assert!(scratch.mechanic(&["explain", "run", "102"]).contains("| "));
    let text = fs::read_to_string(&trace).unwrap();
    fs::write(&trace, text.replacen("102", "103", 1)).unwrap();
    assert!(scratch.mechanic(&["explain", "run", "102"]).contains("was changed"));
    fs::remove_file(&trace).unwrap();
    assert!(scratch.mechanic(&["explain", "run", "102"]).contains("is gone"));
}
