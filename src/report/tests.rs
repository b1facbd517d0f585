//! Owns the tests of whole reports on hand-made answers.

use super::answers::Span;
use super::audit::Audit;
use super::headline::Headline;
use super::manifest::{FORMAT, Manifest, Span as ManifestSpan, marks};
use super::pages::{self, TableFile};
use super::plot::plots;
use super::testing::{empty, frame, shop};
use super::text::{WIDTH, summary};
use crate::config::prices::PriceTable;
use crate::sql::Cache;
use crate::sql::testing::World;

fn audit() -> Audit {
    Audit::new(frame(), shop(), None)
}

fn files() -> Vec<TableFile> {
    vec![TableFile { stem: "gate_economics".into(), title: "Cost and yield of every gate".into(), rows: 7 }]
}

fn strip(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn the_summary_says_what_happened_what_to_do_and_what_is_not_known() {
    insta::assert_snapshot!(strip(&summary(&audit(), &[".mechanic/audit/2026-W48/audit.html".to_owned()])));
}

#[test]
fn the_markdown_page_says_the_same_at_length() {
    let audit = audit();
    insta::assert_snapshot!(pages::markdown(&audit, &plots(&audit.answers).unwrap(), &files()).unwrap());
}

#[test]
fn an_empty_lake_gives_a_report_that_says_so() {
    let audit = Audit::new(frame(), empty(), None);
    let text = strip(&summary(&audit, &[]));
    assert!(text.contains("no run ended in this span") && text.contains("no gate run is recorded"), "{text}");
    assert!(plots(&audit.answers).unwrap().is_empty());
    let html = pages::html(&audit, &[], &[]).unwrap();
    assert!(html.contains("no run ended in this span"));
    assert!(html.contains("no replay results; run <code class=\"cmd\">mechanic replay</code>"), "{html}");
    assert!(pages::markdown(&audit, &[], &[]).unwrap().contains("no replay results; run `mechanic replay`"));
    assert!(pages::markdown(&audit, &[], &[]).unwrap().contains("Nothing that these records ask for."));
}

#[test]
fn the_summary_fits_a_hundred_columns_whatever_the_names() {
    let mut answers = shop();
    for gate in &mut answers.gates {
        gate.gate_id = format!("{}{}", gate.gate_id, "x/".repeat(200));
    }
    let text = strip(&summary(&Audit::new(frame(), answers, None), &[]));
    let widest = text.lines().map(|l| l.chars().count()).max().unwrap();
    assert!(widest <= WIDTH, "{widest}");
}

#[test]
fn the_html_page_fetches_nothing_and_obeys_no_name() {
    let audit = audit();
    let html = pages::html(&audit, &plots(&audit.answers).unwrap(), &files()).unwrap();
    for forbidden in ["src=", "url(", "@import", "<link", "<b>`evil`", "<i>x</i>", "href=\"http"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    assert!(html.contains("&lt;b&gt;") && html.contains("`evil`"));
    assert_eq!(html.matches("<svg").count(), 5);
}

#[test]
fn the_same_answers_give_the_same_bytes() {
    let make = || {
        let audit = audit();
        let plots = plots(&audit.answers).unwrap();
        (
            pages::html(&audit, &plots, &files()).unwrap(),
            pages::markdown(&audit, &plots, &files()).unwrap(),
            summary(&audit, &[]),
            audit.to_json().to_string(),
        )
    };
    assert_eq!(make(), make());
}

#[test]
fn a_report_beside_an_earlier_one_tells_what_is_new_and_what_is_settled() {
    let old = Audit::new(frame(), shop(), None);
    let mut gates = marks(&old.answers.gates);
    gates.remove("gate_review");
    gates.insert("Stop:old.sh".into(), Default::default());
    if let Some(mark) = gates.get_mut("gate_sensors") {
        mark.n_misses_proven = Some(1);
    }
    let span = ManifestSpan::from(&frame().before);
    let previous = Manifest {
        format: FORMAT,
        tool: "mechanic 0".into(),
        now: "2026-11-23T00:00:00Z".into(),
        tz: "UTC".into(),
        news: span.clone(),
        evidence: span,
        lake_digest: String::new(),
        config_digest: String::new(),
        queries: Default::default(),
        files: Default::default(),
        compared_with: None,
        headline: Headline { n_runs: 3, ..Headline::default() },
        gates,
        todo: vec!["broken_gate:PreToolUse:pre-tool-use.mjs".into(), "broken_gate:Stop:old.sh".into()],
    };
    let audit = Audit::new(frame(), shop(), Some(previous));
    let changed: Vec<String> = audit.news.changed.iter().map(|r| r.to_text()).collect();
    let says = |text: &str| changed.iter().any(|line| line.contains(text));
    assert!(says("runs 3 → 7"), "{changed:#?}");
    assert!(says("new gates: gate_review") && says("no longer in any record: Stop:old.sh"), "{changed:#?}");
    assert!(says("more proven misses than last time: gate_sensors"), "{changed:#?}");
    assert!(says("no longer to do: broken_gate:Stop:old.sh") && says("new to do: blind_spot:gate_sensors"), "{changed:#?}");
    assert!(audit.news.against.is_report);
}

#[test]
fn seven_clean_runs_are_said_to_prove_little_and_runs_without_verdicts_to_prove_nothing() {
    let said = |row: &str| {
        let mut answers = empty();
        let trend = super::testing::table(&format!("week | n_runs | n_merged | n_runs_observing | n_gate_runs | n_problems\n{row}"));
        answers.insert("weekly_trend", super::answers::Span::News, trend);
        let audit = Audit::new(frame(), answers, None);
        audit.news.happened.iter().map(|r| r.to_text()).collect::<Vec<_>>().join("\n")
    };
    let text = said("2026-W48 | 9 | 7 | 7 | 40 | 0");
    assert!(text.contains("7 runs without one prove little: up to 35 % of runs"), "{text}");
    let text = said("2026-W48 | 9 | 7 | 0 | - | -");
    assert!(text.contains("is not known") && !text.contains("prove"), "{text}");
}

#[test]
fn a_report_of_the_sample_lake_is_the_same_to_the_byte_and_has_every_file_it_names() {
    let dir = tempfile::tempdir().unwrap();
    let mut world = crate::measure::sample::world();
    let news = super::window::named_week("2026-W46", &jiff::tz::TimeZone::UTC).unwrap();
    let at = |world: &World, name: &str| {
        let frame = super::Frame {
            before: super::window::before(&news, &jiff::tz::TimeZone::UTC).unwrap(),
            evidence: super::window::evidence(&news, &jiff::tz::TimeZone::UTC).unwrap(),
            news: news.clone(),
            ..frame()
        };
        let report = super::build(&world.tables, &PriceTable::built_in().unwrap(), frame, &dir.path().join(name)).unwrap();
        report.folder.write(&dir.path().join(name)).unwrap();
        report.folder.digests()
    };
    let first = at(&world, "one");
    assert_eq!(first, at(&world, "two"));
    world.tables.cache = Some(Cache { root: dir.path().join("cache"), key: "k".into() });
    assert_eq!(first, at(&world, "kept"));
    // Nothing is asked again: the tables are not there any more.
    world.tables.files.clear();
    assert_eq!(first, at(&world, "remembered"));
    let page = std::fs::read_to_string(dir.path().join("one/audit.md")).unwrap();
    let linked: Vec<&str> = page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect();
    assert!(linked.len() > 30, "{linked:?}");
    for target in linked {
        assert!(dir.path().join("one").join(target).is_file(), "{target}");
    }
    let manifest: Manifest = serde_json::from_slice(&std::fs::read(dir.path().join("one/manifest.json")).unwrap()).unwrap();
    assert!(manifest.queries.len() >= 20 && manifest.files.keys().all(|f| dir.path().join("one").join(f).is_file()));
    assert_eq!(manifest.news.label, "2026-W46");
}

#[test]
fn a_span_of_which_nothing_is_recorded_is_unknown_and_no_improvement() {
    let mut answers = shop();
    answers.insert("weekly_trend", Span::News, super::testing::unobserved_week());
    let headline = Headline::read(&answers, Span::News);
    assert_eq!((headline.n_runs, headline.n_problems, headline.n_escaped, headline.n_tolls), (7, None, None, None));
    let audit = Audit::new(frame(), answers, None);
    let text = strip(&summary(&audit, &[]));
    assert!(text.contains("whether they had product problems is not known") && !text.contains("product problems 8 → 0"), "{text}");
    let held = super::fail_on::FailOn::Escapes.holds(&audit);
    assert!(held.is_some_and(|why| why.contains("cannot be told")), "a check that nothing could fail is no pass");
}
