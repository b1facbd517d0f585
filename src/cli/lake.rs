//! Owns `mechanic lake`: its arguments, one call, what is printed.

use std::path::Path;
use std::process::ExitCode;

/// Looks after the lake.
///
/// Example: mechanic lake digest
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
    match args.command {
        Command::Digest => {
            let digest = super::fresh::open(lake)?.lake.snapshot()?.digest()?;
            super::print(&format!("{digest}\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
