//! Tests of files that grow: they are read from where the reading ended, and the lake is that of one reading.

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::source::growing::{self, Knowing};
use crate::source::salvage::Record as Line;

/// JSON lines `{"e":"…"}`, each an event that counts those before it and names the one after it: rows that only a state can give, and
/// one at the end that the next line changes. `{"e":"!error"}` makes the reader fail after it.
struct Chain;

#[derive(Default, Serialize, Deserialize)]
struct State {
    n: i64,
    open: Option<(String, i64)>,
    fails: bool,
}

impl Knowing for State {}

#[derive(Deserialize)]
struct Event {
    e: String,
}

impl State {
    fn close(&mut self, next: Option<&str>, out: &mut Emitter<'_>) {
        let Some((event, line)) = self.open.take() else { return };
        self.n += 1;
        out.facts.guard_events.push(GuardEvent {
            guard_event_id: stable_id(&["chain", &out.source_id, &self.n.to_string()]),
            native_run_key: None,
            gate_id: self.n.to_string(),
            event,
            detail: next.map(str::to_owned),
            at: None,
            source_id: out.source_id.clone(),
            source_line: line,
        });
    }
}

impl Source for Chain {
    fn format(&self) -> &'static str {
        "chain"
    }
    fn version(&self) -> u32 {
        1
    }
    fn claims(&self, probe: &Probe<'_>) -> bool {
        probe.input.name().ends_with(".chain")
    }
    fn is_append_only(&self, _input: &Input) -> bool {
        true
    }
    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let mut state: State = growing::read(
            input,
            out,
            |_| false,
            || Ok(State::default()),
            |state: &mut State, line: &Line<'_>, out| {
                let event: Event = serde_json::from_slice(line.bytes)?;
                state.close(Some(&event.e), out);
                state.fails |= event.e == "!error";
                state.open = Some((event.e, line.line));
                Ok(())
            },
        )?;
        anyhow::ensure!(!state.fails, "as asked");
        state.close(None, out);
        Ok(())
    }
}

fn ingest_all(world: &World, lake: &Lake) -> IngestReport {
    let options = Options { readers: &[&Chain], ..options(64) };
    ingest(lake, &[world.logs()], &options, &Silent).unwrap()
}

fn text(range: std::ops::Range<i32>) -> String {
    range.map(|n| format!("{{\"e\":\"event {n}\"}}\n")).collect()
}

/// The digest of a lake that read the files as they are, once.
fn at_once(world: &World) -> String {
    let lake = world.lake(&format!("once-{}", crate::lake::disk::unique()));
    ingest_all(world, &lake);
    digest(&lake)
}

#[test]
fn a_file_that_has_grown_is_read_from_where_it_ended() {
    let world = World::new();
    let lake = world.lake("lake");
    let mut long = text(0..500);
    world.write("a.chain", &long);
    assert_eq!(ingest_all(&world, &lake).records, 500);
    for round in 0..40 {
        let more = format!("{{\"e\":\"more {round}\"}}\n");
        long += &more;
        world.write("a.chain", &long);
        let report = ingest_all(&world, &lake);
        assert_eq!((report.read, report.went_on, report.records, report.bytes), (1, 1, 1, more.len() as i64), "round {round}");
        assert_eq!(ingest_all(&world, &lake).read, 0);
        if round % 8 == 0 {
            assert_eq!(digest(&lake), at_once(&world), "round {round}");
        }
    }
    assert_eq!(digest(&lake), at_once(&world));
}

#[test]
fn what_a_line_without_end_said_is_replaced_when_it_has_one() {
    let world = World::new();
    let lake = world.lake("lake");
    let long = text(0..9);
    for size in [long.len() - 9, long.len() - 1, long.len()] {
        world.write("a.chain", &long[..size]);
        ingest_all(&world, &lake);
        assert_eq!(digest(&lake), at_once(&world), "{size}");
    }
}

#[test]
fn a_state_that_is_missing_or_damaged_or_of_another_reading_only_costs_time() {
    type Harm = fn(&std::path::Path);
    let harms: [(&str, Harm); 7] = [
        ("removed", |state| fs::remove_file(state).unwrap()),
        ("emptied", |state| fs::write(state, "").unwrap()),
        ("cut", |state| fs::write(state, &fs::read(state).unwrap()[..200]).unwrap()),
        ("bent", |state| fs::write(state, fs::read_to_string(state).unwrap().replace("\"n\":49", "\"n\":48")).unwrap()),
        ("of another offset", |state| fs::write(state, fs::read_to_string(state).unwrap().replace("\"offset\":", "\"offset\":1")).unwrap()),
        ("of another batch", |state| fs::write(state, fs::read_to_string(state).unwrap().replace("\"batch\":1,", "\"batch\":2,")).unwrap()),
        ("a folder", |state| {
            fs::remove_file(state).unwrap();
            fs::create_dir(state).unwrap();
        }),
    ];
    for (how, harm) in harms {
        let world = World::new();
        let lake = world.lake("lake");
        world.write("a.chain", &text(0..50));
        ingest_all(&world, &lake);
        let states: Vec<PathBuf> = fs::read_dir(lake.root().join("readings")).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(states.len(), 1);
        harm(&states[0]);
        world.write("a.chain", &text(0..60));
        let options = Options { readers: &[&Chain], ..options(64) };
        let report = ingest(&lake, &[world.logs()], &options, &Silent);
        if how == "a folder" {
            // It cannot be written in its place: told, and nothing is lost.
            assert!(report.unwrap_err().to_string().contains("readings"), "{how}");
            fs::remove_dir(&states[0]).unwrap();
            ingest_all(&world, &lake);
        } else {
            assert_eq!((report.as_ref().unwrap().went_on, report.unwrap().records), (0, 60), "{how}");
        }
        assert_eq!(digest(&lake), at_once(&world), "{how}");
        world.write("a.chain", &text(0..61));
        assert_eq!(ingest_all(&world, &lake).records, 1, "{how}: the next time it goes on");
    }
}

#[test]
#[cfg(unix)]
fn nothing_is_read_or_written_through_a_linked_folder_of_states() {
    let world = World::new();
    let lake = world.lake("lake");
    let elsewhere = world.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, lake.root().join("readings")).unwrap();
    world.write("a.chain", &text(0..5));
    ingest_all(&world, &lake);
    world.write("a.chain", &text(0..6));
    assert_eq!(ingest_all(&world, &lake).went_on, 0);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert_eq!(digest(&lake), at_once(&world));
}

#[test]
fn after_a_reading_that_failed_the_file_is_read_whole() {
    let world = World::new();
    let lake = world.lake("lake");
    // Many rows: some are written before the reader fails.
    world.write("a.chain", &text(0..6_000));
    ingest_all(&world, &lake);
    let before = digest(&lake);
    world.write("a.chain", &format!("{}{{\"e\":\"!error\"}}\n", text(0..12_000)));
    assert_eq!(ingest_all(&world, &lake).failed.len(), 1);
    assert_ne!(digest(&lake), before, "the state of the file is another");
    world.write("a.chain", &text(0..12_001));
    let report = ingest_all(&world, &lake);
    assert_eq!((report.went_on, report.records), (0, 12_001));
    assert_eq!(digest(&lake), at_once(&world));
}

#[test]
fn killed_at_any_step_while_a_file_grows_the_lake_is_mended_by_the_next_ingest() {
    let world = World::new();
    world.write("a.chain", &text(0..50));
    world.write("b.chain", &text(100..120));
    let options = Options { readers: &[&Chain], ..options(1) };
    let mut killed = 0;
    for steps in 1.. {
        let name = format!("lake-{steps}");
        world.write("a.chain", &text(0..50));
        ingest_all(&world, &world.lake(&name));
        world.write("a.chain", &text(0..55));
        let died = world.dying(&name, steps).map_err(IngestError::from).and_then(|lake| ingest(&lake, &[world.logs()], &options, &Silent));
        world.write("a.chain", &text(0..58));
        let lake = world.lake(&name);
        ingest_all(&world, &lake);
        assert_eq!(digest(&lake), at_once(&world), "killed at step {steps}");
        if died.is_ok() {
            break;
        }
        killed += 1;
    }
    assert!(killed > 10, "{killed}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn however_files_grow_and_are_ingested_the_lake_is_that_of_one_reading(
        steps in proptest::collection::vec((0..3usize, 1..400usize, any::<bool>(), 0..12u8), 1..40)
    ) {
        let world = World::new();
        let lake = world.lake("lake");
        let whole: Vec<String> = (0..3).map(|n| text(n * 1_000..n * 1_000 + 200)).collect();
        let mut sizes = [0usize; 3];
        let write = |file: usize, size: usize| world.write(&format!("{file}.chain"), &whole[file][..size]);
        for file in 0..3 {
            write(file, 0);
        }
        for (file, more, ingests, other) in steps {
            sizes[file] = (sizes[file] + more).min(whole[file].len());
            write(file, sizes[file]);
            if other == 0 {
                // It vanishes and comes back.
                let (at, away) = (world.logs().join("0.chain"), world.dir.path().join("away"));
                fs::rename(&at, &away).unwrap();
                ingest_all(&world, &lake);
                fs::rename(&away, &at).unwrap();
            }
            if ingests {
                ingest_all(&world, &lake);
            }
        }
        ingest_all(&world, &lake);
        prop_assert_eq!(digest(&lake), at_once(&world));
    }
}
