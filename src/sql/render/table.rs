//! Owns the table for a terminal.

use std::io::Write;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

use super::value::{is_numeric, text, value};
use crate::plain::{cut, escape};
use crate::sql::{Answer, Citation, SqlError};

/// Characters of a cell that are shown; the other formats show all.
const MAX_CELL: usize = 80;

pub fn write(answer: &Answer, cite: Option<&Citation>, out: &mut dyn Write) -> Result<(), SqlError> {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let fields = answer.schema.fields();
    let align = |index: usize| if is_numeric(fields[index].data_type()) { CellAlignment::Right } else { CellAlignment::Left };
    table.set_header(fields.iter().enumerate().map(|(i, f)| Cell::new(escape(f.name())).set_alignment(align(i))));
    for batch in &answer.batches {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().enumerate().map(|(i, column)| {
                let value = value(column, row);
                let shown = if value.is_null() { "NULL".to_owned() } else { cut(&escape(&text(&value)), MAX_CELL) };
                Cell::new(shown).set_alignment(align(i))
            });
            table.add_row(cells);
        }
    }
    writeln!(out, "{}", table.trim_fmt())?;
    writeln!(out, "{} {}", answer.n_rows(), if answer.n_rows() == 1 { "row" } else { "rows" })?;
    for line in cite.map(super::lines).unwrap_or_default() {
        writeln!(out, "{}", escape(&line))?;
    }
    Ok(())
}
