//! Owns the recognition of aggregate verdicts: one fail span whose summary counts several findings.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::vocabulary::Severity;
use crate::source::severity;

/// A number of at least two right before what it counts, not glued to an identifier (`CVE-2024`, `v2` and `F13` count nothing).
static SEVERAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)(?:^|[^-0-9a-z])([2-9]|[1-9][0-9]+)\s+(?:critical|warning|finding)").ok());
/// Any number before what it counts.
static COUNTED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)(?:^|[^-0-9a-z])([0-9]{1,6})\s+(critical|warning|finding)").ok());

/// Bytes of a summary that are looked at; the writer keeps summaries to one line.
const LOOK: usize = 4_096;

/// How many findings the summary claims to stand for. `None`: one, or none that is counted.
///
/// Severities add up (`3 critical and 4 warning findings` is 7); a total beside them (`7 findings: 3 critical, 4 warning`) is
/// the same 7.
pub fn count(summary: &str) -> Option<i64> {
    let summary = looked_at(summary);
    if !SEVERAL.as_ref()?.is_match(summary) {
        return None;
    }
    let (mut by_severity, mut total) = (0i64, 0i64);
    for found in COUNTED.as_ref()?.captures_iter(summary) {
        let number: i64 = found.get(1).and_then(|m| m.as_str().parse().ok()).unwrap_or(0);
        match found.get(2).map(|m| m.as_str().to_ascii_lowercase()).as_deref() {
            Some("finding") => total += number,
            _ => by_severity += number,
        }
    }
    // The first pattern matched, so at least two are meant, however large the number was.
    Some(by_severity.max(total).max(2))
}

/// The worst severity the summary counts at least one of, with the word.
pub fn worst(summary: &str) -> Option<(Severity, &str)> {
    let counted =
        COUNTED.as_ref()?.captures_iter(looked_at(summary)).filter(|c| c.get(1).is_some_and(|n| !n.as_str().trim_matches('0').is_empty()));
    counted.filter_map(|c| c.get(2)).filter_map(|word| Some((severity::of_word(word.as_str())?, word.as_str()))).min_by_key(|(s, _)| *s)
}

/// The part of a summary that is looked at.
fn looked_at(summary: &str) -> &str {
    let mut end = summary.len().min(LOOK);
    while !summary.is_char_boundary(end) {
        end -= 1;
    }
    summary.get(..end).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_several_findings_are_aggregates() {
        for (summary, n) in [
            ("3 critical and 4 warning findings: evidence lost, stale case", 7),
            ("3 CRITICAL Findings: a; b; c", 3),
            ("7 findings: 3 critical, 4 warning", 7),
            ("round one: 1 critical and 2 warnings", 3),
            ("(2 findings)", 2),
            ("12\tfindings", 12),
            ("99999999999999999999 findings", 2),
        ] {
            assert_eq!(count(summary), Some(n), "{summary}");
        }
    }

    #[test]
    fn a_counting_summary_is_as_severe_as_the_worst_it_counts() {
        assert_eq!(worst("4 warning and 3 critical findings").map(|(s, _)| s), Some(Severity::Critical));
        assert_eq!(worst("0 critical and 4 warning findings").map(|(s, _)| s), Some(Severity::Major));
        assert_eq!(worst("7 findings"), None);
        assert_eq!(worst("1 critical finding").map(|(s, _)| s), Some(Severity::Critical));
        assert_eq!(worst("v2 critical path"), None);
    }

    #[test]
    fn one_finding_and_numbers_glued_to_identifiers_are_no_aggregate() {
        for summary in [
            "1 critical finding: evidence lost",
            "CVE-2024 critical severity bump missing",
            "v2 critical path untested",
            "F13 finding repeated",
            "0 critical findings",
            "critical: the total is 4",
            "",
        ] {
            assert_eq!(count(summary), None, "{summary}");
        }
    }
}
