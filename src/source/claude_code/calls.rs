//! Owns the API calls: one call is one message id, however many lines repeat it; which counters are final follows the rule below.

use serde::{Deserialize, Serialize};

use super::contexts::Window;
use super::ids;
use super::line::{Message, Usage};
use crate::model::sessions::ModelCallCopy;
use crate::model::time::Ts;
use crate::model::vocabulary::{CallKind, Quality};
use crate::source::emit::Emitter;
use crate::source::lenient::name;
use crate::source::scan::{Scan, items};

/// Model name of lines that the program wrote itself: no call was made.
pub const SYNTHETIC: &str = "<synthetic>";

/// A call whose lines are being read.
#[derive(Serialize, Deserialize)]
pub struct OpenCall {
    pub message_id: String,
    row: ModelCallCopy,
    /// Rows of its advisor and fallback requests.
    parts: Vec<ModelCallCopy>,
    first_output: Option<i64>,
    grew: bool,
    has_usage: bool,
    has_split: bool,
    chars: i64,
}

/// Where a line stands.
pub struct At<'a> {
    pub line: i64,
    pub ts: Option<Ts>,
    /// Version of the program, as `2.1.30`.
    pub version: Option<&'a str>,
}

/// Takes an assistant message into the window's open call; another message id closes it.
pub fn take(
    window: &mut Window,
    message: &Message<'_>,
    fallback_id: impl FnOnce() -> String,
    at: &At<'_>,
    out: &mut Emitter<'_>,
) -> Option<String> {
    if message.model.is_some_and(|m| m.is(SYNTHETIC)) {
        return None;
    }
    let message_id = message.id.filter(|i| !i.is_empty()).map_or_else(fallback_id, |i| i.text().into_owned());
    if window.open.as_ref().is_none_or(|open| open.message_id != message_id) {
        if let Some(open) = window.open.take() {
            open.finish(out);
        }
        let call = OpenCall::new(message_id.clone(), window, message, at, out);
        window.open = Some(call);
    }
    let call_id = window.open.as_ref().map(|o| o.row.call_id.clone());
    if let Some(open) = &mut window.open {
        open.line(message, at, out);
    }
    call_id
}

impl OpenCall {
    fn new(message_id: String, window: &mut Window, message: &Message<'_>, at: &At<'_>, out: &Emitter<'_>) -> OpenCall {
        let model = message.model.map(|m| name(&m.text()));
        if let Some(model) = &model {
            window.count_model(model);
        }
        let row = ModelCallCopy {
            call_id: ids::call_id(&message_id),
            call_kind: CallKind::Message,
            context_id: window.row.context_id.clone(),
            session: Some(window.session.clone()),
            ended_at: at.ts,
            duration_ms: None,
            model,
            input_tokens: None,
            cache_read_tokens: None,
            cache_write_5m_tokens: None,
            cache_write_1h_tokens: None,
            output_tokens: None,
            reasoning_tokens: None,
            input_quality: Quality::Unknown,
            cache_read_quality: Quality::Unknown,
            cache_write_quality: Quality::Unknown,
            output_quality: Quality::Unknown,
            output_chars: None,
            stop_reason: None,
            source_id: out.source_id.clone(),
            source_line: at.line,
        };
        let mut call =
            OpenCall { message_id, row, parts: Vec::new(), first_output: None, grew: false, has_usage: false, has_split: false, chars: 0 };
        call.started(window.last_ts);
        call
    }

    /// The record before the call is the best known start of it.
    fn started(&mut self, before: Option<Ts>) {
        self.row.duration_ms = match (before, self.row.ended_at) {
            (Some(before), Some(end)) => Some(end.millis_since(before).max(0)),
            _ => None,
        };
    }

    fn line(&mut self, message: &Message<'_>, at: &At<'_>, out: &mut Emitter<'_>) {
        // Blocks after the first lengthen the call. Times may run backwards: they never shorten it.
        if let (Some(ts), Some(end)) = (at.ts, self.row.ended_at)
            && ts > end
        {
            self.row.duration_ms = self.row.duration_ms.map(|d| d.saturating_add(ts.millis_since(end)));
            self.row.ended_at = Some(ts);
        }
        self.row.ended_at = self.row.ended_at.or(at.ts);
        self.row.source_line = at.line;
        if let Some(reason) = message.stop_reason {
            self.row.stop_reason = Some(name(&reason.text()));
        }
        for block in &message.blocks {
            self.chars += match (block.text, block.input) {
                (Some(text), _) => text.chars() as i64,
                (None, Some(input)) => input.len() as i64,
                _ => 0,
            };
        }
        if let Some(usage) = &message.usage {
            self.usage(usage, at, out);
        }
    }

    /// The copy with the greatest output stays, the later one of equals.
    fn usage(&mut self, usage: &Usage<'_>, at: &At<'_>, out: &mut Emitter<'_>) {
        if usage.is_odd {
            out.warn("odd_counter", Some(at.line), Some("usage"));
        }
        self.has_usage = true;
        self.grew |= self.first_output.is_some() && usage.output.is_some() && usage.output != self.first_output;
        self.first_output = self.first_output.or(usage.output);
        if usage.output < self.row.output_tokens {
            return;
        }
        let iterations = usage.iterations.map(iterations).unwrap_or_default();
        let messages: Vec<&Iteration<'_>> = iterations.iter().filter(|i| i.kind == Kind::Message).collect();
        let has_fallback = iterations.iter().any(|i| i.kind == Kind::Fallback);
        let mut split = Split::of(usage);
        if messages.len() > 1 && !has_fallback {
            // The top level splits only the first request's cache writes; the requests add up to its totals.
            let sum = messages.iter().map(|i| Split::of(&i.usage)).fold(Split { five: 0, hour: 0, is_stated: true }, Split::add);
            if usage.cache_write.is_none_or(|total| total == sum.five + sum.hour) {
                split = sum;
            }
        }
        let row = &mut self.row;
        row.input_tokens = usage.input;
        row.output_tokens = usage.output;
        row.cache_read_tokens = usage.cache_read;
        let written = usage.cache_write.is_some() || split.is_stated;
        row.cache_write_5m_tokens = written.then_some(split.five);
        row.cache_write_1h_tokens = written.then_some(split.hour);
        row.reasoning_tokens = usage.thinking;
        row.input_quality = known(usage.input, Quality::Exact);
        row.cache_read_quality = known(usage.cache_read, Quality::Exact);
        self.has_split = split.is_stated;
        // Versions before 2.1.152 could write 0 where the cache was written; without a split the 5-minute price is a guess.
        let doubtful = usage.cache_write == Some(0) && at.version.is_none_or(|v| older_than(v, [2, 1, 152]));
        let guessed = !split.is_stated && split.five > 0;
        if guessed {
            out.warn("cache_split_unknown", Some(at.line), None);
        }
        row.cache_write_quality = known(row.cache_write_5m_tokens, if doubtful || guessed { Quality::Likely } else { Quality::Exact });
        self.parts = self.other_requests(&iterations, has_fallback);
    }

    /// Requests that the top level leaves out: advisors, and what was refused before a fallback.
    fn other_requests(&self, iterations: &[Iteration<'_>], has_fallback: bool) -> Vec<ModelCallCopy> {
        let mut rows = Vec::new();
        let (mut advisors, mut refused) = (0, 0);
        for iteration in iterations {
            let (kind, suffix) = match iteration.kind {
                Kind::Advisor => {
                    advisors += 1;
                    (CallKind::Advisor, format!("#adv{}", advisors - 1))
                }
                Kind::Message if has_fallback => {
                    refused += 1;
                    (CallKind::Fallback, format!("#refused{}", refused - 1))
                }
                _ => continue,
            };
            let split = Split::of(&iteration.usage);
            let written = iteration.usage.cache_write.is_some() || split.is_stated;
            rows.push(ModelCallCopy {
                call_id: ids::call_id(&format!("{}{suffix}", self.message_id)),
                call_kind: kind,
                duration_ms: None,
                // The top level names the model that answered, not the one that advised or refused.
                model: iteration.model.clone(),
                input_tokens: iteration.usage.input,
                cache_read_tokens: iteration.usage.cache_read,
                cache_write_5m_tokens: written.then_some(split.five),
                cache_write_1h_tokens: written.then_some(split.hour),
                output_tokens: iteration.usage.output,
                reasoning_tokens: None,
                input_quality: known(iteration.usage.input, Quality::Exact),
                cache_read_quality: known(iteration.usage.cache_read, Quality::Exact),
                cache_write_quality: known(written.then_some(0), Quality::Exact),
                output_quality: known(iteration.usage.output, Quality::Exact),
                output_chars: None,
                stop_reason: None,
                ..self.row.clone()
            });
        }
        rows
    }

    /// Writes the call. Output is final where a stop reason is set, likely where it grew over the lines; a flat value without
    /// stop reason is a placeholder written at the start of the stream: a lower bound.
    pub fn finish(mut self, out: &mut Emitter<'_>) {
        let quality = match (&self.row.stop_reason, self.grew) {
            (Some(_), _) => Quality::Exact,
            (None, true) => Quality::Likely,
            (None, false) => Quality::LowerBound,
        };
        self.row.output_quality = known(self.row.output_tokens, quality);
        self.row.output_chars = Some(self.chars);
        if !self.has_usage {
            out.warn("call_without_usage", Some(self.row.source_line), None);
        }
        for mut part in self.parts {
            part.ended_at = self.row.ended_at;
            part.source_line = self.row.source_line;
            out.facts.model_call_copies.push(part);
        }
        out.facts.model_call_copies.push(self.row);
    }
}

fn known(counter: Option<i64>, quality: Quality) -> Quality {
    if counter.is_some() { quality } else { Quality::Unknown }
}

/// Cache writes by time to live.
#[derive(Debug, Clone, Copy)]
struct Split {
    five: i64,
    hour: i64,
    is_stated: bool,
}

impl Split {
    /// What the split leaves of the total counts as 5-minute writes, the cheaper kind.
    fn of(usage: &Usage<'_>) -> Split {
        let (five, hour) = (usage.write_5m.unwrap_or(0), usage.write_1h.unwrap_or(0));
        let rest = usage.cache_write.unwrap_or(0).saturating_sub(five.saturating_add(hour)).max(0);
        let is_stated = (usage.write_5m.is_some() || usage.write_1h.is_some()) && rest == 0;
        Split { five: five.saturating_add(rest), hour, is_stated }
    }

    fn add(self, other: Split) -> Split {
        Split {
            five: self.five.saturating_add(other.five),
            hour: self.hour.saturating_add(other.hour),
            is_stated: self.is_stated && other.is_stated,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Advisor,
    Fallback,
    Other,
}

struct Iteration<'a> {
    kind: Kind,
    model: Option<String>,
    usage: Usage<'a>,
}

/// Requests inside one call, at most 256.
fn iterations(array: &[u8]) -> Vec<Iteration<'_>> {
    items(array)
        .into_iter()
        .take(256)
        .filter_map(|item| {
            let raw = item.container()?;
            let usage = Usage::scan(&mut Scan::new(raw)).ok()??;
            let [kind, model] = crate::source::scan::fields(raw, ["type", "model"]);
            let kind = kind.and_then(|k| k.str()).map_or(Kind::Other, |k| match k.raw {
                b"message" => Kind::Message,
                b"advisor_message" => Kind::Advisor,
                b"fallback_message" => Kind::Fallback,
                _ => Kind::Other,
            });
            Some(Iteration { kind, model: model.and_then(|m| m.str()).map(|m| name(&m.text())), usage })
        })
        .collect()
}

/// Whether a version such as `2.1.30` is below another; unreadable ones are not.
fn older_than(version: &str, bound: [u32; 3]) -> bool {
    let mut parts = version.split(['.', '-', '+']).map(|p| p.parse::<u32>().ok());
    let mut next = || parts.next().flatten();
    match (next(), next(), next()) {
        (Some(major), Some(minor), Some(patch)) => [major, minor, patch] < bound,
        _ => false,
    }
}
