//! Owns the asking: every question of a report put to the engine once, and the answers kept twice: as plain values and as they are written to files.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::answers::{Answers, QUESTIONS, Question, Span};
use super::audit::Frame;
use super::gate::{Changed, Gate};
use super::memory::Memory;
use super::pages::TableFile;
use super::table::Table;
use crate::config::prices::PriceTable;
use crate::measure::{self, measure};
use crate::model::time::Ts;
use crate::sql::{Answer, Engine, SqlError, Tables, find, query_digest};

/// Why the answers are no report.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    #[error(transparent)]
    Sql(#[from] SqlError),
    #[error("query {query} has no column {column}, which the report needs: this is a bug of this build, please report it")]
    Column { query: &'static str, column: &'static str },
}

/// An answer as it goes to a file.
pub struct Kept {
    pub file: TableFile,
    pub answer: Answer,
}

/// Everything asked.
pub struct Gathered {
    pub answers: Answers,
    pub kept: Vec<Kept>,
    /// Digest of the text of every query that was asked, by name.
    pub queries: BTreeMap<String, String>,
}

/// Puts every question. Answers that are remembered from an earlier report on the same lake and spans are not asked for again.
pub fn gather(tables: &Tables, prices: &PriceTable, frame: &Frame) -> Result<Gathered, GatherError> {
    let asker = Asker { tables, prices, tz: &frame.tz, engine: OnceCell::new(), memory: Memory::of(tables, frame) };
    let mut out = Gathered { answers: Answers::default(), kept: Vec::new(), queries: BTreeMap::new() };
    for question in QUESTIONS {
        let answer = asker.ask(&stem(question), question.query, window(question.span, frame))?;
        let table = read(question, &answer)?;
        let title = find(question.query).map_or("", |q| q.title);
        let title = match question.span {
            Span::News => format!("{title}, this span only"),
            Span::Before => format!("{title}, the span before"),
            Span::Evidence | Span::Lake => title.to_owned(),
        };
        out.kept.push(Kept { file: TableFile { stem: stem(question), title, rows: table.rows.len() }, answer });
        if let Some(query) = find(question.query) {
            out.queries.insert(question.query.to_owned(), query_digest(query.sql));
        }
        out.answers.insert(question.query, question.span, table);
    }
    own_evidence(&asker, frame, &mut out.answers)?;
    Ok(out)
}

/// Opens the engine when first something is not remembered.
struct Asker<'a> {
    tables: &'a Tables,
    prices: &'a PriceTable,
    /// Zone in which weeks begin.
    tz: &'a str,
    engine: OnceCell<Engine>,
    memory: Option<Memory>,
}

impl Asker<'_> {
    fn ask(&self, stem: &str, query: &str, window: measure::Window) -> Result<Answer, SqlError> {
        if let Some(known) = self.memory.as_ref().and_then(|m| m.recall(stem)) {
            return Ok(known);
        }
        let answer = measure(self.engine()?, query, window, self.tz)?;
        if let Some(memory) = &self.memory {
            memory.keep(stem, &answer);
        }
        Ok(answer)
    }

    fn engine(&self) -> Result<&Engine, SqlError> {
        match self.engine.get() {
            Some(engine) => Ok(engine),
            None => {
                let engine = Engine::open(self.tables, self.prices)?;
                Ok(self.engine.get_or_init(|| engine))
            }
        }
    }
}

/// Name of the answer's files.
fn stem(question: &Question) -> String {
    format!("{}{}", question.span.prefix(), question.query)
}

fn window(span: Span, frame: &Frame) -> measure::Window {
    let of = |w: &super::window::Window| measure::Window { since: Some(Ts(w.since_us)), until: Some(Ts(w.until_us)), sessions: None };
    match span {
        Span::Lake => measure::Window::ALL,
        Span::Evidence => of(&frame.evidence),
        Span::News => of(&frame.news),
        Span::Before => of(&frame.before),
    }
}

fn read(question: &Question, answer: &Answer) -> Result<Table, GatherError> {
    let columns = answer.schema.fields().iter().map(|f| f.name().clone()).collect();
    let table = Table::from_batches(question.query, columns, &answer.batches);
    match table.lacks(question.columns) {
        Some(column) => Err(GatherError::Column { query: question.query, column }),
        None => Ok(table),
    }
}

/// A gate that changed inside the window has evidence from then on only (DESIGN §8): its row is asked for again, from that moment.
fn own_evidence(asker: &Asker<'_>, frame: &Frame, answers: &mut Answers) -> Result<(), GatherError> {
    let mut changed: BTreeMap<String, (Ts, Changed)> = BTreeMap::new();
    for row in answers.rows("gate_changes", Span::Evidence) {
        if let (Some(gate), Some(at), Some(change)) = (row.text("gate_id"), row.time("changed_at"), Changed::read(row))
            && changed.get(gate).is_none_or(|(last, _)| *last <= at)
        {
            changed.insert(gate.to_owned(), (at, change));
        }
    }
    changed.retain(|gate, _| answers.gates.iter().any(|g| &g.gate_id == gate));
    let mut by_time: BTreeMap<Ts, Vec<String>> = BTreeMap::new();
    for (gate, (at, _)) in &changed {
        by_time.entry(*at).or_default().push(gate.clone());
    }
    for (at, gates) in by_time {
        let since = measure::Window { since: Some(at), until: Some(Ts(frame.evidence.until_us)), sessions: None };
        let answer = asker.ask(&format!("since_{}_gate_economics", at.0), "gate_economics", since)?;
        let table = read(&QUESTIONS[0], &answer)?;
        for gate in Gate::read_all(&table).into_iter().filter(|g| gates.contains(&g.gate_id)) {
            if let Some(old) = answers.gates.iter_mut().find(|g| g.gate_id == gate.gate_id) {
                *old = Gate { changed: changed.remove(&gate.gate_id).map(|(_, change)| change), ..gate };
            }
        }
        if at.0 >= frame.news.since_us {
            answers.changed_in_news.extend(gates);
        }
    }
    answers.changed_in_news.sort();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::rich::Rich;
    use super::*;
    use crate::measure::sample::{at, gate, gate_run, member, run, source};
    use crate::model::vocabulary::{Mode, Purpose, RunBasis, Verdict};
    use crate::sql::testing::World;

    /// A day's run each, in which gates `turned` and `same` pass once; `turned` blocks from the third day on.
    fn world() -> World {
        let mut world = World::new();
        world.put(1, &[source("a", "/a.jsonl")]);
        world.current("a", 1);
        world.put(1, &[gate("turned", Purpose::Control), gate("same", Purpose::Control)]);
        for day in 0..5i64 {
            let (id, key, minute) = (format!("r{day}"), format!("issue:{day}"), day * 24 * 60);
            world.put(0, &[run(&id, RunBasis::Issue, None, None, minute, 60, &["verdicts"])]);
            world.put(0, &[member(&id, "native_run", &key)]);
            for name in ["turned", "same"] {
                let mut passed = gate_run(&format!("{name}{day}"), &key, name, Verdict::Pass);
                passed.ended_at = Some(at(minute + 30));
                passed.enforcement = Some(if name == "turned" && day > 1 { Mode::Block } else { Mode::Warn });
                world.put(1, &[passed]);
            }
        }
        world
    }

    #[test]
    fn the_evidence_of_a_gate_begins_when_it_last_changed_and_says_why() {
        let gathered = gather(&world().tables, &PriceTable::built_in().unwrap(), &crate::report::testing::frame()).unwrap();
        let of = |name: &str| gathered.answers.gates.iter().find(|g| g.gate_id == name).unwrap();
        let (turned, same) = (of("turned"), of("same"));
        assert_eq!((same.n_runs_counted, &same.changed), (5, &None));
        assert_eq!(turned.n_runs_counted, 3);
        let change = turned.changed.as_ref().unwrap();
        assert_eq!((change.on.as_str(), change.basis.as_str()), ("2026-11-04", "mode"));
        assert_eq!(change.tell(Rich::default()).to_text(), "its mode changed from warn to block");
        assert!(gathered.answers.changed_in_news.is_empty(), "it changed before the news");
    }
}
