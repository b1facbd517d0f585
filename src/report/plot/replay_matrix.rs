//! Owns the heatmap of the newest replay: fixtures down, validators across, a letter and a colour an outcome. The colours differ in
//! brightness too, and none carries a meaning that its letter does not.

use std::collections::BTreeMap;

use super::canvas::{
    At, BLACK, BLUE, CRITICAL, Canvas, Colour, GRID, INK, MAJOR, MINOR, MUTED, PALE, SIZE, UNRATED, VIOLET, WHITE, draw, text_width,
};
use super::{Plot, PlotError};
use crate::model::vocabulary::ReplayOutcome;
use crate::report::answers::{Answers, Span};
use crate::report::escape::shorten;
use crate::report::figures::{count, counted};
use crate::report::replay::FAILING;
use crate::report::table::Row;

pub const NAME: &str = "replay-matrix";
/// Least width; more validators than fit make it wider.
const WIDTH: i32 = 960;
const ROW: i32 = 17;
const RIGHT: i32 = 62;
/// Rows and columns at most; the table has all.
const MOST: usize = 160;
const MOST_ACROSS: usize = 60;
const CLASSES: [(&str, &str); 3] =
    [("normative", "Failures that must be caught"), ("known_defect", "Known defects, missed today"), ("control", "Controls: known good")];

struct Fixture<'a> {
    id: &'a str,
    class: &'a str,
    n_catchers: i64,
    trouble: bool,
}

struct Validator<'a> {
    id: &'a str,
    gate: &'a str,
    believed: bool,
    n_caught: i64,
    n_alone: i64,
}

pub(super) fn plot(answers: &Answers) -> Result<Option<Plot>, PlotError> {
    let cells: Vec<Row> = answers.rows("replay_matrix", Span::Lake).collect();
    let mut at: BTreeMap<(&str, &str), Row> = BTreeMap::new();
    let mut fixtures: Vec<Fixture> = Vec::new();
    for row in &cells {
        let (Some(id), Some(validator)) = (row.text("fixture_id"), row.text("validator_id")) else { continue };
        at.insert((id, validator), *row);
        if fixtures.last().is_none_or(|f| f.id != id) {
            let class = row.text("fixture_class").unwrap_or_default();
            fixtures.push(Fixture { id, class, n_catchers: row.n("n_catchers"), trouble: false });
        }
        if let Some(fixture) = fixtures.last_mut() {
            fixture.trouble |= fails(row) || (fixture.class != "control" && fixture.n_catchers < 2);
        }
    }
    let validators: Vec<Validator> = answers
        .rows("replay_validators", Span::Lake)
        .filter_map(|r| {
            Some(Validator {
                id: r.text("validator_id")?,
                gate: r.text("gate_id").unwrap_or_default(),
                believed: r.flag("believed") != Some(false),
                n_caught: r.n("n_caught"),
                n_alone: r.n("n_alone"),
            })
        })
        .collect();
    if fixtures.is_empty() || validators.is_empty() {
        return Ok(None);
    }
    let (all, across) = (fixtures.len(), validators.len());
    // Where there is no room for all, those stay of which something is to be seen.
    if all > MOST {
        let mut order: Vec<usize> = (0..all).collect();
        order.sort_by_key(|i| !fixtures[*i].trouble);
        let mut keep = vec![false; all];
        order.iter().take(MOST).for_each(|i| keep[*i] = true);
        let mut keep = keep.iter();
        fixtures.retain(|_| keep.next() == Some(&true));
    }
    let validators = &validators[..across.min(MOST_ACROSS)];
    let heatmap = Heatmap { at: &at, fixtures: &fixtures, validators, left_out: (all - fixtures.len(), across - validators.len()) };
    let nobody = fixtures.iter().filter(|f| f.class != "control" && f.n_catchers == 0).count();
    let alt = format!(
        "Outcomes of {} on {}; {} caught by no validator that is believed",
        counted(across as i64, "validator", "validators"),
        counted(all as i64, "fixture", "fixtures"),
        counted(nobody as i64, "failure is", "failures are")
    );
    let svg = draw(NAME, heatmap.size(), &alt, |canvas| heatmap.draw(canvas))?;
    Ok(Some(Plot {
        name: NAME,
        caption: "The newest replay: every preserved failure and control (rows) through every validator (columns, by gate). At the end of a row: how many validators that are believed catch it; below: what each catches, and what nobody else does.",
        svg,
    }))
}

/// Something of the cell fails the check and is not waived.
fn fails(row: &Row) -> bool {
    row.flag("waived") == Some(false) && row.list("issues").iter().any(|i| FAILING.contains(&i.as_str()))
}

/// How an outcome looks: fill, its opacity, colour of the letter. A pass and an unread stimulus are quiet.
fn look(outcome: ReplayOutcome, control: bool) -> (Colour, f64, Colour) {
    match outcome {
        ReplayOutcome::Catches if control => (CRITICAL, 1.0, WHITE),
        ReplayOutcome::Catches => (BLUE, 1.0, WHITE),
        ReplayOutcome::WrongReason => (MAJOR, 1.0, BLACK),
        ReplayOutcome::Crashes | ReplayOutcome::TimesOut => (INK, 1.0, WHITE),
        ReplayOutcome::Skipped => (MINOR, 0.8, BLACK),
        ReplayOutcome::Vacuous => (VIOLET, 1.0, WHITE),
        ReplayOutcome::Flaky => (MAJOR, 0.45, INK),
        ReplayOutcome::Stale | ReplayOutcome::New => (UNRATED, 0.6, INK),
        ReplayOutcome::Misses => (PALE, 0.35, MUTED),
        ReplayOutcome::Unsupported => (PALE, 0.0, MUTED),
    }
}

const PHRASES: &[(ReplayOutcome, bool, &str)] = &[
    (ReplayOutcome::Catches, false, "caught"),
    (ReplayOutcome::Misses, false, "passed"),
    (ReplayOutcome::Catches, true, "false alarm on a control"),
    (ReplayOutcome::WrongReason, false, "failed for another reason"),
    (ReplayOutcome::Vacuous, false, "read nothing"),
    (ReplayOutcome::Skipped, false, "skipped"),
    (ReplayOutcome::Flaky, false, "flaky"),
    (ReplayOutcome::Stale, false, "stale record"),
    (ReplayOutcome::Crashes, false, "crashed"),
    (ReplayOutcome::TimesOut, false, "timed out"),
    (ReplayOutcome::Unsupported, false, "does not read it"),
];

/// An entry of the legend.
enum Entry {
    /// On a control?
    Outcome(ReplayOutcome, bool),
    Doubted,
    Fails,
}

struct Heatmap<'a> {
    at: &'a BTreeMap<(&'a str, &'a str), Row<'a>>,
    fixtures: &'a [Fixture<'a>],
    validators: &'a [Validator<'a>],
    left_out: (usize, usize),
}

impl Heatmap<'_> {
    /// Outcome of a cell, and whether something of it fails the check.
    fn outcome(&self, fixture: &str, validator: &str) -> Option<(ReplayOutcome, bool)> {
        let row = self.at.get(&(fixture, validator))?;
        Some((ReplayOutcome::parse(row.text("outcome")?)?, fails(row)))
    }

    fn names(&self) -> Vec<String> {
        self.validators.iter().map(|v| format!("{}{}", shorten(v.id, 30), if v.believed { "" } else { " †" })).collect()
    }

    fn left(&self) -> i32 {
        let name = |f: &Fixture| text_width(&shorten(f.id, 40));
        self.fixtures.iter().map(name).chain(CLASSES.iter().map(|(_, t)| text_width(t))).max().unwrap_or(0) + 12
    }

    fn column(&self) -> i32 {
        ((WIDTH - self.left() - RIGHT) / self.validators.len().max(1) as i32).clamp(19, 30)
    }

    fn head(&self) -> i32 {
        self.names().iter().map(|n| text_width(n)).max().unwrap_or(0) + 8
    }

    fn groups(&self) -> Vec<(&str, &str, Vec<&Fixture<'_>>)> {
        let mut groups: Vec<(&str, &str, Vec<&Fixture>)> = CLASSES
            .iter()
            .chain(&[("", "Of unknown class")])
            .map(|(class, title)| (*class, *title, self.fixtures.iter().filter(|f| f.class == *class).collect()))
            .collect();
        groups.retain(|(.., fixtures)| !fixtures.is_empty());
        groups
    }

    fn size(&self) -> (i32, i32) {
        let rows = (self.fixtures.len() + self.groups().len() * 2 + 3) as i32;
        let width = self.left() + self.column() * self.validators.len() as i32 + RIGHT;
        (width.max(WIDTH), self.top() + self.head() + rows * ROW)
    }

    fn x(&self, i: usize) -> i32 {
        self.left() + self.column() * i as i32
    }

    fn draw(&self, canvas: &Canvas<'_>) -> Result<(), PlotError> {
        let (left, column) = (self.left(), self.column());
        let right = self.x(self.validators.len());
        canvas.bold("Every validator on every fixture", (0, SIZE), At::Left)?;
        self.legend(canvas)?;
        let mut y = self.top() + self.head();
        for (i, (name, validator)) in self.names().iter().zip(self.validators).enumerate() {
            let colour = if validator.believed { INK } else { MUTED };
            canvas.upwards(name, (self.x(i) + column / 2, y - 6), colour)?;
        }
        let body = y;
        for (class, title, fixtures) in self.groups() {
            y += ROW;
            canvas.bold(title, (left - 8, y - ROW / 2), At::Right)?;
            canvas.line((left, y - ROW / 2), (right, y - ROW / 2), GRID)?;
            let mut stripe = false;
            for fixture in fixtures {
                canvas.text(&shorten(fixture.id, 40), (left - 8, y + ROW / 2), At::Right, INK)?;
                // Stripes lead the eye from the name to its cells.
                if stripe {
                    canvas.rect((left, y), (right, y + ROW), PALE, 0.16)?;
                }
                stripe = !stripe;
                for (i, validator) in self.validators.iter().enumerate() {
                    if let Some((outcome, failing)) = self.outcome(fixture.id, validator.id) {
                        let place = (self.x(i) + 1, y + 1, self.x(i) + column - 1, y + ROW - 1);
                        self.cell(canvas, place, outcome, class == "control", validator.believed)?;
                        if failing {
                            canvas.frame((place.0, place.1), (place.2, place.3), CRITICAL)?;
                        }
                    }
                }
                if class != "control" {
                    let (text, colour) = match fixture.n_catchers {
                        0 => ("nobody".to_owned(), if class == "known_defect" { MUTED } else { CRITICAL }),
                        n => (count(n), MUTED),
                    };
                    canvas.text(&text, (right + 8, y + ROW / 2), At::Left, colour)?;
                }
                y += ROW;
            }
        }
        // A line where the gate changes.
        for (i, pair) in self.validators.windows(2).enumerate() {
            if pair[0].gate != pair[1].gate {
                canvas.line((self.x(i + 1), body + ROW), (self.x(i + 1), y), GRID)?;
            }
        }
        for (title, of) in [("caught", (|v| v.n_caught) as fn(&Validator) -> i64), ("nobody else catches", |v| v.n_alone)] {
            y += ROW;
            canvas.text(title, (left - 8, y), At::Right, MUTED)?;
            for (i, validator) in self.validators.iter().enumerate() {
                let n = of(validator);
                canvas.number(&count(n), (self.x(i) + column / 2, y), if n == 0 { MUTED } else { INK })?;
            }
        }
        let more = match self.left_out {
            (0, 0) => return Ok(()),
            (rows, 0) => format!("and {} of which less is to be said: see the table", counted(rows as i64, "fixture", "fixtures")),
            (rows, columns) => format!("and {} fixtures and {} validators more: see the table", count(rows as i64), count(columns as i64)),
        };
        canvas.text(&more, (left, y + ROW + 4), At::Left, MUTED)
    }

    fn cell(
        &self,
        canvas: &Canvas<'_>,
        (x0, y0, x1, y1): (i32, i32, i32, i32),
        outcome: ReplayOutcome,
        control: bool,
        believed: bool,
    ) -> Result<(), PlotError> {
        let (fill, opacity, ink) = look(outcome, control);
        // What is not believed is pale, whatever it says; false alarms are why it is not.
        let pale = !believed && !control && outcome == ReplayOutcome::Catches;
        let (opacity, ink) = if pale { (0.3, INK) } else { (opacity, ink) };
        canvas.rect((x0, y0), (x1, y1), fill, opacity)?;
        let letter = if outcome == ReplayOutcome::Misses { '·' } else { outcome.letter() };
        canvas.letter(letter.encode_utf8(&mut [0; 4]), ((x0 + x1) / 2, (y0 + y1) / 2), ink)
    }

    /// What the legend has to explain: what is there, and where each entry stands.
    fn entries(&self) -> Vec<(Entry, &'static str, (i32, i32))> {
        let seen = |outcome: ReplayOutcome, control: bool| {
            let is = |f: &&Fixture| (f.class == "control") == control || outcome != ReplayOutcome::Catches;
            let cell = |f: &Fixture| self.validators.iter().any(|v| self.outcome(f.id, v.id).is_some_and(|(o, _)| o == outcome));
            self.fixtures.iter().filter(is).any(cell)
        };
        let mut entries: Vec<(Entry, &'static str)> = PHRASES
            .iter()
            .filter(|(outcome, control, _)| seen(*outcome, *control))
            .map(|(outcome, control, label)| (Entry::Outcome(*outcome, *control), *label))
            .collect();
        if self.validators.iter().any(|v| !v.believed) {
            entries.push((Entry::Doubted, "† not believed: fails a control, or nothing at all"));
        }
        if self.at.values().any(fails) {
            entries.push((Entry::Fails, "fails the check"));
        }
        let (mut x, mut y) = (0, 40);
        let place = |(entry, label): (Entry, &'static str)| {
            let need = 24 + text_width(label) + 14;
            if x > 0 && x + need > WIDTH {
                (x, y) = (0, y + 20);
            }
            x += need;
            (entry, label, (x - need, y))
        };
        entries.into_iter().map(place).collect()
    }

    /// Where the names of the validators may begin.
    fn top(&self) -> i32 {
        self.entries().last().map_or(40, |(.., (_, y))| *y) + 20
    }

    fn legend(&self, canvas: &Canvas<'_>) -> Result<(), PlotError> {
        for (entry, label, (x, y)) in self.entries() {
            let place = (x, y - 7, x + 18, y + 7);
            let frame = |colour: Colour| canvas.frame((x, y - 7), (x + 18, y + 7), colour);
            match entry {
                Entry::Outcome(ReplayOutcome::Unsupported, _) => frame(GRID)?,
                Entry::Outcome(outcome, control) => self.cell(canvas, place, outcome, control, true)?,
                Entry::Doubted => self.cell(canvas, place, ReplayOutcome::Catches, false, false)?,
                Entry::Fails => frame(CRITICAL)?,
            }
            canvas.text(label, (x + 24, y), At::Left, INK)?;
        }
        Ok(())
    }
}
