//! Owns `mechanic record`: its arguments, one call, what is printed.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Usage;
use crate::config::Config;
use crate::config::profile::DELIVERY_HARNESS_NAME;
use crate::plain::escape;
use crate::replay::record::{Plan, Verdicts, record};

/// Runs a gate's command unchanged and appends one line of what it did, so that silent passes count too.
///
/// Output, exit status and signals are the command's own. After a fail the tree is kept under a private git reference
/// (refs/mechanic/gate-runs/…), from which a fixture can be made. If recording fails, the command has run all the same.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  mechanic record --gate lint -- npm run lint\n  mechanic record --gate type-check --shadow -- tsc --noEmit\n  mechanic record --gate sensors --exit 77=skipped --issue 12 -- ./run-sensors.sh\n\nThe lines stand in .mechanic/gate-runs.jsonl of the repository's main checkout; `mechanic audit` reads them."
)]
pub struct Args {
    /// Name of the gate.
    #[arg(long, value_name = "NAME")]
    gate: String,
    /// Rule or stage of the gate.
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Issue of the delivery [default: the one the branch names].
    #[arg(long, value_name = "NUMBER", conflicts_with = "session")]
    issue: Option<u64>,
    /// Agent session of the delivery.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Feature, story or task it judges.
    #[arg(long, value_name = "ID")]
    unit: Option<String>,
    /// Reports and never blocks: exit status 0, and what the command prints goes to standard error.
    #[arg(long)]
    shadow: bool,
    /// Keeps standard input, and the tree after a pass too: stimuli the gate really saw.
    #[arg(long)]
    keep_stimuli: bool,
    /// What an exit status means, where 0 = pass and anything else = fail is wrong (77=skipped).
    #[arg(long = "exit", value_name = "STATUS=VERDICT")]
    exits: Vec<String>,
    /// File to append to.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let named = |what: &str, text: &str| match text {
        "" => Err(Usage(format!("{what} is empty: name it"))),
        text if text.chars().any(char::is_control) || text.chars().count() > 120 => {
            Err(Usage(format!("{what} `{}` is no name: at most 120 characters, none of them a control character", escape(text))))
        }
        text => Ok(text.to_owned()),
    };
    let folder = std::env::current_dir().unwrap_or_default();
    // A gate runs whatever state our own configuration is in.
    let config = Config::load(&folder).unwrap_or_default();
    let session = args.session.as_deref().map(|id| named("--session", id)).transpose()?;
    let plan = Plan {
        gate: named("--gate", &args.gate)?,
        rule: args.rule.as_deref().map(|r| named("--rule", r)).transpose()?,
        run: args.issue.map(|n| format!("record:{n}")).or(session.map(|id| format!("session:{id}"))),
        unit: args.unit.as_deref().map(|u| named("--unit", u)).transpose()?,
        command: args.command.clone(),
        shadow: args.shadow,
        keep_stimuli: args.keep_stimuli,
        verdicts: Verdicts::parse(&args.exits).map_err(Usage)?,
        layout: config.profile(DELIVERY_HARNESS_NAME).map(|profile| profile.layout).unwrap_or_default(),
        file: args.file.clone(),
    };
    let outcome = record(&plan, &folder);
    for note in &outcome.notes {
        anstream::eprintln!("mechanic record: {}", escape(note));
    }
    Ok(ExitCode::from(outcome.code))
}
