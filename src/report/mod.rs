//! Owns reports: what changed, what there is to do and what could not be known, as Markdown, HTML, plots, tables and a summary.
//! Every figure comes from a named query; a report is a pure function of the answers and its frame.

pub mod answers;
pub mod audit;
pub mod changes;
pub mod escape;
pub mod fail_on;
pub mod figures;
pub mod files;
pub mod gate;
pub mod gather;
pub mod headline;
pub mod lake_digest;
pub mod manifest;
mod memory;
pub mod pages;
pub mod plot;
pub mod replay;
pub mod rich;
pub mod table;
pub mod text;
pub mod todo;
pub mod unknowns;
pub mod views;
pub mod window;

mod build;

pub use audit::{Audit, Frame};
pub use build::{Report, ReportError, build};
pub use fail_on::FailOn;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
