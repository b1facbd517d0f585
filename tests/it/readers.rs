//! Owns the promise that the lake is open: Python's deltalake reads every table, and Polars and DuckDB read the files it names, with the
//! rows that we count. Runs where `MECHANIC_PYTHON` names a Python with deltalake, pyarrow, polars and duckdb.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::support::{Scratch, csv_rows};

/// Prints, for each table of the lake in argv[1] and each reader: table, reader, rows, sum of source_line. A row of a fact counts where
/// the newest row of its file in `sources` names its batch, and no later part of the file may have replaced it: what a file said before it
/// was read again stays until files are compacted.
const READ: &str = r#"
import os, sys
import duckdb, polars
from deltalake import DeltaTable
root = sys.argv[1]
print("table,reader,n,lines")
sources = DeltaTable(os.path.join(root, "sources")).to_pyarrow_table().to_pylist()
newest = {}
for row in sorted(sources, key=lambda row: row["batch_id"]):
    newest[row["source_id"]] = (row["first_batch"], row["data_batch"])
def lives(row):
    if "batch_id" not in row or "source_id" not in row or "provisional" not in row:
        return True
    first, last = newest.get(row["source_id"], (None, None))
    batch = row["batch_id"]
    return last is not None and (batch == last or (first <= batch <= last and not row["provisional"]))
def counted(name, reader, rows):
    rows = [row for row in rows if lives(row)]
    lines = [row["source_line"] or 0 for row in rows if "source_line" in row]
    print(name, reader, len(rows), sum(lines) if lines else "", sep=",")
for name in sorted(os.listdir(root)):
    folder = os.path.join(root, name)
    if not os.path.isdir(os.path.join(folder, "_delta_log")):
        continue
    table = DeltaTable(folder)
    files = [f.removeprefix("file://") for f in table.file_uris()]
    assert all(f.endswith(".parquet") for f in files), files
    counted(name, "deltalake", table.to_pyarrow_table().to_pylist())
    if not files:
        continue
    frame = polars.read_parquet(files, missing_columns="insert") if len(files) > 1 else polars.read_parquet(files)
    counted(name, "polars", frame.to_dicts())
    counted(name, "polars-delta", polars.scan_delta(folder).collect().to_dicts())
    listed = duckdb.sql("from read_parquet($files, union_by_name = true)", params={"files": files})
    counted(name, "duckdb", [dict(zip(listed.columns, row)) for row in listed.fetchall()])
# The threads of these libraries sometimes abort the interpreter's own way out.
sys.stdout.flush()
os._exit(0)
"#;

/// Rows and sum of lines by table, as the program itself sees them, copies included.
fn ours(scratch: &Scratch) -> BTreeMap<String, (String, String)> {
    let schema = scratch.mechanic(&["schema"]);
    let mut counted = BTreeMap::new();
    for table in schema.lines().filter_map(|line| line.strip_prefix("## ")) {
        // A table without copies has no view of them; one without lines has no sum of them.
        let views = [format!("{table}_copies"), table.to_owned()];
        let asked = views
            .iter()
            .flat_map(|view| ["sum(source_line)::bigint", "''"].map(|lines| format!("select count(*) as n, {lines} as lines from {view}")));
        let answer = asked.map(|sql| scratch.run(&["sql", "--format", "csv", &sql])).find(|output| output.status.success());
        let row = &csv_rows(&String::from_utf8(answer.unwrap().stdout).unwrap())[0];
        counted.insert(table.to_owned(), (row["n"].clone(), row["lines"].clone()));
    }
    counted
}

#[test]
#[cfg_attr(not(mechanic_python), ignore)]
fn deltalake_polars_and_duckdb_read_every_table_with_our_rows() {
    let scratch = Scratch::new();
    scratch.mechanic(&["ingest", "fixtures/demo/shop"]);
    scratch.digest();
    scratch.mechanic(&["ingest", "fixtures/demo"]);
    scratch.digest();
    assert_read_alike(&scratch, 15);
}

#[test]
#[cfg_attr(not(mechanic_python), ignore)]
fn by_the_rule_of_batches_readers_see_no_row_of_a_file_that_was_replaced() {
    let scratch = Scratch::new();
    let file = scratch.path().join("trace.jsonl");
    let text = std::fs::read_to_string("fixtures/demo/shop/.copilot-tracking/issues/issue-102/trace.jsonl").unwrap();
    for lines in [usize::MAX, 5, 9] {
        let kept: Vec<&str> = text.lines().take(lines).collect();
        std::fs::write(&file, kept.join("\n") + "\n").unwrap();
        scratch.mechanic(&["ingest", file.to_str().unwrap()]);
        scratch.digest();
        assert_read_alike(&scratch, 10);
    }
}

fn assert_read_alike(scratch: &Scratch, at_least: usize) {
    let output = Command::new(std::env::var_os("MECHANIC_PYTHON").unwrap()).args(["-c", READ]).arg(scratch.lake()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = csv_rows(&String::from_utf8(output.stdout).unwrap());
    let mut by_table: BTreeMap<&str, Vec<(&str, [&str; 2])>> = BTreeMap::new();
    for row in &read {
        by_table.entry(&row["table"]).or_default().push((&row["reader"], [&row["n"], &row["lines"]]));
    }
    let ours = ours(scratch);
    assert!(Path::new(&scratch.lake()).join("gate_runs/_delta_log").is_dir());
    for (table, (n, lines)) in &ours {
        let Some(readers) = by_table.get(table.as_str()) else {
            assert_eq!(n, "0", "{table} has rows and no Delta table");
            continue;
        };
        assert!(n == "0" || readers.len() == 4, "{table}: {readers:?}");
        // The table of sources keeps the rows of earlier ingests of a file; the newest counts.
        for (reader, [their_n, their_lines]) in readers.iter().filter(|_| table != "sources") {
            let lines = if n == "0" { their_lines } else { lines.as_str() };
            assert_eq!((*their_n, *their_lines), (n.as_str(), lines), "{table} read by {reader}");
        }
    }
    assert!(by_table.keys().all(|table| ours.contains_key(*table)), "{:?}", by_table.keys());
    assert!(by_table.len() >= at_least, "{:?}", by_table.keys());
}
