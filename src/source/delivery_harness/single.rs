//! Owns spans that are one run of one rule: script steps, standalone checks and handbacks.

use super::composite::{Before, Child};
use super::rows::{Judged, Ruled, Seen, gate_run, outcome, owns_span, stage_finding, stopped_work};
use crate::config::profile::{Profile, RuleProfile};
use crate::model::vocabulary::{Scope, Verdict};

/// The one gate run of a span.
pub fn judge(profile: &Profile, rule: &RuleProfile, name: &str, seen: &Seen<'_>, before: &mut Before) -> Judged {
    let span = seen.span;
    let ruled = Ruled::by(profile, rule);
    let mut said = outcome(span);
    said.verdict = shade(name, seen, said.verdict);
    let mut run = gate_run(seen, &ruled, said.verdict);
    owns_span(&mut run, span, &said);
    run.head_sha = span.name("harness.review_gate_sha");
    run.scope = span.name("harness.sensor_scope").and_then(|s| Scope::parse(&s));
    run.substance = span.count("harness.sensor_count");
    let stage = span.name("harness.stage");
    run.evidence = match (span.name("harness.review_gate_carry"), &stage) {
        (Some(carry), _) => Some(format!("carry:{carry}")),
        (None, Some(stage)) => Some(format!("stage:{stage}")),
        (None, None) => None,
    };
    // A handback reports what an agent did; only a script that exits can refuse the next step.
    run.stopped_work = if span.raw("span") == Some("agent") { None } else { stopped_work(said.verdict, ruled.mode) };
    let mut findings = Vec::new();
    if matches!(run.verdict, Verdict::Fail | Verdict::Warn) {
        let mut fingerprint = ruled.fingerprint(run.unit.as_deref());
        if let Some(stage) = &stage {
            fingerprint = format!("{fingerprint}/{stage}");
        }
        if run.verdict == Verdict::Fail {
            before.children.insert(name.to_owned(), Child { ended_at: span.ended_at(), fingerprint: fingerprint.clone() });
        }
        let mut finding = stage_finding(&run, seen.row_id, fingerprint, stage.or_else(|| ruled.rule.clone()), counted(seen));
        finding.failure_mode = span.name("harness.failure_mode");
        finding.failure_class = span.name("harness.failure_class");
        findings.push(finding);
    }
    Judged { run, findings }
}

/// What the words `pass` and `fail` mean for this span beyond themselves.
fn shade(name: &str, seen: &Seen<'_>, verdict: Verdict) -> Verdict {
    let span = seen.span;
    match (name, verdict) {
        // The red test is written and fails as it should, or not yet: either way no defect is reported.
        ("red_handback", Verdict::Pass | Verdict::Fail | Verdict::Inconclusive) => Verdict::ExpectedRed,
        ("preflight", _) if span.flag("harness.preflight_skipped") == Some(true) => Verdict::Skipped,
        // An approval moved along to a rewritten commit: nobody approved anew.
        ("review_gate_approve", Verdict::Pass) if span.has("harness.review_gate_carry") => Verdict::Waived,
        (_, Verdict::Pass) if span.raw("harness.warning") == Some("jq_skipped") => Verdict::Vacuous,
        (_, Verdict::Pass) if span.count("harness.sensor_count") == Some(0) => Verdict::Vacuous,
        (_, Verdict::Pass) if span.raw("harness.warning") == Some("incomplete_features") => Verdict::Warn,
        (_, Verdict::Pass) if counted(seen).is_some_and(|n| n > 0) => Verdict::Warn,
        _ => verdict,
    }
}

/// Defects the span counts without naming them.
fn counted(seen: &Seen<'_>) -> Option<i64> {
    let keys = ["harness.violation_count", "harness.warning_count", "harness.finding_count", "harness.incomplete_count"];
    let counts: Vec<i64> = keys.iter().filter_map(|key| seen.span.count(key)).collect();
    if counts.is_empty() { None } else { Some(counts.iter().fold(0i64, |sum, n| sum.saturating_add(*n))) }
}
