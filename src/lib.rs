//! Owns the crate: from recorded evidence alone, what every gate of a coding-agent harness costs, what it alone caught,
//! and what removing it would risk.

#[cfg(feature = "audit")]
pub mod attribute;
pub mod cli;
pub mod config;
#[cfg(feature = "audit")]
pub mod lake;
#[cfg(feature = "audit")]
pub mod measure;
pub mod model;
pub mod plain;
#[cfg(feature = "replay")]
pub mod replay;
#[cfg(feature = "audit")]
pub mod report;
pub mod source;
#[cfg(feature = "audit")]
pub mod sql;
