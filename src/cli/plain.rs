//! Owns plain terminal text: nothing from a log can move the cursor, change colours or hide text.

/// Control characters, and those that reorder or hide text, as visible escapes; line ends and tabs too.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c.is_control() || is_hidden(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out
}

/// Bidirectional controls, zero-width characters, line separators and tags: they make text look other than it is.
fn is_hidden(c: char) -> bool {
    matches!(u32::from(c), 0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb | 0xe0000..=0xe007f)
}

/// At most `width` characters, the cut marked by `…`.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A path cut in the middle: its beginning and its file name tell most.
pub fn cut_middle(text: &str, width: usize) -> String {
    let n = text.chars().count();
    if n <= width || width < 5 {
        return cut(text, width);
    }
    let tail = (width - 1) * 2 / 3;
    let head = width - 1 - tail;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(n - tail).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_passes() {
        let escaped = escape("a\u{1b}[31mred\u{7}\u{202e}x\n\u{9b}é…");
        assert_eq!(escaped, "a\\u{1b}[31mred\\u{7}\\u{202e}x\\n\\u{9b}é…");
    }

    #[test]
    fn cut_text_has_the_width_asked_for() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abc", 4), "abc");
        let path = cut_middle("/home/ann/.claude/projects/x/session.jsonl", 20);
        assert_eq!((path.chars().count(), path.ends_with("session.jsonl")), (20, false));
        assert!(path.starts_with("/home") && path.ends_with("ion.jsonl"));
    }
}
