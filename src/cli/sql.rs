//! Owns `mechanic sql`: answers one SELECT over the lake's tables.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use super::Usage;
use super::inside::refuse_output;
use crate::config::prices::PriceTable;
use crate::sql::render::{self, Format};
use crate::sql::{Answer, Citation, Engine, Limits, SqlError, Tables};

/// Answers one SELECT over the tables of the lake (`mechanic schema` shows them). Nothing else runs: no other statement, no second one, no file.
///
/// Instants are TIMESTAMP in UTC. DESCRIBE and SUMMARIZE of a table, and SHOW TABLES, count as a SELECT.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  mechanic sql \"select gate_id, count(*) from gate_runs group by all order by all\"\n  mechanic sql -f question.sql --format csv -o answer.csv"
)]
pub struct Args {
    /// The statement; read from standard input without it.
    statement: Option<String>,
    /// Reads the statement from a file.
    #[arg(short, long, value_name = "FILE", conflicts_with = "statement")]
    file: Option<PathBuf>,
    /// How the answer is printed.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Adds what the figures rest on: lake version and digests.
    #[arg(long)]
    cite: bool,
    /// Writes to a file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
}

/// What one statement may take.
#[derive(Debug, clap::Args)]
pub struct LimitArgs {
    /// Stops the statement after so many seconds; 0 for never.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Memory it may take.
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = Limits::memory)]
    memory: String,
}

impl LimitArgs {
    pub fn limits(&self) -> Limits {
        Limits { time: (self.timeout > 0).then(|| Duration::from_secs(self.timeout)), memory: Some(self.memory.clone()) }
    }
}

/// Longest statement that is read.
const MAX_STATEMENT: u64 = 1 << 20;

pub fn run(lake: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let sql = match (&args.statement, &args.file) {
        (Some(text), _) => text.clone(),
        (None, Some(path)) => read(File::open(path).map_err(|e| Usage(format!("cannot read {}: {e}", path.display())))?)?,
        (None, None) if io::stdin().is_terminal() => return Err(Usage("give a statement, -f FILE, or one on standard input".into()).into()),
        (None, None) => read(io::stdin().lock())?,
    };
    refuse_outputs(lake, args.out.as_deref())?;
    let engine = open_engine(lake, &args.limits.limits())?;
    let answer = engine.select(&sql).map_err(usage)?;
    let cite = args.cite.then(|| engine.cite_sql(&sql));
    print(&answer, args.format, cite.as_ref(), args.out.as_deref())
}

fn read(input: impl Read) -> anyhow::Result<String> {
    let mut text = String::new();
    input.take(MAX_STATEMENT + 1).read_to_string(&mut text).map_err(|e| Usage(format!("the statement cannot be read: {e}")))?;
    if text.len() as u64 > MAX_STATEMENT {
        return Err(Usage(format!("the statement is longer than {MAX_STATEMENT} bytes")).into());
    }
    Ok(text)
}

/// An engine over what the lake shows now.
pub fn open_engine(lake: &Path, limits: &Limits) -> anyhow::Result<Engine> {
    let fresh = super::fresh::open(lake)?;
    let prices = PriceTable::of(&fresh.config)?;
    let tables = Tables::of(&fresh.lake.snapshot()?, &prices, Some(fresh.lake.root().join("cache")));
    Ok(Engine::open_within(&tables, &prices, limits)?)
}

/// Errors that another command line would mend have the exit code of a usage error.
pub fn usage(error: SqlError) -> anyhow::Error {
    if error.is_usage() { Usage(error.to_string()).into() } else { error.into() }
}

/// The answer must not be written over the lake it comes from.
pub fn refuse_outputs(lake: &Path, out: Option<&Path>) -> Result<(), Usage> {
    out.map_or(Ok(()), |out| refuse_output(lake, out))
}

/// Writes an answer to a file or standard output.
pub fn print(answer: &Answer, format: Format, cite: Option<&Citation>, out: Option<&Path>) -> anyhow::Result<ExitCode> {
    match out {
        Some(path) => {
            let file =
                File::create(path).map_err(|e| anyhow::anyhow!("cannot write {}: {e}; name a writable file with -o", path.display()))?;
            let mut file = BufWriter::new(file);
            render::write(answer, format, cite, &mut file)?;
            file.flush()?;
        }
        None if format == Format::Parquet && io::stdout().is_terminal() => {
            return Err(Usage("Parquet is no text: name a file with -o FILE, or redirect".into()).into());
        }
        None => {
            let mut stdout = BufWriter::new(io::stdout().lock());
            let written = render::write(answer, format, cite, &mut stdout).and_then(|()| Ok(stdout.flush()?));
            match written {
                Err(SqlError::Write(e)) => super::unless_gone(Err(e))?,
                other => other?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
