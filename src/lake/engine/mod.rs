//! Owns the engine that the Delta kernel does its input and output through: plain synchronous calls on local files.
//!
//! The kernel's own default engine runs every call through an object store on an asynchronous runtime in a thread of its own. For
//! a local folder that costs threads and start-up time and gives nothing, and the order of syncs would not be ours.

mod json;
mod parquet;
mod storage;

use std::path::PathBuf;
use std::sync::Arc;

use delta_kernel::engine::arrow_expression::ArrowEvaluationHandler;
use delta_kernel::{Engine, EvaluationHandler, JsonHandler, KernelError, KernelResult, ParquetHandler, StorageHandler};
use url::Url;

use super::disk::Disk;

/// Reads and writes local files.
pub(crate) struct LocalEngine {
    storage: Arc<storage::LocalStorage>,
    json: Arc<json::LocalJson>,
    parquet: Arc<parquet::LocalParquet>,
    evaluation: Arc<ArrowEvaluationHandler>,
}

impl LocalEngine {
    pub(crate) fn new(disk: Disk) -> LocalEngine {
        LocalEngine {
            storage: Arc::new(storage::LocalStorage { disk: disk.clone() }),
            json: Arc::new(json::LocalJson { disk: disk.clone() }),
            parquet: Arc::new(parquet::LocalParquet { disk }),
            evaluation: Arc::new(ArrowEvaluationHandler),
        }
    }
}

impl Engine for LocalEngine {
    fn evaluation_handler(&self) -> Arc<dyn EvaluationHandler> {
        self.evaluation.clone()
    }

    fn storage_handler(&self) -> Arc<dyn StorageHandler> {
        self.storage.clone()
    }

    fn json_handler(&self) -> Arc<dyn JsonHandler> {
        self.json.clone()
    }

    fn parquet_handler(&self) -> Arc<dyn ParquetHandler> {
        self.parquet.clone()
    }
}

fn local_path(url: &Url) -> KernelResult<PathBuf> {
    url.to_file_path().map_err(|()| KernelError::generic(format!("{url} is no local file")))
}

/// Writes whole and durable; an existing file is replaced only if told so.
fn put(disk: &Disk, url: &Url, bytes: &[u8], overwrite: bool) -> KernelResult<()> {
    let path = local_path(url)?;
    let done = if overwrite { disk.replace(&path, bytes) } else { disk.create(&path, bytes) };
    done.map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => KernelError::FileAlreadyExists(url.to_string()),
        _ => KernelError::IOError(e),
    })
}

fn read(url: &Url) -> KernelResult<Vec<u8>> {
    std::fs::read(local_path(url)?).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => KernelError::FileNotFound(url.to_string()),
        _ => KernelError::IOError(e),
    })
}
