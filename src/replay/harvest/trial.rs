//! Owns one trial: a validator on a tree, run alone as replay runs it, and whether it still says the same of it.

use std::time::{Duration, Instant};

use super::tree::{self, Tree};
use crate::replay::confine::Conduct;
use crate::replay::fixture::Named;
use crate::replay::isolate::{Cage, Job};
use crate::replay::outcome::{self, Classes, Once};
use crate::replay::stimulus::Prepared;
use crate::replay::validator::{TIMEOUT, Validator};
use crate::replay::verdict;
use crate::replay::words::Outcome;

/// Runs of one validator, counted and bounded.
pub struct Trials<'a> {
    cage: &'a Cage,
    validator: &'a Validator,
    classes: &'a Classes,
    env: Vec<(String, String)>,
    /// Trials made.
    pub made: usize,
    most: usize,
    until: Instant,
    /// What ended the search, once it was.
    pub cut: Option<&'static str>,
}

/// What a validator said, as far as it must be said again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub rule: Option<String>,
    pub fingerprint: Option<String>,
    /// The first line of its output without its numbers, where it names neither.
    line: Option<String>,
}

impl Said {
    /// What a fixture may demand of a catch. `None`: the validator names nothing.
    pub fn named(&self) -> Option<Named> {
        let named = Named { rule: self.rule.clone(), fingerprint: self.fingerprint.clone(), ..Named::default() };
        (named != Named::default()).then_some(named)
    }

    fn all_of(once: &Once) -> Vec<Said> {
        let listed = once.findings.iter().filter(|f| f.rule.is_some() || f.fingerprint.is_some());
        let mut all: Vec<Said> = listed.map(|f| Said { rule: f.rule.clone(), fingerprint: f.fingerprint.clone(), line: None }).collect();
        if all.is_empty() {
            all.push(Said { rule: None, fingerprint: None, line: Some(without_numbers(&once.why)) });
        }
        all
    }
}

/// Counts and line numbers change when files are left out; the words do not.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
}

impl<'a> Trials<'a> {
    pub fn new(cage: &'a Cage, validator: &'a Validator, classes: &'a Classes, most: usize, time: Duration) -> Trials<'a> {
        let env = validator.env.iter().filter_map(|n| std::env::var(n).ok().map(|value| (n.clone(), value))).collect();
        Trials { cage, validator, classes, env, made: 0, most, until: Instant::now() + time, cut: None }
    }

    /// One run, and a second one after a crash, as in a replay.
    pub fn once(&mut self, stimulus: &Prepared) -> Once {
        let first = self.run(stimulus);
        if first.outcome == Outcome::Crashes { self.run(stimulus) } else { first }
    }

    fn run(&mut self, stimulus: &Prepared) -> Once {
        self.made += 1;
        let wanted = verdict::wanted(self.validator);
        let timeout = self.validator.timeout.unwrap_or(TIMEOUT);
        let job =
            Job { stimulus, files: &self.validator.files, command: &self.validator.command, env: &self.env, timeout, wanted: &wanted };
        match self.cage.run(&job) {
            Ok(ran) => outcome::of_run(self.validator, &ran, None, self.classes),
            Err(e) => {
                let why = format!("the run could not be made: {e}");
                Once {
                    outcome: Outcome::Crashes,
                    why,
                    findings: Vec::new(),
                    substance: None,
                    declined: false,
                    took: Duration::ZERO,
                    conduct: Conduct::default(),
                }
            }
        }
    }

    /// What it names of a tree that it catches; else what it did.
    pub fn first(&mut self, stimulus: &Prepared) -> Result<Said, Box<Once>> {
        let once = self.once(stimulus);
        match once.outcome {
            Outcome::Catches => Said::all_of(&once).into_iter().next().ok_or_else(|| Box::new(once)),
            _ => Err(Box::new(once)),
        }
    }

    /// Whether it still catches the tree and says the same. `None`: no trial or no time is left.
    pub fn still(&mut self, tree: &Tree, said: &Said) -> Option<bool> {
        if self.made >= self.most {
            self.cut.get_or_insert("trials");
            return None;
        }
        if Instant::now() >= self.until {
            self.cut.get_or_insert("time");
            return None;
        }
        Some(self.says(&tree::prepared(tree), said))
    }

    pub fn says(&mut self, stimulus: &Prepared, said: &Said) -> bool {
        // A tree that makes it crash is no catch, and is not worth a second run.
        let once = self.run(stimulus);
        once.outcome == Outcome::Catches && Said::all_of(&once).contains(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_places_do_not_make_another_finding_but_other_words_do() {
        assert_eq!(without_numbers("it failed: 12 of 340 tests, line 7"), without_numbers("it failed: 1 of 2 tests, line 1234"));
        assert_ne!(without_numbers("it failed: no such file"), without_numbers("it failed: 1 test"));
    }
}
