//! Owns reports: what changed, what there is to do and what could not be known, as Markdown, HTML, plots, tables and a summary.
//! Every figure comes from a named query; a report is a pure function of the answers and its frame.

pub mod escape;
pub mod figures;
pub mod rich;
pub mod table;
pub mod window;
