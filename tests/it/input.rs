//! Owns what a user is told of inputs that are none: the lake itself, and what cannot be read.

use std::fs;
use std::process::Output;

use crate::support::{Scratch, body};

/// What was printed, broken lines put together.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_lake_is_refused_as_its_own_input_and_nothing_is_begun_in_it() {
    let scratch = Scratch::new();
    let lake = scratch.lake();
    fs::create_dir_all(lake.join("below")).unwrap();
    fs::write(lake.join("below/log.jsonl"), "{}\n").unwrap();
    for path in [lake.clone(), lake.join("below"), lake.join("below/log.jsonl")] {
        for command in ["ingest", "audit", "doctor"] {
            let output = scratch.run(&[command, path.to_str().unwrap()]);
            assert_eq!(output.status.code(), Some(2), "{command}: {}", said(&output));
            assert!(said(&output).contains(path.to_str().unwrap()) && said(&output).contains("--lake DIR"), "{}", said(&output));
        }
    }
    assert_eq!(fs::read_dir(&lake).unwrap().count(), 1, "nothing is begun there");
}

#[test]
fn a_lake_that_lies_in_an_input_is_left_out_without_a_word() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("notes.txt"), "nothing").unwrap();
    let folder = scratch.path().to_str().unwrap();
    for _ in 0..2 {
        assert!(scratch.mechanic(&["ingest", folder]).starts_with("1 files: "));
        assert_eq!(body(&scratch.sql("select count(*) from sources")), ["1"]);
    }
}

/// A file that begins as a gzip archive and is none: nobody, whatever their rights, can read it.
const BROKEN: [u8; 5] = [0x1F, 0x8B, 1, 2, 3];

#[test]
fn a_file_in_a_folder_that_cannot_be_read_is_told_with_reason_and_remedy_and_is_no_failure() {
    let scratch = Scratch::new();
    let folder = scratch.path().join("logs");
    fs::create_dir_all(&folder).unwrap();
    fs::copy("fixtures/demo/shop/.copilot-tracking/issues/issue-102/trace.jsonl", folder.join("trace.jsonl")).unwrap();
    fs::write(folder.join("broken.jsonl"), BROKEN).unwrap();
    for command in ["ingest", "ingest", "doctor"] {
        let output = scratch.run(&[command, folder.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{command}: {}", said(&output));
        let text = said(&output);
        assert!(text.contains("broken.jsonl") && text.contains("restore it"), "{command}: {text}");
    }
    assert_ne!(body(&scratch.sql("select count(*) from gate_runs")), ["0"], "the others are read");
    let out = scratch.path().join("out");
    let audit = scratch.run(&["audit", folder.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(audit.status.code(), Some(0), "{}", said(&audit));
}

#[test]
fn a_path_named_by_itself_that_cannot_be_read_fails_with_exit_code_three() {
    let scratch = Scratch::new();
    let broken = scratch.path().join("broken.jsonl");
    fs::write(&broken, BROKEN).unwrap();
    #[cfg(unix)]
    let _socket = std::os::unix::net::UnixListener::bind(scratch.path().join("socket")).unwrap();
    let out = scratch.path().join("out");
    for path in if cfg!(unix) { vec![broken, scratch.path().join("socket")] } else { vec![broken] } {
        let path = path.to_str().unwrap();
        let good = "fixtures/demo/shop/.copilot-tracking/issues/issue-102";
        for args in [
            vec!["ingest", good, path],
            vec!["ingest", path],
            vec!["doctor", path],
            vec!["audit", good, path, "--out", out.to_str().unwrap()],
        ] {
            let output = scratch.run(&args);
            assert_eq!(output.status.code(), Some(3), "{args:?}: {}", said(&output));
            let told =
                [path.rsplit('/').next().unwrap(), if path.ends_with("socket") { "neither a file nor a folder" } else { "restore it" }];
            assert!(told.iter().all(|part| said(&output).contains(part)), "{args:?}: {}", said(&output));
        }
    }
    assert!(!out.exists(), "no report passes for one with what was asked for");
    assert_ne!(body(&scratch.sql("select count(*) from gate_runs")), ["0"], "what could be read is in the lake");
}
