//! Owns configuration: built-in harness profiles and what a user's file overrides in them.

pub mod profile;
pub mod version;
