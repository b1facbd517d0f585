//! Owns the reading of a lifecycle trace: one pass over its lines, each span to its row, its gate runs and its decisions.

use super::composite::{self, Before};
use super::decisions;
use super::declare::Shown;
use super::ids::Ids;
use super::review::Reviews;
use super::rows::{Judged, Seen};
use super::single;
use super::span::Span;
use crate::config::profile::Profile;
use crate::model::id::digest;
use crate::model::traces::TraceSpan;
use crate::source::emit::Emitter;
use crate::source::salvage::{Record, read_records};
use crate::source::{Input, Probe, Source, open};

/// Gate runs held so that they can be numbered in file order; past it they are numbered as they come.
const HELD_GATE_RUNS: usize = 8_192;

const SPANS: &[&str] = &["agent", "model", "tool", "lifecycle"];
const STEPS: &[&str] = &[
    "preflight",
    "worktree_create",
    "plan_handback",
    "feature_start",
    "red_handback",
    "impl_handback",
    "green_handback",
    "review_verdict",
    "review_gate_approve",
    "pr_create",
    "pr_merge",
    "finish",
    "deviation",
];
const OUTCOMES: &[&str] = &["pass", "fail", "warn", "blocked"];

/// `trace.jsonl` of an issue.
pub struct LifecycleTrace;

impl Source for LifecycleTrace {
    fn format(&self) -> &'static str {
        super::FORMAT
    }

    fn version(&self) -> u32 {
        1
    }

    fn state(&self, _input: &Input) -> Option<String> {
        super::profile_digest()
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        super::is_named(probe, "trace.jsonl", &['.', '-', '_']) && probe.holds("\"span\"") && probe.holds("\"harness.")
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let profile = super::profile()?;
        let mut trace = Trace::new(profile);
        read_records(open::open(input)?, out, is_span, |record, out| trace.line(record, out))?;
        trace.end(out);
        Ok(())
    }
}

/// Whether an object found behind a broken prefix is a span.
fn is_span(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Span<'_>>(bytes).is_ok_and(|span| span.raw("span").is_some())
}

struct Trace<'p> {
    profile: &'p Profile,
    /// First 8 digits of the digest of the first span, which every delivery of the file carries in its key.
    mark: Option<String>,
    /// Issue of the first span that names one.
    issue: Option<String>,
    first_line: i64,
    ids: Ids,
    before: Before,
    reviews: Reviews,
    shown: Shown,
    held: Vec<Judged>,
    seq: i64,
}

impl<'p> Trace<'p> {
    fn new(profile: &'p Profile) -> Self {
        Trace {
            profile,
            mark: None,
            issue: None,
            first_line: 0,
            ids: Ids::default(),
            before: Before::default(),
            reviews: Reviews::default(),
            shown: Shown::default(),
            held: Vec::new(),
            seq: 0,
        }
    }

    fn line(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> serde_json::Result<()> {
        let span: Span<'_> = serde_json::from_slice(record.bytes)?;
        if span.has("schema_version") && span.integer("schema_version") != Some(1) {
            out.quarantine(record.line, record.offset, record.size, "unknown_version", span.name("schema_version"));
            return Ok(());
        }
        let Some(kind) = span.name("span") else {
            out.quarantine(record.line, record.offset, record.size, "schema", Some("no span type".to_owned()));
            return Ok(());
        };
        warn_of(&span, &kind, record.line, out);
        let run_key = self.run_key(&span, record);
        let given = self.ids.give(&run_key, span.name("span_id").as_deref(), record.bytes, record.line);
        if let Some(odd) = given.odd {
            out.warn(odd, Some(record.line), None);
        }
        let source_id = out.source_id.clone();
        let seen = Seen { span: &span, source_id: &source_id, line: record.line, run_key: &run_key, row_id: &given.id };
        out.facts.trace_spans.push(row(&seen, kind));
        out.facts.decisions.extend(decisions::decision(self.profile, &seen));
        out.facts.guard_events.extend(decisions::guard_event(&seen));
        self.judge(&seen, out);
        Ok(())
    }

    /// The delivery the span belongs to. A span without issue belongs to that of the file.
    fn run_key(&mut self, span: &Span<'_>, record: &Record<'_>) -> String {
        if self.mark.is_none() {
            self.first_line = record.line;
        }
        let mark = self.mark.get_or_insert_with(|| digest(record.bytes).chars().take(8).collect());
        let own = span.integer("harness.issue").map(|n| n.to_string()).or_else(|| span.name("harness.issue"));
        let issue = match own {
            Some(issue) => {
                self.issue.get_or_insert_with(|| issue.clone());
                issue
            }
            None => self.issue.clone().unwrap_or_else(|| "unknown".to_owned()),
        };
        format!("issue:{issue}@{mark}")
    }

    fn judge(&mut self, seen: &Seen<'_>, out: &mut Emitter<'_>) {
        let span = seen.span;
        let Some(name) = span.step() else { return };
        if span.raw("span") == Some("model") {
            return;
        }
        if span.raw("span") == Some("tool") && decisions::is_release(self.profile, &name) {
            if let Some(rule) = self.profile.rule_released_by(&name) {
                self.before.released.insert(rule.id.clone(), seen.row_id.to_owned());
            }
        } else if let Some(step) = self.profile.step(&name) {
            let (judged, odd) = composite::judge(self.profile, step, seen, &mut self.before);
            for what in odd {
                out.warn(what, Some(seen.line), span.name("harness.stage").as_deref());
            }
            self.held.extend(judged);
        } else if let Some(rule) = self.profile.rule_of_span(&name) {
            if name == "review_verdict" {
                if self.reviews.add(self.profile, rule, seen) {
                    out.warn("aggregate_finding", Some(seen.line), None);
                }
                if self.reviews.is_full() {
                    out.warn("state_capped", Some(seen.line), Some("review events"));
                    self.close_reviews(out);
                }
            } else {
                self.held.push(single::judge(self.profile, rule, &name, seen, &mut self.before));
            }
        }
        if self.held.len() >= HELD_GATE_RUNS {
            out.warn("state_capped", Some(seen.line), Some("gate run order"));
            self.number(out);
        }
    }

    fn close_reviews(&mut self, out: &mut Emitter<'_>) {
        let closed = self.reviews.close();
        for _ in 0..closed.ambiguous {
            out.warn("ambiguous_review_event", None, None);
        }
        self.held.extend(closed.judged);
    }

    /// Hands the held gate runs on in file order.
    fn number(&mut self, out: &mut Emitter<'_>) {
        let mut held = std::mem::take(&mut self.held);
        held.sort_by_key(|judged| judged.run.source_line);
        for mut judged in held {
            judged.run.seq = self.seq;
            self.seq += 1;
            self.shown.add(self.profile, &judged);
            out.facts.gate_runs.push(judged.run);
            out.facts.findings.extend(judged.findings);
        }
    }

    fn end(mut self, out: &mut Emitter<'_>) {
        self.close_reviews(out);
        self.number(out);
        if self.mark.is_some() {
            self.shown.declare(self.profile, self.first_line, out);
        }
    }
}

/// Names what is odd about a span that is read all the same.
fn warn_of(span: &Span<'_>, kind: &str, line: i64, out: &mut Emitter<'_>) {
    for key in &span.unknown {
        out.warn("unknown_key", Some(line), Some(key));
    }
    for key in &span.nested {
        out.warn("nested_value", Some(line), Some(key));
    }
    for key in ["schema_version", "timestamp", "harness.issue", "harness.version"] {
        if !span.has(key) {
            out.warn("missing_key", Some(line), Some(key));
        }
    }
    if span.has("timestamp") && span.written_at().is_none() {
        out.warn("bad_timestamp", Some(line), None);
    }
    if !SPANS.contains(&kind) {
        out.warn("unknown_span", Some(line), Some(kind));
    }
    if let Some(step) = span.name("harness.lifecycle_step").filter(|s| !STEPS.contains(&s.as_str())) {
        out.warn("unknown_step", Some(line), Some(&step));
    }
    if let Some(outcome) = span.name("harness.outcome").filter(|o| !OUTCOMES.contains(&o.as_str())) {
        out.warn("unknown_outcome", Some(line), Some(&outcome));
    }
}

fn row(seen: &Seen<'_>, kind: String) -> TraceSpan {
    let span = seen.span;
    TraceSpan {
        span_row_id: seen.row_id.to_owned(),
        native_run_key: seen.run_key.to_owned(),
        span: kind,
        step: span.step(),
        stage: span.name("harness.stage"),
        agent_name: span.name("gen_ai.agent.name"),
        unit: span.unit(),
        outcome: span.name("harness.outcome"),
        task: span.integer("harness.issue").map(|n| n.to_string()).or_else(|| span.name("harness.issue")),
        harness_version: span.name("harness.version"),
        harness_commit: span.name("harness.commit"),
        branch: span.name("harness.branch"),
        repo: span.raw("harness.worktree").and_then(repo_of_worktree),
        pr_number: span.name("harness.pr_number"),
        merge_sha: span.name("harness.merge_sha"),
        model: span.name("gen_ai.request.model"),
        session: span.name("harness.session_id"),
        reconstructed: span.reconstructed(),
        ended_at: span.ended_at(),
        duration_ms: span.count("harness.duration_ms"),
        input_tokens: span.count("gen_ai.usage.input_tokens"),
        output_tokens: span.count("gen_ai.usage.output_tokens"),
        econ_wall_clock_ms: span.count("harness.economics.wall_clock_ms"),
        econ_active_ms: span.count("harness.economics.active_ms"),
        econ_review_rounds: span.count("harness.economics.review_rounds"),
        econ_subagent_tokens: span.count("harness.economics.native_subagent_tokens"),
        econ_subagent_count: span.count("harness.economics.native_subagent_count"),
        source_id: seen.source_id.to_owned(),
        source_line: seen.line,
    }
}

/// Name of the folder that holds `.worktrees`; the path itself is private.
fn repo_of_worktree(path: &str) -> Option<String> {
    let (main, _) = path.split_once("/.worktrees/")?;
    let name = crate::source::hook_identity::clean_name(main.rsplit('/').next()?);
    (!name.is_empty()).then_some(name)
}
