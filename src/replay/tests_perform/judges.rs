//! Owns the tests of judges: recorded verdicts, bound to what they were of.

use super::super::weigh::Kind;
use super::super::words::Outcome;
use super::{Home, expect, outcome, told, validator};

#[test]
fn a_judges_record_rewritten_for_the_same_prompt_and_model_is_named() {
    let home = Home::new();
    home.write("validators/p.md", "Judge.");
    home.validators(&["[[validator]]\nid = \"judge\"\ngate = \"g\"\nkind = \"judge\"\n[validator.judge]\nprompt = \"p.md\"\nmodel = \"m\"\ntranscripts = \"t\"\n".into()]);
    let suite = super::super::Suite::load(&home.path("failures"), &home.path("validators/validators.toml")).unwrap();
    let prompt = super::super::digest::bytes(b"Judge.");
    let record = |id: &str, verdict: &str| {
        let input = super::super::input_digest(suite.corpus.get(id).unwrap()).unwrap();
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
fn a_new_prompt_with_new_records_in_one_change_acquits_nobody() {
    let home = Home::new();
    let judge = "[[validator]]\nid = \"judge\"\ngate = \"g\"\nkind = \"judge\"\n[validator.judge]\nprompt = \"p.md\"\nmodel = \"m\"\ntranscripts = \"t\"\n";
    home.validators(&[judge.into()]);
    let record = |prompt: &str, id: &str, verdict: &str| {
        home.write("validators/p.md", prompt);
        let suite = super::super::Suite::load(&home.path("failures"), &home.path("validators/validators.toml")).unwrap();
        let prompt = super::super::digest::bytes(prompt.as_bytes());
        let input = super::super::input_digest(suite.corpus.get(id).unwrap()).unwrap();
        let text = format!("{{\"prompt_digest\":\"{prompt}\",\"model\":\"m\",\"input_digest\":\"{input}\",\"verdict\":\"{verdict}\"}}");
        home.write(&format!("validators/t/{id}.json"), &text);
    };
    for (id, verdict) in [("one", "fail"), ("two", "fail"), ("good", "pass")] {
        record("Judge.", id, verdict);
    }
    home.commit();
    assert_eq!(home.against("HEAD").exit, 0);
    for (id, verdict) in [("one", "fail"), ("two", "fail"), ("good", "pass")] {
        record("Judge. ", id, verdict);
    }
    let results = home.against("HEAD");
    assert_eq!(results.exit, 1, "{:?}", results.issues);
    assert!(told(&results, Kind::SelfAcquittal).iter().any(|t| t.contains("prompt or model and its recorded verdicts")));
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
    let suite = super::super::Suite::load(&home.path("failures"), &home.path("validators/validators.toml")).unwrap();
    let input = super::super::input_digest(suite.corpus.get("one").unwrap()).unwrap();
    let prompt = super::super::digest::bytes(b"Judge.");
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
