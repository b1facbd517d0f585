//! Owns composite spans: one span of a script that stands for all stages the script passed through.
//!
//! The stages are those of the span's release. A stage before the one that failed has passed (`implied_by_stage`), none after it ran.
//! The span's duration and exit status stand on one gate run alone: the failing stage, or the last one of a success.

use std::collections::HashMap;

use super::rows::{Judged, Outcome, Ruled, Seen, gate_run, outcome, owns_span, stage_finding, stopped_work};
use crate::config::profile::{Profile, RuleProfile, StepProfile};
use crate::config::version::Release;
use crate::model::time::Ts;
use crate::model::vocabulary::{ExposureBasis, Mode, Verdict};

/// A failing span of a script that a composite script calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    pub ended_at: Option<Ts>,
    pub fingerprint: String,
}

/// What earlier spans say of the composite ones that follow.
#[derive(Debug, Default)]
pub struct Before {
    /// Last failing span by tool.
    pub children: HashMap<String, Child>,
    /// Rules lifted once by a person, with the id of the span that says so.
    pub released: HashMap<String, String>,
}

/// The gate runs of one composite span, and the names of what was odd.
pub fn judge(profile: &Profile, step: &StepProfile, seen: &Seen<'_>, before: &mut Before) -> (Vec<Judged>, Vec<&'static str>) {
    let span = seen.span;
    let mut odd = Vec::new();
    let mut said = outcome(span);
    let version = span.name("harness.version");
    let release = version.as_deref().and_then(Release::parse);
    if said.verdict == Verdict::Fail && !failure_is_proof(step, version.as_deref(), release, span.written_at()) {
        said.verdict = Verdict::Inconclusive;
    }
    let stage = span.name("harness.stage");
    let exists = |rule: &&RuleProfile| Some(&rule.id) == stage.as_ref() || rule.exists_at(release, span.written_at());
    let stages: Vec<&RuleProfile> = step.stages.iter().filter_map(|id| profile.rule(id)).filter(exists).collect();
    let place = stages.iter().position(|rule| Some(&rule.id) == stage.as_ref());
    let done = stage.as_deref() == Some("done");
    let success = matches!(said.verdict, Verdict::Pass | Verdict::Warn);
    let (passed, ended) = match (success, place) {
        (true, None) => {
            if stage.is_some() && !done {
                odd.push("unknown_stage");
            }
            (stages.as_slice(), None)
        }
        (true, Some(at)) => {
            // A success ends at `done`; one that ends elsewhere proves no stage beyond it.
            odd.push("stage_outcome_mismatch");
            (stages.get(..=at).unwrap_or_default(), None)
        }
        (false, Some(at)) => (stages.get(..at).unwrap_or_default(), Some(Ruled::by(profile, stages[at]))),
        (false, None) if done => {
            odd.push("stage_outcome_mismatch");
            (stages.as_slice(), Some(Ruled::unknown(profile, &step.gate, None)))
        }
        (false, None) => {
            odd.push(if stage.is_some() { "unknown_stage" } else { "missing_stage" });
            (Default::default(), Some(Ruled::unknown(profile, &step.gate, stage.clone())))
        }
    };
    let replaced = place.filter(|_| !success).and_then(|at| stages[at].instead_of.as_deref());
    let ran = |rule: &&&RuleProfile| {
        rule.implied && rule.ran_if.as_deref().is_none_or(|key| says_true(seen, key)) && replaced != Some(rule.id.as_str())
    };
    let mut judged: Vec<Judged> = passed.iter().filter(ran).map(|rule| implied(profile, rule, seen, before)).collect();
    match ended {
        Some(ruled) => judged.push(failed(&ruled, seen, &said, place.map(|at| stages[at]), before)),
        None => match judged.last_mut() {
            Some(last) => {
                let waived = last.run.verdict == Verdict::Waived;
                owns_span(&mut last.run, span, &said);
                if said.verdict == Verdict::Warn && !waived {
                    last.run.verdict = Verdict::Warn;
                }
            }
            None => {
                let mut run = gate_run(seen, &Ruled::unknown(profile, &step.gate, None), said.verdict);
                owns_span(&mut run, span, &said);
                judged.push(Judged { run, findings: Vec::new() });
            }
        },
    }
    for stage in &step.stages {
        before.released.remove(stage);
    }
    (judged, odd)
}

/// A stage that reaching a later one proves to have passed.
fn implied(profile: &Profile, rule: &RuleProfile, seen: &Seen<'_>, before: &Before) -> Judged {
    let lifted = before.released.get(&rule.id);
    let ruled = Ruled::by(profile, rule);
    let mut run = gate_run(seen, &ruled, if lifted.is_some() { Verdict::Waived } else { Verdict::Pass });
    run.exposure_basis = ExposureBasis::ImpliedByStage;
    run.stopped_work = Some(false);
    run.evidence = lifted.map(|id| format!("release:{id}"));
    Judged { run, findings: Vec::new() }
}

/// The stage at which the script stopped.
fn failed(ruled: &Ruled, seen: &Seen<'_>, said: &Outcome, rule: Option<&RuleProfile>, before: &mut Before) -> Judged {
    let mut run = gate_run(seen, ruled, said.verdict);
    owns_span(&mut run, seen.span, said);
    // The script ended here: that it stopped is a fact, whatever mode the rule is declared in.
    run.stopped_work = stopped_work(said.verdict, Some(Mode::Block));
    let mut findings = Vec::new();
    if said.verdict == Verdict::Fail {
        let cause = rule.and_then(|rule| cause(rule, seen, before));
        let fingerprint = cause.unwrap_or_else(|| ruled.fingerprint(None));
        findings.push(stage_finding(&run, seen.row_id, fingerprint, ruled.rule.clone(), None));
    }
    Judged { run, findings }
}

/// The defect a called script has reported inside this span: both fails are then one defect and carry one fingerprint.
fn cause(rule: &RuleProfile, seen: &Seen<'_>, before: &mut Before) -> Option<String> {
    let (start, end) = (seen.span.started_at()?, seen.span.ended_at()?);
    for tool in &rule.children {
        // Times are cut to whole seconds: a child may seem to end up to a second before the composite began.
        let inside =
            before.children.get(tool).is_some_and(|child| child.ended_at.is_some_and(|at| start.minus_millis(1_000) <= at && at <= end));
        if inside {
            return before.children.remove(tool).map(|child| child.fingerprint);
        }
    }
    None
}

fn says_true(seen: &Seen<'_>, key: &str) -> bool {
    super::span::KEYS.binary_search(&key).is_ok() && seen.span.flag(key) == Some(true)
}

/// Whether a failure of the step under that version means that the step did not happen. A sha names a version older than all releases.
fn failure_is_proof(step: &StepProfile, version: Option<&str>, release: Option<Release>, at: Option<Ts>) -> bool {
    let Some(since) = step.fail_proven_since else { return true };
    if let Some(release) = release {
        return since <= release;
    }
    let sha = |v: &str| v.len() >= 7 && v.bytes().all(|b| b.is_ascii_hexdigit());
    if version.is_some_and(sha) {
        return false;
    }
    match (at, step.fail_proven_since_time) {
        (Some(at), Some(since)) => since <= at,
        _ => false,
    }
}
