//! Owns the tests of a whole replay: a small corpus to replay, and the outcome of each kind of validator.

mod acquit;
mod baseline;
mod judges;
mod kept_in;
mod memory;
mod stimuli;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::perform::{Progress, Request, perform};
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

    fn write_bytes(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
        fs::set_permissions(self.path(name), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
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
