//! Owns `mechanic harvest`: its arguments, one call, what is printed.

#[cfg_attr(not(feature = "audit"), path = "no_lake.rs")]
mod lake;
mod records;
#[cfg(feature = "audit")]
mod session;
mod show;
mod stimuli;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{Usage, prefix, print};
use crate::model::time::Ts;
use crate::replay::harvest::{self, Base, Budget, Case, Harvester, Options, Saw};
use crate::replay::{Failed, Wrong, duration};
use crate::source::cut_home;
use records::Records;

/// Turns recorded problems into draft fixtures, so that the next change of a gate is measured against what really happened.
///
/// What the gate saw is rebuilt: the tree that `mechanic record` kept, or the commit the session worked on and the session's own edits
/// up to the failure. It is redacted, shown to the validators of the gate, and made as small as they still catch it. Without PROBLEM,
/// lists what can be harvested from what, and why the rest cannot. What could not be repeated is named in every draft.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  mechanic harvest\n  mechanic harvest 3f2a9c --repo ~/shop --validators fixtures/validators/validators.toml\n  mechanic harvest --all --out fixtures/failures-drafts\n  mechanic harvest --stimuli lint\n\nA draft is read by `mechanic replay --corpus fixtures/failures-drafts`. Read it, say what went wrong, then move it into the corpus and lock it. A draft that is there is never written over."
)]
pub struct Args {
    /// Problems of the lake (`mechanic explain problem` lists them) or failed gate runs that `mechanic record` kept; a unique beginning will do.
    #[arg(value_name = "PROBLEM")]
    problems: Vec<String>,
    /// Harvest everything that can be.
    #[arg(long, conflicts_with_all = ["problems", "stimuli"])]
    all: bool,
    /// Repository the sessions worked on [default: the one of this folder, for sessions that worked in it].
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// What the logs call the repository's folder, where that is not their working directory.
    #[arg(long, value_name = "PATH")]
    root: Option<String>,
    /// Folder of the drafts.
    #[arg(long, value_name = "DIR", default_value = "fixtures/failures-drafts")]
    out: PathBuf,
    /// File that describes the validators [default: fixtures/validators/validators.toml, where it is there].
    #[arg(long, value_name = "FILE")]
    validators: Option<PathBuf>,
    /// The validator to verify and minimise with, whatever its gate [default: those of the problem's gate].
    #[arg(long, value_name = "ID")]
    validator: Option<String>,
    /// Make each draft as small as it is still caught; this is the default.
    #[arg(long, overrides_with = "no_minimise")]
    minimise: bool,
    /// Keep the whole tree.
    #[arg(long, overrides_with = "minimise")]
    no_minimise: bool,
    /// Keep secrets, addresses and home directories in the files of the tree.
    #[arg(long)]
    no_redact: bool,
    /// Runs that minimising one draft may take.
    #[arg(long, value_name = "N", default_value_t = 500)]
    trials: usize,
    /// Time that minimising one draft may take.
    #[arg(long, value_name = "TIME", default_value = "120s")]
    time: String,
    /// Largest tree of a draft, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    largest: u64,
    /// What `mechanic record` wrote [default: .mechanic/gate-runs.jsonl of the repository].
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Write the set of all that this gate really saw, each thing once, instead of drafts.
    #[arg(long, value_name = "GATE", conflicts_with = "problems")]
    stimuli: Option<String>,
    /// Controls made of what the gate always let pass, the most frequent first.
    #[arg(long, value_name = "N", default_value_t = 200, requires = "stimuli")]
    most: usize,
}

/// The repository, as far as it is known.
#[derive(Debug, Clone)]
struct Place {
    /// Top of its work tree.
    repo: Option<PathBuf>,
    /// The user named it: then a session that worked elsewhere may be rebuilt from it.
    named: bool,
    /// What the logs call its folder, as the user says.
    #[cfg_attr(not(feature = "audit"), allow(dead_code, reason = "records name no paths; only logs do"))]
    root: Option<String>,
}

/// Where failures are recorded.
struct Sources {
    place: Place,
    records: Option<Records>,
    lake: Option<lake::Opened>,
}

/// Something that may be harvested.
struct Found {
    id: String,
    gate: String,
    at: Option<Ts>,
    /// What it can be rebuilt from, or why it cannot.
    case: Result<Case, String>,
}

pub fn run(lake: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let place = place(args)?;
    let records = records(args, &place)?;
    let opened = if lake.exists() { lake::Opened::open(lake)? } else { None };
    if opened.is_none() && records.is_none() {
        return Err(Usage(no_source(lake)).into());
    }
    let sources = Sources { place, records, lake: opened };
    if let Some(gate) = &args.stimuli {
        return stimuli::run(&sources, args, gate);
    }
    if args.problems.is_empty() && !args.all {
        print(&show::list(&every(&sources), sources.records.as_ref()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let harvester = Harvester::new(options(args)?).map_err(failed)?;
    let found = if args.all { every(&sources) } else { asked(&sources, &args.problems)? };
    let mut bad = false;
    for one in &found {
        let drafted = match &one.case {
            Ok(case) => harvester.draft(case).map_err(|e| e.to_string()),
            // Of all, only those that can be.
            Err(_) if args.all => continue,
            Err(why) => Err(why.clone()),
        };
        bad |= drafted.is_err();
        print(&show::drafted(one, &drafted))?;
    }
    if found.iter().all(|f| f.case.is_err()) && args.all {
        print("Nothing can be harvested: `mechanic harvest` says why of each.\n")?;
    }
    // Who named a problem counts on its draft.
    if bad && !args.all {
        return Ok(ExitCode::from(super::exit::USAGE));
    }
    Ok(ExitCode::SUCCESS)
}

fn no_source(lake: &Path) -> String {
    format!(
        "nothing to harvest from: there is neither a lake at {} nor a file that `mechanic record` wrote; ingest session logs, or record a gate (mechanic record --gate NAME -- CMD), or name them with --lake DIR or --records FILE",
        cut_home(&lake.to_string_lossy())
    )
}

fn place(args: &Args) -> anyhow::Result<Place> {
    let repo = match &args.repo {
        Some(folder) => Some(harvest::top(folder).ok_or_else(|| Usage(format!("--repo: {} is in no git repository", folder.display())))?),
        None => harvest::top(&std::env::current_dir()?),
    };
    Ok(Place { repo, named: args.repo.is_some(), root: args.root.clone() })
}

fn records(args: &Args, place: &Place) -> anyhow::Result<Option<Records>> {
    let file = match &args.records {
        Some(file) => file.clone(),
        None => {
            let folder = place.repo.clone().map_or_else(std::env::current_dir, Ok)?;
            let file = crate::replay::record::Place::of(&folder).folder().join(crate::source::recorded::FILE_NAME);
            if !file.is_file() {
                return Ok(None);
            }
            file
        }
    };
    let read = Records::load(&file);
    Ok(Some(read.map_err(|e| Usage(format!("cannot read {}: {e}", file.display())))?))
}

fn options(args: &Args) -> anyhow::Result<Options> {
    let usual = Path::new("fixtures/validators/validators.toml");
    let validators = args.validators.clone().or_else(|| usual.is_file().then(|| usual.to_owned()));
    if args.validator.is_some() && validators.is_none() {
        return Err(Usage("--validator needs the file it stands in: --validators FILE".to_owned()).into());
    }
    Ok(Options {
        out: args.out.clone(),
        validators,
        validator: args.validator.clone(),
        minimise: args.minimise || !args.no_minimise,
        redact: !args.no_redact,
        budget: Budget { trials: args.trials, time: duration(&args.time).map_err(|e| Usage(format!("--time: {e}")))? },
        largest: args.largest << 20,
    })
}

fn failed(failed: Failed) -> anyhow::Error {
    match failed {
        Failed::Wrong(wrong) => usage(wrong),
        Failed::Environment(text) => anyhow::anyhow!(text),
    }
}

fn usage(wrong: Wrong) -> anyhow::Error {
    Usage(wrong.to_string()).into()
}

/// Everything there is, recorded gate runs first.
fn every(sources: &Sources) -> Vec<Found> {
    let in_lake = sources.lake.as_ref().map_or_else(Vec::new, |l| l.found(&sources.place, None));
    let told = |reference: &str| in_lake.iter().any(|f| f.reference() == Some(reference));
    let rows = sources.records.iter().flat_map(Records::failures);
    // Of a gate run that the lake has as a problem, the problem tells more.
    let rows = rows.filter(|row| row.tree_ref.as_deref().is_none_or(|r| !told(r)));
    let mut found: Vec<Found> = rows.filter_map(|row| Some(sources.records.as_ref()?.found(row, &sources.place))).collect();
    found.extend(in_lake);
    found
}

/// Those that are asked for, each by a unique beginning.
fn asked(sources: &Sources, given: &[String]) -> Result<Vec<Found>, Usage> {
    let rows = || sources.records.iter().flat_map(Records::failures);
    let recorded: Vec<String> = rows().map(|row| row.id.clone()).collect();
    let problems = sources.lake.as_ref().map_or_else(Vec::new, lake::Opened::ids);
    let mut found = Vec::new();
    let mut of_lake = Vec::new();
    for one in given {
        let ids = recorded.iter().chain(&problems).map(String::as_str);
        let id = prefix::resolve("problem", one, ids, "`mechanic harvest` lists what can be harvested")?;
        match (&sources.records, rows().find(|row| row.id == id)) {
            (Some(records), Some(row)) => found.push(records.found(row, &sources.place)),
            _ => of_lake.push(id.to_owned()),
        }
    }
    if let Some(lake) = sources.lake.as_ref().filter(|_| !of_lake.is_empty()) {
        found.extend(lake.found(&sources.place, Some(&of_lake)));
    }
    Ok(found)
}

impl Found {
    /// The private reference it is rebuilt from.
    fn reference(&self) -> Option<&str> {
        match &self.case.as_ref().ok()?.saw {
            Saw::Tree { base: Base::Recorded { reference, .. }, .. } => Some(reference),
            _ => None,
        }
    }
}
