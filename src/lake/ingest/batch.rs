//! Owns the writing of one batch: rows of all its files go to one Parquet file a table, as they come.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use super::blank;
use super::commit::Finished;
use super::plan::Job;
use super::readings;
use crate::lake::files::{FileWriter, file_name, physical_schema, with_batch};
use crate::lake::ledger::{Entry, Span};
use crate::lake::{Lake, LakeError};
use crate::model::FACT_TABLES;
use crate::model::record::Record;
use crate::model::time::Ts;
use crate::model::vocabulary::SourceState;
use crate::source::emit::{Facts, Sink, Summary};
use crate::source::{edges, open, read_grown_file};

/// Files of one batch, shared by the threads that read.
pub(super) struct BatchWriter<'l> {
    lake: &'l Lake,
    number: i64,
    /// In the order of [`FACT_TABLES`]; made when the first row comes.
    tables: Vec<Mutex<Option<FileWriter>>>,
    pub(super) entries: Mutex<Vec<Entry>>,
}

/// What reading one file came to.
pub(super) struct Outcome {
    pub(super) entry: Entry,
    pub(super) summary: Summary,
    pub(super) failure: Option<String>,
}

impl<'l> BatchWriter<'l> {
    pub(super) fn new(lake: &'l Lake, number: i64) -> BatchWriter<'l> {
        BatchWriter { lake, number, tables: FACT_TABLES.iter().map(|_| Mutex::new(None)).collect(), entries: Mutex::default() }
    }

    /// Reads one file. Only failures of the lake are errors; a file that cannot be read is `failed`, and what was read of it before
    /// stays visible.
    pub(super) fn read(&self, job: &Job, now: Ts) -> Result<Outcome, LakeError> {
        let mut row = blank(&job.input, &job.stat, SourceState::Current, job.reader_digest.clone(), now);
        row.format = Some(job.reader.format().to_owned());
        let mut sink = BatchSink { writer: self, failure: None, state: None };
        let earlier = readings::earlier(self.lake, job);
        let read = edges::of(&job.input.path, job.stat.size).map_err(anyhow::Error::from).and_then(|ends| {
            (row.head_hash, row.tail_hash) = ends;
            // One hostile file must not end the reading of all others.
            catch_unwind(AssertUnwindSafe(|| read_grown_file(job.reader, &job.input, earlier.as_deref(), &mut sink)))
                .unwrap_or_else(|_| Err(anyhow::anyhow!("its reader failed: a bug, please report it")))
        });
        if let Some(failure) = sink.failure {
            return Err(failure);
        }
        match read {
            Ok(summary) => {
                row.records = summary.records;
                row.quarantined = summary.quarantined;
                row.n_warnings = summary.warnings;
                row.capabilities = summary.capabilities.iter().map(|c| (*c).to_owned()).collect();
                row.read_to = summary.read_to;
                let first = match (&summary.went_on, job.known.as_ref().and_then(|k| k.data)) {
                    (Some(_), Some(before)) => before.first,
                    _ => self.number,
                };
                let entry = Entry { row, batch: self.number, data: Some(Span { first, last: self.number }) };
                readings::keep(self.lake, job, &entry, sink.state.as_deref())?;
                Ok(Outcome { entry, summary, failure: None })
            }
            Err(e) => {
                let before = job.known.as_ref().filter(|k| k.data.is_some());
                let mut entry = before.cloned().unwrap_or(Entry { row, batch: self.number, data: None });
                entry.fail(&job.stat, now);
                Ok(Outcome { entry, summary: Summary::default(), failure: Some(open::told_of(&e)) })
            }
        }
    }

    fn put<R: Record>(&self, rows: &mut Vec<R>, provisional: bool) -> Result<(), LakeError> {
        let def = R::TABLE;
        let Some(at) = FACT_TABLES.iter().position(|t| t.name == def.name).filter(|_| !rows.is_empty()) else { return Ok(()) };
        let batch = R::to_batch(rows).map_err(LakeError::misfit(def.name))?;
        rows.clear();
        let batch = with_batch(&batch, def, self.number, provisional)?;
        let mut slot = self.tables.get(at).map(|t| t.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(slot) = slot.as_deref_mut() else { return Ok(()) };
        if slot.is_none() {
            let dir = self.lake.root.join(def.name);
            *slot = Some(FileWriter::create(&self.lake.disk, &dir, file_name(Some(self.number)), physical_schema(def))?);
        }
        slot.as_mut().map_or(Ok(()), |writer| writer.write(&batch))
    }

    pub(super) fn finish(self) -> Finished {
        let writers = self.tables.into_iter().map(|t| t.into_inner().unwrap_or_else(PoisonError::into_inner));
        Finished {
            number: self.number,
            facts: FACT_TABLES.iter().copied().zip(writers).filter_map(|(def, writer)| Some((def, writer?))).collect(),
            entries: self.entries.into_inner().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// The way from one reader to the files of the batch.
struct BatchSink<'b, 'l> {
    writer: &'b BatchWriter<'l>,
    /// Told apart from what is wrong with the file that is read.
    failure: Option<LakeError>,
    /// From where a later reading may go on; rows that come after it may come out otherwise then.
    state: Option<Vec<u8>>,
}

impl Sink for BatchSink<'_, '_> {
    fn take(&mut self, facts: &mut Facts) -> anyhow::Result<()> {
        let mut put = || -> Result<(), LakeError> {
            // Named one by one, so that a new table cannot be forgotten.
            let Facts {
                quarantine,
                warnings,
                gates,
                rules,
                units,
                contexts,
                model_call_copies,
                usage_totals,
                tool_calls,
                gate_runs,
                findings,
                decisions,
                guard_events,
                commits,
                trace_spans,
                replay_results,
            } = facts;
            let (to, provisional) = (self.writer, self.state.is_some());
            to.put(quarantine, provisional)?;
            to.put(warnings, provisional)?;
            to.put(gates, provisional)?;
            to.put(rules, provisional)?;
            to.put(units, provisional)?;
            to.put(contexts, provisional)?;
            to.put(model_call_copies, provisional)?;
            to.put(usage_totals, provisional)?;
            to.put(tool_calls, provisional)?;
            to.put(gate_runs, provisional)?;
            to.put(findings, provisional)?;
            to.put(decisions, provisional)?;
            to.put(guard_events, provisional)?;
            to.put(commits, provisional)?;
            to.put(trace_spans, provisional)?;
            to.put(replay_results, provisional)
        };
        put().map_err(|e| {
            let told = anyhow::anyhow!("the lake cannot be written: {e}");
            self.failure.get_or_insert(e);
            told
        })
    }

    fn settled(&mut self, state: Vec<u8>) {
        self.state = Some(state);
    }
}
