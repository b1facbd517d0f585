//! Owns `mechanic ingest`: its arguments, one call, what is printed.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};

use super::Usage;
use super::inside::refuse_lake;
use crate::lake::Lake;
use crate::lake::ingest::{IngestError, IngestReport, Options, Progress, ingest};
use crate::model::time::Ts;

/// Reads traces and session logs into the lake; what is unchanged is not read again.
///
/// A file in a folder that cannot be read is told; exits with 3 where a PATH itself could not be read.
///
/// Example: mechanic ingest ~/.claude/projects .copilot-tracking
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files or folders; hidden folders are walked too.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub fn run(lake: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let report = into_lake(lake, &args.paths)?;
    super::print(&told(&report))?;
    refuse_unread(&report, &args.paths)?;
    Ok(ExitCode::SUCCESS)
}

/// Ingests with a progress bar on a terminal.
pub fn into_lake(lake: &Path, paths: &[PathBuf]) -> anyhow::Result<IngestReport> {
    refuse_lake(lake, paths)?;
    // A path that was ingested and is no more has vanished; into a lake that is not there yet it is a mistake.
    if let Some(missing) = paths.iter().find(|p| p.symlink_metadata().is_err())
        && Lake::open(lake).is_err()
    {
        return Err(Usage(format!("cannot read {}: there is no such file or folder, name some that are there", missing.display())).into());
    }
    let now = Ts(jiff::Timestamp::now().as_microsecond());
    let lake = Lake::open_or_create(lake)?;
    let bar = Bar::new();
    let report = ingest(&lake, paths, &Options::at(now), &bar);
    bar.0.finish_and_clear();
    report.map_err(|e| match e {
        IngestError::Path(_) => Usage(e.to_string()).into(),
        IngestError::Lake(e) => e.into(),
    })
}

/// An error of the environment where a path that was named by itself could not be read: whoever named it counts on it. What cannot be
/// read in a folder is told, and no error.
pub fn refuse_unread(report: &IngestReport, named: &[PathBuf]) -> anyhow::Result<()> {
    let unread = report.named_unread(named);
    anyhow::ensure!(
        unread.is_empty(),
        "cannot read {}",
        unread.iter().map(|(path, why)| format!("{path}: {why}")).collect::<Vec<_>>().join("; ")
    );
    Ok(())
}

/// What an ingest came to, in a few lines.
pub fn told(report: &IngestReport) -> String {
    let went_on = match report.went_on {
        0 => String::new(),
        n => format!(" ({n} from where it had ended)"),
    };
    let mut out = format!(
        "{} files: {} read{went_on}, {} unchanged, {} ignored, {} gone. {} records parsed, {} quarantined, {} warnings.\n",
        report.files, report.read, report.unchanged, report.ignored, report.gone, report.records, report.quarantined, report.warnings
    );
    for path in &report.rewritten {
        out.push_str(&crate::plain::escape(&format!("rewritten: {path}: what it said before stays beside what it says now")));
        out.push('\n');
    }
    for (path, why) in report.unread() {
        out.push_str(&crate::plain::escape(&format!("not read: {path}: {why}")));
        out.push('\n');
    }
    out
}

struct Bar(ProgressBar);

impl Bar {
    fn new() -> Bar {
        Bar(if std::io::stderr().is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() })
    }
}

impl Progress for Bar {
    fn begin(&self, files: usize, bytes: i64) {
        let style = ProgressStyle::with_template("reading {msg} {wide_bar} {bytes}/{total_bytes} {eta}");
        if let Ok(style) = style {
            self.0.set_style(style);
        }
        self.0.set_message(format!("{files} files"));
        self.0.set_length(u64::try_from(bytes).unwrap_or(0));
    }

    fn file_done(&self, bytes: i64) {
        self.0.inc(u64::try_from(bytes).unwrap_or(0));
    }
}
