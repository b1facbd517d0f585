//! Sets `cfg(mechanic_data)` where the variable `MECHANIC_DATA` names the folder of real files, and `cfg(mechanic_python)` where
//! `MECHANIC_PYTHON` names a Python with readers of the lake, so that tests that need them are counted as ignored elsewhere, never as
//! passed; and lists the files of `queries/`, so that each is embedded by being there.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(mechanic_data)");
    println!("cargo::rerun-if-env-changed=MECHANIC_DATA");
    println!("cargo::rustc-check-cfg=cfg(mechanic_python)");
    println!("cargo::rerun-if-env-changed=MECHANIC_PYTHON");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=queries");
    if std::env::var_os("MECHANIC_DATA").is_some_and(|dir| Path::new(&dir).is_dir()) {
        println!("cargo::rustc-cfg=mechanic_data");
    }
    if std::env::var_os("MECHANIC_PYTHON").is_some_and(|python| Path::new(&python).is_file()) {
        println!("cargo::rustc-cfg=mechanic_python");
    }
    if std::env::var_os("CARGO_FEATURE_AUDIT").is_some() {
        embed_queries();
    }
}

/// Writes one array of (name, text) a folder of queries.
fn embed_queries() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut code = String::new();
    for (name, folder) in [("QUERIES", "queries"), ("LIB", "queries/lib"), ("BASE", "queries/base")] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(root.join(folder))
            .unwrap_or_else(|e| panic!("cannot list {folder}: {e}"))
            .map(|entry| entry.expect("a readable folder entry").path())
            .filter(|path| path.extension().is_some_and(|e| e == "sql"))
            .collect();
        files.sort();
        writeln!(code, "pub(super) const {name}: &[(&str, &str)] = &[").expect("writing to a string");
        for file in files {
            let stem = file.file_stem().and_then(|s| s.to_str()).expect("query files have UTF-8 names");
            writeln!(code, "    ({stem:?}, include_str!({:?})),", file.display().to_string()).expect("writing to a string");
        }
        code.push_str("];\n");
    }
    std::fs::write(out.join("queries.rs"), code).expect("OUT_DIR is writable");
}
