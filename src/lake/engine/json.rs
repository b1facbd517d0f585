//! Owns the engine's JSON: commits are read into record batches and written create-if-absent.

use std::io::Cursor;
use std::sync::Arc;

use delta_kernel::arrow::json::ReaderBuilder;
use delta_kernel::engine::arrow_utils::{build_json_reorder_indices, fixup_json_read, json_arrow_schema, parse_json, to_json_bytes};
use delta_kernel::schema::SchemaRef;
use delta_kernel::{
    EngineData, FileDataReadResultIterator, FileMeta, FileSize, FilteredEngineData, JsonHandler, KernelError, KernelResult,
    KernelResultIterator, PredicateRef,
};
use url::Url;

use super::{Disk, put, read};
use crate::lake::error::DAMAGED;

pub(super) struct LocalJson {
    pub(super) disk: Disk,
}

impl JsonHandler for LocalJson {
    fn parse_json(&self, json_strings: Box<dyn EngineData>, output_schema: SchemaRef) -> KernelResult<Box<dyn EngineData>> {
        parse_json(json_strings, output_schema)
    }

    fn read_json_files(
        &self,
        files: &[FileMeta],
        physical_schema: SchemaRef,
        _predicate: Option<PredicateRef>,
    ) -> KernelResult<FileDataReadResultIterator> {
        let schema = Arc::new(json_arrow_schema(&physical_schema)?);
        let mut batches: Vec<KernelResult<Box<dyn EngineData>>> = Vec::new();
        // Commits are a few hundred bytes each, so they are read at once.
        for file in files {
            let bytes = read(&file.location)?;
            // Every commit says something: an empty one was emptied, and what it named would be lost in silence.
            if bytes.iter().all(u8::is_ascii_whitespace) {
                return Err(KernelError::generic(format!("{} is empty: {DAMAGED}", file.location.path())));
            }
            let order = build_json_reorder_indices(&physical_schema)?;
            let reader = ReaderBuilder::new(schema.clone()).with_coerce_primitive(true).build(Cursor::new(bytes))?;
            for batch in reader {
                let batch = batch.map_err(|e| KernelError::generic(format!("{} is no commit ({e}): {DAMAGED}", file.location.path())))?;
                batches.push(Ok(Box::new(fixup_json_read(batch, &order, file.location.as_str())?)));
            }
        }
        Ok(Box::new(batches.into_iter()))
    }

    fn write_json_file(&self, path: &Url, data: KernelResultIterator<'_, FilteredEngineData>, overwrite: bool) -> KernelResult<FileSize> {
        let bytes = to_json_bytes(data)?;
        put(&self.disk, path, &bytes, overwrite)?;
        Ok(bytes.len() as FileSize)
    }
}
