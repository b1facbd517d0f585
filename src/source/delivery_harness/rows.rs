//! Owns the making of gate runs and findings from spans: what all of them have in common.

use super::span::Span;
use crate::config::profile::{Profile, RuleProfile};
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::id::stable_id;
use crate::model::vocabulary::{About, ExposureBasis, FingerprintBasis, GateKind, Mode, Verdict, VerdictBasis};

/// One span in its file.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub span: &'a Span<'a>,
    pub source_id: &'a str,
    /// 1-based.
    pub line: i64,
    pub run_key: &'a str,
    /// Id of the span's own row.
    pub row_id: &'a str,
}

/// A gate run with its findings, not yet numbered.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub run: GateRun,
    pub findings: Vec<Finding>,
}

/// What a verdict is about: a rule of the profile, or a stage it does not know.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruled {
    pub gate: String,
    pub rule: Option<String>,
    pub about: About,
    pub mode: Option<Mode>,
    pub kind: Option<GateKind>,
}

impl Ruled {
    pub fn by(profile: &Profile, rule: &RuleProfile) -> Ruled {
        Ruled {
            gate: rule.gate.clone(),
            rule: Some(rule.id.clone()),
            about: rule.about,
            mode: profile.mode_of(rule),
            kind: profile.kind_of(rule),
        }
    }

    /// A stage the profile does not know, or none at all: about the harness itself, since no product check is known there.
    pub fn unknown(profile: &Profile, gate: &str, stage: Option<String>) -> Ruled {
        let known = profile.gate(gate);
        Ruled {
            gate: gate.to_owned(),
            rule: stage,
            about: About::Harness,
            mode: known.and_then(|g| g.mode),
            kind: known.and_then(|g| g.kind),
        }
    }

    /// Identity of a defect of which only gate, rule and perhaps unit are known.
    pub fn fingerprint(&self, unit: Option<&str>) -> String {
        [Some(self.gate.as_str()), self.rule.as_deref(), unit].into_iter().flatten().collect::<Vec<_>>().join("/")
    }
}

/// What a span says of its own outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub verdict: Verdict,
    pub raw: Option<String>,
    pub basis: VerdictBasis,
}

/// Reads a span's outcome. `blocked` means that the judge could not do its work; an exit status that names a signal, a timeout or a
/// missing program is no verdict, whatever the word beside it.
pub fn outcome(span: &Span<'_>) -> Outcome {
    let raw = span.name("harness.outcome");
    let status = span.integer("harness.exit_status");
    let by_status = match status {
        Some(129..=192) => Some(Verdict::Crashed),
        Some(124) => Some(Verdict::TimedOut),
        Some(126 | 127) => Some(Verdict::CouldNotRun),
        _ => None,
    };
    let (verdict, basis) = match (raw.as_deref(), by_status) {
        (Some("fail"), Some(verdict)) => (verdict, VerdictBasis::ExitStatus),
        (Some("pass"), _) => (Verdict::Pass, VerdictBasis::Structured),
        (Some("fail"), None) => (Verdict::Fail, VerdictBasis::Structured),
        (Some("warn"), _) => (Verdict::Warn, VerdictBasis::Structured),
        (Some("blocked"), _) => (Verdict::CouldNotRun, VerdictBasis::Structured),
        (Some(_), _) => (Verdict::Inconclusive, VerdictBasis::None),
        (None, Some(verdict)) => (verdict, VerdictBasis::ExitStatus),
        (None, None) => match status {
            Some(0) => (Verdict::Pass, VerdictBasis::ExitStatus),
            Some(_) => (Verdict::Fail, VerdictBasis::ExitStatus),
            None => (Verdict::Inconclusive, VerdictBasis::None),
        },
    };
    Outcome { verdict, raw, basis }
}

/// A gate run that ended with its span. Times of the whole span are set by [`owns_span`] where the span is its own.
pub fn gate_run(seen: &Seen<'_>, ruled: &Ruled, verdict: Verdict) -> GateRun {
    let span = seen.span;
    let ended_at = span.ended_at();
    let external = ruled.kind == Some(GateKind::External);
    GateRun {
        gate_run_id: stable_id(&[super::FORMAT, "gate_run", seen.row_id, ruled.rule.as_deref().unwrap_or("")]),
        about: ruled.about,
        gate_id: ruled.gate.clone(),
        rule_id: ruled.rule.clone(),
        native_run_key: seen.run_key.to_owned(),
        unit: span.unit(),
        context_id: None,
        tool_call_id: None,
        seq: 0,
        round: None,
        attempt: None,
        started_at: None,
        ended_at,
        duration_ms: None,
        // The harness waits for the result of a check that ran elsewhere; its own refusal or passage is the gate run's time.
        observed_at: if external { ended_at } else { None },
        observed_via: external.then(|| "ci".to_owned()),
        verdict,
        raw_verdict: None,
        verdict_basis: VerdictBasis::Structured,
        stopped_work: None,
        enforcement: ruled.mode,
        exit_status: None,
        substance: None,
        scope: None,
        head_sha: None,
        phase: None,
        subject: span.name("harness.pr_number").map(|n| format!("pr:{n}")),
        resolves: None,
        evidence: None,
        detector_id: None,
        exposure_basis: ExposureBasis::Recorded,
        reconstructed: span.reconstructed(),
        injected_tokens_est: None,
        input_tokens: None,
        cache_read_tokens: None,
        cache_write_tokens: None,
        output_tokens: None,
        source_id: seen.source_id.to_owned(),
        source_line: seen.line,
    }
}

/// Gives the gate run its span's duration, exit status and own words.
pub fn owns_span(run: &mut GateRun, span: &Span<'_>, outcome: &Outcome) {
    run.started_at = span.started_at();
    run.duration_ms = span.count("harness.duration_ms");
    run.exit_status = span.integer("harness.exit_status");
    run.raw_verdict = outcome.raw.clone();
    run.verdict_basis = outcome.basis;
}

/// Whether the script went on behind the gate: it says so only where a pass let it, or a blocking failure did not.
pub fn stopped_work(verdict: Verdict, mode: Option<Mode>) -> Option<bool> {
    match verdict {
        Verdict::Pass | Verdict::Warn | Verdict::Waived | Verdict::Skipped | Verdict::Vacuous => Some(false),
        Verdict::Fail | Verdict::Crashed | Verdict::TimedOut | Verdict::CouldNotRun if mode == Some(Mode::Block) => Some(true),
        _ => None,
    }
}

/// The one finding of a fail (or warning) that says nothing more of the defect.
pub fn stage_finding(run: &GateRun, row_id: &str, fingerprint: String, location: Option<String>, count: Option<i64>) -> Finding {
    Finding {
        finding_id: stable_id(&[super::FORMAT, "finding", row_id, run.rule_id.as_deref().unwrap_or("")]),
        gate_run_id: run.gate_run_id.clone(),
        gate_id: run.gate_id.clone(),
        rule_id: run.rule_id.clone(),
        unit: run.unit.clone(),
        observed_at: run.ended_at,
        severity: None,
        raw_severity: None,
        failure_mode: None,
        failure_class: None,
        about: run.about,
        fingerprint,
        fingerprint_basis: FingerprintBasis::GateStage,
        repeat_of: None,
        baseline_state: None,
        location,
        actionable: None,
        count: count.filter(|n| *n > 1),
        source_id: run.source_id.clone(),
        source_line: run.source_line,
    }
}
