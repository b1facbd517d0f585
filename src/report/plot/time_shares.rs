//! Owns the plot of where the time went, week by week and in all.

use super::canvas::{At, BLUE, Colour, GREEN, INK, MAJOR, MUTED, PALE, SIZE, UNRATED, VIOLET, draw, scaled, text_width};
use super::{Plot, PlotError};
use crate::report::answers::{Answers, Span};
use crate::report::figures::{count, millis};
use crate::report::table::Row;

const NAME: &str = "time-shares";
const WIDTH: i32 = 960;
const ROW: i32 = 24;
/// Newest weeks shown beside the whole.
const MOST: usize = 12;

const PARTS: [(&str, &str, Colour, f64); 6] = [
    ("model_ms", "model", BLUE, 1.0),
    ("tool_ms", "tools", GREEN, 1.0),
    ("gate_ms", "gates", MAJOR, 1.0),
    ("human_ms", "people and waits", VIOLET, 1.0),
    ("idle_ms", "idle (gaps over 30 min)", PALE, 1.0),
    ("unrecorded_ms", "not recorded", UNRATED, 0.14),
];

struct Bar {
    label: String,
    end: String,
    parts: [i64; 6],
}

pub(super) fn plot(answers: &Answers) -> Result<Option<Plot>, PlotError> {
    let weeks: Vec<Row> = answers.rows("time_shares", Span::Evidence).collect();
    let mut bars = Vec::new();
    let mut all = Bar { label: "all weeks".to_owned(), end: String::new(), parts: [0; 6] };
    let (mut elapsed, mut runs, mut with_model) = (0i64, 0, 0);
    for row in &weeks {
        let parts = PARTS.map(|(column, ..)| row.n(column));
        for (sum, part) in all.parts.iter_mut().zip(parts) {
            *sum = sum.saturating_add(part);
        }
        elapsed = elapsed.saturating_add(row.n("elapsed_ms"));
        runs += row.n("n_runs");
        with_model += row.n("n_with_model");
        bars.push(Bar {
            label: row.text("week").unwrap_or_default().to_owned(),
            end: end(row.n("elapsed_ms"), row.n("n_with_model"), row.n("n_runs")),
            parts,
        });
    }
    if all.parts.iter().sum::<i64>() == 0 {
        return Ok(None);
    }
    all.end = end(elapsed, with_model, runs);
    let mut bars: Vec<Bar> = bars.split_off(bars.len().saturating_sub(MOST));
    bars.reverse();
    bars.insert(0, all);
    let left = bars.iter().map(|b| text_width(&b.label)).max().unwrap_or(0) + 10;
    let right = WIDTH - bars.iter().map(|b| text_width(&b.end)).max().unwrap_or(0) - 10;
    let top = 62;
    let height = top + i32::try_from(bars.len()).unwrap_or(0) * ROW + 30;
    let alt = format!(
        "Shares of {} in {} runs: {}",
        millis(elapsed),
        count(runs),
        PARTS.iter().zip(&bars[0].parts).map(|((_, label, ..), ms)| format!("{label} {}", millis(*ms))).collect::<Vec<_>>().join(", ")
    );
    let svg = draw(NAME, (WIDTH, height), &alt, |canvas| {
        canvas.bold("Where the time went", (0, SIZE), At::Left)?;
        let entries: Vec<(&str, Colour, f64)> = PARTS
            .iter()
            .zip(&bars[0].parts)
            .filter(|(_, ms)| **ms > 0)
            .map(|((_, label, colour, opacity), _)| (*label, *colour, *opacity))
            .collect();
        canvas.legend(&entries, (0, 40), WIDTH)?;
        for (i, bar) in bars.iter().enumerate() {
            // A little air sets the whole apart from the weeks.
            let y = top + i32::try_from(i).unwrap_or(0) * ROW + if i > 0 { 8 } else { 0 };
            let total: i64 = bar.parts.iter().sum();
            canvas.text(&bar.label, (left - 8, y + ROW / 2), At::Right, INK)?;
            let mut sum = 0;
            for (part, (_, _, colour, opacity)) in bar.parts.iter().zip(PARTS) {
                let from = left + scaled(sum, total, right - left);
                sum += part;
                let to = left + scaled(sum, total, right - left);
                canvas.rect((from, y + 4), (to, y + ROW - 4), colour, opacity)?;
            }
            canvas.text(&bar.end, (right + 8, y + ROW / 2), At::Left, MUTED)?;
        }
        Ok(())
    })?;
    Ok(Some(Plot {
        name: NAME,
        caption: "Elapsed time of the runs that ended in each week; each instant has one owner, so the parts add up. At the end: the time, and how many runs have a session log that tells model time.",
        svg,
    }))
}

fn end(elapsed: i64, with_model: i64, runs: i64) -> String {
    format!("{}, {} of {} logged", millis(elapsed), count(with_model), count(runs))
}
