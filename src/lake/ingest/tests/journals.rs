//! Tests of append-only files: whatever becomes of one, what an ingest saw of it stays.

use std::collections::BTreeSet;

use super::*;

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
        // Before they can be read again, nobody can: each begins as an archive and is none.
        for name in ["a.journal", "b.journal"] {
            fs::write(world.logs().join(name), [0x1F, 0x8B, 1, 2, 3]).unwrap();
        }
        assert_eq!(run(&lake, &[world.logs()]).failed.len(), 2, "step {steps}");
        let seen = events(&lake);
        assert!(["four", "one", "three", "two"].iter().all(|e| seen.iter().any(|s| s == e)), "unreadable after step {steps}: {seen:?}");
        new();
        run(&lake, &[world.logs()]);
        assert_eq!((digest(&lake), events(&lake)), expected, "killed at step {steps}");
        match dead {
            Ok(_) => break,
            Err(_) => steps += 1,
        }
    }
    assert!(steps > 30, "only {steps} steps: the test sees too little");
}
