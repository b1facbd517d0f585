//! Owns writing gate runs: the row with its defaults, the gate's own row at its first run, and the findings of a firing.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::ids::{self, FORMAT};
use super::tools::{Target, relative};
use super::words::Words;
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::gates::Gate;
use crate::model::vocabulary::{About, ExposureBasis, FingerprintBasis, GateKind, Mode, Purpose, Severity, Verdict, VerdictBasis};
use crate::source::diagnostics;
use crate::source::emit::Emitter;
use crate::source::lenient::name;

/// Gates whose row was written, at most; beyond it rows of runs still name them.
const MAX_GATES: usize = 10_000;

/// What is said of a gate when it is first seen.
pub struct GateSeen<'a> {
    pub gate_id: &'a str,
    pub purpose: Purpose,
    pub kind: GateKind,
    pub mode: Option<Mode>,
    pub identity: Option<String>,
}

#[derive(Default, Serialize, Deserialize)]
pub struct Runs {
    seq: i64,
    gates: BTreeSet<String>,
}

impl Runs {
    /// A run of a gate that judged nothing yet.
    pub fn start(&mut self, id: String, gate_id: &str, native_run_key: &str, line: i64, out: &Emitter<'_>) -> GateRun {
        let seq = self.seq;
        self.seq += 1;
        GateRun {
            gate_run_id: id,
            about: About::Product,
            gate_id: gate_id.to_owned(),
            rule_id: None,
            native_run_key: native_run_key.to_owned(),
            unit: None,
            context_id: None,
            tool_call_id: None,
            seq,
            round: None,
            attempt: None,
            started_at: None,
            ended_at: None,
            duration_ms: None,
            observed_at: None,
            observed_via: None,
            verdict: Verdict::Unobservable,
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
            resolves: None,
            detector_id: None,
            exposure_basis: ExposureBasis::Recorded,
            reconstructed: false,
            injected_tokens_est: None,
            input_tokens: None,
            cache_read_tokens: None,
            cache_write_tokens: None,
            output_tokens: None,
            source_id: out.source_id.clone(),
            source_line: line,
        }
    }

    /// Writes the gate's row once a file.
    pub fn gate(&mut self, seen: &GateSeen<'_>, line: i64, out: &mut Emitter<'_>) {
        if self.gates.len() >= MAX_GATES || !self.gates.insert(seen.gate_id.to_owned()) {
            return;
        }
        out.facts.gates.push(Gate {
            gate_id: seen.gate_id.to_owned(),
            harness: Some(FORMAT.to_owned()),
            purpose: seen.purpose,
            kind: Some(seen.kind),
            mode: seen.mode,
            gate_order: None,
            irreversible: None,
            pinned: None,
            // Whether passes are recorded is earned over all files.
            pass_recorded: None,
            covers: None,
            aliases: None,
            declared_in: None,
            identity: seen.identity.clone(),
            source_id: out.source_id.clone(),
            source_line: line,
        });
    }
}

/// Where runs are written to.
pub struct Pen<'a, 's> {
    pub runs: &'a mut Runs,
    pub out: &'a mut Emitter<'s>,
}

/// What a gate run about one tool call looked at.
pub fn subject(target: &Target, cwd: Option<&str>) -> String {
    match target {
        Target::Path(path) => name_long(&format!("path:{}", relative(path, cwd))),
        Target::Program(program) => name_long(&format!("program:{program}")),
    }
}

/// Identity and place of one defect.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Defect {
    pub fingerprint: String,
    /// Code or rule the gate names. `None`: it names none.
    pub rule: Option<String>,
    pub basis: FingerprintBasis,
    pub location: Option<String>,
    pub severity: Option<Severity>,
}

/// The defects that the text of a fired gate names: its diagnostics, else the file it spoke about, else the shape of its words.
pub fn defects(gate_id: &str, words: Option<&Words>, target: Option<&Target>) -> Vec<Defect> {
    if let Some(words) = words.filter(|w| !w.diagnosed.is_empty()) {
        return words.diagnosed.clone();
    }
    let defect = match (target, words) {
        (Some(Target::Path(path)), _) => Defect {
            fingerprint: format!("{gate_id}/{path}"),
            rule: None,
            basis: FingerprintBasis::RuleAndFile,
            location: Some(path.clone()),
            severity: None,
        },
        (_, Some(words)) if !words.is_blank => breakdown(gate_id, &words.cause),
        _ => Defect { fingerprint: gate_id.to_owned(), rule: None, basis: FingerprintBasis::GateStage, location: None, severity: None },
    };
    vec![defect]
}

/// The defects that a text names by code and place.
pub fn diagnosed(text: &str, cwd: Option<&str>) -> Vec<Defect> {
    diagnostics::find(text)
        .into_iter()
        .map(|d| {
            let path = relative(&d.path, cwd);
            let named = d.code;
            let code = named.as_deref().unwrap_or("diagnostic");
            Defect {
                fingerprint: format!("{code}:{path}"),
                rule: named,
                basis: FingerprintBasis::RuleAndFile,
                location: Some(format!("{path}:{}", d.line)),
                severity: d.is_warning.then_some(Severity::Minor),
            }
        })
        .collect()
}

/// One broken state of a gate, told by its cause.
pub fn breakdown(gate_id: &str, cause: &str) -> Defect {
    Defect { fingerprint: format!("{gate_id}/{cause}"), rule: None, basis: FingerprintBasis::OutputShape, location: None, severity: None }
}

/// The finding rows of a run.
pub fn findings(run: &GateRun, defects: Vec<Defect>) -> Vec<Finding> {
    let mut rows: Vec<Finding> = Vec::with_capacity(defects.len());
    for defect in defects {
        let k = rows.iter().filter(|r| r.fingerprint == defect.fingerprint).count();
        rows.push(Finding {
            finding_id: ids::finding_id(&run.gate_run_id, &defect.fingerprint, k),
            gate_run_id: run.gate_run_id.clone(),
            gate_id: run.gate_id.clone(),
            rule_id: defect.rule.map(|r| name(&r)).or_else(|| run.rule_id.clone()),
            unit: run.unit.clone(),
            observed_at: run.ended_at.or(run.started_at),
            severity: defect.severity,
            raw_severity: None,
            failure_mode: None,
            failure_class: None,
            about: run.about,
            fingerprint: name_long(&defect.fingerprint),
            fingerprint_basis: defect.basis,
            repeat_of: None,
            baseline_state: None,
            location: defect.location.map(|l| name(&l)),
            actionable: None,
            count: None,
            source_id: run.source_id.clone(),
            source_line: run.source_line,
        });
    }
    rows
}

/// A fingerprint holds two names.
fn name_long(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}
