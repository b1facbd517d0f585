//! Owns replay: preserved failures are run through every validator of today, each run alone, and compared with what is expected.

#[macro_use]
pub mod words;
pub mod compare;
mod confine;
mod corpus;
mod digest;
mod fixture;
pub mod harvest;
mod isolate;
mod judge;
mod matrix;
mod mcnemar;
mod memo;
mod outcome;
mod perform;
mod place;
pub mod record;
pub mod results;
mod select;
pub mod show;
mod stimulus;
pub mod subsume;
mod suite;
mod tamper;
mod validator;
pub mod verdict;
mod waivers;
pub mod weigh;
mod wrong;

pub use corpus::write_whole;
pub use isolate::Level;
pub use judge::input_digest;
pub use perform::{Failed, Progress, Request, lock, memo_file, perform};
pub use results::Results;
pub use select::Selection;
pub use suite::Suite;
pub use validator::duration;
pub use wrong::Wrong;

#[cfg(test)]
mod tests_corpus;
#[cfg(test)]
mod tests_perform;
