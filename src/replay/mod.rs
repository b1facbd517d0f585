//! Owns replay: preserved failures are run through every validator of today, each run alone, and compared with what is expected.

#[macro_use]
mod words;
mod corpus;
mod digest;
mod fixture;
mod isolate;
mod judge;
mod matrix;
mod mcnemar;
mod memo;
mod outcome;
mod place;
pub mod record;
mod stimulus;
mod subsume;
mod validator;
mod verdict;
mod waivers;
mod weigh;
mod wrong;

#[cfg(test)]
mod tests_corpus;
