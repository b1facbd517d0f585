//! Owns what people and agents decided in a delivery: deviations, one-time releases of a rule, carried approvals, skipped guards.

use super::rows::Seen;
use crate::config::profile::Profile;
use crate::model::decisions::{Decision, GuardEvent};
use crate::model::id::{digest, stable_id};
use crate::model::vocabulary::DecisionKind;

/// The decision a span records, if it records one.
pub fn decision(profile: &Profile, seen: &Seen<'_>) -> Option<Decision> {
    let span = seen.span;
    let (tool, step) = (span.name("gen_ai.tool.name"), span.name("harness.lifecycle_step"));
    let make = |kind, what: String, target: Option<String>| Decision {
        decision_id: stable_id(&[super::FORMAT, "decision", seen.row_id]),
        native_run_key: Some(seen.run_key.to_owned()),
        kind,
        who_hash: span.name("gen_ai.agent.name").map(|role| digest(role.as_bytes())),
        what,
        target,
        failure_mode: span.name("harness.failure_mode"),
        failure_class: span.name("harness.failure_class"),
        why_hash: span.hash("harness.summary"),
        decided_at: span.ended_at(),
        expires_at: None,
        source_id: seen.source_id.to_owned(),
        source_line: seen.line,
    };
    match (span.raw("span"), tool.as_deref(), step.as_deref()) {
        (Some("tool"), Some(tool), _) if is_release(profile, tool) => {
            let rule = profile.rule_released_by(tool).map(|rule| format!("{}/{}", rule.gate, rule.id));
            let what = tool.rsplit('.').next().unwrap_or(tool).to_owned();
            Some(make(DecisionKind::Release, what, rule))
        }
        (_, _, Some("deviation")) => {
            let what = span.name("harness.failure_disposition").unwrap_or_else(|| "deviation".to_owned());
            Some(make(DecisionKind::Deviation, what, span.unit()))
        }
        (_, _, Some("review_gate_approve")) => {
            let carry = span.name("harness.review_gate_carry")?;
            Some(make(DecisionKind::Approval, format!("carry:{carry}"), span.name("harness.review_gate_sha")))
        }
        _ => None,
    }
}

/// A human waiver: one the profile names, or a tool whose name follows the same habit.
pub fn is_release(profile: &Profile, tool: &str) -> bool {
    profile.rule_released_by(tool).is_some() || tool.ends_with("-release")
}

/// What a guard reports of itself: that it was skipped, or passed without the means to look.
pub fn guard_event(seen: &Seen<'_>) -> Option<GuardEvent> {
    let span = seen.span;
    let skipped = span.flag("harness.preflight_skipped") == Some(true);
    let blind = span.raw("harness.warning") == Some("jq_skipped");
    let (gate_id, event, detail) = match (skipped, blind) {
        (true, _) => ("gate_start", "skipped_init", "SKIP_INIT"),
        (false, true) => ("gate_start", "degraded_open", "jq_skipped"),
        _ => return None,
    };
    Some(GuardEvent {
        guard_event_id: stable_id(&[super::FORMAT, "guard", seen.row_id]),
        native_run_key: Some(seen.run_key.to_owned()),
        gate_id: gate_id.to_owned(),
        event: event.to_owned(),
        detail: Some(detail.to_owned()),
        at: span.ended_at(),
        source_id: seen.source_id.to_owned(),
        source_line: seen.line,
    })
}
