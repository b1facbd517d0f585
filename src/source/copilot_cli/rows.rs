//! Owns the rows that several kinds of event share: a gate run with nothing claimed, its finding, the gate it belongs to.

use crate::model::decisions::GuardEvent;
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::gates::Gate;
use crate::model::id::stable_id;
use crate::model::vocabulary::{About, ExposureBasis, FingerprintBasis, GateKind, Mode, Purpose, Verdict, VerdictBasis};
use crate::source::emit::Emitter;

use super::FORMAT;
use super::reader::{At, Session};

/// A gate run of which only place and time are known.
pub fn blank_run(gate_id: &str, gate_run_id: String, session: &mut Session, at: At<'_>, out: &Emitter<'_>) -> GateRun {
    GateRun {
        gate_run_id,
        about: About::Product,
        gate_id: gate_id.to_owned(),
        rule_id: None,
        native_run_key: session.run_key.clone(),
        unit: None,
        context_id: Some(session.context_id(at.agent)),
        tool_call_id: None,
        seq: session.next_seq(),
        round: None,
        attempt: None,
        started_at: at.ts,
        ended_at: at.ts,
        duration_ms: None,
        observed_at: None,
        observed_via: None,
        verdict: Verdict::NotEvaluated,
        raw_verdict: None,
        verdict_basis: VerdictBasis::None,
        stopped_work: None,
        enforcement: None,
        exit_status: None,
        substance: None,
        scope: None,
        head_sha: None,
        phase: None,
        subject: None,
        evidence: None,
        detector_id: None,
        exposure_basis: ExposureBasis::Recorded,
        reconstructed: false,
        resolves: None,
        injected_tokens_est: None,
        input_tokens: None,
        cache_read_tokens: None,
        cache_write_tokens: None,
        output_tokens: None,
        source_id: out.source_id.clone(),
        source_line: at.line,
    }
}

/// The one finding of a gate run, said at `at`.
pub fn finding(run: &GateRun, fingerprint: String, basis: FingerprintBasis, at: At<'_>, out: &mut Emitter<'_>) {
    out.facts.findings.push(Finding {
        finding_id: stable_id(&["finding", &run.gate_run_id, &fingerprint]),
        gate_run_id: run.gate_run_id.clone(),
        gate_id: run.gate_id.clone(),
        rule_id: run.rule_id.clone(),
        unit: None,
        observed_at: at.ts,
        severity: None,
        raw_severity: None,
        failure_mode: None,
        failure_class: None,
        about: run.about,
        fingerprint,
        fingerprint_basis: basis,
        repeat_of: None,
        baseline_state: None,
        location: None,
        actionable: None,
        count: None,
        source_id: run.source_id.clone(),
        source_line: at.line,
    });
}

/// What is known of a gate from its kind.
pub struct GateShape {
    pub purpose: Purpose,
    pub kind: GateKind,
    pub mode: Option<Mode>,
    /// Whether the log shows passes too.
    pub pass_recorded: Option<bool>,
    pub identity: Option<String>,
}

impl Session {
    /// Names a gate once a file, at its first run.
    pub fn gate(&mut self, gate_id: &str, line: i64, shape: GateShape, out: &mut Emitter<'_>) {
        if !self.gates_seen.insert(gate_id.to_owned()) {
            return;
        }
        out.facts.gates.push(Gate {
            gate_id: gate_id.to_owned(),
            harness: Some(FORMAT.to_owned()),
            purpose: shape.purpose,
            kind: Some(shape.kind),
            mode: shape.mode,
            gate_order: None,
            irreversible: None,
            pinned: None,
            pass_recorded: shape.pass_recorded,
            covers: None,
            aliases: None,
            declared_in: None,
            identity: shape.identity,
            source_id: out.source_id.clone(),
            source_line: line,
        });
    }

    /// One report of a guard on itself.
    pub fn guard_event(&self, gate_id: &str, event: &str, detail: Option<String>, at: At<'_>, out: &mut Emitter<'_>) {
        out.facts.guard_events.push(GuardEvent {
            guard_event_id: stable_id(&[FORMAT, "guard", &self.id, event, at.event]),
            native_run_key: Some(self.run_key.clone()),
            gate_id: gate_id.to_owned(),
            event: event.to_owned(),
            detail,
            at: at.ts,
            source_id: out.source_id.clone(),
            source_line: at.line,
        });
    }
}
