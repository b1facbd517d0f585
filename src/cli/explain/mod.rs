//! Owns `mechanic explain`: its arguments, one call, what is printed.

mod chain;
pub(super) mod evidence;
mod show;
mod words;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array};
use clap::ValueEnum;
use serde_json::Value;

use super::sql::{open_engine, usage};
use super::{Usage, prefix, print};
use crate::lake::Lake;
use crate::sql::render::text_of;
use crate::sql::{Answer, Limits};
use chain::Link;
use evidence::Evidence;

/// Shows the chain behind a figure, down to source file and line, with the source's own words, redacted.
///
/// `gate` shows a gate's figures and each problem it stopped first or missed, `problem` everything from the first finding to the pass
/// that closed it, `run` what a run is made of. Ids may be shortened to a unique beginning; a run goes by its issue too. Without an id,
/// lists what there is.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  mechanic explain gate\n  mechanic explain gate gate_review\n  mechanic explain problem 3f2a9c\n  mechanic explain run 97 --format json"
)]
pub struct Args {
    /// gate, problem or run; or the id alone, where only one of them has it.
    #[arg(value_name = "gate|problem|run")]
    what: String,
    /// Which one.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Show every link, not only the first of each kind.
    #[arg(long)]
    all: bool,
    /// Leave the source's own words out.
    #[arg(long)]
    no_words: bool,
    /// How to print; JSON holds every link.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// What is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gate,
    Problem,
    Run,
}

pub fn run(lake: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    // Brings the derived tables up to date.
    let engine = open_engine(lake, &Limits::NONE)?;
    let evidence = Evidence::load(&Lake::open(lake)?.snapshot()?)?;
    let kind = match args.what.as_str() {
        "gate" => Some(Kind::Gate),
        "problem" => Some(Kind::Problem),
        "run" => Some(Kind::Run),
        _ => None,
    };
    let (kind, id) = match (kind, &args.id) {
        (Some(kind), None) => {
            print(&list(&evidence, kind))?;
            return Ok(ExitCode::SUCCESS);
        }
        (Some(kind), Some(id)) => (kind, find(&evidence, kind, id)?),
        (None, None) => find_any(&evidence, &args.what)?,
        (None, Some(_)) => return Err(Usage(format!("`{}` is none of gate, problem and run: say which to explain", args.what)).into()),
    };
    let listed = if args.all || args.format == Format::Json { usize::MAX } else { show::LISTED };
    let fill = |links: &mut [Link]| {
        if !args.no_words {
            words::fill(links.iter_mut().take(listed), &evidence.sources);
        }
    };
    let text = match kind {
        Kind::Gate => {
            let figures = figures(&engine.query("gate_economics", &BTreeMap::new()).map_err(usage)?, &id);
            let mut chain = evidence.gate_chain(&id, figures);
            fill(&mut chain.first_stops);
            fill(&mut chain.misses);
            render(args.format, &chain, |c| show::gate(c, args.all))?
        }
        Kind::Problem => {
            let Some(problem) = evidence.problem(&id) else {
                anyhow::bail!("problem {id} vanished from the lake while it was read: another mechanic wrote to it; run the command again")
            };
            let mut chain = evidence.problem_chain(problem);
            fill(&mut chain.chain);
            render(args.format, &chain, |c| show::problem(c, args.all))?
        }
        Kind::Run => {
            let Some(run) = evidence.runs.get(&id) else {
                anyhow::bail!("run {id} vanished from the lake while it was read: another mechanic wrote to it; run the command again")
            };
            let mut chain = evidence.run_chain(run);
            fill(&mut chain.problems);
            fill(&mut chain.gate_runs);
            render(args.format, &chain, |c| show::run(c, args.all))?
        }
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn render<C: serde::Serialize>(format: Format, chain: &C, text: impl Fn(&C) -> String) -> anyhow::Result<String> {
    Ok(match format {
        Format::Text => text(chain),
        Format::Json => serde_json::to_string_pretty(chain)? + "\n",
    })
}

/// Every gate that is declared, ran or met a problem.
fn gate_ids(evidence: &Evidence) -> Vec<&str> {
    let declared = evidence.gates.iter().map(|g| g.gate_id.as_str());
    let mut ids: Vec<&str> = declared.chain(evidence.gate_runs.iter().map(|g| g.gate_id.as_str())).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn find(evidence: &Evidence, kind: Kind, given: &str) -> Result<String, Usage> {
    let found = match kind {
        Kind::Gate => prefix::resolve("gate", given, gate_ids(evidence).into_iter(), "`mechanic explain gate` lists them")?,
        Kind::Problem => {
            let ids = evidence.problems.iter().map(|p| p.problem_id.as_str());
            prefix::resolve("problem", given, ids, "`mechanic explain problem` lists them")?
        }
        Kind::Run => {
            let issue = given.strip_prefix('#').unwrap_or(given);
            let mut of_task = evidence.runs.values().filter(|r| r.task.as_deref() == Some(issue));
            match (of_task.next(), of_task.next()) {
                (Some(run), None) => &run.run_id,
                (Some(one), Some(other)) => {
                    let more = of_task.count();
                    let ids = format!("{}, {}", show::short(&one.run_id), show::short(&other.run_id));
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    return Err(Usage(format!("several runs have issue {issue} ({ids}{more}): give the id of one")));
                }
                _ => prefix::resolve("run", given, evidence.runs.keys().map(String::as_str), "`mechanic explain run` lists them")?,
            }
        }
    };
    Ok(found.to_owned())
}

/// An id without its kind.
fn find_any(evidence: &Evidence, given: &str) -> Result<(Kind, String), Usage> {
    let mut found: Vec<(Kind, String)> = Vec::new();
    let mut several = None;
    for kind in [Kind::Gate, Kind::Problem, Kind::Run] {
        match find(evidence, kind, given) {
            Ok(id) => found.push((kind, id)),
            // Nothing of this kind is no error yet; more than one is.
            Err(e) => several = several.or(Some(e).filter(|e| !e.0.starts_with("no "))),
        }
    }
    match found.as_slice() {
        [one] if several.is_none() => Ok(one.clone()),
        [] if several.is_some() => Err(several.unwrap_or_else(|| Usage(String::new()))),
        [] => Err(Usage(format!("no gate, problem or run `{given}` in the lake: `mechanic explain gate` (problem, run) lists them"))),
        _ => Err(Usage(format!("`{given}` is more than one thing: say gate, problem or run before it"))),
    }
}

fn list(evidence: &Evidence, kind: Kind) -> String {
    let mut out = String::new();
    match kind {
        Kind::Gate => {
            for id in gate_ids(evidence) {
                let ran = evidence.gate_runs.iter().filter(|g| g.gate_id == id).count();
                let stops = evidence.problems.iter().filter(|p| p.first_stop_gate_id.as_deref() == Some(id)).count();
                let _ = writeln!(out, "{:<50} {ran:>7} gate runs {stops:>5} first stops", crate::plain::escape(id));
            }
        }
        Kind::Problem => {
            for p in &evidence.problems {
                let gate = p.first_stop_gate_id.as_deref().unwrap_or("stopped by no gate");
                let at = p.opened_at.map_or("time unknown".to_owned(), |t| t.to_string());
                let text = format!(
                    "{}  {at:<20}  {:<8}  {gate}  {}",
                    show::short(&p.problem_id),
                    p.severity.map_or("", |s| s.as_str()),
                    p.fingerprint
                );
                let _ = writeln!(out, "{}", crate::plain::cut(&crate::plain::escape(&text), 100));
            }
        }
        Kind::Run => {
            for r in evidence.runs.values() {
                let at = r.started_at.map_or("time unknown".to_owned(), |t| t.to_string());
                let task = r.task.as_deref().map_or(String::new(), |t| format!("issue {t}"));
                let text = format!("{}  {at:<20}  {task:<12}  {}", show::short(&r.run_id), r.outcome.as_deref().unwrap_or(""));
                let _ = writeln!(out, "{}", crate::plain::cut(&crate::plain::escape(&text), 100));
            }
        }
    }
    if out.is_empty() {
        out.push_str("The lake holds none: ingest traces or session logs that record gates (`mechanic doctor` tells which do).\n");
    }
    out
}

/// The row of one gate, without its empty columns.
fn figures(answer: &Answer, gate: &str) -> Vec<(String, Value)> {
    for batch in &answer.batches {
        let Some(ids) = batch.column_by_name("gate_id") else { continue };
        if let Some(row) = (0..batch.num_rows()).find(|row| text_of(ids, *row) == gate) {
            let columns = batch.schema_ref().fields().iter().zip(batch.columns());
            return columns.filter_map(|(field, column)| Some((field.name().clone(), value(column, row)?))).collect();
        }
    }
    Vec::new()
}

/// A cell as JSON; `None` where it is NULL.
fn value(column: &ArrayRef, row: usize) -> Option<Value> {
    if column.is_null(row) {
        return None;
    }
    let any = column.as_any();
    let number = any.downcast_ref::<Int64Array>().map(|a| Value::from(a.value(row)));
    let number = number.or_else(|| any.downcast_ref::<Int32Array>().map(|a| Value::from(a.value(row))));
    let number = number.or_else(|| any.downcast_ref::<Float64Array>().map(|a| Value::from(a.value(row))));
    Some(
        number
            .or_else(|| any.downcast_ref::<BooleanArray>().map(|a| Value::from(a.value(row))))
            .unwrap_or_else(|| Value::from(text_of(column, row))),
    )
}

#[cfg(test)]
mod tests;
