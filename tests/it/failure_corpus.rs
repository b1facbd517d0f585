//! Owns what must hold of `fixtures/failures` and `fixtures/validators` as they lie there, before anything is replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn table(path: &Path) -> toml::Table {
    read(path).parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every fixture by its folder's name.
fn corpus() -> BTreeMap<String, toml::Table> {
    let folders = std::fs::read_dir(fixtures().join("failures")).unwrap().map(|e| e.unwrap().path());
    folders
        .filter(|folder| folder.join("fixture.toml").is_file())
        .map(|folder| (folder.file_name().unwrap().to_str().unwrap().to_owned(), table(&folder.join("fixture.toml"))))
        .collect()
}

fn validators(file: &str) -> Vec<toml::Table> {
    let all = table(&fixtures().join("validators").join(file));
    all["validator"].as_array().unwrap().iter().map(|v| v.as_table().unwrap().clone()).collect()
}

fn texts(value: Option<&toml::Value>) -> Vec<&str> {
    value.and_then(toml::Value::as_array).into_iter().flatten().filter_map(toml::Value::as_str).collect()
}

fn is(fixture: &toml::Table, classification: &str) -> bool {
    fixture["classification"].as_str() == Some(classification)
}

/// Whether a validator reads the kind and the class of a fixture.
fn reads(validator: &toml::Table, fixture: &toml::Table) -> bool {
    let kind = fixture["stimulus"]["kind"].as_str().unwrap();
    let class = fixture["failure_class"].as_str().unwrap();
    texts(validator.get("stimuli")).contains(&kind) && texts(validator.get("covers")).contains(&class)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap).filter(|e| e.file_type().is_file()).map(|e| e.into_path()).collect()
}

#[test]
fn the_corpus_holds_at_least_forty_failures_and_fifteen_controls() {
    let corpus = corpus();
    let controls = corpus.values().filter(|f| is(f, "control")).count();
    assert!(controls >= 15, "{controls} controls");
    assert!(corpus.len() - controls >= 40, "{} failures", corpus.len() - controls);
}

#[test]
fn every_fixture_stands_in_the_table_of_the_readme_and_nothing_else_does() {
    let readme = read(&fixtures().join("failures/README.md"));
    let rows: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("| [`")?.split_once('`')).map(|(id, _)| id).collect();
    let listed: BTreeSet<&str> = rows.iter().copied().collect();
    assert_eq!(listed.len(), rows.len(), "an id is listed twice");
    assert_eq!(listed, corpus().keys().map(String::as_str).collect());
}

#[test]
fn a_fixture_is_small_and_tells_its_story() {
    for (id, fixture) in corpus() {
        let bytes: u64 = files_below(&fixtures().join("failures").join(&id)).iter().map(|f| f.metadata().unwrap().len()).sum();
        assert!(bytes <= 20 * 1024, "{id}: {bytes} bytes");
        assert_eq!(fixture["id"].as_str(), Some(id.as_str()));
        assert!(fixture["happened"].as_str().unwrap().trim().len() >= 60, "{id}: too short to be understood");
    }
}

#[test]
fn a_normative_fixture_says_who_must_catch_it_and_what_must_be_named() {
    for (id, fixture) in corpus() {
        let expects = fixture.get("expect").and_then(toml::Value::as_array).cloned().unwrap_or_default();
        let caught: Vec<&toml::Value> = expects.iter().filter(|e| e["outcome"].as_str() == Some("catches")).collect();
        match fixture["classification"].as_str().unwrap() {
            "normative" => {
                assert!(!caught.is_empty(), "{id}: nobody must catch it");
                assert!(caught.iter().all(|e| e.get("finding").is_some()), "{id}: any failure would count as a catch");
            }
            "known_defect" => {
                assert!(!expects.is_empty() && expects.iter().all(|e| e["outcome"].as_str() == Some("misses")), "{id}");
            }
            _ => assert!(expects.is_empty(), "{id}: a control has no expectations"),
        }
    }
}

#[test]
fn every_expectation_is_about_a_validator_that_reads_the_fixture() {
    let validators = validators("validators.toml");
    for (id, fixture) in corpus() {
        for expect in fixture.get("expect").and_then(toml::Value::as_array).into_iter().flatten() {
            let (key, name) = match expect.get("gate") {
                Some(gate) => ("gate", gate.as_str().unwrap()),
                None => ("id", expect["validator"].as_str().unwrap()),
            };
            let fits = validators.iter().any(|v| v[key].as_str() == Some(name) && reads(v, &fixture));
            assert!(fits, "{id}: no validator with {key} {name} reads it");
        }
    }
}

#[test]
fn every_validator_meets_a_failure_and_a_control() {
    let corpus = corpus();
    for validator in validators("validators.toml") {
        let meets = |control: bool| corpus.values().any(|f| is(f, "control") == control && reads(&validator, f));
        assert!(meets(true) && meets(false), "{}", validator["id"]);
    }
}

#[test]
fn what_a_validator_consists_of_lies_there() {
    for file in ["validators.toml", "broken.toml", "rust.toml"] {
        for validator in validators(file) {
            for name in texts(validator.get("files")) {
                // The program is built from its source by build.sh.
                let name = if name == "trace-clock" { "trace-clock.rs" } else { name };
                assert!(fixtures().join("validators").join(name).is_file(), "{file}: {name}");
            }
        }
    }
}

#[test]
fn all_files_of_validators_have_the_text_classes_that_fixtures_name() {
    let classes = |file: &str| table(&fixtures().join("validators").join(file))["classes"].clone();
    assert_eq!(classes("broken.toml"), classes("validators.toml"));
    assert_eq!(classes("rust.toml"), classes("validators.toml"));
}

#[test]
fn one_judgement_is_stale_and_the_others_belong_to_the_prompt_as_it_is() {
    let corpus = corpus();
    let judge = fixtures().join("validators/judge");
    let hex: String = Sha256::digest(read(&judge.join("prompt.md"))).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut stale = Vec::new();
    for path in files_below(&judge.join("transcripts")) {
        let id = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(corpus.contains_key(&id), "{id}: no such fixture");
        let transcript: serde_json::Value = serde_json::from_str(&read(&path)).unwrap();
        if transcript["prompt_digest"] != format!("sha256:{hex}") {
            stale.push(id);
        }
    }
    assert_eq!(stale, ["forty-lines-of-edge-cases-gone"]);
}

#[test]
fn the_validator_in_rust_catches_every_wrong_clock_and_passes_the_right_one() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("trace-clock");
    let source = fixtures().join("validators/trace-clock.rs");
    let built = std::process::Command::new("rustc").args(["--edition", "2021", "-o"]).arg(&program).arg(source).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut seen = (0, 0);
    for (id, fixture) in corpus().iter().filter(|(_, f)| f["failure_class"].as_str() == Some("clock")) {
        let trace = fixtures().join("failures").join(id).join(fixture["stimulus"]["path"].as_str().unwrap());
        let run = std::process::Command::new(&program).arg(trace).output().unwrap();
        let said = String::from_utf8_lossy(&run.stdout).into_owned();
        if is(fixture, "control") {
            assert_eq!(run.status.code(), Some(0), "{id}: {said}");
            seen.1 += 1;
        } else {
            let wanted = fixture["expect"].as_array().unwrap().iter().find_map(|e| e.get("finding")?.get("rule")?.as_str()).unwrap();
            assert_eq!(run.status.code(), Some(1), "{id}: {said}");
            assert!(said.contains(&format!("rule: {wanted} at ")), "{id}: {said}");
            seen.0 += 1;
        }
    }
    assert!(seen.0 > 0 && seen.1 > 0, "{seen:?}");
}
