//! Owns what is told of how runs were kept in: who would have written outside its copy, and which ran with less than the machine gives.
//! Neither changes an outcome: a verdict is a verdict, but who reads it is to know how it was had.

use std::collections::BTreeMap;

use super::isolate::{End, Measures, Ran};
use super::matrix::{Cell, Emptied};
use super::weigh::{Issue, Kind};

/// Names told of one validator; the rest is counted. The results hold all.
const MOST: usize = 3;

/// How a run behaved, and what kept it in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conduct {
    /// Where it would have written outside its copy, sorted.
    pub outside: Vec<String>,
    /// It left processes, which were ended; of one that was ended itself this is no news.
    pub left: bool,
    pub full: bool,
    /// It said more than is kept.
    pub loud: bool,
    /// `None` where nothing ran.
    pub measures: Option<Measures>,
}

impl Conduct {
    pub fn of(ran: &Ran) -> Conduct {
        Conduct {
            outside: ran.outside.clone(),
            left: ran.left_processes && !matches!(ran.end, End::TimedOut { .. }),
            full: ran.full,
            loud: ran.out.lost() + ran.err.lost() > 0,
            measures: Some(ran.measures),
        }
    }

    /// Several runs of one cell: what one of them did is done, and what all of them had was had.
    pub fn add(&mut self, other: &Conduct) {
        self.outside.extend(other.outside.iter().cloned());
        self.outside.sort();
        self.outside.dedup();
        self.left |= other.left;
        self.full |= other.full;
        self.loud |= other.loud;
        self.measures = self.measures.zip(other.measures).map(|(a, b)| a.in_common(b));
    }

    /// What it did that it should not, each as the end of a sentence that begins with the validator.
    pub fn words(&self) -> Vec<String> {
        let mut out = self.unruly();
        if !self.outside.is_empty() {
            out.push(wrote(&self.outside));
        }
        out
    }

    fn unruly(&self) -> Vec<String> {
        let told = [
            (self.full, "filled its place"),
            (self.left, "left processes, which were ended"),
            (self.loud, "wrote more output than is kept"),
        ];
        told.into_iter().filter(|(is, _)| *is).map(|(_, word)| word.to_owned()).collect()
    }

    /// Measures that the machine gives and that the run did not have.
    pub fn lacking(&self, given: Measures) -> Measures {
        self.measures.map_or(Measures::default(), |had| given.without(had))
    }

    /// Whether its cell may be remembered: what is to be told of it is to be seen again.
    pub fn is_clean(&self, given: Measures) -> bool {
        self.words().is_empty() && self.lacking(given) == Measures::default()
    }
}

/// One clear line about names outside the copy.
fn wrote(paths: &[String]) -> String {
    let shown = paths.iter().take(MOST).map(|p| crate::plain::escape(p)).collect::<Vec<_>>().join(", ");
    let more = if paths.len() > MOST { format!(" and {} more", paths.len() - MOST) } else { String::new() };
    format!("wrote outside its copy: {shown}{more} (stopped)")
}

/// What is to be told: one line a validator and matter, at the fixture where it is one.
pub fn issues(cells: &[Cell], emptied: &[Emptied], given: Measures) -> Vec<Issue> {
    let runs = cells.iter().map(|c| (c.validator.as_str(), Some(c.fixture.as_str()), &c.once.conduct));
    let runs = runs.chain(emptied.iter().map(|e| (e.validator.as_str(), None, &e.once.conduct)));
    let mut outside: BTreeMap<&str, (Vec<&str>, Vec<String>)> = BTreeMap::new();
    let mut others: BTreeMap<(Kind, &str, String), Vec<&str>> = BTreeMap::new();
    for (validator, fixture, conduct) in runs {
        if !conduct.outside.is_empty() {
            let (fixtures, paths) = outside.entry(validator).or_default();
            fixtures.extend(fixture);
            paths.extend(conduct.outside.iter().cloned());
        }
        for word in conduct.unruly() {
            others.entry((Kind::Unruly, validator, word)).or_default().extend(fixture);
        }
        let lacking = conduct.lacking(given);
        if lacking != Measures::default() {
            let text = format!("ran without {lacking}, which other runs here have");
            others.entry((Kind::Degraded, validator, text)).or_default().extend(fixture);
        }
    }
    let mut told: Vec<(Kind, &str, String, Vec<&str>)> = others.into_iter().map(|((kind, v, text), at)| (kind, v, text, at)).collect();
    for (validator, (fixtures, mut paths)) in outside {
        paths.sort();
        paths.dedup();
        told.push((Kind::Outside, validator, wrote(&paths), fixtures));
    }
    let issue = |(kind, validator, text, fixtures): (Kind, &str, String, Vec<&str>)| match fixtures[..] {
        [one] => Issue::plain(kind, Some(one), Some(validator), text),
        [] => Issue::plain(kind, None, Some(validator), format!("{text}; on an emptied stimulus")),
        _ => Issue::plain(kind, None, Some(validator), format!("{text}; in {} cells", fixtures.len())),
    };
    told.into_iter().map(issue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::outcome::Once;
    use crate::replay::words::Outcome;

    fn cell(fixture: &str, outside: &[&str], measures: Measures) -> Cell {
        let once = Once {
            outcome: Outcome::Catches,
            why: "w".into(),
            findings: vec![],
            substance: None,
            declined: false,
            took: std::time::Duration::ZERO,
            conduct: Conduct { outside: outside.iter().map(|p| (*p).to_owned()).collect(), measures: Some(measures), ..Conduct::default() },
        };
        Cell { fixture: fixture.into(), validator: "v".into(), gate: "g".into(), expected: None, once, from_memo: false }
    }

    #[test]
    fn one_validator_gets_one_line_however_often_it_reached_outside() {
        let given = Measures::LANDLOCK.with(Measures::SEEN);
        let told = |cells: &[Cell]| issues(cells, &[], given).into_iter().map(|i| (i.fixture, i.text)).collect::<Vec<_>>();
        assert_eq!(told(&[cell("a", &[], given)]), []);
        assert_eq!(told(&[cell("a", &["/etc/x"], given)]), [(Some("a".into()), "wrote outside its copy: /etc/x (stopped)".into())]);
        let many = [cell("a", &["/e", "/b"], given), cell("b", &["/a", "/b", "/c\n"], given)];
        assert_eq!(told(&many), [(None, "wrote outside its copy: /a, /b, /c\\n and 1 more (stopped); in 2 cells".into())]);
    }

    #[test]
    fn what_was_cleaned_up_after_is_told_once_a_matter() {
        let mut cells = [cell("a", &[], Measures::SEEN), cell("b", &[], Measures::SEEN)];
        cells[0].once.conduct.left = true;
        cells[1].once.conduct.left = true;
        cells[1].once.conduct.full = true;
        let told: Vec<String> = issues(&cells, &[], Measures::SEEN).into_iter().map(|i| i.text).collect();
        assert_eq!(told, ["filled its place", "left processes, which were ended; in 2 cells"]);
    }

    #[test]
    fn a_cell_that_ran_with_less_than_the_others_is_named_and_not_remembered() {
        let given = Measures::LANDLOCK.with(Measures::SEEN);
        let less = [cell("a", &[], given), cell("b", &[], Measures::SEEN)];
        let told = issues(&less, &[], given);
        assert_eq!((told.len(), told[0].kind, told[0].fixture.as_deref()), (1, Kind::Degraded, Some("b")));
        assert_eq!(told[0].text, "ran without Landlock, which other runs here have");
        assert_eq!(less.map(|c| c.once.conduct.is_clean(given)), [true, false]);
        assert!(!cell("a", &["/x"], given).once.conduct.is_clean(given));
    }
}
