//! Owns the plot of cost against yield: each control by its own time and its first stops.

use super::canvas::{At, BLUE, CRITICAL, GRID, INK, MUTED, SIZE, draw, step, text_width};
use super::{Plot, PlotError};
use crate::report::answers::Answers;
use crate::report::escape::shorten;
use crate::report::figures::{count, millis};

const NAME: &str = "cost-yield";
const WIDTH: i32 = 960;
const HEIGHT: i32 = 440;
const LEFT: i32 = 56;
const RIGHT: i32 = WIDTH - 24;
const TOP: i32 = 64;
const BOTTOM: i32 = HEIGHT - 52;

/// Marks of the time axis, which is logarithmic: gates differ by factors, not by minutes.
const MARKS: [i64; 14] = [
    100,
    1_000,
    5_000,
    15_000,
    60_000,
    300_000,
    900_000,
    3_600_000,
    14_400_000,
    43_200_000,
    172_800_000,
    864_000_000,
    4_320_000_000,
    43_200_000_000,
];

struct Dot {
    name: String,
    at: (i32, i32),
    missed: bool,
}

pub(super) fn plot(answers: &Answers) -> Result<Option<Plot>, PlotError> {
    let known: Vec<(&str, i64, i64, bool)> = answers
        .gates
        .iter()
        .filter(|g| g.is_control() && g.n_gate_runs > 0)
        .filter_map(|g| Some((g.gate_id.as_str(), g.own_ms().filter(|ms| *ms > 0)?, g.first_stops()?, g.n_misses_proven.unwrap_or(0) > 0)))
        .collect();
    let unknown = answers.gates.iter().filter(|g| g.is_control() && g.n_gate_runs > 0).count() - known.len();
    let (Some(least), Some(most)) = (known.iter().map(|k| k.1).min(), known.iter().map(|k| k.1).max()) else { return Ok(None) };
    let from = MARKS.iter().rev().find(|m| **m < least).copied().unwrap_or(MARKS[0]).min(least);
    let to = MARKS.iter().find(|m| **m > most).copied().unwrap_or(most).max(from + 1);
    let x_of = |ms: i64| {
        let share = ((ms as f64).ln() - (from as f64).ln()) / ((to as f64).ln() - (from as f64).ln());
        LEFT + (share * f64::from(RIGHT - LEFT)).round() as i32
    };
    let gap = step(known.iter().map(|k| k.2).max().unwrap_or(1).max(1), 6);
    let max = known.iter().map(|k| k.2).max().unwrap_or(0).max(1).div_euclid(gap) * gap + gap;
    let y_of = |n: i64| BOTTOM - (n as f64 / max as f64 * f64::from(BOTTOM - TOP)).round() as i32;
    let dots: Vec<Dot> =
        known.iter().map(|(name, ms, n, missed)| Dot { name: shorten(name, 30), at: (x_of(*ms), y_of(*n)), missed: *missed }).collect();
    let labels = place(&dots);
    let alt = format!(
        "Own time and first stops of controls: {}",
        known.iter().map(|(name, ms, n, _)| format!("{name} {} and {n}", millis(*ms))).collect::<Vec<_>>().join(", ")
    );
    let svg = draw(NAME, (WIDTH, HEIGHT), &alt, |canvas| {
        canvas.bold("Cost against yield", (0, SIZE), At::Left)?;
        canvas.text("first stops ↑", (0, 40), At::Left, MUTED)?;
        canvas.dot((LEFT + 120, 40), 5, CRITICAL, false)?;
        canvas.text("ringed: provably missed a problem too", (LEFT + 132, 40), At::Left, MUTED)?;
        let mut tick = 0;
        while tick <= max {
            canvas.line((LEFT, y_of(tick)), (RIGHT, y_of(tick)), GRID)?;
            canvas.text(&count(tick), (LEFT - 8, y_of(tick)), At::Right, MUTED)?;
            tick += gap;
        }
        for mark in MARKS.iter().filter(|m| (from..=to).contains(*m)) {
            canvas.line((x_of(*mark), BOTTOM), (x_of(*mark), BOTTOM + 4), MUTED)?;
            let anchor = if x_of(*mark) > RIGHT - 20 { At::Right } else { At::Middle };
            canvas.text(&millis(*mark).replace(".0 ", " "), (x_of(*mark), BOTTOM + 16), anchor, MUTED)?;
        }
        let note = if unknown > 0 {
            format!("own time over the evidence → (not shown: {unknown} whose time is unknown)")
        } else {
            "own time over the evidence →".to_owned()
        };
        canvas.text(&note, (RIGHT, BOTTOM + 38), At::Right, MUTED)?;
        for (dot, label) in dots.iter().zip(&labels) {
            if let Some((at, anchor)) = label {
                if (at.1 - dot.at.1).abs() > 8 {
                    canvas.line(dot.at, (at.0, at.1), GRID)?;
                }
                canvas.text(&dot.name, *at, *anchor, INK)?;
            }
        }
        for dot in &dots {
            canvas.dot(dot.at, 5, BLUE, true)?;
            if dot.missed {
                canvas.dot(dot.at, 9, CRITICAL, false)?;
            }
        }
        Ok(())
    })?;
    Ok(Some(Plot {
        name: NAME,
        caption: "Each control by its own time (logarithmic) and the problems it stopped first. Bottom right is where to ask questions, not where to delete: a gate there may deter, or guard what rarely breaks.",
        svg,
    }))
}

type Label = Option<((i32, i32), At)>;

/// Puts each name beside its dot where no other name or dot is; a name with no free place is left to the table.
fn place(dots: &[Dot]) -> Vec<Label> {
    let mut taken: Vec<(i32, i32, i32, i32)> = dots.iter().map(|d| (d.at.0 - 8, d.at.1 - 8, d.at.0 + 8, d.at.1 + 8)).collect();
    dots.iter()
        .map(|dot| {
            let width = text_width(&dot.name);
            for shift in [0, -16, 16, -32, 32, -48, 48, -64, -80, -96, -112, -128, -144] {
                for anchor in [At::Left, At::Right] {
                    let y = dot.at.1 + shift;
                    let x = if anchor == At::Left { dot.at.0 + 14 } else { dot.at.0 - 14 };
                    let area = if anchor == At::Left { (x, y - 8, x + width, y + 8) } else { (x - width, y - 8, x, y + 8) };
                    let inside = area.0 >= LEFT && area.2 <= WIDTH && area.1 >= TOP - 10 && area.3 <= BOTTOM + 8;
                    if inside && taken.iter().all(|t| area.2 < t.0 || t.2 < area.0 || area.3 <= t.1 || t.3 <= area.1) {
                        taken.push(area);
                        return Some(((x, y), anchor));
                    }
                }
            }
            None
        })
        .collect()
}
