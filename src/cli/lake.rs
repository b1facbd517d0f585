//! Owns `mechanic lake`: its arguments, one call, what is printed.

use std::path::Path;
use std::process::ExitCode;

/// Looks after the lake.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Prints one SHA-256 over the sorted logical rows: two lakes with the same digest say the same.
    Digest,
}

pub fn run(lake: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let _ = lake;
    match args.command {
        Command::Digest => todo!(),
    }
}
