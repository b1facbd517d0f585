//! Facts of the format on self-made lines; names of public bug reports stand beside the cases (`formats/bug-log.md`).

use std::fmt::Write as _;
use std::io::Write as _;

use proptest::prelude::*;

use super::ClaudeCode;
use crate::model::gate_runs::GateRun;
use crate::model::sessions::ModelCallCopy;
use crate::model::time::Ts;
use crate::model::vocabulary::{About, CallKind, FingerprintBasis, GateKind, Purpose, Quality, RoleBasis, TokenBasis, Verdict};
use crate::source::emit::{Collect, Emitter, Facts, Summary};
use crate::source::{Input, Probe, Source, salvage};

/// Reads bytes as one file.
fn read_bytes(bytes: &[u8]) -> (Facts, Summary) {
    let mut sink = Collect::default();
    let mut out = Emitter::new("s".into(), &mut sink);
    let mut reader = super::reader::Reader::default();
    salvage::read_records(bytes, &mut out, super::line::is_line, |record, out| reader.record(record, out)).unwrap();
    reader.finish(&mut out);
    let summary = out.finish().unwrap();
    (sink.0, summary)
}

fn read(lines: &[String]) -> Facts {
    read_bytes(lines.join("\n").as_bytes()).0
}

const SESSION: &str = "11111111-2222-3333-4444-555555555555";

/// A line with the usual envelope; `second` is its time.
fn line(kind: &str, second: u32, rest: &str) -> String {
    format!(
        r#"{{"parentUuid":null,"isSidechain":false,"cwd":"/home/ann/w","sessionId":"{SESSION}","version":"2.1.230","gitBranch":"main","type":"{kind}","uuid":"u{second:020}","timestamp":"2026-02-03T10:{:02}:{:02}.000Z",{rest}}}"#,
        second / 60,
        second % 60
    )
}

fn usage(input: i64, write: i64, read: i64, output: i64) -> String {
    format!(
        r#""input_tokens":{input},"cache_creation_input_tokens":{write},"cache_read_input_tokens":{read},"output_tokens":{output},"cache_creation":{{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":{write}}}"#
    )
}

/// An assistant line of a call.
fn call(id: &str, second: u32, stop: &str, usage: &str, block: &str) -> String {
    let stop = if stop.is_empty() { "null".to_owned() } else { format!("\"{stop}\"") };
    line(
        "assistant",
        second,
        &format!(
            r#""message":{{"id":"{id}","role":"assistant","model":"claude-opus-4-6","content":[{block}],"stop_reason":{stop},"usage":{{{usage}}}}}"#
        ),
    )
}

fn tool_use(id: &str, name: &str, input: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}"#)
}

fn result(id: &str, second: u32, is_error: bool, content: &str, more: &str) -> String {
    line(
        "user",
        second,
        &format!(
            r#""message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","is_error":{is_error},"content":"{content}"}}]}}{more}"#
        ),
    )
}

fn said(second: u32, text: &str) -> String {
    line("user", second, &format!(r#""message":{{"role":"user","content":{}}}"#, serde_json::to_string(text).unwrap()))
}

fn attachment(second: u32, body: &str) -> String {
    line("attachment", second, &format!(r#""attachment":{{{body}}}"#))
}

fn one_call(facts: &Facts) -> &ModelCallCopy {
    assert_eq!(facts.model_call_copies.len(), 1, "{:?}", facts.model_call_copies);
    &facts.model_call_copies[0]
}

fn one_run(facts: &Facts) -> &GateRun {
    assert_eq!(facts.gate_runs.len(), 1, "{:?}", facts.gate_runs);
    &facts.gate_runs[0]
}

const TOOL: &str = "toolu_0123456789abcdef";
const TEXT: &str = r#"{"type":"text","text":"words"}"#;

// Calls and counters

#[test]
fn t1_t2_t3_a_call_of_several_lines_is_one_call_with_its_last_and_largest_output() {
    let facts = read(&[
        call("msg_1", 1, "", &usage(3, 900, 15_000, 8), TEXT),
        call("msg_1", 2, "tool_use", &usage(3, 900, 15_000, 310), &tool_use(TOOL, "Bash", r#"{"command":"cargo test"}"#)),
    ]);
    let call = one_call(&facts);
    assert_eq!((call.input_tokens, call.output_tokens, call.cache_read_tokens), (Some(3), Some(310), Some(15_000)));
    assert_eq!((call.cache_write_5m_tokens, call.cache_write_1h_tokens), (Some(0), Some(900)));
    assert_eq!((call.output_quality, call.input_quality), (Quality::Exact, Quality::Exact));
    assert_eq!(call.output_chars, Some(5 + 24));
    assert_eq!(call.ended_at, Ts::parse("2026-02-03T10:00:02Z"));
}

#[test]
fn t4_t5_a_gateway_that_writes_no_request_id_is_still_counted_once() {
    // No line of these tests holds a requestId; a copy after another call is another copy of the same call.
    let first = call("msg_1", 1, "end_turn", &usage(1, 0, 0, 5), TEXT);
    let facts = read(&[first.clone(), call("msg_2", 2, "end_turn", &usage(1, 0, 0, 6), TEXT), first]);
    let ids: Vec<&str> = facts.model_call_copies.iter().map(|c| c.call_id.as_str()).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(ids[0], ids[2]);
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn t8_t9_d1_output_is_final_with_a_stop_reason_likely_when_it_grew_and_else_a_lower_bound() {
    let flat = read(&[call("m", 1, "", &usage(1, 0, 0, 1), TEXT), call("m", 2, "", &usage(1, 0, 0, 1), TEXT)]);
    assert_eq!(one_call(&flat).output_quality, Quality::LowerBound);
    assert_eq!(one_call(&flat).input_quality, Quality::Exact);
    let grew = read(&[call("m", 1, "", &usage(1, 0, 0, 8), TEXT), call("m", 2, "", &usage(1, 0, 0, 310), TEXT)]);
    assert_eq!((one_call(&grew).output_quality, one_call(&grew).output_tokens), (Quality::Likely, Some(310)));
    let none = read(&[line("assistant", 1, r#""message":{"id":"m","role":"assistant","model":"x","content":[]}"#)]);
    assert_eq!((one_call(&none).output_quality, one_call(&none).output_tokens), (Quality::Unknown, None));
}

#[test]
fn t12_t13_t16_a_fork_under_another_session_repeats_call_and_tool_ids() {
    let lines = [
        call("msg_0123456789", 1, "tool_use", &usage(1, 0, 0, 5), &tool_use(TOOL, "Read", r#"{"file_path":"/home/ann/w/a"}"#)),
        result(TOOL, 2, false, "x", ""),
        attachment(
            3,
            &format!(
                r#""type":"hook_success","hookName":"PostToolUse:Read","hookEvent":"PostToolUse","toolUseID":"{TOOL}","command":"a.sh","exitCode":0,"durationMs":5,"stdout":"x","stderr":"","content":"""#
            ),
        ),
    ];
    let fork: Vec<String> = lines.iter().map(|l| l.replace(SESSION, "99999999-2222-3333-4444-555555555555")).collect();
    let (a, b) = (read(&lines), read(&fork));
    assert_eq!(a.model_call_copies[0].call_id, b.model_call_copies[0].call_id);
    assert_ne!(a.model_call_copies[0].session, b.model_call_copies[0].session);
    assert_eq!(a.tool_calls[0].tool_call_id, b.tool_calls[0].tool_call_id);
    assert_eq!(a.gate_runs[0].gate_run_id, b.gate_runs[0].gate_run_id);
    assert_ne!(a.contexts[0].context_id, b.contexts[0].context_id);
}

#[test]
fn t17_t18_cache_writes_are_split_by_time_to_live_and_a_missing_split_is_a_marked_guess() {
    let mixed = r#""input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":30,"ephemeral_1h_input_tokens":70}"#;
    let facts = read(&[call("m", 1, "end_turn", mixed, TEXT)]);
    let row = one_call(&facts);
    assert_eq!((row.cache_write_5m_tokens, row.cache_write_1h_tokens, row.cache_write_quality), (Some(30), Some(70), Quality::Exact));
    let facts = read(&[call("m", 1, "end_turn", r#""input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":100"#, TEXT)]);
    let row = one_call(&facts);
    assert_eq!((row.cache_write_5m_tokens, row.cache_write_1h_tokens, row.cache_write_quality), (Some(100), Some(0), Quality::Likely));
    assert!(facts.warnings.iter().any(|w| w.kind == "cache_split_unknown"));
    assert_eq!((row.cache_read_tokens, row.cache_read_quality), (None, Quality::Unknown), "absent is not zero");
}

#[test]
fn d4_d5_advisors_and_refused_requests_are_apart_and_splits_are_taken_from_every_request() {
    let part = |kind: &str, model: &str, input: i64, five: i64, hour: i64, output: i64| {
        format!(
            r#"{{"type":"{kind}","model":"{model}","input_tokens":{input},"output_tokens":{output},"cache_read_input_tokens":0,"cache_creation_input_tokens":{},"cache_creation":{{"ephemeral_5m_input_tokens":{five},"ephemeral_1h_input_tokens":{hour}}}}}"#,
            five + hour
        )
    };
    let with = |iterations: &[String]| {
        format!(
            r#""input_tokens":3,"output_tokens":9,"cache_read_input_tokens":0,"cache_creation_input_tokens":30,"cache_creation":{{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":10}},"iterations":[{}]"#,
            iterations.join(",")
        )
    };
    let advised =
        with(&[part("message", "a", 1, 0, 10, 4), part("advisor_message", "big", 149, 0, 0, 14), part("message", "a", 2, 20, 0, 5)]);
    let facts = read(&[call("m", 1, "end_turn", &advised, TEXT)]);
    let kinds: Vec<CallKind> = facts.model_call_copies.iter().map(|c| c.call_kind).collect();
    assert_eq!(kinds, [CallKind::Advisor, CallKind::Message]);
    let (advisor, message) = (&facts.model_call_copies[0], &facts.model_call_copies[1]);
    assert_eq!((advisor.model.as_deref(), advisor.input_tokens, advisor.output_tokens), (Some("big"), Some(149), Some(14)));
    assert_ne!(advisor.call_id, message.call_id);
    assert_eq!((message.input_tokens, message.output_tokens), (Some(3), Some(9)));
    assert_eq!((message.cache_write_5m_tokens, message.cache_write_1h_tokens), (Some(20), Some(10)));

    let refused = with(&[part("message", "a", 7, 0, 21, 2), part("fallback_message", "b", 3, 0, 10, 9)]);
    let facts = read(&[call("m", 1, "end_turn", &refused, TEXT)]);
    let fallback = facts.model_call_copies.iter().find(|c| c.call_kind == CallKind::Fallback).unwrap();
    assert_eq!((fallback.input_tokens, fallback.output_tokens, fallback.cache_write_1h_tokens), (Some(7), Some(2), Some(21)));
    assert_eq!(facts.model_call_copies.len(), 2);
}

#[test]
fn lines_that_the_program_wrote_itself_are_no_calls() {
    let facts = read(&[line(
        "assistant",
        1,
        r#""message":{"id":"m","role":"assistant","model":"<synthetic>","content":[],"usage":{"input_tokens":0,"output_tokens":0}},"isApiErrorMessage":true"#,
    )]);
    assert!(facts.model_call_copies.is_empty());
    assert_eq!(facts.contexts.len(), 1);
}

#[test]
fn counters_may_be_floats_or_texts_and_a_negative_one_is_unknown_and_told() {
    let facts = read(&[call(
        "m",
        1,
        "end_turn",
        r#""input_tokens":12.0,"output_tokens":"34","cache_read_input_tokens":-1,"cache_creation_input_tokens":null"#,
        TEXT,
    )]);
    let row = one_call(&facts);
    assert_eq!((row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_5m_tokens), (Some(12), Some(34), None, None));
    assert!(facts.warnings.iter().any(|w| w.kind == "odd_counter"));
}

#[test]
fn d11_times_that_run_backwards_never_make_a_negative_duration() {
    let facts = read(&[said(50, "go"), call("m", 10, "end_turn", &usage(1, 0, 0, 1), TEXT)]);
    assert_eq!(one_call(&facts).duration_ms, Some(0));
    let facts = read(&[said(5, "go"), call("m", 10, "", &usage(1, 0, 0, 1), TEXT), call("m", 13, "end_turn", &usage(1, 0, 0, 2), TEXT)]);
    assert_eq!(one_call(&facts).duration_ms, Some(8_000));
}

#[test]
fn t23_t24_times_are_instants_whatever_offset_they_are_written_in() {
    let there =
        line("user", 0, r#""message":{"role":"user","content":"x"}"#).replace("2026-02-03T10:00:00.000Z", "2026-03-29T02:30:00+02:00");
    assert_eq!(read(&[there]).contexts[0].started_at, Ts::parse("2026-03-29T00:30:00Z"));
    let odd = line("user", 0, r#""message":{"role":"user","content":"x"}"#).replace("2026-02-03T10:00:00.000Z", "2026-03-29 02:30");
    let facts = read(&[odd]);
    assert_eq!(facts.contexts[0].started_at, None);
    assert!(facts.warnings.iter().any(|w| w.kind == "bad_time"));
}

// Broken lines

#[test]
fn t27_t31_t32_a_stub_a_lone_surrogate_and_a_corrupt_line_cost_nothing_but_themselves() {
    let good = call("m1", 1, "end_turn", &usage(1, 0, 0, 5), TEXT);
    let stub = format!("{}{}", &good[..150], call("m2", 2, "end_turn", &usage(1, 0, 0, 6), TEXT));
    let lone = call("m3", 3, "end_turn", &usage(1, 0, 0, 7), r#"{"type":"text","text":"\ud83d alone"}"#);
    let facts =
        read(&[good, stub, lone, "{\"type\":\"user\" oops".into(), call("m4", 4, "end_turn", &usage(1, 0, 0, 8), TEXT), String::new()]);
    let outputs: Vec<Option<i64>> = facts.model_call_copies.iter().map(|c| c.output_tokens).collect();
    assert_eq!(outputs, [Some(5), Some(6), Some(7), Some(8)]);
    let lost: Vec<(&str, i64)> = facts.quarantine.iter().map(|q| (q.reason.as_str(), q.source_line)).collect();
    assert_eq!(lost, [("malformed", 2), ("malformed", 4)]);
    assert!(facts.warnings.iter().any(|w| w.detail.as_deref() == Some("lone_surrogate")));
}

#[test]
fn t29_t30_t34_t36_marks_nul_blocks_line_separators_and_raw_bytes_do_not_change_the_counts() {
    let clean = [call("m1", 1, "end_turn", &usage(1, 0, 0, 5), TEXT), call("m2", 2, "end_turn", &usage(1, 0, 0, 6), TEXT)];
    let expected = read(&clean).model_call_copies.len();
    let mut dirty = b"\xEF\xBB\xBF".to_vec();
    dirty.extend_from_slice(clean[0].replace("words", "a\u{2028}b").as_bytes());
    dirty.extend_from_slice(b"\r\n");
    dirty.extend_from_slice(&[0; 4_096]);
    let second = clean[1].replace("words", "@");
    let at = second.find('@').unwrap();
    dirty.extend_from_slice(&second.as_bytes()[..at]);
    dirty.push(0xFF);
    dirty.extend_from_slice(&second.as_bytes()[at + 1..]);
    dirty.push(b'\n');
    dirty.extend_from_slice(&[0; 1_728]);
    let (facts, summary) = read_bytes(&dirty);
    assert_eq!(facts.model_call_copies.len(), expected);
    assert_eq!((summary.records, summary.quarantined), (2, 0));
    assert!(facts.warnings.iter().any(|w| w.detail.as_deref() == Some("invalid_utf8")));
}

#[test]
fn d6_two_objects_on_one_line_both_count() {
    let both =
        format!("{}{{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"y\"}}", call("m", 1, "end_turn", &usage(1, 0, 0, 5), TEXT));
    let (facts, summary) = read_bytes(both.as_bytes());
    assert_eq!((facts.model_call_copies.len(), summary.records, summary.quarantined), (1, 2, 0));
}

#[test]
fn t25_t26_snapshot_and_output_lines_give_no_rows_and_unknown_types_are_counted() {
    let big = "x".repeat(100_000);
    let mut lines = Vec::new();
    for _ in 0..20 {
        lines.push(format!(r#"{{"type":"file-history-snapshot","messageId":"m","snapshot":{{"trackedFileBackups":{{"a":"{big}"}}}},"isSnapshotUpdate":false}}"#));
        lines.push(line(
            "progress",
            1,
            &format!(r#""data":{{"type":"bash_progress","output":"{big}","fullOutput":"{big}"}},"toolUseID":"t""#),
        ));
    }
    lines.push(r#"{"type":"brand-new","sessionId":"s"}"#.into());
    lines.push(r#"{"silly":"this"}"#.into());
    let (facts, summary) = read_bytes(lines.join("\n").as_bytes());
    assert_eq!(summary.records, 42);
    assert_eq!(
        facts.warnings.iter().map(|w| (w.kind.as_str(), w.detail.as_deref(), w.count)).collect::<Vec<_>>(),
        [("unknown_type", Some("brand-new"), 1)]
    );
    assert_eq!(facts.quarantine.iter().map(|q| q.reason.as_str()).collect::<Vec<_>>(), ["schema"]);
    assert!(facts.model_call_copies.is_empty() && facts.tool_calls.is_empty() && facts.gate_runs.is_empty());
}

#[test]
fn a_last_line_cut_at_any_byte_keeps_every_line_before_it() {
    let before = call("m1", 1, "end_turn", &usage(1, 0, 0, 5), TEXT);
    let last = call("m2", 2, "end_turn", &usage(1, 0, 0, 6), &tool_use(TOOL, "Bash", r#"{"command":"echo \"é\\n\""}"#));
    for cut in 1..last.len() {
        if !last.is_char_boundary(cut) {
            continue;
        }
        let (facts, summary) = read_bytes(format!("{before}\n{}", &last[..cut]).as_bytes());
        assert_eq!(facts.model_call_copies.len(), 1, "cut at {cut}");
        assert_eq!(facts.quarantine.iter().map(|q| q.reason.as_str()).collect::<Vec<_>>(), ["truncated_tail"], "cut at {cut}");
        assert_eq!(summary.read_to, before.len() as i64 + 1);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let (_, summary) = read_bytes(&bytes);
        prop_assert!(summary.quarantined <= summary.records);
    }

    #[test]
    fn lines_with_any_part_replaced_are_read_without_panic(at in 0usize..1_500, len in 0usize..60, with in "(?s).{0,12}|[\\[\\]{}\",:0-9nul-]{0,12}") {
        let lines = [
            said(1, "go"),
            call("m", 2, "tool_use", &usage(1, 2, 3, 4), &tool_use(TOOL, "Task", r#"{"subagent_type":"a","description":"review","prompt":"You are a reviewer."}"#)),
            attachment(3, &format!(r#""type":"hook_success","hookName":"PreToolUse:Task","hookEvent":"PreToolUse","toolUseID":"{TOOL}","command":"x.sh","exitCode":0,"durationMs":5,"stdout":"{{}}","stderr":"","content":"""#)),
            result(TOOL, 4, false, "VERDICT: REJECT", r#","toolUseResult":{"status":"completed","agentId":"a1","totalTokens":5}"#),
        ]
        .join("\n");
        let (from, to) = (at.min(lines.len()), (at + len).min(lines.len()));
        let mut bytes = lines.as_bytes()[..from].to_vec();
        bytes.extend_from_slice(with.as_bytes());
        bytes.extend_from_slice(&lines.as_bytes()[to..]);
        let (_, summary) = read_bytes(&bytes);
        prop_assert!(summary.quarantined <= summary.records);
    }
}

// Tools

#[test]
fn tool_calls_are_paired_by_id_and_a_request_without_result_is_an_orphan() {
    let facts = read(&[
        call("m1", 1, "tool_use", &usage(1, 0, 0, 5), &tool_use(TOOL, "Bash", r#"{"command":"cd /x && RUST_LOG=1 cargo test"}"#)),
        call(
            "m1",
            2,
            "tool_use",
            &usage(1, 0, 0, 5),
            &tool_use("toolu_orphan_orphan_0", "Edit", r#"{"file_path":"/home/ann/w/src/a.rs","old_string":"a","new_string":"b"}"#),
        ),
        result(TOOL, 9, true, "Exit code 101\\nfailed", r#","toolUseResult":"Error: Exit code 101""#),
    ]);
    assert_eq!(facts.tool_calls.len(), 2);
    let (test, orphan) = (&facts.tool_calls[0], &facts.tool_calls[1]);
    assert_eq!(
        (test.exit_status, test.success, test.duration_ms, test.command_name.as_deref()),
        (Some(101), Some(false), Some(8_000), Some("cargo"))
    );
    assert_eq!(test.call_id.as_deref(), Some(facts.model_call_copies[0].call_id.as_str()));
    assert_eq!((test.result_bytes, test.result_tokens_est), (Some(20), Some(5)));
    assert_eq!((orphan.ended_at, orphan.success, orphan.duration_ms, orphan.writes), (None, None, None, Some(true)));
    assert!(orphan.paths_hash.is_some());
}

#[test]
fn a_status_is_known_only_where_the_record_shows_it() {
    let run = |more: &str| {
        let facts = read(&[
            call("m1", 1, "tool_use", &usage(1, 0, 0, 5), &tool_use(TOOL, "Bash", r#"{"command":"grep x y"}"#)),
            result(TOOL, 2, false, "", more),
        ]);
        (facts.tool_calls[0].success, facts.tool_calls[0].exit_status)
    };
    assert_eq!(run(r#","toolUseResult":{"stdout":"","stderr":"","interrupted":false}"#), (Some(true), Some(0)));
    assert_eq!(
        run(r#","toolUseResult":{"stdout":"","interrupted":false,"returnCodeInterpretation":"No matches found"}"#),
        (Some(true), None)
    );
    assert_eq!(run(r#","toolUseResult":{"stdout":"","interrupted":true}"#), (None, None));
    assert_eq!(run(r#","toolUseResult":{"stdout":"","backgroundTaskId":"b1"}"#), (None, None));
    assert_eq!(run(""), (Some(true), None));
}

#[test]
fn a_background_command_ends_with_its_notification() {
    let note = format!(
        "<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>{TOOL}</tool-use-id>\n<status>completed</status>\n<summary>Background command \"x\" failed with exit code 3</summary>\n</task-notification>"
    );
    let facts = read(&[
        call("m1", 1, "tool_use", &usage(1, 0, 0, 5), &tool_use(TOOL, "Bash", r#"{"command":"make"}"#)),
        result(TOOL, 2, false, "running", r#","toolUseResult":{"stdout":"","backgroundTaskId":"b1"}"#),
        attachment(
            30,
            &format!(r#""type":"queued_command","commandMode":"task-notification","prompt":{}"#, serde_json::to_string(&note).unwrap()),
        ),
        said(31, &note),
    ]);
    assert_eq!(facts.tool_calls.len(), 1);
    assert_eq!(
        (facts.tool_calls[0].exit_status, facts.tool_calls[0].success, facts.tool_calls[0].duration_ms),
        (Some(3), Some(false), Some(29_000))
    );
}

// Sub-agents

#[test]
fn t7_a_sub_agents_own_file_bills_like_any_other_and_hangs_below_its_session() {
    let own = |l: String| l.replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a1b2c3d\"");
    let facts =
        read(&[own(said(1, "You are an adversarial reviewer. Read only.")), own(call("m", 2, "end_turn", &usage(1, 0, 0, 5), TEXT))]);
    let main = read(&[said(1, "go")]);
    assert_eq!(facts.contexts.len(), 1);
    assert_eq!(facts.contexts[0].parent_context_id.as_deref(), Some(main.contexts[0].context_id.as_str()));
    assert_eq!((facts.contexts[0].role.as_deref(), facts.contexts[0].role_basis), (Some("reviewer"), Some(RoleBasis::Prompt)));
    assert_eq!(one_call(&facts).context_id, facts.contexts[0].context_id);
    assert_eq!(facts.contexts[0].native_run_key, format!("session:{SESSION}"));
}

#[test]
fn d3_calls_that_a_parent_embeds_belong_to_the_sub_agent_and_have_the_ids_of_its_own_file() {
    let inner = r#"{"type":"assistant","timestamp":"2026-02-03T10:00:05.000Z","uuid":"x","message":{"id":"msg_sub","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_sub_0123456789","name":"Read","input":{}}],"stop_reason":null,"usage":{"input_tokens":2,"output_tokens":1}}}"#;
    let embedded = line(
        "progress",
        5,
        &format!(
            r#""data":{{"message":{inner},"normalizedMessages":[{inner}],"type":"agent_progress","prompt":"p","agentId":"a1"}},"toolUseID":"agent_msg_1","parentToolUseID":"{TOOL}""#
        ),
    );
    let facts = read(&[
        call(
            "msg_main",
            1,
            "tool_use",
            &usage(1, 0, 0, 5),
            &tool_use(TOOL, "Task", r#"{"subagent_type":"Explore","description":"look","prompt":"p"}"#),
        ),
        embedded,
    ]);
    assert_eq!(facts.model_call_copies.len(), 2, "the second copy inside the line is not read");
    let sub = facts.model_call_copies.iter().find(|c| c.output_tokens == Some(1)).unwrap();
    let main = facts.model_call_copies.iter().find(|c| c.output_tokens == Some(5)).unwrap();
    assert_ne!(sub.context_id, main.context_id);
    let context = facts.contexts.iter().find(|c| c.context_id == sub.context_id).unwrap();
    assert_eq!(
        (context.role.as_deref(), context.role_basis, context.agent_name.as_deref()),
        (Some("Explore"), Some(RoleBasis::Type), Some("Explore"))
    );
    assert_eq!(context.parent_context_id.as_deref(), Some(main.context_id.as_str()));
}

#[test]
fn t10_d2_a_results_total_is_that_of_the_last_call_and_never_a_sum() {
    let facts = read(&[
        call(
            "m",
            1,
            "tool_use",
            &usage(1, 0, 0, 5),
            &tool_use(TOOL, "Task", r#"{"subagent_type":"dev","description":"build it","prompt":"p"}"#),
        ),
        result(
            TOOL,
            60,
            false,
            "done",
            r#","toolUseResult":{"status":"completed","agentId":"a9","totalDurationMs":59000,"totalTokens":4617,"usage":{"input_tokens":14}}"#,
        ),
    ]);
    let sub = facts.contexts.iter().find(|c| c.parent_context_id.is_some()).unwrap();
    assert_eq!((sub.producer_total_tokens, sub.token_basis), (Some(4_617), Some(TokenBasis::LastCallOnly)));
    assert_eq!(sub.ended_at, Ts::parse("2026-02-03T10:01:00Z"));
    assert!(facts.gate_runs.is_empty(), "one who builds is no gate");
}

#[test]
fn compactions_are_counted_and_their_summaries_are_no_prompts() {
    let facts = read(&[
        said(1, "go"),
        line("system", 2, r#""subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":155068}"#),
        line("user", 3, r#""isCompactSummary":true,"message":{"role":"user","content":"Operation stopped by hook: quoted"}"#),
    ]);
    assert_eq!(facts.contexts[0].n_compactions, Some(1));
    assert!(facts.gate_runs.is_empty());
}

// Hooks

fn hook(second: u32, kind: &str, event: &str, command: &str, more: &str) -> String {
    attachment(
        second,
        &format!(r#""type":"{kind}","hookName":"{event}:Edit","hookEvent":"{event}","toolUseID":"{TOOL}","command":"{command}"{more}"#),
    )
}

#[test]
fn a_firing_told_by_three_lines_is_one_gate_run() {
    let notice = r#"{\"hookSpecificOutput\":{\"additionalContext\":\"look here please\"}}"#;
    let facts = read(&[
        call("m", 1, "tool_use", &usage(1, 0, 0, 5), &tool_use(TOOL, "Edit", r#"{"file_path":"/home/ann/w/src/a.rs"}"#)),
        hook(
            2,
            "hook_success",
            "PreToolUse",
            "node ~/.claude/hooks/guard.mjs",
            &format!(r#","exitCode":0,"durationMs":40,"stdout":"{notice}","stderr":"","content":"""#),
        ),
        attachment(
            2,
            &format!(
                r#""type":"hook_additional_context","hookName":"PreToolUse:Edit","hookEvent":"PreToolUse","toolUseID":"{TOOL}","content":["look here please"]"#
            ),
        ),
        attachment(
            2,
            &format!(
                r#""type":"hook_system_message","hookName":"PreToolUse:Edit","hookEvent":"PreToolUse","toolUseID":"{TOOL}","content":"look here please""#
            ),
        ),
    ]);
    let run = one_run(&facts);
    assert_eq!(
        (run.gate_id.as_str(), run.verdict, run.stopped_work, run.duration_ms),
        ("PreToolUse:guard.mjs", Verdict::Warn, Some(false), Some(40))
    );
    assert_eq!(run.injected_tokens_est, Some(4));
    assert_eq!(run.tool_call_id.as_deref(), Some(facts.tool_calls[0].tool_call_id.as_str()));
    assert_eq!(run.started_at, Ts::parse("2026-02-03T10:00:01.960Z"));
    assert_eq!(facts.findings.len(), 1);
    assert_eq!(facts.findings[0].location.as_deref(), Some("src/a.rs"));
    assert_eq!(facts.gates.len(), 1);
    assert_eq!(
        (facts.gates[0].purpose, facts.gates[0].kind, facts.gates[0].pass_recorded),
        (Purpose::Control, Some(GateKind::Deterministic), None)
    );
}

#[test]
fn d13_d15_a_refusal_names_file_and_code_and_has_no_duration() {
    let text = r#"[sh hooks/typecheck.sh]: src/a.tsx(3,1): error TS2304: Cannot find name 'x'.\nsrc/b.tsx(9,2): error TS2322: y"#;
    let facts = read(&[attachment(
        2,
        &format!(
            r#""type":"hook_blocking_error","hookName":"PostToolUse:Edit","hookEvent":"PostToolUse","toolUseID":"{TOOL}","blockingError":{{"blockingError":"{text}","command":"sh hooks/typecheck.sh"}}"#
        ),
    )]);
    let run = one_run(&facts);
    assert_eq!((run.verdict, run.stopped_work, run.duration_ms, run.exit_status), (Verdict::Fail, Some(true), None, None));
    let found: Vec<(&str, Option<&str>, FingerprintBasis)> =
        facts.findings.iter().map(|f| (f.fingerprint.as_str(), f.location.as_deref(), f.fingerprint_basis)).collect();
    assert_eq!(
        found,
        [
            ("TS2304:src/a.tsx", Some("src/a.tsx:3"), FingerprintBasis::RuleAndFile),
            ("TS2322:src/b.tsx", Some("src/b.tsx:9"), FingerprintBasis::RuleAndFile)
        ]
    );
}

#[test]
fn d8_a_hook_that_breaks_down_and_refuses_is_a_crash_that_stopped_the_work_and_no_catch() {
    let facts = read(&[attachment(
        2,
        &format!(
            r#""type":"hook_blocking_error","hookName":"PreToolUse:Bash","hookEvent":"PreToolUse","toolUseID":"{TOOL}","blockingError":{{"blockingError":"[sh guard.sh]: sh: 0: cannot open guard.sh: No such file","command":"sh guard.sh"}}"#
        ),
    )]);
    let run = one_run(&facts);
    assert_eq!((run.verdict, run.stopped_work, run.about), (Verdict::Crashed, Some(true), About::Infrastructure));
    assert_eq!((facts.findings.len(), facts.findings[0].about), (1, About::Infrastructure));
    let open = read(&[hook(
        2,
        "hook_non_blocking_error",
        "PostToolUse",
        "sh probe.sh",
        r#","exitCode":127,"durationMs":78,"stderr":"Failed with non-blocking status code: sh: probe.sh: No such file or directory","stdout":"""#,
    )]);
    let run = one_run(&open);
    assert_eq!((run.verdict, run.stopped_work, run.exit_status, run.duration_ms), (Verdict::Crashed, Some(false), Some(127), Some(78)));
}

#[test]
fn d16_a_start_without_outcome_is_unobservable_and_a_stop_summary_completes_it() {
    let start = |event: &str, id: &str| {
        line(
            "progress",
            2,
            &format!(
                r#""data":{{"type":"hook_progress","hookEvent":"{event}","hookName":"{event}","command":"entire hooks stop"}},"parentToolUseID":"{id}","toolUseID":"{id}""#
            ),
        )
    };
    let facts = read(&[start("PostToolUse", TOOL), start("PostToolUse", TOOL)]);
    assert_eq!((one_run(&facts).verdict, one_run(&facts).ended_at), (Verdict::Unobservable, None));
    let id = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";
    let summary = |errors: &str| {
        line(
            "system",
            4,
            &format!(
                r#""subtype":"stop_hook_summary","hookCount":2,"hookInfos":[{{"command":"entire hooks stop","durationMs":749}},{{"command":"node gate.mjs"}}],"hookErrors":[{errors}],"preventedContinuation":false,"stopReason":"","hasOutput":false,"toolUseID":"{id}""#
            ),
        )
    };
    let facts = read(&[start("Stop", id), summary("")]);
    let of = |facts: &Facts, gate: &str| {
        facts.gate_runs.iter().filter(|r| r.gate_id == gate).map(|r| (r.verdict, r.duration_ms, r.stopped_work)).collect::<Vec<_>>()
    };
    assert_eq!(of(&facts, "Stop:entire"), [(Verdict::Pass, Some(749), None)]);
    assert_eq!(of(&facts, "Stop:gate.mjs"), [(Verdict::Pass, None, None)]);
    let facts = read(&[start("Stop", id), summary(r#""[node gate.mjs]: tests are missing""#)]);
    assert_eq!(of(&facts, "Stop:gate.mjs"), [(Verdict::Fail, None, Some(true))]);
    assert_eq!(of(&facts, "Stop:entire"), [(Verdict::Unobservable, Some(749), None)], "an error without its hook's name is nobody's pass");
}

#[test]
fn text_of_hooks_that_no_line_names_is_a_run_of_the_events_nameless_hook() {
    let text = |id: &str, second: u32| {
        attachment(
            second,
            &format!(
                r#""type":"hook_additional_context","hookName":"UserPromptSubmit","hookEvent":"UserPromptSubmit","toolUseID":"{id}","content":["12345678"]"#
            ),
        )
    };
    let facts = read(&[text("hook-11111111-2222-3333", 1), text("hook-44444444-2222-3333", 9)]);
    assert_eq!(facts.gate_runs.len(), 2);
    assert!(
        facts
            .gate_runs
            .iter()
            .all(|r| r.gate_id == "UserPromptSubmit:hook" && r.verdict == Verdict::Pass && r.injected_tokens_est == Some(2))
    );
    assert_eq!(facts.gates[0].purpose, Purpose::Context);
    let start = attachment(
        1,
        r#""type":"async_hook_response","hookName":"SessionStart:startup","hookEvent":"SessionStart","processId":"async_hook_92401","exitCode":0,"stdout":"","stderr":"","response":{"hookSpecificOutput":{"additionalContext":"abcdefgh"}}"#,
    );
    assert_eq!(one_run(&read(&[start])).injected_tokens_est, Some(2));
}

#[test]
fn a_prompt_stopped_by_a_hook_counts_and_a_person_who_quotes_it_does_not() {
    let facts = read(&[said(1, "Operation stopped by hook: another session is active")]);
    let run = one_run(&facts);
    assert_eq!((run.gate_id.as_str(), run.verdict, run.stopped_work), ("UserPromptSubmit:stopping-hook", Verdict::Fail, Some(true)));
    assert_eq!(facts.gates[0].purpose, Purpose::Control);
    assert!(read(&[said(1, "we see:\nOperation stopped by hook: x")]).gate_runs.is_empty());
}

// Permissions

fn refused(more: &str, content: &str) -> Facts {
    read(&[
        call("m", 1, "tool_use", &usage(1, 0, 0, 5), &tool_use(TOOL, "Edit", r#"{"file_path":"/home/ann/w/src/a.rs"}"#)),
        result(TOOL, 31, true, content, more),
    ])
}

#[test]
fn refusals_are_gates_of_who_refused_and_an_absent_user_is_no_human() {
    for (kind, gate, verdict, by) in [
        ("user-rejected", "permission:user", Verdict::Fail, "user"),
        ("permission-rule", "permission:rule", Verdict::Fail, "permission-rule"),
        ("automode-blocked", "permission:auto-mode", Verdict::Fail, "auto-mode"),
        ("automode-unavailable", "permission:auto-mode", Verdict::CouldNotRun, "auto-mode"),
    ] {
        let facts = refused(&format!(r#","toolDenialKind":"{kind}""#), "no");
        let run = one_run(&facts);
        assert_eq!((run.gate_id.as_str(), run.verdict, run.stopped_work), (gate, verdict, Some(true)), "{kind}");
        assert_eq!(
            (facts.tool_calls[0].denied_by.as_deref(), facts.tool_calls[0].success, facts.tool_calls[0].writes),
            (Some(by), Some(false), Some(false))
        );
        assert_eq!(facts.gates[0].kind == Some(GateKind::Human), kind == "user-rejected");
        assert_eq!(facts.findings.len(), usize::from(verdict == Verdict::Fail));
    }
    let facts = refused("", "The user doesn't want to proceed with this tool use. The tool use was rejected");
    assert_eq!((one_run(&facts).gate_id.as_str(), one_run(&facts).duration_ms), ("permission:user", Some(30_000)));
    assert_eq!(facts.findings[0].fingerprint, "permission:user/Edit:src/a.rs");
    let facts = refused("", "PreToolUse:Edit hook error: [node guard.mjs]: not here");
    assert_eq!((one_run(&facts).gate_id.as_str(), one_run(&facts).verdict), ("PreToolUse:guard.mjs", Verdict::Fail));
    assert_eq!(facts.tool_calls[0].denied_by.as_deref(), Some("hook"));
}

#[test]
fn plans_are_approved_or_rejected_by_a_person_and_turns_are_a_budget() {
    let plan = |content: &str, error: bool| {
        read(&[call("m", 1, "tool_use", &usage(1, 0, 0, 5), &tool_use(TOOL, "ExitPlanMode", "{}")), result(TOOL, 9, error, content, "")])
    };
    assert_eq!(one_run(&plan("User has approved your plan. You can now start coding.", false)).verdict, Verdict::Pass);
    let rejected = plan("The user doesn't want to proceed with this tool use.", true);
    assert_eq!((one_run(&rejected).gate_id.as_str(), one_run(&rejected).verdict), ("permission:plan", Verdict::Fail));
    let facts = read(&[attachment(1, r#""type":"max_turns_reached","maxTurns":3,"turnCount":4"#)]);
    assert_eq!((one_run(&facts).gate_id.as_str(), one_run(&facts).stopped_work), ("budget:max-turns", Some(true)));
}

// Reviewers

fn reviewer(result_text: &str) -> Facts {
    read(&[
        call(
            "m",
            1,
            "tool_use",
            &usage(1, 0, 0, 5),
            &tool_use(TOOL, "Task", r#"{"subagent_type":"car","description":"Adversarial review of car 3","prompt":"p"}"#),
        ),
        result(TOOL, 61, false, result_text, r#","toolUseResult":{"status":"completed","agentId":"a9","totalTokens":4617}"#),
    ])
}

#[test]
fn a_reviewers_verdict_is_what_it_states_and_else_inconclusive() {
    let facts = reviewer("All good.\\n\\n**VERDICT: REJECT**");
    let run = one_run(&facts);
    assert_eq!((run.gate_id.as_str(), run.verdict, run.duration_ms), ("agent:car", Verdict::Fail, Some(60_000)));
    assert_eq!(run.context_id, facts.contexts.iter().find(|c| c.parent_context_id.is_some()).map(|c| c.context_id.clone()));
    assert_eq!((facts.findings.len(), facts.findings[0].fingerprint_basis), (1, FingerprintBasis::GateStage));
    assert_eq!(facts.gates[0].kind, Some(GateKind::Model));
    assert_eq!(one_run(&reviewer("I looked at everything and it is fine")).verdict, Verdict::Inconclusive);
    let remarks = reviewer("VERDICT: APPROVE\\n**[LOW] Name is stale**\\nFile: `src/a.rs:9`");
    assert_eq!((one_run(&remarks).verdict, remarks.findings[0].location.as_deref()), (Verdict::Warn, Some("src/a.rs:9")));
}

#[test]
fn a_reviewer_in_the_background_answers_by_notification_or_never() {
    let mut note = String::from("<task-notification>\n<task-id>a38588f299202d415</task-id>\n<status>completed</status>\n<result>VERDICT: ");
    write!(note, "APPROVE</result>\n</task-notification>").unwrap();
    let start = [
        call(
            "m",
            1,
            "tool_use",
            &usage(1, 0, 0, 5),
            &tool_use(TOOL, "Agent", r#"{"subagent_type":"car","name":"x-review-r1","description":"d","prompt":"p"}"#),
        ),
        result(TOOL, 2, false, "launched", r#","toolUseResult":{"isAsync":true,"status":"async_launched","agentId":"a38588f299202d415"}"#),
    ];
    assert_eq!(one_run(&read(&start)).verdict, Verdict::Pending);
    let facts = read(&[start[0].clone(), start[1].clone(), said(100, &note), said(100, &note)]);
    assert_eq!((one_run(&facts).verdict, one_run(&facts).duration_ms, one_run(&facts).round), (Verdict::Pass, Some(99_000), Some(1)));
}

#[test]
fn messages_of_reviewers_count_and_those_of_others_do_not() {
    let message = |from: &str| {
        said(9, &format!("Another Claude session sent a message:\n<agent-message from=\"{from}\">\n**VERDICT: REVISE**\n</agent-message>"))
    };
    let facts = read(&[message("design-review")]);
    assert_eq!((one_run(&facts).gate_id.as_str(), one_run(&facts).verdict), ("agent:design-review", Verdict::Fail));
    assert!(read(&[message("builder")]).gate_runs.is_empty());
}

#[test]
fn structured_findings_are_findings_and_an_empty_list_is_a_pass() {
    let facts = read(&[attachment(
        1,
        r#""type":"structured_output","toolUseID":"toolu_9999999999999999","data":{"findings":[{"filePath":"/home/ann/w/a.ts","category":"authorization","severity":"medium","confidence":0.8,"explanation":"secret words"}]}"#,
    )]);
    assert_eq!(
        (one_run(&facts).verdict, facts.findings[0].rule_id.as_deref(), facts.findings[0].raw_severity.as_deref()),
        (Verdict::Fail, Some("authorization"), Some("medium"))
    );
    assert_eq!(facts.findings[0].fingerprint, "authorization:a.ts");
    assert!(!format!("{facts:?}").contains("secret words"));
    let empty = read(&[attachment(1, r#""type":"structured_output","toolUseID":"toolu_9999999999999999","data":{"findings":[]}"#)]);
    assert_eq!((one_run(&empty).verdict, empty.findings.len()), (Verdict::Pass, 0));
    let report = |findings: &str| {
        read(&[
            call("m", 1, "tool_use", &usage(1, 0, 0, 5), &tool_use(TOOL, "ReportFindings", "{}")),
            result(TOOL, 2, false, "ok", &format!(r#","toolUseResult":{{"count":1,"findings":[{findings}]}}"#)),
        ])
    };
    let first = report(r#"{"file":"src/a.rs","line":7,"category":"correctness","short_summary":"Off by one","verdict":"CONFIRMED"}"#);
    assert_eq!((one_run(&first).verdict, first.findings[0].location.as_deref()), (Verdict::Fail, Some("src/a.rs:7")));
    let fixed = report(r#"{"file":"src/a.rs","line":9,"category":"correctness","short_summary":"off by one","outcome":"fixed"}"#);
    assert_eq!(one_run(&fixed).verdict, Verdict::Pass);
    assert_eq!(one_run(&fixed).resolves, Some(vec![first.findings[0].fingerprint.clone()]));
}

// Files

fn claims(name: &str, head: &[u8]) -> bool {
    let input = Input::new(std::path::Path::new(name)).unwrap();
    ClaudeCode.claims(&Probe { input: &input, head })
}

#[test]
fn files_are_claimed_by_what_they_hold_and_not_by_their_name() {
    let good = said(1, "x");
    assert!(claims("/tmp/anything.txt", good.as_bytes()));
    assert!(!claims("/tmp/a.jsonl.metadata.json", good.as_bytes()));
    assert!(!claims("/p/s/tool-results/x.txt", good.as_bytes()));
    assert!(!claims("/p/a.jsonl", good.replace("\"content\":", "\"parts\":").as_bytes()), "a fork of the program");
    assert!(!claims("/p/a.jsonl", br#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{}}"#));
    assert!(!claims("/p/a.jsonl", br#"{"type":"user","message":{"role":"user","content":"x"}}"#));
    assert!(claims("/p/a.jsonl", format!("{{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"s\"}}\n{good}").as_bytes()));
    assert!(claims("/p/a.jsonl", format!("broken\n{good}").as_bytes()));
    assert!(
        claims("/p/a.jsonl", &good.replace("\"x\"", &format!("\"{}", "y".repeat(70_000))).as_bytes()[..65_536]),
        "one line longer than the head"
    );
    assert!(!claims("/p/a.jsonl", b""));
}

#[test]
fn a_meta_file_gives_the_sub_agent_its_type() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(SESSION).join("subagents/workflows/wf_1");
    std::fs::create_dir_all(&path).unwrap();
    let path = path.join("agent-a1b2c3d.meta.json");
    std::fs::File::create(&path).unwrap().write_all(br#"{"agentType":"Explore"}"#).unwrap();
    let input = Input::new(&path).unwrap();
    assert!(claims(path.to_str().unwrap(), br#"{"agentType":"Explore"}"#));
    let mut sink = Collect::default();
    crate::source::read_file(&ClaudeCode, &input, &mut sink).unwrap();
    let own = read(&[said(1, "x").replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a1b2c3d\"")]);
    assert_eq!(sink.0.contexts[0].context_id, own.contexts[0].context_id);
    assert_eq!((sink.0.contexts[0].role.as_deref(), sink.0.contexts[0].role_basis), (Some("Explore"), Some(RoleBasis::Type)));
}

#[test]
fn home_directories_and_words_of_the_session_do_not_leave_the_file() {
    let facts = read(&[
        said(1, "tell nobody: hunter2"),
        call("m", 2, "tool_use", &usage(1, 0, 0, 5), &tool_use(TOOL, "Bash", r#"{"command":"curl -H 'token: hunter2' http://x"}"#)),
        result(TOOL, 3, true, "Exit code 6\\nhunter2", ""),
        hook(
            4,
            "hook_success",
            "PreToolUse",
            "node /home/ann/secret/guard.mjs hunter2",
            r#","exitCode":0,"durationMs":1,"stdout":"{\"decision\":\"block\",\"reason\":\"hunter2\"}","stderr":"","content":"""#,
        ),
    ]);
    let all = format!("{facts:?}");
    assert!(!all.contains("hunter2") && !all.contains("/home/ann"), "{all}");
    assert_eq!(facts.contexts[0].cwd.as_deref(), Some("~/w"));
}
