//! Owns the escapes of text that came from logs: what a reader of Markdown, HTML or a terminal must never be made to obey. Every escape begins by making the text visible.

use crate::plain::is_after_www;
pub use crate::plain::{html, visible};

/// Text for Markdown prose and table cells: nothing in it starts a link, an image, HTML, emphasis, a heading or a new cell.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let text = visible(text);
    for (i, c) in text.char_indices() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '!' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '#' | '+' | '-' | '=' if i == 0 => {
                out.push('\\');
                out.push(c);
            }
            // A bare address or a mention would become a link or a notification.
            '@' => out.push_str("&#64;"),
            ':' if text[i..].starts_with("://") => out.push_str("&#58;"),
            '.' if is_after_www(&text[..i]) => out.push_str("&#46;"),
            c => out.push(c),
        }
    }
    out
}

/// Text as a Markdown code span that its own backticks cannot end.
pub fn code(text: &str) -> String {
    let text = visible(text);
    if text.trim().is_empty() {
        return String::from("–");
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The same inside a table, where a bar would end the cell.
pub fn code_in_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// The text in at most `width` characters, the middle left out: both ends of a gate's name tell it apart.
pub fn shorten(text: &str, width: usize) -> String {
    let text = visible(text);
    let n = text.chars().count();
    if n <= width {
        return text;
    }
    if width < 4 {
        return text.chars().take(width).collect();
    }
    let head = (width - 1).div_ceil(2);
    let tail = width - 1 - head;
    text.chars().take(head).chain(std::iter::once('…')).chain(text.chars().skip(n - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_or_turns_the_text_is_shown_instead() {
        assert_eq!(visible("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(visible("user\u{202e}gpj.exe"), "user\\u{202e}gpj.exe");
        assert_eq!(visible("one\r\ntwo\u{200b}\u{9b}31m"), "one  two\\u{200b}\\u{9b}31m");
        assert_eq!(visible("Grüße, 世界"), "Grüße, 世界");
    }

    #[test]
    fn markdown_of_a_log_makes_no_link_image_html_or_cell() {
        assert_eq!(markdown("![x](http://e.vil/p.png)"), "\\!\\[x\\](http&#58;//e.vil/p.png)");
        assert_eq!(markdown("<script>&|`@all"), "&lt;script&gt;&amp;\\|\\`&#64;all");
        assert_eq!(markdown("# head"), "\\# head");
        assert_eq!(markdown("www.e.vil WWW.e.vil"), "www&#46;e.vil WWW&#46;e.vil");
        assert_eq!(markdown("a_b*c"), "a\\_b\\*c");
    }

    #[test]
    fn a_code_span_cannot_be_ended_by_its_text() {
        assert_eq!(code("gate_x"), "`gate_x`");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`a"), "`` `a ``");
        assert_eq!(code("a|b"), "`a|b`");
        assert_eq!(code_in_cell("a|b"), "`a\\|b`");
        assert_eq!(code(" \n"), "–");
    }

    #[test]
    fn a_long_name_keeps_both_ends_and_the_width() {
        assert_eq!(shorten("PreToolUse:context-budget.mjs", 15), "PreTool…get.mjs");
        assert_eq!(shorten("short", 15), "short");
        assert_eq!(shorten("abcdef", 3), "abc");
    }
}
