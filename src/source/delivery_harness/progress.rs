//! Owns `progress.md`: what an issue's own record concludes.
//!
//! The Action Log repeats spans of the trace and the economics block repeats its sums; neither is read again. Waivers stand here only
//! as prose, which proves nothing: their names are counted (`prose_waiver`), no decision is made of them.

use super::whole;
use crate::model::decisions::Decision;
use crate::model::id::{digest, stable_id};
use crate::model::vocabulary::DecisionKind;
use crate::source::emit::Emitter;
use crate::source::{Input, Probe, Source};

/// Switches that leave no span when a person uses them.
const SWITCHES: &[&str] = &["SKIP_CI_GATE=1", "FORCE=1", "CREATE_PR_NO_REWRITE=1", "ABANDONED=1", "TRACE_ALLOW_DARK_RUN=1", "SKIP_INIT=1"];

pub struct Progress;

impl Source for Progress {
    fn format(&self) -> &'static str {
        "agent-delivery-harness-progress"
    }

    fn version(&self) -> u32 {
        2
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        let first = probe.head.split(|b| *b == b'\n').find(|line| !line.trim_ascii().is_empty());
        super::is_named(probe, "progress.md", &['.', '-', '_'])
            && first.is_some_and(|line| issue_of_title(&String::from_utf8_lossy(line)).is_some())
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let Some(bytes) = whole::read(input, out)? else { return Ok(()) };
        let text = String::from_utf8_lossy(&bytes);
        out.summary.records += 1;
        let issue = text.lines().find_map(issue_of_title).or_else(|| whole::issue_of_folder(input));
        let pull = text.match_indices("/pull/").filter_map(|(at, found)| leading_number(text.get(at + found.len()..)?)).last();
        for (number, line) in (1i64..).zip(text.lines()) {
            if let Some(conclusion) = line.trim().strip_prefix("Conclusion:") {
                match decide(conclusion) {
                    Some((kind, what)) => {
                        let run_key = whole::run_key(issue.as_deref().unwrap_or("unknown"));
                        out.facts.decisions.push(Decision {
                            decision_id: stable_id(&[super::FORMAT, "conclusion", &run_key, &digest(line.as_bytes())]),
                            native_run_key: Some(run_key),
                            kind,
                            who_hash: None,
                            what,
                            target: pull.as_ref().map(|n| format!("pr:{n}")),
                            failure_mode: None,
                            failure_class: None,
                            why_hash: None,
                            decided_at: None,
                            expires_at: None,
                            source_id: out.source_id.clone(),
                            source_line: number,
                        });
                    }
                    None => out.warn("unknown_conclusion", Some(number), None),
                }
            }
            for switch in SWITCHES.iter().filter(|s| holds_word(line, s)) {
                out.warn("prose_waiver", Some(number), Some(switch));
            }
        }
        Ok(())
    }
}

/// The issue number of `# Issue 374 progress`.
fn issue_of_title(line: &str) -> Option<String> {
    let number = line.trim_start_matches('\u{feff}').trim().strip_prefix("# Issue ")?.strip_suffix(" progress")?;
    leading_number(number).filter(|n| n.len() == number.len())
}

fn leading_number(text: &str) -> Option<String> {
    let end = text.bytes().take(12).take_while(u8::is_ascii_digit).count();
    text.get(..end).filter(|digits| !digits.is_empty()).map(str::to_owned)
}

/// Whether the line holds the word, not as part of a longer one (`ENFORCE=1` is not `FORCE=1`).
fn holds_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|s| s.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|s| s.chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

/// `<merged|abandoned>; review verdict: <APPROVED|NEEDS_REVISION|n-a>.`
fn decide(conclusion: &str) -> Option<(DecisionKind, String)> {
    let (end, verdict) = conclusion.trim().trim_end_matches('.').split_once(';')?;
    let verdict = verdict.trim().strip_prefix("review verdict:")?.trim();
    let kind = match (end.trim(), verdict) {
        ("merged", "APPROVED") => DecisionKind::Approval,
        // Merged although the review asked for changes, or without one.
        ("merged", "NEEDS_REVISION" | "n-a") => DecisionKind::Override,
        ("abandoned", "APPROVED" | "NEEDS_REVISION" | "n-a") => DecisionKind::Abandonment,
        _ => return None,
    };
    Some((kind, format!("conclusion:{}:{verdict}", end.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conclusions_are_closed_words() {
        let kind = |text| decide(text).map(|(kind, _)| kind);
        assert_eq!(kind(" merged; review verdict: APPROVED."), Some(DecisionKind::Approval));
        assert_eq!(kind(" merged; review verdict: NEEDS_REVISION."), Some(DecisionKind::Override));
        assert_eq!(kind(" abandoned; review verdict: n-a."), Some(DecisionKind::Abandonment));
        for text in ["", "merged", "merged; fine", "merged; review verdict: maybe.", "gone; review verdict: APPROVED."] {
            assert_eq!(kind(text), None, "{text}");
        }
    }

    #[test]
    fn only_the_exact_title_names_an_issue() {
        assert_eq!(issue_of_title("# Issue 374 progress").as_deref(), Some("374"));
        for line in ["# Issue progress", "## Issue 1 progress", "# Issue 1x progress", "# Issue 1", ""] {
            assert_eq!(issue_of_title(line), None, "{line}");
        }
    }

    #[test]
    fn a_switch_inside_a_longer_word_is_no_switch() {
        assert!(holds_word("removed with FORCE=1, see above", "FORCE=1"));
        assert!(!holds_word("ENFORCE=1 and FORCE=10", "FORCE=1"));
    }
}
