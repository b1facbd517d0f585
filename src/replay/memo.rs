//! Owns the memory of expected outcomes: what did as expected on the same bytes need not run again. A miss, a crash or a regression is
//! never remembered.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::corpus::write_whole;
use super::digest::Hasher;
use super::fixture::Expect;
use super::isolate::Cage;
use super::outcome::Classes;
use super::validator::{Command, Validator};
use super::verdict::Finding;
use super::words::Outcome;
use super::wrong::Result;

/// Where the memory lies, from the working directory.
pub const FILE: &str = ".mechanic/replay-memo.json";

/// With more than this all are forgotten.
const MOST: usize = 50_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    pub outcome: Outcome,
    pub why: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub substance: Option<u64>,
    pub took_us: u64,
}

#[derive(Default, Serialize, Deserialize)]
struct Written {
    format: u32,
    entries: BTreeMap<String, Remembered>,
}

/// Outcomes by key.
#[derive(Debug, Default)]
pub struct Memo {
    entries: BTreeMap<String, Remembered>,
    fresh: Mutex<BTreeMap<String, Remembered>>,
    /// Where it is kept; `None`: it is only read.
    file: Option<PathBuf>,
}

impl Memo {
    /// The memory of a file; an empty one where the file is not there or cannot be read: it is only a memory.
    pub fn load(file: &Path) -> Memo {
        let entries = std::fs::read(file).ok().map(|bytes| parse(&bytes)).unwrap_or_default();
        Memo { entries, file: Some(file.to_owned()), ..Memo::default() }
    }

    /// A memory that is read and not written.
    pub fn read_only(bytes: &[u8]) -> Memo {
        Memo { entries: parse(bytes), ..Memo::default() }
    }

    pub fn get(&self, key: &str) -> Option<&Remembered> {
        self.entries.get(key)
    }

    pub fn put(&self, key: String, remembered: Remembered) {
        if let Ok(mut fresh) = self.fresh.lock() {
            fresh.insert(key, remembered);
        }
    }

    /// Writes what is new, if anything is.
    pub fn save(self) -> Result<()> {
        let fresh = self.fresh.into_inner().unwrap_or_default();
        let (Some(file), false) = (self.file, fresh.is_empty()) else { return Ok(()) };
        let mut entries = self.entries;
        if entries.len() + fresh.len() > MOST {
            entries.clear();
        }
        entries.extend(fresh);
        if let Some(folder) = file.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let text = serde_json::to_vec(&Written { format: 1, entries }).unwrap_or_default();
        write_whole(&file, &text)
    }
}

fn parse(bytes: &[u8]) -> BTreeMap<String, Remembered> {
    match serde_json::from_slice::<Written>(bytes) {
        Ok(written) if written.format == 1 => written.entries,
        _ => BTreeMap::new(),
    }
}

/// The part of a key that is the validator's and the machine's.
pub fn validator_part(validator: &Validator, cage: &Cage, env: &[(String, String)], timeout: std::time::Duration, repeat: usize) -> Hasher {
    let mut key = Hasher::default();
    key.text("memo 1").text(env!("CARGO_PKG_VERSION")).text(&validator.id).text(&validator.digest);
    let first = match &validator.command {
        Command::Argv(argv) => argv.first().cloned().unwrap_or_default(),
        Command::Shell(_) => "sh".to_owned(),
    };
    let mut programs = vec![first.clone()];
    // Scripts of its own name their interpreter in their first line; `env` names another program there.
    for (_, path) in &validator.files {
        if let Ok(bytes) = std::fs::read(path)
            && let Some(line) = bytes.split(|b| *b == b'\n').next().and_then(|l| l.strip_prefix(b"#!"))
        {
            programs.extend(String::from_utf8_lossy(line).split_whitespace().map(str::to_owned));
        }
    }
    // The command's other words may be programs too (`env python3`, `nice x`, `cd a && python3 b`).
    match &validator.command {
        Command::Argv(argv) => programs.extend(argv.iter().skip(1).filter(|a| !a.contains('{') && !a.starts_with('-')).cloned()),
        Command::Shell(line) => {
            let words = line.split(|c: char| c.is_whitespace() || "|&;()<>`$\"'".contains(c));
            programs.extend(words.filter(|w| !w.is_empty() && !w.contains('{') && !w.starts_with('-')).map(str::to_owned));
        }
    }
    for name in programs {
        key.text(&name);
        if let Some(meta) = cage.program(&name).and_then(|p| p.metadata().ok()) {
            for number in [meta.dev(), meta.ino(), meta.size(), meta.mtime() as u64, meta.mtime_nsec() as u64] {
                key.part(&number.to_le_bytes());
            }
        }
    }
    key.text(cage.path());
    for (name, value) in env {
        key.text(name).text(value);
    }
    let limits = &cage.limits;
    key.text(&format!("{:?} {} {:?} {} {}", cage.level, cage.measures.0, timeout, limits.disk, limits.memory)).text(&repeat.to_string());
    key
}

/// The key of a cell.
pub fn cell(part: &Hasher, stimulus: &str, expect: Option<&Expect>, classes: &Classes) -> String {
    let mut key = part.clone();
    key.text(stimulus);
    if let Some(expect) = expect {
        key.text(&format!("{} {:?}", expect.outcome, expect.finding));
        let class = expect.finding.as_ref().and_then(|f| f.class.as_ref()).and_then(|c| classes.get(c));
        for pattern in class.into_iter().flatten() {
            key.text(pattern.as_str());
        }
    }
    key.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_written_only_when_something_is_new_and_a_broken_one_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a/memo.json");
        Memo::load(&file).save().unwrap();
        assert!(!file.exists());
        let memo = Memo::load(&file);
        let entry = Remembered { outcome: Outcome::Catches, why: "w".into(), findings: vec![], substance: None, took_us: 5 };
        memo.put("k".into(), entry.clone());
        assert!(memo.get("k").is_none());
        memo.save().unwrap();
        assert_eq!(Memo::load(&file).get("k"), Some(&entry));
        std::fs::write(&file, "{").unwrap();
        assert!(Memo::load(&file).get("k").is_none());
        let read = Memo::read_only(b"{}");
        read.put("k".into(), entry);
        read.save().unwrap();
    }
}
