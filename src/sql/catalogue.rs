//! Owns the query catalogue: what the header of each file in `queries/` says of its name, parameters and columns.

use std::sync::LazyLock;

use super::embedded::QUERIES;
use super::params::{Param, Type};

/// A parameter of a named query.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamDef {
    pub name: &'static str,
    pub kind: Type,
    pub default: Param,
    pub doc: &'static str,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDoc {
    pub name: &'static str,
    pub doc: &'static str,
}

/// A named query.
#[derive(Debug, Clone)]
pub struct Query {
    pub name: &'static str,
    pub title: &'static str,
    pub doc: String,
    pub params: Vec<ParamDef>,
    pub columns: Vec<ColumnDoc>,
    /// The whole text, header included: one SELECT.
    pub sql: &'static str,
}

/// Every named query, by name.
pub fn queries() -> &'static [Query] {
    static ALL: LazyLock<Vec<Query>> = LazyLock::new(|| QUERIES.iter().filter_map(|(name, text)| parse(name, text).ok()).collect());
    &ALL
}

/// The query of that name.
pub fn find(name: &str) -> Option<&'static Query> {
    queries().iter().find(|q| q.name == name)
}

/// Reads the header: `-- key: value` lines before the statement.
fn parse(file: &'static str, text: &'static str) -> Result<Query, String> {
    let mut query = Query { name: file, title: "", doc: String::new(), params: Vec::new(), columns: Vec::new(), sql: text };
    for line in text.lines() {
        let Some(comment) = line.strip_prefix("-- ") else { break };
        let (key, value) = comment.split_once(": ").ok_or_else(|| format!("{file}: header line without a key: {line}"))?;
        match key {
            "name" if value == file => {}
            "name" => return Err(format!("{file}: its header names it {value}")),
            "title" => query.title = value,
            "doc" => {
                if !query.doc.is_empty() {
                    query.doc.push(' ');
                }
                query.doc.push_str(value);
            }
            "param" => query.params.push(parse_param(file, value)?),
            "column" => {
                let (name, doc) = value.split_once(' ').ok_or_else(|| format!("{file}: column without a doc: {value}"))?;
                query.columns.push(ColumnDoc { name, doc });
            }
            other => return Err(format!("{file}: unknown header key {other}")),
        }
    }
    if query.title.is_empty() || query.doc.is_empty() || query.columns.is_empty() {
        return Err(format!("{file}: title, doc or columns are missing"));
    }
    Ok(query)
}

/// `name type default doc…`.
fn parse_param(file: &str, value: &'static str) -> Result<ParamDef, String> {
    let mut parts = value.splitn(4, ' ');
    let (Some(name), Some(kind), Some(default), Some(doc)) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(format!("{file}: a parameter needs name, type, default and doc: {value}"));
    };
    let kind = Type::parse(kind).ok_or_else(|| format!("{file}: parameter {name} has the unknown type {kind}"))?;
    let default = if default == "null" { Param::Null } else { kind.value(default).map_err(|e| format!("{file}: {name}: {e}"))? };
    Ok(ParamDef { name, kind, default, doc })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_a_header_that_can_be_read() {
        for (name, text) in QUERIES {
            assert!(parse(name, text).is_ok(), "{:?}", parse(name, text).err());
        }
        assert!(queries().len() >= 15);
        assert_eq!(queries().len(), QUERIES.len());
    }

    #[test]
    fn broken_headers_are_named() {
        for text in [
            "-- name: b\nSELECT 1",
            "-- title: t\nSELECT 1",
            "-- name: a\n-- title: t\n-- doc: d\n-- param: x colour null y\n-- column: a b\nSELECT 1",
        ] {
            assert!(parse("a", text).is_err(), "{text}");
        }
    }
}
