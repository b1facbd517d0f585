//! Owns the check that an audit of the demo writes what it promises, the same to the byte, and fails where it is asked to.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::Scratch;

const NOW: &str = "2026-11-30T00:00:00Z";

fn audit<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    ["audit", "fixtures/demo", "--now", NOW, "--out", out].into_iter().chain(more.iter().copied()).collect()
}

/// Every file below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            out.extend(files(&entry.path()).into_iter().map(|(inner, content)| (format!("{name}/{inner}"), content)));
        } else {
            out.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    out
}

#[test]
fn the_lake_digest_an_audit_names_is_that_of_the_lake_it_reports_on() {
    let scratch = Scratch::new();
    let out = scratch.path().join("out");
    let named = |path: &str| {
        scratch.mechanic(&["audit", path, "--now", NOW, "--out", out.to_str().unwrap()]);
        let manifest: serde_json::Value = serde_json::from_slice(&fs::read(out.join("manifest.json")).unwrap()).unwrap();
        manifest["lake_digest"].as_str().unwrap().to_owned()
    };
    let first = named("fixtures/demo/shop");
    assert_eq!(first, scratch.digest());
    assert_eq!(named("fixtures/demo/shop"), first, "the remembered digest differs");
    // Files that no source claims change the lake without a new fact.
    let ignored = scratch.path().join("ignored");
    fs::create_dir(&ignored).unwrap();
    fs::write(ignored.join("a.jsonl"), "{\"no\": \"source\"}\n").unwrap();
    for more in ["fixtures/demo/claude", ignored.to_str().unwrap()] {
        let before = scratch.digest();
        let then = named(more);
        assert_eq!(then, scratch.digest(), "{more}");
        assert_ne!(then, before, "{more}");
    }
}

#[test]
fn two_audits_of_two_lakes_of_the_same_files_are_the_same_to_the_byte() {
    let (one, two) = (Scratch::new(), Scratch::new());
    let (a, b) = (one.path().join("a"), two.path().join("b"));
    let summary = one.mechanic(&audit(a.to_str().unwrap(), &[]));
    two.mechanic(&audit(b.to_str().unwrap(), &[]));
    let written = files(&a);
    assert!(written == files(&b), "the reports differ");
    for name in
        ["audit.md", "audit.html", "manifest.json", "plots/first-stops.svg", "tables/gate_economics.csv", "tables/gate_economics.parquet"]
    {
        assert!(written.contains_key(name), "{name}");
    }
    // Again, from what is remembered beside the lake.
    one.mechanic(&audit(a.to_str().unwrap(), &[]));
    assert!(written == files(&a), "the second report differs");
    let widest = summary.lines().filter(|l| !l.contains(a.to_str().unwrap())).map(|l| l.chars().count()).max();
    assert!(widest.is_some_and(|w| w <= 100), "{widest:?}\n{summary}");
    assert!(!summary.contains('\u{1b}'), "colour where no terminal is");
}

#[test]
fn names_from_logs_are_obeyed_by_no_medium() {
    let scratch = Scratch::new();
    let out = scratch.path().join("report");
    scratch.mechanic(&audit(out.to_str().unwrap(), &[]));
    let html = fs::read_to_string(out.join("audit.html")).unwrap();
    assert_eq!(html.matches("<script").count(), 1, "only its own");
    assert!(html.contains("&lt;script&gt;") && !html.contains("<img"));
    for forbidden in ["src=\"http", "href=\"http", "url(", "@import", "href=\"javascript"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    for (name, content) in files(&out.join("tables")).into_iter().filter(|(name, _)| name.ends_with(".csv")) {
        for row in csv::Reader::from_reader(content.as_slice()).records() {
            let formula = row.unwrap().iter().any(|cell| cell.starts_with(['=', '@', '+']));
            assert!(!formula, "{name}");
        }
    }
}

#[test]
fn conditions_that_hold_fail_the_check_and_say_why() {
    let scratch = Scratch::new();
    let out = scratch.path().join("report");
    let out = out.to_str().unwrap();
    let failed = scratch.run(&audit(out, &["--fail-on", "escapes,broken-gate"]));
    assert_eq!(failed.status.code(), Some(1));
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(said.contains("the audit fails on escapes: 1 problem first seen after merge") && !said.contains("broken-gate"), "{said}");
    assert_eq!(scratch.run(&audit(out, &["--fail-on", "broken-gate"])).status.code(), Some(0));
    assert_eq!(scratch.run(&audit(out, &["--week", "48"])).status.code(), Some(2));
    assert_eq!(scratch.run(&audit(out, &["--fail-on", "weather"])).status.code(), Some(2));
}

#[test]
fn a_report_compares_itself_with_the_one_before_it_and_says_the_same_as_json() {
    let scratch = Scratch::new();
    let week = |name: &str| scratch.path().join("audit").join(name);
    scratch.mechanic(&audit(week("2026-W47").to_str().unwrap(), &["--week", "2026-W47"]));
    let out = week("2026-W48");
    let json = scratch.mechanic(&audit(out.to_str().unwrap(), &["--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["news"]["against"]["label"], "2026-W47");
    assert_eq!(json["news"]["against"]["is_report"], true);
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(out.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["compared_with"], "2026-W47");
    assert_eq!(manifest["news"]["label"], "2026-W48");
    assert_eq!(manifest["lake_digest"].as_str(), Some(scratch.mechanic(&["lake", "digest"]).trim()));
    let first: Vec<&str> = json["todo"].as_array().unwrap().iter().filter_map(|t| t["id"].as_str()).collect();
    let listed: Vec<&str> = manifest["todo"].as_array().unwrap().iter().filter_map(|t| t.as_str()).collect();
    assert!(first.len() == 5 && listed.starts_with(&first), "{first:?} {listed:?}");
    assert!(fs::read_to_string(out.join("audit.md")).unwrap().contains("since the report of 2026-W47"));
}
