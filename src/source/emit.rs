//! Owns `Facts` and `Emitter`: where a source puts the rows of one file, and what the file has earned by them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::lenient::NAME_CAP;
use crate::model::decisions::{Commit, Decision, GuardEvent, Unit};
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::gates::{Gate, Rule};
use crate::model::replay_results::ReplayResult;
use crate::model::sessions::{Context, ModelCallCopy, ToolCall};
use crate::model::sources::{Quarantined, Warning};
use crate::model::traces::TraceSpan;
use crate::model::usage_totals::UsageTotal;
use crate::model::vocabulary::{FingerprintBasis, Quality};

/// Rows of one file, one vector a fact table.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Facts {
    pub quarantine: Vec<Quarantined>,
    pub warnings: Vec<Warning>,
    pub gates: Vec<Gate>,
    pub rules: Vec<Rule>,
    pub units: Vec<Unit>,
    pub contexts: Vec<Context>,
    pub model_call_copies: Vec<ModelCallCopy>,
    pub usage_totals: Vec<UsageTotal>,
    pub tool_calls: Vec<ToolCall>,
    pub gate_runs: Vec<GateRun>,
    pub findings: Vec<Finding>,
    pub decisions: Vec<Decision>,
    pub guard_events: Vec<GuardEvent>,
    pub commits: Vec<Commit>,
    pub trace_spans: Vec<TraceSpan>,
    pub replay_results: Vec<ReplayResult>,
}

impl Facts {
    /// Rows held, all tables together.
    pub fn len(&self) -> usize {
        self.quarantine.len()
            + self.warnings.len()
            + self.gates.len()
            + self.rules.len()
            + self.units.len()
            + self.contexts.len()
            + self.model_call_copies.len()
            + self.usage_totals.len()
            + self.tool_calls.len()
            + self.gate_runs.len()
            + self.findings.len()
            + self.decisions.len()
            + self.guard_events.len()
            + self.commits.len()
            + self.trace_spans.len()
            + self.replay_results.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Takes rows off an emitter when it holds many, so that a file of any size is read in bounded memory.
pub trait Sink {
    /// Moves every row out of `facts`.
    fn take(&mut self, facts: &mut Facts) -> anyhow::Result<()>;

    /// What was taken so far stays as it is, whatever the file grows by; `state` is from where a later reading may go on. Rows that
    /// are taken from now on may come out otherwise then.
    fn settled(&mut self, _state: Vec<u8>) {}
}

/// Keeps everything: for tests and for callers that want one file's facts.
#[derive(Debug, Default)]
pub struct Collect(pub Facts);

impl Sink for Collect {
    fn take(&mut self, facts: &mut Facts) -> anyhow::Result<()> {
        let into = &mut self.0;
        into.quarantine.append(&mut facts.quarantine);
        into.warnings.append(&mut facts.warnings);
        into.gates.append(&mut facts.gates);
        into.rules.append(&mut facts.rules);
        into.units.append(&mut facts.units);
        into.contexts.append(&mut facts.contexts);
        into.model_call_copies.append(&mut facts.model_call_copies);
        into.usage_totals.append(&mut facts.usage_totals);
        into.tool_calls.append(&mut facts.tool_calls);
        into.gate_runs.append(&mut facts.gate_runs);
        into.findings.append(&mut facts.findings);
        into.decisions.append(&mut facts.decisions);
        into.guard_events.append(&mut facts.guard_events);
        into.commits.append(&mut facts.commits);
        into.trace_spans.append(&mut facts.trace_spans);
        into.replay_results.append(&mut facts.replay_results);
        Ok(())
    }
}

/// What reading one file came to.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Summary {
    /// Input records seen; blank lines apart.
    pub records: i64,
    pub quarantined: i64,
    pub warnings: i64,
    /// Offset up to which complete records were read.
    pub read_to: i64,
    /// Earned from the rows that were delivered.
    pub capabilities: BTreeSet<&'static str>,
    /// Where the reading went on from an earlier one. `None`: it read the whole file.
    pub went_on: Option<WentOn>,
}

/// What an earlier reading had told of a file when a later one went on. Its counts stand in the summary too.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct WentOn {
    pub offset: i64,
    pub records: i64,
    pub quarantined: i64,
    pub warnings: i64,
}

/// What an emitter holds beside rows: put by with the state of its reader.
#[derive(Debug, Serialize, Deserialize)]
pub struct Tally {
    records: i64,
    quarantined: i64,
    n_warnings: i64,
    capabilities: Vec<String>,
    /// Kind, detail, first line, count.
    warnings: Vec<(String, Option<String>, Option<i64>, i64)>,
}

/// Rows held before they are handed to the sink.
const FLUSH_ROWS: usize = 4_096;

/// Collects the rows of one file.
pub struct Emitter<'s> {
    pub source_id: String,
    pub facts: Facts,
    pub summary: Summary,
    warnings: BTreeMap<(String, Option<String>), (Option<i64>, i64)>,
    sink: &'s mut dyn Sink,
    /// State of an earlier reading, for a reader that can go on from it.
    pub earlier: Option<&'s [u8]>,
}

impl<'s> Emitter<'s> {
    pub fn new(source_id: String, sink: &'s mut dyn Sink) -> Self {
        Emitter { source_id, facts: Facts::default(), summary: Summary::default(), warnings: BTreeMap::new(), sink, earlier: None }
    }

    /// Goes on with what an earlier reading had counted up to `offset`. `None`, and nothing changed: the tally names a capability
    /// that there is none of.
    pub fn go_on(&mut self, tally: Tally, offset: i64) -> Option<()> {
        let known = |name: &String| CAPABILITIES.iter().copied().find(|c| c == name);
        let capabilities = tally.capabilities.iter().map(known).collect::<Option<_>>()?;
        let Tally { records, quarantined, n_warnings: warnings, .. } = tally;
        let went_on = Some(WentOn { offset, records, quarantined, warnings });
        self.summary = Summary { records, quarantined, warnings, read_to: offset, capabilities, went_on };
        self.warnings = tally.warnings.into_iter().map(|(kind, detail, line, count)| ((kind, detail), (line, count))).collect();
        Some(())
    }

    /// Hands on the rows so far as settled; `state` puts the reader's state beside the tally.
    pub fn settle(&mut self, state: impl FnOnce(Tally) -> Option<Vec<u8>>) -> anyhow::Result<()> {
        self.flush()?;
        let tally = Tally {
            records: self.summary.records,
            quarantined: self.summary.quarantined,
            n_warnings: self.summary.warnings,
            capabilities: self.summary.capabilities.iter().map(|c| (*c).to_owned()).collect(),
            warnings: self.warnings.iter().map(|((kind, detail), (line, count))| (kind.clone(), detail.clone(), *line, *count)).collect(),
        };
        if let Some(state) = state(tally) {
            self.sink.settled(state);
        }
        Ok(())
    }

    /// Records one input record that becomes no row.
    pub fn quarantine(&mut self, source_line: i64, byte_offset: i64, bytes: usize, reason: &str, detail: Option<String>) {
        self.summary.quarantined += 1;
        self.facts.quarantine.push(Quarantined {
            source_id: self.source_id.clone(),
            source_line,
            byte_offset,
            bytes: bytes as i64,
            reason: reason.to_owned(),
            detail,
        });
    }

    /// Counts one oddity; rows are written at the end, one a kind and detail, with the first line.
    pub fn warn(&mut self, kind: &str, source_line: Option<i64>, detail: Option<&str>) {
        self.summary.warnings += 1;
        // A hostile file may name any number of different details: past a bound they share one row.
        let detail = if self.warnings.len() < 1_000 { detail.map(|d| d.chars().take(NAME_CAP).collect()) } else { None };
        self.warnings.entry((kind.to_owned(), detail)).or_insert((source_line, 0)).1 += 1;
    }

    /// Hands rows on when there are many. Call it between records.
    pub fn flush_if_full(&mut self) -> anyhow::Result<()> {
        if self.facts.len() >= FLUSH_ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        earn(&self.facts, &mut self.summary.capabilities);
        self.sink.take(&mut self.facts)
    }

    /// Writes the warnings, hands on what is left, and returns the summary.
    pub fn finish(mut self) -> anyhow::Result<Summary> {
        for ((kind, detail), (source_line, count)) in std::mem::take(&mut self.warnings) {
            self.facts.warnings.push(Warning { source_id: self.source_id.clone(), source_line, kind, detail, count });
        }
        self.flush()?;
        Ok(self.summary)
    }
}

/// Every capability there is.
const CAPABILITIES: [&str; 20] = [
    "model_calls",
    "tokens",
    "output_tokens",
    "usage_totals",
    "tool_calls",
    "durations",
    "exit_status",
    "contexts",
    "subagents",
    "gate_runs",
    "verdicts",
    "gate_costs",
    "findings",
    "finding_identity",
    "severities",
    "units",
    "decisions",
    "declared_gates",
    "commits",
    "economics",
];

/// A capability is set from what stands in the rows, never from what a format could deliver.
fn earn(facts: &Facts, earned: &mut BTreeSet<&'static str>) {
    let mut set = |name: &'static str, seen: bool| {
        debug_assert!(CAPABILITIES.contains(&name), "{name} is not listed");
        if seen {
            earned.insert(name);
        }
    };
    set("model_calls", !facts.model_call_copies.is_empty());
    set("tokens", facts.model_call_copies.iter().any(|c| c.input_tokens.is_some() && c.input_quality != Quality::Unknown));
    set("output_tokens", facts.model_call_copies.iter().any(|c| matches!(c.output_quality, Quality::Exact | Quality::Likely)));
    set("usage_totals", !facts.usage_totals.is_empty());
    set("tool_calls", !facts.tool_calls.is_empty());
    set("durations", facts.tool_calls.iter().any(|t| t.duration_ms.is_some()));
    set("exit_status", facts.tool_calls.iter().any(|t| t.exit_status.is_some()));
    set("contexts", !facts.contexts.is_empty());
    set("subagents", facts.contexts.iter().any(|c| c.parent_context_id.is_some()));
    set("gate_runs", !facts.gate_runs.is_empty());
    set("verdicts", facts.gate_runs.iter().any(|g| g.verdict.counts()));
    set("gate_costs", facts.gate_runs.iter().any(|g| g.duration_ms.is_some() || g.output_tokens.is_some()));
    set("findings", !facts.findings.is_empty());
    set("finding_identity", facts.findings.iter().any(|f| f.fingerprint_basis != FingerprintBasis::GateStage));
    set("severities", facts.findings.iter().any(|f| f.severity.is_some()));
    set("units", !facts.units.is_empty());
    set("decisions", !facts.decisions.is_empty());
    set("declared_gates", facts.gates.iter().any(|g| g.declared_in.is_some()));
    set("commits", !facts.commits.is_empty());
    set("replay_results", !facts.replay_results.is_empty());
    set("economics", facts.trace_spans.iter().any(|s| s.econ_wall_clock_ms.is_some() || s.econ_subagent_tokens.is_some()));
}
