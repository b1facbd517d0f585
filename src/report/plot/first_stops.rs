//! Owns the plot of first stops by gate and severity; enforced and acted-on stops are told apart, never summed in silence.

use super::canvas::{At, CRITICAL, Colour, GRID, INFO, INK, MAJOR, MINOR, MUTED, SIZE, UNRATED, draw, scaled, step, text_width};
use super::{Plot, PlotError};
use crate::report::answers::{Answers, Span};
use crate::report::escape::shorten;
use crate::report::figures::{count, known, percent};
use crate::report::gate::Gate;

const NAME: &str = "first-stops";
const WIDTH: i32 = 960;
const ROW: i32 = 24;
/// Rows at most; the table has all gates.
const MOST: usize = 24;
const SEVERITIES: [(&str, Colour); 5] = [("critical", CRITICAL), ("major", MAJOR), ("minor", MINOR), ("info", INFO), ("unrated", UNRATED)];
const ACTED_ON: f64 = 0.45;

/// First stops of one gate: by severity, enforced and acted on.
type Counts = [[i64; 5]; 2];

pub(super) fn plot(answers: &Answers) -> Result<Option<Plot>, PlotError> {
    let mut rows: Vec<(&Gate, Counts)> = answers
        .gates
        .iter()
        .filter(|g| g.is_control() && (g.first_stops().unwrap_or(0) > 0 || g.rate_basis.is_some()))
        .map(|g| (g, counts(answers, &g.gate_id)))
        .collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let total = |c: &Counts| -> i64 { c.iter().flatten().sum() };
    // Where there is no room for all, those with the most stay, in the harness's order.
    let left_out = rows.len().saturating_sub(MOST);
    if left_out > 0 {
        let mut sizes: Vec<(i64, usize)> = rows.iter().enumerate().map(|(i, (_, c))| (-total(c), i)).collect();
        sizes.sort_unstable();
        let keep: Vec<usize> = sizes.iter().take(MOST).map(|(_, i)| *i).collect();
        let mut i = 0;
        rows.retain(|_| {
            i += 1;
            keep.contains(&(i - 1))
        });
    }
    let max = rows.iter().map(|(_, c)| total(c)).max().unwrap_or(0).max(1);
    let names: Vec<String> = rows.iter().map(|(g, _)| shorten(&g.gate_id, 34)).collect();
    let ends: Vec<String> = rows.iter().map(|(g, c)| end(g, c)).collect();
    let left = names.iter().map(|n| text_width(n)).max().unwrap_or(0) + 12;
    let right = WIDTH - ends.iter().map(|e| text_width(e)).max().unwrap_or(0) - 12;
    let used: Vec<(&str, Colour, f64)> = SEVERITIES
        .iter()
        .enumerate()
        .filter(|(i, _)| rows.iter().any(|(_, c)| c[0][*i] + c[1][*i] > 0))
        .map(|(_, (s, colour))| (*s, *colour, 1.0))
        .chain([("full: enforced", INK, 0.9), ("pale: acted on", INK, 0.9 * ACTED_ON)])
        .collect();
    let body = i32::try_from(rows.len()).unwrap_or(0) * ROW;
    let top = 40 + 24;
    let height = top + body + 36 + if left_out > 0 { 20 } else { 0 };
    let alt =
        format!("First stops by gate: {}", rows.iter().map(|(g, c)| format!("{} {}", g.gate_id, total(c))).collect::<Vec<_>>().join(", "));
    let svg = draw(NAME, (WIDTH, height), &alt, |canvas| {
        canvas.bold("First stops by gate and severity", (0, SIZE), At::Left)?;
        canvas.legend(&used, (0, 40), WIDTH)?;
        let gap = step(max, 8);
        let mut tick = 0;
        while tick <= max {
            let x = left + scaled(tick, max, right - left);
            canvas.line((x, top), (x, top + body), GRID)?;
            canvas.text(&count(tick), (x, top + body + 14), At::Middle, MUTED)?;
            tick += gap;
        }
        for (i, ((_, c), (name, end))) in rows.iter().zip(names.iter().zip(&ends)).enumerate() {
            let y = top + i32::try_from(i).unwrap_or(0) * ROW;
            canvas.text(name, (left - 8, y + ROW / 2), At::Right, INK)?;
            let mut sum = 0;
            for (basis, by_severity) in c.iter().enumerate() {
                for (n, (_, colour)) in by_severity.iter().zip(SEVERITIES) {
                    let from = left + scaled(sum, max, right - left);
                    sum += n;
                    let to = left + scaled(sum, max, right - left);
                    canvas.rect((from, y + 4), (to, y + ROW - 4), colour, if basis == 0 { 1.0 } else { ACTED_ON })?;
                }
            }
            canvas.text(end, (left + scaled(sum, max, right - left) + 6, y + ROW / 2), At::Left, if sum == 0 { MUTED } else { INK })?;
        }
        if left_out > 0 {
            canvas.text(&format!("and {left_out} gates with fewer: see the table"), (left, top + body + 36), At::Left, MUTED)?;
        }
        Ok(())
    })?;
    Ok(Some(Plot {
        name: NAME,
        caption: "Product problems each gate stopped first, over the evidence. At the bar's end: enforced + acted on; where there were none, the exact 95 % upper bound and the number of runs behind it.",
        svg,
    }))
}

fn counts(answers: &Answers, gate: &str) -> Counts {
    let mut out = Counts::default();
    for row in answers.rows("first_stops", Span::Evidence).filter(|r| r.text("gate_id") == Some(gate)) {
        let severity = SEVERITIES.iter().position(|(s, _)| row.text("severity") == Some(s)).unwrap_or(4);
        let basis = usize::from(row.text("stop_basis") != Some("enforced"));
        out[basis][severity] += row.n("n_problems");
    }
    out
}

fn end(gate: &Gate, counts: &Counts) -> String {
    let [enforced, acted_on] = counts.map(|c| c.iter().sum::<i64>());
    match enforced + acted_on {
        0 if gate.n_unclassified > 0 => format!("0, and {} by a person to label", count(gate.n_unclassified)),
        0 => format!("0 of {} runs, up to {}", count(gate.n_runs_counted), known(gate.upper95, percent)),
        _ => format!("{} + {}", count(enforced), count(acted_on)),
    }
}
