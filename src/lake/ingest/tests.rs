//! Tests of ingest on a small format of their own: order, change, loss, crash.

mod grown;
mod journals;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::lake::disk::Disk;
use crate::lake::files::batch_of;
use crate::model;
use crate::model::decisions::GuardEvent;
use crate::model::id::stable_id;
use crate::model::sources::Quarantined;
use crate::source::emit::Emitter;
use crate::source::lines::{LineReader, Next};
use crate::source::{Input, Probe};

/// Every line is one event; `!panic` makes the reader fail as a bug does, `!error` as a broken file does, `?` goes to quarantine.
/// Files named `.journal` are append-only; one that begins with `#` is nobody's.
struct Lines;

static VERSION: AtomicU32 = AtomicU32::new(1);

impl Source for Lines {
    fn format(&self) -> &'static str {
        "lines"
    }
    fn version(&self) -> u32 {
        VERSION.load(Ordering::Relaxed)
    }
    fn claims(&self, probe: &Probe<'_>) -> bool {
        probe.input.name().ends_with(".log") || (probe.input.name().ends_with(".journal") && !probe.head.starts_with(b"#"))
    }
    fn is_append_only(&self, input: &Input) -> bool {
        input.name().ends_with(".journal")
    }
    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let mut reader = LineReader::new(input.open()?);
        while let Some(next) = reader.next_line()? {
            let (Next::Line(line) | Next::Tail(line)) = next else { continue };
            let text = String::from_utf8_lossy(line.bytes).into_owned();
            out.summary.records += 1;
            match text.as_str() {
                "!panic" => panic!("as asked"),
                "!error" => anyhow::bail!("as asked"),
                "?" => out.quarantine(line.number, line.offset, line.bytes.len(), "malformed", None),
                _ => out.facts.guard_events.push(GuardEvent {
                    guard_event_id: stable_id(&["line", &text]),
                    native_run_key: None,
                    gate_id: "g".into(),
                    event: text,
                    detail: None,
                    at: None,
                    source_id: input.source_id.clone(),
                    source_line: line.number,
                }),
            }
            out.flush_if_full()?;
        }
        out.summary.read_to = reader.offset();
        Ok(())
    }
}

static READERS: &[&dyn Source] = &[&Lines];

struct World {
    dir: TempDir,
}

impl World {
    fn new() -> World {
        let world = World { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(world.logs()).unwrap();
        world
    }

    /// Seven files, one of them hidden, one a copy of another, one that nobody reads.
    fn filled() -> World {
        let world = World::new();
        for (name, text) in [
            ("a.log", "one\ntwo\n?\n"),
            ("b.log", "three\ntwo\n"),
            (".hidden/c.log", "four\n"),
            ("copy/a.log", "one\ntwo\n?\n"),
            ("d.log", ""),
            ("e.log", "five\nfive\nsix"),
            ("notes.txt", "not a log"),
        ] {
            world.write(name, text);
        }
        world
    }

    fn logs(&self) -> PathBuf {
        self.dir.path().join("logs")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.logs().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn lake(&self, name: &str) -> Lake {
        Lake::open_or_create(&self.dir.path().join(name)).unwrap()
    }

    fn dying(&self, name: &str, steps: i64) -> Result<Lake, LakeError> {
        Lake::create_on(&self.dir.path().join(name), Disk::dying_after(steps))
    }

    fn files(&self) -> Vec<PathBuf> {
        crate::source::walk::walk(&[self.logs()], &[]).unwrap().files
    }
}

fn options(batch_files: usize) -> Options<'static> {
    Options { readers: READERS, now: Ts(1_790_000_000_000_000), batch_files, batch_bytes: 1 << 20 }
}

fn run(lake: &Lake, paths: &[PathBuf]) -> IngestReport {
    ingest(lake, paths, &options(64), &Silent).unwrap()
}

fn digest(lake: &Lake) -> String {
    lake.snapshot().unwrap().digest().unwrap()
}

fn events(lake: &Lake) -> Vec<String> {
    let mut events: Vec<String> = lake.snapshot().unwrap().read_view::<GuardEvent>().unwrap().into_iter().map(|e| e.event).collect();
    events.sort();
    events
}

#[test]
fn in_whatever_order_steps_and_batches_files_come_the_lake_is_the_same() {
    let world = World::filled();
    let once = world.lake("once");
    let report = run(&once, &[world.logs()]);
    assert_eq!((report.files, report.read, report.ignored, report.records, report.quarantined), (7, 6, 1, 12, 2));
    let expected = digest(&once);
    assert_eq!(events(&once), ["five", "four", "one", "six", "three", "two"]);
    assert_eq!(once.snapshot().unwrap().read::<Quarantined>().unwrap().len(), 2);

    let mut files = world.files();
    for turn in 0..files.len() {
        files.rotate_left(1);
        if turn % 2 == 0 {
            files.reverse();
        }
        let lake = world.lake(&format!("by-file-{turn}"));
        for file in &files {
            run(&lake, std::slice::from_ref(file));
        }
        assert_eq!(digest(&lake), expected, "file by file, order {turn}");
    }
    let small = world.lake("small-batches");
    ingest(&small, &[world.logs()], &options(1), &Silent).unwrap();
    assert_eq!(digest(&small), expected);
}

#[test]
fn what_is_unchanged_is_not_read_again_and_nothing_is_written() {
    let world = World::filled();
    let lake = world.lake("lake");
    run(&lake, &[world.logs()]);
    let before = (digest(&lake), lake.snapshot().unwrap().version("sources"));
    let report = run(&lake, &[world.logs()]);
    assert_eq!((report.read, report.records, report.unchanged, report.ignored, report.batches), (0, 0, 6, 1, 0));
    assert_eq!((digest(&lake), lake.snapshot().unwrap().version("sources")), before);
}

#[test]
fn a_changed_file_replaces_its_rows_even_if_size_and_time_stay() {
    let world = World::new();
    world.write("a.log", "one\ntwo\n");
    let lake = world.lake("lake");
    run(&lake, &[world.logs()]);
    let facts = lake.snapshot().unwrap().facts_digest();
    world.write("a.log", "one\nten\n");
    let report = run(&lake, &[world.logs()]);
    assert_eq!((report.read, report.records), (1, 2));
    assert_eq!(events(&lake), ["one", "ten"]);
    assert_ne!(lake.snapshot().unwrap().facts_digest(), facts);
    let fresh = world.lake("fresh");
    run(&fresh, &[world.logs()]);
    assert_eq!(digest(&lake), digest(&fresh));
}

#[test]
fn a_grown_file_shows_what_one_reading_shows() {
    let world = World::new();
    world.write("a.log", "one\ntw");
    let lake = world.lake("lake");
    run(&lake, &[world.logs()]);
    world.write("a.log", "one\ntwo\nthree\n");
    run(&lake, &[world.logs()]);
    assert_eq!(events(&lake), ["one", "three", "two"]);
}

#[test]
fn a_vanished_file_keeps_its_rows_and_comes_back_without_being_read() {
    let world = World::filled();
    let lake = world.lake("lake");
    run(&lake, &[world.logs()]);
    let expected = (digest(&lake), events(&lake));
    let (at, away) = (world.logs().join("b.log"), world.dir.path().join("b.log"));
    fs::rename(&at, &away).unwrap();
    assert_eq!(run(&lake, &[world.logs().join("copy")]).gone, 0, "it stood elsewhere");
    assert_eq!(run(&lake, &[world.logs()]).gone, 1);
    assert_eq!(run(&lake, &[world.logs()]).gone, 0, "it is told once");
    assert_eq!(events(&lake), expected.1);
    assert_ne!(digest(&lake), expected.0);
    fs::rename(&away, &at).unwrap();
    assert_eq!(run(&lake, &[world.logs()]).records, 0);
    assert_eq!(digest(&lake), expected.0);

    fs::remove_dir_all(world.logs()).unwrap();
    assert_eq!(run(&lake, &[world.logs()]).gone, 7, "a path that was ingested may vanish as a whole");
    assert!(matches!(ingest(&lake, &[world.dir.path().join("never")], &options(64), &Silent), Err(IngestError::Path(_))));
}

#[test]
fn a_file_that_fails_is_named_keeps_its_rows_and_stops_nobody() {
    let world = World::new();
    world.write("a.log", "one\n");
    world.write("b.log", "two\n");
    world.write("c.log", "three\n");
    let lake = world.lake("lake");
    run(&lake, &[world.logs()]);
    world.write("a.log", "first\n!error\n");
    world.write("b.log", "second\n!panic\n");
    world.write("c.log", "third\n");
    world.write("d.log", "!error\n");
    let report = run(&lake, &[world.logs()]);
    let failed: Vec<&str> = report.failed.iter().map(|(path, _)| path.rsplit('/').next().unwrap()).collect();
    assert_eq!(failed.len(), 3, "{failed:?}");
    assert_eq!(events(&lake), ["one", "third", "two"]);
    let states: Vec<SourceState> = lake.snapshot().unwrap().read_view::<SourceRow>().unwrap().iter().map(|s| s.state).collect();
    assert_eq!(states.iter().filter(|s| **s == SourceState::Failed).count(), 3);
}

#[test]
fn a_second_ingest_is_refused_while_one_runs() {
    let world = World::filled();
    let lake = world.lake("lake");
    let held = Lock::take(&lake.root, Duration::ZERO).unwrap();
    let refused = ingest(&lake, &[world.logs()], &options(64), &Silent);
    assert!(matches!(refused, Err(IngestError::Lake(LakeError::Locked(_)))));
    drop(held);
    run(&lake, &[world.logs()]);
}

/// Parquet files on disk that no log names.
fn unnamed(lake: &Lake) -> Vec<PathBuf> {
    let snapshot = lake.snapshot().unwrap();
    let mut left = Vec::new();
    for def in model::all_tables() {
        let Ok(entries) = fs::read_dir(lake.root.join(def.name)) else { continue };
        let paths = entries.map(|e| e.unwrap().path()).filter(|p| p.is_file());
        left.extend(paths.filter(|p| !snapshot.files(def.name).contains(p)));
    }
    left
}

#[test]
fn killed_at_any_step_the_lake_shows_whole_files_and_the_next_ingest_mends_it() {
    let world = World::filled();
    let fresh = world.lake("fresh");
    run(&fresh, &[world.logs()]);
    let first = digest(&fresh);
    let mut steps = 0;
    loop {
        let name = format!("first-{steps}");
        let dead = world.dying(&name, steps).map_err(IngestError::from);
        let dead = dead.and_then(|lake| ingest(&lake, &[world.logs()], &options(2), &Silent));
        let lake = world.lake(&name);
        let seen = lake.snapshot().unwrap();
        for source in seen.read_view::<SourceRow>().unwrap().iter().filter(|s| s.format.is_some()) {
            let rows = seen.read::<GuardEvent>().unwrap().iter().filter(|e| e.source_id == source.source_id).count();
            assert_eq!(rows as i64, source.records - source.quarantined, "a file is seen whole or not at all, step {steps}");
        }
        run(&lake, &[world.logs()]);
        assert_eq!(digest(&lake), first, "killed at step {steps}");
        assert!(!lake.root.join(PENDING).exists());
        let last = Ledger::read(&lake.table(SourceRow::TABLE, &lake.engine(), None).unwrap()).unwrap().last_batch();
        let left = unnamed(&lake);
        assert!(left.iter().all(|p| batch_of(&p.file_name().unwrap().to_string_lossy()).is_none_or(|b| b <= last)), "{left:?}");
        match dead {
            Ok(_) => break,
            Err(_) => steps += 1,
        }
    }
    assert!(steps > 50, "only {steps} steps: the test sees too little");
}

#[test]
fn killed_while_files_are_read_again_every_file_is_the_old_or_the_new_one() {
    let world = World::filled();
    let mut steps = 0;
    let changed = World::filled();
    changed.write("a.log", "new one\n");
    loop {
        let name = format!("again-{steps}");
        world.write("a.log", "one\ntwo\n?\n");
        world.write("e.log", "five\nfive\nsix");
        run(&world.lake(&name), &[world.logs()]);
        world.write("a.log", "new one\n");
        world.write("e.log", "new five\nnew six\n");
        let dead = world.dying(&name, steps).map_err(IngestError::from);
        let dead = dead.and_then(|lake| ingest(&lake, &[world.logs()], &options(1), &Silent));
        let lake = world.lake(&name);
        let seen: Vec<String> = lake.snapshot().unwrap().read::<GuardEvent>().unwrap().into_iter().map(|e| e.event).collect();
        let has = |text: &str| seen.iter().any(|e| e == text);
        assert_ne!(has("six"), has("new six"), "step {steps}: {seen:?}");
        assert_eq!(has("new six"), has("new five"));
        assert!(has("one"), "the copy of the file that changed still stands");
        run(&lake, &[world.logs()]);
        assert_eq!(events(&lake), ["four", "new five", "new one", "new six", "one", "three", "two"]);
        match dead {
            Ok(_) => break,
            Err(_) => steps += 1,
        }
    }
    assert!(steps > 30, "only {steps} steps: the test sees too little");
}

#[test]
fn a_reader_sees_whole_files_while_others_are_read_again() {
    let world = World::filled();
    let lake = world.lake("lake");
    run(&lake, &[world.logs()]);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut views = 0;
            while !done.load(Ordering::Relaxed) {
                let seen = lake.snapshot().unwrap().read::<GuardEvent>().unwrap();
                let rounds: Vec<&str> = seen.iter().filter_map(|e| e.event.strip_prefix("round ")).collect();
                assert!(rounds.is_empty() || (rounds.len() == 2 && rounds[0] == rounds[1]), "{rounds:?}");
                assert!(seen.iter().any(|e| e.event == "four"), "what did not change is always there");
                views += 1;
            }
            views
        });
        for round in 0..30 {
            world.write("a.log", &format!("round {round}\nround {round}\n"));
            run(&world.lake("lake"), &[world.logs()]);
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
}

#[test]
fn replaced_rows_and_small_files_are_compacted_away_and_nobody_sees_a_difference() {
    let world = World::filled();
    let lake = world.lake("lake");
    for round in 0..90 {
        world.write("a.log", &format!("round {round}\n"));
        world.write(&format!("more/{round}.log"), &format!("more {round}\n"));
        run(&lake, &[world.logs()]);
    }
    let fresh = world.lake("fresh");
    run(&fresh, &[world.logs()]);
    assert_eq!(digest(&lake), digest(&fresh));
    for table in ["guard_events", "sources"] {
        let files = lake.snapshot().unwrap().files(table).len();
        assert!(files <= 81, "{table} has {files} files");
    }
    let rows = Ledger::read(&lake.table(SourceRow::TABLE, &lake.engine(), None).unwrap()).unwrap();
    assert!(!rows.is_worn(), "{} rows for {} files", rows.rows, rows.entries.len());
}

#[test]
fn derived_tables_are_replaced_all_at_once_or_not_at_all() {
    use crate::model::derived::{Run, RunMember};
    use crate::model::vocabulary::LinkBasis;
    let members = |n: usize| -> Vec<RunMember> {
        let member = |i: usize| RunMember {
            run_id: format!("{n}"),
            member_kind: "context".into(),
            member_id: format!("{i}"),
            link_basis: LinkBasis::Explicit,
            root: None,
        };
        (0..n).map(member).collect()
    };
    let tables = |n: usize| vec![(RunMember::TABLE, vec![RunMember::to_batch(&members(n)).unwrap()]), (Run::TABLE, vec![])];
    let world = World::new();
    let mut steps = 0;
    loop {
        let name = format!("derived-{steps}");
        let lake = world.lake(&name);
        assert_eq!(lake.snapshot().unwrap().derived_input_digest(), None);
        lake.replace_derived(&tables(1), "first").unwrap();
        let died = world.dying(&name, steps).and_then(|lake| lake.replace_derived(&tables(2), "second"));
        let seen = lake.snapshot().unwrap();
        let rows = seen.read_view::<RunMember>().unwrap();
        match seen.derived_input_digest() {
            Some("first") => assert_eq!(rows, members(1), "step {steps}"),
            Some("second") => assert_eq!(rows, members(2), "step {steps}"),
            other => panic!("{other:?}"),
        }
        assert!(seen.read_view::<Run>().unwrap().is_empty());
        lake.replace_derived(&tables(3), "third").unwrap();
        assert_eq!(lake.snapshot().unwrap().read_view::<RunMember>().unwrap(), members(3));
        match died {
            Ok(()) => break,
            Err(_) => steps += 1,
        }
    }
    assert!(steps > 10);
}

#[test]
fn a_path_stands_in_a_folder_only_at_a_separator() {
    assert!(is_under("~/a/b", "~/a") && is_under("~/a", "~/a") && is_under("/x", "/"));
    assert!(!is_under("~/ab", "~/a") && !is_under("~/a", "~/a/b"));
}
