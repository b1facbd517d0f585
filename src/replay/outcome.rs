//! Owns the outcome of a cell: from what a run did and said to one of eleven words and one clear line.

use std::collections::BTreeMap;
use std::time::Duration;

use regex::Regex;

use super::confine::Conduct;
use super::fixture::{Expect, Fixture};
use super::isolate::{End, Ran};
use super::validator::Validator;
use super::verdict::{self, Finding, Reading};
use super::words::{Outcome, Said};
use crate::plain::{cut, escape};

/// One run, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Once {
    pub outcome: Outcome,
    /// One line: why.
    pub why: String,
    pub findings: Vec<Finding>,
    pub substance: Option<u64>,
    /// It ended by itself and said that it could not run.
    pub declined: bool,
    pub took: Duration,
    pub conduct: Conduct,
}

/// Text classes by name.
pub type Classes = BTreeMap<String, Vec<Regex>>;

/// Reads a run of a validator. `expect` says which finding a catch must name.
pub fn of_run(validator: &Validator, ran: &Ran, expect: Option<&Expect>, classes: &Classes) -> Once {
    let output = verdict::both(&ran.out, &ran.err);
    let none = |outcome: Outcome, why: String| Once {
        outcome,
        why: noted(why, ran),
        findings: Vec::new(),
        substance: None,
        declined: false,
        took: ran.took,
        conduct: Conduct::of(ran),
    };
    let code = match &ran.end {
        End::Exited(code) => *code,
        End::Signalled(signal) => return none(Outcome::Crashes, format!("died by {}", signal_name(*signal))),
        End::NotStarted(why) => return none(Outcome::Crashes, why.clone()),
        End::TimedOut { killed } => {
            let how = if *killed { "SIGTERM did not end it, SIGKILL did" } else { "ended by SIGTERM" };
            return none(Outcome::TimesOut, format!("no verdict in time; {how}"));
        }
    };
    match verdict::read(validator, code, ran) {
        Err(why) => none(Outcome::Crashes, format!("{why}{}", said_last(&output, &ran.root))),
        Ok(mut reading) => {
            // Where the copy lay means nothing to anybody, and differs from run to run where there is no namespace.
            let output = placeless(&output, &ran.root);
            for text in reading.findings.iter_mut().flat_map(|f| [&mut f.rule, &mut f.fingerprint, &mut f.message]).flatten() {
                *text = placeless(text, &ran.root);
            }
            let mut once = of_reading(reading, expect, classes, &output, ran.took);
            once.why = noted(once.why, ran);
            once.conduct = Conduct::of(ran);
            once
        }
    }
}

/// The outcome of what was said.
pub fn of_reading(reading: Reading, expect: Option<&Expect>, classes: &Classes, output: &str, took: Duration) -> Once {
    let Reading { said, findings, substance } = reading;
    let first = || {
        let told = findings
            .first()
            .and_then(|f| f.message.as_deref().or(f.rule.as_deref()))
            .or_else(|| output.lines().find(|l| !l.trim().is_empty()));
        cut(&escape(told.unwrap_or_default().trim()), 160)
    };
    let (outcome, why) = match said {
        Said::CouldNotRun => (Outcome::Crashes, with("it says that it could not run", &first())),
        // What read nothing says nothing, whatever it returned.
        _ if substance == Some(0) => (Outcome::Vacuous, format!("it read nothing and said {said}")),
        Said::Skipped => (Outcome::Skipped, with("it skipped", &first())),
        Said::Pass => (Outcome::Misses, "it passed".to_owned()),
        Said::Fail => match expect.and_then(|e| e.finding.as_ref()) {
            Some(named) if !verdict::names(named, &findings, output, classes) => {
                (Outcome::WrongReason, with("it failed without naming what it should", &first()))
            }
            _ => (Outcome::Catches, with("it failed", &first())),
        },
    };
    Once { outcome, why, findings, substance, declined: said == Said::CouldNotRun, took, conduct: Conduct::default() }
}

fn with(what: &str, told: &str) -> String {
    if told.is_empty() { what.to_owned() } else { format!("{what}: {told}") }
}

/// A text without the folder a run lay in: paths of the copy are relative to it, the others begin with what they are called in a command.
fn placeless(text: &str, root: &std::path::Path) -> String {
    let at = |name: &str| root.join(name).to_string_lossy().into_owned();
    let copy = at("stimulus");
    let mut out = text.replace(&format!("{copy}/"), "").replace(&copy, ".");
    for name in ["files", "out", "home", "tmp"] {
        out = out.replace(&at(name), &format!("{{{name}}}"));
    }
    out
}

fn said_last(output: &str, root: &std::path::Path) -> String {
    let line = output.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or_default();
    let line = placeless(line, root);
    if line.is_empty() { String::new() } else { format!("; it last said: {}", cut(&escape(line.trim()), 120)) }
}

/// What else is worth a word about a run.
fn noted(mut why: String, ran: &Ran) -> String {
    for word in Conduct::of(ran).words() {
        why.push_str("; it ");
        why.push_str(&word);
    }
    why
}

fn signal_name(signal: i32) -> String {
    nix::sys::signal::Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |s| s.as_str().to_owned())
}

/// Several runs as one: what differs is flaky.
pub fn of_repeats(mut runs: Vec<Once>) -> Option<Once> {
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    for run in &runs {
        *counts.entry(run.outcome).or_default() += 1;
    }
    let mut last = runs.pop()?;
    // What one of them did is done, and what all of them had was had.
    for run in &runs {
        last.conduct.add(&run.conduct);
    }
    let conduct = last.conduct.clone();
    // A run without a verdict outranks: it must not be hidden among others.
    if counts.len() < 2 {
        return Some(last);
    }
    let told = counts.iter().map(|(o, n)| format!("{o} {n}×")).collect::<Vec<_>>().join(", ");
    if let Some(bad) = runs.iter().chain([&last]).find(|r| !r.outcome.is_verdict()) {
        return Some(Once { why: format!("{}; repeats differ: {told}", bad.why), conduct, ..bad.clone() });
    }
    Some(Once { outcome: Outcome::Flaky, why: format!("repeats differ: {told}"), ..last })
}

/// Whether a validator reads such a fixture at all; the reason where not.
pub fn unsupported(validator: &Validator, fixture: &Fixture) -> Option<String> {
    if !validator.stimuli.contains(&fixture.stimulus.kind) {
        return Some(format!("it reads no {}", fixture.stimulus.kind));
    }
    match &fixture.failure_class {
        Some(class) if !validator.covers.is_empty() && !validator.covers.contains(class) => Some(format!("it covers no {}", escape(class))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::fixture::{Named, Who};

    fn said(said: Said, substance: Option<u64>, expect: Option<&Expect>) -> Outcome {
        let findings = vec![Finding { rule: Some("other".into()), ..Finding::default() }];
        of_reading(Reading { said, findings, substance }, expect, &Classes::new(), "", Duration::ZERO).outcome
    }

    #[test]
    fn what_read_nothing_is_vacuous_whatever_it_returned() {
        for word in [Said::Pass, Said::Fail, Said::Skipped] {
            assert_eq!(said(word, Some(0), None), Outcome::Vacuous);
        }
        assert_eq!(said(Said::Pass, None, None), Outcome::Misses);
        assert_eq!(said(Said::Pass, Some(1), None), Outcome::Misses);
    }

    #[test]
    fn a_fail_that_names_something_else_is_no_catch() {
        let named = |rule: &str| Expect {
            who: Who::Gate("g".into()),
            outcome: Outcome::Catches,
            finding: Some(Named { rule: Some(rule.into()), ..Named::default() }),
        };
        assert_eq!(said(Said::Fail, None, Some(&named("this"))), Outcome::WrongReason);
        assert_eq!(said(Said::Fail, None, Some(&named("other"))), Outcome::Catches);
        assert_eq!(said(Said::Fail, None, None), Outcome::Catches);
        assert_eq!(said(Said::CouldNotRun, Some(0), None), Outcome::Crashes);
    }

    #[test]
    fn a_text_says_nothing_of_where_the_copy_lay() {
        let said = |root: &str| {
            placeless(&format!("{root}/stimulus/a.txt:1 in {root}/stimulus, {root}/files/v.sh and /tmp/x"), std::path::Path::new(root))
        };
        assert_eq!(said("/tmp"), "a.txt:1 in ., {files}/v.sh and /tmp/x");
        assert_eq!(said("/var/tmp/mechanic-replay-1-x"), said("/tmp"));
    }

    #[test]
    fn repeats_that_differ_are_flaky_and_a_crash_among_them_is_not_hidden() {
        let once = |outcome| Once {
            outcome,
            why: "w".into(),
            findings: vec![],
            substance: None,
            declined: false,
            took: Duration::ZERO,
            conduct: Conduct::default(),
        };
        let all = |list: &[Outcome]| of_repeats(list.iter().map(|o| once(*o)).collect()).unwrap().outcome;
        assert_eq!(all(&[Outcome::Catches, Outcome::Catches]), Outcome::Catches);
        assert_eq!(all(&[Outcome::Catches, Outcome::Misses]), Outcome::Flaky);
        assert_eq!(all(&[Outcome::Catches, Outcome::Crashes, Outcome::Catches]), Outcome::Crashes);
    }
}
