//! Owns `Viewed`: the facts as their views show them, which is all that attribution may look at.

use std::collections::HashMap;

use crate::lake::{LakeError, Snapshot};
use crate::model::decisions::{Commit, Decision, Unit};
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::gates::{Gate, Rule};
use crate::model::sessions::{Context, ModelCallCopy, ToolCall};
use crate::model::sources::Source;
use crate::model::traces::TraceSpan;

/// One row an id, in a fixed order; copies of model calls are all here.
#[derive(Debug, Default, Clone)]
pub struct Viewed {
    pub sources: Vec<Source>,
    pub gates: Vec<Gate>,
    pub rules: Vec<Rule>,
    pub units: Vec<Unit>,
    pub contexts: Vec<Context>,
    pub model_call_copies: Vec<ModelCallCopy>,
    pub tool_calls: Vec<ToolCall>,
    pub gate_runs: Vec<GateRun>,
    pub findings: Vec<Finding>,
    pub decisions: Vec<Decision>,
    pub commits: Vec<Commit>,
    pub trace_spans: Vec<TraceSpan>,
}

impl Viewed {
    pub fn load(snapshot: &Snapshot) -> Result<Viewed, LakeError> {
        Ok(Viewed {
            sources: snapshot.read_view()?,
            gates: snapshot.read_view()?,
            rules: snapshot.read_view()?,
            units: snapshot.read_view()?,
            contexts: snapshot.read_view()?,
            model_call_copies: snapshot.read_view()?,
            tool_calls: snapshot.read_view()?,
            gate_runs: snapshot.read_view()?,
            findings: snapshot.read_view()?,
            decisions: snapshot.read_view()?,
            commits: snapshot.read_view()?,
            trace_spans: snapshot.read_view()?,
        })
    }

    /// Paths of the sources by id.
    pub fn paths(&self) -> HashMap<&str, &str> {
        self.sources.iter().map(|s| (s.source_id.as_str(), s.path.as_str())).collect()
    }
}
