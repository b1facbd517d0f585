//! Owns replay: what a gate's command did is recorded as it happens, so that failures can be preserved and run again.

pub mod record;
