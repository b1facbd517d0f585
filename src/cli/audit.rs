//! Owns `mechanic audit`: its arguments, one call, what is printed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::discover::given_or_found;
use super::fresh::{self, Fresh};
use super::ingest::{into_lake, refuse_unread, told};
use super::inside::refuse_output;
use super::{Usage, print};
use crate::attribute::Rulebook;
use crate::config::Config;
use crate::config::prices::PriceTable;
use crate::model::id::stable_id;
use crate::model::time::Ts;
use crate::report::window::{self, Window, WindowError};
use crate::report::{FailOn, Frame, Report, build, lake_digest, text};
use crate::sql::Tables;

/// Reads what is new, then writes the report of a week: what changed, what there is to do, what every gate cost and stopped.
///
/// Without PATH, the traces and sessions of this repository are read.
///
/// Example: mechanic audit --week 2026-W48 --fail-on escapes,toll
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files or folders; hidden folders are walked too.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// ISO week to report on, like 2026-W48 [default: the last whole week].
    #[arg(long, conflicts_with_all = ["since", "until"])]
    week: Option<String>,
    /// First day, or instant, to report on.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Last day, or first instant after, to report on.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Time zone of weeks and days [default: `timezone` of mechanic.toml, else UTC].
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// Folder to write to [default: .mechanic/audit/WEEK].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The time to take as the present [default: now].
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
    /// Conditions that make the audit fail with exit code 1, several by comma.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CONDITION")]
    fail_on: Vec<FailOn>,
    /// How the summary is printed.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Reads the sessions of every project on this computer.
    #[arg(long)]
    all_projects: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn run(lake: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let here = std::env::current_dir()?;
    let config = Config::load(&here)?;
    let span = Asked::read(args, &config)?;
    let (paths, found) = given_or_found(&args.paths, &here, &config, args.all_projects)?;
    if let (Some(found), Format::Text) = (&found, args.format) {
        print(&format!("Reading\n{found}\n"))?;
    }
    // Apart from the summary: it tells of this reading, not of the lake.
    let ingested = into_lake(lake, &paths)?;
    anstream::eprint!("{}", told(&ingested));
    // A report without what was asked for would pass for one with it.
    refuse_unread(&ingested, &args.paths)?;
    let Fresh { lake, config } = fresh::open(lake)?;
    let snapshot = lake.snapshot()?;
    let prices = PriceTable::of(&config)?;
    let tables = Tables::of(&snapshot, &prices, Some(lake.root().join("cache")));
    let frame = Frame {
        tool: format!("mechanic {}", env!("CARGO_PKG_VERSION")),
        now: span.now.to_string(),
        tz: span.tz,
        news: span.news,
        before: span.before,
        evidence: span.evidence,
        lake_digest: lake_digest::remembered(&snapshot, &tables)?,
        config_digest: stable_id(&["config", config.digest(), &prices.digest(), &Rulebook::of_config(&config).digest()]),
    };
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(".mechanic/audit").join(&frame.news.label));
    refuse_output(lake.root(), &out)?;
    let report = build(&tables, &prices, frame, &out)?;
    report.folder.write(&out)?;
    show(&report, &out, args)?;
    Ok(judge(&report, &args.fail_on))
}

/// The spans the arguments ask for.
struct Asked {
    now: Ts,
    tz: String,
    news: Window,
    before: Window,
    evidence: Window,
}

impl Asked {
    fn read(args: &Args, config: &Config) -> anyhow::Result<Asked> {
        Self::spans(args, config).map_err(|e| Usage(format!("cannot audit: {e}")).into())
    }

    fn spans(args: &Args, config: &Config) -> Result<Asked, WindowError> {
        let name = args.tz.clone().unwrap_or_else(|| config.timezone.clone());
        let tz = window::zone(&name)?;
        let now = match &args.now {
            Some(text) => window::instant(text, &tz, false)?,
            None => Ts(jiff::Timestamp::now().as_microsecond()),
        };
        let news = match (&args.week, &args.since, &args.until) {
            (Some(week), _, _) => window::named_week(week, &tz)?,
            (None, None, None) => window::last_whole_week(now, &tz)?,
            (None, since, until) => window::between(since.as_deref(), until.as_deref(), now, &tz)?,
        };
        Ok(Asked { now, before: window::before(&news, &tz)?, evidence: window::evidence(&news, &tz)?, tz: name, news })
    }
}

fn show(report: &Report, out: &Path, args: &Args) -> anyhow::Result<()> {
    let shown = |name: &str| crate::plain::escape(&out.join(name).display().to_string());
    match args.format {
        Format::Json => {
            let mut json = report.audit.to_json();
            if let Some(object) = json.as_object_mut() {
                object.insert("out".to_owned(), out.display().to_string().into());
                object.insert("files".to_owned(), report.folder.names().collect::<Vec<_>>().into());
                let failed: Vec<String> = failed(report, &args.fail_on).into_iter().map(|(name, _)| name).collect();
                object.insert("failed".to_owned(), failed.into());
            }
            print(&format!("{}\n", serde_json::to_string_pretty(&json)?))?;
        }
        Format::Text => {
            let of = |folder: &str, end: &str| report.folder.names().filter(|n| n.starts_with(folder) && n.ends_with(end)).count();
            let written = [
                shown("audit.html"),
                shown("audit.md"),
                format!("{} ({} plots)", shown("plots"), of("plots/", ".svg")),
                format!("{} ({} tables, as CSV and Parquet)", shown("tables"), of("tables/", ".csv")),
                shown("manifest.json"),
            ];
            print(&text::summary(&report.audit, &written))?;
        }
    }
    Ok(())
}

/// Conditions that hold, with what makes them true.
fn failed(report: &Report, conditions: &[FailOn]) -> Vec<(String, String)> {
    let mut conditions = conditions.to_vec();
    conditions.sort();
    conditions.dedup();
    conditions.into_iter().filter_map(|c| Some((c.name(), c.holds(&report.audit)?))).collect()
}

fn judge(report: &Report, conditions: &[FailOn]) -> ExitCode {
    let failed = failed(report, conditions);
    for (name, why) in &failed {
        anstream::eprintln!("mechanic: the audit fails on {name}: {why}");
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(super::exit::CHECK_FAILED) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn asked(line: &[&str]) -> anyhow::Result<Asked> {
        let line = Line::try_parse_from(["audit"].iter().chain(line))?;
        Asked::read(&line.args, &Config::default())
    }

    #[test]
    fn the_default_is_the_last_whole_week_before_now() {
        let span = asked(&["--now", "2026-11-30T00:00:00Z"]).unwrap();
        assert_eq!((span.news.label.as_str(), span.before.label.as_str(), span.tz.as_str()), ("2026-W48", "2026-W47", "UTC"));
    }

    #[test]
    fn a_week_and_a_span_exclude_each_other_and_nonsense_is_a_usage_error() {
        assert!(asked(&["--week", "2026-W48", "--since", "2026-11-01"]).is_err());
        for line in [["--week", "48"], ["--tz", "Mars/Olympus"], ["--now", "soon"], ["--since", "2999-01-01"]] {
            let error = asked(&line).err().unwrap();
            assert!(error.is::<Usage>() && error.to_string().starts_with("cannot audit: "), "{error}");
        }
    }

    #[test]
    fn conditions_are_given_by_comma() {
        let line = Line::try_parse_from(["audit", "--fail-on", "escapes,toll,missed-proven"]).unwrap();
        assert_eq!(line.args.fail_on, [FailOn::Escapes, FailOn::Toll, FailOn::MissedProven]);
        assert!(Line::try_parse_from(["audit", "--fail-on", "weather"]).is_err());
    }
}
