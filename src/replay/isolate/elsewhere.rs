//! Owns what replay is on systems other than Linux: refused, because nothing of a fixture may run outside isolation.

use std::io;
use std::path::Path;

use super::measures::Measures;
use super::{Cage, Job, Ran};

/// Why there is no way to run anything.
pub(super) const NOWHERE: &str = "the isolation of validators needs Linux; replay in a container or on CI";

pub(super) fn probe(_: &Cage) -> Option<Measures> {
    None
}

pub(super) fn sweep(_: &Path) {}

impl Cage {
    pub fn run(&self, _: &Job<'_>) -> io::Result<Ran> {
        Err(io::Error::other(NOWHERE))
    }
}
