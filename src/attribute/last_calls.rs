//! Owns the output of a sub-agent's last call where its own log holds only a placeholder: its parent's result states the total of
//! that one call.

use std::collections::{HashMap, HashSet};

use crate::model::derived::ModelCall;
use crate::model::sessions::{Context, ToolCall};
use crate::model::vocabulary::{CallKind, Quality, TokenBasis};

/// Completes calls in place. The stated total is the sum of the four counters of the last call, so it less input and cache is the
/// output. It is taken only where it is sure which call it speaks of: the sub-agent's own lines are in the lake (else calls may be
/// missing behind the last one known), and the last call asked for no tool, as only the last one does. The larger of both outputs
/// stays, as `likely`.
pub fn complete(calls: &mut [ModelCall], contexts: &[Context], tool_calls: &[ToolCall]) {
    let stated: HashMap<&str, i64> = contexts
        .iter()
        .filter(|c| c.token_basis == Some(TokenBasis::LastCallOnly) && c.n_compactions.is_some())
        .filter_map(|c| Some((c.context_id.as_str(), c.producer_total_tokens?)))
        .collect();
    if stated.is_empty() {
        return;
    }
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (at, call) in calls.iter().enumerate() {
        if call.call_kind == CallKind::Message && stated.contains_key(call.context_id.as_str()) {
            let latest = last.entry(&call.context_id).or_insert(at);
            if calls.get(*latest).is_some_and(|other| place(call) > place(other)) {
                *latest = at;
            }
        }
    }
    let asked_for_tools: HashSet<&str> = tool_calls.iter().filter_map(|t| t.call_id.as_deref()).collect();
    let outputs: Vec<(usize, i64)> = last
        .into_iter()
        .filter_map(|(context, at)| {
            let call = calls.get(at).filter(|c| !asked_for_tools.contains(c.call_id.as_str()))?;
            let output = stated.get(context)?.checked_sub(input_of(call)?)?;
            let is_open = matches!(call.output_quality, Quality::LowerBound | Quality::Likely);
            (is_open && Some(output) > call.output_tokens).then_some((at, output))
        })
        .collect();
    for (at, output) in outputs {
        if let Some(call) = calls.get_mut(at) {
            (call.output_tokens, call.output_quality) = (Some(output), Quality::Likely);
        }
    }
}

/// Where a call stands among those of its context.
fn place(call: &ModelCall) -> (Option<crate::model::time::Ts>, i64, &str) {
    (call.ended_at, call.source_line, &call.call_id)
}

/// Input and cache together. `None` where a counter is unknown.
fn input_of(call: &ModelCall) -> Option<i64> {
    let parts = [call.input_tokens?, call.cache_read_tokens?, call.cache_write_5m_tokens?, call.cache_write_1h_tokens?];
    parts.into_iter().try_fold(0i64, |sum, part| sum.checked_add(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time::Ts;

    fn call(id: &str, end: i64, output: i64, quality: Quality) -> ModelCall {
        ModelCall {
            call_id: id.into(),
            run_id: None,
            call_kind: CallKind::Message,
            context_id: "sub".into(),
            ended_at: Some(Ts(end)),
            duration_ms: None,
            model: None,
            input_tokens: Some(10),
            cache_read_tokens: Some(700),
            cache_write_5m_tokens: Some(0),
            cache_write_1h_tokens: Some(90),
            output_tokens: Some(output),
            reasoning_tokens: None,
            input_quality: Quality::Exact,
            cache_read_quality: Quality::Exact,
            cache_write_quality: Quality::Exact,
            output_quality: quality,
            stop_reason: None,
            n_copies: 1,
            source_id: "own".into(),
            source_line: end,
        }
    }

    fn context(total: i64) -> Context {
        Context {
            context_id: "sub".into(),
            parent_context_id: Some("main".into()),
            native_run_key: "session:x".into(),
            role: None,
            role_basis: None,
            agent_name: None,
            model: None,
            started_at: None,
            ended_at: None,
            token_basis: Some(TokenBasis::LastCallOnly),
            producer_total_tokens: Some(total),
            tool_version: None,
            cwd: None,
            git_branch: None,
            repo: None,
            n_compactions: Some(0),
            source_id: "parent".into(),
            source_line: 1,
        }
    }

    fn tool_call(call_id: &str) -> ToolCall {
        ToolCall {
            tool_call_id: "t".into(),
            context_id: "sub".into(),
            call_id: Some(call_id.into()),
            name: "Read".into(),
            started_at: None,
            ended_at: None,
            duration_ms: None,
            success: None,
            exit_status: None,
            denied_by: None,
            args_hash: None,
            command_name: None,
            writes: None,
            paths_hash: None,
            result_bytes: None,
            result_tokens_est: None,
            source_id: "own".into(),
            source_line: 1,
        }
    }

    /// Output and quality of each call, in the order of the calls.
    fn completed(mut calls: Vec<ModelCall>, context: Context, tools: &[ToolCall]) -> Vec<(Option<i64>, Quality)> {
        complete(&mut calls, &[context], tools);
        calls.into_iter().map(|c| (c.output_tokens, c.output_quality)).collect()
    }

    #[test]
    fn the_last_call_alone_gets_what_the_total_leaves_beside_input_and_cache() {
        let calls = vec![call("b", 20, 1, Quality::LowerBound), call("a", 10, 1, Quality::LowerBound)];
        let told = completed(calls, context(1_100), &[tool_call("a")]);
        assert_eq!(told, [(Some(300), Quality::Likely), (Some(1), Quality::LowerBound)]);
    }

    #[test]
    fn the_larger_output_stays_and_a_final_one_always_does() {
        let grown = completed(vec![call("a", 10, 310, Quality::Likely)], context(1_100), &[]);
        assert_eq!(grown, [(Some(310), Quality::Likely)]);
        let done = completed(vec![call("a", 10, 5, Quality::Exact)], context(1_100), &[]);
        assert_eq!(done, [(Some(5), Quality::Exact)]);
    }

    #[test]
    fn a_total_that_may_speak_of_another_call_changes_nothing() {
        let open = || vec![call("a", 10, 1, Quality::LowerBound)];
        let kept = [(Some(1), Quality::LowerBound)];
        assert_eq!(completed(open(), context(1_100), &[tool_call("a")]), kept, "a call for a tool is followed by another");
        assert_eq!(completed(open(), Context { n_compactions: None, ..context(1_100) }, &[]), kept, "its own lines are not here");
        let cumulative = Context { token_basis: Some(TokenBasis::ProducerTotal), ..context(1_100) };
        assert_eq!(completed(open(), cumulative, &[]), kept);
        let unknown = vec![ModelCall { cache_read_tokens: None, ..call("a", 10, 1, Quality::LowerBound) }];
        assert_eq!(completed(unknown, context(1_100), &[]), kept, "what is not output is not known");
        assert_eq!(completed(open(), context(500), &[]), kept, "a smaller total is of another call");
    }
}
