//! Owns the cause of a hook's failure: an identifier made from its error text, so that one broken state has one fingerprint.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::id::digest;

/// Bytes of an error text that are looked at.
const MAX_BYTES: usize = 16 << 10;

struct Shape {
    pattern: Regex,
    cause: &'static str,
}

/// Known shapes, the most telling first. Group 1, where there is one, is an identifier (a program, a module, a field).
static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    [
        (r"(?i)the term '([^'\s]{1,60})' is not recognized", "command_not_found"),
        (r"(?m)([\w./\\-]{1,60}): (?:line \d+: )?(?:command )?not found\s*$", "command_not_found"),
        (r"command not found: ([\w./\\-]{1,60})", "command_not_found"),
        (r"'([^'\s]{1,60})' is not recognized as an internal or external command", "command_not_found"),
        (r"Cannot find module '([^'\s]{1,200})'", "module_not_found"),
        (r"(?:ModuleNotFoundError|ImportError): No module named '?([\w.]{1,80})", "module_not_found"),
        (r"(?i)\b([a-z][\w.-]{0,60}) (?:is|are) (?:a )?(?:required|missing|mandatory)\b", "required"),
        (r"(?i)\b([a-z][a-z_-]{0,30}(?: [a-z][a-z_-]{0,30})?) (?:was )?not (?:specified|provided|supplied|set)\b", "not_given"),
        (r"(?i)permission denied", "permission_denied"),
        (r"(?i)syntax error", "syntax_error"),
        (r"(?i)no such file or directory|ENOENT|cannot find the (?:file|path)", "no_such_file"),
        (r"(?i)unexpected (?:token|end of JSON)|JSONDecodeError|invalid JSON", "invalid_json"),
        (r"(?i)ECONNREFUSED|connection refused|ETIMEDOUT|ENOTFOUND|could not resolve host", "network"),
        (r"(?i)timed? ?out", "timeout"),
    ]
    .into_iter()
    .filter_map(|(pattern, cause)| Some(Shape { pattern: Regex::new(pattern).ok()?, cause }))
    .collect()
});

static NOISE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\x1b\[[0-9;]*[A-Za-z]").ok());

/// An identifier for what went wrong: `command_not_found:sh`, `required:tool_use_id`, `syntax_error`; a text of no known shape
/// becomes `error-<digest>` of its words, paths and numbers removed.
pub fn cause(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let text = match NOISE.as_ref() {
        Some(noise) => noise.replace_all(text, ""),
        None => text.into(),
    };
    for shape in SHAPES.iter() {
        if let Some(found) = shape.pattern.captures(&text) {
            return match found.get(1) {
                Some(name) => format!("{}:{}", shape.cause, identifier(name.as_str())),
                None => shape.cause.to_owned(),
            };
        }
    }
    format!("error-{}", &digest(words(&text).as_bytes())[..8])
}

/// Whether the cause is that the hook took too long.
pub fn is_timeout(cause: &str) -> bool {
    cause == "timeout"
}

/// Last part of a path, spaces as `_`: nothing else of the text is kept.
fn identifier(text: &str) -> String {
    let name = text.trim().rsplit(['/', '\\']).next().unwrap_or("");
    let name: String = name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ' ')).take(60).collect();
    name.trim().replace(' ', "_")
}

/// The words of a text without what changes from one run to the next.
fn words(text: &str) -> String {
    let kept = text.split_whitespace().filter(|w| !w.contains(['/', '\\']) && !w.chars().any(|c| c.is_ascii_digit()));
    kept.take(200).collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_broken_state_has_one_cause_whatever_its_paths_colours_and_numbers() {
        let windows = "Error: Hook command failed with code 1\nStderr: \u{1b}[31;1msh: \u{1b}[31;1mThe term 'sh' is not recognized as a name of a cmdlet";
        assert_eq!(cause(windows), "command_not_found:sh");
        assert_eq!(cause("/bin/bash: line 1: sh: command not found\n"), "command_not_found:sh");
        assert_eq!(cause("Stderr: failed to capture pre-task state: tool_use_id is required\n"), "required:tool_use_id");
        assert_eq!(cause("Stderr: transcript file not specified\n"), "not_given:transcript_file");
        assert_eq!(cause("exit: -c: line 2: syntax error: unexpected end of file from `if' command"), "syntax_error");
        assert_eq!(cause("Error: Cannot find module '/home/ann/x/guard.mjs'"), "module_not_found:guard.mjs");
        let a = cause("Stderr: boom at /home/ann/x.sh:12 after 33 ms");
        assert_eq!(a, cause("Stderr: boom at /tmp/y.sh:99 after 4 ms"));
        assert!(a.starts_with("error-"), "{a}");
        assert!(is_timeout(&cause("hook timed out after 30 s")));
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_a_bounded_identifier(text in "(?s).{0,400}") {
            let c = cause(&text);
            proptest::prop_assert!(c.len() <= 400 && !c.chars().any(char::is_control));
        }
    }
}
