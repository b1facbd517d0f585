//! Owns what can be wrong with a corpus, its validators or a command line, in words that say what, where and what to do.

use std::fmt;
use std::path::Path;

use crate::config::error::nearest;
use crate::plain::escape;

/// What the user must mend before anything is replayed; every problem found, not only the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong(pub Vec<String>);

pub type Result<T> = std::result::Result<T, Wrong>;

impl Wrong {
    pub fn one(text: impl Into<String>) -> Wrong {
        Wrong(vec![text.into()])
    }

    /// A problem of one file.
    pub fn at(file: &Path, text: impl fmt::Display) -> Wrong {
        Wrong(vec![format!("{}: {text}", shown(file))])
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Wrong {}

/// A path as it may be printed.
pub fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy())
}

/// Collects problems; the value only where there is none.
#[derive(Debug, Default)]
pub struct Problems(Vec<String>);

impl Problems {
    pub fn push(&mut self, text: impl Into<String>) {
        self.0.push(text.into());
    }

    /// The value, or its problems kept.
    pub fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(Wrong(lines)) => {
                self.0.extend(lines);
                None
            }
        }
    }

    pub fn done<T>(self, value: T) -> Result<T> {
        if self.0.is_empty() { Ok(value) } else { Err(Wrong(self.0)) }
    }
}

/// Reads a TOML text; an error says file, line, and the nearest word where a key or value is not known.
pub fn toml<T: serde::de::DeserializeOwned>(file: &Path, text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text.bytes().take(span.start).filter(|b| *b == b'\n').count() + 1);
        Wrong::one(format!("{}:{line}: {}", shown(file), explained(error.message())))
    })
}

/// The message of the TOML reader, with the nearest word.
fn explained(message: &str) -> String {
    let message = message.lines().collect::<Vec<_>>().join(", ");
    let (kind, rest) = match (message.strip_prefix("unknown field `"), message.strip_prefix("unknown variant `")) {
        (Some(rest), _) => ("unknown key", rest),
        (_, Some(rest)) => ("unknown word", rest),
        _ => return escape(&message),
    };
    let (word, expected) = rest.split_once('`').unwrap_or((rest, ""));
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    unknown(kind, word, &known)
}

/// "unknown … `x`; did you mean `y`?", or the list of what is known.
pub fn unknown(kind: &str, word: &str, known: &[&str]) -> String {
    let word = escape(word);
    match nearest(&word, known) {
        Some(near) => format!("{kind} `{word}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("{kind} `{word}`"),
        None => format!("{kind} `{word}`; known: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Example {
        severity: super::super::words::Severity,
        title: String,
    }

    #[test]
    fn an_unknown_key_or_word_is_told_with_its_line_and_the_nearest_known() {
        let read = |text: &str| toml::<Example>(Path::new("a/fixture.toml"), text).unwrap_err().to_string();
        assert_eq!(read("severity = \"major\"\ntitel = \"x\"\n"), "a/fixture.toml:2: unknown key `titel`; did you mean `title`?");
        assert_eq!(read("severity = \"mayor\"\ntitle = \"x\"\n"), "a/fixture.toml:1: unknown word `mayor`; did you mean `major`?");
        assert!(read("severity = \"zzzzzzzz\"\n").contains("known: critical, major, minor, info"));
        assert!(read("title = \"x\"\n").contains("missing field `severity`"));
    }
}
