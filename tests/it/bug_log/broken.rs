//! Owns the cases of §4 about damage: a broken line costs nothing but itself, and what it hides is found.

use super::logs::{CLAUDE_ONE, COPILOT, Claude, Copilot, ONE, lake_of, row, rows, usage};
use crate::support::Scratch;

/// A session of five calls with the outputs 1 to 5, one a line.
fn claude() -> Vec<String> {
    let log = (1..=5).fold(Claude::new(ONE), |log, n| log.call(&format!("m{n}"), "end_turn", &usage(1, 0, 0, n)));
    log.lines
}

/// The same of the other program: the start, then five calls.
fn copilot() -> Vec<String> {
    (1..=5).fold(Copilot::new(), |log, n| log.call(&format!("c{n}"), n)).events
}

fn lake(file: &'static str, lines: &[String]) -> Scratch {
    lake_of(&[(file, (lines.join("\n") + "\n").into_bytes())])
}

const ALL: &str = "1 2 3 4 5";

/// Outputs in their order.
fn outputs(lake: &Scratch) -> String {
    row(lake, "select string_agg(output_tokens, ' ' order by output_tokens) from model_calls")
}

/// Records that were seen and that are lost.
fn counts(lake: &Scratch) -> String {
    row(lake, "select records, quarantined from sources")
}

/// What was saved, as the warnings name it.
fn salvaged(lake: &Scratch) -> Vec<String> {
    rows(lake, "select detail from warnings where kind = 'salvaged' order by 1")
}

#[test]
fn the_sessions_of_these_cases_are_whole_before_they_are_broken() {
    for (file, lines, records) in [(CLAUDE_ONE, claude(), "5,0"), (COPILOT, copilot(), "6,0")] {
        let lake = lake(file, &lines);
        assert_eq!((outputs(&lake).as_str(), counts(&lake).as_str()), (ALL, records));
        assert_eq!(salvaged(&lake), Vec::<String>::new());
    }
}

#[test]
fn t27_t35_a_stub_before_a_whole_record_on_one_line_is_one_loss_and_one_record() {
    for (file, mut lines, records) in [(CLAUDE_ONE, claude(), "6,1"), (COPILOT, copilot(), "7,1")] {
        let whole = lines[2].clone();
        // The beginning of the same record, as of a write that was repeated.
        lines[2] = format!("{}{whole}", &whole[..whole.len() * 2 / 3]);
        let lake = lake(file, &lines);
        assert_eq!((outputs(&lake).as_str(), counts(&lake).as_str()), (ALL, records), "{file}");
        assert_eq!(rows(&lake, "select reason, source_line from quarantine"), ["malformed,3"]);
    }
}

#[test]
fn t28_a_request_without_a_result_is_a_state_and_the_session_is_read_on() {
    let log = Claude::new(ONE).asks("m1", "tool_use", &usage(1, 0, 0, 7), "toolu_1", "Bash", r#"{"command":"make"}"#).said("again").call(
        "m2",
        "end_turn",
        &usage(1, 0, 0, 8),
    );
    let lake = lake_of(&[(CLAUDE_ONE, log.bytes())]);
    assert_eq!(row(&lake, "select name, ended_at is null, success is null, exit_status is null from tool_calls"), "Bash,true,true,true");
    assert_eq!((outputs(&lake).as_str(), counts(&lake).as_str()), ("7 8", "3,0"));
}

#[test]
fn t29_t36_nul_bytes_between_before_and_behind_lines_are_not_content() {
    for (file, lines, records) in [(CLAUDE_ONE, claude(), "5,0"), (COPILOT, copilot(), "6,0")] {
        let mut bytes = Vec::new();
        for (n, line) in lines.iter().enumerate() {
            // A block before a line, one of its own, and one at a line's end.
            bytes.extend(vec![0; if n == 1 { 300 } else { 0 }]);
            bytes.extend(line.as_bytes());
            bytes.extend(vec![0; if n == 2 { 17 } else { 0 }]);
            bytes.push(b'\n');
            bytes.extend(vec![0; if n == 3 { 4_096 } else { 0 }]);
        }
        bytes.extend([0; 1_728]);
        let lake = lake_of(&[(file, bytes)]);
        assert_eq!((outputs(&lake).as_str(), counts(&lake).as_str()), (ALL, records), "{file}");
    }
}

#[test]
fn t30_t31_a_lone_surrogate_costs_neither_the_line_nor_its_counters_and_is_told() {
    for (file, lines, word, records) in [(CLAUDE_ONE, claude(), "words", "5,0"), (COPILOT, copilot(), "\"x\"", "6,0")] {
        for lone in [r"\ud83d", r"\udc00 and \ud83d\ud83d", r"\ud83d\u0041"] {
            let text = word.replace(word.trim_matches('"'), lone);
            let lines: Vec<String> = lines.iter().map(|line| line.replace(word, &text)).collect();
            assert!(lines.iter().any(|line| line.contains(lone)));
            let lake = lake(file, &lines);
            assert_eq!((outputs(&lake).as_str(), counts(&lake).as_str()), (ALL, records), "{file}: {lone}");
            assert!(salvaged(&lake).contains(&"lone_surrogate".to_owned()), "{file}: {lone}");
        }
    }
}

#[test]
fn t32_t53_a_corrupt_line_anywhere_is_one_loss_with_its_place_and_the_file_goes_on() {
    for (file, lines, records) in [(CLAUDE_ONE, claude(), "5,1"), (COPILOT, copilot(), "6,1")] {
        // The second call, wherever it stands in the file.
        let at = lines.len() - 4;
        for broken in ["{\"type\":\"assistant\" oops".to_owned(), lines[at][..lines[at].len() / 2].to_owned(), "\u{7}garbage".to_owned()] {
            let mut lines = lines.clone();
            lines[at] = broken.clone();
            let offset: usize = lines[..at].iter().map(|l| l.len() + 1).sum();
            let lake = lake(file, &lines);
            assert_eq!((outputs(&lake).as_str(), counts(&lake).as_str()), ("1 3 4 5", records), "{file}: {broken}");
            let place = row(&lake, "select source_line, byte_offset from quarantine");
            assert_eq!(place, format!("{},{offset}", at + 1), "{file}: {broken}");
        }
    }
}

#[test]
fn t33_an_event_over_several_lines_for_a_raw_newline_in_its_text_is_one_event() {
    for (file, mut lines, word, records) in [(CLAUDE_ONE, claude(), "words", "5,0"), (COPILOT, copilot(), "\"x\"", "6,0")] {
        let text = word.replace(word.trim_matches('"'), "one\ntwo\n\nfour");
        lines[2] = lines[2].replace(word, &text);
        let lake = lake(file, &lines);
        assert_eq!((outputs(&lake).as_str(), counts(&lake).as_str()), (ALL, records), "{file}");
    }
}

#[test]
fn t33_joining_is_given_up_after_64_lines_and_costs_the_first_line_alone() {
    let mut lines = copilot();
    lines[1] = "{\"type\":\"assistant.message\",\"data\":{\"content\":\"never closed".to_owned();
    lines.extend((6..=90).map(|n| copilot()[5].replace("event-00005", &format!("event-{n:05}")).replace("c5", &format!("c{n}"))));
    let lake = lake(COPILOT, &lines);
    assert_eq!(counts(&lake), "91,1");
    assert_eq!(row(&lake, "select count(*) from model_calls"), "89", "every call behind the broken line");
}

#[test]
fn t34_line_and_paragraph_separators_in_a_text_end_no_line() {
    for (file, lines, word, records) in [(CLAUDE_ONE, claude(), "words", "5,0"), (COPILOT, copilot(), "\"x\"", "6,0")] {
        let text = word.replace(word.trim_matches('"'), "a\u{2028}b\u{2029}c\u{85}d");
        let lines: Vec<String> = lines.iter().map(|line| line.replace(word, &text)).collect();
        let lake = lake(file, &lines);
        assert_eq!((outputs(&lake).as_str(), counts(&lake).as_str()), (ALL, records), "{file}");
    }
}

#[test]
fn t39_a_part_of_a_line_and_then_the_same_line_whole_is_one_loss_and_one_record() {
    for (file, mut lines, records) in [(CLAUDE_ONE, claude(), "6,1"), (COPILOT, copilot(), "7,1")] {
        let stub = lines[2][..lines[2].len() / 2].to_owned();
        lines.insert(2, stub);
        let lake = lake(file, &lines);
        assert_eq!((outputs(&lake).as_str(), counts(&lake).as_str()), (ALL, records), "{file}");
    }
}
