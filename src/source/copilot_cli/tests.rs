//! Self-made lines: each case that other readers of this format got wrong, and the states real files show.

use std::io::Write;

use proptest::prelude::*;

use crate::model::gate_runs::GateRun;
use crate::model::usage_totals::UsageTotal;
use crate::model::vocabulary::{About, CallKind, Quality, UsageTotalKind, Verdict};
use crate::source::emit::{Collect, Facts, Summary};
use crate::source::{Input, claim, head_of, read_file};

/// Reads bytes as the file `events.jsonl` of some session folder.
fn read_bytes(bytes: &[u8]) -> (Facts, Summary) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
    let mut sink = Collect::default();
    let summary = read_file(&super::CopilotCli, &Input::new(&path).unwrap(), &mut sink).unwrap();
    (sink.0, summary)
}

/// One event a second, in the order given: `kind`, `data`, and optionally the `agentId`.
struct Log(Vec<String>);

impl Log {
    fn new() -> Log {
        Log(Vec::new()).add(
            "session.start",
            r#"{"sessionId":"S-1","copilotVersion":"1.0.74","context":{"cwd":"/home/ann/w","repository":"o/r","branch":"b"}}"#,
        )
    }

    fn by(mut self, agent: Option<&str>, kind: &str, data: &str) -> Log {
        let n = self.0.len();
        let agent = agent.map(|a| format!(r#","agentId":"{a}""#)).unwrap_or_default();
        let (minute, second) = (n / 60, n % 60);
        self.0.push(format!(
            r#"{{"type":"{kind}","data":{data},"id":"event-{n:04}","timestamp":"2026-08-01T10:{minute:02}:{second:02}.000Z"{agent}}}"#
        ));
        self
    }

    fn add(self, kind: &str, data: &str) -> Log {
        self.by(None, kind, data)
    }

    fn call(self, id: &str, tokens: i64) -> Log {
        self.add(
            "assistant.message",
            &format!(r#"{{"messageId":"m-{id}","apiCallId":"{id}","model":"m","outputTokens":{tokens},"content":"x"}}"#),
        )
    }

    fn tool(self, id: &str) -> Log {
        self.add("tool.execution_start", &format!(r#"{{"toolCallId":"{id}","toolName":"bash","arguments":{{"command":"cargo test"}}}}"#))
    }

    fn done(self, id: &str, rest: &str) -> Log {
        self.add("tool.execution_complete", &format!(r#"{{"toolCallId":"{id}",{rest}}}"#))
    }

    fn pre_hook(self, id: &str, tools: &[&str], end: &str) -> Log {
        let tools: Vec<String> = tools.iter().map(|t| format!(r#"{{"id":"{t}","name":"bash"}}"#)).collect();
        let start = format!(r#"{{"hookInvocationId":"{id}","hookType":"preToolUse","input":{{"toolCalls":[{}]}}}}"#, tools.join(","));
        self.add("hook.start", &start).add("hook.end", &format!(r#"{{"hookInvocationId":"{id}","hookType":"preToolUse",{end}}}"#))
    }

    fn shutdown(self, requests: i64, input: i64, read: i64, write: i64, output: i64) -> Log {
        let usage = format!(r#"{{"inputTokens":{input},"outputTokens":{output},"cacheReadTokens":{read},"cacheWriteTokens":{write}}}"#);
        let metrics = format!(r#"{{"m":{{"requests":{{"count":{requests},"cost":0.33}},"usage":{usage}}}}}"#);
        self.add("session.shutdown", &format!(r#"{{"shutdownType":"routine","totalPremiumRequests":0.33,"modelMetrics":{metrics}}}"#))
    }

    fn read(&self) -> (Facts, Summary) {
        read_bytes((self.0.join("\n") + "\n").as_bytes())
    }

    fn facts(&self) -> Facts {
        self.read().0
    }
}

fn warned(facts: &Facts, kind: &str) -> i64 {
    facts.warnings.iter().filter(|w| w.kind == kind).map(|w| w.count).sum()
}

fn totals(facts: &Facts) -> Vec<&UsageTotal> {
    facts.usage_totals.iter().filter(|t| t.kind == UsageTotalKind::Shutdown).collect()
}

fn runs<'f>(facts: &'f Facts, gate: &str) -> Vec<&'f GateRun> {
    facts.gate_runs.iter().filter(|g| g.gate_id == gate).collect()
}

#[test]
fn chunks_of_one_api_call_are_one_call_with_the_one_output_counter() {
    // D-9
    let chunk =
        |i: i64, rest: &str| format!(r#"{{"messageId":"m{i}","apiCallId":"c1","chunkIndex":{i},"chunkCount":3,"content":"ab"{rest}}}"#);
    let facts = Log::new()
        .add("assistant.message", &chunk(0, ""))
        .add("assistant.message", &chunk(1, ""))
        .add("assistant.message", &chunk(2, r#","outputTokens":1851,"model":"gpt-x""#))
        .call("c2", 5)
        .facts();
    let calls = &facts.model_call_copies;
    assert_eq!(calls.len(), 2);
    assert_eq!((calls[0].output_tokens, calls[0].model.as_deref(), calls[0].output_chars), (Some(1851), Some("gpt-x"), Some(6)));
    assert_eq!((calls[0].source_line, calls[0].duration_ms), (4, Some(3_000)));
    assert_eq!((calls[0].input_tokens, calls[0].input_quality, calls[0].output_quality), (None, Quality::Unknown, Quality::Exact));
}

#[test]
fn chunks_without_a_count_and_calls_without_ids_are_counted_once_each() {
    let facts = Log::new()
        .add("assistant.message", r#"{"apiCallId":"c1","content":"a"}"#)
        .add("assistant.message", r#"{"apiCallId":"c1","content":"a","outputTokens":7}"#)
        .add("assistant.message", r#"{"text":"old"}"#)
        .add("assistant.message", r#"{"text":"old"}"#)
        .facts();
    let output: Vec<Option<i64>> = facts.model_call_copies.iter().map(|c| c.output_tokens).collect();
    assert_eq!(output, [Some(7), None, None]);
    assert_ne!(facts.model_call_copies[1].call_id, facts.model_call_copies[2].call_id, "two events stay two calls");
}

#[test]
fn cache_inclusive_input_becomes_fresh_input_and_requests_stay_apart_from_premium_requests() {
    // T-21, T-22, T-52, T-53c
    let facts = Log::new().call("a", 50).shutdown(2, 1000, 800, 50, 50).facts();
    let total = totals(&facts)[0];
    assert_eq!((total.input_tokens, total.cache_read_tokens, total.cache_write_tokens), (Some(150), Some(800), Some(50)));
    assert_eq!((total.n_requests, total.premium_requests, total.quality), (Some(2), Some(0.33), Quality::Exact));
    assert_eq!(warned(&facts, "usage_without_shutdown"), 0);
    let odd = Log::new().call("a", 50).shutdown(2, 100, 800, 50, 50).facts();
    assert_eq!((totals(&odd)[0].input_tokens, warned(&odd, "inconsistent_counters")), (None, 1), "less input than cache is no input");
}

#[test]
fn a_session_without_shutdown_has_output_and_unknown_input() {
    // T-49, T-50
    let facts = Log::new().call("a", 50).facts();
    assert!(facts.usage_totals.is_empty());
    assert_eq!((facts.model_call_copies[0].output_tokens, facts.model_call_copies[0].input_tokens), (Some(50), None));
    assert_eq!(warned(&facts, "usage_without_shutdown"), 1);
    let resumed = Log::new().call("a", 5).shutdown(1, 10, 0, 0, 5).add("session.resume", "{}").call("b", 7).facts();
    assert_eq!(warned(&resumed, "usage_without_shutdown"), 1, "calls after the last shutdown are not covered by it");
}

#[test]
fn cumulative_shutdowns_are_differenced_and_their_sum_is_the_last_reading() {
    // T-51, T-37: several segments in one file
    let facts = Log::new()
        .call("a", 100)
        .shutdown(1, 1000, 600, 100, 100)
        .add("session.resume", "{}")
        .call("b", 50)
        .shutdown(2, 1800, 1100, 200, 150)
        .add("session.start", r#"{"sessionId":"S-1"}"#)
        .call("c", 25)
        .shutdown(3, 2000, 1200, 250, 175)
        .facts();
    let totals = totals(&facts);
    let of = |f: fn(&UsageTotal) -> Option<i64>| totals.iter().map(|t| f(t).unwrap()).collect::<Vec<_>>();
    assert_eq!(of(|t| t.output_tokens), [100, 50, 25]);
    assert_eq!(of(|t| t.input_tokens), [300, 200, 50]);
    assert_eq!(of(|t| t.cache_read_tokens), [600, 500, 100]);
    assert_eq!(of(|t| t.n_requests), [1, 1, 1]);
    assert_eq!(totals.iter().map(|t| (t.leg, t.epoch)).collect::<Vec<_>>(), [(0, 0), (1, 0), (2, 0)]);
    assert_eq!(totals.iter().map(|t| t.quality).collect::<Vec<_>>(), [Quality::Exact, Quality::Likely, Quality::Likely]);
    assert_eq!(facts.contexts.len(), 1, "one session, however many segments");
}

#[test]
fn shutdowns_that_count_their_leg_alone_are_taken_whole_even_where_every_counter_grew() {
    // T-51: a rule by size alone would take 400 − 300.
    let facts = Log::new()
        .call("a", 100)
        .shutdown(1, 300, 0, 0, 100)
        .add("session.resume", "{}")
        .call("b", 150)
        .shutdown(1, 400, 0, 0, 150)
        .facts();
    let totals = totals(&facts);
    assert_eq!(totals.iter().map(|t| t.input_tokens.unwrap()).collect::<Vec<_>>(), [300, 400]);
    assert_eq!(totals.iter().map(|t| t.epoch).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_counter_that_fell_begins_a_new_epoch_and_counts_in_full() {
    let facts = Log::new().call("a", 100).shutdown(1, 300, 0, 0, 100).call("b", 10).shutdown(2, 250, 0, 0, 110).facts();
    let totals = totals(&facts);
    assert_eq!(totals.iter().map(|t| t.input_tokens.unwrap()).collect::<Vec<_>>(), [300, 250]);
    assert_eq!(warned(&facts, "counter_fell"), 1);
}

#[test]
fn counters_reset_by_a_compaction_are_a_lower_bound() {
    let facts = Log::new()
        .call("a", 1000)
        .add("session.compaction_complete", r#"{"success":true,"compactionTokensUsed":{"inputTokens":10,"outputTokens":3}}"#)
        .call("b", 40)
        .shutdown(1, 500, 0, 0, 40)
        .facts();
    assert_eq!((totals(&facts)[0].input_tokens, totals(&facts)[0].quality), (Some(500), Quality::LowerBound));
}

#[test]
fn checkpoints_are_differenced_and_a_repeated_or_unreadable_one_adds_nothing() {
    let at = |n: &str| format!(r#"{{"totalNanoAiu":{n},"totalPremiumRequests":0.66}}"#);
    let facts = Log::new()
        .add("session.usage_checkpoint", &at("2100"))
        .add("session.usage_checkpoint", &at("2100"))
        .add("session.usage_checkpoint", &at("3150"))
        .add("session.usage_checkpoint", &at("\"CORRUPTED\""))
        .add("session.usage_checkpoint", &at("1000"))
        .facts();
    let grown: Vec<_> = facts.usage_totals.iter().map(|t| (t.nano_aiu.unwrap(), t.epoch)).collect();
    assert_eq!(grown, [(2100, 0), (1050, 0), (1000, 1)]);
    assert_eq!(warned(&facts, "unreadable_checkpoint"), 1);
    assert_eq!(facts.usage_totals[1].premium_requests, Some(0.0));
}

#[test]
fn a_compaction_is_billed_by_its_token_details_and_without_them_by_its_counters() {
    // D-7
    let details = r#"[{"tokenType":"input","tokenCount":2},{"tokenType":"cache_read","tokenCount":30},{"tokenType":"cache_write","tokenCount":70},{"tokenType":"output","tokenCount":9}]"#;
    let used = format!(
        r#"{{"inputTokens":102,"outputTokens":9,"cacheReadTokens":30,"cacheWriteTokens":0,"copilotUsage":{{"tokenDetails":{details}}}}}"#
    );
    let facts = Log::new()
        .add("session.compaction_complete", &format!(r#"{{"success":true,"requestId":"R1","compactionTokensUsed":{used}}}"#))
        .add(
            "session.compaction_complete",
            r#"{"success":true,"compactionTokensUsed":{"inputTokens":100,"outputTokens":9,"cacheReadTokens":30}}"#,
        )
        .add("session.compaction_complete", r#"{"success":false,"error":"x"}"#)
        .facts();
    let calls = &facts.model_call_copies;
    assert!(calls.iter().all(|c| c.call_kind == CallKind::Compaction));
    assert_eq!((calls[0].input_tokens, calls[0].cache_write_5m_tokens, calls[0].input_quality), (Some(2), Some(70), Quality::Exact));
    assert_eq!((calls[1].input_tokens, calls[1].cache_write_5m_tokens, calls[1].input_quality), (Some(70), None, Quality::Likely));
    assert_eq!((calls.len(), facts.contexts[0].n_compactions), (2, Some(2)));
}

#[test]
fn a_hook_that_fails_and_denies_is_a_crash_that_stopped_the_work_and_never_a_catch() {
    // D-8
    let failed = r#""success":false,"error":{"message":"Error: Hook command failed with code 1\nStderr: sh: command not found","source":"repo settings"}"#;
    let facts = Log::new()
        .tool("t1")
        .pre_hook("h1", &["t1"], failed)
        .done(
            "t1",
            r#""success":false,"error":{"message":"Denied by preToolUse hook from \"repo settings\" (hook errored)","code":"denied"}"#,
        )
        .facts();
    let run = runs(&facts, "preToolUse:hook")[0];
    assert_eq!(
        (run.verdict, run.about, run.stopped_work, run.duration_ms),
        (Verdict::Crashed, About::Infrastructure, Some(true), Some(1_000))
    );
    let finding = &facts.findings[0];
    assert_eq!(
        (finding.fingerprint.as_str(), finding.about, finding.source_line),
        ("hook-crash/command_not_found:sh", About::Infrastructure, 5)
    );
    let tool = &facts.tool_calls[0];
    assert_eq!((tool.denied_by.as_deref(), tool.success, tool.writes), (Some("hook"), Some(false), Some(false)));
    assert_eq!(run.tool_call_id.as_ref(), Some(&tool.tool_call_id));
    assert!(facts.guard_events.is_empty());
}

#[test]
fn a_hook_that_fails_while_the_tool_runs_is_broken_and_open() {
    let failed = r#""success":false,"error":{"message":"boom"}"#;
    let facts = Log::new().tool("t1").pre_hook("h1", &["t1"], failed).done("t1", r#""success":true,"result":{"content":"ok"}"#).facts();
    let run = runs(&facts, "preToolUse:hook")[0];
    assert_eq!((run.verdict, run.stopped_work), (Verdict::Crashed, Some(false)));
    assert_eq!(facts.guard_events[0].event, "degraded_open");
    assert_eq!(facts.tool_calls[0].denied_by, None);
    // At the end of the file nobody knows.
    let cut = Log::new().tool("t1").pre_hook("h1", &["t1"], failed).facts();
    assert_eq!((cut.gate_runs[0].verdict, cut.gate_runs[0].stopped_work), (Verdict::Crashed, None));
}

#[test]
fn a_hook_that_comes_before_the_start_of_its_tool_waits_for_its_end_too() {
    let failed = r#""success":false,"error":{"message":"boom"}"#;
    let denied = r#""success":false,"error":{"message":"Denied by preToolUse hook (hook errored)","code":"denied"}"#;
    let facts = Log::new().pre_hook("h1", &["t1"], failed).tool("t1").done("t1", denied).facts();
    assert_eq!((facts.gate_runs[0].verdict, facts.gate_runs[0].stopped_work), (Verdict::Crashed, Some(true)));
}

#[test]
fn a_hook_that_denies_is_a_fail_with_one_finding_and_a_hook_that_says_nothing_passes() {
    let facts = Log::new()
        .tool("t1")
        .pre_hook("h1", &["t1"], r#""success":true,"output":{"permissionDecision":"deny","permissionDecisionReason":"no pushes"}"#)
        .done("t1", r#""success":false,"error":{"message":"Denied by preToolUse hook: no pushes","code":"denied"}"#)
        .tool("t2")
        .pre_hook("h2", &["t2"], r#""success":true"#)
        .done("t2", r#""success":true"#)
        .facts();
    let runs = runs(&facts, "preToolUse:hook");
    assert_eq!((runs[0].verdict, runs[0].stopped_work, runs[0].about), (Verdict::Fail, Some(true), About::Product));
    assert_eq!((runs[1].verdict, runs[1].stopped_work), (Verdict::Pass, Some(false)));
    assert_eq!(facts.findings.len(), 1);
    assert!(facts.findings[0].fingerprint.starts_with("preToolUse:hook/"));
}

#[test]
fn of_two_hooks_on_one_tool_the_one_that_said_so_denied_it() {
    let denied = r#""success":false,"error":{"message":"Denied by preToolUse hook: x","code":"denied"}"#;
    let says = r#""success":true,"output":{"t1":"Denied by preToolUse hook: x"}"#;
    let facts = Log::new().tool("t1").pre_hook("h1", &["t1"], says).pre_hook("h2", &["t1"], r#""success":true"#).done("t1", denied).facts();
    let verdicts: Vec<Verdict> = runs(&facts, "preToolUse:hook").iter().map(|g| g.verdict).collect();
    assert_eq!(verdicts, [Verdict::Fail, Verdict::Pass]);
    // Where neither said so, the last one before the denial did.
    let silent =
        Log::new().tool("t1").pre_hook("h1", &["t1"], r#""success":true"#).pre_hook("h2", &["t1"], r#""success":true"#).done("t1", denied);
    let facts = silent.facts();
    let verdicts: Vec<Verdict> = runs(&facts, "preToolUse:hook").iter().map(|g| g.verdict).collect();
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Fail]);
}

#[test]
fn one_firing_over_several_tools_is_one_gate_run_that_checked_all_of_them() {
    let facts = Log::new()
        .tool("t1")
        .tool("t2")
        .pre_hook("h1", &["t1", "t2"], r#""success":true"#)
        .done("t1", r#""success":true"#)
        .done("t2", r#""success":true"#)
        .facts();
    let runs = runs(&facts, "preToolUse:hook");
    assert_eq!((runs.len(), runs[0].substance, runs[0].tool_call_id.as_deref()), (1, Some(2), None));
}

#[test]
fn a_hook_named_after_its_tool_alone_is_linked_where_only_one_tool_fits() {
    let post = r#"{"hookInvocationId":"h1","hookType":"postToolUse","input":{"toolName":"bash","toolArgs":"{\"command\":\"ls\"}"}}"#;
    let start = |id: &str, command: &str| format!(r#"{{"toolCallId":"{id}","toolName":"bash","arguments":{{"command":"{command}"}}}}"#);
    let facts = Log::new()
        .add("tool.execution_start", &start("t1", "ls"))
        .add("tool.execution_start", &start("t2", "pwd"))
        .add("hook.start", post)
        .add("hook.end", r#"{"hookInvocationId":"h1","hookType":"postToolUse","success":true}"#)
        .done("t1", r#""success":true"#)
        .done("t2", r#""success":true"#)
        .facts();
    assert_eq!(facts.gate_runs[0].tool_call_id.as_ref(), Some(&facts.tool_calls[0].tool_call_id));
}

#[test]
fn a_stop_hook_that_blocks_refuses_the_step_and_a_dangling_start_is_no_run() {
    let facts = Log::new()
        .add("hook.start", r#"{"hookInvocationId":"h1","hookType":"agentStop","input":{}}"#)
        .add(
            "hook.end",
            r#"{"hookInvocationId":"h1","hookType":"agentStop","success":true,"output":{"decision":"block","reason":"tests are red"}}"#,
        )
        .add("hook.start", r#"{"hookInvocationId":"h2","hookType":"sessionEnd","input":{}}"#)
        .facts();
    assert_eq!(facts.gate_runs.len(), 1);
    assert_eq!((facts.gate_runs[0].verdict, facts.gate_runs[0].stopped_work), (Verdict::Fail, Some(true)));
    assert_eq!(warned(&facts, "hook_without_end"), 1);
}

#[test]
fn a_person_is_a_gate_only_where_a_person_answered() {
    let ask = |log: Log, id: &str, prompt: &str, answer: &str| {
        let request = format!(r#"{{"requestId":"{id}","permissionRequest":{{"kind":"shell","toolCallId":"t1"}}{prompt}}}"#);
        let log = log.add("permission.requested", &request);
        log.add("permission.completed", &format!(r#"{{"requestId":"{id}","toolCallId":"t1","result":{{"kind":"{answer}"}}}}"#))
    };
    let prompt = r#","promptRequest":{"kind":"commands"}"#;
    let mut log = Log::new().tool("t1");
    for (id, prompt, answer) in [
        ("p1", prompt, "approved"),
        ("p2", prompt, "approved-for-session"),
        ("p3", "", "denied-by-rules"),
        ("p4", "", "denied-no-approval-rule-and-could-not-request-from-user"),
        ("p5", prompt, "denied-interactively-by-user"),
        ("p6", r#","resolvedByHook":true"#, "approved"),
        ("p7", prompt, "something-new"),
    ] {
        log = ask(log, id, prompt, answer);
    }
    let facts = log.done("t1", r#""success":false,"error":{"message":"denied","code":"denied"}"#).facts();
    let seen: Vec<_> = facts.gate_runs.iter().map(|g| (g.gate_id.as_str(), g.verdict, g.stopped_work.unwrap())).collect();
    assert_eq!(
        seen,
        [
            ("permission:user", Verdict::Pass, false),
            ("permission:user", Verdict::Pass, false),
            ("permission:rule", Verdict::Fail, true),
            ("permission:user", Verdict::CouldNotRun, true),
            ("permission:user", Verdict::Fail, true),
            ("permissionRequest:hook", Verdict::Pass, false),
        ]
    );
    assert_eq!(warned(&facts, "unknown_permission_answer"), 1);
    assert_eq!((facts.findings.len(), facts.decisions.len()), (2, 1));
    assert_eq!(facts.tool_calls[0].denied_by.as_deref(), Some("user"));
    assert!(facts.gate_runs.iter().all(|g| g.duration_ms == Some(1_000)));
}

#[test]
fn an_approval_at_once_without_a_prompt_was_a_rule() {
    let line = |kind: &str, data: &str, at: &str| {
        format!(r#"{{"type":"{kind}","data":{data},"id":"e-{kind}","timestamp":"2026-08-01T10:00:{at}Z"}}"#)
    };
    let text = [
        Log::new().0[0].clone(),
        line("permission.requested", r#"{"requestId":"p","permissionRequest":{"kind":"read"}}"#, "05.000"),
        line("permission.completed", r#"{"requestId":"p","result":{"kind":"approved"}}"#, "05.004"),
    ];
    let (facts, _) = read_bytes(text.join("\n").as_bytes());
    assert_eq!((facts.gate_runs[0].gate_id.as_str(), facts.gate_runs[0].duration_ms), ("permission:rule", Some(4)));
}

#[test]
fn a_sub_agent_is_a_context_of_its_parent_and_a_reviewer_one_gate_run() {
    let spawn = r#"{"toolCallId":"T9","toolName":"task","arguments":{"agent_type":"car","name":"x-review-r1","description":"Review x","prompt":"You are a reviewer."}}"#;
    let facts = Log::new()
        .add("tool.execution_start", spawn)
        .by(Some("T9"), "subagent.started", r#"{"toolCallId":"T9","agentName":"car","model":"big"}"#)
        .by(Some("T9"), "assistant.message", r#"{"apiCallId":"s1","model":"big","outputTokens":40,"content":"VERDICT: **REJECT**"}"#)
        .done("T9", r#""success":true"#)
        .by(Some("T9"), "subagent.completed", r#"{"toolCallId":"T9","agentName":"car","totalTokens":900,"durationMs":2500}"#)
        .facts();
    let (main, sub) = (&facts.contexts[0], &facts.contexts[1]);
    assert_eq!(sub.parent_context_id.as_ref(), Some(&main.context_id));
    assert_eq!((sub.role.as_deref(), sub.agent_name.as_deref(), sub.producer_total_tokens), (Some("reviewer"), Some("car"), Some(900)));
    let run = &facts.gate_runs[0];
    assert_eq!((run.gate_id.as_str(), run.verdict, run.raw_verdict.as_deref()), ("agent:car", Verdict::Fail, Some("REJECT")));
    assert_eq!((run.output_tokens, run.duration_ms, run.stopped_work), (Some(40), Some(2_500), None));
    assert_eq!(facts.findings[0].fingerprint, "agent:car/reviewer");
    assert_eq!(facts.model_call_copies[0].context_id, sub.context_id);
}

#[test]
fn older_sub_agents_are_known_by_the_parent_tool_call_and_unlinked_ones_have_no_parent() {
    let facts = Log::new()
        .add("assistant.message", r#"{"apiCallId":"s1","parentToolCallId":"T7","outputTokens":1}"#)
        .by(Some("gone"), "assistant.message", r#"{"apiCallId":"s2","outputTokens":1}"#)
        .facts();
    assert_eq!(facts.contexts.len(), 3);
    assert!(facts.contexts.iter().all(|c| c.parent_context_id.is_none()));
}

#[test]
fn exit_status_comes_from_the_structured_part_else_from_the_closing_line() {
    let facts = Log::new()
        .tool("t1")
        .done("t1", r#""success":true,"result":{"content":"x\n<shellId: 0 completed with exit code 3>"}"#)
        .tool("t2")
        .done("t2", r#""success":true,"result":{"content":"no","contents":[{"type":"text"},{"type":"shell_exit","exitCode":101}]}"#)
        .tool("t3")
        .done("t3", r#""success":true,"result":{"content":"exit code 9 is bad"}"#)
        .facts();
    assert_eq!(facts.tool_calls.iter().map(|t| t.exit_status).collect::<Vec<_>>(), [Some(3), Some(101), None]);
    let tool = &facts.tool_calls[0];
    assert_eq!((tool.command_name.as_deref(), tool.duration_ms, tool.result_bytes), (Some("cargo"), Some(1_000), Some(41)));
}

#[test]
fn tools_without_end_or_start_and_requests_never_run_are_kept_once_each() {
    let request = |id: &str| {
        format!(r#"{{"apiCallId":"c-{id}","outputTokens":1,"toolRequests":[{{"toolCallId":"{id}","name":"view","arguments":{{}}}}]}}"#)
    };
    let facts = Log::new()
        .add("assistant.message", &request("never"))
        .tool("running")
        .add("assistant.message", &request("running"))
        .done("unseen", r#""success":false"#)
        .facts();
    let seen: Vec<_> = facts.tool_calls.iter().map(|t| (t.name.as_str(), t.ended_at.is_some(), t.call_id.is_some())).collect();
    assert_eq!(seen, [("unknown", true, false), ("view", false, true), ("bash", false, true)]);
    assert_eq!((warned(&facts, "tool_without_end"), warned(&facts, "tool_without_start")), (2, 1));
}

#[test]
fn arguments_have_one_hash_as_object_and_as_text_of_an_object() {
    let facts = Log::new()
        .add("tool.execution_start", r#"{"toolCallId":"a","toolName":"bash","arguments":{"command":"ls"}}"#)
        .add("tool.execution_start", r#"{"toolCallId":"b","toolName":"bash","arguments":"{\"command\":\"ls\"}"}"#)
        .facts();
    assert_eq!(facts.tool_calls[0].args_hash, facts.tool_calls[1].args_hash);
    assert_eq!(facts.tool_calls[1].command_name.as_deref(), Some("ls"));
}

#[test]
fn a_spent_budget_is_infrastructure_and_a_persons_abort_stays_unclassified() {
    let facts = Log::new()
        .add("abort", r#"{"reason":"autopilot_credit_limit"}"#)
        .add("abort", r#"{"reason":"user_initiated"}"#)
        .add("session.error", r#"{"errorType":"rate_limit","errorCode":"weekly"}"#)
        .add("session.error", r#"{"errorType":"query","message":"secret"}"#)
        .add("session.permissions_changed", r#"{"mode":"allow-all","previousMode":"manual"}"#)
        .facts();
    let seen: Vec<_> = facts.gate_runs.iter().map(|g| (g.gate_id.as_str(), g.verdict, g.about)).collect();
    assert_eq!(
        seen,
        [
            ("limit:autopilot-credits", Verdict::Fail, About::Infrastructure),
            ("abort:user", Verdict::Inconclusive, About::Product),
            ("limit:rate_limit", Verdict::Fail, About::Infrastructure),
        ]
    );
    assert_eq!(facts.guard_events[0].detail.as_deref(), Some("manual to allow-all"));
    assert!(!format!("{facts:?}").contains("secret"));
}

#[test]
fn raw_newlines_line_separators_stubs_and_trailing_nuls_cost_nothing() {
    // T-33, T-34, T-35, T-36
    let log = Log::new()
        .call("a", 1)
        .add("user.message", "{\"content\":\"one\ntwo\"}")
        .add("assistant.message", "{\"apiCallId\":\"b\",\"outputTokens\":2,\"content\":\"x\u{2028}y\u{2029}z\"}")
        .call("c", 4);
    let mut lines = log.0.clone();
    let stub = lines[4].clone();
    lines[4] = format!("{}{}", &stub[..stub.len() / 2], stub);
    let mut bytes = (lines.join("\n") + "\n").into_bytes();
    bytes.extend([0u8; 1728]);
    let (facts, summary) = read_bytes(&bytes);
    let output: Vec<_> = facts.model_call_copies.iter().filter_map(|c| c.output_tokens).collect();
    assert_eq!(output, [1, 2, 4]);
    assert_eq!(summary.quarantined, 1, "the stub alone");
}

#[test]
fn a_cut_line_is_skipped_and_unknown_events_are_counted() {
    // T-53, T-53b
    let log = Log::new().call("a", 1).call("b", 2).add("system.notification", "{}").add("future.thing", "{}").call("c", 4);
    let mut lines = log.0.clone();
    let cut = lines[2].len() / 2;
    lines[2].truncate(cut);
    let (facts, summary) = read_bytes((lines.join("\n") + "\n").as_bytes());
    assert_eq!(facts.model_call_copies.iter().filter_map(|c| c.output_tokens).sum::<i64>(), 5);
    assert_eq!((summary.records, summary.quarantined, warned(&facts, "unknown_type")), (6, 1, 1));
}

#[test]
fn fields_of_other_types_are_unknown_and_cost_neither_record_nor_panic() {
    let facts = Log::new()
        .add("assistant.message", r#"{"apiCallId":5,"messageId":"m-x","outputTokens":"12","model":[],"toolRequests":"no","content":{}}"#)
        .add("assistant.message", r#"{"apiCallId":"neg-1","outputTokens":-4}"#)
        .add("session.resume", r#"{"context":"trimmed"}"#)
        .add("session.shutdown", r#"{"modelMetrics":{"m":{"requests":2,"usage":{"inputTokens":"x","outputTokens":12.0}},"n":"no"}}"#)
        .add("session.shutdown", r#"{"modelMetrics":[]}"#)
        .add("hook.start", r#"{"hookType":7,"input":[]}"#)
        .add("hook.end", r#"{"hookType":7,"success":"yes"}"#)
        .facts();
    assert_eq!(facts.model_call_copies.iter().map(|c| c.output_tokens).collect::<Vec<_>>(), [Some(12), None]);
    assert_eq!(totals(&facts)[0].n_requests, Some(2));
    assert_eq!((totals(&facts)[0].input_tokens, totals(&facts)[0].output_tokens), (None, Some(12)));
    assert_eq!((warned(&facts, "negative_counter"), warned(&facts, "unreadable_model_metrics")), (1, 1));
}

#[test]
fn two_sessions_in_one_file_are_two_runs() {
    let facts = Log::new().call("a", 1).add("session.start", r#"{"sessionId":"S-2"}"#).call("b", 2).facts();
    let keys: Vec<&str> = facts.contexts.iter().map(|c| c.native_run_key.as_str()).collect();
    assert_eq!(keys, ["session:S-1", "session:S-2"]);
    assert_eq!(warned(&facts, "several_sessions"), 1);
}

#[test]
fn ids_do_not_depend_on_the_path_and_nothing_of_the_text_is_kept() {
    let log = Log::new()
        .add(
            "assistant.message",
            r#"{"text":"top secret plan","toolRequests":[{"toolCallId":"t1","name":"bash","arguments":{"command":"echo hush"}}]}"#,
        )
        .tool("t1")
        .done("t1", r#""success":true,"result":{"content":"classified"}"#);
    let (a, b) = (log.facts(), log.facts());
    let ids = |f: &Facts| {
        let calls = f.model_call_copies.iter().map(|c| c.call_id.clone());
        calls
            .chain(f.tool_calls.iter().map(|t| t.tool_call_id.clone()))
            .chain(f.contexts.iter().map(|c| c.context_id.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&a), ids(&b));
    let shown = format!("{a:?}");
    for secret in ["secret", "hush", "classified", "/home/ann"] {
        assert!(!shown.contains(secret), "{secret}");
    }
}

#[test]
fn the_format_is_told_by_its_events_and_not_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let claimed = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let input = Input::new(&path).unwrap();
        claim(&input, &head_of(&input).unwrap()).map(|s| s.format())
    };
    assert_eq!(claimed("a.jsonl", &Log::new().0[0]), Some("copilot-cli"));
    assert_eq!(claimed("b.jsonl", &Log::new().call("a", 1).0[1]), Some("copilot-cli"));
    assert_eq!(claimed("events.jsonl", r#"{"type":"user","message":{},"timestamp":"x"}"#), None);
    assert_eq!(claimed("c.jsonl", r#"{"type":"assistant","message":{"content":[]}}"#), None);
    assert_eq!(claimed("d.jsonl", r#"{"type":"session.error"}"#), None);
    assert_eq!(claimed("e.txt", "hello"), None);
    assert_eq!(claimed("f.jsonl", ""), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        read_bytes(&bytes);
    }

    #[test]
    fn any_mix_and_order_of_events_is_read_without_panic_and_counted(picks in proptest::collection::vec((0usize..30, 0usize..4), 0..60)) {
        let kinds = [
            "session.start", "session.resume", "session.shutdown", "session.usage_checkpoint", "session.compaction_complete", "assistant.message",
            "tool.execution_start", "tool.execution_complete", "hook.start", "hook.end", "permission.requested", "permission.completed",
            "subagent.started", "subagent.completed", "subagent.failed", "abort", "session.error", "session.task_complete", "odd",
        ];
        let data = [
            r#"{"toolCallId":"a","hookInvocationId":"h","hookType":"preToolUse","input":{"toolCalls":[{"id":"a"}]},"requestId":"p","apiCallId":"c","outputTokens":5}"#,
            r#"{"toolCallId":"a","success":false,"error":{"code":"denied","message":"Denied by preToolUse hook (hook errored)"},"hookInvocationId":"h","requestId":"p","result":{"kind":"approved"},"outputTokens":9223372036854775807}"#,
            r#"{"modelMetrics":{"m":{"usage":{"inputTokens":9223372036854775807,"outputTokens":3,"cacheReadTokens":9223372036854775807}}},"totalNanoAiu":9223372036854775807,"compactionTokensUsed":{"outputTokens":9223372036854775807},"outcome":"blocked"}"#,
            "null",
        ];
        let mut log = Log::new();
        for (kind, which) in &picks {
            log = log.by([None, Some("a")][kind % 2], kinds[kind % kinds.len()], data[*which]);
        }
        let (_, summary) = log.read();
        prop_assert_eq!(summary.records as usize, picks.len() + 1);
    }
}
