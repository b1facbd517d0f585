//! Owns what a user is told of inputs that are none: the lake itself, and what cannot be read.

use std::fs;
use std::process::Output;

use crate::support::{Scratch, body};

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
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
