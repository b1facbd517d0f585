//! Owns the engine's Parquet: only checkpoints of the log pass through it, data files are written by `lake::files`.

use bytes::Bytes;
use delta_kernel::arrow::array::RecordBatch;
use delta_kernel::engine::arrow_conversion::TryFromArrow as _;
use delta_kernel::engine::arrow_data::ArrowEngineData;
use delta_kernel::engine::arrow_utils::{RowIndexBuilder, fixup_parquet_read, ordering_needs_row_indexes, parquet_read_plan};
use delta_kernel::engine::{reader_options, writer_options};
use delta_kernel::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use delta_kernel::parquet::arrow::arrow_writer::ArrowWriter;
use delta_kernel::schema::{SchemaRef, StructType};
use delta_kernel::{
    EngineData, FileDataReadResultIterator, FileMeta, FileSize, KernelError, KernelResult, KernelResultIteratorStatic, ParquetFooter,
    ParquetHandler, PredicateRef,
};
use url::Url;

use super::{Disk, put, read};

pub(super) struct LocalParquet {
    pub(super) disk: Disk,
}

impl ParquetHandler for LocalParquet {
    fn read_parquet_files(
        &self,
        files: &[FileMeta],
        physical_schema: SchemaRef,
        _predicate: Option<PredicateRef>,
    ) -> KernelResult<FileDataReadResultIterator> {
        let files = files.to_vec();
        let batches = files.into_iter().flat_map(move |file| match read_file(&file, &physical_schema) {
            Ok(batches) => batches,
            Err(e) => vec![Err(e)],
        });
        Ok(Box::new(batches))
    }

    fn write_parquet_file(&self, location: Url, data: KernelResultIteratorStatic<Box<dyn EngineData>>) -> KernelResult<FileSize> {
        let mut bytes = Vec::new();
        let mut writer: Option<ArrowWriter<&mut Vec<u8>>> = None;
        let mut space = Some(&mut bytes);
        for item in data {
            let batch: RecordBatch = (*ArrowEngineData::try_from_engine_data(item?)?).into();
            if let Some(into) = space.take() {
                writer = Some(ArrowWriter::try_new_with_options(into, batch.schema(), writer_options())?);
            }
            if let Some(writer) = &mut writer {
                writer.write(&batch)?;
            }
        }
        writer.ok_or_else(|| KernelError::generic("a Parquet file needs at least one batch"))?.close()?;
        put(&self.disk, &location, &bytes, true)?;
        Ok(bytes.len() as FileSize)
    }

    fn read_parquet_footer(&self, file: &FileMeta) -> KernelResult<ParquetFooter> {
        let metadata = ArrowReaderMetadata::load(&Bytes::from(read(&file.location)?), reader_options())?;
        Ok(ParquetFooter { schema: std::sync::Arc::new(StructType::try_from_arrow(metadata.schema().as_ref())?) })
    }
}

fn read_file(file: &FileMeta, schema: &SchemaRef) -> KernelResult<Vec<KernelResult<Box<dyn EngineData>>>> {
    let bytes = Bytes::from(read(&file.location)?);
    let metadata = ArrowReaderMetadata::load(&bytes, reader_options())?;
    let (order, mask) = parquet_read_plan(schema, &metadata)?;
    let mut row_indexes = match ordering_needs_row_indexes(&order) {
        true => Some(RowIndexBuilder::new(metadata.metadata().row_groups()).build()?),
        false => None,
    };
    let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, metadata);
    if let Some(mask) = mask {
        builder = builder.with_projection(mask);
    }
    let mut batches: Vec<KernelResult<Box<dyn EngineData>>> = Vec::new();
    for batch in builder.build()? {
        let batch = fixup_parquet_read(batch?, &order, row_indexes.as_mut(), Some(file.location.as_str()), Some(schema))?;
        batches.push(Ok(Box::new(batch)));
    }
    Ok(batches)
}
