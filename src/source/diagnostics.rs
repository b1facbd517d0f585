//! Owns reading compiler and linter lines in the text of a gate that fired: code and file make a defect's identity, nothing else
//! of the text leaves here.

use std::sync::LazyLock;

use regex::Regex;

/// Bytes of a text that are read.
const MAX_BYTES: usize = 64 << 10;
/// Diagnostics taken from one text.
const MAX_FOUND: usize = 50;

/// One reported place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub path: String,
    pub line: u32,
    /// Error code or rule id (`TS2304`, `E501`, `no-unused-vars`). `None` where the line names none.
    pub code: Option<String>,
    pub is_warning: bool,
}

/// `src/a.ts(12,5): error TS2304: …`, `src/a.ts:12:5 - error TS2304: …`, `src/a.py:3:1: E501 …`, `a.go:7:2: undefined …`.
static LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?m)^[ \t]*(?P<path>[A-Za-z0-9_@.~\\/\[\]-]{1,200}\.[A-Za-z0-9]{1,6})(?:\((?P<l1>\d{1,7}),\d+\)|:(?P<l2>\d{1,7})(?::\d+)?)(?::| -)[ \t]*(?:(?P<level>error|warning|Error|Warning)\b:?[ \t]*)?(?:\[?(?P<code>[A-Z]{1,5}\d{2,5})\]?\b)?",
    )
    .ok()
});

/// The diagnostics of a text, in its order, each place and code once.
pub fn find(text: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let Some(line) = LINE.as_ref() else { return found };
    for hit in line.captures_iter(&text[..text.floor_char_boundary(MAX_BYTES)]) {
        let Some(path) = hit.name("path") else { continue };
        let Some(at) = hit.name("l1").or(hit.name("l2")).and_then(|l| l.as_str().parse().ok()) else { continue };
        let diagnostic = Diagnostic {
            path: path.as_str().replace('\\', "/"),
            line: at,
            code: hit.name("code").map(|c| c.as_str().to_owned()),
            is_warning: hit.name("level").is_some_and(|l| l.as_str().eq_ignore_ascii_case("warning")),
        };
        if !found.contains(&diagnostic) {
            found.push(diagnostic);
        }
        if found.len() >= MAX_FOUND {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_line_and_code_are_found_in_the_common_shapes() {
        let text = "Type check failed:\nsrc/a.tsx(12,5): error TS2304: Cannot find name 'x'.\n  src/b.ts:3:1 - warning TS6133: unused\npkg/c.py:9:80: E501 line too long\nmain.go:7:2: undefined: y\nsrc/a.tsx(12,5): error TS2304: again\nsee http://x.y/z:1\nat 12:30:05 it failed";
        let found: Vec<(String, u32, Option<&str>)> = find(text)
            .iter()
            .map(|d| (d.path.clone(), d.line, d.code.as_deref().map(|c| Box::leak(c.to_owned().into_boxed_str()) as &str)))
            .collect();
        assert_eq!(
            found,
            vec![
                ("src/a.tsx".into(), 12, Some("TS2304")),
                ("src/b.ts".into(), 3, Some("TS6133")),
                ("pkg/c.py".into(), 9, Some("E501")),
                ("main.go".into(), 7, None)
            ]
        );
        assert!(find(text)[1].is_warning);
        assert!(find("nothing here\n").is_empty());
    }
}
