//! Owns `Rich`: a sentence of the report in which names taken from logs stay apart from our own words, so that each medium escapes them its way.

use serde::{Serialize, Serializer};

use super::escape;

/// Our words and foreign names, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rich(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Words(String),
    Name(String),
    Command(String),
}

impl Rich {
    pub fn words(text: impl Into<String>) -> Rich {
        Rich::default().then(text)
    }

    /// Adds our own words; nothing in them may come from a log.
    pub fn then(mut self, text: impl Into<String>) -> Rich {
        self.0.push(Piece::Words(text.into()));
        self
    }

    /// Adds a name that came from a log or a file.
    pub fn name(mut self, name: &str) -> Rich {
        self.0.push(Piece::Name(escape::visible(name)));
        self
    }

    /// Adds up to `most` names with commas between, and how many more there are.
    pub fn names<'a>(mut self, names: impl IntoIterator<Item = &'a str>, most: usize) -> Rich {
        let names: Vec<&str> = names.into_iter().collect();
        for (i, name) in names.iter().take(most).enumerate() {
            if i > 0 {
                self = self.then(", ");
            }
            self = self.name(name);
        }
        if names.len() > most { self.then(format!(" and {} more", names.len() - most)) } else { self }
    }

    /// Adds a `mechanic` command; its arguments are quoted for a shell.
    pub fn command(mut self, args: &[&str]) -> Rich {
        self.0.push(Piece::Command(command(args)));
        self
    }

    pub fn to_text(&self) -> String {
        self.0
            .iter()
            .map(|p| match p {
                Piece::Words(t) | Piece::Name(t) | Piece::Command(t) => t.as_str(),
            })
            .collect()
    }

    pub fn to_markdown(&self) -> String {
        self.0
            .iter()
            .map(|p| match p {
                Piece::Words(t) => t.clone(),
                Piece::Name(t) | Piece::Command(t) => escape::code(t),
            })
            .collect()
    }

    pub fn to_html(&self) -> String {
        self.0
            .iter()
            .map(|p| match p {
                Piece::Words(t) => escape::html(t),
                Piece::Name(t) => format!("<code>{}</code>", escape::html(t)),
                Piece::Command(t) => format!("<code class=\"cmd\">{}</code>", escape::html(t)),
            })
            .collect()
    }
}

impl Serialize for Rich {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.to_text())
    }
}

impl From<&str> for Rich {
    fn from(text: &str) -> Rich {
        Rich::words(text)
    }
}

/// The beginning of an id that tells it apart from others; what is no id stays whole.
pub fn short(id: &str) -> &str {
    match id.get(..12) {
        Some(start) if id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()) => start,
        _ => id,
    }
}

/// The command line `mechanic …`, safe to paste into a shell whatever the arguments are.
pub fn command(args: &[&str]) -> String {
    let mut out = String::from("mechanic");
    for (i, arg) in args.iter().enumerate() {
        out.push(' ');
        if i == 1 && arg.starts_with('-') {
            // A name from a log is no option.
            out.push_str("-- ");
        }
        out.push_str(&shell_word(&escape::visible(arg)));
    }
    out
}

fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '=');
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_a_log_is_escaped_in_every_medium() {
        let rich = Rich::words("look at ").name("<b>`x`|\u{1b}[2J");
        assert_eq!(rich.to_text(), "look at <b>`x`|\\u{1b}[2J");
        assert_eq!(rich.to_markdown(), "look at ``<b>`x`|\\u{1b}[2J``");
        assert_eq!(rich.to_html(), "look at <code>&lt;b&gt;`x`|\\u{1b}[2J</code>");
    }

    #[test]
    fn a_command_can_be_pasted_whatever_the_name() {
        assert_eq!(command(&["explain", "PreToolUse:x.mjs"]), "mechanic explain PreToolUse:x.mjs");
        assert_eq!(command(&["explain", "a'; rm -rf ~; '"]), "mechanic explain 'a'\\''; rm -rf ~; '\\'''");
        assert_eq!(command(&["explain", "$(id)"]), "mechanic explain '$(id)'");
    }

    #[test]
    fn an_id_is_shortened_and_a_name_is_not() {
        assert_eq!(short("3b9efc7f726ad4a67397615f8402cb69"), "3b9efc7f726a");
        assert_eq!(short("PreToolUse:a-hook-whose-name-32.x"), "PreToolUse:a-hook-whose-name-32.x");
    }

    #[test]
    fn a_long_list_of_names_says_how_many_more() {
        assert_eq!(Rich::default().names(["a", "b", "c"], 2).to_text(), "a, b and 1 more");
    }
}
