//! Owns `mechanic replay`: its arguments, one call, what is printed.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::ValueEnum;

use super::Usage;
use crate::plain::visible;
use crate::replay::{
    Failed, Level, Progress, Request, Results, Selection, Suite, Wrong, duration, input_digest, lock, memo_file, perform, show, write_whole,
};

/// Replays every preserved failure through every validator: does today's harness still stop what ever went wrong?
///
/// Each run is alone: a private copy of the stimulus, no network, limits, and nothing left behind. Exit 0: every expectation is met.
/// 1: a failure is missed, a control is failed, or a change would acquit itself. 2: the corpus or the command line is wrong.
/// 3: a validator crashed twice or gave no verdict in time, which is never read as a pass.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  mechanic replay\n  mechanic replay --baseline origin/main --format github\n  mechanic replay --filter validator='approval-*' --repeat 5\n  mechanic replay --out results.json && mechanic replay --baseline results.json\n  mechanic replay --lock\n\nFixtures lie in fixtures/failures/<id>/fixture.toml, validators in fixtures/validators/validators.toml. Where there is a lake, the results go into it (table replay_results) for `mechanic audit`."
)]
pub struct Args {
    /// Folder of the fixtures.
    #[arg(long, value_name = "DIR", default_value = "fixtures/failures")]
    corpus: PathBuf,
    /// File that describes the validators.
    #[arg(long, value_name = "FILE", default_value = "fixtures/validators/validators.toml")]
    validators: PathBuf,
    /// Compare with a commit, whose fixtures, expectations and waivers count, or with a results file.
    #[arg(long, value_name = "REF|FILE")]
    baseline: Option<String>,
    /// Only what matches: fixture=, validator=, gate=, tag=, mode= or class= and a pattern; alone a pattern of fixture ids.
    #[arg(long, value_name = "PATTERN")]
    filter: Vec<String>,
    /// Only the i-th of n parts of the fixtures.
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,
    /// Only cells whose fixture or validator differs from this commit.
    #[arg(long, value_name = "REF")]
    changed_since: Option<String>,
    /// Run each cell that many times; cells whose runs differ are flaky.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    repeat: u16,
    /// Time of a run, for validators that name none.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    timeout: String,
    /// Runs at the same time [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Form of the report.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the results to a file too, as JSON.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Run everything, remember nothing.
    #[arg(long)]
    no_cache: bool,
    /// List what would be replayed, with digests, and run nothing.
    #[arg(long, conflicts_with_all = ["lock", "baseline", "out"])]
    list: bool,
    /// Lock the corpus: write the digests of its bytes.
    #[arg(long, conflicts_with_all = ["baseline", "out"])]
    lock: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Junit,
    Sarif,
    Github,
}

fn usage(wrong: Wrong) -> anyhow::Error {
    Usage(wrong.to_string()).into()
}

/// `asked`: the lake was named on the command line.
pub fn run(lake: &Path, asked: bool, args: &Args) -> anyhow::Result<ExitCode> {
    if asked && cfg!(not(feature = "audit")) {
        return Err(Usage("--lake: this build has no lake; leave it out, and keep the results with --out FILE".to_owned()).into());
    }
    if args.lock {
        let (file, n) = lock(&args.corpus).map_err(usage)?;
        super::print(&format!("locked {n} fixtures in {}\n", visible(&file.to_string_lossy())))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.list {
        return list(args);
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let request = Request {
        corpus: args.corpus.clone(),
        validators: args.validators.clone(),
        filters: args.filter.clone(),
        shard: args.shard.clone(),
        changed_since: args.changed_since.clone(),
        baseline: args.baseline.clone(),
        jobs: args.jobs.map_or(cores, usize::from),
        repeat: usize::from(args.repeat),
        timeout: Some(duration(&args.timeout).map_err(|e| Usage(format!("--timeout: {e}")))?),
        memo: (!args.no_cache).then(memo_file),
        today: jiff::tz::TimeZone::UTC.to_datetime(jiff::Timestamp::now()).date(),
        level: Level::User,
    };
    refuse_out(args)?;
    let results = match perform(&request, &Bar::default()) {
        Ok(results) => results,
        Err(Failed::Wrong(wrong)) => return Err(usage(wrong)),
        Err(Failed::Environment(text)) => anyhow::bail!(text),
    };
    if let Some(file) = &args.out {
        write_whole(file, results.json().as_bytes()).map_err(usage)?;
    }
    keep(lake, asked, &results);
    super::print(&form(args.format, &results, &args.corpus))?;
    Ok(ExitCode::from(results.exit))
}

/// The results must not be written over what they are the results of.
fn refuse_out(args: &Args) -> Result<(), Usage> {
    let Some(out) = &args.out else { return Ok(()) };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = out.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let inside = real(folder).starts_with(real(&args.corpus)) || real(out) == real(&args.validators);
    match inside {
        true => Err(Usage(format!("--out {}: it would change what is replayed; name another place", out.display()))),
        false => Ok(()),
    }
}

/// Leaves the results to the lake. What a lake cannot take changes nothing of what was found, and is told.
#[cfg(feature = "audit")]
fn keep(lake: &Path, asked: bool, results: &Results) {
    if let Err(error) = super::replays::keep(lake, asked, results) {
        anstream::eprintln!("mechanic: the lake has not got these results: {error:#}");
    }
}

/// This build has no lake.
#[cfg(not(feature = "audit"))]
fn keep(_: &Path, _: bool, _: &Results) {}

fn form(format: Format, results: &Results, corpus: &Path) -> String {
    let corpus = corpus.to_string_lossy();
    match format {
        Format::Text => show::text(results),
        Format::Json => results.json(),
        Format::Junit => show::junit(results),
        Format::Sarif => show::sarif(results, &corpus),
        Format::Github => show::github(results, &corpus),
    }
}

fn list(args: &Args) -> anyhow::Result<ExitCode> {
    let selection = Selection::parse(&args.filter, args.shard.as_deref()).map_err(usage)?;
    let suite = Suite::load(&args.corpus, &args.validators).map_err(usage)?;
    let fixtures = || suite.corpus.fixtures.iter().filter(|f| selection.takes_fixture(f));
    let validators = || suite.validators.list.iter().filter(|v| selection.takes_validator(v));
    if args.format == Format::Json {
        let mut listed = Vec::new();
        for f in fixtures() {
            let input = input_digest(f).map_err(usage)?;
            listed.push(serde_json::json!({
                "id": f.id, "title": f.title, "kind": f.stimulus.kind, "classification": f.classification, "severity": f.severity,
                "digest": f.digest, "input_digest": input, "locked": !suite.corpus.is_new(&f.id),
            }));
        }
        let judged: Vec<_> = validators()
            .map(|v| {
                serde_json::json!({
                    "id": v.id, "gate": v.gate, "digest": v.digest, "prompt_digest": v.judge.as_ref().map(|j| &j.prompt_digest),
                })
            })
            .collect();
        let text = serde_json::to_string_pretty(&serde_json::json!({ "fixtures": listed, "validators": judged }))?;
        super::print(&format!("{text}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = String::new();
    for f in fixtures() {
        let locked = if suite.corpus.is_new(&f.id) { " (not locked)" } else { "" };
        out.push_str(&format!("{} [{} {} {}] {}{locked}\n", f.id, f.classification, f.severity, f.stimulus.kind, visible(&f.title)));
    }
    for v in validators() {
        out.push_str(&format!("{} (gate {})\n", v.id, v.gate));
    }
    super::print(&out)?;
    Ok(ExitCode::SUCCESS)
}

/// A bar on standard error, where a person sees it.
#[derive(Default)]
struct Bar(OnceLock<indicatif::ProgressBar>);

impl Progress for Bar {
    fn begin(&self, cells: usize) {
        if std::io::stderr().is_terminal() {
            let _ = self.0.set(indicatif::ProgressBar::new(cells as u64));
        }
    }

    fn tick(&self) {
        if let Some(bar) = self.0.get() {
            bar.inc(1);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.0.get() {
            bar.finish_and_clear();
        }
    }
}
