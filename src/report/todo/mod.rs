//! Owns `Todo`: what a maintainer could do next, each with its evidence, and the order they come in. Nothing here proposes a removal.

mod broken;
mod open_questions;
mod records;
mod slipped;
mod worth;

use serde::Serialize;

use super::answers::Answers;
use super::rich::Rich;

/// Things to do that page one shows.
pub const FIRST: usize = 5;

/// How bad it is to leave it; severity first, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    Critical,
    Major,
    Minor,
    Info,
}

impl Rank {
    pub fn as_str(self) -> &'static str {
        match self {
            Rank::Critical => "critical",
            Rank::Major => "major",
            Rank::Minor => "minor",
            Rank::Info => "info",
        }
    }

    /// The rank of a problem of that severity. A problem no finding rates is taken as major: unknown is not harmless.
    fn of_severity(severity: Option<&str>) -> Rank {
        match severity {
            Some("critical") => Rank::Critical,
            Some("minor") => Rank::Minor,
            Some("info") => Rank::Info,
            _ => Rank::Major,
        }
    }
}

/// What would decide the matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decides {
    Repair,
    Reading,
    Person,
    Record,
    MoreRuns,
}

impl Decides {
    pub const ALL: [Decides; 5] = [Decides::Repair, Decides::Reading, Decides::Person, Decides::Record, Decides::MoreRuns];

    pub fn heading(self) -> &'static str {
        match self {
            Decides::Repair => "A repair: it does not do what it is there for",
            Decides::Reading => "Reading the chain: the evidence is recorded",
            Decides::Person => "A person's word: no record can say it",
            Decides::Record => "A record that is missing today",
            Decides::MoreRuns => "More runs: too few so far to say anything",
        }
    }
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Todo {
    /// `kind:subject`: the same matter has the same id in every report.
    pub id: String,
    pub kind: &'static str,
    pub rank: Rank,
    pub decides: Decides,
    /// Greater comes first among things of one rank and kind.
    #[serde(skip)]
    pub weight: i64,
    pub title: Rich,
    pub evidence: Vec<Rich>,
    /// The commands that show the chain behind it, or settle it.
    pub commands: Vec<String>,
}

/// Kinds in the order they come in within one rank.
const KINDS: &[&str] = &[
    "escape",
    "blind_spot",
    "broken_gate",
    "skipped_required",
    "vacuous",
    "quarantine",
    "unreadable",
    "unattributed",
    "human_rejection",
    "unanswered",
    "false_alarms",
    "recurrence",
    "expensive",
    "zero_yield",
    "unpriced",
    "no_passes",
    "never_seen",
];

/// Everything there is to do, most severe first, in an order that depends on nothing but the answers.
pub fn todos(answers: &Answers) -> Vec<Todo> {
    let mut out = Vec::new();
    slipped::add(answers, &mut out);
    broken::add(answers, &mut out);
    open_questions::add(answers, &mut out);
    worth::add(answers, &mut out);
    records::add(answers, &mut out);
    let place = |todo: &Todo| KINDS.iter().position(|k| *k == todo.kind).unwrap_or(KINDS.len());
    out.sort_by(|a, b| (a.rank, place(a), -a.weight, &a.id).cmp(&(b.rank, place(b), -b.weight, &b.id)));
    out
}

/// `2 critical, 1 major, 1 unrated` of severities as problems carry them.
fn severities<'a>(severities: impl IntoIterator<Item = Option<&'a str>>) -> String {
    const WORDS: [&str; 5] = ["critical", "major", "minor", "info", "unrated"];
    let mut counts = [0usize; 5];
    for severity in severities {
        let at = WORDS.iter().position(|w| severity == Some(w)).unwrap_or(4);
        counts[at] += 1;
    }
    let parts: Vec<String> = WORDS.iter().zip(counts).filter(|(_, n)| *n > 0).map(|(word, n)| format!("{n} {word}")).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests;
