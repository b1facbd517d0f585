//! Owns where results of replays are kept for the lake: one file for each different result, read into the lake at once.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::lake::ingest::{Options, Silent, ingest};
use crate::lake::{Lake, LakeError};
use crate::model::time::Ts;
use crate::replay::{Results, write_whole};
use crate::source::replay_results::FOLDER;

/// Keeps the results and reads them into the lake. A replay that finds what an earlier one found takes its place: it says the same, of
/// a later time. `asked`: the lake was named on the command line, so it is begun where there is none; else no lake means nothing to do.
pub fn keep(lake: &Path, asked: bool, results: &Results) -> anyhow::Result<Option<PathBuf>> {
    let lake = match Lake::open(lake) {
        Ok(lake) => lake,
        Err(LakeError::NotFound(_)) if asked => Lake::open_or_create(lake)?,
        Err(LakeError::NotFound(_)) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let digest = results.digest();
    let short = digest.strip_prefix("sha256:").and_then(|d| d.get(..16)).unwrap_or("results");
    let file = Path::new(FOLDER).join(format!("{short}.json"));
    std::fs::create_dir_all(FOLDER).with_context(|| format!("make the folder {FOLDER}"))?;
    write_whole(&file, results.json().as_bytes())?;
    let now = Ts(jiff::Timestamp::now().as_microsecond());
    ingest(&lake, std::slice::from_ref(&file), &Options::at(now), &Silent)
        .with_context(|| format!("the results are kept in {0}; read them later with `mechanic ingest {0}`", file.display()))?;
    Ok(Some(file))
}
