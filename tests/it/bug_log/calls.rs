//! Owns the cases of §1: one API call is counted once, with the copy that knows most.

use super::logs::{CLAUDE_ONE, CLAUDE_TWO, Claude, LogFile, ONE, TWO, lake_of, row, rows, usage};
use crate::support::{Scratch, csv_rows};

const CALLS: &str =
    "select count(*), sum(input_tokens)::bigint, sum(cache_read_tokens)::bigint, sum(output_tokens)::bigint from model_calls";
const OUTPUTS: &str = "select output_tokens, output_quality from model_calls order by ended_at, source_line";

fn one_session(log: &Claude) -> Scratch {
    lake_of(&[(CLAUDE_ONE, log.bytes())])
}

#[test]
fn t1_a_response_written_as_several_lines_is_one_call() {
    let lake = one_session(&Claude::new(ONE).call("m1", "tool_use", &usage(3, 900, 15_000, 310)).asks(
        "m1",
        "tool_use",
        &usage(3, 900, 15_000, 310),
        "toolu_1",
        "Bash",
        r#"{"command":"ls"}"#,
    ));
    assert_eq!(row(&lake, CALLS), "1,3,15000,310");
}

#[test]
fn t2_t3_of_the_lines_of_a_call_the_greatest_output_stays_wherever_it_stands() {
    for outputs in [[8, 8, 310], [8, 310, 8], [310, 8, 8]] {
        let log = outputs.iter().fold(Claude::new(ONE), |log, output| log.call("m1", "end_turn", &usage(3, 0, 0, *output)));
        assert_eq!(row(&one_session(&log), CALLS), "1,3,0,310", "{outputs:?}");
    }
}

#[test]
fn t4_t5_a_call_without_a_request_id_is_told_by_its_message_id_alone() {
    for request in ["", r#","requestId":"""#, r#","requestId":null"#] {
        let line = |log: Claude, id: &str| {
            let mut log = log.call(id, "end_turn", &usage(1, 0, 0, 5));
            let last = log.lines.pop().unwrap();
            log.lines.push(format!("{}{request}}}", last.strip_suffix('}').unwrap()));
            log
        };
        // The copy of the first call stands behind another call.
        let log = ["m1", "m1", "m2", "m1"].iter().fold(Claude::new(ONE), |log, id| line(log, id));
        assert_eq!(row(&one_session(&log), CALLS), "2,2,0,10", "{request}");
    }
}

/// Two sessions that began in one week and one that is a fork of the first; calls of several lines; a sub-agent.
fn archive() -> Vec<LogFile> {
    let turn = |log: Claude, id: &str, output: i64| {
        let tool = format!("toolu_{id}");
        log.call(id, "", &usage(10, 0, 500, 8))
            .asks(id, "tool_use", &usage(10, 0, 500, output), &tool, "Bash", r#"{"command":"ls"}"#)
            .result(&tool, "")
    };
    let ten = |log: Claude, name: &str| (0..10).fold(log, |log, n| turn(log, &format!("{name}{n}"), 100 + n));
    let first = ten(Claude::new(ONE).said("go"), "a");
    let fork = ten(first.forked(TWO), "f");
    let third = "aaaaaaaa-2222-4333-8444-555555555555";
    vec![
        (CLAUDE_ONE, first.bytes()),
        (CLAUDE_TWO, fork.bytes()),
        ("projects/-w-shop/aaaaaaaa-2222-4333-8444-555555555555.jsonl", ten(Claude::new(third).said("go"), "b").bytes()),
        ("projects/-w-shop/aaaaaaaa-2222-4333-8444-555555555555/subagents/agent-s1.jsonl", ten(Claude::agent(third, "s1"), "s").bytes()),
    ]
}

/// What `archive` cost: 40 calls, their outputs 100 to 109 four times.
const TRUE_CALLS: i64 = 40;
const TRUE_OUTPUT: i64 = 4 * 1_045;

fn sum(lake: &Scratch, args: &[&str], column: &str) -> i64 {
    let mut command = vec!["query"];
    command.extend(args);
    command.extend(["--format", "csv"]);
    csv_rows(&lake.mechanic(&command)).iter().map(|row| row[column].parse::<i64>().unwrap_or(0)).sum()
}

#[test]
fn t6_every_view_counts_the_same_calls_by_session_by_model_and_by_day() {
    let lake = lake_of(&archive());
    assert_eq!(row(&lake, CALLS), format!("{TRUE_CALLS},{},{},{TRUE_OUTPUT}", 10 * TRUE_CALLS, 500 * TRUE_CALLS));
    for (view, args) in [
        ("by session", ["run_costs"].as_slice()),
        ("by model", &["tokens_by_model"]),
        ("by week", &["weekly_trend"]),
        ("by day", &["run_costs", "-p", "since=2026-02-03", "-p", "until=2026-02-04"]),
        ("by model and day", &["tokens_by_model", "-p", "since=2026-02-03", "-p", "until=2026-02-04"]),
    ] {
        assert_eq!(sum(&lake, args, "output_tokens"), TRUE_OUTPUT, "{view}");
    }
    assert_eq!(sum(&lake, &["tokens_by_model", "-p", "until=2026-02-03"], "output_tokens"), 0, "the day before");
    assert_eq!(sum(&lake, &["run_costs"], "n_calls"), TRUE_CALLS);
}

#[test]
fn t7_a_sub_agents_file_below_its_session_is_found_and_bills_like_any_other() {
    let lake = lake_of(&archive());
    let below =
        "select count(*), sum(m.output_tokens)::bigint, count(c.parent_context_id) from model_calls m join contexts c using (context_id)
        where m.call_id in (select call_id from model_call_copies join sources using (source_id) where path like '%/subagents/%')";
    assert_eq!(row(&lake, below), "10,1045,10");
    let runs = csv_rows(&lake.mechanic(&["query", "run_costs", "--format", "csv"]));
    let with_agent: Vec<_> = runs.iter().filter(|r| r["n_subagents"] == "1").collect();
    assert_eq!(with_agent.len(), 1, "a run of its session, not one of its own");
    assert_eq!((with_agent[0]["n_contexts"].as_str(), with_agent[0]["output_tokens"].as_str()), ("2", "2090"));
}

#[test]
fn t8_a_placeholder_output_is_a_lower_bound_and_never_priced_as_exact() {
    let lake = one_session(&Claude::new(ONE).call("m1", "", &usage(10, 0, 0, 1)).call("m1", "", &usage(10, 0, 0, 1)));
    assert_eq!(rows(&lake, OUTPUTS), ["1,lower_bound"]);
    let price = csv_rows(&lake.mechanic(&["query", "tokens_by_model", "--format", "csv"]));
    // 10 input tokens of 5,000 nano-USD and one output token of 25,000.
    assert_eq!((price[0]["nano_usd"].as_str(), price[0]["nano_usd_lower_bound"].as_str()), ("", "75000"));
}

#[test]
fn t9_only_a_stop_reason_proves_an_output_final() {
    let log = [8, 8, 8, 8, 310].iter().fold(Claude::new(ONE), |log, output| log.call("m1", "", &usage(1, 0, 0, *output)));
    let lake = one_session(&log.call("m2", "end_turn", &usage(1, 0, 0, 20)));
    assert_eq!(rows(&lake, OUTPUTS), ["310,likely", "20,exact"]);
    let inputs = "select distinct input_quality, cache_read_quality, cache_write_quality from model_calls";
    assert_eq!(rows(&lake, inputs), ["exact,exact,exact"], "input and cache counters are final from the first line on");
}

/// A session that sends out a sub-agent, whose last call says 1 output token, and the parent's word that the call took 1,100 in all.
fn dispatched(last_stop: &str) -> (Claude, Claude) {
    let parent = Claude::new(ONE)
        .asks("p1", "tool_use", &usage(5, 0, 0, 40), "toolu_task", "Task", r#"{"subagent_type":"dev","description":"build","prompt":"p"}"#)
        .result(
            "toolu_task",
            r#","toolUseResult":{"status":"completed","agentId":"a1","totalTokens":1100,"usage":{"input_tokens":10,"cache_read_input_tokens":700,"cache_creation_input_tokens":90,"output_tokens":300}}"#,
        );
    let own = Claude::agent(ONE, "a1")
        .asks("s1", "", &usage(10, 0, 600, 1), "toolu_read", "Read", r#"{"file_path":"/w/shop/a"}"#)
        .result("toolu_read", "")
        .call("s2", last_stop, &usage(10, 90, 700, 1));
    (parent, own)
}

const OF_AGENT: &str = "select m.output_tokens, m.output_quality from model_calls m join contexts c using (context_id)
    where c.parent_context_id is not null order by m.ended_at";

#[test]
fn t10_a_sub_agents_last_call_takes_its_output_from_the_parents_total_whichever_file_comes_first() {
    let (parent, own) = dispatched("");
    for file in ["projects/-w-shop/11111111-2222-4333-8444-555555555555/subagents/agent-a1.jsonl", "projects/-w-shop/0/agent-a1.jsonl"] {
        let lake = lake_of(&[(CLAUDE_ONE, parent.bytes()), (file, own.bytes())]);
        assert_eq!(rows(&lake, OF_AGENT), ["1,lower_bound", "300,likely"], "{file}");
    }
}

#[test]
fn t10_a_final_output_is_not_replaced_and_without_a_total_the_last_call_stays_flagged() {
    let (parent, own) = dispatched("end_turn");
    let below = "projects/-w-shop/11111111-2222-4333-8444-555555555555/subagents/agent-a1.jsonl";
    let lake = lake_of(&[(CLAUDE_ONE, parent.bytes()), (below, own.bytes())]);
    assert_eq!(rows(&lake, OF_AGENT), ["1,lower_bound", "1,exact"]);
    let lake = lake_of(&[(below, dispatched("").1.bytes())]);
    assert_eq!(rows(&lake, OF_AGENT), ["1,lower_bound", "1,lower_bound"]);
}

#[test]
fn t11_every_answer_in_tokens_and_money_says_that_it_is_a_lower_bound_of_the_bill() {
    let lake = one_session(&Claude::new(ONE).call("m1", "end_turn", &usage(1, 0, 0, 5)));
    for query in ["tokens_by_model", "run_costs"] {
        let text = lake.mechanic(&["query", query, "--explain"]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("lower bound of the bill"), "{query}: {text}");
    }
    let out = lake.path().join("report");
    let logs = lake.path().join("logs");
    lake.mechanic(&["audit", logs.to_str().unwrap(), "--out", out.to_str().unwrap(), "--week", "2026-W06"]);
    for page in ["audit.md", "audit.html"] {
        assert!(std::fs::read_to_string(out.join(page)).unwrap().contains("lower bound of the bill"), "{page}");
    }
}

#[test]
fn t12_t16_what_a_fork_copies_is_counted_once_and_what_it_adds_is_counted_too() {
    let hook = r#""attachment":{"type":"hook_success","hookName":"PostToolUse:Bash","hookEvent":"PostToolUse","toolUseID":"toolu_0123456789abcdef","command":"a.sh","exitCode":0,"durationMs":5,"stdout":"x","stderr":"","content":""}"#;
    let first = Claude::new(ONE)
        .asks("m1", "tool_use", &usage(1, 0, 0, 50), "toolu_0123456789abcdef", "Bash", r#"{"command":"ls"}"#)
        .result("toolu_0123456789abcdef", "")
        .line("attachment", hook)
        .call("m2", "end_turn", &usage(1, 0, 0, 60));
    let fork = first.forked(TWO).call("m3", "end_turn", &usage(1, 0, 0, 70));
    let lake = lake_of(&[(CLAUDE_ONE, first.bytes()), (CLAUDE_TWO, fork.bytes())]);
    assert_eq!(row(&lake, CALLS), "3,3,0,180");
    assert_eq!(row(&lake, "select (select count(*) from tool_calls), (select count(*) from gate_runs)"), "1,1");
    assert_eq!(rows(&lake, "select n_copies from model_calls order by ended_at"), ["2", "2", "1"]);
}

#[test]
fn t12_t13_history_that_a_resumed_session_writes_again_later_is_credited_to_the_session_that_had_it_first() {
    // The copy's file sorts first: its name must not decide.
    let first = Claude::new(TWO).call("m1", "end_turn", &usage(1, 0, 0, 50)).call("m2", "end_turn", &usage(1, 0, 0, 60));
    let resumed = first.forked(ONE).replaced("2026-02-03", "2026-02-05").call("m3", "end_turn", &usage(1, 0, 0, 70));
    let lake = lake_of(&[(CLAUDE_TWO, first.bytes()), (CLAUDE_ONE, resumed.bytes())]);
    let by_session =
        "select c.native_run_key, sum(m.output_tokens)::bigint from model_calls m join contexts c using (context_id) group by 1 order by 1";
    assert_eq!(rows(&lake, by_session), [format!("session:{ONE},70"), format!("session:{TWO},110")]);
}

#[test]
fn t15_adding_the_lines_of_an_archive_gives_more_than_twice_what_was_used() {
    let files = archive();
    let lines = files.iter().flat_map(|(_, bytes)| std::str::from_utf8(bytes).unwrap().lines());
    let usages: Vec<i64> = lines
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter_map(|line| line["message"]["usage"]["input_tokens"].as_i64())
        .collect();
    let lake = lake_of(&files);
    let ours: i64 = row(&lake, "select sum(input_tokens)::bigint from model_calls").parse().unwrap();
    assert_eq!(ours, 10 * TRUE_CALLS);
    // Two lines a call, and a quarter of the calls copied by the fork.
    assert_eq!(usages.iter().sum::<i64>() * 2, ours * 5, "2.5 times");
}
