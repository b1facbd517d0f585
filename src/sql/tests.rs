//! Owns the tests of what may run: statements that are refused, and the lint over `queries/`.

use std::collections::BTreeSet;

use super::embedded::{BASE, LIB, QUERIES};
use super::relations::words;
use super::testing::{World, lines};
use super::{Engine, SqlError, queries};
use crate::model::all_tables;

fn refused(engine: &Engine, sql: &str) -> String {
    match engine.select(sql) {
        Err(e) if e.is_usage() => e.to_string(),
        Err(e) => panic!("{sql}: not a usage error: {e}"),
        Ok(_) => panic!("{sql}: it ran"),
    }
}

#[test]
fn only_a_select_runs() {
    let world = World::new();
    let engine = world.engine();
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out").display().to_string();
    for sql in [
        format!("COPY runs TO '{target}'"),
        format!("COPY (SELECT 1) TO '{target}' (FORMAT csv)"),
        format!("ATTACH '{target}' AS x"),
        format!("EXPORT DATABASE '{target}'"),
        "INSTALL httpfs".into(),
        "LOAD httpfs".into(),
        "SET threads = 1".into(),
        "RESET threads".into(),
        "PRAGMA version".into(),
        "PRAGMA database_list".into(),
        "CALL duckdb_settings()".into(),
        "CREATE TABLE x (a INT)".into(),
        "CREATE VIEW x AS SELECT 1".into(),
        "CREATE MACRO x() AS 1".into(),
        "INSERT INTO prices VALUES (1)".into(),
        "UPDATE prices SET pattern = ''".into(),
        "DELETE FROM prices".into(),
        "DROP VIEW prices".into(),
        "ALTER TABLE price_rows ADD COLUMN a INT".into(),
        "BEGIN".into(),
        "CHECKPOINT".into(),
        "VACUUM".into(),
        "USE memory".into(),
        "PREPARE p AS SELECT 1".into(),
        "EXECUTE p".into(),
        "EXPLAIN ANALYZE DELETE FROM prices".into(),
        "DETACH memory".into(),
        "".into(),
        "-- nothing".into(),
        ";".into(),
    ] {
        refused(&engine, &sql);
    }
    assert_eq!(dir.path().read_dir().unwrap().count(), 0, "a refused statement wrote a file");
}

#[test]
fn two_statements_are_refused_and_neither_runs() {
    let engine = World::new().engine();
    assert!(refused(&engine, "SELECT 1; SELECT 2").contains("exactly one statement"));
    refused(&engine, "CREATE TABLE leak (a INT); SELECT 1");
    refused(&engine, "SELECT 1; DROP TABLE price_rows");
    assert_eq!(lines(&engine.select("SELECT count(*) > 0 AS kept FROM prices").unwrap(), &["kept"]), ["true"]);
}

#[test]
fn parts_that_write_are_refused_inside_a_select() {
    let engine = World::new().engine();
    assert!(refused(&engine, "WITH x AS (DELETE FROM price_rows RETURNING *) SELECT * FROM x").contains("must be one"));
    refused(&engine, "WITH x AS (INSERT INTO price_rows VALUES ('','',false,0,0,0,0,0,0,0) RETURNING *) SELECT count(*) FROM x");
    assert_eq!(lines(&engine.select("SELECT count(*) > 0 AS kept FROM prices").unwrap(), &["kept"]), ["true"]);
}

#[test]
fn no_file_can_be_read_by_any_name() {
    let engine = World::new().engine();
    for from in [
        "read_csv('/etc/passwd')",
        "read_csv_auto('/etc/passwd')",
        "read_text('/etc/passwd')",
        "read_blob('/etc/passwd')",
        "read_json('/etc/passwd')",
        "read_ndjson_objects('/etc/passwd')",
        "read_parquet('/etc/passwd')",
        "parquet_scan('/etc/passwd')",
        "parquet_metadata('/etc/passwd')",
        "sniff_csv('/etc/passwd')",
        "glob('/etc/*')",
        "'/etc/passwd'",
        "'/tmp/x.csv'",
        "\"/tmp/x.parquet\"",
        "query('SELECT 1')",
        "query_table('prices')",
        "duckdb_secrets()",
        "duckdb_settings()",
        "(SELECT * FROM read_text('/etc/passwd'))",
    ] {
        refused(&engine, &format!("SELECT * FROM {from}"));
    }
    refused(&engine, "SELECT (SELECT content FROM read_text('/etc/passwd'))");
    refused(&engine, "SELECT * FROM prices WHERE pattern IN (SELECT file FROM glob('*'))");
    refused(&engine, "WITH runs AS (FROM '/etc/passwd') SELECT * FROM runs");
}

#[test]
fn the_lock_holds_where_the_guard_would_not() {
    let engine = World::new().engine();
    for sql in [
        "SELECT * FROM read_text('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/mechanic-leak'",
        "SET threads = 1",
        "LOAD httpfs",
        "INSTALL httpfs",
        "ATTACH '/tmp/x'",
    ] {
        assert!(matches!(engine.run(sql, &Default::default()), Err(SqlError::Query(_))), "{sql}");
    }
    assert!(!std::path::Path::new("/tmp/mechanic-leak").exists());
}

#[test]
fn ordinary_selects_run_with_their_ctes_functions_and_describe() {
    let engine = World::new().engine();
    for sql in [
        "SELECT 1 AS one;",
        "FROM prices",
        "WITH x AS (SELECT 1 AS a), y AS (SELECT * FROM x) SELECT * FROM y",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT * FROM n",
        "SELECT * FROM range(3) UNION ALL SELECT unnest([1, 2])",
        "DESCRIBE gate_runs",
        "SHOW TABLES",
        "SELECT table_name FROM information_schema.tables",
        "SUMMARIZE prices",
        "SELECT * FROM runs_between(NULL, NULL, true)",
        "VALUES (1, 'a')",
        "SELECT gate_id, count(*) FROM gate_runs GROUP BY ALL ORDER BY ALL",
    ] {
        assert!(engine.select(sql).is_ok(), "{sql}: {:?}", engine.select(sql).err());
    }
    assert!(matches!(engine.select("SELECT nothing FROM runs"), Err(SqlError::Query(_))));
    assert!(refused(&engine, "SELECT * FROM run").contains("there is no table run"));
}

#[test]
fn every_table_exists_as_a_view_with_its_columns_and_types_when_the_lake_is_empty() {
    let engine = World::new().engine();
    engine.ensure_all().unwrap();
    for def in all_tables() {
        let shown = engine.select(&format!("SELECT column_name, column_type FROM (DESCRIBE {})", def.name)).unwrap();
        let shown: BTreeSet<String> = lines(&shown, &["column_name", "column_type"]).into_iter().collect();
        for column in def.columns {
            let kind = column.kind.sql_name();
            assert!(shown.contains(&format!("{}|{kind}", column.name)), "{}.{} {kind}: {shown:?}", def.name, column.name);
        }
        assert_eq!(engine.select(&format!("SELECT * FROM {}", def.name)).unwrap().n_rows(), 0, "{}", def.name);
    }
}

#[test]
fn every_named_query_answers_an_empty_lake_with_the_columns_its_header_documents() {
    let engine = World::new().engine();
    for query in queries() {
        let answer = engine.query(query.name, &Default::default()).unwrap_or_else(|e| panic!("{}: {e}", query.name));
        let columns: Vec<&str> = answer.schema.fields().iter().map(|f| f.name().as_str()).collect();
        let documented: Vec<&str> = query.columns.iter().map(|c| c.name).collect();
        assert_eq!(columns.iter().collect::<BTreeSet<_>>(), documented.iter().collect::<BTreeSet<_>>(), "{}", query.name);
        for field in answer.schema.fields() {
            assert!(
                !matches!(field.data_type(), arrow::datatypes::DataType::Decimal128(_, _)),
                "{}.{} is a HUGEINT",
                query.name,
                field.name()
            );
        }
    }
}

#[test]
fn parameters_are_bound_never_spliced() {
    let engine = World::new().engine();
    let hostile = super::params::Param::Text("x' OR 1 = 1; DROP TABLE price_rows; --".into());
    let answer = engine.query("problems", &[("gate".to_owned(), hostile)].into()).unwrap();
    assert_eq!(answer.n_rows(), 0);
    let unknown = engine.query("problems", &[("colour".to_owned(), super::params::Param::Null)].into()).unwrap_err();
    assert_eq!(unknown.to_string(), "query problems has no parameter colour: it has since, until, sessions, about, gate");
    assert!(matches!(engine.query("no_such", &Default::default()), Err(SqlError::Unknown(_))));
}

/// Functions whose result depends on the order rows come in, or on when a query runs.
const UNSTABLE: &[&str] =
    &["any_value", "first", "last", "arbitrary", "mode", "now", "today", "random", "uuid", "get_current_time", "transaction_timestamp"];

/// Words that read the clock without a call.
const CLOCK: &[&str] = &["current_timestamp", "current_date", "current_time", "localtime", "localtimestamp"];

#[test]
fn queries_use_nothing_whose_answer_depends_on_row_order_or_the_clock() {
    for (name, text) in QUERIES.iter().chain(LIB).chain(BASE) {
        for word in words(text) {
            assert!(!CLOCK.contains(&word.as_str()) && !word.starts_with("approx_"), "{name} uses {word}");
        }
        for function in UNSTABLE {
            assert!(!calls(text, function), "{name} uses {function}()");
        }
        for aggregate in ["list(", "array_agg(", "string_agg(", "group_concat("] {
            let code = code_of(text);
            for (at, _) in code.match_indices(aggregate) {
                if code[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
                    continue;
                }
                let inside = code[at..].split(')').next().unwrap_or("");
                assert!(inside.to_lowercase().contains("order by"), "{name}: {aggregate} without an order");
            }
        }
        for float in ["avg(", "stddev", "sum(upper95", "quantile_cont", "median("] {
            assert!(!code_of(text).contains(float), "{name}: {float} adds floats in row order");
        }
    }
}

/// Whether the text calls a function of that very name.
fn calls(text: &str, function: &str) -> bool {
    let code = code_of(text).to_lowercase();
    code.match_indices(function).any(|(at, _)| {
        let part_of_a_word = code[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        !part_of_a_word && code[at + function.len()..].trim_start().starts_with('(')
    })
}

#[test]
fn the_lint_sees_what_it_must_refuse() {
    assert!(calls("SELECT mode(x)", "mode") && calls("SELECT First (x)", "first"));
    assert!(!calls("SELECT mode, n_first(x)", "mode") && !calls("SELECT n_first(x)", "first") && !calls("-- mode(x)", "mode"));
}

fn code_of(text: &str) -> String {
    text.lines().filter(|l| !l.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_query_ends_in_an_order_by() {
    for (name, text) in QUERIES {
        let code = code_of(text);
        let tail = code.trim_end().lines().rev().find(|l| !l.starts_with("LIMIT")).unwrap_or("").to_owned();
        assert!(tail.starts_with("ORDER BY "), "{name} ends in {tail}");
    }
}

#[test]
fn named_queries_pass_the_guard_themselves() {
    let engine = World::new().engine();
    for query in queries() {
        let plain = query.params.iter().fold(code_of(query.sql), |sql, p| sql.replace(&format!("${}", p.name), "NULL"));
        assert!(engine.select(&plain).is_ok(), "{}: {:?}", query.name, engine.select(&plain).err());
    }
}

#[test]
fn functions_of_calendar_time_work_on_every_instant() {
    let world = crate::measure::sample::world();
    let engine = world.engine();
    let one = |expression: &str| {
        lines(&engine.select(&format!("SELECT {expression} AS x FROM runs ORDER BY run_id LIMIT 1")).unwrap(), &["x"]).join("")
    };
    for expression in [
        "date_trunc('week', started_at)",
        "date_diff('minute', started_at, ended_at)",
        "extract(hour FROM started_at)",
        "started_at::DATE",
        "ended_at - started_at",
        "started_at + INTERVAL 1 DAY",
        "strftime(started_at, '%G-W%V')",
        "started_at > TIMESTAMP '2020-01-01'",
        "started_at > '2020-01-01'",
        "age(ended_at, started_at)",
        "time_bucket(INTERVAL '1 hour', started_at)",
    ] {
        assert_ne!(one(expression), "", "{expression}");
    }
    assert!(one("started_at").ends_with('Z'), "an instant is shown in UTC");
    assert_eq!(one("typeof((SELECT max(valid_from) FROM prices))"), "TIMESTAMP");
}

#[test]
fn a_description_of_a_table_is_an_answer_like_any_other() {
    let engine = World::new().engine();
    for sql in ["DESCRIBE runs", "SHOW TABLES", "SUMMARIZE runs", "SELECT column_name FROM (DESCRIBE runs)"] {
        assert!(engine.select(sql).is_ok(), "{sql}");
    }
}
