//! Owns the promise that a lake of which something was deleted is never read as if that had been empty.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use harness_mechanic::model::{DERIVED_TABLES, FACT_TABLES};

use crate::support::{Scratch, copy_tree};

/// A lake of the demo that is up to date, to be copied and then harmed.
fn demo_lake() -> (Scratch, String) {
    let scratch = Scratch::new();
    scratch.mechanic(&["ingest", "fixtures/demo"]);
    let digest = scratch.digest();
    (scratch, digest)
}

fn copy_of(whole: &Scratch) -> Scratch {
    let copy = Scratch::new();
    copy_tree(&whole.lake(), &copy.lake());
    copy
}

fn tables_of(lake: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(lake).unwrap().map(Result::unwrap);
    entries.filter(|e| e.path().join("_delta_log").is_dir()).map(|e| e.file_name().into_string().unwrap()).collect()
}

#[test]
fn a_fact_table_that_was_deleted_is_an_error_with_path_and_remedy_and_exit_code_three() {
    let (whole, _) = demo_lake();
    let there = tables_of(&whole.lake());
    let facts: Vec<&str> = FACT_TABLES.iter().map(|t| t.name).chain(["sources"]).filter(|t| there.contains(*t)).collect();
    assert!(facts.len() >= 14, "{facts:?}");
    for (at, table) in facts.iter().enumerate() {
        let harmed = copy_of(&whole);
        let folder = harmed.lake().join(table);
        // Both ways in turn: the unit tests see each with every table.
        let gone: PathBuf = if at % 2 == 0 { folder.clone() } else { folder.join("_delta_log") };
        fs::remove_dir_all(gone).unwrap();
        let question = format!("select count(*) from {table}");
        for args in [vec!["sql", &question], vec!["ingest", "fixtures/demo"], vec!["lake", "digest"]] {
            let output = harmed.run(&args);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(3), "{table}, {args:?}: {said}");
            assert!(output.stdout.is_empty());
            assert!(said.contains(folder.to_str().unwrap()) && said.contains("ingest again"), "{said}");
        }
        assert!(!folder.join("_delta_log").exists(), "nothing begins {table} anew");
    }
}

#[test]
fn a_derived_table_that_was_deleted_is_built_again() {
    let (whole, digest) = demo_lake();
    for table in DERIVED_TABLES {
        let harmed = copy_of(&whole);
        let folder = harmed.lake().join(table.name);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(harmed.digest(), digest, "{}", table.name);
        assert!(folder.join("_delta_log").is_dir());
        let entries = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path());
        for file in entries.filter(|p| p.extension().is_some_and(|e| e == "parquet")) {
            fs::remove_file(file).unwrap();
        }
        assert_eq!(harmed.digest(), digest, "{} without its files", table.name);
    }
}

#[test]
fn a_data_file_that_was_deleted_or_cut_is_an_error_that_names_it() {
    let (whole, _) = demo_lake();
    for harm in ["deleted", "emptied", "cut"] {
        let harmed = copy_of(&whole);
        let entries = fs::read_dir(harmed.lake().join("gate_runs")).unwrap().map(|e| e.unwrap().path());
        let file = entries.into_iter().find(|p| p.extension().is_some_and(|e| e == "parquet")).unwrap();
        match harm {
            "deleted" => fs::remove_file(&file).unwrap(),
            "emptied" => fs::write(&file, "").unwrap(),
            _ => fs::write(&file, &fs::read(&file).unwrap()[..200]).unwrap(),
        }
        for args in [["lake", "digest"], ["sql", "select count(*) from gate_runs"]] {
            let output = harmed.run(&args);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(3), "{harm}, {args:?}: {said}");
            assert!(said.contains(file.to_str().unwrap()), "{harm}, {args:?}: {said}");
            // DuckDB reads the rows itself: of what is broken in a file it says so in its own words.
            assert!(said.contains("the lake is damaged") || (args[0] == "sql" && harm != "deleted"), "{harm}, {args:?}: {said}");
        }
    }
}
