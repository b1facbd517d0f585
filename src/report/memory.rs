//! Owns the memory of answers: a report asks the same questions again and again of a lake that has not changed, so each answer is kept beside it,
//! under everything it depends on. Deleting it costs time only.

use std::fs::{self, File};
use std::path::PathBuf;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::answers::QUESTIONS;
use super::audit::Frame;
use crate::model::id::stable_id;
use crate::sql::render::{self, Format};
use crate::sql::{Answer, Tables, find, query_digest};

/// A folder of answers to the questions of one report.
pub struct Memory {
    folder: PathBuf,
}

impl Memory {
    /// The answers about these spans, of this lake, by these query texts. `None` where the lake keeps nothing.
    pub fn of(tables: &Tables, frame: &Frame) -> Option<Memory> {
        let cache = tables.cache.as_ref()?;
        let mut parts: Vec<String> =
            [&frame.news, &frame.before, &frame.evidence].iter().map(|w| format!("{}..{}", w.since_us, w.until_us)).collect();
        parts.push(frame.tz.clone());
        parts.extend(QUESTIONS.iter().filter_map(|q| find(q.query)).map(|q| query_digest(q.sql)));
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Some(Memory { folder: cache.folder().join(format!("audit-{}", stable_id(&parts))) })
    }

    /// The answer of that name, if it is there and whole.
    pub fn recall(&self, name: &str) -> Option<Answer> {
        let file = File::open(self.path(name)).ok()?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).ok()?;
        let schema = reader.schema().clone();
        let batches = reader.build().ok()?.collect::<Result<Vec<_>, _>>().ok()?;
        Some(Answer { schema, batches })
    }

    /// Keeps an answer; where that fails it is asked for again next time.
    pub fn keep(&self, name: &str, answer: &Answer) {
        let _ = self.write(name, answer);
    }

    fn write(&self, name: &str, answer: &Answer) -> Result<(), Box<dyn std::error::Error>> {
        fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        render::write(answer, Format::Parquet, None, file.as_file_mut())?;
        file.persist(self.path(name))?;
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.parquet"))
    }
}
