//! Tests of ingest on a small format of their own: order, change, loss, crash.

use std::collections::BTreeSet;
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

/// Every line is one event; files named `.journal` are append-only, unless they begin with `#` they are read. `!panic` makes the reader fail as a bug does, `!error` as a broken file does, `?` goes to quarantine.
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

/// State of every source of a path, sorted.
fn states(lake: &Lake, name: &str) -> Vec<&'static str> {
    let sources = lake.snapshot().unwrap().read_view::<SourceRow>().unwrap();
    let mut states: Vec<&str> = sources.iter().filter(|s| s.path.ends_with(name)).map(|s| s.state.as_str()).collect();
    states.sort_unstable();
    states
}

#[test]
fn a_journal_that_is_no_continuation_keeps_what_it_said_before_whatever_it_is_now() {
    let long: String = (0..1_000).map(|n| format!("line {n}\n")).collect();
    let rewritten = [
        ("cut short", long[..5_000].to_owned()),
        ("emptied", String::new()),
        ("of nobody", "# nothing\n".to_owned()),
        ("with another begin", format!("begin\n{long}")),
        ("with another end and longer", format!("{}end\n{}", &long[..5_000], "more\n".repeat(2_000))),
        ("as long with other words", long.replace("line 1\n", "word 1\n")),
    ];
    for (how, text) in rewritten {
        let world = World::new();
        world.write("a.journal", &long);
        world.write("b.log", "two\n");
        let lake = world.lake("lake");
        run(&lake, &[world.logs()]);
        world.write("a.journal", &text);
        let report = run(&lake, &[world.logs()]);
        assert_eq!(report.rewritten.len(), 1, "{how}: {report:?}");
        let is_read = how != "of nobody";
        let now = if is_read { text.as_str() } else { "" };
        let wanted: BTreeSet<&str> = long.lines().chain(now.lines()).chain(["two"]).collect();
        assert_eq!(events(&lake), wanted.into_iter().collect::<Vec<_>>(), "{how}");
        assert_eq!(states(&lake, "a.journal"), [if is_read { "current" } else { "ignored" }, "superseded"], "{how}");
        assert_eq!((run(&lake, &[world.logs()]).batches, states(&lake, "a.journal").len()), (0, 2), "{how}: it is told once");

        let other = world.lake("other");
        for (content, files) in [(&long, ["b.log", "a.journal"]), (&text, ["a.journal", "b.log"])] {
            world.write("a.journal", content);
            for file in files {
                run(&other, &[world.logs().join(file)]);
            }
        }
        assert_eq!(digest(&other), digest(&lake), "{how}: whatever order files come in");

        world.write("a.journal", &format!("{text}later\n"));
        run(&lake, &[world.logs()]);
        assert_eq!(events(&lake).iter().any(|e| e.ends_with("later")), is_read, "{how}");
        assert_eq!(states(&lake, "a.journal").len(), 2, "{how}: growth is no new generation");
        // The first content comes back from a copy.
        world.write("a.journal", &long);
        run(&lake, &[world.logs()]);
        assert_eq!(states(&lake, "a.journal").len(), 2, "{how}");
        fs::remove_file(world.logs().join("a.journal")).unwrap();
        assert_eq!(run(&lake, &[world.logs()]).gone, 1, "{how}");
        assert_eq!(run(&lake, &[world.logs()]).gone, 0, "{how}");
        assert!(events(&lake).len() > 1_000, "{how}");
    }
}

#[test]
fn a_journal_that_grows_while_it_is_read_is_no_new_generation() {
    let world = World::new();
    let text = "word\n".repeat(2_000);
    world.write("a.journal", &text);
    let lake = world.lake("lake");
    let stat = plan::Stat::of(&fs::metadata(world.logs().join("a.journal")).unwrap());
    world.write("a.journal", &format!("{text}more\n"));
    let input = Input::new(&world.logs().join("a.journal")).unwrap();
    let (head, tail) = source::edges::of(&input.path, stat.size).unwrap();
    let mut row = blank(&input, &stat, SourceState::Current, String::new(), Ts(0));
    (row.head_hash, row.tail_hash) = (head, tail);
    assert!(source::edges::hold(&input.path, &row).unwrap());
    run(&lake, &[world.logs()]);
    for n in 0..3 {
        world.write("a.journal", &format!("{text}{}", "more\n".repeat(n + 2)));
        run(&lake, &[world.logs()]);
        assert_eq!(states(&lake, "a.journal"), ["current"]);
    }
}

#[test]
fn a_rewritten_journal_that_cannot_be_read_leaves_all_there_was_and_is_read_when_it_can() {
    let world = World::new();
    world.write("a.journal", "one\ntwo\n");
    let lake = world.lake("lake");
    run(&lake, &[world.logs()]);
    for text in ["new\n!error\n", "newer\n!panic\n"] {
        world.write("a.journal", text);
        assert_eq!(run(&lake, &[world.logs()]).failed.len(), 1);
        assert_eq!((events(&lake), states(&lake, "a.journal")), (vec!["one".to_owned(), "two".to_owned()], vec!["failed", "superseded"]));
    }
    world.write("a.journal", "three\n");
    run(&lake, &[world.logs()]);
    assert_eq!(
        (events(&lake), states(&lake, "a.journal")),
        (["one", "three", "two"].map(str::to_owned).to_vec(), vec!["current", "superseded"])
    );
    // What fails after it was read is still what was read, however long it is now.
    world.write("a.journal", "three\n!error\n");
    assert_eq!(run(&lake, &[world.logs()]).failed.len(), 1);
    assert_eq!(events(&lake).len(), 3);
    world.write("a.journal", "three\nfour\n");
    run(&lake, &[world.logs()]);
    assert_eq!((events(&lake).len(), states(&lake, "a.journal")), (4, vec!["current", "superseded"]));
}

#[test]
fn whatever_is_done_to_journals_the_lake_shows_all_that_any_ingest_saw() {
    let world = World::new();
    let (lake, other) = (world.lake("lake"), world.lake("other"));
    let names = ["a.journal", "b.journal", "c.journal"];
    let mut texts = [const { String::new() }; 3];
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut copies: Vec<String> = Vec::new();
    let mut random = 7u64;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % limit
    };
    for round in 0..120 {
        let at = below(3);
        let text = &mut texts[at];
        match below(6) {
            0 => text.clear(),
            1 => *text = text.lines().skip(below(3)).map(|l| format!("{l}\n")).collect(),
            2 => *text = text.lines().take(below(40)).map(|l| format!("{l}\n")).collect(),
            3 if !copies.is_empty() => text.clone_from(&copies[below(copies.len())]),
            _ => (0..below(30)).for_each(|n| text.push_str(&format!("round {round} line {n} {}\n", "word".repeat(20)))),
        }
        if below(4) == 0 {
            copies.push(text.clone());
        }
        if below(5) == 0 {
            let _ = fs::remove_file(world.logs().join(names[at]));
        } else {
            world.write(names[at], text);
            seen.extend(text.lines().map(str::to_owned));
        }
        run(&lake, &[world.logs()]);
        for name in names.iter().rev() {
            run(&other, &[world.logs().join(name)].into_iter().filter(|p| p.exists()).collect::<Vec<_>>());
        }
        run(&other, &[world.logs()]);
        let shown: BTreeSet<String> = events(&lake).into_iter().collect();
        let (more, less): (Vec<_>, Vec<_>) = (shown.difference(&seen).collect(), seen.difference(&shown).collect());
        assert!(more.is_empty() && less.is_empty(), "round {round}: more {more:?}, less {less:?}");
        let sources = lake.snapshot().unwrap().read_view::<SourceRow>().unwrap();
        for name in names {
            let live = sources.iter().filter(|s| s.path.ends_with(name) && s.state != SourceState::Superseded).count();
            assert!(live <= 1, "round {round}: {live} sources stand for {name}");
        }
    }
    assert_eq!(digest(&lake), digest(&other));
    assert!(states(&lake, "journal").iter().filter(|s| **s == "superseded").count() > 10);
}

#[test]
fn killed_while_journals_are_rewritten_nothing_that_was_ever_seen_is_lost() {
    let world = World::new();
    let old = || {
        world.write("a.journal", "one\ntwo\n");
        world.write("b.journal", "three\nfour\n");
    };
    let new = || {
        world.write("a.journal", "two\n");
        world.write("b.journal", "five\nfour\nsix\n");
        world.write("c.log", "seven\n");
    };
    let whole = world.lake("whole");
    old();
    run(&whole, &[world.logs()]);
    new();
    run(&whole, &[world.logs()]);
    let expected = (digest(&whole), events(&whole));
    assert_eq!(expected.1, ["five", "four", "one", "seven", "six", "three", "two"]);
    let mut steps = 0;
    loop {
        let name = format!("killed-{steps}");
        fs::remove_file(world.logs().join("c.log")).unwrap();
        old();
        run(&world.lake(&name), &[world.logs()]);
        new();
        let dead = world.dying(&name, steps).map_err(IngestError::from);
        let dead = dead.and_then(|lake| ingest(&lake, &[world.logs()], &options(1), &Silent));
        let lake = world.lake(&name);
        let seen = events(&lake);
        assert!(["four", "one", "three", "two"].iter().all(|e| seen.iter().any(|s| s == e)), "step {steps}: {seen:?}");
        run(&lake, &[world.logs()]);
        assert_eq!((digest(&lake), events(&lake)), expected, "killed at step {steps}");
        match dead {
            Ok(_) => break,
            Err(_) => steps += 1,
        }
    }
    assert!(steps > 30, "only {steps} steps: the test sees too little");
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
