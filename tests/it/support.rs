//! Owns what the integration tests share: a scratch lake, runs of the binary, and reading of its CSV.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use std::process::{Command, Output};

/// A lake of its own in a folder that vanishes with it.
pub struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn lake(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    /// The binary, run from the project's root on this lake.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mechanic"));
        command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args).arg("--lake").arg(self.lake()).env("NO_COLOR", "1");
        command
    }

    /// Runs it and returns what it printed; anything but exit 0 fails the test with what it said.
    pub fn mechanic(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs it, whatever comes of it.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// What `lake digest` prints.
    pub fn digest(&self) -> String {
        self.mechanic(&["lake", "digest"]).trim().to_owned()
    }

    /// The CSV that a statement gives.
    pub fn sql(&self, statement: &str) -> String {
        self.mechanic(&["sql", "--format", "csv", statement])
    }
}

/// The folder of real files. Tests that need it are ignored where `MECHANIC_DATA` names none.
pub fn real(below: &str) -> PathBuf {
    Path::new(&std::env::var_os("MECHANIC_DATA").expect("MECHANIC_DATA is set where these tests run")).join(below)
}

/// Copies a folder below another.
pub fn copy_tree(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file()) {
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(entry.path(), target).unwrap();
    }
}

/// Lines of an answer without its header.
pub fn body(csv: &str) -> Vec<&str> {
    csv.lines().skip(1).collect()
}

/// Rows by column name.
pub fn csv_rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let rows = reader.records().map(|row| header.iter().map(str::to_owned).zip(row.unwrap().iter().map(str::to_owned)).collect());
    rows.collect()
}
