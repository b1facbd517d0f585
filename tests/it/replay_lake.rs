//! Owns the tests of replay together with the lake: results enter it, say there what replay said, and add nothing twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{body, csv_rows};

fn mechanic(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mechanic")).current_dir(folder).args(args).env("NO_COLOR", "1").output().unwrap()
}

fn text(folder: &Path, args: &[&str]) -> String {
    let done = mechanic(folder, args);
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn fixture(folder: &Path, id: &str, class: &str, word: &str, expect: &str) {
    let text = format!(
        "format = 1\nid = \"{id}\"\ntitle = \"t\"\norigin = \"o\"\nhappened = \"h\"\nfailure_mode = \"mode-{word}\"\nseverity = \"major\"\n\
         classification = \"{class}\"\nprovenance = \"rebuilt\"\n[stimulus]\nkind = \"tree\"\n{expect}"
    );
    write(folder, &format!("fixtures/failures/{id}/fixture.toml"), &text);
    write(folder, &format!("fixtures/failures/{id}/stimulus/a.txt"), &format!("{word}\n"));
}

/// Validators as (id, gate, shell line).
fn validators(folder: &Path, list: &[(&str, &str, &str)]) {
    let mut text = "format = 1\n".to_owned();
    for (id, gate, script) in list {
        text += &format!(
            "[[validator]]\nid = \"{id}\"\ngate = \"{gate}\"\ncommand = '''{script}'''\nshell = true\ntimeout = \"20s\"\n\
             substance = {{ regex = 'read (\\d+)' }}\n[validator.verdict]\nexit = {{ pass = [0], fail = [1], could_not_run = [2], skipped = [77] }}\n"
        );
    }
    write(folder, "fixtures/validators/validators.toml", &text);
}

/// Fails what holds one of the words; of nothing it says that it cannot run.
fn look(words: &str) -> String {
    format!("[ -e a.txt ] || exit 2; grep -qE '{words}' a.txt; case $? in 0) exit 1;; 1) exit 0;; *) exit 2;; esac")
}

/// Four failures, two controls, and validators of every kind: twins, one for two failures, a blind one, one that reads nothing, one
/// that fails everything, one that crashes.
fn home() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let expect = |gate: &str| format!("[[expect]]\ngate = \"{gate}\"\noutcome = \"catches\"\n");
    fixture(dir.path(), "f-one", "normative", "one", &expect("twins"));
    fixture(dir.path(), "f-two", "normative", "two", "");
    fixture(dir.path(), "f-three", "normative", "three", &expect("broad"));
    fixture(dir.path(), "k-four", "known_defect", "four", "");
    fixture(dir.path(), "good-a", "control", "fine", "");
    fixture(dir.path(), "good-b", "control", "well", "");
    write_validators(dir.path(), &look("two|three"));
    dir
}

fn write_validators(folder: &Path, broad: &str) {
    validators(
        folder,
        &[
            ("twin-a", "twins", &look("one")),
            ("twin-b", "twins", &look("one")),
            ("broad", "broad", broad),
            ("blind", "blind", "[ -e a.txt ] || exit 2; exit 0"),
            ("void", "void", "echo read 0; exit 0"),
            ("wolf", "wolf", "exit 1"),
        ],
    );
}

fn results(folder: &Path, args: &[&str]) -> Value {
    let done = mechanic(folder, &[&["replay", "--format", "json"], args].concat());
    serde_json::from_slice(&done.stdout).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&done.stderr)))
}

fn query(folder: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
    csv_rows(&text(folder, &["query", name, "--format", "csv"]))
}

fn names(value: &Value) -> BTreeSet<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Every figure of replay's own subsumption against the queries over the lake.
fn says_what_replay_said(folder: &Path, said: &Value) {
    let subsumption = &said["subsumption"];
    let rows = query(folder, "replay_validators");
    let flagged = |column: &str, value: &str| -> BTreeSet<String> {
        rows.iter().filter(|r| r[column] == value).map(|r| r["validator_id"].clone()).collect()
    };
    assert_eq!(flagged("believed", "false"), names(&subsumption["not_believed"]));
    assert_eq!(flagged("dead", "true"), names(&subsumption["dead"]));
    assert_eq!(flagged("vacuous", "true"), names(&subsumption["vacuous"]));
    let worth = subsumption["worth"].as_array().unwrap();
    assert_eq!(rows.len(), worth.len());
    for w in worth {
        let row = rows.iter().find(|r| r["validator_id"] == w["validator"].as_str().unwrap()).unwrap();
        assert_eq!(row["n_caught"], w["catches"].to_string(), "{w}");
        let number = |column: &str| row[column].parse::<f64>().unwrap();
        assert_eq!(number("n_alone"), w["unique"].as_f64().unwrap(), "{w}");
        assert!((number("share") - w["shapley"].as_f64().unwrap()).abs() < 1e-9, "{w}");
        let cost = &said["measured"]["cost_ms"][w["validator"].as_str().unwrap()];
        match cost.as_f64() {
            // Kept to the microsecond.
            Some(ms) => assert!((number("wall_median_ms") - ms).abs() < 0.002, "{w}: {row:?} {ms}"),
            None => assert_eq!(row["wall_median_ms"], ""),
        }
    }
    let dominated: BTreeSet<(String, String)> = worth
        .iter()
        .flat_map(|w| names(&w["dominated_by"]).into_iter().map(move |by| (w["validator"].as_str().unwrap().to_owned(), by)))
        .collect();
    let in_lake: BTreeSet<(String, String)> =
        query(folder, "replay_dominance").into_iter().map(|r| (r["validator_id"].clone(), r["by_validator_id"].clone())).collect();
    assert_eq!(in_lake, dominated);
    let coverage = query(folder, "replay_coverage");
    let sum =
        |column: &str| -> usize { coverage.iter().filter(|r| r["gate_id"].is_empty()).map(|r| r[column].parse::<usize>().unwrap()).sum() };
    assert_eq!(sum("n_caught") as u64, subsumption["caught"].as_u64().unwrap());
    assert_eq!(sum("n_failures") - sum("n_caught"), names(&subsumption["uncaught"]).len());
    let cells = query(folder, "replay_matrix");
    assert_eq!(cells.len(), said["cells"].as_array().unwrap().len());
    for cell in said["cells"].as_array().unwrap() {
        let is = |r: &&BTreeMap<String, String>| {
            r["fixture_id"] == cell["fixture"].as_str().unwrap() && r["validator_id"] == cell["validator"].as_str().unwrap()
        };
        assert_eq!(cells.iter().find(is).unwrap()["outcome"], cell["outcome"].as_str().unwrap());
    }
}

#[test]
fn results_enter_a_lake_that_is_named_and_say_there_what_replay_said() {
    let dir = home();
    let said = results(dir.path(), &["--lake", ".mechanic/lake"]);
    assert_eq!(names(&said["subsumption"]["not_believed"]), BTreeSet::from(["wolf".to_owned()]));
    assert_eq!(names(&said["subsumption"]["dead"]), BTreeSet::from(["blind".to_owned()]));
    assert_eq!(names(&said["subsumption"]["vacuous"]), BTreeSet::from(["void".to_owned()]));
    says_what_replay_said(dir.path(), &said);
    let states = text(
        dir.path(),
        &[
            "sql",
            "--format",
            "csv",
            "SELECT count(*) FILTER (WHERE waived = false), count(DISTINCT replay_id), count(*) FROM replay_results",
        ],
    );
    assert_eq!(body(&states), ["2,1,36"]);
}

#[test]
fn without_a_lake_nothing_is_kept_and_where_there_is_one_it_needs_no_name() {
    let dir = home();
    results(dir.path(), &[]);
    assert!(!dir.path().join(".mechanic/lake").exists() && !dir.path().join(".mechanic/replays").exists());
    text(dir.path(), &["ingest", "fixtures"]);
    results(dir.path(), &[]);
    assert_eq!(query(dir.path(), "replay_matrix").len(), 36);
}

#[test]
fn a_replay_that_finds_the_same_again_adds_nothing_and_one_that_finds_other_things_is_kept_beside_it() {
    let dir = home();
    let files = || fs::read_dir(dir.path().join(".mechanic/replays")).unwrap().count();
    let count = || {
        body(&text(dir.path(), &["sql", "--format", "csv", "SELECT count(*), count(DISTINCT replay_id) FROM replay_results"]))[0].to_owned()
    };
    let said = || {
        let mut value = results(dir.path(), &["--lake", ".mechanic/lake"]);
        value.as_object_mut().unwrap().remove("measured");
        value
    };
    let first = said();
    assert_eq!(first, said(), "two replays of one corpus give identical results");
    assert_eq!((files(), count()), (1, "36,1".to_owned()));
    // The same file once more, and a copy of it, add nothing either.
    let digest = || text(dir.path(), &["sql", "--format", "csv", "SELECT replay_result_id FROM replay_results ORDER BY ALL"]);
    let before = digest();
    text(dir.path(), &["ingest", ".mechanic/replays"]);
    fs::create_dir(dir.path().join("copies")).unwrap();
    for file in fs::read_dir(dir.path().join(".mechanic/replays")).unwrap() {
        fs::copy(file.unwrap().path(), dir.path().join("copies/again.json")).unwrap();
    }
    text(dir.path(), &["ingest", "copies"]);
    assert_eq!(digest(), before);
    // A validator goes blind: a replay of its own, and what flipped.
    write_validators(dir.path(), &look("three"));
    said();
    assert_eq!((files(), count()), (2, "72,2".to_owned()));
    let flips = query(dir.path(), "replay_flips");
    let told: Vec<String> =
        flips.iter().map(|f| format!("{} {} {} × {}", f["against"], f["flip"], f["fixture_id"], f["validator_id"])).collect();
    assert_eq!(told, ["previous newly_missed f-two × broad"]);
    // It sees again: what was found first is found now, and it is the newest.
    write_validators(dir.path(), &look("two|three"));
    said();
    assert_eq!(files(), 2);
    assert_eq!(query(dir.path(), "replay_flips")[0]["flip"], "newly_caught");
}

#[test]
fn flips_against_a_baseline_are_those_replay_named() {
    let dir = home();
    results(dir.path(), &["--out", "before.json"]);
    write_validators(dir.path(), &look("three|four"));
    let said = results(dir.path(), &["--baseline", "before.json", "--lake", ".mechanic/lake"]);
    let flips = query(dir.path(), "replay_flips");
    for kind in ["newly_missed", "newly_caught", "newly_wrong", "no_longer_wrong"] {
        let named: BTreeSet<(String, String)> = said["comparison"][kind]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| (f["fixture"].as_str().unwrap().to_owned(), f["validator"].as_str().unwrap().to_owned()))
            .collect();
        let in_lake: BTreeSet<(String, String)> =
            flips.iter().filter(|f| f["flip"] == kind).map(|f| (f["fixture_id"].clone(), f["validator_id"].clone())).collect();
        assert_eq!(in_lake, named, "{kind}");
    }
    assert_eq!(flips.len(), 2, "{flips:?}");
    let counted = text(
        dir.path(),
        &[
            "sql",
            "--format",
            "csv",
            "SELECT count(*) FILTER (WHERE flip = 'unchanged'), count(*) FILTER (WHERE flip = 'new') FROM replay_results",
        ],
    );
    assert_eq!(body(&counted), [format!("{},{}", said["comparison"]["unchanged"], said["comparison"]["new"])]);
    // A validator that is deleted in the change is not simply absent.
    validators(dir.path(), &[("twin-a", "twins", &look("one"))]);
    let gone = results(dir.path(), &["--baseline", "before.json", "--lake", ".mechanic/lake"]);
    let missed = gone["comparison"]["newly_missed"].as_array().unwrap().len();
    let in_lake = query(dir.path(), "replay_flips")
        .into_iter()
        .filter(|f| f["against"] == "baseline" && f["flip"] == "newly_missed" && f["gone"] == "true")
        .count();
    assert!(missed > 0 && in_lake == missed, "{missed} {in_lake}");
}

/// The lake is the same whatever the order, and whichever way the files came.
#[test]
fn results_files_give_the_same_lake_in_any_order_and_a_hostile_one_costs_only_itself() {
    let dir = home();
    fs::create_dir_all(dir.path().join("files")).unwrap();
    results(dir.path(), &["--out", "files/a.json"]);
    write_validators(dir.path(), &look("three"));
    results(dir.path(), &["--out", "files/b.json"]);
    let whole = fs::read_to_string(dir.path().join("files/a.json")).unwrap();
    write(dir.path(), "files/cut.json", &whole[..whole.len() / 2]);
    write(dir.path(), "files/odd.json", &whole.replace("\"format\": 1", "\"format\": 9"));
    let files = ["files/a.json", "files/b.json", "files/cut.json", "files/odd.json"];
    let lake = |name: &str, order: &[&str]| {
        for file in order {
            text(dir.path(), &["ingest", file, "--lake", name]);
        }
        text(dir.path(), &["lake", "digest", "--lake", name])
    };
    let first = lake("lake-1", &files);
    let mut turned = files;
    turned.reverse();
    assert_eq!(lake("lake-2", &turned), first);
    assert_eq!(lake("lake-3", &["files"]), first);
    assert_eq!(lake("lake-1", &files), first, "twice is once");
    let reasons = text(dir.path(), &["sql", "--lake", "lake-1", "--format", "csv", "SELECT reason FROM quarantine ORDER BY reason"]);
    assert_eq!(body(&reasons), ["malformed", "unknown_version"]);
    let rows = text(dir.path(), &["sql", "--lake", "lake-1", "--format", "csv", "SELECT count(*) FROM replay_results"]);
    assert_eq!(body(&rows), ["72"]);
}

#[test]
fn a_lake_that_cannot_take_the_results_changes_nothing_of_what_was_found() {
    let dir = home();
    write(dir.path(), ".mechanic/lake/lake.json", "{");
    let done = mechanic(dir.path(), &["replay"]);
    // The wolf fails controls: that, and not the lake, is the exit code.
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&done.stderr).contains("the lake has not got these results"));
}

#[test]
fn the_report_shows_what_replay_proves_and_says_so_where_nothing_was_replayed() {
    let dir = home();
    text(dir.path(), &["ingest", "fixtures"]);
    let audit = |out: &str| {
        text(dir.path(), &["audit", "fixtures", "--out", out, "--week", "2026-W40", "--now", "2026-11-30"]);
        fs::read_to_string(dir.path().join(out).join("audit.md")).unwrap()
    };
    assert!(audit("before").contains("no replay results; run `mechanic replay`"));
    assert!(!dir.path().join("before/plots/replay-matrix.svg").exists());
    results(dir.path(), &[]);
    let page = audit("after");
    assert!(page.contains("## What replay proves") && page.contains("plots/replay-matrix.svg") && page.contains("not believed"), "{page}");
    assert!(!page.contains("no replay results"));
    assert!(dir.path().join("after/plots/replay-matrix.svg").exists() && dir.path().join("after/tables/replay_matrix.csv").exists());
    let html = fs::read_to_string(dir.path().join("after/audit.html")).unwrap();
    assert!(html.contains("<section id=\"replay\">") && html.contains("id=\"replay-matrix\"") && html.contains("id=\"replay-validators\""));
}

/// The fifty-first replay of an unchanged corpus runs nothing: every cell, and what each validator did with nothing, is remembered.
#[test]
fn an_unchanged_replay_of_200_fixtures_runs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..200 {
        let (class, expect) = if n % 5 == 4 { ("control", "") } else { ("normative", "[[expect]]\ngate = \"g\"\noutcome = \"catches\"\n") };
        fixture(dir.path(), &format!("f{n:03}"), class, if n % 5 == 4 { "fine" } else { "bad" }, expect);
    }
    validators(dir.path(), &[("v", "g", &look("bad")), ("w", "g", &look("ba"))]);
    assert!(mechanic(dir.path(), &["replay", "--lock"]).status.success());
    let first = results(dir.path(), &[]);
    let again = results(dir.path(), &[]);
    assert_eq!((first["exit"].as_i64(), first["measured"]["remembered"].as_i64()), (Some(0), Some(0)));
    assert_eq!((again["measured"]["runs"].as_i64(), again["measured"]["remembered"].as_i64()), (Some(0), Some(400)));
    // What ran nothing and says what was kept last is not kept again; what was kept before another one is.
    let kept = || {
        let files = fs::read_dir(dir.path().join(".mechanic/replays")).unwrap().map(|e| e.unwrap().path());
        files.map(|file| (file.clone(), fs::read(file).unwrap())).collect::<BTreeMap<_, _>>()
    };
    results(dir.path(), &["--lake", ".mechanic/lake"]);
    let once = kept();
    results(dir.path(), &[]);
    assert!(once.len() == 1 && kept() == once);
    validators(dir.path(), &[("v", "g", &look("bad")), ("w", "g", &look("ba|nothing"))]);
    results(dir.path(), &[]);
    validators(dir.path(), &[("v", "g", &look("bad")), ("w", "g", &look("ba"))]);
    let back = results(dir.path(), &[]);
    let (file, before) = once.iter().next().unwrap();
    assert!(kept().len() == 2 && kept()[file] != *before, "it is the newest again");
    assert_eq!(back["measured"]["runs"].as_i64(), Some(0));
    let shown = query(dir.path(), "replay_matrix");
    assert_eq!(shown[0]["replayed_at"].get(..19), back["measured"]["began_at"].as_str().unwrap().get(..19));
    // A changed byte is found all the same, also where size and time of the file stay.
    let file = dir.path().join("fixtures/failures/f000/stimulus/a.txt");
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "bac\n").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    let done = mechanic(dir.path(), &["replay"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("f000: differs from the lock"));
}
