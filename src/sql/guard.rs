//! Owns the guard: what an ad-hoc statement must be before it runs. Exactly one statement, a SELECT in all its parts, over known relations.
//!
//! The statement is parsed by DuckDB itself (`json_serialize_sql` takes nothing but SELECT statements) and its tree is walked, because
//! DuckDB's own settings refuse less: a data-modifying CTE is a SELECT to the parser, and `query('…')` runs text. The connection is
//! locked as well (no files but the lake's own, no extensions, configuration frozen); neither relies on the other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::SqlError;

/// Table functions that compute from their arguments or show the catalogue; none reads files or runs text.
const TABLE_FUNCTIONS: &[&str] = &[
    "range",
    "generate_series",
    "unnest",
    "repeat",
    "repeat_row",
    "json_each",
    "json_tree",
    "duckdb_tables",
    "duckdb_views",
    "duckdb_columns",
    "duckdb_functions",
    "duckdb_types",
];

/// Query nodes that only read.
const QUERY_NODES: &[&str] = &["SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"];

/// Schemas of the catalogue itself.
const CATALOGUE_SCHEMAS: &[&str] = &["information_schema", "pg_catalog"];

/// Checks the tree DuckDB's parser made of a statement. `known` says whether a relation or macro of that name exists.
pub(super) fn check(tree: &str, known: &dyn Fn(&str) -> bool) -> Result<(), SqlError> {
    let tree: Value = serde_json::from_str(tree).map_err(|_| refused("the statement is nested too deeply"))?;
    if tree.get("error").and_then(Value::as_bool) != Some(false) {
        let message = tree.get("error_message").and_then(Value::as_str).unwrap_or("it cannot be read");
        return Err(match tree.get("error_type").and_then(Value::as_str) {
            Some("not implemented") => refused("only a single SELECT can run here; nothing else reads, and nothing here writes"),
            _ => SqlError::Query(message.to_owned()),
        });
    }
    let statements = tree.get("statements").and_then(Value::as_array).map_or(0, Vec::len);
    if statements != 1 {
        return Err(refused(&format!("expected exactly one statement, found {statements}")));
    }
    let mut ctes = BTreeSet::new();
    collect_ctes(&tree, &mut ctes);
    walk(&tree, &|name: &str| known(name) || ctes.contains(name))
}

fn refused(what: &str) -> SqlError {
    SqlError::Refused(what.to_owned())
}

fn collect_ctes(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(entries) = map.get("cte_map").and_then(|m| m.get("map")).and_then(Value::as_array) {
                into.extend(entries.iter().filter_map(|e| e.get("key")).filter_map(Value::as_str).map(str::to_lowercase));
            }
            if map.get("type").and_then(Value::as_str) == Some("RECURSIVE_CTE_NODE") {
                into.extend(map.get("cte_name").and_then(Value::as_str).map(str::to_lowercase));
            }
            map.values().for_each(|v| collect_ctes(v, into));
        }
        Value::Array(items) => items.iter().for_each(|v| collect_ctes(v, into)),
        _ => {}
    }
}

fn walk(value: &Value, known: &dyn Fn(&str) -> bool) -> Result<(), SqlError> {
    match value {
        Value::Object(map) => {
            let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or("");
            let kind = text("type");
            if map.contains_key("cte_map") && !QUERY_NODES.contains(&kind) {
                return Err(refused(&format!("only a single SELECT can run here, and every part of it must be one ({kind} is none)")));
            }
            match kind {
                "TABLE_FUNCTION" => {
                    let name = map.get("function").and_then(|f| f.get("function_name")).and_then(Value::as_str).unwrap_or("");
                    if !TABLE_FUNCTIONS.contains(&name.to_lowercase().as_str()) && !known(&name.to_lowercase()) {
                        return Err(refused(&format!("the table function {name} is not allowed: a query reads the lake's tables only")));
                    }
                }
                "BASE_TABLE" => {
                    let (schema, name) = (text("schema_name").to_lowercase(), text("table_name"));
                    let ours = matches!(schema.as_str(), "" | "main") && known(&name.to_lowercase());
                    if !ours && !CATALOGUE_SCHEMAS.contains(&schema.as_str()) {
                        return Err(refused(&format!("there is no table {name}: `mechanic schema` lists them")));
                    }
                }
                _ => {}
            }
            map.values().try_for_each(|v| walk(v, known))
        }
        Value::Array(items) => items.iter().try_for_each(|v| walk(v, known)),
        _ => Ok(()),
    }
}
