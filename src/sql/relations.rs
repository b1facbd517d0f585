//! Owns what the engine can show: the text of every view, table and macro, and which of them a statement names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::embedded::{BASE, LIB};
use super::{SqlError, Tables};
use crate::model;
use crate::model::cell::Kind;
use crate::model::gates::{GATE_MERGE, Merge};
use crate::model::record::{ColumnDef, Layer, TableDef};
use crate::model::sessions::CONTEXT_TOLD_TOGETHER;

/// How a relation comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    View,
    /// Computed once an engine.
    Table,
    /// The text is the statement that creates it.
    Macro,
    /// One row a key of `<name without _distinct>_copies`.
    Distinct {
        table: &'static str,
        key: &'static str,
    },
}

/// One relation.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub form: Form,
    pub sql: String,
}

/// Tables with a merged or otherwise special view.
const GATES: &str = "gates";
const CONTEXTS: &str = "contexts";
const GATE_RUNS: &str = "gate_runs";
const FINDINGS: &str = "findings";
const SOURCES: &str = "sources";

/// Every relation by name, over the files of one snapshot.
pub(super) fn all(tables: &Tables) -> Result<BTreeMap<String, Relation>, SqlError> {
    let mut relations = BTreeMap::new();
    let mut add = |name: &str, form: Form, sql: String| {
        relations.insert(name.to_owned(), Relation { form, sql });
    };
    for def in model::all_tables() {
        let raw = rows_of(def, tables.files_of(def.name))?;
        match def.name {
            SOURCES => add(def.name, Form::Table, newest_source(def, &raw)),
            _ if def.layer == Layer::Derived || def.key.is_empty() => add(def.name, Form::View, visible(def, &raw)),
            _ => {
                add(&format!("{}_copies", def.name), Form::View, visible(def, &raw));
                let distinct = Form::Distinct { table: def.name, key: def.key };
                match def.name {
                    CONTEXTS => add(CONTEXTS, Form::Table, widest(def)),
                    GATES => add("gates_merged", Form::View, merged_gates(def)),
                    GATE_RUNS => add("gate_runs_distinct", distinct, String::new()),
                    FINDINGS => add("findings_distinct", distinct, String::new()),
                    name => add(name, distinct, String::new()),
                }
            }
        }
    }
    add("source_paths", Form::View, "SELECT source_id, min(path) AS path FROM sources GROUP BY source_id".to_owned());
    for (name, text) in BASE.iter().chain(LIB) {
        let form = match text.lines().find_map(|l| l.strip_prefix("-- kind: ")) {
            Some("table") => Form::Table,
            Some("macro") => Form::Macro,
            _ => Form::View,
        };
        add(name, form, (*text).to_owned());
    }
    Ok(relations)
}

/// The rows of the table's files with every column of its definition, NULL where no file has it.
fn rows_of(def: &TableDef, files: &[std::path::PathBuf]) -> Result<String, SqlError> {
    // In the files an instant has its zone.
    let type_of = |kind: Kind| if kind == Kind::Timestamp { "TIMESTAMPTZ" } else { kind.sql_name() };
    let mut nulls: Vec<String> = def.columns.iter().map(|c| format!("NULL::{} AS \"{}\"", type_of(c.kind), c.name)).collect();
    if def.layer == Layer::Fact {
        nulls.extend(["NULL::BIGINT AS batch_id".to_owned(), "NULL::BOOLEAN AS provisional".to_owned()]);
    }
    let none = format!("SELECT {} WHERE false", nulls.join(", "));
    if files.is_empty() {
        return Ok(none);
    }
    let list: Vec<String> = files.iter().map(|f| literal(f)).collect::<Result<_, _>>()?;
    Ok(format!(
        "SELECT * FROM read_parquet([{}], union_by_name = true, hive_partitioning = false) UNION ALL BY NAME {none}",
        list.join(", ")
    ))
}

/// A path as a SQL string.
pub(super) fn literal(path: &Path) -> Result<String, SqlError> {
    let text = path.to_str().ok_or_else(|| SqlError::Path(path.to_owned()))?;
    Ok(format!("'{}'", text.replace('\'', "''")))
}

/// Instants are shown as TIMESTAMP in UTC: functions of calendar time (`date_trunc`, `extract`, differences) need no zone data for it.
fn column_list(def: &TableDef) -> String {
    let column = |c: &ColumnDef| match c.kind {
        Kind::Timestamp => format!("CAST(\"{0}\" AS TIMESTAMP) AS \"{0}\"", c.name),
        _ => format!("\"{}\"", c.name),
    };
    def.columns.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// Facts count only where the commit point names their batch ([`crate::lake::Span`]).
fn visible(def: &TableDef, raw: &str) -> String {
    let shown = "raw.batch_id = c.last_batch \
        OR (raw.batch_id BETWEEN c.first_batch AND c.last_batch AND raw.provisional IS NOT TRUE)";
    let filter = match def.layer {
        Layer::Fact => format!(" SEMI JOIN current_batches c ON raw.source_id = c.source_id AND ({shown})"),
        Layer::Derived => String::new(),
    };
    format!("SELECT {} FROM ({raw}) raw{filter}", column_list(def))
}

fn newest_source(def: &TableDef, raw: &str) -> String {
    format!(
        "SELECT {} FROM ({raw}) QUALIFY row_number() OVER (PARTITION BY source_id ORDER BY batch_id DESC NULLS LAST, ingested_at DESC) = 1",
        column_list(def)
    )
}

/// One row a context: its copies are windows on one thing, so it starts with the earliest, ends with the latest and has the first role,
/// total and compactions any of them knows; the rest is what the copy with the least (path, line) says.
fn widest(def: &TableDef) -> String {
    let told_by = |name: &str| CONTEXT_TOLD_TOGETHER.iter().find(|(_, names)| names.contains(&name)).map(|(by, _)| *by);
    let columns = def.columns.iter().map(|c| match (c.name, told_by(c.name)) {
        (name, _) if name == def.key => format!("\"{name}\""),
        ("started_at", _) => "min(started_at) AS started_at".to_owned(),
        ("ended_at", _) => "max(ended_at) AS ended_at".to_owned(),
        (name, Some(by)) => {
            format!("coalesce(min_by(copy, place) FILTER (WHERE {by} IS NOT NULL), min_by(copy, place)).{name} AS {name}")
        }
        (name, None) => format!("min_by(copy, place).\"{name}\" AS \"{name}\""),
    });
    by_place(def, columns.collect(), "c.*, c AS copy")
}

/// One row a gate, each column as [`GATE_MERGE`] says (the lake's own view is built on the same list).
fn merged_gates(def: &TableDef) -> String {
    let merge_of = |name: &str| GATE_MERGE.iter().find(|(column, _)| *column == name).map_or(Merge::Place, |(_, merge)| *merge);
    let columns = def.columns.iter().map(|c| match (c.name, merge_of(c.name)) {
        (name, _) if name == def.key => format!("\"{name}\""),
        // Names are quoted: some (`at`, `commit`) are words of SQL.
        (name, Merge::Least) => format!("min(\"{name}\") AS \"{name}\""),
        (name, Merge::Any) => format!("bool_or(\"{name}\") AS \"{name}\""),
        (name, Merge::FirstOf(words)) => {
            let words = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
            format!("([{words}])[min(list_position([{words}], \"{name}\")) FILTER (WHERE \"{name}\" IS NOT NULL)] AS \"{name}\"")
        }
        (name, Merge::Union) => {
            format!("list_sort(list_distinct(flatten(list(\"{name}\") FILTER (WHERE \"{name}\" IS NOT NULL)))) AS \"{name}\"")
        }
        (name, Merge::Place) => format!("min_by(\"{name}\", place) AS \"{name}\""),
    });
    by_place(def, columns.collect(), "c.*")
}

/// Groups the copies of each key; `place` orders them.
fn by_place(def: &TableDef, columns: Vec<String>, of: &str) -> String {
    format!(
        "SELECT {} FROM (SELECT {of}, row(coalesce(s.path, ''), c.source_line, c.source_id) AS place \
         FROM {table}_copies c LEFT JOIN source_paths s ON s.source_id = c.source_id) GROUP BY {}",
        columns.join(", "),
        def.key,
        table = def.name
    )
}

/// The words of a statement that could name a relation, comments and strings left out; lower case.
pub(super) fn words(sql: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut chars = sql.chars().peekable();
    let mut word = String::new();
    while let Some(c) = chars.next() {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c.to_ascii_lowercase());
            continue;
        }
        if !word.is_empty() {
            words.insert(std::mem::take(&mut word));
        }
        match c {
            '\'' => while chars.next().is_some_and(|c| c != '\'') {},
            '-' if chars.peek() == Some(&'-') => while chars.next().is_some_and(|c| c != '\n') {},
            _ => {}
        }
    }
    if !word.is_empty() {
        words.insert(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_leave_out_comments_and_strings() {
        let found = words("SELECT a -- not this\nFROM \"Runs\" WHERE x = 'nor problems' AND y");
        assert!(found.contains("runs") && found.contains("y") && !found.contains("problems") && !found.contains("this"));
    }

    #[test]
    fn a_quote_in_a_path_stays_inside_the_string() {
        assert_eq!(literal(Path::new("/a'b")).unwrap(), "'/a''b'");
    }
}
