//! Owns the plot of the weeks: runs, first stops, and what should not happen, one above the other on one axis of time.

use super::canvas::{At, BLUE, CRITICAL, Canvas, Colour, GREEN, GRID, INK, MAJOR, MUTED, SIZE, UNRATED, draw, scaled, step};
use super::{Plot, PlotError};
use crate::report::answers::{Answers, Span};
use crate::report::figures::count;
use crate::report::table::Row;
use crate::report::window::weeks_through;

const NAME: &str = "weekly-trend";
const WIDTH: i32 = 960;
const LEFT: i32 = 44;
const RIGHT: i32 = WIDTH - 8;
const PANEL: i32 = 84;
const BETWEEN: i32 = 44;
const TOP: i32 = 62;

/// One panel: its parts are stacked, column, label, colour, opacity.
struct Panel {
    title: &'static str,
    parts: &'static [(&'static str, &'static str, Colour, f64)],
}

const PANELS: [Panel; 3] = [
    Panel { title: "Runs that ended", parts: &[("n_runs", "runs", GREEN, 1.0)] },
    Panel {
        title: "Product problems",
        parts: &[
            ("n_first_stops_enforced", "stopped, enforced", BLUE, 1.0),
            ("n_first_stops_acted_on", "stopped, acted on", BLUE, 0.45),
            ("n_unattributed", "not attributed", UNRATED, 1.0),
        ],
    },
    Panel {
        title: "What should not happen",
        parts: &[("n_escaped", "first seen after merge", CRITICAL, 1.0), ("n_tolls", "gate runs that failed to run", MAJOR, 1.0)],
    },
];

pub(super) fn plot(answers: &Answers) -> Result<Option<Plot>, PlotError> {
    let rows: Vec<Row> = answers.rows("weekly_trend", Span::Evidence).collect();
    let (Some(first), Some(last)) = (rows.first().and_then(|r| r.text("week")), rows.last().and_then(|r| r.text("week"))) else {
        return Ok(None);
    };
    let weeks = weeks_through(first, last);
    if weeks.len() < 2 {
        return Ok(None);
    }
    let of_week: Vec<Option<Row>> = weeks.iter().map(|w| rows.iter().find(|r| r.text("week") == Some(w)).copied()).collect();
    let height = TOP + (PANEL + BETWEEN) * PANELS.len() as i32;
    let alt = format!("Weeks {first} to {last}: runs, first stops, escapes and failed gate runs");
    let svg = draw(NAME, (WIDTH, height), &alt, |canvas| {
        canvas.bold("Week by week", (0, SIZE), At::Left)?;
        for (i, panel) in PANELS.iter().enumerate() {
            panel.draw(canvas, TOP + (PANEL + BETWEEN) * i32::try_from(i).unwrap_or(0), &of_week)?;
        }
        let bottom = TOP + (PANEL + BETWEEN) * PANELS.len() as i32 - BETWEEN;
        let every = weeks.len().div_ceil(13);
        for (i, week) in weeks.iter().enumerate().rev().step_by(every) {
            let short = week.split_once('-').map_or(week.as_str(), |(_, w)| w);
            canvas.text(short, (slot(i, weeks.len()).1, bottom + 14), At::Middle, MUTED)?;
        }
        Ok(())
    })?;
    Ok(Some(Plot {
        name: NAME,
        caption: "ISO weeks by the end of the run, over the evidence; ? where no source records it. Runs differ from week to week in what was built; a step is a question, not an effect.",
        svg,
    }))
}

/// Left, middle and right of the place of week `i` of `n`.
fn slot(i: usize, n: usize) -> (i32, i32, i32) {
    let at = |i: usize| LEFT + scaled(i as i64, n as i64, RIGHT - LEFT);
    let (from, to) = (at(i), at(i + 1));
    let pad = ((to - from) / 6).max(1);
    (from + pad, (from + to) / 2, to - pad)
}

impl Panel {
    fn draw(&self, canvas: &Canvas<'_>, top: i32, weeks: &[Option<Row>]) -> Result<(), PlotError> {
        let total = |r: &Row| self.parts.iter().filter_map(|(column, ..)| r.int(column)).sum::<i64>();
        let max = weeks.iter().flatten().map(total).max().unwrap_or(0).max(1);
        let gap = step(max, 3);
        let max = ((max - 1) / gap + 1) * gap;
        canvas.text(self.title, (LEFT, top - 14), At::Left, INK)?;
        let start = LEFT + super::canvas::text_width(self.title) + 24;
        let entries: Vec<(&str, Colour, f64)> = self.parts.iter().map(|(_, label, colour, opacity)| (*label, *colour, *opacity)).collect();
        if entries.len() > 1 {
            canvas.legend(&entries, (start, top - 14), WIDTH)?;
        }
        let mut tick = 0;
        while tick <= max {
            let y = top + PANEL - scaled(tick, max, PANEL);
            canvas.line((LEFT, y), (RIGHT, y), GRID)?;
            canvas.text(&count(tick), (LEFT - 8, y), At::Right, MUTED)?;
            tick += gap;
        }
        for (i, row) in weeks.iter().enumerate() {
            let Some(row) = row else { continue };
            let (left, middle, right) = slot(i, weeks.len());
            if self.parts.iter().all(|(column, ..)| row.int(column).is_none()) {
                // Not recorded is not none.
                canvas.text("?", (middle, top + PANEL - 8), At::Middle, MUTED)?;
                continue;
            }
            let mut sum = 0;
            for (column, _, colour, opacity) in self.parts {
                let from = top + PANEL - scaled(sum, max, PANEL);
                sum += row.int(column).unwrap_or(0);
                let to = top + PANEL - scaled(sum, max, PANEL);
                canvas.rect((left, to), (right, from), *colour, *opacity)?;
            }
        }
        Ok(())
    }
}
