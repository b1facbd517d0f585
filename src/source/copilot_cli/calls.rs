//! Owns model calls: the chunks of one API call are one call, its output counter is the largest that any chunk states, its input
//! counters are in no event and stay unknown. Compactions are calls of their own, with counters of their own.

use serde::{Deserialize, Serialize};

use crate::model::id::stable_id;
use crate::model::sessions::ModelCallCopy;
use crate::model::time::Ts;
use crate::model::vocabulary::{CallKind, Quality, Verdict};
use crate::source::emit::Emitter;
use crate::source::lenient::name;
use crate::source::reviewer;

use super::FORMAT;
use super::events::{self, AssistantMessage, CompactionComplete, nested};
use super::reader::{At, Session};
use super::tools;

/// A call whose last chunk may be still to come.
#[derive(Serialize, Deserialize)]
pub struct OpenCall {
    key: String,
    call_id: String,
    model: Option<String>,
    output: Option<i64>,
    chars: i64,
    /// The record of its context before its first chunk.
    before: Option<Ts>,
    ended: Option<Ts>,
    line: i64,
}

/// A tool that a call asked for and that has not started yet.
#[derive(Serialize, Deserialize)]
pub struct Requested {
    pub call_id: String,
    pub name: Option<String>,
    pub args_hash: Option<String>,
    pub agent: usize,
    pub ts: Option<Ts>,
    pub line: i64,
}

impl Session {
    pub fn message(&mut self, message: &AssistantMessage<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        let api = events::native(&message.api_call_id);
        let (key, call_id) = match api.or(events::native(&message.message_id)) {
            Some(key) => (key.to_owned(), stable_id(&[FORMAT, "call", key])),
            None => (at.event.to_owned(), stable_id(&[FORMAT, "call", &self.run_key, at.event])),
        };
        if self.agents.get(at.agent).is_some_and(|a| a.open_call.as_ref().is_some_and(|open| open.key != key)) {
            self.flush_call(at.agent, out);
        }
        let requests = nested::<Vec<events::ToolRequest<'_>>>(message.tool_requests).unwrap_or_default();
        let content = message.content.as_str().or(message.text.as_str()).unwrap_or("");
        let arguments: usize = requests.iter().filter_map(|r| r.arguments).map(|a| a.get().len()).sum();
        let Some(agent) = self.agents.get_mut(at.agent) else { return };
        let before = agent.last_seen;
        let open = agent.open_call.get_or_insert(OpenCall {
            key,
            call_id,
            model: None,
            output: None,
            chars: 0,
            before,
            ended: None,
            line: at.line,
        });
        open.output = open.output.max(message.output_tokens.count());
        open.model = message.model.as_str().filter(|m| !m.is_empty() && !m.starts_with('[')).map(name).or(open.model.take());
        open.chars = open.chars.saturating_add(content.chars().count() as i64).saturating_add(arguments as i64);
        open.ended = at.ts.or(open.ended);
        open.line = at.line;
        let call_id = open.call_id.clone();
        if agent.is_reviewer()
            && let Some(verdict) = reviewer::verdict_of(content)
        {
            agent.verdict = Some(verdict);
        }
        if message.output_tokens.is_negative() {
            out.warn("negative_counter", Some(at.line), Some("outputTokens"));
        }
        for request in &requests {
            let Some(id) = events::native(&request.tool_call_id) else { continue };
            if self.tools_started.contains(&tools::id_hash(id)) {
                if let Some(open) = self.tools.get_mut(id) {
                    open.call_id.get_or_insert_with(|| call_id.clone());
                }
                continue;
            }
            self.requested.insert(
                id.to_owned(),
                Requested {
                    call_id: call_id.clone(),
                    name: request.name.as_str().map(name),
                    args_hash: tools::args_hash(request.arguments),
                    agent: at.agent,
                    ts: at.ts,
                    line: at.line,
                },
            );
        }
        let last = match (message.chunk_index.count(), message.chunk_count.count()) {
            (Some(index), Some(count)) => index.saturating_add(1) >= count,
            _ => false,
        };
        if last {
            self.flush_call(at.agent, out);
        }
    }

    /// Emits the open calls of every context: before counters are read, and at the end.
    pub fn flush_calls(&mut self, out: &mut Emitter<'_>) {
        for agent in 0..self.agents.len() {
            self.flush_call(agent, out);
        }
    }

    fn flush_call(&mut self, index: usize, out: &mut Emitter<'_>) {
        let Some(agent) = self.agents.get_mut(index) else { return };
        let Some(call) = agent.open_call.take() else { return };
        if let Some(output) = call.output {
            agent.output_tokens = Some(agent.output_tokens.unwrap_or(0).saturating_add(output));
            self.totals.add_output(output);
        }
        agent.n_calls += 1;
        if let Some(model) = &call.model {
            let used = agent.models.entry(model.clone()).or_insert(0);
            *used = used.saturating_add(call.output.unwrap_or(0));
        }
        let duration_ms = call.ended.zip(call.before).map(|(end, start)| end.millis_since(start).max(0));
        out.facts.model_call_copies.push(ModelCallCopy {
            call_id: call.call_id,
            call_kind: CallKind::Message,
            context_id: agent.context_id.clone(),
            session: Some(name(&self.id)),
            ended_at: call.ended,
            duration_ms,
            model: call.model,
            input_tokens: None,
            cache_read_tokens: None,
            cache_write_5m_tokens: None,
            cache_write_1h_tokens: None,
            output_tokens: call.output,
            reasoning_tokens: None,
            input_quality: Quality::Unknown,
            cache_read_quality: Quality::Unknown,
            cache_write_quality: Quality::Unknown,
            output_quality: if call.output.is_some() { Quality::Exact } else { Quality::Unknown },
            output_chars: Some(call.chars),
            stop_reason: None,
            source_id: out.source_id.clone(),
            source_line: call.line,
        });
    }

    /// A compaction is an API call that no message shows. Its cache-write counter is wrongly 0 in some versions, so the token
    /// details of the bill come first; the cache lives five minutes (`cacheTtlSeconds` 300 in checkpoints).
    pub fn compaction(&mut self, compaction: &CompactionComplete<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        if compaction.success.0 != Some(false)
            && let Some(agent) = self.agents.get_mut(at.agent)
        {
            agent.n_compactions += 1;
        }
        self.flush_calls(out);
        let Some(used) = nested::<events::CompactionUsage<'_>>(compaction.compaction_tokens_used) else { return };
        let bill = nested::<events::CopilotUsage<'_>>(used.copilot_usage).unwrap_or_default();
        let bill = events::Details::of(bill.token_details);
        let exact = |billed: Option<i64>| if billed.is_some() { Quality::Exact } else { Quality::Likely };
        let cache_read = bill.cache_read.or(used.cache_read_tokens.count());
        let cache_write = bill.cache_write.or(used.cache_write_tokens.count());
        let output = bill.output.or(used.output_tokens.count());
        let fresh = bill.input.or_else(|| {
            let rest = used.input_tokens.count()?.checked_sub(cache_read.unwrap_or(0))?.checked_sub(cache_write.unwrap_or(0))?;
            (rest >= 0).then_some(rest)
        });
        if fresh.is_none() && output.is_none() && cache_read.is_none() && cache_write.is_none() {
            return;
        }
        let known = |value: Option<i64>, quality: Quality| if value.is_some() { quality } else { Quality::Unknown };
        let native = events::native(&compaction.request_id).unwrap_or(at.event);
        if let Some(output) = output {
            self.totals.add_compaction(output);
        }
        out.facts.model_call_copies.push(ModelCallCopy {
            call_id: stable_id(&[FORMAT, "compaction", native]),
            call_kind: CallKind::Compaction,
            context_id: self.context_id(at.agent),
            session: Some(name(&self.id)),
            ended_at: at.ts,
            duration_ms: used.duration.count(),
            model: used.model.as_str().filter(|m| !m.is_empty()).map(name),
            input_tokens: fresh,
            cache_read_tokens: cache_read,
            cache_write_5m_tokens: cache_write,
            cache_write_1h_tokens: None,
            output_tokens: output,
            reasoning_tokens: None,
            input_quality: known(fresh, exact(bill.input)),
            cache_read_quality: known(cache_read, exact(bill.cache_read)),
            cache_write_quality: known(cache_write, exact(bill.cache_write)),
            output_quality: known(output, Quality::Exact),
            output_chars: None,
            stop_reason: None,
            source_id: out.source_id.clone(),
            source_line: at.line,
        });
    }
}

/// A reviewer's last verdict and its own word for it.
pub type Stated = (Verdict, String);
