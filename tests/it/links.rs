//! Owns the promise that what a link in a folder of ours leads to is never written to, nor tidied.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::support::Scratch;

/// Every file and folder below a folder, with what it holds and when it changed.
fn all_of(folder: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, SystemTime)> {
    let entries = walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap);
    entries.map(|e| (e.path().to_owned(), (fs::read(e.path()).ok(), e.metadata().unwrap().modified().unwrap()))).collect()
}

/// A folder of somebody else, that looks as the cache of a lake does: old snapshots, files half written, and what has another name.
fn foreign(folder: &Path) {
    let old = folder.join("0123456789abcdef0123456789abcdef");
    fs::create_dir_all(&old).unwrap();
    for name in ["run_time.parquet", ".tmpAbCdEf", "part-00000001-x.snappy.parquet", "_last_checkpoint.staged-1"] {
        fs::write(old.join(name), "theirs").unwrap();
        fs::write(folder.join(name), "theirs").unwrap();
    }
    let long_ago = SystemTime::now() - Duration::from_secs(100_000);
    for entry in walkdir::WalkDir::new(folder).contents_first(true).into_iter().map(Result::unwrap) {
        File::open(entry.path()).unwrap().set_modified(long_ago).unwrap();
    }
}

#[test]
fn a_cache_that_is_a_link_is_neither_written_to_nor_tidied() {
    let (scratch, other) = (Scratch::new(), tempfile::tempdir().unwrap());
    scratch.mechanic(&["ingest", "fixtures/demo"]);
    scratch.mechanic(&["query", "gate_economics"]);
    let cache = scratch.lake().join("cache");
    assert!(fs::read_dir(&cache).unwrap().count() > 0, "with a folder of its own there is something to write");
    fs::remove_dir_all(&cache).unwrap();
    foreign(other.path());
    let before = all_of(other.path());
    symlink(other.path(), &cache).unwrap();

    let names = scratch.mechanic(&["query"]);
    for name in names.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next()) {
        scratch.mechanic(&["query", name]);
    }
    let out = scratch.path().join("out");
    scratch.mechanic(&["audit", "fixtures/demo", "--out", out.to_str().unwrap()]);
    // Another snapshot, and the recovery from an ingest that broke off: both tidy up.
    let more = scratch.path().join("more.jsonl");
    fs::copy("fixtures/demo/shop/.copilot-tracking/issues/issue-102/trace.jsonl", &more).unwrap();
    fs::write(scratch.lake().join("pending"), "").unwrap();
    scratch.mechanic(&["ingest", more.to_str().unwrap()]);
    scratch.mechanic(&["query", "gate_economics"]);
    scratch.digest();
    assert_eq!(all_of(other.path()), before);
    assert!(cache.is_symlink());
}

#[test]
fn an_audit_into_linked_folders_is_refused_and_says_what_to_do() {
    let (scratch, other) = (Scratch::new(), tempfile::tempdir().unwrap());
    let out = scratch.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(other.path().join("mine.svg"), "mine").unwrap();
    let before = all_of(other.path());
    symlink(other.path(), out.join("plots")).unwrap();
    let output = scratch.run(&["audit", "fixtures/demo", "--out", out.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains(out.join("plots").to_str().unwrap()) && said.contains("remove the link"), "{said}");
    assert_eq!((all_of(other.path()), fs::read_dir(&out).unwrap().count()), (before, 1));
}
