//! Owns whether a fail names what it should: a fail for another reason is no catch.

use std::collections::BTreeMap;

use regex::Regex;

use super::Finding;
use crate::replay::fixture::Named;

/// Whether findings or output name what is expected: every key given must hold, rule and fingerprint of one finding.
///
/// A validator that lists no findings is taken at its word: rule and fingerprint must stand in its output.
pub fn names(named: &Named, findings: &[Finding], output: &str, classes: &BTreeMap<String, Vec<Regex>>) -> bool {
    let text = named.text.as_deref().is_none_or(|t| says(t, findings, output));
    let class = named.class.as_deref().is_none_or(|class| {
        let patterns = classes.get(class).map_or(&[][..], Vec::as_slice);
        patterns.iter().any(|p| p.is_match(output) || findings.iter().filter_map(|f| f.message.as_deref()).any(|m| p.is_match(m)))
    });
    let is = |wanted: &Option<String>, got: &Option<String>| wanted.is_none() || wanted == got;
    let listed = findings.iter().any(|f| f.rule.is_some() || f.fingerprint.is_some());
    let finding = if named.rule.is_none() && named.fingerprint.is_none() {
        true
    } else if listed {
        findings.iter().any(|f| is(&named.rule, &f.rule) && is(&named.fingerprint, &f.fingerprint))
    } else {
        [&named.rule, &named.fingerprint].into_iter().flatten().all(|word| stands_in(word, output))
    };
    text && class && finding
}

fn says(pattern: &str, findings: &[Finding], output: &str) -> bool {
    // The pattern was checked when the fixture was read.
    Regex::new(pattern).is_ok_and(|p| p.is_match(output) || findings.iter().filter_map(|f| f.message.as_deref()).any(|m| p.is_match(m)))
}

/// Whether a word stands in a text by itself: `rule-1` does not stand in `rule-10`.
fn stands_in(word: &str, text: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(part);
        let after = text[at + word.len()..].chars().next().is_some_and(part);
        !before && !after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_given_must_hold_and_of_one_finding() {
        let f = |rule: &str, print: &str| Finding {
            rule: Some(rule.into()),
            fingerprint: Some(print.into()),
            message: Some("gate open".into()),
        };
        let findings = [f("a", "1"), f("b", "2")];
        let classes = BTreeMap::from([("open".to_owned(), vec![Regex::new("(?i)OPEN").unwrap()])]);
        let named = |rule: Option<&str>, print: Option<&str>, class: Option<&str>, text: Option<&str>| {
            let own = |t: Option<&str>| t.map(str::to_owned);
            names(&Named { rule: own(rule), fingerprint: own(print), class: own(class), text: own(text) }, &findings, "output", &classes)
        };
        assert!(named(Some("a"), Some("1"), Some("open"), Some("out.ut")));
        assert!(!named(Some("a"), Some("2"), None, None));
        assert!(!named(Some("a"), None, Some("other"), None));
        assert!(!named(Some("a"), None, None, Some("^never$")));
        assert!(!named(Some("c"), None, None, None));
        let plain = |rule: &str| names(&Named { rule: Some(rule.into()), ..Named::default() }, &[], "FAIL rule-10: x", &classes);
        assert!(plain("rule-10") && !plain("rule-1"));
    }
}
