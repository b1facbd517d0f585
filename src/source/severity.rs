//! Owns the words reviewers use for severities, and where a sentence states one.

use crate::model::vocabulary::Severity;

/// Words at the start of a text among which a severity is looked for.
const LOOK_WORDS: usize = 12;

/// The severity a word names, in any case. `None`: no severity.
pub fn of_word(word: &str) -> Option<Severity> {
    match word.to_ascii_lowercase().as_str() {
        "blocking" | "blocker" | "critical" => Some(Severity::Critical),
        "major" | "high" | "warning" => Some(Severity::Major),
        "medium" | "moderate" | "minor" | "low" | "nit" => Some(Severity::Minor),
        "info" | "suggestion" => Some(Severity::Info),
        _ => None,
    }
}

/// The severity a text states at its start, with the word as written: the first word before a colon or in brackets
/// (`Major: …`, `[minor] …`), else the first in capitals (`NEEDS_REVISION, CRITICAL …`). A word in running text states nothing.
pub fn stated(text: &str) -> Option<(Severity, &str)> {
    let start = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let bracketed = text.trim_start().starts_with(['[', '(', '*']);
    let mut from = 0;
    for at in 0..LOOK_WORDS {
        let rest = start.get(from..)?;
        let skip = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let word_start = &rest[skip..];
        let end = word_start.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word_start.len());
        let (word, after) = word_start.split_at(end);
        if let Some(severity) = of_word(word) {
            let labels = after.starts_with([':', ']', ')', '*']) || after.trim_start().starts_with(['\u{2014}', '\u{2013}']);
            let capitals = word.bytes().all(|b| b.is_ascii_uppercase());
            if capitals || (at == 0 && (labels || bracketed)) {
                return Some((severity, word));
            }
        }
        from += skip + end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_severity_is_stated_by_a_label_or_by_capitals() {
        for (text, severity, word) in [
            ("CRITICAL: a token works twice", Severity::Critical, "CRITICAL"),
            ("[minor] sorted twice", Severity::Minor, "minor"),
            ("Major: the sum is wrong", Severity::Major, "Major"),
            ("**High** \u{2014} logged", Severity::Major, "High"),
            ("NEEDS_REVISION (BLOCKING): lost", Severity::Critical, "BLOCKING"),
            ("major \u{2014} lost", Severity::Major, "major"),
        ] {
            assert_eq!(stated(text), Some((severity, word)), "{text}");
        }
    }

    #[test]
    fn a_word_in_running_text_states_no_severity() {
        for text in
            ["", "4 deferred minors folded into notes", "the critical path is untested", "highly odd", "one low hanging thing", ":::"]
        {
            assert_eq!(stated(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,80}") {
            let _ = stated(&text);
        }
    }
}
