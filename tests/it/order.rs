//! Owns the promise that a lake says what its files say, whatever way they came in: twice, in any order, in any portions, copied under
//! another name, changed, grown or vanished since.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::support::{Scratch, body, copy_tree, csv_rows, real};

const DEMO: &str = "fixtures/demo";

/// Every file below a folder, sorted, as the absolute paths a user would name.
fn files_of(folder: &Path) -> Vec<String> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.map(|entry| std::path::absolute(entry.path()).unwrap().to_str().unwrap().to_owned()).collect()
}

/// Ingests so many files a call.
fn ingest_in_portions(scratch: &Scratch, files: &[String], portion: usize) {
    for part in files.chunks(portion) {
        let mut args = vec!["ingest"];
        args.extend(part.iter().map(String::as_str));
        scratch.mechanic(&args);
    }
}

fn ingest(scratch: &Scratch, path: &Path) -> String {
    scratch.mechanic(&["ingest", path.to_str().unwrap()])
}

/// Names of tables, but those that list files and what was odd in each.
fn tables(scratch: &Scratch) -> Vec<String> {
    let schema = scratch.mechanic(&["schema"]);
    let names = schema.lines().filter_map(|line| line.strip_prefix("## ")).map(str::to_owned);
    let names: Vec<String> = names.filter(|n| !["sources", "quarantine", "warnings", "model_call_copies"].contains(&n.as_str())).collect();
    assert!(names.len() > 15, "{names:?}");
    names
}

/// Everything that a question about deliveries can see: each named query and each table. Which file a row is shown from, and how many
/// copies there are, is left out; so are the queries about files themselves.
fn all_that_is_seen(scratch: &Scratch) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    let list = scratch.mechanic(&["query"]);
    for name in list.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next()) {
        if !["coverage", "quarantine_summary", "warnings_summary"].contains(&name) {
            seen.insert(name.to_owned(), scratch.mechanic(&["query", name, "--format", "csv"]));
        }
    }
    assert!(seen.len() >= 15, "{list}");
    for table in tables(scratch) {
        // What a gate is comes from every file that shows it: its line is one of the file it is shown from.
        let exclude = match table.as_str() {
            "runs" | "run_members" | "tree_states" | "gate_run_marks" | "gate_marks" | "gate_problem" => "",
            "gates" => "exclude (source_id, source_line)",
            "model_calls" => "exclude (source_id, n_copies)",
            _ => "exclude (source_id)",
        };
        seen.insert(format!("table {table}"), scratch.sql(&format!("select * {exclude} from {table} order by all")));
    }
    seen
}

fn assert_same(told: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>, what: &str) {
    assert_eq!(told.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (name, text) in told {
        let other: Vec<&str> = wanted[name].lines().collect();
        let ours: Vec<&str> = text.lines().collect();
        let extra: Vec<&&str> = ours.iter().filter(|line| !other.contains(line)).collect();
        let missing: Vec<&&str> = other.iter().filter(|line| !ours.contains(line)).collect();
        assert!(ours == other, "{what}: {name} differs\nmore: {extra:#?}\nless: {missing:#?}");
    }
}

/// A folder with one delivery and one session of each kind, to be changed by a test.
fn small_demo(scratch: &Scratch) -> PathBuf {
    let folder = scratch.path().join("files");
    for part in ["shop/.copilot-tracking/issues/issue-102", "shop/docs", "copilot/session-state"] {
        copy_tree(&Path::new(DEMO).join(part), &folder.join(part));
    }
    let sessions: Vec<String> = files_of(&Path::new(DEMO).join("claude")).into_iter().filter(|f| f.ends_with(".jsonl")).take(6).collect();
    for (at, session) in sessions.iter().enumerate() {
        std::fs::create_dir_all(folder.join("claude")).unwrap();
        std::fs::copy(session, folder.join(format!("claude/{at}.jsonl"))).unwrap();
    }
    folder
}

/// The log of each kind that grows most.
fn growing_logs(folder: &Path) -> Vec<PathBuf> {
    let largest = |below: &str| {
        let files = files_of(&folder.join(below)).into_iter().map(PathBuf::from).filter(|f| f.extension().is_some_and(|e| e == "jsonl"));
        files.max_by_key(|f| f.metadata().unwrap().len()).unwrap()
    };
    vec![largest("shop"), largest("copilot"), largest("claude")]
}

#[test]
fn a_second_ingest_of_the_demo_parses_nothing_and_changes_nothing() {
    let scratch = Scratch::new();
    let demo = Path::new(DEMO);
    let first = ingest(&scratch, demo);
    assert!(!first.contains(" 0 records parsed"), "{first}");
    let digest = scratch.digest();
    assert_eq!(digest.len(), 64);
    let second = ingest(&scratch, demo);
    assert!(second.contains(": 0 read,") && second.contains(" 0 records parsed"), "{second}");
    assert_eq!(scratch.digest(), digest);
}

#[test]
fn the_demo_in_reverse_order_and_in_portions_is_the_same_lake() {
    let (whole, reversed, shuffled) = (Scratch::new(), Scratch::new(), Scratch::new());
    ingest(&whole, Path::new(DEMO));
    let mut files = files_of(Path::new(DEMO));
    files.reverse();
    ingest_in_portions(&reversed, &files, 20);
    // An order that has nothing to do with names.
    files.sort_by_key(|file| harness_mechanic::model::id::digest(file.as_bytes()));
    ingest_in_portions(&shuffled, &files, 20);
    assert_eq!(reversed.digest(), whole.digest());
    assert_eq!(shuffled.digest(), whole.digest());
    assert_same(&all_that_is_seen(&reversed), &all_that_is_seen(&whole), "reverse order");
}

#[test]
fn sessions_file_by_file_are_the_same_lake() {
    let (whole, single) = (Scratch::new(), Scratch::new());
    let folder = Path::new(DEMO).join("copilot");
    ingest(&whole, &folder);
    let mut files = files_of(&folder);
    files.reverse();
    ingest_in_portions(&single, &files, 1);
    assert_eq!(single.digest(), whole.digest());
}

#[test]
fn asking_between_ingests_changes_nothing() {
    let (whole, asked) = (Scratch::new(), Scratch::new());
    ingest(&whole, Path::new(DEMO));
    for part in ["copilot", "shop", "claude"] {
        ingest(&asked, &Path::new(DEMO).join(part));
        asked.sql("select count(*) from problems");
    }
    ingest(&asked, Path::new(DEMO));
    assert_eq!(asked.digest(), whole.digest());
}

#[test]
fn a_copied_file_adds_nothing_that_a_question_sees_whatever_its_name_and_whenever_it_comes() {
    let scratch = Scratch::new();
    let folder = scratch.path().join("m");
    copy_tree(Path::new(DEMO), &folder);
    ingest(&scratch, &folder);
    let wanted = all_that_is_seen(&scratch);
    for (place, first) in [("a", false), ("z", true)] {
        let copies = scratch.path().join(place);
        std::fs::create_dir_all(&copies).unwrap();
        for log in growing_logs(&folder) {
            std::fs::copy(&log, copies.join(format!("copy-of-{}", log.file_name().unwrap().to_str().unwrap()))).unwrap();
        }
        let other = Scratch::new();
        let (one, two) = if first { (&copies, &folder) } else { (&folder, &copies) };
        ingest(&other, one);
        let added = ingest(&other, two);
        assert!(!added.contains(" 0 records parsed"), "{added}");
        assert_same(&all_that_is_seen(&other), &wanted, &format!("copies in {place}, first: {first}"));
    }
}

/// Takes every fifth line out of a log; returns what it said before.
fn thin_out(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap();
    let kept: Vec<&str> = text.lines().enumerate().filter(|(at, _)| at % 5 != 3).map(|(_, line)| line).collect();
    std::fs::write(log, kept.join("\n") + "\n").unwrap();
    text
}

#[test]
fn a_changed_record_of_a_harness_replaces_its_rows() {
    let (scratch, fresh) = (Scratch::new(), Scratch::new());
    let folder = small_demo(&scratch);
    ingest(&scratch, &folder);
    let before = scratch.digest();
    thin_out(&growing_logs(&folder)[0]);
    let report = ingest(&scratch, &folder);
    assert!(report.contains(": 1 read,") && !report.contains("rewritten"), "{report}");
    ingest(&fresh, &folder);
    assert_ne!(scratch.digest(), before);
    assert_eq!(scratch.digest(), fresh.digest());
}

/// What the session logs of a lake recorded: ids of calls and contexts, and what was paid.
fn recorded(scratch: &Scratch) -> BTreeMap<&'static str, BTreeSet<String>> {
    let ids = |statement: &str| body(&scratch.sql(statement)).into_iter().map(str::to_owned).collect();
    BTreeMap::from([
        ("calls", ids("select call_id, input_tokens, cache_read_tokens, output_tokens from model_calls")),
        ("tool calls", ids("select tool_call_id from tool_calls")),
        ("contexts", ids("select context_id, started_at, ended_at from contexts")),
        ("totals", ids("select count(*), sum(input_tokens), sum(output_tokens) from model_calls")),
    ])
}

#[test]
fn a_session_log_that_was_rewritten_loses_nothing_it_ever_said_and_counts_nothing_twice() {
    let scratch = Scratch::new();
    let folder = small_demo(&scratch);
    ingest(&scratch, &folder);
    let before = recorded(&scratch);
    let logs = growing_logs(&folder).split_off(1);
    let first: Vec<String> = logs.iter().map(|log| thin_out(log)).collect();
    let report = ingest(&scratch, &folder);
    assert!(report.contains(": 2 read,") && report.matches("\nrewritten: ").count() == 2, "{report}");
    let after = recorded(&scratch);
    for what in ["calls", "totals", "contexts"] {
        assert_eq!(after[what], before[what], "{what}");
    }
    // A call whose first lines were taken out is known by what is left of it.
    assert!(after["tool calls"].is_superset(&before["tool calls"]));
    let states = "select state, count(*) from sources where path like '%jsonl' and state <> 'ignored' group by all order by all";
    assert!(scratch.sql(states).contains("superseded,2"), "{}", scratch.sql(states));
    let digest = scratch.digest();
    assert!(ingest(&scratch, &folder).contains(": 0 read,"));

    // Another lake that saw the same contents, file by file and in other orders, is the same.
    let other = Scratch::new();
    let second: Vec<String> = logs.iter().map(|log| std::fs::read_to_string(log).unwrap()).collect();
    for (contents, reverse) in [(&first, true), (&second, false)] {
        for (log, text) in logs.iter().zip(contents) {
            std::fs::write(log, text).unwrap();
        }
        let mut files = files_of(&folder);
        if reverse {
            files.reverse();
        }
        ingest_in_portions(&other, &files, 7);
    }
    assert_eq!(other.digest(), digest);
    assert_eq!(recorded(&other), after);

    // Restored from a copy, the first content is known again.
    for (log, text) in logs.iter().zip(&first) {
        std::fs::write(log, text).unwrap();
    }
    ingest(&scratch, &folder);
    assert_eq!(recorded(&scratch), after);
    assert_eq!(body(&scratch.sql("select count(*) from sources where state = 'superseded'")), ["2"]);
}

#[test]
fn a_session_log_that_was_cut_short_keeps_its_calls() {
    let scratch = Scratch::new();
    let folder = small_demo(&scratch);
    ingest(&scratch, &folder);
    let before = recorded(&scratch);
    for share in [1, 0] {
        for log in growing_logs(&folder).split_off(1) {
            let bytes = std::fs::read(&log).unwrap();
            std::fs::write(&log, &bytes[..bytes.len() * share / 2]).unwrap();
        }
        let report = ingest(&scratch, &folder);
        assert_eq!(report.matches("\nrewritten: ").count(), 2, "{report}");
        assert_eq!(recorded(&scratch), before, "{share}/2");
    }
}

#[test]
fn a_vanished_file_is_marked_gone_and_keeps_its_rows() {
    let scratch = Scratch::new();
    let folder = small_demo(&scratch);
    ingest(&scratch, &folder);
    let before = all_that_is_seen(&scratch);
    let gone = growing_logs(&folder);
    for log in &gone {
        std::fs::remove_file(log).unwrap();
    }
    let report = ingest(&scratch, &folder);
    assert!(report.contains(" 3 gone."), "{report}");
    let states = csv_rows(&scratch.sql("select path from sources where state = 'gone' order by path"));
    let mut told: Vec<&str> = states.iter().map(|row| row["path"].rsplit('/').next().unwrap()).collect();
    told.sort_unstable();
    let mut wanted: Vec<&str> = gone.iter().map(|log| log.file_name().unwrap().to_str().unwrap()).collect();
    wanted.sort_unstable();
    assert_eq!(told, wanted);
    assert_same(&all_that_is_seen(&scratch), &before, "vanished files");
    assert!(ingest(&scratch, &folder).contains(" 0 records parsed"), "gone once is gone");
    assert_eq!(body(&scratch.sql("select count(*) from sources where state = 'gone'")), ["3"]);
}

#[test]
fn a_grown_file_is_the_same_as_one_read_at_once() {
    let (fresh, folders) = (Scratch::new(), Scratch::new());
    let folder = small_demo(&folders);
    ingest(&fresh, &folder);
    let wanted = fresh.digest();
    let whole: Vec<(PathBuf, Vec<u8>)> = growing_logs(&folder).into_iter().map(|log| (log.clone(), std::fs::read(&log).unwrap())).collect();
    // Cuts fall anywhere in a line, but for the last: right behind one.
    for share in [1, 3, 5, 7] {
        let grown = Scratch::new();
        for (log, bytes) in &whole {
            std::fs::write(log, &bytes[..bytes.len() * share / 8]).unwrap();
        }
        ingest(&grown, &folder);
        assert_ne!(grown.digest(), wanted, "{share}/8 is not the whole");
        for (log, bytes) in &whole {
            let line_end = bytes[..bytes.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
            std::fs::write(log, &bytes[..line_end]).unwrap();
        }
        ingest(&grown, &folder);
        for (log, bytes) in &whole {
            std::fs::write(log, bytes).unwrap();
        }
        ingest(&grown, &folder);
        assert_eq!(grown.digest(), wanted, "grown from {share}/8");
    }
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn real_sessions_twice_and_in_reverse_order_by_twenties_are_the_same_lake() {
    let (whole, reversed) = (Scratch::new(), Scratch::new());
    let folder = real("sessions");
    ingest(&whole, &folder);
    let digest = whole.digest();
    let second = ingest(&whole, &folder);
    assert!(second.contains(": 0 read,") && second.contains(" 0 records parsed"), "{second}");
    assert_eq!(whole.digest(), digest);
    let mut files = files_of(&folder);
    files.reverse();
    ingest_in_portions(&reversed, &files, 20);
    assert_eq!(reversed.digest(), digest);
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn a_copy_of_a_real_session_adds_nothing_that_a_question_sees() {
    let scratch = Scratch::new();
    let folder = scratch.path().join("m");
    let originals = [
        "copilot-cli/StarCar__11-9681650804-0.jsonl",
        "claude-code/entirecontext__JBJXKV1JQ939-0.jsonl",
        "claude-code/cli__de-b0dd407fb7-0.jsonl",
        "claude-code/cli__ee-cf21d297fe-0.jsonl",
    ];
    std::fs::create_dir_all(&folder).unwrap();
    for (at, original) in originals.iter().enumerate() {
        std::fs::copy(real("sessions").join(original), folder.join(format!("{at}.jsonl"))).unwrap();
    }
    ingest(&scratch, &folder);
    let wanted = all_that_is_seen(&scratch);
    for (place, first) in [("a", true), ("z", false)] {
        let copies = scratch.path().join(place);
        copy_tree(&folder, &copies);
        let other = Scratch::new();
        let (one, two) = if first { (&copies, &folder) } else { (&folder, &copies) };
        ingest(&other, one);
        ingest(&other, two);
        assert_same(&all_that_is_seen(&other), &wanted, &format!("copies in {place}, first: {first}"));
    }
}
