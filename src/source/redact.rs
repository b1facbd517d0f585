//! Owns redaction: what is taken out of a source's own words before anybody sees them.
//!
//! Rather one identifier too many is taken out than one secret too few. Commit shas, digests of 64 digits and UUIDs stay: they are
//! what a reader looks for.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// One kind of secret: the name that stands in its place, and how it looks. Where the pattern has a group `keep`, that part stays.
struct Rule {
    name: &'static str,
    pattern: Regex,
}

fn rule(name: &'static str, pattern: &str) -> Rule {
    Rule { name, pattern: Regex::new(pattern).expect("the pattern is a constant") }
}

/// In this order: longer shapes come before shapes that occur in them.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("private-key", r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\z)"),
        rule("jwt", r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"),
        rule("credentials", r"(?P<keep>\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@:\x22']*:[^\s/@\x22']+@"),
        rule("credentials", r"(?P<keep>\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@\x22']{8,}@"),
        rule(
            "header",
            r"(?i)(?P<keep>\b(?:proxy-)?authorization\b[\x22'\\]*\s*[:=]\s*[\x22'\\]*)(?:(?:bearer|basic|token|digest)\s+)?[^\s\x22',;\\\[][^\s\x22',;\\]*",
        ),
        rule("bearer", r"(?i)(?P<keep>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}"),
        rule("header", r"(?i)(?P<keep>\b(?:set-)?cookie\b[\x22'\\]*\s*:\s*[\x22'\\]*)[^\s\x22'\\\[][^\r\n\x22'\\]*"),
        rule(
            "key",
            r"(?x)\b(?:sk-[A-Za-z0-9_-]{16,} | [sr]k_(?:live|test)_[A-Za-z0-9]{8,} | whsec_[A-Za-z0-9]{8,}
              | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_[A-Za-z0-9_]{16,} | glpat-[A-Za-z0-9_-]{16,} | xox[a-z]-[A-Za-z0-9-]{8,} | xapp-[A-Za-z0-9-]{8,}
              | (?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{12,} | AIza[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_.-]{16,}
              | npm_[A-Za-z0-9]{16,} | pypi-[A-Za-z0-9_-]{16,} | hf_[A-Za-z0-9]{16,} | dop_v1_[a-f0-9]{16,} | shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,}
              | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | dckr_pat_[A-Za-z0-9_-]{16,} | lin_api_[A-Za-z0-9]{16,} | tvly-[A-Za-z0-9-]{16,} | gsk_[A-Za-z0-9]{16,}
              | pplx-[A-Za-z0-9]{16,} | xai-[A-Za-z0-9]{16,} | AGE-SECRET-KEY-1[A-Z0-9]{16,})",
        ),
        rule(
            "secret",
            r"(?i)(?P<keep>[A-Za-z0-9_.-]*(?:passw(?:or)?d|passphrase|pwd|secret|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|credential|(?:access|auth|refresh|session|id|api|bearer|bot|npm|github|gitlab|deploy)[_-]?token|[_-]token)s?[\x22'\\]*\s*(?:=|:|=>)\s*[\x22'\\]*)[^\s\x22',;&)\]}\\\[][^\s\x22',;&)\]}\\]{2,}",
        ),
        rule("secret", r"(?P<keep>\bTOKEN[\x22'\\]*\s*[=:]\s*[\x22'\\]*)[^\s\x22',;&)\]}\\\[][^\s\x22',;&)\]}\\]{2,}"),
        rule("e-mail", r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"),
    ]
});

/// A home directory and the name in it.
static HOMES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?i)(?:[a-z]:)?[\\/]+(?:home|users)[\\/]+[^\\/\s"'<>|:;,)\]}]+"#).expect("the pattern is a constant"));

/// Runs of the characters that keys are made of.
static RUNS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9_+/=-]{24,}").expect("the pattern is a constant"));

/// The text with secrets, addresses and home directories taken out, each replaced by `[redacted: kind]`; a home directory by `~`.
pub fn redact(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    for rule in RULES.iter() {
        let replace = |c: &Captures<'_>| format!("{}[redacted: {}]", c.name("keep").map_or("", |k| k.as_str()), rule.name);
        if let Cow::Owned(new) = rule.pattern.replace_all(&text, replace) {
            text = Cow::Owned(new);
        }
    }
    if let Some(home) =
        std::env::home_dir().and_then(|h| h.to_str().map(str::to_owned)).filter(|h| h.len() > 1 && text.contains(h.as_str()))
    {
        text = Cow::Owned(cut_own_home(&text, &home));
    }
    if let Cow::Owned(new) = HOMES.replace_all(&text, "~") {
        text = Cow::Owned(new);
    }
    let runs = RUNS.replace_all(&text, |c: &Captures<'_>| if is_key_like(&c[0]) { "[redacted: key]".to_owned() } else { c[0].to_owned() });
    runs.into_owned()
}

/// Only where a path ends or goes on after it: `/root` is no part of `/rooted`.
fn cut_own_home(text: &str, home: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(home) {
        let (before, after) = rest.split_at(at);
        let after = after.get(home.len()..).unwrap_or("");
        let begins = !before.ends_with(|c: char| c.is_alphanumeric() || c == '.' || c == '_' || c == '-');
        let ends = !after.starts_with(|c: char| c.is_alphanumeric() || c == '.' || c == '_' || c == '-');
        out.push_str(before);
        out.push_str(if begins && ends { "~" } else { home });
        rest = after;
    }
    out + rest
}

/// Whether a run of characters looks random: long, letters and digits mixed, no words. Shas, digests and UUIDs are not keys.
fn is_key_like(run: &str) -> bool {
    let hex = run.bytes().all(|b| b.is_ascii_hexdigit());
    if hex {
        return run.len() >= 32
            && !matches!(run.len(), 40 | 64)
            && run.bytes().any(|b| b.is_ascii_digit())
            && run.bytes().any(|b| b.is_ascii_alphabetic());
    }
    // Paths and hyphenated names are judged by their parts; base64 may hold `/`, so a long part is enough.
    run.split(['/', '-', '_', '=']).any(|part| part.len() >= 20 && is_random(part))
        || (run.len() >= 32 && !run.contains(['/', '-', '_']) && is_random(run))
}

/// Digits, small and capital letters with frequent changes between them: words and numbers change rarely.
fn is_random(part: &str) -> bool {
    let class = |b: u8| match b {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let bytes = part.as_bytes();
    if bytes.iter().all(u8::is_ascii_hexdigit) && matches!(bytes.len(), 40 | 64) {
        return false;
    }
    let has = |k: u8| bytes.iter().any(|b| class(*b) == k);
    let changes = bytes.windows(2).filter(|w| matches!(w, [a, b] if class(*a) != class(*b))).count();
    has(0) && (has(1) || has(2)) && changes * 5 >= bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Put together here so that no text of this file looks like a key of somebody.
    fn key(prefix: &str, length: usize) -> String {
        prefix.to_owned() + &"aB3dE6gH9jK2mN5pQ8rS1tU4".chars().cycle().take(length).collect::<String>()
    }

    #[test]
    fn keys_of_known_shapes_are_taken_out_whole() {
        for prefix in ["sk-", "sk-ant-api03-", "ghp_", "github_pat_", "glpat-", "xoxb-", "npm_", "hf_", "AIza", "sk_live_"] {
            let secret = key(prefix, 36);
            let text = redact(&format!("use {secret} now"));
            assert_eq!(text, "use [redacted: key] now", "{prefix}");
        }
        assert_eq!(redact(&format!("id {} end", "AKIA".to_owned() + &"Q7".repeat(8))), "id [redacted: key] end");
    }

    #[test]
    fn headers_assignments_and_addresses_with_passwords_lose_their_value_and_keep_their_name() {
        for (text, expected) in [
            ("Authorization: Bearer abcdef.123456", "Authorization: [redacted: header]"),
            ("curl -H 'authorization: token abc123'", "curl -H 'authorization: [redacted: header]'"),
            ("bearer abcdefgh12345", "bearer [redacted: bearer]"),
            ("DB_PASSWORD=hunter2 make", "DB_PASSWORD=[redacted: secret] make"),
            (r#"{"api_key": "abc123", "x": 1}"#, r#"{"api_key": "[redacted: secret]", "x": 1}"#),
            (r#"{\"client_secret\":\"abc123\"}"#, r#"{\"client_secret\":\"[redacted: secret]\"}"#),
            ("GITHUB_TOKEN=abc123", "GITHUB_TOKEN=[redacted: secret]"),
            ("postgres://ann:hunter2@db/x", "postgres://[redacted: credentials]db/x"),
            ("Cookie: a=b; c=d", "Cookie: [redacted: header]"),
            ("mail ann.b+c@mail.example.org now", "mail [redacted: e-mail] now"),
        ] {
            assert_eq!(redact(text), expected);
            assert_eq!(redact(expected), expected);
        }
    }

    #[test]
    fn tokens_that_are_spread_over_lines_are_taken_out() {
        let pem = "before -----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY----- after";
        assert_eq!(redact(pem), "before [redacted: private-key] after");
        assert_eq!(redact("-----BEGIN PRIVATE KEY-----\ncut off"), "[redacted: private-key]");
        let jwt = format!("eyJhbGciOi.{}.{}", key("eyJ", 20), key("", 20));
        assert_eq!(redact(&format!("t {jwt}")), "t [redacted: jwt]");
    }

    #[test]
    fn home_directories_become_a_tilde() {
        assert_eq!(redact("at /home/ann/loom/a.rs:3 and /Users/bob/x"), "at ~/loom/a.rs:3 and ~/x");
        assert_eq!(redact(r"C:\Users\Ann\loom"), r"~\loom");
        assert_eq!(redact(r"C:\\Users\\Ann\\loom"), r"~\\loom");
        assert_eq!(cut_own_home("/srv/ann/x /srv/anna /srv/ann /var/srv/ann", "/srv/ann"), "~/x /srv/anna ~ /var/srv/ann");
    }

    #[test]
    fn what_a_reader_looks_for_stays() {
        for text in [
            "commit 0123456789abcdef0123456789abcdef01234567 judged",
            "run 11111111-2222-3333-4444-555555555555",
            "src/source/delivery_harness/sensor_evidence.rs:120 cargo test --no-default-features --lib",
            "gate_merge_closeout failed at trace-consistency: 3 of 12 output tokens",
            "a_test_name_that_is_rather_long_and_ends_in_a_number_12",
            "the token count: 12 tokens, monkey: banana",
            "feature/issue-07-parse-dates-of-every-era",
            "2026-07-04T15:13:37.123456Z",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn random_runs_without_a_known_shape_are_taken_out() {
        assert_eq!(redact(&format!("v {}", key("", 40))), "v [redacted: key]");
        assert_eq!(redact("v 0123456789abcdef0123456789abcdef"), "v [redacted: key]");
    }

    proptest! {
        #[test]
        fn any_text_can_be_redacted_and_redacting_twice_changes_nothing_more(text in "\\PC{0,200}") {
            let once = redact(&text);
            prop_assert_eq!(redact(&once), once);
        }

        #[test]
        fn a_key_is_found_wherever_it_stands(before in "[ a-z.,(\"]{0,20}", after in "[ .,)\"]{1}[ a-z]{0,20}") {
            let secret = key("ghp_", 36);
            let text = redact(&format!("{before} {secret}{after}"));
            prop_assert!(!text.contains(&secret));
        }
    }
}
