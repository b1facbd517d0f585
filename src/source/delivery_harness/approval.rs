//! Owns the approval marker `approved-head`: the commit a review approved.

use super::whole;
use crate::model::decisions::Decision;
use crate::model::id::stable_id;
use crate::model::vocabulary::DecisionKind;
use crate::source::emit::Emitter;
use crate::source::{Input, Probe, Source};

pub struct ApprovalMarker;

impl Source for ApprovalMarker {
    fn format(&self) -> &'static str {
        "agent-delivery-harness-approval"
    }

    fn version(&self) -> u32 {
        1
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        probe.input.name() == "approved-head"
            && probe.input.within("review-gate")
            && probe.head.len() < 4_096
            && probe.head.split(|b| *b == b'\n').next().is_some_and(|line| is_sha(line.trim_ascii()))
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let Some(bytes) = whole::read(input, out)? else { return Ok(()) };
        out.summary.records += 1;
        let mut lines = bytes.split(|b| *b == b'\n').map(<[u8]>::trim_ascii);
        let sha = lines.next().filter(|line| is_sha(line)).and_then(|line| std::str::from_utf8(line).ok());
        let Some(sha) = sha else {
            out.quarantine(1, 0, bytes.len(), "schema", Some("no commit".to_owned()));
            return Ok(());
        };
        let patch = lines.next().filter(|line| is_sha(line)).and_then(|line| std::str::from_utf8(line).ok());
        out.facts.decisions.push(Decision {
            decision_id: stable_id(&[super::FORMAT, "approved-head", sha, patch.unwrap_or("")]),
            // Older releases kept one marker for all issues: then the marker belongs to none.
            native_run_key: whole::issue_of_folder(input).map(|n| whole::run_key(&n)),
            kind: DecisionKind::Approval,
            who_hash: None,
            what: "approved-head".to_owned(),
            target: Some(sha.to_owned()),
            failure_mode: None,
            failure_class: None,
            why_hash: None,
            decided_at: None,
            expires_at: None,
            source_id: out.source_id.clone(),
            source_line: 1,
        });
        Ok(())
    }
}

/// A whole commit or patch id, 40 or 64 hex digits.
fn is_sha(line: &[u8]) -> bool {
    matches!(line.len(), 40 | 64) && line.iter().all(u8::is_ascii_hexdigit)
}
