//! Owns the tests of showing: nothing from a validator or a fixture can break out of any form.

use super::super::results::{CellLine, FixtureLine, Isolation, Measured, Results, Subsumption, ValidatorLine};
use super::super::weigh::{Issue, Kind};
use super::super::words::{Classification, Outcome, Severity, StimulusKind};

fn results() -> Results {
    let evil = "a\u{1b}[2J\u{202e}<b attr=\"x\">&amp;\n::error::pwned %0A";
    let cell = CellLine {
        fixture: "f".into(),
        validator: "v".into(),
        gate: "g".into(),
        outcome: Outcome::Misses,
        expected: Some(Outcome::Catches),
        why: evil.into(),
        findings: vec![],
        substance: None,
        outside: vec![evil.into()],
        degraded: vec!["Landlock".into()],
        before: None,
        flip: None,
    };
    let issue = Issue { severity: Some(Severity::Major), ..Issue::plain(Kind::Missed, Some("f"), Some("v"), evil.into()) };
    Results {
        format: 1,
        mechanic: "0".into(),
        exit: 1,
        isolation: Isolation { level: "namespaces".into(), in_force: vec!["rlimits".into()], missing: vec!["Landlock".into()] },
        fixtures: vec![FixtureLine {
            id: "f".into(),
            title: evil.into(),
            origin: "o".into(),
            kind: StimulusKind::Tree,
            severity: Severity::Major,
            classification: Classification::Normative,
            failure_mode: None,
            caught_by: vec![],
            missed_by: vec![],
            digest: "d".into(),
        }],
        validators: vec![ValidatorLine { id: "v".into(), gate: "g".into(), digest: "d".into() }],
        cells: vec![cell],
        emptied: vec![],
        issues: vec![issue, Issue::plain(Kind::SelfAcquittal, Some("f"), None, evil.into())],
        subsumption: Subsumption::default(),
        comparison: None,
        part: None,
        measured: Measured::default(),
    }
}

#[test]
fn no_form_lets_a_validators_words_steer_it() {
    let results = results();
    let forms = [super::text(&results), super::junit(&results), super::sarif(&results, "c"), super::github(&results, "c"), results.json()];
    for form in &forms {
        assert!(!form.contains('\u{1b}') && !form.contains('\u{202e}') || form == &forms[4], "{form}");
    }
    assert!(forms[0].contains("DEGRADED, without Landlock"));
    // How runs were kept in stands in each form: of the whole, and of a cell that had less.
    assert!(forms[1].contains("<property name=\"degraded\" value=\"Landlock\"/>") && forms[1].contains("name=\"isolation.missing\""));
    assert!(forms[4].contains("\"degraded\": [\n        \"Landlock\""), "{}", forms[4]);
    let mut xml = quick_xml::Reader::from_str(&forms[1]);
    loop {
        match xml.read_event().unwrap() {
            quick_xml::events::Event::Eof => break,
            quick_xml::events::Event::Start(t) | quick_xml::events::Event::Empty(t) => assert_ne!(t.name().as_ref(), b"b"),
            _ => {}
        }
    }
    let sarif: serde_json::Value = serde_json::from_str(&forms[2]).unwrap();
    assert_eq!(sarif.pointer("/runs/0/results/0/level").unwrap(), "error");
    assert_eq!(sarif.pointer("/runs/0/properties/isolation/missing/0").unwrap(), "Landlock");
    let commands: Vec<&str> = forms[3].lines().filter(|l| l.starts_with("::error") || l.starts_with("::warning")).collect();
    assert_eq!(commands.len(), 2, "{}", forms[3]);
    assert!(commands[0].contains("%250A"));
    assert_eq!(serde_json::from_str::<super::super::results::Results>(&forms[4]).unwrap(), results);
}
