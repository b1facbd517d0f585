//! Owns `mechanic doctor`: its arguments, one call, what is printed.

mod examine;
mod expiry;
mod show;
mod unknowable;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;

use super::discover::{Homes, given_or_found};
use super::exit::ENVIRONMENT;
use super::inside::refuse_lake;
use super::{Usage, print};
use crate::config::Config;
use crate::model::time::Ts;
use crate::source::walk::{shown, walk};

/// Tells what can be known from traces and session logs, file by file, and when they expire.
///
/// Reads the files themselves and needs no lake. A file in a folder that cannot be read is told; exits with 3 where a PATH itself could
/// not be read.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  mechanic doctor\n  mechanic doctor ~/.claude/projects --format json\n  mechanic doctor --all-projects --all"
)]
pub struct Args {
    /// Files or folders; without one, the traces and sessions of this repository.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Sessions of every other project too.
    #[arg(long)]
    all_projects: bool,
    /// List every file, not only the first of each source.
    #[arg(long)]
    all: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The time that counts as now, for what expires when (RFC 3339).
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn run(lake: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let here = std::env::current_dir()?;
    let config = Config::load(&here)?;
    let now = match &args.now {
        Some(text) => Ts::parse(text).ok_or_else(|| Usage(format!("--now {text}: no time; write one like 2026-11-30T00:00:00Z")))?,
        None => Ts(jiff::Timestamp::now().as_microsecond()),
    };
    let (paths, found) = given_or_found(&args.paths, &here, &config, args.all_projects)?;
    refuse_lake(lake, &paths)?;
    let walked = walk(&paths, &[lake.to_owned()]).map_err(|e| Usage(format!("{e}: name files or folders that exist")))?;
    let expiry = expiry::Expiry::new(&Homes::of_environment().claude, &here);
    let report = examine::examine(&walked.files, &walked.unreadable, &expiry);
    match args.format {
        Format::Json => print(&(serde_json::to_string_pretty(&report)? + "\n"))?,
        Format::Text => {
            let found = found.map_or_else(String::new, |places| format!("Found for this repository:\n{places}\n"));
            print(&(found + &show::text(&report, now, args.all)))?;
        }
    }
    let named: HashSet<String> = args.paths.iter().map(|p| shown(p)).collect();
    let is_named = report.failed.iter().any(|file| named.contains(&file.path));
    Ok(if is_named { ExitCode::from(ENVIRONMENT) } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests;
