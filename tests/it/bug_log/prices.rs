//! Owns the cases of §2: what cache counters mean in either format, and what they cost.

use super::logs::{CLAUDE_ONE, COPILOT, Claude, Copilot, ONE, lake_of, row, rows, usage};
use crate::support::csv_rows;

#[test]
fn t17_t18_writes_to_the_hour_cache_cost_twice_the_input_and_to_the_five_minute_cache_a_quarter_more() {
    let mixed = r#""input_tokens":10,"cache_read_input_tokens":1000,"output_tokens":5,"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":30,"ephemeral_1h_input_tokens":70}"#;
    let lake = lake_of(&[(CLAUDE_ONE, Claude::new(ONE).call("m1", "end_turn", mixed).bytes())]);
    let price = csv_rows(&lake.mechanic(&["query", "tokens_by_model", "--format", "csv"]));
    // claude-opus-4-6 costs 5,000 nano-USD an input token, 500 read from cache, 25,000 of output.
    let hour = 70 * 2 * 5_000;
    let five = 30 * 5 * 5_000 / 4;
    assert_eq!(price[0]["nano_usd"], (10 * 5_000 + 1_000 * 500 + five + hour + 5 * 25_000).to_string());
}

#[test]
fn t17_what_a_split_leaves_out_is_taken_for_five_minutes_and_flagged() {
    let split = |split: &str| {
        let usage = format!(r#""input_tokens":1,"cache_read_input_tokens":0,"output_tokens":5,"cache_creation_input_tokens":100{split}"#);
        let lake = lake_of(&[(CLAUDE_ONE, Claude::new(ONE).call("m1", "end_turn", &usage).bytes())]);
        let told = row(&lake, "select cache_write_5m_tokens, cache_write_1h_tokens, cache_write_quality from model_calls");
        (told, row(&lake, "select count(*) from warnings where kind = 'cache_split_unknown'"))
    };
    let complete = split(r#","cache_creation":{"ephemeral_5m_input_tokens":30,"ephemeral_1h_input_tokens":70}"#);
    assert_eq!(complete, ("30,70,exact".into(), "0".into()));
    let short = split(r#","cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":70}"#);
    assert_eq!(short, ("30,70,likely".into(), "1".into()));
    assert_eq!(split(""), ("100,0,likely".into(), "1".into()));
}

#[test]
fn t19_t21_input_is_fresh_input_whether_the_vendor_counts_the_cache_in_it_or_not() {
    let claude = Claude::new(ONE).call("m1", "end_turn", &usage(150, 50, 800, 20));
    let copilot = Copilot::new().call("a", 20).shutdown(1, 1_000, 800, 50, 20);
    let lake = lake_of(&[(CLAUDE_ONE, claude.bytes()), (COPILOT, copilot.bytes())]);
    assert_eq!(
        row(&lake, "select input_tokens, cache_read_tokens, cache_write_1h_tokens from model_calls where input_tokens is not null"),
        "150,800,50"
    );
    assert_eq!(row(&lake, "select input_tokens, cache_read_tokens, cache_write_tokens from usage_totals"), "150,800,50");
}

#[test]
fn t21_less_input_than_cache_is_no_input_and_is_told() {
    let lake = lake_of(&[(COPILOT, Copilot::new().call("a", 20).shutdown(1, 100, 800, 50, 20).bytes())]);
    assert_eq!(rows(&lake, "select input_tokens, cache_read_tokens from usage_totals"), [",800"]);
    assert_eq!(row(&lake, "select count(*) from warnings where kind = 'inconsistent_counters'"), "1");
}

#[test]
fn t22_api_requests_and_premium_requests_stand_apart() {
    let lake = lake_of(&[(COPILOT, Copilot::new().call("a", 20).shutdown(7, 1_000, 800, 50, 20).bytes())]);
    assert_eq!(row(&lake, "select n_requests, premium_requests from usage_totals"), "7,0.33");
}
