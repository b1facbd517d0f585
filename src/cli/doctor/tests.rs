//! Examines folders made for the test.

use std::fs;

use super::*;
use crate::source::labels::{Judgement, Label, append};

const NOW: &str = "2026-07-10T00:00:00Z";

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".mechanic/labels.jsonl");
    append(&path, &Label::new("ab".repeat(16), Judgement::True, None, None, Ts::parse(NOW).unwrap())).unwrap();
    fs::write(&path, fs::read_to_string(&path).unwrap() + "broken\n").unwrap();
    fs::write(dir.path().join("notes.txt"), "nothing of ours").unwrap();
    dir
}

fn examine_folder(dir: &Path) -> examine::Report {
    let walked = walk(&[dir.to_owned()], &[]).unwrap();
    examine::examine(&walked.files, &[(dir.join("locked"), "Permission denied".to_owned())], &expiry::Expiry::new(&[], dir))
}

#[test]
fn each_file_is_reported_once_as_read_ignored_or_failed() {
    let dir = folder();
    let report = examine_folder(dir.path());
    assert_eq!((report.sources.len(), report.ignored.len(), report.failed.len()), (1, 1, 1));
    let labels = &report.sources[0];
    assert_eq!((labels.format.as_str(), labels.records, labels.quarantined), ("mechanic-labels", 2, 1));
    assert_eq!(labels.files[0].reasons.get("malformed"), Some(&1));
    assert!(labels.capabilities.contains("decisions") && labels.unknowable.is_empty());
    assert!(report.unknowable.iter().any(|u| u.capability == "verdicts"));
    assert!(!report.unknowable.iter().any(|u| u.capability == "decisions"));
}

#[test]
fn the_text_names_everything_and_fits_a_hundred_columns() {
    let dir = folder();
    let deep = dir.path().join("a-rather-long-folder-name/".repeat(6));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("odd\u{1b}[31mname.txt"), "x").unwrap();
    let text = show::text(&examine_folder(dir.path()), Ts::parse(NOW).unwrap(), false);
    for part in ["mechanic-labels: 1 file, 2 records, 1 quarantined", "malformed 1", "Permission denied", "notes.txt", "verdicts "] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn reading_in_any_order_gives_the_same_report() {
    let dir = folder();
    let mut files = walk(&[dir.path().to_owned()], &[]).unwrap().files;
    let expiry = expiry::Expiry::new(&[], dir.path());
    let first = serde_json::to_string(&examine::examine(&files, &[], &expiry)).unwrap();
    files.reverse();
    let second: serde_json::Value = serde_json::from_str(&serde_json::to_string(&examine::examine(&files, &[], &expiry)).unwrap()).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&first).unwrap()["sources"], second["sources"]);
}
