//! Owns Markdown tables: cells are escaped, so that a name from a log is neither markup nor a way out of its cell.

use std::io::Write;

use super::value::{is_numeric, text, value};
use crate::plain::{escape, is_after_www};
use crate::sql::{Answer, Citation, SqlError};

pub fn write(answer: &Answer, cite: Option<&Citation>, out: &mut dyn Write) -> Result<(), SqlError> {
    let fields = answer.schema.fields();
    let header: Vec<String> = fields.iter().map(|f| escaped(f.name())).collect();
    writeln!(out, "| {} |", header.join(" | "))?;
    let rule: Vec<&str> = fields.iter().map(|f| if is_numeric(f.data_type()) { "---:" } else { "---" }).collect();
    writeln!(out, "| {} |", rule.join(" | "))?;
    for batch in &answer.batches {
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = batch.columns().iter().map(|column| escaped(&text(&value(column, row)))).collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
    }
    for (index, line) in cite.map(super::lines).unwrap_or_default().iter().enumerate() {
        writeln!(out, "{}{}  ", if index == 0 { "\n" } else { "" }, escaped(line))?;
    }
    Ok(())
}

/// Backslashes before what Markdown reads as markup; `_` inside names is none.
pub fn escaped(cell: &str) -> String {
    let mut out = String::with_capacity(cell.len());
    let cell = escape(cell);
    for (i, c) in cell.char_indices() {
        match c {
            // A mention notifies people, an address becomes a link, wherever the table is pasted.
            '@' => out.push_str("&#64;"),
            ':' if cell[i..].starts_with("://") => out.push_str("&#58;"),
            '.' if is_after_www(&cell[..i]) => out.push_str("&#46;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
