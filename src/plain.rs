//! Owns plain text: nothing from a log can move the cursor, change colours, hide text or turn its direction, in whatever medium.

/// Unseen characters as visible escapes; line ends and tabs too.
pub fn escape(text: &str) -> String {
    shown(text, |c| match c {
        '\n' => Some("\\n"),
        '\r' => Some("\\r"),
        '\t' => Some("\\t"),
        _ => None,
    })
}

/// Unseen characters as visible escapes; line ends and tabs as spaces, for text that is laid out.
pub fn visible(text: &str) -> String {
    shown(text, |c| matches!(c, '\n' | '\r' | '\t').then_some(" "))
}

fn shown(text: &str, instead: impl Fn(char) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match instead(c) {
            Some(written) => out.push_str(written),
            None if is_unseen(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            None => out.push(c),
        }
    }
    out
}

/// Controls, bidirectional marks, zero-width characters, line separators, variation selectors, tags: what changes a text without being seen.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c), 0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff
            | 0xfff9..=0xfffb | 0xe0000..=0xe0fff)
}

/// Whether a dot after this would begin an address without a scheme, as Markdown readers link it: it ends in `www`.
pub fn is_after_www(before: &str) -> bool {
    before.len() >= 3 && before.is_char_boundary(before.len() - 3) && before[before.len() - 3..].eq_ignore_ascii_case("www")
}

/// Text for HTML and XML, in content and in quoted attributes.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in visible(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
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
        assert_eq!(visible("one\r\ntwo\u{200b}\u{9b}31m\u{ad}\u{e0041}\u{fe0f}"), "one  two\\u{200b}\\u{9b}31m\\u{ad}\\u{e0041}\\u{fe0f}");
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
