//! Owns `mechanic ingest`: its arguments, one call, what is printed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Reads traces and session logs into the lake; what is unchanged is not read again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files or folders; hidden folders are walked too.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub fn run(lake: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let _ = (lake, args);
    todo!()
}
