//! Owns the cases of §6: what Copilot CLI tells only at the end of a session, and what is unknown where it does not.

use std::time::{Duration, Instant};

use super::logs::{COPILOT, Copilot, lake_of, row, rows};
use crate::support::{Scratch, csv_rows};

fn session(log: &Copilot) -> Scratch {
    lake_of(&[(COPILOT, log.bytes())])
}

/// Fresh input and output by reading; added up they are the session's.
const READINGS: &str =
    "select input_tokens, cache_read_tokens, output_tokens from usage_totals where kind = 'shutdown' order by source_line";

#[test]
fn t49_t50_a_session_without_shutdown_has_its_output_an_unknown_input_and_an_unknown_price() {
    let lake = session(&Copilot::new().call("a", 50).call("b", 20));
    assert_eq!(
        row(&lake, "select count(*), sum(output_tokens)::bigint, count(input_tokens), count(cache_read_tokens) from model_calls"),
        "2,70,0,0"
    );
    assert_eq!(rows(&lake, READINGS), Vec::<String>::new());
    assert_eq!(row(&lake, "select count(*) from warnings where kind = 'usage_without_shutdown'"), "1");
    let run = csv_rows(&lake.mechanic(&["query", "run_costs", "--format", "csv"])).remove(0);
    let told = ["output_tokens", "input_tokens", "cache_read_tokens", "nano_usd"].map(|c| run[c].as_str());
    assert_eq!(told, ["70", "", "", ""], "unknown is not free");
}

#[test]
fn t51_shutdowns_that_count_the_whole_session_are_differenced() {
    let log = Copilot::new().call("a", 100).shutdown(1, 1_000, 600, 0, 100).event("session.resume", "{}");
    let lake = session(&log.call("b", 50).shutdown(2, 1_800, 1_100, 0, 150));
    assert_eq!(rows(&lake, READINGS), ["400,600,100", "300,500,50"]);
}

#[test]
fn t51_a_counter_below_the_one_before_it_begins_a_new_epoch_and_counts_in_full() {
    let log = Copilot::new().call("a", 100).shutdown(3, 1_000, 600, 0, 100).event("session.resume", "{}");
    let lake = session(&log.call("b", 50).shutdown(1, 700, 500, 0, 50));
    assert_eq!(rows(&lake, READINGS), ["400,600,100", "200,500,50"]);
    assert_eq!(rows(&lake, "select epoch from usage_totals where kind = 'shutdown' order by source_line"), ["0", "1"]);
}

#[test]
fn t51_a_shutdown_that_counts_its_leg_alone_is_taken_whole_though_it_is_larger_than_the_one_before() {
    let log = Copilot::new().call("a", 100).shutdown(1, 300, 0, 0, 100).event("session.resume", "{}");
    let lake = session(&log.call("b", 150).shutdown(1, 400, 0, 0, 150));
    assert_eq!(rows(&lake, READINGS), ["300,0,100", "400,0,150"]);
}

#[test]
fn t52_token_details_may_be_absent() {
    let details = r#""tokenDetails":{"input":{"tokenCount":400},"cache_read":{"tokenCount":600},"cache_write":{"tokenCount":0},"output":{"tokenCount":100}},"#;
    let without = Copilot::new().call("a", 100).shutdown(1, 1_000, 600, 0, 100);
    let mut with = without.clone();
    let last = with.events.last_mut().unwrap();
    *last = last.replace(r#""shutdownType""#, &format!(r#"{details}"shutdownType""#));
    for log in [with, without] {
        assert_eq!(rows(&session(&log), READINGS), ["400,600,100"]);
    }
}

#[test]
fn t53b_an_event_of_an_unknown_type_is_counted_and_the_session_is_read() {
    let log = Copilot::new().event("system.notification", "{}").event("future.thing", r#"{"a":1}"#).event("future.thing", "{}");
    let lake = session(&log.call("a", 5));
    assert_eq!(row(&lake, "select records, quarantined from sources"), "5,0");
    assert_eq!(rows(&lake, "select detail, count from warnings where kind = 'unknown_type'"), ["future.thing,2"]);
    assert_eq!(row(&lake, "select sum(output_tokens)::bigint from model_calls"), "5");
}

#[test]
fn t53c_the_totals_of_a_session_are_not_split_over_its_calls() {
    let lake = session(&Copilot::new().call("a", 60).call("b", 40).shutdown(2, 1_000, 600, 0, 100));
    assert_eq!(rows(&lake, READINGS), ["400,600,100"]);
    assert_eq!(row(&lake, "select premium_requests from usage_totals where kind = 'shutdown'"), "0.33");
    let calls = "select output_tokens, input_tokens is null, input_quality from model_calls order by output_tokens";
    assert_eq!(rows(&lake, calls), ["40,true,unknown", "60,true,unknown"]);
}

#[test]
fn t53d_a_lock_that_a_dead_session_left_is_neither_waited_for_nor_read() {
    let begun = Instant::now();
    let log = Copilot::new().call("a", 5);
    let lake = lake_of(&[(COPILOT, log.bytes()), ("session-state/S-1/inuse.4242.lock", b"4242".to_vec())]);
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(rows(&lake, "select state, format from sources order by state"), ["current,copilot-cli", "ignored,"]);
    let ended = "select ended_at from runs";
    assert_eq!(row(&lake, ended), "2026-02-03T10:00:01Z", "it ended with its last event");
}
