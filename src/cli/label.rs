//! Owns `mechanic label`: its arguments, one call, what is printed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;

use super::{prefix, print};
use crate::lake::Lake;
use crate::lake::ingest::{Options, Silent, ingest};
use crate::model::gate_runs::Finding;
use crate::model::time::Ts;
use crate::plain::{cut, escape};
use crate::source::cut_home;
use crate::source::labels::{FILE_NAME, Judgement, Label, append};

/// Says whether a finding was right. The label is appended to .mechanic/labels.jsonl; the latest of a finding holds.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  mechanic label 3f2a9c41 false-alarm --why \"the fixture has no time zone\"\n  mechanic label 3f2a9c41 true\n\n`mechanic explain problem ID` shows the ids of findings."
)]
pub struct Args {
    /// Id of the finding, or a unique beginning of it.
    #[arg(value_name = "FINDING")]
    finding: String,
    /// What it was.
    #[arg(value_enum)]
    label: Word,
    /// The reason, kept in the file; the lake keeps only its digest.
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Who says so [default: the user's name]; the lake keeps only its digest.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// The file labels are kept in.
    #[arg(long, value_name = "FILE", default_value_os_t = Path::new(".mechanic").join(FILE_NAME))]
    file: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Word {
    /// The defect was real.
    True,
    /// There was no defect.
    FalseAlarm,
    /// It says again what another finding had said.
    Duplicate,
}

impl Word {
    fn judgement(self) -> Judgement {
        match self {
            Word::True => Judgement::True,
            Word::FalseAlarm => Judgement::FalseAlarm,
            Word::Duplicate => Judgement::Duplicate,
        }
    }
}

pub fn run(lake: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let lake = Lake::open(lake)?;
    let findings: Vec<Finding> = lake.snapshot()?.read_view()?;
    let ids = findings.iter().map(|f| f.finding_id.as_str());
    let id = prefix::resolve("finding", &args.finding, ids, "`mechanic explain problem ID` shows those of a problem")?;
    let Some(finding) = findings.iter().find(|f| f.finding_id == id) else { anyhow::bail!("finding {id} vanished while it was read") };
    let now = Ts(jiff::Timestamp::now().as_microsecond());
    let label = Label::new(finding.finding_id.clone(), args.label.judgement(), args.why.clone(), args.by.clone().or_else(user), now);
    append(&args.file, &label).with_context(|| format!("append to {}", args.file.display()))?;
    // The label counts at once, wherever the file is and whatever the next audit reads.
    ingest(&lake, std::slice::from_ref(&args.file), &Options::at(now), &Silent)
        .with_context(|| format!("the label is kept in {}; read it into the lake with `mechanic ingest {0}`", args.file.display()))?;
    print(&said(finding, &label, &args.file))?;
    Ok(ExitCode::SUCCESS)
}

/// The name of the user as the system has it.
fn user() -> Option<String> {
    ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
}

fn said(finding: &Finding, label: &Label, file: &Path) -> String {
    let at = finding.observed_at.map_or("at an unknown time".to_owned(), |t| format!("at {t}"));
    let lines = [
        format!("Labelled finding {} `{}`.", finding.finding_id, label.label.as_str()),
        format!("  gate {}, defect {}, said {at}", escape(&finding.gate_id), escape(&finding.fingerprint)),
        format!("  kept in {} and counted from now on", escape(&cut_home(&file.to_string_lossy()))),
    ];
    lines.map(|l| cut(&l, 100) + "\n").concat()
}
