//! Owns the command line: which commands there are, and which exit code an outcome has. One file a command.

pub mod discover;
pub mod exit;
#[cfg(feature = "audit")]
mod ingest;
#[cfg(feature = "audit")]
mod lake;
pub mod plain;
mod schema;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use exit::{Usage, exit_code};

/// Tells the maintainer of a coding-agent harness, from recorded evidence alone, what every gate costs, what it alone caught and
/// what removing it would risk.
#[derive(Debug, Parser)]
#[command(name = "mechanic", version, max_term_width = 100)]
pub struct Cli {
    /// Folder of the lake.
    #[arg(long, global = true, value_name = "DIR", default_value = ".mechanic/lake")]
    lake: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "audit")]
    Ingest(ingest::Args),
    #[cfg(feature = "audit")]
    Lake(lake::Args),
    Schema(schema::Args),
}

/// Runs one command. The exit code of an error is [`exit_code`].
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    #[cfg_attr(not(feature = "audit"), allow(unused_variables))]
    let lake = &cli.lake;
    match cli.command {
        #[cfg(feature = "audit")]
        Command::Ingest(args) => ingest::run(lake, &args),
        #[cfg(feature = "audit")]
        Command::Lake(args) => lake::run(lake, &args),
        Command::Schema(args) => schema::run(&args),
    }
}
