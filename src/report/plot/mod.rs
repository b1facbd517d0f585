//! Owns the plots: SVG without font files, drawn from the same answers as the tables; each is `None` where there is nothing to draw.

mod canvas;
mod cost_yield;
mod first_stops;
mod replay_matrix;
mod time_shares;
mod trend;

use super::answers::Answers;
/// The plot that stands with what replay proves.
pub use replay_matrix::NAME as REPLAY;

/// A drawn plot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    /// File name without ending, and anchor on the page.
    pub name: &'static str,
    /// How to read it.
    pub caption: &'static str,
    /// A whole SVG document, which may also stand inside HTML.
    pub svg: String,
}

/// Why a plot could not be drawn: nothing a user can mend.
#[derive(Debug, thiserror::Error)]
#[error("failed to draw plot {name}: {message}")]
pub struct PlotError {
    pub name: &'static str,
    pub message: String,
}

/// All plots that have something to show, in the order of the page.
pub fn plots(answers: &Answers) -> Result<Vec<Plot>, PlotError> {
    let drawn = [
        first_stops::plot(answers)?,
        cost_yield::plot(answers)?,
        trend::plot(answers)?,
        time_shares::plot(answers)?,
        replay_matrix::plot(answers)?,
    ];
    Ok(drawn.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests;
