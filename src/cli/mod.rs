//! Owns the command line: which commands there are, and which exit code an outcome has. One file a command.

#[cfg(feature = "audit")]
mod audit;
pub mod discover;
mod doctor;
pub mod exit;
#[cfg(feature = "audit")]
mod explain;
#[cfg(feature = "audit")]
mod fresh;
#[cfg(feature = "replay")]
mod harvest;
#[cfg(feature = "audit")]
mod ingest;
mod init;
mod inside;
#[cfg(feature = "audit")]
mod label;
#[cfg(feature = "audit")]
mod lake;
mod prefix;
#[cfg(feature = "audit")]
mod query;
#[cfg(feature = "replay")]
mod record;
#[cfg(feature = "replay")]
mod replay;
#[cfg(all(feature = "audit", feature = "replay"))]
mod replays;
mod schema;
#[cfg(feature = "audit")]
mod sql;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use exit::{Usage, exit_code};

use crate::config::Config;

/// Tells the maintainer of a coding-agent harness, from recorded evidence alone, what every gate costs, what it alone caught and
/// what removing it would risk.
#[derive(Debug, Parser)]
#[command(name = "mechanic", version, max_term_width = 100)]
pub struct Cli {
    /// Folder of the lake [default: `lake` of mechanic.toml, else .mechanic/lake].
    #[arg(long, global = true, value_name = "DIR")]
    lake: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "audit")]
    Audit(audit::Args),
    Doctor(doctor::Args),
    #[cfg(feature = "audit")]
    Explain(explain::Args),
    #[cfg(feature = "replay")]
    Harvest(harvest::Args),
    Init(init::Args),
    #[cfg(feature = "audit")]
    Ingest(ingest::Args),
    #[cfg(feature = "audit")]
    Label(label::Args),
    #[cfg(feature = "audit")]
    Lake(lake::Args),
    #[cfg(feature = "audit")]
    Query(query::Args),
    #[cfg(feature = "replay")]
    Record(record::Args),
    #[cfg(feature = "replay")]
    Replay(replay::Args),
    #[cfg(feature = "audit")]
    Sql(sql::Args),
    Schema(schema::Args),
}

/// Runs one command. The exit code of an error is [`exit_code`].
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    #[cfg(feature = "replay")]
    if let Command::Record(args) = &cli.command {
        return record::run(args);
    }
    #[cfg(feature = "replay")]
    let asked = cli.lake.is_some();
    let lake = match cli.lake {
        Some(folder) => folder,
        None => Config::load(&std::env::current_dir()?)?.lake.unwrap_or_else(|| PathBuf::from(".mechanic/lake")),
    };
    let lake: &Path = &lake;
    match cli.command {
        #[cfg(feature = "audit")]
        Command::Audit(args) => audit::run(lake, &args),
        Command::Doctor(args) => doctor::run(lake, &args),
        #[cfg(feature = "audit")]
        Command::Explain(args) => explain::run(lake, &args),
        #[cfg(feature = "replay")]
        Command::Harvest(args) => harvest::run(lake, &args),
        Command::Init(args) => init::run(&args),
        #[cfg(feature = "audit")]
        Command::Ingest(args) => ingest::run(lake, &args),
        #[cfg(feature = "audit")]
        Command::Label(args) => label::run(lake, &args),
        #[cfg(feature = "audit")]
        Command::Lake(args) => lake::run(lake, &args),
        #[cfg(feature = "audit")]
        Command::Query(args) => query::run(lake, &args),
        #[cfg(feature = "replay")]
        Command::Record(args) => record::run(&args),
        #[cfg(feature = "replay")]
        Command::Replay(args) => replay::run(lake, asked, &args),
        #[cfg(feature = "audit")]
        Command::Sql(args) => sql::run(lake, &args),
        Command::Schema(args) => schema::run(&args),
    }
}

/// Prints to standard output; a reader that went away is an error that [`exit_code`] takes for none.
fn print(text: &str) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    unless_gone(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// A reader of our output that went away has read enough. The command goes on: what it found decides its exit code all the same.
fn unless_gone(written: std::io::Result<()>) -> std::io::Result<()> {
    match written {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
