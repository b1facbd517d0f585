//! Owns `harvest --stimuli`: all that a gate really saw, from records and from the logs behind the lake.

use std::process::ExitCode;

use super::records::{self, Records};
use super::{Args, Place, Sources, print, usage};
use crate::cli::Usage;
use crate::model::time::Ts;
use crate::model::vocabulary::Verdict;
use crate::plain::escape;
use crate::replay::harvest::{Base, Seen, SetOf, write_stimuli};

/// What was found, and what of it could not be had.
#[derive(Default)]
pub struct Gathered {
    pub seen: Vec<Seen>,
    /// Gate runs of the gate.
    pub runs: usize,
    /// Gate runs whose stimulus is not recorded.
    pub unknown: usize,
    /// Edits of which the log does not tell the whole file.
    pub in_part: usize,
}

pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail | Verdict::Warn => "fail",
        _ => "other",
    }
}

pub fn run(sources: &Sources, args: &Args, gate: &str) -> anyhow::Result<ExitCode> {
    let mut all = Gathered::default();
    if let Some(records) = &sources.records {
        recorded(records, gate, &sources.place, &mut all);
    }
    if let Some(lake) = &sources.lake {
        // Gate runs that `mechanic record` kept are counted from its own file.
        lake.gather(gate, &sources.place, sources.records.is_some(), &mut all);
    }
    if all.runs == 0 {
        return Err(Usage(format!("no gate run of `{}` is recorded: `mechanic explain gate` lists the gates", escape(gate))).into());
    }
    if all.seen.is_empty() {
        return Err(Usage(format!(
            "{} gate runs of `{}`, and of none is recorded what it saw: record it with `mechanic record --keep-stimuli`",
            all.runs,
            escape(gate)
        ))
        .into());
    }
    let written = write_stimuli(&args.out, gate, &all.seen, !args.no_redact, args.most, args.largest << 20).map_err(usage)?;
    let mut text = format!(
        "{}: {} distinct stimuli of {} seen in {} gate runs; {} that always passed are controls\n",
        escape(&records::shown(&written.folder)),
        written.distinct,
        written.seen,
        all.runs,
        written.controls
    );
    if written.left > 0 {
        text.push_str(&format!("  {} more that always passed are in stimuli.jsonl only (--most, --largest)\n", written.left));
    }
    if all.unknown > 0 {
        text.push_str(&format!("  gap: of {} gate runs it is not recorded what they saw\n", all.unknown));
    }
    if all.in_part > 0 {
        text.push_str(&format!("  gap: of {} edits the log does not tell the whole file\n", all.in_part));
    }
    text.push_str("A control made here passed the gate, which proves nothing: read it before it counts as known good.\n");
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn recorded(records: &Records, gate: &str, place: &Place, all: &mut Gathered) {
    let repository = records::repository(&records.file, place).ok();
    for row in records.rows.iter().filter(|r| r.gate == gate) {
        all.runs += 1;
        let (verdict, at) = (word(row.verdict), Ts::parse(&row.ended_at));
        let input = row.stimulus.as_deref().and_then(|digest| records.input(digest)).map(SetOf::Input);
        let tree = row.tree_ref.as_deref().zip(repository.as_deref()).and_then(|(reference, repository)| {
            let Ok(Base::Recorded { .. }) = records::recorded(repository, reference) else { return None };
            SetOf::tree(repository, reference).ok()
        });
        // What it was given is what it judged; the tree around it is too, where it was given nothing.
        match input.or(tree) {
            Some(what) => all.seen.push(Seen { what, verdict, at }),
            None => all.unknown += 1,
        }
    }
}
