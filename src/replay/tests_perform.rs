//! Owns the tests of a whole replay: outcomes, memory, baselines, and every trick by which a change could acquit itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::perform::{Failed, Progress, Request, perform};
use super::results::Results;
use super::weigh::Kind;
use super::words::Outcome;
use super::{Level, lock};

struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _: usize) {}
    fn tick(&self) {}
    fn end(&self) {}
}

/// A repository with a corpus and its validators.
struct Home {
    dir: tempfile::TempDir,
}

const HEAD: &str =
    "format = 1\ntitle = \"t\"\norigin = \"o\"\nhappened = \"h\"\nfailure_mode = \"m\"\nseverity = \"major\"\nprovenance = \"rebuilt\"\n";

impl Home {
    /// Two failures that the word `bad` in a.txt marks, one control, and a validator that reads it.
    fn new() -> Home {
        let home = Home { dir: tempfile::tempdir().unwrap() };
        home.fixture("one", "normative", "bad", &expect("g", "catches"));
        home.fixture("two", "normative", "bad", &expect("g", "catches"));
        home.fixture("good", "control", "fine", "");
        home.write("validators/look.sh", LOOK);
        home.validators(&[validator("look", "g", "look.sh", "")]);
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn fixture(&self, id: &str, class: &str, text: &str, more: &str) {
        let head = format!("{HEAD}id = \"{id}\"\nclassification = \"{class}\"\n[stimulus]\nkind = \"tree\"\n");
        let reference = if more.contains("#reference") { "reference = true\n" } else { "" };
        self.write(&format!("failures/{id}/fixture.toml"), &format!("{head}{reference}{more}"));
        self.write(&format!("failures/{id}/stimulus/a.txt"), text);
    }

    fn validators(&self, list: &[String]) {
        self.write("validators/validators.toml", &format!("format = 1\n[classes]\nbadness = [\"bad\"]\n{}", list.concat()));
    }

    fn request(&self) -> Request {
        Request {
            corpus: self.path("failures"),
            validators: self.path("validators/validators.toml"),
            filters: Vec::new(),
            shard: None,
            changed_since: None,
            baseline: None,
            jobs: 2,
            repeat: 1,
            timeout: Some(std::time::Duration::from_secs(10)),
            memo: None,
            today: "2026-07-01".parse().unwrap(),
            level: Level::User,
        }
    }

    fn replay(&self) -> Results {
        perform(&self.request(), &Quiet).unwrap()
    }

    fn against(&self, baseline: &str) -> Results {
        perform(&Request { baseline: Some(baseline.to_owned()), ..self.request() }, &Quiet).unwrap()
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.dir.path()).args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgSign=false"]).args(args);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn commit(&self) {
        if !self.path(".git").exists() {
            self.git(&["init", "-q", "-b", "main"]);
        }
        lock(&self.path("failures")).unwrap();
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "state"]);
    }
}

const LOOK: &str = "n=$(ls \"$1\" | wc -l); echo \"$n read\"; if grep -q bad \"$1\"/a.txt 2>/dev/null; then echo 'rule: badness bad'; exit 1; fi; exit 0\n";

fn expect(gate: &str, outcome: &str) -> String {
    format!("[[expect]]\ngate = \"{gate}\"\noutcome = \"{outcome}\"\n")
}

fn validator(id: &str, gate: &str, file: &str, more: &str) -> String {
    format!(
        "[[validator]]\nid = \"{id}\"\ngate = \"{gate}\"\ncommand = [\"sh\", \"{{files}}/{file}\", \"{{stimulus}}\"]\nfiles = [\"{file}\"]\ntimeout = \"5s\"\ncost_ms = 1\n{more}[validator.verdict]\nexit = {{ pass = [0], fail = [1], skipped = [77], could_not_run = [2] }}\n[validator.substance]\nregex = \"(\\\\d+) read\"\n"
    )
}

fn outcome(results: &Results, fixture: &str, validator: &str) -> Outcome {
    results.cell(fixture, validator).unwrap().outcome
}

fn kinds(results: &Results) -> Vec<Kind> {
    results.issues.iter().map(|i| i.kind).collect()
}

fn told(results: &Results, kind: Kind) -> Vec<&str> {
    results.issues.iter().filter(|i| i.kind == kind).map(|i| i.text.as_str()).collect()
}

#[test]
fn a_harness_that_holds_exits_0_and_one_that_went_blind_exits_1() {
    let home = Home::new();
    let held = home.replay();
    assert_eq!((held.exit, outcome(&held, "one", "look"), outcome(&held, "good", "look")), (0, Outcome::Catches, Outcome::Misses));
    assert_eq!(held.issues, []);
    assert_eq!(held.subsumption.caught, 2);
    home.write("validators/look.sh", "echo 1 read; exit 0\n");
    let blind = home.replay();
    assert_eq!((blind.exit, kinds(&blind)), (1, vec![Kind::Missed, Kind::Missed, Kind::OnNothing]));
    assert_eq!(blind.subsumption.dead, ["look"]);
}

#[test]
fn every_kind_of_validator_gets_its_outcome() {
    let home = Home::new();
    let scripts = [
        ("vacuous", "echo 0 read; exit 1"),
        ("skips", "exit 77"),
        ("crashes", "kill -SEGV $$"),
        ("unknown", "exit 99"),
        ("cannot", "echo no database; exit 2"),
        ("hangs", "sleep 20"),
        ("once", "if [ -e \"$MECHANIC_OUT\"/x ]; then exit 0; fi; exit 1"),
    ];
    let mut list = vec![validator("look", "g", "look.sh", "")];
    for (id, script) in scripts {
        home.write(&format!("validators/{id}.sh"), script);
        list.push(validator(id, "other", &format!("{id}.sh"), "").replace("5s", "400ms"));
    }
    list.push(validator("narrow", "other", "look.sh", "stimuli = [\"trace\"]\n"));
    list.push(validator("covers", "other", "look.sh", "covers = [\"else\"]\n"));
    list.push("[[validator]]\nid = \"gone\"\ngate = \"other\"\ncommand = [\"no-such-program\"]\n[validator.verdict]\nexit = { pass = [0], fail = [1] }\n".into());
    home.validators(&list);
    home.fixture("one", "normative", "bad", &(expect("g", "catches") + "#reference\n"));
    let results = home.replay();
    for (id, wanted) in [
        ("look", Outcome::Catches),
        ("vacuous", Outcome::Vacuous),
        ("skips", Outcome::Skipped),
        ("crashes", Outcome::Crashes),
        ("unknown", Outcome::Crashes),
        ("cannot", Outcome::Crashes),
        ("hangs", Outcome::TimesOut),
        ("narrow", Outcome::Unsupported),
        ("gone", Outcome::Crashes),
    ] {
        assert_eq!(outcome(&results, "one", id), wanted, "{id}");
    }
    // 3 outranks 1, what is proven is told all the same, and every other cell is there.
    assert_eq!(results.exit, 3);
    assert!(kinds(&results).contains(&Kind::SkippedReference));
    assert_eq!(results.cells.len(), 3 * (list.len()));
    assert!(results.cell("one", "crashes").unwrap().why.contains("SIGSEGV"));
    assert!(results.cell("one", "gone").unwrap().why.contains("no folder of PATH"));
    assert!(results.cell("one", "cannot").unwrap().why.contains("no database"));
    assert_eq!(results.subsumption.vacuous, ["vacuous"]);
}

#[test]
fn a_fail_for_the_wrong_reason_is_no_catch() {
    let home = Home::new();
    let named = |what: &str| expect("g", "catches") + &format!("[expect.finding]\n{what}\n");
    home.fixture("one", "normative", "bad", &named("rule = \"badness\""));
    home.fixture("two", "normative", "bad", &named("class = \"badness\"\ntext = \"rule: \""));
    assert_eq!(home.replay().exit, 0);
    home.fixture("one", "normative", "bad", &named("rule = \"other\""));
    let results = home.replay();
    assert_eq!((results.exit, outcome(&results, "one", "look")), (1, Outcome::WrongReason));
}

#[test]
fn who_fails_a_control_or_speaks_on_nothing_is_named_and_not_believed() {
    let home = Home::new();
    home.write("validators/all.sh", "exit 1\n");
    home.validators(&[validator("look", "g", "look.sh", ""), validator("all", "h", "all.sh", "")]);
    home.fixture("known", "known_defect", "unseen", &expect("h", "misses"));
    let results = home.replay();
    assert_eq!(results.exit, 1);
    assert_eq!(told(&results, Kind::Resolved), Vec::<&str>::new());
    assert_eq!((told(&results, Kind::FalseAlarm).len(), told(&results, Kind::OnNothing).len()), (1, 1));
    assert_eq!(results.subsumption.not_believed, ["all"]);
    assert_eq!(results.subsumption.worth.iter().map(|w| w.catches).collect::<Vec<_>>(), [2, 0]);
}

#[test]
fn repeats_find_a_flaky_validator() {
    let home = Home::new();
    // Its verdict hangs on the clock's nanoseconds.
    home.write("validators/look.sh", "echo 1 read; case $(date +%N) in *[02468]) exit 1;; esac; exit 0\n");
    let results = perform(&Request { repeat: 30, filters: vec!["one".into()], ..home.request() }, &Quiet).unwrap();
    assert_eq!((outcome(&results, "one", "look"), results.exit), (Outcome::Flaky, 1));
}

#[test]
fn a_known_defect_that_is_caught_is_resolved_and_a_gate_without_validator_is_no_pass() {
    let home = Home::new();
    home.fixture("one", "known_defect", "bad", &expect("g", "misses"));
    let results = home.replay();
    assert_eq!((results.exit, told(&results, Kind::Resolved).len()), (0, 1));
    home.fixture("one", "normative", "bad", &expect("nobody", "catches"));
    let results = home.replay();
    assert_eq!((results.exit, told(&results, Kind::Unanswered).len()), (1, 1));
}

#[test]
fn waivers_hold_while_they_last() {
    let home = Home::new();
    home.write("validators/look.sh", "echo 1 read; grep -q one \"$1\"/a.txt && exit 0; grep -q bad \"$1\"/a.txt && exit 1; exit 0\n");
    home.fixture("one", "normative", "bad one", &expect("g", "catches"));
    assert_eq!(home.replay().exit, 1);
    let waiver = "[[waiver]]\nfixture = \"one\"\ngate = \"g\"\nwho = \"ann\"\nwhy = \"moved\"\nexpires = \"2026-07-01\"\n";
    home.write("failures/waivers.toml", waiver);
    let results = home.replay();
    assert_eq!(results.exit, 0);
    assert!(results.issues.iter().any(|i| i.waived.as_deref().is_some_and(|w| w.contains("ann until 2026-07-01: moved"))));
    home.write("failures/waivers.toml", &waiver.replace("07-01", "06-30"));
    let results = home.replay();
    assert_eq!((results.exit, told(&results, Kind::ExpiredWaiver).len()), (1, 1));
}

#[test]
fn two_replays_are_identical_and_the_second_runs_only_what_may_not_be_remembered() {
    let home = Home::new();
    home.write("validators/blind.sh", "echo 1 read; [ -e \"$1\"/a.txt ] || exit 77; exit 0\n");
    home.validators(&[validator("look", "g", "look.sh", ""), validator("blind", "h", "blind.sh", "")]);
    let request = Request { memo: Some(home.path("memo.json")), ..home.request() };
    let first = perform(&request, &Quiet).unwrap();
    let second = perform(&request, &Quiet).unwrap();
    let plain = |r: &Results| Results { measured: Default::default(), ..r.clone() };
    assert_eq!(plain(&first).json(), plain(&second).json());
    // 2 catches and 2 controls are as expected; the two misses of the blind one are not, and run again.
    assert_eq!((first.measured.remembered, second.measured.remembered), (0, 4));
    assert_eq!(second.measured.runs, 2 + emptied_that_run(&second));
    // Another byte of the validator, the fixture or the timeout is another key.
    home.write("validators/look.sh", &format!("{LOOK}# changed\n"));
    assert_eq!(perform(&request, &Quiet).unwrap().measured.remembered, 1);
    home.fixture("one", "normative", "bad!", &expect("g", "catches"));
    assert_eq!(perform(&request, &Quiet).unwrap().measured.remembered, 3);
    // A forged memory of an unexpected outcome is not believed, nor a regression ever remembered.
    home.write("validators/look.sh", "echo 1 read; exit 0\n");
    assert_eq!(perform(&request, &Quiet).unwrap().exit, 1);
    assert_eq!(perform(&request, &Quiet).unwrap().exit, 1);
}

/// Validators that speak on nothing run on it every time.
fn emptied_that_run(results: &Results) -> usize {
    results.emptied.iter().filter(|e| matches!(e.outcome, Outcome::Misses | Outcome::Catches)).count()
}

#[test]
fn a_fixture_that_cannot_be_touched_is_not_touched() {
    let home = Home::new();
    let evil = |more: &str| {
        let d = home.dir.path().display();
        format!("echo 1 read; echo x > {d}/failures/one/stimulus/a.txt; rm -rf {d}; {more}; echo y > \"$1\"/a.txt; exit 1\n")
    };
    let modes = format!("chmod -R 777 {}", home.dir.path().display());
    for (level, more) in [(Level::User, modes.as_str()), (Level::Bare, ":")] {
        home.write("validators/look.sh", &evil(more));
        let before = super::digest::path(home.dir.path()).unwrap();
        let results = perform(&Request { level, ..home.request() }, &Quiet).unwrap();
        assert!(results.isolation.missing.iter().all(|m| m != "Landlock"), "{:?}", results.isolation);
        assert_eq!(super::digest::path(home.dir.path()).unwrap(), before);
        assert_eq!(results.isolation.missing.is_empty(), level == Level::User && results.isolation.level == "namespaces");
    }
    // Without namespaces modes can be changed: that is found out, and nothing of such a replay counts.
    home.write("validators/look.sh", &evil(&modes));
    match perform(&Request { level: Level::Bare, ..home.request() }, &Quiet) {
        Err(Failed::Environment(text)) => assert!(text.contains("was changed while it was replayed"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_blinded_validator_is_newly_missed_against_a_commit_and_against_a_results_file() {
    let home = Home::new();
    home.commit();
    let file = home.path("before.json");
    fs::write(&file, home.replay().json()).unwrap();
    home.write("validators/look.sh", "echo 1 read; exit 0\n");
    for baseline in ["HEAD", file.to_str().unwrap()] {
        let results = home.against(baseline);
        assert_eq!((results.exit, told(&results, Kind::NewlyMissed).len()), (1, 2), "{baseline}: {:?}", results.issues);
        let c = results.comparison.unwrap();
        assert_eq!((c.newly_missed.len(), c.unchanged, c.problems.lost, c.problems.won), (2, 1, 2, 0));
        assert!(c.problems.note.contains("fewer than six flips"));
    }
    home.write("validators/look.sh", "echo 1 read; grep -q fine \"$1\"/a.txt && exit 1; grep -q bad \"$1\"/a.txt && exit 1; exit 0\n");
    let results = home.against("HEAD");
    assert_eq!((results.exit, results.comparison.unwrap().newly_wrong.len()), (1, 1));
}

#[test]
fn what_the_baseline_missed_as_well_is_no_news_and_what_is_new_counts_at_once() {
    let home = Home::new();
    home.fixture("old", "normative", "unseen", &expect("g", "catches"));
    home.commit();
    assert_eq!(home.replay().exit, 1);
    let results = home.against("HEAD");
    assert_eq!(results.exit, 0, "{:?}", results.issues);
    home.fixture("added", "normative", "unseen", &expect("g", "catches"));
    let results = home.against("HEAD");
    assert_eq!((results.exit, told(&results, Kind::Missed).len()), (1, 1), "{:?}", results.issues);
}

/// One trick: what it changes, and the word that must be said.
type Trick = (&'static str, fn(&Home), &'static str);

const TRICKS: &[Trick] = &[
    ("the fixture is edited", |h| h.write("failures/one/stimulus/a.txt", "fine"), "is edited"),
    ("the fixture is deleted", |h| fs::remove_dir_all(h.path("failures/one")).unwrap(), "is deleted"),
    ("the fixture becomes a known defect", |h| h.fixture("one", "known_defect", "bad", &expect("g", "misses")), "is reclassified"),
    ("the fixture becomes a control", |h| h.fixture("one", "control", "bad", ""), "is reclassified"),
    ("the expectation is weakened", |h| h.fixture("one", "normative", "bad", &expect("g", "misses")), "expectations are changed"),
    ("the expectation is dropped", |h| h.fixture("one", "normative", "bad", ""), "expectations are changed"),
    (
        "a waiver is added",
        |h| {
            h.write(
                "failures/waivers.toml",
                "[[waiver]]\nfixture = \"one\"\ngate = \"g\"\nwho = \"me\"\nwhy = \"so\"\nexpires = \"2027-01-01\"\n",
            );
        },
        "waiver of g is added",
    ),
    (
        "an approval is added",
        |h| {
            h.write(
                "failures/waivers.toml",
                "[[approval]]\nchange = \"edit\"\nfixture = \"one\"\nwho = \"me\"\nwhy = \"so\"\nexpires = \"2027-01-01\"\n",
            );
            h.write("failures/one/stimulus/a.txt", "fine");
        },
        "approval (edit) is added",
    ),
    ("the validator is deleted", |h| h.validators(&[validator("other", "g", "look.sh", "")]), "validator is deleted"),
    ("the validator changes its gate", |h| h.validators(&[validator("look", "elsewhere", "look.sh", "")]), "moved to gate elsewhere"),
    (
        "the validator no longer reads such stimuli, and a new one of the gate fails everything",
        |h| {
            h.write("validators/all.sh", "exit 1\n");
            h.write("failures/one/stimulus/a.txt", "still bad");
            h.validators(&[validator("look", "g", "look.sh", "stimuli = [\"trace\"]\n"), validator("all", "g", "all.sh", "")]);
        },
        "is edited",
    ),
    (
        "the validator no longer says how much it read",
        |h| h.validators(&[validator("look", "g", "look.sh", "").split("[validator.substance]").next().unwrap().to_owned()]),
        "no longer says how much it read",
    ),
];

#[test]
fn no_trick_lets_a_change_acquit_itself() {
    for (name, trick, says) in TRICKS {
        let home = Home::new();
        home.commit();
        assert_eq!(home.against("HEAD").exit, 0, "{name}");
        // The change blinds the validator, hides it, and locks what it left.
        home.write("validators/look.sh", "echo 1 read; exit 0\n");
        trick(&home);
        lock(&home.path("failures")).unwrap();
        for locked in [true, false] {
            if !locked {
                home.git(&["checkout", "-q", "HEAD", "--", "failures/corpus.lock"]);
            }
            let results = home.against("HEAD");
            assert_eq!(results.exit, 1, "{name}: {:?}", results.issues);
            let named = told(&results, Kind::SelfAcquittal);
            assert!(named.iter().any(|t| t.contains(says)), "{name}: {named:?}");
            // The fixture of the baseline is what is replayed.
            let missed = results.issues.iter().any(|i| i.kind == Kind::NewlyMissed && i.fixture.as_deref() == Some("one"));
            assert!(missed, "{name}: {:?}", results.issues);
        }
        // Without the blinded validator the trick alone is enough to fail.
        home.write("validators/look.sh", LOOK);
        let results = home.against("HEAD");
        assert_eq!(results.exit, 1, "{name} alone: {:?}", results.issues);
    }
}

#[test]
fn a_changed_line_of_the_lock_is_named() {
    let home = Home::new();
    home.commit();
    let file = home.path("failures/corpus.lock");
    let text = fs::read_to_string(&file).unwrap();
    let cut: Vec<&str> = text.lines().filter(|l| !l.starts_with("one ")).collect();
    fs::write(&file, cut.join("\n")).unwrap();
    let results = home.against("HEAD");
    assert_eq!((results.exit, told(&results, Kind::SelfAcquittal).len()), (1, 1));
}

#[test]
fn text_classes_widened_in_the_change_do_not_turn_a_wrong_reason_into_a_catch() {
    let home = Home::new();
    home.fixture("one", "normative", "bad", &(expect("g", "catches") + "[expect.finding]\nclass = \"badness\"\n"));
    home.commit();
    home.write("validators/look.sh", "echo 1 read; [ \"$(cat \"$1\"/a.txt)\" = fine ] && exit 0; echo something; exit 1\n");
    let file = home.path("validators/validators.toml");
    let wider = fs::read_to_string(&file).unwrap().replace("[\"bad\"]", "[\".\"]");
    fs::write(&file, wider).unwrap();
    let results = home.against("HEAD");
    assert_eq!((results.exit, outcome(&results, "one", "look")), (1, Outcome::WrongReason));
}

#[test]
fn a_forged_memory_in_the_change_is_not_read() {
    let home = Home::new();
    home.commit();
    let memo = home.path("memo.json");
    let request = Request { memo: Some(memo.clone()), ..home.request() };
    // Entries that would be believed without a baseline.
    perform(&request, &Quiet).unwrap();
    assert_eq!(perform(&request, &Quiet).unwrap().measured.remembered, 3);
    let results = perform(&Request { baseline: Some("HEAD".into()), ..request.clone() }, &Quiet).unwrap();
    assert_eq!((results.exit, results.measured.remembered), (0, 0));
    // Written at the baseline it counts, and is not written to.
    home.commit();
    let kept = fs::read(&memo).unwrap();
    let results = perform(&Request { baseline: Some("HEAD".into()), ..request }, &Quiet).unwrap();
    assert_eq!((results.exit, results.measured.remembered, fs::read(&memo).unwrap() == kept), (0, 3, true));
}

#[test]
fn a_judges_record_rewritten_for_the_same_prompt_and_model_is_named() {
    let home = Home::new();
    home.write("validators/p.md", "Judge.");
    home.validators(&["[[validator]]\nid = \"judge\"\ngate = \"g\"\nkind = \"judge\"\n[validator.judge]\nprompt = \"p.md\"\nmodel = \"m\"\ntranscripts = \"t\"\n".into()]);
    let suite = super::Suite::load(&home.path("failures"), &home.path("validators/validators.toml")).unwrap();
    let prompt = super::digest::bytes(b"Judge.");
    let record = |id: &str, verdict: &str| {
        let input = super::input_digest(suite.corpus.get(id).unwrap()).unwrap();
        let text = format!("{{\"prompt_digest\":\"{prompt}\",\"model\":\"m\",\"input_digest\":\"{input}\",\"verdict\":\"{verdict}\"}}");
        home.write(&format!("validators/t/{id}.json"), &text);
    };
    record("one", "pass");
    record("two", "fail");
    record("good", "pass");
    home.commit();
    assert_eq!(home.against("HEAD").exit, 0);
    record("one", "fail");
    let results = home.against("HEAD");
    assert_eq!((results.exit, told(&results, Kind::SelfAcquittal).len()), (1, 1));
    assert!(told(&results, Kind::SelfAcquittal)[0].contains("verdict of one is rewritten"));
}

#[test]
fn a_validator_that_reads_less_than_the_fixture_has_is_named() {
    let home = Home::new();
    home.fixture("one", "normative", "bad", &format!("subjects = 3\n{}", expect("g", "catches")));
    let results = home.replay();
    assert_eq!((results.exit, told(&results, Kind::Differs)), (0, vec!["read 1 of 3 subjects: its verdict (catches) is of a part"]));
}

#[test]
fn what_was_approved_at_the_baseline_may_change() {
    let home = Home::new();
    home.write(
        "failures/waivers.toml",
        "[[approval]]\nchange = \"delete\"\nfixture = \"one\"\nwho = \"ann\"\nwhy = \"a duplicate\"\nexpires = \"2026-07-01\"\n",
    );
    home.commit();
    fs::remove_dir_all(home.path("failures/one")).unwrap();
    let results = home.against("HEAD");
    assert_eq!(results.exit, 0, "{:?}", results.issues);
    let late = Request { baseline: Some("HEAD".into()), today: "2026-07-02".parse().unwrap(), ..home.request() };
    assert_eq!(perform(&late, &Quiet).unwrap().exit, 1);
}

#[test]
fn only_what_changed_since_a_commit_is_replayed_and_shards_make_up_the_whole() {
    let home = Home::new();
    home.validators(&[validator("look", "g", "look.sh", ""), validator("same", "h", "look.sh", "")]);
    home.commit();
    home.fixture("three", "normative", "bad", &expect("g", "catches"));
    let since = perform(&Request { changed_since: Some("HEAD".into()), ..home.request() }, &Quiet).unwrap();
    assert_eq!(since.cells.iter().map(|c| c.fixture.as_str()).collect::<Vec<_>>(), ["three", "three"]);
    let mut all = Vec::new();
    for i in 1..=3 {
        match perform(&Request { shard: Some(format!("{i}/3")), ..home.request() }, &Quiet) {
            Ok(part) => all.extend(part.cells.into_iter().map(|c| (c.fixture, c.validator))),
            Err(Failed::Wrong(w)) => assert!(w.to_string().contains("no cell is left")),
            Err(other) => panic!("{other:?}"),
        }
    }
    all.sort();
    let whole: Vec<_> = home.replay().cells.into_iter().map(|c| (c.fixture, c.validator)).collect();
    let mut sorted = whole.clone();
    sorted.sort();
    assert_eq!(all, sorted);
}

#[test]
fn a_commit_a_patch_and_a_trace_are_stimuli_and_no_hook_or_filter_runs() {
    let home = Home::new();
    home.write("a.txt", "bad");
    home.write(".gitattributes", "*.txt filter=evil\n");
    home.commit();
    let mark = home.path("ran");
    home.git(&["config", "filter.evil.smudge", &format!("touch {}", mark.display())]);
    home.git(&["config", "core.fsmonitor", &format!("touch {}", mark.display())]);
    let sha = Command::new("git").arg("-C").arg(home.dir.path()).args(["rev-parse", "HEAD"]).output().unwrap().stdout;
    let sha = String::from_utf8(sha).unwrap();
    let stimulus = |id: &str, text: &str| {
        home.fixture(id, "normative", "", &expect("g", "catches"));
        let file = home.path(&format!("failures/{id}/fixture.toml"));
        let old = fs::read_to_string(&file).unwrap();
        fs::write(&file, old.replace("kind = \"tree\"", text)).unwrap();
    };
    stimulus("patched", "kind = \"patch\"\npath = \"stimulus/p.diff\"\nbase = \"../_base\"");
    home.write("failures/_base/a.txt", "fine\n");
    home.write("failures/patched/stimulus/p.diff", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-fine\n+bad\n");
    stimulus("traced", "kind = \"trace\"\npath = \"stimulus/t.jsonl\"");
    home.write("failures/traced/stimulus/t.jsonl", "bad\n");
    home.write("validators/look.sh", "f=\"$1\"; [ -d \"$f\" ] && f=\"$f/a.txt\"; echo 1 read; grep -q bad \"$f\" && exit 1; exit 0\n");
    let results = home.replay();
    assert_eq!((outcome(&results, "patched", "look"), outcome(&results, "traced", "look")), (Outcome::Catches, Outcome::Catches));
    // A commit of this very repository, named from where the tests run.
    let items = super::stimulus::stored_tree(home.dir.path(), sha.trim()).unwrap();
    assert!(items.iter().any(|i| i.path == Path::new("a.txt")));
    assert!(!mark.exists());
}

#[test]
fn a_judges_verdict_counts_for_its_prompt_model_and_input_only() {
    let home = Home::new();
    let judge = |model: &str| {
        format!(
            "[[validator]]\nid = \"judge\"\ngate = \"j\"\nkind = \"judge\"\n[validator.judge]\nprompt = \"p.md\"\nmodel = \"{model}\"\ntranscripts = \"t\"\n"
        )
    };
    home.write("validators/p.md", "Judge.");
    home.validators(&[validator("look", "g", "look.sh", ""), judge("m1")]);
    home.fixture("one", "normative", "bad", &expect("j", "catches"));
    let suite = super::Suite::load(&home.path("failures"), &home.path("validators/validators.toml")).unwrap();
    let input = super::input_digest(suite.corpus.get("one").unwrap()).unwrap();
    let prompt = super::digest::bytes(b"Judge.");
    let transcript = |input: &str| {
        home.write(
            "validators/t/one.json",
            &format!("{{\"prompt_digest\":\"{prompt}\",\"model\":\"m1\",\"input_digest\":\"{input}\",\"verdict\":\"fail\",\"recorded_at\":\"x\"}}"),
        );
    };
    transcript(&input);
    assert_eq!(outcome(&home.replay(), "one", "judge"), Outcome::Catches);
    home.write("validators/p.md", "Judge well.");
    let results = home.replay();
    assert_eq!((outcome(&results, "one", "judge"), results.exit), (Outcome::Stale, 1));
    assert!(results.cell("one", "judge").unwrap().why.contains("another prompt"));
    home.write("validators/p.md", "Judge.");
    home.validators(&[judge("m2")]);
    assert_eq!(outcome(&home.replay(), "one", "judge"), Outcome::Stale);
    home.validators(&[judge("m1")]);
    transcript("sha256:00");
    assert_eq!(outcome(&home.replay(), "one", "judge"), Outcome::Stale);
}
