//! Owns the cumulative counters of a session: each reading becomes the difference to the one before it.
//!
//! Shutdowns count the whole session in some versions and their own leg in others, and a compaction resets them in some. No
//! version number tells; the output tokens of the calls do: they are in the log one by one, so the sum that a reading agrees with
//! says what it counts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::model::id::stable_id;
use crate::model::usage_totals::UsageTotal;
use crate::model::vocabulary::{Quality, UsageTotalKind};
use crate::source::emit::Emitter;
use crate::source::lenient::name;

use super::FORMAT;
use super::events::{self, Checkpoint, Details, Shutdown, decimal, nested};
use super::reader::{At, Session};

/// Models of one shutdown that are read; a hostile file may name any number.
const MAX_MODELS: usize = 256;

/// What a checkpoint says was spent so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Spent {
    nano_aiu: Option<i64>,
    #[serde(with = "bits")]
    premium_requests: Option<f64>,
}

impl Spent {
    const NOTHING: Spent = Spent { nano_aiu: Some(0), premium_requests: Some(0.0) };

    fn fell_from(&self, then: &Spent) -> bool {
        self.nano_aiu.zip(then.nano_aiu).is_some_and(|(now, then)| now < then)
            || self.premium_requests.zip(then.premium_requests).is_some_and(|(now, then)| now < then)
    }
}

/// A float is put by with its bits: the text of it may come back as its neighbour.
mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        value.map(f64::to_bits).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        Ok(Option::deserialize(from)?.map(f64::from_bits))
    }
}

/// Counters of one model at one reading. Input is fresh.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Counters {
    requests: Option<i64>,
    #[serde(with = "bits")]
    cost: Option<f64>,
    input: Option<i64>,
    cache_read: Option<i64>,
    cache_write: Option<i64>,
    output: Option<i64>,
    reasoning: Option<i64>,
    nano_aiu: Option<i64>,
}

impl Counters {
    fn of(metric: &events::ModelMetric<'_>, session: Option<Details>) -> Counters {
        let usage = nested::<events::Usage>(metric.usage).unwrap_or_default();
        let requests = nested::<events::Requests<'_>>(metric.requests);
        // One version writes the bare count.
        let count =
            requests.as_ref().and_then(|r| r.count.count()).or_else(|| nested::<crate::source::lenient::Num>(metric.requests)?.count());
        let details = match (metric.token_details, session) {
            (Some(_), _) => Details::of(metric.token_details),
            (None, Some(session)) => session,
            (None, None) => Details::default(),
        };
        let cache_read = usage.cache_read_tokens.count().or(details.cache_read);
        let cache_write = usage.cache_write_tokens.count().or(details.cache_write);
        // The vendor's input includes both cache counters.
        let fresh = || {
            let rest = usage.input_tokens.count()?.checked_sub(cache_read.unwrap_or(0))?.checked_sub(cache_write.unwrap_or(0))?;
            (rest >= 0).then_some(rest)
        };
        Counters {
            requests: count,
            cost: requests.and_then(|r| decimal(r.cost)),
            input: details.input.or_else(fresh),
            cache_read,
            cache_write,
            output: usage.output_tokens.count().or(details.output),
            reasoning: usage.reasoning_tokens.count(),
            nano_aiu: metric.total_nano_aiu.count(),
        }
    }

    /// Whether no counter fell since `earlier`.
    fn grew_from(&self, earlier: &Counters) -> bool {
        let grew = |now: Option<i64>, then: Option<i64>| now.zip(then).is_none_or(|(now, then)| now >= then);
        grew(self.requests, earlier.requests)
            && grew(self.input, earlier.input)
            && grew(self.cache_read, earlier.cache_read)
            && grew(self.cache_write, earlier.cache_write)
            && grew(self.output, earlier.output)
            && grew(self.reasoning, earlier.reasoning)
            && grew(self.nano_aiu, earlier.nano_aiu)
            && self.cost.zip(earlier.cost).is_none_or(|(now, then)| now >= then)
    }

    fn since(&self, earlier: &Counters) -> Counters {
        // A counter that appears only now has counted from an unknown point: its growth is unknown.
        let less = |now: Option<i64>, then: Option<i64>| now.zip(then).and_then(|(now, then)| now.checked_sub(then));
        Counters {
            requests: less(self.requests, earlier.requests),
            cost: self.cost.zip(earlier.cost).map(|(now, then)| six_digits(now - then)),
            input: less(self.input, earlier.input),
            cache_read: less(self.cache_read, earlier.cache_read),
            cache_write: less(self.cache_write, earlier.cache_write),
            output: less(self.output, earlier.output),
            reasoning: less(self.reasoning, earlier.reasoning),
            nano_aiu: less(self.nano_aiu, earlier.nano_aiu),
        }
    }
}

/// Differences of decimals carry noise below the vendor's two digits.
fn six_digits(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Output tokens of the calls since some point; compactions apart, because not every version counts them.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
struct Output {
    calls: i64,
    compactions: i64,
}

impl Output {
    fn add(&mut self, calls: i64, compactions: i64) {
        self.calls = self.calls.saturating_add(calls);
        self.compactions = self.compactions.saturating_add(compactions);
    }

    fn distance(&self, reading: i64) -> i64 {
        let to = |sum: i64| reading.saturating_sub(sum).saturating_abs();
        to(self.calls).min(to(self.calls.saturating_add(self.compactions)))
    }
}

/// What a reading counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Session,
    Leg,
    SinceCompaction,
}

/// The readings so far.
#[derive(Default, Serialize, Deserialize)]
pub struct Totals {
    all: Output,
    leg: Output,
    /// Since the last compaction of this leg. `None`: none in it.
    compacted: Option<Output>,
    earlier: BTreeMap<String, Counters>,
    /// API time of the reading before, all models together.
    api_ms: Option<i64>,
    leg_number: i64,
    epoch: i64,
    checkpoint: Option<Spent>,
    checkpoint_epoch: i64,
    /// Whether tokens were spent since the last shutdown.
    unread_since: bool,
    any_call: bool,
}

impl Totals {
    pub fn add_output(&mut self, tokens: i64) {
        self.all.add(tokens, 0);
        self.leg.add(tokens, 0);
        if let Some(compacted) = &mut self.compacted {
            compacted.add(tokens, 0);
        }
        (self.unread_since, self.any_call) = (true, true);
    }

    pub fn add_compaction(&mut self, tokens: i64) {
        self.all.add(0, tokens);
        self.leg.add(0, tokens);
        self.compacted = Some(Output::default());
        self.unread_since = true;
    }

    /// A new leg begins.
    pub fn resumed(&mut self) {
        self.leg = Output::default();
        self.compacted = None;
    }

    /// What the reading counts: the sum of calls it is nearest to; `None` where the calls cannot tell.
    fn span(&self, output: Option<i64>) -> Option<(Span, bool)> {
        let output = output.filter(|_| self.any_call)?;
        let mut nearest = (Span::Session, self.all.distance(output));
        let mut consider = |span, distance| {
            if distance < nearest.1 {
                nearest = (span, distance);
            }
        };
        consider(Span::Leg, self.leg.distance(output));
        if let Some(compacted) = self.compacted {
            consider(Span::SinceCompaction, compacted.distance(output));
        }
        Some((nearest.0, nearest.1 == 0))
    }

    /// Says what no reading covers.
    pub fn close(&self, out: &mut Emitter<'_>) {
        if self.unread_since {
            // A crash, `/new` or a session still running: input and cache of these calls are unknown, not zero.
            out.warn("usage_without_shutdown", None, None);
        }
    }
}

impl Session {
    pub fn shutdown(&mut self, shutdown: &Shutdown<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        self.flush_calls(out);
        let metrics = nested::<BTreeMap<Cow<'_, str>, &RawValue>>(shutdown.model_metrics).unwrap_or_default();
        let single = metrics.len() == 1;
        let session_details = (single && shutdown.token_details.is_some()).then(|| Details::of(shutdown.token_details));
        let mut readings: BTreeMap<String, Counters> = BTreeMap::new();
        for (model, raw) in metrics.iter().take(MAX_MODELS) {
            let Some(metric) = nested::<events::ModelMetric<'_>>(Some(raw)) else {
                out.warn("unreadable_model_metrics", Some(at.line), None);
                continue;
            };
            let mut counters = Counters::of(&metric, session_details);
            if single {
                counters.nano_aiu = counters.nano_aiu.or(shutdown.total_nano_aiu.count());
                counters.cost = counters.cost.or_else(|| decimal(shutdown.total_premium_requests));
            }
            if counters.input.is_none() && metric.usage.is_some() {
                out.warn("inconsistent_counters", Some(at.line), Some(&name(model)));
            }
            readings.insert(name(model), counters);
        }
        if metrics.len() > MAX_MODELS {
            out.warn("too_many_models", Some(at.line), None);
        }
        let totals = &mut self.totals;
        let output = readings.values().map(|c| c.output).try_fold(0i64, |sum, o| sum.checked_add(o?)).filter(|_| !readings.is_empty());
        let span = totals.span(output);
        let first = totals.earlier.is_empty();
        let fell = readings.iter().any(|(model, now)| totals.earlier.get(model).is_some_and(|then| !now.grew_from(then)));
        let anew = match span {
            Some((Span::Session, _)) => fell,
            Some((Span::Leg, _)) => !first && totals.leg_number > 0,
            Some((Span::SinceCompaction, _)) => !first,
            None => fell,
        };
        if anew && !first {
            totals.epoch += 1;
            totals.earlier.clear();
            totals.api_ms = None;
        }
        if fell && matches!(span, Some((Span::Session, _))) {
            out.warn("counter_fell", Some(at.line), None);
        }
        let quality = match span {
            Some((Span::SinceCompaction, _)) => Quality::LowerBound,
            Some((_, true)) if first && self.started => Quality::Exact,
            _ => Quality::Likely,
        };
        let (leg, epoch) = (totals.leg_number, totals.epoch);
        let api_ms = shutdown.total_api_duration_ms.count();
        let api_grown = api_ms.map(|now| now - totals.api_ms.unwrap_or(0)).filter(|grown| *grown >= 0 && single);
        totals.api_ms = api_ms.or(totals.api_ms);
        let mut rows = Vec::with_capacity(readings.len());
        for (model, now) in &readings {
            let grown = match self.totals.earlier.get(model) {
                Some(then) => now.since(then),
                None => *now,
            };
            rows.push(UsageTotal {
                usage_total_id: stable_id(&[FORMAT, "shutdown", &self.id, at.event, model]),
                context_id: self.context_id(0),
                native_run_key: self.run_key.clone(),
                kind: UsageTotalKind::Shutdown,
                model: Some(model.clone()),
                leg,
                epoch,
                read_at: at.ts,
                n_requests: grown.requests,
                premium_requests: grown.cost,
                input_tokens: grown.input,
                cache_read_tokens: grown.cache_read,
                cache_write_tokens: grown.cache_write,
                output_tokens: grown.output,
                reasoning_tokens: grown.reasoning,
                nano_aiu: grown.nano_aiu,
                api_duration_ms: api_grown,
                quality,
                source_id: out.source_id.clone(),
                source_line: at.line,
            });
        }
        out.facts.usage_totals.append(&mut rows);
        let totals = &mut self.totals;
        totals.earlier.extend(readings);
        totals.leg_number += 1;
        totals.unread_since = false;
        totals.resumed();
    }

    /// A checkpoint holds the cost so far, over all legs.
    pub fn checkpoint(&mut self, checkpoint: &Checkpoint<'_>, at: At<'_>, out: &mut Emitter<'_>) {
        let now = Spent { nano_aiu: checkpoint.total_nano_aiu.count(), premium_requests: decimal(checkpoint.total_premium_requests) };
        if now.nano_aiu.is_none() {
            out.warn("unreadable_checkpoint", Some(at.line), None);
            return;
        }
        let totals = &mut self.totals;
        if totals.checkpoint == Some(now) {
            return;
        }
        let then = totals.checkpoint.replace(now).unwrap_or(Spent::NOTHING);
        let fell = now.fell_from(&then);
        totals.checkpoint_epoch += i64::from(fell);
        let then = if fell { Spent::NOTHING } else { then };
        out.facts.usage_totals.push(UsageTotal {
            usage_total_id: stable_id(&[FORMAT, "checkpoint", &self.id, at.event]),
            context_id: self.context_id(0),
            native_run_key: self.run_key.clone(),
            kind: UsageTotalKind::Checkpoint,
            model: None,
            leg: self.totals.leg_number,
            epoch: self.totals.checkpoint_epoch,
            read_at: at.ts,
            n_requests: None,
            premium_requests: now.premium_requests.zip(then.premium_requests).map(|(n, t)| six_digits(n - t)),
            input_tokens: None,
            cache_read_tokens: None,
            cache_write_tokens: None,
            output_tokens: None,
            reasoning_tokens: None,
            nano_aiu: now.nano_aiu.zip(then.nano_aiu).map(|(n, t)| n - t),
            api_duration_ms: None,
            quality: if self.started { Quality::Exact } else { Quality::Likely },
            source_id: out.source_id.clone(),
            source_line: at.line,
        });
    }
}
