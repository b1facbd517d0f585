//! Owns the absence of a lake, in a build without audit: only what `mechanic record` kept can be harvested.

use std::path::Path;

use super::stimuli::Gathered;
use super::{Found, Place};

/// There is none.
pub enum Opened {}

impl Opened {
    pub fn open(_: &Path) -> anyhow::Result<Option<Opened>> {
        Ok(None)
    }

    pub fn ids(&self) -> Vec<String> {
        match *self {}
    }

    pub fn found(&self, _: &Place, _: Option<&[String]>) -> Vec<Found> {
        match *self {}
    }

    pub fn gather(&self, _: &str, _: &Place, _: bool, _: &mut Gathered) {
        match *self {}
    }
}
