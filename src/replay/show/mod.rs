//! Owns how results are shown: as text for a person, and in the forms that CI systems read.

mod github;
mod junit;
mod sarif;
mod text;

pub use github::github;
pub use junit::junit;
pub use sarif::sarif;
pub use text::text;

use super::weigh::Issue;

/// What an issue is about, in one phrase.
fn about(issue: &Issue) -> String {
    let who = issue.validator.as_deref().or(issue.gate.as_deref());
    match (issue.fixture.as_deref(), who) {
        (Some(fixture), Some(who)) => format!("{fixture} × {who}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "the corpus".to_owned(),
    }
}

#[cfg(test)]
mod tests;
