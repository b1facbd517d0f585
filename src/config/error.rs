//! Owns what can be wrong with `mechanic.toml`, in words that say file, line, key and remedy.

use std::ops::Range;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::file::meant;

/// Why a configuration cannot be used. All of them are the user's to mend.
#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("failed to read {}: {source}", file.display())]
    Read {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{}:{line}: {what}; {remedy}", file.display())]
    Invalid { file: PathBuf, line: usize, what: String, remedy: String },
}

impl ConfigError {
    /// An error of the TOML reader.
    pub(super) fn toml(file: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        let span = error.span().unwrap_or(0..0);
        let key = key_at(text, span.start);
        let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
        let (what, remedy) = match (unknown, key) {
            (Some(key), _) => {
                let remedy = match meant(key) {
                    Some(key) => format!("did you mean `{key}`?"),
                    None => "remove it; `mechanic init` writes a file with every key".to_owned(),
                };
                (format!("unknown key `{key}`"), remedy)
            }
            (None, Some(key)) if message.starts_with("invalid type") || message.starts_with("unknown variant") => {
                (format!("{key}: {message}"), "`mechanic init` writes a file that shows every key with its form".to_owned())
            }
            _ => (format!("this line cannot be read: {message}"), "mend it as TOML (https://toml.io)".to_owned()),
        };
        ConfigError::Invalid { file: file.to_owned(), line: line_of(text, span.start), what, remedy }
    }

    /// A value that is read but makes no sense.
    pub(super) fn value(file: &Path, text: &str, span: Range<usize>, key: &str, what: String, remedy: &str) -> ConfigError {
        ConfigError::Invalid {
            file: file.to_owned(),
            line: line_of(text, span.start),
            what: format!("{key}: {what}"),
            remedy: remedy.to_owned(),
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|b| *b == b'\n').count() + 1
}

/// The key on the line of `offset`.
fn key_at(text: &str, offset: usize) -> Option<&str> {
    let line = text.lines().nth(line_of(text, offset) - 1)?;
    let (key, _) = line.split_once('=')?;
    Some(key.trim()).filter(|k| !k.is_empty())
}

/// The candidate at most two edits away, if any.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    candidates.iter().map(|c| (edits(word, c), *c)).filter(|(n, c)| *n <= 2 && *n < c.len()).min().map(|(_, c)| c)
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let here = (*cell + 1).min(left + 1).min(diagonal + usize::from(x != *y));
            diagonal = *cell;
            *cell = here;
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_only_when_it_is_near() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(nearest("timezon", &["timezone", "lake"]), Some("timezone"));
        assert_eq!(nearest("colour", &["timezone", "lake"]), None);
        assert_eq!(nearest("x", &["a"]), None);
    }
}
