//! Owns SQL: the engine that answers it over a lake, the guard that lets only one SELECT through, the query catalogue and the ways to print answers.

mod cache;
pub mod catalogue;
mod embedded;
mod engine;
mod error;
mod guard;
mod limits;
pub mod params;
mod relations;
pub mod render;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_views;

pub use cache::Cache;
pub use catalogue::{Query, find, queries};
pub use engine::{Answer, Citation, Engine, Tables, query_digest};
pub use error::SqlError;
pub use limits::Limits;
