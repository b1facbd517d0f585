//! Owns configuration: built-in harness profiles and what a user's file overrides in them.

pub mod error;
pub mod file;
pub mod instructions;
pub mod layout;
pub mod prices;
pub mod profile;
pub mod version;

pub use error::ConfigError;
pub use file::Config;
