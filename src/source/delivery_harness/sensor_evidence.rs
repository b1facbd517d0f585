//! Owns `sensor-evidence.jsonl`: one row for each *green* sensor run.
//!
//! Red runs leave no row, so these passes are no sample of all runs: their exposure is `passes_only`, and no rate counts them. They do
//! tell on which commit which scope was green, and how many sensors ran. A row whose checksum is not that of its own fields was changed
//! after it was written, or not written by the harness: warning `checksum_mismatch`.

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::declare::Shown;
use super::rows::Ruled;
use super::whole;
use crate::model::gate_runs::GateRun;
use crate::model::id::{digest, stable_id};
use crate::model::time::Ts;
use crate::model::vocabulary::{ExposureBasis, Scope, Verdict, VerdictBasis};
use crate::source::emit::Emitter;
use crate::source::lenient::{Num, Text, name};
use crate::source::salvage::{Record, read_records};
use crate::source::{Input, Probe, Source, open};

/// Mark of a gate run whose failures would have left no record.
pub const GREEN_ONLY: &str = "green_only";

/// What stands before a checksum.
const SUM: &str = "sha256:";

const RULE: &str = "scoped-green";

pub struct SensorEvidence;

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(default)]
    schema_version: Num,
    #[serde(default, borrow)]
    timestamp: Text<'a>,
    #[serde(default, borrow)]
    mode: Text<'a>,
    #[serde(default, borrow)]
    head: Text<'a>,
    #[serde(default, borrow)]
    scope: Text<'a>,
    #[serde(default)]
    ran: Num,
    #[serde(default)]
    failed: Num,
    #[serde(default, borrow)]
    checksum: Text<'a>,
}

impl Source for SensorEvidence {
    fn format(&self) -> &'static str {
        "agent-delivery-harness-evidence"
    }

    fn version(&self) -> u32 {
        3
    }

    fn state(&self, _input: &Input) -> Option<String> {
        super::profile_digest()
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        super::is_named(probe, "sensor-evidence.jsonl", &['.', '-', '_']) && probe.holds("\"checksum\"") && probe.holds("\"ran\"")
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let profile = super::profile()?;
        let rule = profile.rule(RULE).ok_or_else(|| anyhow::anyhow!("the profile has no rule {RULE}"))?;
        let ruled = Ruled::by(profile, rule);
        let run_key = whole::run_key(whole::issue_of_folder(input).as_deref().unwrap_or("unknown"));
        let mut first = None;
        let mut seq = 0;
        let each = |record: &Record<'_>, out: &mut Emitter<'_>| {
            let row: Row<'_> = serde_json::from_slice(record.bytes)?;
            if row.schema_version.0.is_some_and(|v| v != 1) {
                out.quarantine(record.line, record.offset, record.size, "unknown_version", row.schema_version.0.map(|v| v.to_string()));
            } else if row.head.as_str().is_none() || row.ran.count().is_none() {
                out.quarantine(record.line, record.offset, record.size, "schema", Some("no head or no count".to_owned()));
            } else {
                first = first.or(Some(record.line));
                if row.checksum_holds() == Some(false) {
                    let head: String = row.head.or_empty().chars().take(12).collect();
                    out.warn("checksum_mismatch", Some(record.line), Some(&format!("green row of commit {}", name(&head))));
                }
                let source_id = out.source_id.clone();
                out.facts.gate_runs.push(row.gate_run(&ruled, record, &run_key, seq, source_id));
                seq += 1;
            }
            Ok(())
        };
        read_records(open::open(input)?, out, |bytes| memchr::memmem::find(bytes, b"\"checksum\"").is_some(), each)?;
        if let Some(line) = first {
            Shown::default().declare(profile, line, out);
        }
        Ok(())
    }
}

impl Row<'_> {
    /// Whether the checksum is the one of the row's fields; `None` where it has none, or a field of it is missing.
    fn checksum_holds(&self) -> Option<bool> {
        let said = self.checksum.as_str()?.strip_prefix(SUM)?;
        let (head, mode, scope, at) = (self.head.as_str()?, self.mode.as_str()?, self.scope.as_str()?, self.timestamp.as_str()?);
        let text = format!("v1|{head}|{mode}|{scope}|{}|{}|{at}", self.ran.0?, self.failed.0?);
        let sum: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        Some(sum.eq_ignore_ascii_case(said))
    }

    fn gate_run(&self, ruled: &Ruled, record: &Record<'_>, run_key: &str, seq: i64, source_id: String) -> GateRun {
        let ran = self.ran.count();
        let verdict = match (self.failed.count(), ran) {
            (Some(1..), _) => Verdict::Fail,
            (_, Some(0)) => Verdict::Vacuous,
            _ => Verdict::Pass,
        };
        // The checksum covers every field of the row: the row's own native id. One that does not hold may stand on many rows.
        let natural = match self.checksum.as_str() {
            Some(sum) if sum.starts_with(SUM) && self.checksum_holds() != Some(false) => name(sum),
            _ => digest(record.bytes),
        };
        let at = self.timestamp.as_str().and_then(Ts::parse_recorded);
        GateRun {
            gate_run_id: stable_id(&[super::FORMAT, "sensor-evidence", &natural]),
            about: ruled.about,
            gate_id: ruled.gate.clone(),
            rule_id: ruled.rule.clone(),
            native_run_key: run_key.to_owned(),
            unit: None,
            context_id: None,
            tool_call_id: None,
            seq,
            round: None,
            attempt: None,
            started_at: None,
            ended_at: at,
            duration_ms: None,
            observed_at: None,
            observed_via: None,
            verdict,
            raw_verdict: self.mode.as_str().map(name),
            verdict_basis: VerdictBasis::Structured,
            stopped_work: None,
            enforcement: ruled.mode,
            exit_status: None,
            substance: ran,
            scope: self.scope.as_str().and_then(Scope::parse),
            head_sha: self.head.as_str().map(name),
            phase: None,
            subject: None,
            resolves: None,
            evidence: Some(GREEN_ONLY.to_owned()),
            detector_id: None,
            exposure_basis: ExposureBasis::PassesOnly,
            reconstructed: false,
            injected_tokens_est: None,
            input_tokens: None,
            cache_read_tokens: None,
            cache_write_tokens: None,
            output_tokens: None,
            source_id,
            source_line: record.line,
        }
    }
}
