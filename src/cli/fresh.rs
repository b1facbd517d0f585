//! Owns the way every reading command opens the lake: derived tables are brought up to date first.

use std::path::Path;

use crate::attribute::{Rulebook, refresh};
use crate::config::Config;
use crate::lake::Lake;

/// A lake whose derived tables are up to date, and the configuration they were derived with.
pub struct Fresh {
    pub lake: Lake,
    pub config: Config,
}

/// Opens the lake with the configuration of the current folder.
pub fn open(lake: &Path) -> anyhow::Result<Fresh> {
    let config = Config::load(&std::env::current_dir()?)?;
    let lake = Lake::open(lake)?;
    refresh(&lake, &Rulebook::of_config(&config))?;
    Ok(Fresh { lake, config })
}
