//! Owns `Engine`: an in-memory DuckDB over the files of one snapshot, locked before any query runs.
//!
//! Relations are created when a statement first names them, so that a query pays for what it reads. Facts keep every copy; the view of
//! the same name shows one row a key: the copy with the least (source path, line).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use duckdb::{Config, Connection};

use super::cache::Cache;
use super::catalogue::{self, Query};
use super::embedded::{BASE, LIB};
use super::error::message;
use super::limits::{Limits, within};
use super::params::{self, Param, Type};
use super::relations::{self, Form, Relation, literal, words};
use super::{SqlError, guard};
use crate::config::prices::PriceTable;
use crate::lake::{Snapshot, Span};
use crate::model;
use crate::model::id::digest;

/// What of a lake is visible: its active Parquet files by table and the batches that count.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    /// Active Parquet files by table, absolute.
    pub files: BTreeMap<String, Vec<PathBuf>>,
    /// Which batches hold the visible rows of each source, by source id.
    pub current: Vec<(String, Span)>,
    /// Version of the commit point. NULL in a citation where there is none.
    pub version: Option<i64>,
    /// Digest of the visible facts.
    pub facts_digest: String,
    /// Digest of what the derived tables were built from.
    pub derived_digest: String,
    /// Where costly relations are kept; nowhere without.
    pub cache: Option<Cache>,
}

impl Tables {
    /// What a snapshot shows. Costly relations are kept in `cache`, under what they depend on.
    pub fn of(snapshot: &Snapshot, prices: &PriceTable, cache: Option<PathBuf>) -> Tables {
        let (facts_digest, derived_digest) = (snapshot.facts_digest(), snapshot.derived_input_digest().unwrap_or("").to_owned());
        let version = snapshot.version("sources");
        // Files that fail or that nobody reads change no fact, but what `sources` says of them.
        let key = format!("{facts_digest}\n{derived_digest}\n{version:?}\n{}\n{}", prices.digest(), query_digest(""));
        let key = digest(key.as_bytes());
        let files = model::all_tables().map(|t| (t.name.to_owned(), snapshot.files(t.name).to_vec())).collect();
        Tables {
            files,
            current: snapshot.current_batches().to_vec(),
            version,
            facts_digest,
            derived_digest,
            // Through a link the lake would write, and tidy up, somewhere else.
            cache: cache.filter(|root| !root.is_symlink()).map(|root| Cache { root, key }),
        }
    }

    pub(super) fn files_of(&self, table: &str) -> &[PathBuf] {
        self.files.get(table).map_or(&[], Vec::as_slice)
    }
}

/// The rows of an answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

impl Answer {
    pub fn n_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// What a figure rests on: enough to compute it again.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Citation {
    pub tool: String,
    pub query: String,
    pub query_digest: String,
    pub params: BTreeMap<String, String>,
    pub lake_version: Option<i64>,
    pub facts_digest: String,
    pub prices_digest: String,
}

/// Answers SQL over one snapshot.
pub struct Engine {
    db: Connection,
    relations: BTreeMap<String, Relation>,
    created: RefCell<BTreeSet<String>>,
    /// Time zones whose offsets are known.
    zones: RefCell<BTreeSet<String>>,
    version: Option<i64>,
    facts_digest: String,
    prices_digest: String,
    cache: Option<Cache>,
    time: Option<Duration>,
}

impl Engine {
    /// Opens an engine over what `tables` shows. Afterwards no statement can reach any file but those, load an extension or change a setting.
    pub fn open(tables: &Tables, prices: &PriceTable) -> Result<Engine, SqlError> {
        Engine::open_within(tables, prices, &Limits::NONE)
    }

    /// The same, with limits for every statement.
    pub fn open_within(tables: &Tables, prices: &PriceTable, limits: &Limits) -> Result<Engine, SqlError> {
        let config = Config::default()
            .threads(2)
            .and_then(|c| c.enable_autoload_extension(false))
            .and_then(|c| c.with("allow_community_extensions", "false"))
            .and_then(|c| c.with("temp_directory", ""))
            .and_then(|c| match &limits.memory {
                Some(memory) => c.max_memory(memory),
                None => Ok(c),
            })
            .map_err(SqlError::engine("be configured"))?;
        let db = Connection::open_in_memory_with_flags(config).map_err(SqlError::engine("open"))?;
        let engine = Engine {
            db,
            relations: relations::all(tables)?,
            created: RefCell::default(),
            zones: RefCell::default(),
            version: tables.version,
            facts_digest: tables.facts_digest.clone(),
            prices_digest: prices.digest(),
            cache: tables.cache.clone(),
            time: limits.time,
        };
        engine.batch("create zone_offsets", "CREATE TABLE zone_offsets (tz VARCHAR, from_us BIGINT, offset_us BIGINT)")?;
        engine.load_zone("UTC")?;
        engine.load_current(tables)?;
        engine.load_prices(prices)?;
        engine.lock(tables)?;
        Ok(engine)
    }

    fn batch(&self, what: &str, sql: &str) -> Result<(), SqlError> {
        self.db.execute_batch(sql).map_err(SqlError::engine(what))
    }

    fn load_current(&self, tables: &Tables) -> Result<(), SqlError> {
        self.batch("create current_batches", "CREATE TABLE current_batches (source_id VARCHAR, first_batch BIGINT, last_batch BIGINT)")?;
        let mut appender = self.db.appender("current_batches").map_err(SqlError::engine("fill current_batches"))?;
        for (source, Span { first, last }) in &tables.current {
            appender.append_row(duckdb::params![source, first, last]).map_err(SqlError::engine("fill current_batches"))?;
        }
        appender.flush().map_err(SqlError::engine("fill current_batches"))
    }

    /// Makes the offsets of a zone known, once.
    fn load_zone(&self, name: &str) -> Result<(), SqlError> {
        if !self.zones.borrow_mut().insert(name.to_owned()) {
            return Ok(());
        }
        let zone = params::zone(name).ok_or_else(|| SqlError::Param(format!("{name:?} is no known time zone")))?;
        let mut appender = self.db.appender("zone_offsets").map_err(SqlError::engine("fill zone_offsets"))?;
        for (from, offset) in params::offsets(&zone) {
            appender.append_row(duckdb::params![name, from, offset]).map_err(SqlError::engine("fill zone_offsets"))?;
        }
        appender.flush().map_err(SqlError::engine("fill zone_offsets"))
    }

    fn load_prices(&self, prices: &PriceTable) -> Result<(), SqlError> {
        self.batch(
            "create prices",
            "CREATE TABLE price_rows (provider VARCHAR, pattern VARCHAR, own BOOLEAN, from_us BIGINT, until_us BIGINT, nano_usd_input BIGINT, \
             nano_usd_cache_read BIGINT, nano_usd_cache_write_5m BIGINT, nano_usd_cache_write_1h BIGINT, nano_usd_output BIGINT); \
             CREATE VIEW prices AS SELECT provider, pattern, own, make_timestamp(from_us) AS valid_from, \
             make_timestamp(until_us) AS valid_until, * EXCLUDE (provider, pattern, own, from_us, until_us) FROM price_rows",
        )?;
        let mut appender = self.db.appender("price_rows").map_err(SqlError::engine("fill prices"))?;
        for entry in prices.iter() {
            let p = &entry.price;
            let (from, until) = (p.from.map(|t| t.0), p.until.map(|t| t.0));
            let row = duckdb::params![
                entry.provider,
                entry.glob(),
                entry.own,
                from,
                until,
                p.input,
                p.cache_read,
                p.cache_write_5m,
                p.cache_write_1h,
                p.output
            ];
            appender.append_row(row).map_err(SqlError::engine("fill prices"))?;
        }
        appender.flush().map_err(SqlError::engine("fill prices"))
    }

    /// From here on the lake's own files are all that can be read, and nothing can be loaded or set.
    fn lock(&self, tables: &Tables) -> Result<(), SqlError> {
        let paths: Vec<String> = tables.files.values().flatten().map(|f| literal(f)).collect::<Result<_, _>>()?;
        let folders = match &tables.cache {
            Some(cache) => literal(&cache.folder())?,
            None => String::new(),
        };
        self.batch(
            "be locked",
            &format!(
                "SET allowed_paths = [{}]::VARCHAR[]; SET allowed_directories = [{folders}]::VARCHAR[]; SET enable_external_access = false; \
                 SET lock_configuration = true",
                paths.join(", ")
            ),
        )
    }

    /// Whether a table, view or macro of that name can be queried.
    fn knows(&self, name: &str) -> bool {
        self.relations.contains_key(name) || matches!(name, "prices" | "price_rows" | "current_batches" | "zone_offsets")
    }

    /// Creates what the statement names and is not there yet.
    fn ensure(&self, sql: &str) -> Result<(), SqlError> {
        let names = words(sql);
        // Questions to the catalogue see every table.
        if names.iter().any(|w| matches!(w.as_str(), "show" | "information_schema" | "pg_catalog") || w.starts_with("duckdb_")) {
            return self.ensure_all();
        }
        names.iter().try_for_each(|name| self.create(name))
    }

    /// Creates every relation.
    pub fn ensure_all(&self) -> Result<(), SqlError> {
        self.relations.keys().try_for_each(|name| self.create(name))
    }

    fn create(&self, name: &str) -> Result<(), SqlError> {
        let Some(relation) = self.relations.get(name) else { return Ok(()) };
        if !self.created.borrow_mut().insert(name.to_owned()) {
            return Ok(());
        }
        let made = self.make(name, relation);
        if made.is_err() {
            self.created.borrow_mut().remove(name);
        }
        made
    }

    fn make(&self, name: &str, relation: &Relation) -> Result<(), SqlError> {
        let what = format!("create {name}");
        match relation.form {
            Form::View => {
                self.ensure(&relation.sql)?;
                self.batch(&what, &format!("CREATE VIEW {name} AS {}", relation.sql))
            }
            Form::Table => self.table(name, &relation.sql),
            Form::Macro => {
                self.ensure(&relation.sql)?;
                self.batch(&what, &relation.sql)
            }
            Form::Distinct { table, key } => self.create_distinct(name, table, key),
        }
    }

    /// A relation that is computed once: an earlier process's result where there is one, else a table, which is kept if it was costly.
    fn table(&self, name: &str, sql: &str) -> Result<(), SqlError> {
        let what = format!("create {name}");
        if let Some(file) = self.cache.as_ref().and_then(|c| c.find(name))
            && self.batch(&what, &format!("CREATE VIEW {name} AS SELECT * FROM read_parquet({})", literal(&file)?)).is_ok()
        {
            return Ok(());
        }
        let begun = Instant::now();
        self.ensure(sql)?;
        self.batch(&what, &format!("CREATE TABLE {name} AS {sql}"))?;
        if let Some(cache) = &self.cache
            && begun.elapsed() >= COSTLY
        {
            let rows = self.run(&format!("SELECT * FROM {name}"), &BTreeMap::new())?;
            // A cache that cannot be written costs time later, nothing else.
            let _ = cache.keep(name, &rows);
        }
        Ok(())
    }

    /// Most lakes hold few copies: rows whose key stands once pass through, only the others are ranked.
    fn create_distinct(&self, name: &str, table: &str, key: &str) -> Result<(), SqlError> {
        let (repeated, chosen) = (format!("{table}_repeated"), format!("{table}_chosen"));
        self.create(&format!("{table}_copies"))?;
        self.table(&repeated, &format!("SELECT {key} FROM {table}_copies GROUP BY {key} HAVING count(*) > 1"))?;
        let n: i64 = self
            .db
            .query_row(&format!("SELECT count(*) FROM {repeated}"), [], |r| r.get(0))
            .map_err(SqlError::engine(format!("count {repeated}")))?;
        let what = format!("create {name}");
        if n == 0 {
            return self.batch(&what, &format!("CREATE VIEW {name} AS SELECT * FROM {table}_copies"));
        }
        self.table(
            &chosen,
            &format!(
                "SELECT c.* FROM {table}_copies c LEFT JOIN source_paths s ON s.source_id = c.source_id \
                 WHERE c.{key} IN (SELECT {key} FROM {repeated}) \
                 QUALIFY row_number() OVER (PARTITION BY c.{key} ORDER BY coalesce(s.path, ''), c.source_line, c.source_id, CAST(c AS VARCHAR)) = 1"
            ),
        )?;
        let rest = format!("SELECT * FROM {table}_copies ANTI JOIN {repeated} USING ({key})");
        self.batch(&what, &format!("CREATE VIEW {name} AS {rest} UNION ALL SELECT * FROM {chosen}"))
    }

    /// Answers one ad-hoc statement, if the guard lets it through.
    pub fn select(&self, sql: &str) -> Result<Answer, SqlError> {
        let tree: String = self
            .db
            .query_row("SELECT json_serialize_sql(?::VARCHAR)::VARCHAR", [sql], |r| r.get(0))
            .map_err(|e| SqlError::Query(message(&e)))?;
        guard::check(&tree, &|name| self.knows(name))?;
        within(&self.db, self.time, || {
            self.ensure(sql)?;
            self.run(sql, &BTreeMap::new())
        })
    }

    /// Answers a named query. Parameters that are not given have their default.
    pub fn query(&self, name: &str, given: &BTreeMap<String, Param>) -> Result<Answer, SqlError> {
        let query = catalogue::find(name).ok_or_else(|| SqlError::Unknown(name.to_owned()))?;
        let params = complete(query, given)?;
        for param in query.params.iter().filter(|p| p.kind == Type::Zone) {
            if let Some(Param::Text(name)) = params.get(param.name) {
                self.load_zone(name)?;
            }
        }
        within(&self.db, self.time, || {
            self.ensure(query.sql)?;
            self.run(query.sql, &params)
        })
    }

    pub(super) fn run(&self, sql: &str, params: &BTreeMap<String, Param>) -> Result<Answer, SqlError> {
        let failed = |e: duckdb::Error| SqlError::query(&e);
        let mut statement = self.db.prepare(sql).map_err(failed)?;
        let count = statement.parameter_count();
        let mut values = Vec::with_capacity(count);
        for index in 1..=count {
            let name = statement.parameter_name(index).map_err(failed)?;
            let value =
                params.get(&name).ok_or_else(|| SqlError::Param(format!("the statement has a parameter ${name} without a value")))?;
            values.push(value);
        }
        let rows = statement.query_arrow(duckdb::params_from_iter(values)).map_err(failed)?;
        let schema = rows.get_schema();
        Ok(Answer { schema, batches: rows.collect() })
    }

    /// What the answer to a named query rests on.
    pub fn cite(&self, name: &str, given: &BTreeMap<String, Param>) -> Result<Citation, SqlError> {
        let query = catalogue::find(name).ok_or_else(|| SqlError::Unknown(name.to_owned()))?;
        let params = complete(query, given)?;
        let shown = query.params.iter().map(|p| (p.name.to_owned(), p.kind.show(params.get(p.name).unwrap_or(&Param::Null)))).collect();
        Ok(self.citation(name, query.sql, shown))
    }

    /// What the answer to an ad-hoc statement rests on.
    pub fn cite_sql(&self, sql: &str) -> Citation {
        self.citation("sql", sql, BTreeMap::new())
    }

    fn citation(&self, query: &str, sql: &str, params: BTreeMap<String, String>) -> Citation {
        Citation {
            tool: format!("mechanic {}", env!("CARGO_PKG_VERSION")),
            query: query.to_owned(),
            query_digest: query_digest(sql),
            params,
            lake_version: self.version,
            facts_digest: self.facts_digest.clone(),
            prices_digest: self.prices_digest.clone(),
        }
    }
}

/// A relation that took longer is kept for the next process.
const COSTLY: Duration = Duration::from_millis(4);

/// Digest of a query's text and of everything it shares with others: the same digest, the same definition.
pub fn query_digest(sql: &str) -> String {
    let mut text = sql.to_owned();
    for (name, body) in LIB.iter().chain(BASE) {
        text.push('\0');
        text.push_str(name);
        text.push('\0');
        text.push_str(body);
    }
    digest(text.as_bytes())
}

/// Given values over defaults; a name the query does not have is an error.
fn complete(query: &Query, given: &BTreeMap<String, Param>) -> Result<BTreeMap<String, Param>, SqlError> {
    if let Some(unknown) = given.keys().find(|k| query.params.iter().all(|p| p.name != k.as_str())) {
        let known: Vec<&str> = query.params.iter().map(|p| p.name).collect();
        let has = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        return Err(SqlError::Param(format!("query {} has no parameter {unknown}: {has}", query.name)));
    }
    Ok(query.params.iter().map(|p| (p.name.to_owned(), given.get(p.name).unwrap_or(&p.default).clone())).collect())
}
