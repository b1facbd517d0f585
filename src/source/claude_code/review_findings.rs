//! Owns the findings that reviewers state: in `ReportFindings`, in `structured_output`, or under headings of their answer. Identity
//! and place leave it, no text.

use std::sync::LazyLock;

use regex::Regex;

use super::tools::relative;
use crate::model::id::digest;
use crate::model::vocabulary::{BaselineState, FingerprintBasis, Severity};
use crate::source::lenient::name;
use crate::source::scan::{Str, Value, fields, items};
use crate::source::severity::of_word;

/// Findings taken from one answer.
const MAX_FINDINGS: usize = 200;
/// Bytes of an answer that are read.
const MAX_TEXT: usize = 256 << 10;

/// One defect as a reviewer states it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stated {
    pub fingerprint: String,
    pub basis: FingerprintBasis,
    pub severity: Option<Severity>,
    pub raw_severity: Option<String>,
    /// Category of the reviewer's own list.
    pub category: Option<String>,
    pub location: Option<String>,
    /// What a later report says became of it.
    pub state: Option<BaselineState>,
}

/// Severity words of reviewers; `P0` to `P3` count as the words for them.
pub fn severity(word: &str) -> Option<Severity> {
    let word = word.trim();
    of_word(word).or(match word {
        "P0" | "p0" => Some(Severity::Critical),
        "P1" | "p1" => Some(Severity::Major),
        "P2" | "p2" | "P3" | "p3" => Some(Severity::Minor),
        _ => None,
    })
}

fn text(value: Option<Value<'_>>, bytes: usize) -> Option<String> {
    value.and_then(Value::str).map(|s: Str<'_>| s.head(bytes).into_owned()).filter(|t| !t.trim().is_empty())
}

/// The heading without what changes between two reports of the same defect: case, numbers, markup.
fn heading_digest(heading: &str) -> String {
    let words: Vec<String> = heading
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty() && !w.chars().all(|c| c.is_ascii_digit()))
        .map(str::to_lowercase)
        .collect();
    digest(words.join(" ").as_bytes()).chars().take(12).collect()
}

fn stated(
    path: Option<String>,
    line: Option<i64>,
    category: Option<String>,
    heading: Option<&str>,
    raw_severity: Option<String>,
) -> Stated {
    let category = category.map(|c| name(&c));
    let place = path.as_deref().unwrap_or("");
    let rule = category.as_deref().unwrap_or("finding");
    let (fingerprint, basis) = match heading {
        Some(heading) => (format!("{rule}:{place}#{}", heading_digest(heading)), FingerprintBasis::ReviewHeading),
        None => (format!("{rule}:{place}"), FingerprintBasis::RuleAndFile),
    };
    let location = path.map(|p| match line {
        Some(line) => format!("{p}:{line}"),
        None => p,
    });
    Stated {
        fingerprint,
        basis,
        severity: raw_severity.as_deref().and_then(severity),
        raw_severity: raw_severity.map(|s| name(&s)),
        category,
        location,
        state: None,
    }
}

/// `findings[]` of `ReportFindings` (`file`, `short_summary`, `outcome`) or of a structured answer (`filePath`, `severity`).
pub fn from_array(array: &[u8], cwd: Option<&str>) -> Vec<Stated> {
    items(array)
        .into_iter()
        .take(MAX_FINDINGS)
        .filter_map(|item| {
            let [file, file_path, path, line, category, level, short, title, outcome] = fields(
                item.container()?,
                ["file", "filePath", "path", "line", "category", "severity", "short_summary", "title", "outcome"],
            );
            let path = text(file.or(file_path).or(path), 1_000).map(|p| relative(&p, cwd));
            let heading = text(short.or(title), 400);
            let line = line.and_then(Value::count);
            let mut found = stated(path, line, text(category, 200), heading.as_deref(), text(level, 100));
            found.state = match text(outcome, 40).as_deref() {
                Some("fixed") => Some(BaselineState::Resolved),
                Some("skipped") => Some(BaselineState::Unchanged),
                _ => None,
            };
            Some(found)
        })
        .collect()
}

/// `**[MEDIUM] Stale comment**`, `### [P1] …`, `- HIGH: …` is too loose: only a bracketed severity opens a finding.
static HEADING: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[\s>#*_\d.)-]*\[(?P<level>[A-Za-z]{1,10}\d?)\][*_:\s-]*(?P<heading>\S.*)$").ok());
static PLACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?P<path>[A-Za-z0-9_@.~/\\-]*[A-Za-z0-9_-]\.[A-Za-z0-9]{1,6}):(?P<line>\d{1,7})").ok());

/// Findings under headings such as `**[MEDIUM] Title**`, with the place named in the heading or in the three lines below it.
pub fn from_text(answer: &str, cwd: Option<&str>) -> Vec<Stated> {
    let mut end = answer.len().min(MAX_TEXT);
    while !answer.is_char_boundary(end) {
        end -= 1;
    }
    let (Some(heading), Some(place)) = (HEADING.as_ref(), PLACE.as_ref()) else { return Vec::new() };
    let lines: Vec<&str> = answer[..end].lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(hit) = (line.len() < 2_000).then(|| heading.captures(line)).flatten() else { continue };
        let (Some(level), Some(title)) = (hit.name("level"), hit.name("heading")) else { continue };
        if severity(level.as_str()).is_none() {
            continue;
        }
        let near = lines.iter().skip(at).take(4).filter(|l| l.len() < 2_000).find_map(|l| place.captures(l));
        let path = near.as_ref().and_then(|n| n.name("path")).map(|p| relative(p.as_str(), cwd));
        let number = near.as_ref().and_then(|n| n.name("line")).and_then(|l| l.as_str().parse().ok());
        found.push(stated(path, number, None, Some(title.as_str()), Some(level.as_str().to_owned())));
        if found.len() >= MAX_FINDINGS {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reported_findings_have_category_place_and_an_identity_that_outlives_the_line_number() {
        let first =
            from_array(br#"[{"file":"/w/src/a.rs","line":12,"category":"correctness","short_summary":"Off by 1 in loop"}]"#, Some("/w"));
        let again = from_array(
            br#"[{"file":"/w/src/a.rs","line":40,"category":"correctness","short_summary":"off by 2 in loop","outcome":"fixed"}]"#,
            Some("/w"),
        );
        assert_eq!(first[0].location.as_deref(), Some("src/a.rs:12"));
        assert_eq!(first[0].fingerprint, again[0].fingerprint);
        assert_eq!((first[0].basis, again[0].state), (FingerprintBasis::ReviewHeading, Some(BaselineState::Resolved)));
        let structured = from_array(br#"[{"filePath":"b.ts","category":"rate-limiting","severity":"medium","explanation":"x"}]"#, None);
        assert_eq!(structured[0].fingerprint, "rate-limiting:b.ts");
        assert_eq!((structured[0].basis, structured[0].severity), (FingerprintBasis::RuleAndFile, Some(Severity::Minor)));
    }

    #[test]
    fn headings_with_a_bracketed_severity_are_findings_and_counts_by_severity_are_none() {
        let text = "- CRITICAL: 0\n- MEDIUM: 2\n\n**[MEDIUM] Stale comment**\nFile: `.github/workflows/ci.yml:48-49`\n\n### [P1] Lost update\nno place\n[x] done\n- [ ] todo";
        let found = from_text(text, None);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].location.as_deref(), Some(".github/workflows/ci.yml:48"));
        assert_eq!((found[0].severity, found[1].severity), (Some(Severity::Minor), Some(Severity::Major)));
        assert_eq!(found[1].location, None);
    }
}
