//! Owns the cases of §3: times are instants, and a day is one of the zone that was asked for, wherever the program runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::logs::{CLAUDE_ONE, Claude, ONE, lake_of, row, usage};
use crate::support::{Scratch, csv_rows};

/// A session on the last Sunday of March 2026, the day Berlin's clocks go forward, that ends at this instant.
fn ending(instant: &str) -> Scratch {
    let log = Claude::new(ONE).call("m1", "end_turn", &usage(1, 0, 0, 5));
    lake_of(&[(CLAUDE_ONE, log.text().replace("2026-02-03T10:00:00.000Z", instant).into_bytes())])
}

/// The audit of a week: its manifest, and how many runs ended in it.
fn audited(lake: &Scratch, week: &str, zone: &str) -> (serde_json::Value, usize) {
    let out = lake.path().join(format!("{week}-{}", zone.replace('/', "-")));
    let logs = lake.path().join("logs");
    let paths = [logs.to_str().unwrap(), "--out", out.to_str().unwrap()];
    lake.mechanic(&[&["audit", "--week", week, "--tz", zone, "--now", "2026-04-20T00:00:00Z"], paths.as_slice()].concat());
    let manifest = serde_json::from_slice(&fs::read(out.join("manifest.json")).unwrap()).unwrap();
    (manifest, csv_rows(&fs::read_to_string(out.join("tables/news_runs.csv")).unwrap()).len())
}

#[test]
fn t23_an_offset_in_the_log_is_turned_into_the_instant_it_means() {
    for written in ["2026-03-29T22:30:00.000Z", "2026-03-30T00:30:00+02:00", "2026-03-29T15:30:00.000-07:00"] {
        assert_eq!(row(&ending(written), "select ended_at from contexts"), "2026-03-29T22:30:00Z", "{written}");
    }
}

#[test]
fn t23_a_week_is_cut_in_the_zone_asked_for_and_the_report_names_it() {
    let lake = ending("2026-03-29T22:30:00.000Z");
    for (week, zone, runs) in
        [("2026-W13", "UTC", 1), ("2026-W14", "UTC", 0), ("2026-W13", "Europe/Berlin", 0), ("2026-W14", "Europe/Berlin", 1)]
    {
        let (manifest, n) = audited(&lake, week, zone);
        assert_eq!((n, manifest["tz"].as_str()), (runs, Some(zone)), "{week} in {zone}");
    }
}

#[test]
fn t24_the_week_in_which_clocks_go_forward_has_167_hours() {
    let (manifest, _) = audited(&ending("2026-03-29T22:30:00.000Z"), "2026-W13", "Europe/Berlin");
    let at = |edge: &str| manifest["news"][edge].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert_eq!(at("until").duration_since(at("since")).as_hours(), 167);
}

#[test]
fn t24_the_same_report_comes_from_a_machine_in_any_zone() {
    let lake = ending("2026-03-29T22:30:00.000Z");
    let logs = lake.path().join("logs");
    let written = |machine: &str| {
        let out = lake.path().join("report");
        let week = ["--week", "2026-W13", "--now", "2026-04-20T00:00:00Z"];
        let args = [&["audit", logs.to_str().unwrap(), "--out", out.to_str().unwrap()], week.as_slice()].concat();
        let done = lake.command(&args).env("TZ", machine).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let mut files = BTreeMap::new();
        collect(&out, &mut files);
        fs::remove_dir_all(out).unwrap();
        files
    };
    let (here, there) = (written("UTC"), written("Pacific/Auckland"));
    assert!(here.len() > 20 && here == there, "{:?}", here.keys());
    let asked = |machine: &str| {
        let done = lake.command(&["query", "runs", "--format", "csv"]).env("TZ", machine).output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(asked("UTC"), asked("Pacific/Auckland"));
}

fn collect(folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            collect(&entry.path(), files);
        } else {
            files.insert(entry.path().display().to_string(), fs::read(entry.path()).unwrap());
        }
    }
}
