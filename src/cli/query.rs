//! Owns `mechanic query`: lists the named queries, or answers one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Usage;
use super::sql::{LimitArgs, open_engine, print, refuse_outputs, usage};
use crate::sql::params::Param;
use crate::sql::render::Format;
use crate::sql::{Query, SqlError, find, queries};

/// Answers a named query; without a name, lists them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  mechanic query\n  mechanic query toll --explain\n  mechanic query gate_economics -p since=2026-11-01 --format csv"
)]
pub struct Args {
    /// Name of the query.
    name: Option<String>,
    /// A parameter; a time is RFC 3339 or a date (midnight UTC). Values are bound, never spliced.
    #[arg(short, long = "param", value_name = "KEY=VALUE")]
    params: Vec<String>,
    /// How the answer is printed.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Adds what the figures rest on: lake version, digests of facts, query and prices, parameters.
    #[arg(long)]
    cite: bool,
    /// Writes to a file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Prints what the query means, its parameters and columns, and its text.
    #[arg(long, requires = "name")]
    explain: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

pub fn run(lake: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.name else {
        super::print(&list())?;
        return Ok(ExitCode::SUCCESS);
    };
    let query = find(name).ok_or_else(|| usage(SqlError::Unknown(name.clone())))?;
    if args.explain {
        super::print(&explain(query))?;
        return Ok(ExitCode::SUCCESS);
    }
    let params = given(query, &args.params)?;
    refuse_outputs(lake, args.out.as_deref())?;
    let engine = open_engine(lake, &args.limits.limits())?;
    let answer = engine.query(name, &params).map_err(usage)?;
    let cite = if args.cite { Some(engine.cite(name, &params).map_err(usage)?) } else { None };
    print(&answer, args.format, cite.as_ref(), args.out.as_deref())
}

/// Reads `key=value` by the type the query declares.
fn given(query: &Query, params: &[String]) -> anyhow::Result<BTreeMap<String, Param>> {
    let mut values = BTreeMap::new();
    for param in params {
        let (key, value) = param.split_once('=').ok_or_else(|| {
            Usage(format!("-p {param}: expected KEY=VALUE; `mechanic query {} --explain` lists the parameters", query.name))
        })?;
        let known = || query.params.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
        let def = query.params.iter().find(|p| p.name == key);
        let def = def.ok_or_else(|| Usage(format!("query {} has no parameter {key}; it has: {}", query.name, known())))?;
        let value = def.kind.value(value).map_err(|e| Usage(format!("-p {key}: {e}")))?;
        if values.insert(key.to_owned(), value).is_some() {
            return Err(Usage(format!("-p {key} is given twice")).into());
        }
    }
    Ok(values)
}

fn list() -> String {
    let width = queries().iter().map(|q| q.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for query in queries() {
        let params: Vec<&str> = query.params.iter().map(|p| p.name).collect();
        let shown = if params.is_empty() { String::new() } else { format!(" ({})", params.join(", ")) };
        out.push_str(&format!("{:width$}  {}{shown}\n", query.name, query.title));
    }
    out.push_str("\n`mechanic query NAME --explain` tells what a query means; `mechanic query NAME -p KEY=VALUE` runs it.\n");
    out
}

fn explain(query: &Query) -> String {
    let mut out = format!("{}: {}\n\n{}\n", query.name, query.title, query.doc);
    if !query.params.is_empty() {
        out.push_str("\nparameters\n");
        for p in &query.params {
            out.push_str(&format!("  {} ({}, default {}): {}\n", p.name, p.kind.as_str(), p.kind.show(&p.default), p.doc));
        }
    }
    out.push_str("\ncolumns\n");
    for c in &query.columns {
        out.push_str(&format!("  {}: {}\n", c.name, c.doc));
    }
    let body: Vec<&str> = query.sql.lines().skip_while(|l| l.starts_with("--")).collect();
    out.push_str(&format!("\n{}\n", body.join("\n")));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_by_their_declared_type_and_mistakes_are_named() {
        let query = find("runs").unwrap();
        let one = |text: &str| given(query, &[text.to_owned()]);
        assert_eq!(one("since=1970-01-02").unwrap()["since"], Param::Int(86_400_000_000));
        assert_eq!(one("colour=red").unwrap_err().to_string(), "query runs has no parameter colour; it has: since, until, sessions");
        assert!(one("since").is_err() && one("since=soon").is_err());
        assert!(given(query, &["sessions=true".into(), "sessions=false".into()]).is_err());
    }

    #[test]
    fn the_list_names_every_query_and_explain_shows_its_columns() {
        assert!(list().lines().any(|l| l.starts_with("gate_economics ") && l.ends_with("(since, until, sessions)")));
        assert!(explain(find("toll").unwrap()).contains("toll_blocked_ms: "));
    }
}
