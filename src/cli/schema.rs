//! Owns `mechanic schema`: prints the data dictionary from the records.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use super::Usage;
use crate::model::all_tables;
use crate::model::record::TableDef;

/// Prints the data dictionary: every table, or one, with the type and meaning of each column.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  mechanic schema gate_runs\n  mechanic schema --format json")]
pub struct Args {
    /// Table to show; all of them without.
    table: Option<String>,
    /// Markdown to read, JSON for programs.
    #[arg(long, value_enum, default_value = "md")]
    format: Format,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Md,
    Json,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let tables: Vec<&TableDef> = all_tables().filter(|t| args.table.as_deref().is_none_or(|name| name == t.name)).collect();
    if tables.is_empty() {
        let known: Vec<&str> = all_tables().map(|t| t.name).collect();
        return Err(Usage(format!("no table is named {}; there are {}", args.table.as_deref().unwrap_or(""), known.join(", "))).into());
    }
    let text = match args.format {
        Format::Md => markdown(&tables),
        Format::Json => format!("{:#}\n", serde_json::Value::Array(tables.iter().map(|t| as_json(t)).collect())),
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn markdown(tables: &[&TableDef]) -> String {
    let mut out = String::new();
    for table in tables {
        let key = if table.key.is_empty() { "none: every row counts".to_owned() } else { format!("`{}`", table.key) };
        let separator = if out.is_empty() { "" } else { "\n" };
        out.push_str(&format!("{separator}## {}\n\n{}\n\nLayer: {}. Key: {key}.\n\n", table.name, flat(table.doc), table.layer.as_str()));
        out.push_str("| column | type | null | meaning |\n| --- | --- | --- | --- |\n");
        for column in table.columns {
            let null = if column.nullable { "yes" } else { "no" };
            out.push_str(&format!(
                "| {} | {} | {null} | {} |\n",
                column.name,
                column.kind.sql_name(),
                flat(column.doc).replace('|', "\\|")
            ));
        }
    }
    out
}

fn as_json(table: &TableDef) -> serde_json::Value {
    let columns: Vec<_> = table
        .columns
        .iter()
        .map(|c| json!({"name": c.name, "type": c.kind.sql_name(), "nullable": c.nullable, "doc": flat(c.doc)}))
        .collect();
    let key = if table.key.is_empty() { serde_json::Value::Null } else { table.key.into() };
    json!({"name": table.name, "layer": table.layer.as_str(), "key": key, "doc": flat(table.doc), "columns": columns})
}

/// Doc comments are several lines with a leading space each.
fn flat(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_column_has_a_meaning() {
        for table in all_tables() {
            assert!(!flat(table.doc).is_empty(), "{}", table.name);
            assert!(table.key.is_empty() || table.columns.iter().any(|c| c.name == table.key), "{}", table.name);
            for column in table.columns {
                assert!(!flat(column.doc).is_empty(), "{}.{}", table.name, column.name);
            }
        }
    }

    #[test]
    fn the_dictionary_shows_types_keys_and_null() {
        let all: Vec<&TableDef> = all_tables().collect();
        let text = markdown(&all);
        assert!(text.contains("## gate_runs\n") && text.contains("Layer: fact. Key: `gate_run_id`."));
        assert!(text.contains("| started_at | TIMESTAMP | yes |"));
        assert_eq!(as_json(all[0])["columns"][0]["name"], "source_id");
    }
}
