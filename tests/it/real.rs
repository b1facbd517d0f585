//! Owns the known answers on real files, asked as a user would ask them: ingested by the binary, answered in SQL or by a named query.

use std::collections::BTreeMap;

use crate::support::{Scratch, body, csv_rows, real};

const COPILOT: &str = "sessions/copilot-cli/StarCar__11-9681650804-0.jsonl";

/// A lake of these files alone.
fn lake_of(files: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    let paths: Vec<String> = files.iter().map(|file| real(file).to_str().unwrap().to_owned()).collect();
    let mut args = vec!["ingest"];
    args.extend(paths.iter().map(String::as_str));
    scratch.mechanic(&args);
    scratch
}

/// The one row of a named query about a gate.
fn about_gate(scratch: &Scratch, query: &str, gate: &str) -> BTreeMap<String, String> {
    let rows = csv_rows(&scratch.mechanic(&["query", query, "--format", "csv"]));
    rows.into_iter().find(|row| row["gate_id"] == gate).unwrap_or_else(|| panic!("{query} does not list {gate}"))
}

fn values<const N: usize>(row: &BTreeMap<String, String>, names: [&str; N]) -> [String; N] {
    names.map(|name| row.get(name).unwrap_or_else(|| panic!("no column {name}")).clone())
}

// The one published trace

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn the_trace_of_issue_97_gives_37_spans_and_no_product_problem() {
    let scratch = lake_of(&["harnesses/agent-delivery-harness/issue-97-deviation.trace.jsonl"]);
    let spans = scratch.sql("select span, count(*) from trace_spans group by 1 order by 1");
    assert_eq!(body(&spans), ["agent,17", "lifecycle,16", "tool,4"]);
    assert_eq!(body(&scratch.sql("select records, quarantined from sources")), ["37,0"]);
    assert_eq!(body(&scratch.sql("select count(*) from quarantine")), ["0"]);
    assert_eq!(body(&scratch.sql("select count(*) from problems where about = 'product'")), ["0"]);
    assert_eq!(body(&scratch.sql("select count(*), min(task), min(run_basis) from runs")), ["1,97,issue"]);
    assert_eq!(body(&scratch.sql("select kind, failure_mode, source_line from decisions")), ["deviation,,15"]);
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn spans_that_leaked_from_tests_are_infrastructure_and_the_merge_that_failed_to_report_is_inconclusive() {
    let scratch = lake_of(&["harnesses/agent-delivery-harness/issue-97-deviation.trace.jsonl"]);
    let leaked = scratch.sql("select source_line from gate_runs where source_line between 18 and 27 group by 1 having bool_and(about = 'infrastructure') order by 1");
    assert_eq!(body(&leaked), ["18", "19", "20", "21", "22", "23", "24", "25", "26", "27"]);
    assert_eq!(
        body(&scratch.sql("select rule_id, verdict from gate_runs where source_line = 35 and rule_id = 'merge'")),
        ["merge,inconclusive"]
    );
    let checks = scratch.sql("select source_line from gate_runs where rule_id = 'check' order by 1");
    assert_eq!(body(&checks), ["32", "33"], "two identical lines are two real calls");
}

// Token totals

/// Calls and counters of kind `message`, by whether the file holds the context's own lines or only embeds them.
const TOTALS: &str = "select c.n_compactions is not null as own, count(*) as calls, sum(m.input_tokens)::bigint as input, sum(m.output_tokens)::bigint as output,
    sum(m.cache_read_tokens)::bigint as cache_read, sum(coalesce(m.cache_write_5m_tokens, 0) + coalesce(m.cache_write_1h_tokens, 0))::bigint as cache_write,
    sum(coalesce(m.cache_write_1h_tokens, 0))::bigint as cache_write_1h
    from model_calls m join contexts c using (context_id) where m.call_kind = 'message' group by 1 order by 1";

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn each_claude_file_alone_meets_its_row_of_reference_totals() {
    let table = std::fs::read_to_string(real("sessions/reference-claude.tsv")).unwrap();
    let mut reader = csv::ReaderBuilder::new().delimiter(b'\t').from_reader(table.as_bytes());
    let header = reader.headers().unwrap().clone();
    let (mut rows, mut wrong) = (0, Vec::new());
    for record in reader.records() {
        let record = record.unwrap();
        let want: BTreeMap<&str, &str> = header.iter().zip(record.iter()).collect();
        let scratch = lake_of(&[&format!("sessions/{}", want["file"])]);
        let told = csv_rows(&scratch.sql(TOTALS));
        let of = |own: &str, column: &str| -> String {
            let value = told.iter().find(|row| row["own"] == own).map(|row| row[column].clone()).unwrap_or_default();
            if value.is_empty() { "0".to_owned() } else { value }
        };
        let columns = [
            ("true", "calls", "unique_message_ids"),
            ("true", "input", "input"),
            ("true", "output", "output"),
            ("true", "cache_read", "cache_read"),
            ("true", "cache_write", "cache_write"),
            ("true", "cache_write_1h", "cache_write_1h"),
            ("false", "calls", "embedded_subagent_calls"),
            ("false", "input", "emb_input"),
            ("false", "output", "emb_output"),
            ("false", "cache_read", "emb_cache_read"),
            ("false", "cache_write", "emb_cache_write"),
        ];
        for (own, column, name) in columns {
            if of(own, column) != want[name] {
                wrong.push(format!("{}: {name} is {}, not {}", want["file"], want[name], of(own, column)));
            }
        }
        let extra = "select coalesce(sum(input_tokens), 0)::bigint, coalesce(sum(output_tokens), 0)::bigint from model_calls where call_kind in ('advisor', 'fallback')";
        let extra = scratch.sql(extra);
        if body(&extra) != [format!("{},{}", want["non_message_iter_input"], want["non_message_iter_output"])] {
            wrong.push(format!("{}: calls that are no messages: {:?}", want["file"], body(&extra)));
        }
        rows += 1;
    }
    assert!(rows > 40, "{rows} rows");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn the_model_metrics_of_each_copilot_shutdown_are_reproduced() {
    let told = "select model, n_requests, premium_requests, input_tokens + cache_read_tokens + cache_write_tokens as input, output_tokens,
        cache_read_tokens, cache_write_tokens, reasoning_tokens, api_duration_ms from usage_totals where kind = 'shutdown' order by source_line, model";
    let mut shutdowns = 0;
    for entry in std::fs::read_dir(real("sessions/copilot-cli")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(stated) = one_shutdown(&std::fs::read_to_string(&path).unwrap()) else { continue };
        let scratch = lake_of(&[&format!("sessions/copilot-cli/{name}")]);
        let rows = csv_rows(&scratch.sql(told));
        assert_eq!(rows.len(), stated.len(), "{name}: one row a model");
        for (row, (model, metrics)) in rows.iter().zip(stated) {
            assert_eq!(row["model"], model, "{name}");
            let (usage, requests) = (&metrics["usage"], &metrics["requests"]);
            for (column, value) in [
                ("n_requests", if requests.is_number() { requests } else { &requests["count"] }),
                ("input", &usage["inputTokens"]),
                ("output_tokens", &usage["outputTokens"]),
                ("cache_read_tokens", &usage["cacheReadTokens"]),
                ("cache_write_tokens", &usage["cacheWriteTokens"]),
                ("reasoning_tokens", &usage["reasoningTokens"]),
            ] {
                // Where a model has no usage of its own the counters come from the session's token details.
                if column != "n_requests" && !usage.is_object() {
                    continue;
                }
                assert_eq!(row[column], value.as_i64().map(|v| v.to_string()).unwrap_or_default(), "{name}: {column} of {model}");
            }
            shutdowns += 1;
        }
    }
    assert!(shutdowns >= 2, "{shutdowns}");
}

/// The metrics by model where a file holds exactly one shutdown, which then is cumulative and of one leg alike.
fn one_shutdown(text: &str) -> Option<BTreeMap<String, serde_json::Value>> {
    let events = text.lines().filter(|line| line.contains("\"session.shutdown\"")).filter_map(|line| serde_json::from_str(line).ok());
    let of_kind = |event: &serde_json::Value| event["type"] == "session.shutdown";
    let shutdowns: Vec<serde_json::Value> = events.filter(of_kind).collect();
    let [one] = shutdowns.as_slice() else { return None };
    let metrics = one["data"]["modelMetrics"].as_object()?;
    Some(metrics.iter().map(|(model, of)| (model.clone(), of.clone())).collect())
}

// Hooks that broke down and refused (known answer 1)

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn four_denials_of_a_broken_hook_are_a_crash_with_toll_and_no_stop() {
    let scratch = lake_of(&[COPILOT]);
    let states = "select f.fingerprint, count(*), string_agg(f.source_line, ' ' order by f.source_line) from findings f join gate_runs g using (gate_run_id)
        where g.gate_id = 'preToolUse:hook' and g.verdict = 'crashed' and g.stopped_work group by 1 order by 1";
    assert_eq!(
        body(&scratch.sql(states)),
        ["hook-crash/command_not_found:sh,3,118 220 321", "hook-crash/required:tool_use_id,1,355"],
        "two broken states"
    );
    let toll = about_gate(&scratch, "toll", "preToolUse:hook");
    let told = values(&toll, ["n_crashed", "n_stopped_work", "n_blockages", "n_blockages_open", "toll_blocked_ms", "toll_output_tokens"]);
    assert_eq!(told, ["4", "4", "1", "0", "1812908", "16099"]);
    let tokens = "select c.output_tokens from gate_runs g join tool_calls t using (tool_call_id) join model_calls c using (call_id)
        where g.verdict = 'crashed' and g.stopped_work order by g.started_at";
    assert_eq!(body(&scratch.sql(tokens)), ["4796", "4216", "3378", "3709"]);
    assert_eq!(body(&scratch.sql("select count(*) from problems where first_stop_gate_id is not null")), ["0"], "no catch");
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn one_hundred_and_fifty_three_hook_events_cover_173_tool_calls() {
    let scratch = lake_of(&[COPILOT]);
    let events =
        "select count(*), sum(substance)::bigint, (select count(*) from tool_calls) from gate_runs where gate_id = 'preToolUse:hook'";
    assert_eq!(body(&scratch.sql(events)), ["153,173,173"]);
    let said = "select count(*) > 0 from warnings where kind = 'hooks_indistinguishable'";
    assert_eq!(body(&scratch.sql(said)), ["true"], "hooks of one event cannot be told apart, and it is said");
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn waits_for_permission_sum_to_190_5_seconds_and_cover_123_3() {
    let scratch = lake_of(&[COPILOT]);
    let waits = "with w as (select epoch_ms(started_at) as s, epoch_ms(ended_at) as e from gate_runs where gate_id = 'permission:user'
        ), o as (select s, e, max(e) over (order by s, e rows between unbounded preceding and 1 preceding) as until from w)
        select sum(e - s)::bigint, sum(greatest(0, e - greatest(s, coalesce(until, s))))::bigint from o";
    assert_eq!(body(&scratch.sql(waits)), ["190543,123289"]);
    assert_eq!(body(&scratch.sql("select sum(duration_ms)::bigint from gate_runs where gate_id = 'permission:user'")), ["190543"]);
}

// Hooks that only speak (known answer 3)

const ENTIRECONTEXT: [&str; 4] = [
    "sessions/claude-code/entirecontext__46DADQCQJY8C-0.jsonl",
    "sessions/claude-code/entirecontext__966V0YSVCA3N-12.jsonl",
    "sessions/claude-code/entirecontext__JBJXKV1JQ939-0.jsonl",
    "sessions/claude-code/entirecontext__P3QYG1MT22T5-2.jsonl",
];

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn a_hook_that_ran_258_times_gave_20_notices_of_which_none_stopped_anything() {
    let scratch = lake_of(&ENTIRECONTEXT);
    let hook = about_gate(&scratch, "hooks", "PreToolUse:pre-tool-use.mjs");
    let told = values(&hook, ["n_gate_runs", "busy_ms", "n_timed", "n_pass", "n_spoke", "n_stopped_work", "pass_recorded"]);
    assert_eq!(told, ["258", "11111", "258", "238", "20", "0", "true"]);
    assert_eq!(body(&scratch.sql("select count(*) from tool_calls")), ["260"], "two are tails of a snapshot");
    let stops = "select count(*), count(*) filter (where first_stop_gate_id is not null), count(*) filter (where disposition = 'fixed')
        from problems where first_detection_gate_id = 'PreToolUse:pre-tool-use.mjs'";
    assert!(body(&scratch.sql(stops))[0].ends_with(",0,0"), "{}", scratch.sql(stops));
    let economics = about_gate(&scratch, "gate_economics", "PreToolUse:pre-tool-use.mjs");
    assert_eq!(values(&economics, ["n_first_stops_enforced", "n_first_stops_acted_on"]), ["0", "0"]);
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn fourteen_notices_were_about_edits_and_six_about_commands() {
    let scratch = lake_of(&ENTIRECONTEXT);
    let notices =
        "select t.name in ('Edit', 'Write') as edits, t.command_name, count(*) from gate_runs g join tool_calls t using (tool_call_id)
        where g.gate_id = 'PreToolUse:pre-tool-use.mjs' and g.verdict = 'warn' group by all order by all";
    assert_eq!(body(&scratch.sql(notices)), ["false,gh,1", "false,git,1", "false,ls,1", "false,rg,3", "true,,14"]);
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn the_context_budget_fired_twice_and_refused_nothing() {
    let scratch = lake_of(&ENTIRECONTEXT);
    let fired = "select verdict, stopped_work, strftime(started_at, '%H:%M') from gate_runs where gate_id = 'PostToolUse:context-budget.mjs' order by started_at";
    assert_eq!(body(&scratch.sql(fired)), ["warn,false,16:11", "warn,false,16:33"]);
}

// Reviewers (known answer 5, as far as it goes without gates inferred from commands)

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn the_reviewer_ran_twice_and_its_true_cost_is_unknown() {
    let scratch = lake_of(&["sessions/claude-code/cli__ee-cf21d297fe-0.jsonl"]);
    let review = about_gate(&scratch, "reviewers", "agent:entire-engineering:review:code-simplicity-reviewer");
    let told = values(&review, ["n_gate_runs", "n_other", "output_tokens", "n_with_tokens", "n_last_call_only", "nano_usd"]);
    assert_eq!(told, ["2", "2", "", "0", "2", ""]);
    let sizes = "select producer_total_tokens from contexts where role = 'reviewer' and token_basis = 'last_call_only' order by 1";
    assert_eq!(body(&scratch.sql(sizes)), ["59286", "71954"]);
}
