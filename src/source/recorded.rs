//! Owns `.mechanic/gate-runs.jsonl`, the file in which `mechanic record` keeps what a gate's command did: the shape of its lines and
//! how they become `gate_runs`, silent passes included.
//!
//! One JSON object a line, only ever appended: see [`Recorded`]. The lake keeps names, times, verdicts and digests of it.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::append::{Durable, append_line};
use super::emit::Emitter;
use super::lenient::name;
use super::salvage::{Record, read_records};
use super::{Input, Probe, Source, open};
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::gates::Gate;
use crate::model::id::stable_id;
use crate::model::time::Ts;
use crate::model::vocabulary::{About, ExposureBasis, FingerprintBasis, Mode, Purpose, Verdict, VerdictBasis};

/// Name of the file, in the folder `.mechanic`.
pub const FILE_NAME: &str = "gate-runs.jsonl";
pub const FORMAT: &str = "mechanic-record";
const SCHEMA_VERSION: i64 = 1;

/// One line of the file: one gate run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    pub schema_version: i64,
    /// Its own id, 32 hex digits: copies of a line are one gate run.
    pub id: String,
    pub gate: String,
    /// Rule or stage of the gate. Null: the gate as a whole.
    pub rule: Option<String>,
    /// Delivery it belongs to: `record:<issue>` or `session:<id>`.
    pub run: String,
    /// Feature, story or task it judged. Null: the whole run.
    pub unit: Option<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub ended_at: String,
    /// Wall time of the command.
    pub duration_ms: i64,
    /// Null: it died by a signal or never started.
    pub exit_status: Option<i64>,
    /// Signal it died by. Null: none.
    pub signal: Option<i64>,
    pub verdict: Verdict,
    /// `block`, or `observe` where it ran in shadow.
    pub enforcement: Mode,
    /// Program, without folders.
    pub program: String,
    /// Digest of program and arguments.
    pub command_hash: String,
    /// Commit that was checked out when it began. Null: no repository, or no commit.
    pub head_sha: Option<String>,
    /// Whether the work tree was that commit's then, untracked files included. Null: unknown.
    #[serde(default)]
    pub clean: Option<bool>,
    /// Private git reference that keeps the tree as it was after a fail. Null: none kept.
    pub tree_ref: Option<String>,
    /// SHA-256 of the standard input that was kept. Null: none kept.
    pub stimulus: Option<String>,
}

impl Recorded {
    pub const SCHEMA_VERSION: i64 = SCHEMA_VERSION;

    /// Appends the line. It is not synced: a line lost in a power cut leaves one exposure unknown, and the gate must not wait for it.
    pub fn append(&self, path: &Path) -> io::Result<()> {
        append_line(path, self, Durable::No)
    }

    fn is_well_formed(&self) -> Result<(), &'static str> {
        let hex = |text: &str, most: usize| !text.is_empty() && text.len() <= most && text.bytes().all(|b| b.is_ascii_hexdigit());
        if !hex(&self.id, 64) {
            return Err("id is no id");
        }
        if self.gate.is_empty() || self.run.is_empty() {
            return Err("gate or run is empty");
        }
        if self.duration_ms < 0 {
            return Err("duration_ms is negative");
        }
        if self.head_sha.as_deref().is_some_and(|sha| !hex(sha, 64)) {
            return Err("head_sha is no commit id");
        }
        Ok(())
    }

    fn gate_run(&self, seq: i64, source_id: &str, source_line: i64) -> GateRun {
        GateRun {
            gate_run_id: stable_id(&[FORMAT, &self.id]),
            about: About::Product,
            gate_id: name(&self.gate),
            rule_id: self.rule.as_deref().map(name),
            native_run_key: name(&self.run),
            unit: self.unit.as_deref().map(name),
            context_id: None,
            tool_call_id: None,
            seq,
            round: None,
            attempt: None,
            started_at: Ts::parse_recorded(&self.started_at),
            ended_at: Ts::parse_recorded(&self.ended_at),
            duration_ms: Some(self.duration_ms),
            observed_at: None,
            observed_via: None,
            verdict: self.verdict,
            raw_verdict: self.signal.map(|n| format!("signal {n}")),
            verdict_basis: if self.exit_status.is_some() { VerdictBasis::ExitStatus } else { VerdictBasis::None },
            // Whoever called the command decides what follows from its status; only in shadow it is known that nothing did.
            stopped_work: match (self.enforcement, self.verdict) {
                (Mode::Observe, _) => Some(false),
                (_, Verdict::Pass) => Some(false),
                _ => None,
            },
            enforcement: Some(self.enforcement),
            exit_status: self.exit_status,
            substance: None,
            scope: None,
            // Of a tree with uncommitted changes the commit says nothing.
            head_sha: self.head_sha.clone().filter(|_| self.clean == Some(true)),
            phase: None,
            subject: None,
            resolves: None,
            evidence: self.tree_ref.as_deref().map(name),
            detector_id: None,
            exposure_basis: ExposureBasis::Recorded,
            reconstructed: false,
            injected_tokens_est: None,
            input_tokens: None,
            cache_read_tokens: None,
            cache_write_tokens: None,
            output_tokens: None,
            source_id: source_id.to_owned(),
            source_line,
        }
    }
}

pub struct RecordedRuns;

impl Source for RecordedRuns {
    fn format(&self) -> &'static str {
        FORMAT
    }

    fn version(&self) -> u32 {
        2
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        probe.input.name() == FILE_NAME && ["\"schema_version\"", "\"gate\"", "\"command_hash\""].iter().all(|key| probe.holds(key))
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let mut seq = 0;
        let mut gates: Vec<Gate> = Vec::new();
        let each = |record: &Record<'_>, out: &mut Emitter<'_>| {
            let row: Recorded = serde_json::from_slice(record.bytes)?;
            if row.schema_version != SCHEMA_VERSION {
                out.quarantine(record.line, record.offset, record.size, "unknown_version", Some(row.schema_version.to_string()));
                return Ok(());
            }
            if let Err(why) = row.is_well_formed() {
                out.quarantine(record.line, record.offset, record.size, "schema", Some(why.to_owned()));
                return Ok(());
            }
            let run = row.gate_run(seq, &out.source_id, record.line);
            seq += 1;
            if run.ended_at.is_none() {
                out.warn("unknown_time", Some(record.line), Some("ended_at"));
            }
            if run.verdict == Verdict::Fail || run.verdict == Verdict::Warn {
                out.facts.findings.push(finding(&run));
            }
            match gates.iter_mut().find(|g| g.gate_id == run.gate_id) {
                // What ever blocked is a blocking gate, also where it once ran in shadow.
                Some(gate) if run.enforcement == Some(Mode::Block) => gate.mode = Some(Mode::Block),
                Some(_) => {}
                None => gates.push(gate(&run)),
            }
            out.facts.gate_runs.push(run);
            Ok(())
        };
        read_records(open::open(input)?, out, |bytes| memchr::memmem::find(bytes, b"\"command_hash\"").is_some(), each)?;
        out.facts.gates.extend(gates);
        Ok(())
    }
}

fn gate(run: &GateRun) -> Gate {
    Gate {
        gate_id: run.gate_id.clone(),
        harness: None,
        purpose: Purpose::Control,
        kind: None,
        mode: run.enforcement,
        gate_order: None,
        irreversible: None,
        pinned: None,
        pass_recorded: Some(true),
        covers: None,
        aliases: None,
        declared_in: None,
        identity: None,
        source_id: run.source_id.clone(),
        source_line: run.source_line,
    }
}

/// A command's status says nothing of which defect it met: gate and rule stand for it.
fn finding(run: &GateRun) -> Finding {
    let stage = run.rule_id.as_deref().unwrap_or("");
    Finding {
        finding_id: stable_id(&[FORMAT, "finding", &run.gate_run_id]),
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
        fingerprint: if stage.is_empty() { run.gate_id.clone() } else { format!("{}/{stage}", run.gate_id) },
        fingerprint_basis: FingerprintBasis::GateStage,
        repeat_of: None,
        baseline_state: None,
        location: None,
        actionable: None,
        count: None,
        source_id: run.source_id.clone(),
        source_line: run.source_line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::emit::{Collect, Facts, Summary};
    use crate::source::{claim, head_of, read_file};

    fn row(n: u32, verdict: Verdict, enforcement: Mode) -> Recorded {
        Recorded {
            schema_version: SCHEMA_VERSION,
            id: format!("{n:032x}"),
            gate: "lint".into(),
            rule: None,
            run: "record:12".into(),
            unit: None,
            started_at: "2026-07-01T10:00:00Z".into(),
            ended_at: "2026-07-01T10:00:02Z".into(),
            duration_ms: 2000,
            exit_status: Some(if verdict == Verdict::Pass { 0 } else { 1 }),
            signal: None,
            verdict,
            enforcement,
            program: "eslint".into(),
            command_hash: "0".repeat(32),
            head_sha: Some("ab".repeat(20)),
            clean: Some(true),
            tree_ref: None,
            stimulus: None,
        }
    }

    fn read(path: &Path) -> (Facts, Summary) {
        let mut sink = Collect::default();
        let input = Input::new(path).unwrap();
        assert_eq!(claim(&input, &head_of(&input).unwrap()).map(|s| s.format()), Some(FORMAT));
        let summary = read_file(&RecordedRuns, &input, &mut sink).unwrap();
        (sink.0, summary)
    }

    #[test]
    fn a_silent_pass_is_exposure_and_a_fail_is_a_finding() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".mechanic").join(FILE_NAME);
        row(1, Verdict::Pass, Mode::Block).append(&path).unwrap();
        row(2, Verdict::Fail, Mode::Block).append(&path).unwrap();
        let (facts, summary) = read(&path);
        assert_eq!((summary.records, summary.quarantined), (2, 0));
        let runs: Vec<_> = facts.gate_runs.iter().map(|r| (r.verdict, r.duration_ms, r.stopped_work, r.source_line)).collect();
        assert_eq!(runs, [(Verdict::Pass, Some(2000), Some(false), 1), (Verdict::Fail, Some(2000), None, 2)]);
        assert_eq!(facts.findings.iter().map(|f| f.fingerprint.as_str()).collect::<Vec<_>>(), ["lint"]);
        assert_eq!((facts.gates[0].mode, facts.gates[0].pass_recorded), (Some(Mode::Block), Some(true)));
    }

    #[test]
    fn the_commit_is_that_of_the_tree_only_where_nothing_was_uncommitted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        for (n, clean) in [(1, Some(true)), (2, Some(false)), (3, None)] {
            Recorded { clean, ..row(n, Verdict::Pass, Mode::Block) }.append(&path).unwrap();
        }
        // A line of a release that did not look.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(
            &path,
            format!("{text}{}", text.lines().last().unwrap().replace(",\"clean\":null", "").replace("3\",\"gate", "4\",\"gate")) + "\n",
        )
        .unwrap();
        let (facts, summary) = read(&path);
        assert_eq!((summary.records, summary.quarantined), (4, 0));
        let known: Vec<bool> = facts.gate_runs.iter().map(|r| r.head_sha.is_some()).collect();
        assert_eq!(known, [true, false, false, false]);
    }

    #[test]
    fn in_shadow_nothing_stopped_the_work() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        row(1, Verdict::Fail, Mode::Observe).append(&path).unwrap();
        let (facts, _) = read(&path);
        assert_eq!((facts.gate_runs[0].stopped_work, facts.gates[0].mode), (Some(false), Some(Mode::Observe)));
    }

    #[test]
    fn a_copied_line_is_the_same_gate_run_and_bad_lines_are_quarantined() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        row(1, Verdict::Pass, Mode::Block).append(&path).unwrap();
        row(1, Verdict::Pass, Mode::Block).append(&path).unwrap();
        Recorded { duration_ms: -1, ..row(2, Verdict::Pass, Mode::Block) }.append(&path).unwrap();
        Recorded { schema_version: 2, ..row(3, Verdict::Pass, Mode::Block) }.append(&path).unwrap();
        Recorded { head_sha: Some("x; rm".into()), ..row(4, Verdict::Pass, Mode::Block) }.append(&path).unwrap();
        let (facts, summary) = read(&path);
        assert_eq!((summary.records, summary.quarantined), (5, 3));
        assert_eq!(facts.gate_runs[0].gate_run_id, facts.gate_runs[1].gate_run_id);
    }
}
