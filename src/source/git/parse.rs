//! Owns what is read from one commit: the issue it names, session and agent trailers, what it reverts, its version tag.

use std::sync::LazyLock;

use regex::Regex;

use crate::source::hook_identity::clean_name;

/// What `git log` says of one commit, in the order of [`super::FORMAT`].
#[derive(Debug, Default, Clone)]
pub struct Raw {
    pub sha: String,
    pub committed: String,
    pub committer: String,
    pub refs: String,
    pub message: String,
}

/// Names the parts of a commit that are kept; the message itself never is.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Parsed {
    pub task: Option<String>,
    pub sessions: Vec<String>,
    pub co_authors: Vec<String>,
    pub reverts: Option<String>,
    pub tag: Option<String>,
}

/// Values kept of one kind: a squash commit may repeat hundreds of trailers.
const MAX_TRAILERS: usize = 200;

pub fn parse(raw: &Raw) -> Parsed {
    let subject = raw.message.lines().next().unwrap_or("");
    Parsed {
        task: task_of(subject, &raw.message, &raw.committer),
        sessions: sessions_of(&raw.message),
        co_authors: agents_of(&raw.message),
        reverts: revert_of(&raw.message),
        tag: tag_of(&raw.refs),
    }
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// The issue a commit is for. Branch names (`feature/issue-12-x`, in merge subjects) and `issue-12` come first, then closing
/// words in the body (`Closes #12`), then `(#12)` at the end of the subject. GitHub's own merge commits end in the number of the
/// pull request, which is no issue: there that last number is left out.
fn task_of(subject: &str, message: &str, committer: &str) -> Option<String> {
    static NAMED: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)(?:^|[^A-Za-z0-9])issues?[-_/ ]#?0*([1-9][0-9]{0,8})(?:$|[^A-Za-z0-9])"));
    static CLOSES: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?im)(?:^|[^A-Za-z])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#0*([1-9][0-9]{0,8})(?:$|[^A-Za-z0-9])")
    });
    static NUMBERED: LazyLock<Regex> = LazyLock::new(|| pattern(r"\(#0*([1-9][0-9]{0,8})\)"));
    let first = |regex: &Regex, text: &str| regex.captures(text).map(|c| c[1].to_owned());
    if let Some(task) = first(&NAMED, subject).or_else(|| first(&CLOSES, message)) {
        return Some(task);
    }
    let mut numbers: Vec<&str> = NUMBERED.captures_iter(subject).filter_map(|c| c.get(1)).map(|m| m.as_str()).collect();
    if committer.ends_with("<noreply@github.com>") && subject.trim_end().ends_with(')') {
        numbers.pop();
    }
    numbers.first().map(|n| (*n).to_owned())
}

/// Values of `Copilot-Session:` lines anywhere in the message: squash commits repeat them inside the body.
fn sessions_of(message: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for value in trailer_values(message, "copilot-session") {
        let id_like = (8..=64).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if id_like && !found.iter().any(|f| f == value) && found.len() < MAX_TRAILERS {
            found.push(value.to_owned());
        }
    }
    found
}

/// Agents and models among the co-authors. People are left out: their names are nobody's business here.
fn agents_of(message: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for value in trailer_values(message, "co-authored-by") {
        let Some((name, address)) = value.split_once('<') else { continue };
        let name = clean_name(name);
        if !name.is_empty() && is_agent(&name, address.trim_end_matches('>')) && !found.contains(&name) && found.len() < MAX_TRAILERS {
            found.push(name);
        }
    }
    found
}

/// An agent is told by its vendor's address, not by its name alone: a person may be called Claude.
fn is_agent(name: &str, address: &str) -> bool {
    const VENDORS: &[&str] =
        &["anthropic.com", "openai.com", "cursor.com", "aider.chat", "cognition.ai", "ampcode.com", "opencode.ai", "devin.ai"];
    let (name, address) = (name.to_lowercase(), address.trim().to_lowercase());
    let (local, domain) = address.split_once('@').unwrap_or((&address, ""));
    let local = local.split_once('+').map_or(local, |(_, account)| account);
    name.ends_with("[bot]")
        || local.ends_with("[bot]")
        || VENDORS.iter().any(|v| domain == *v || domain.strip_suffix(v).is_some_and(|rest| rest.ends_with('.')))
        || (domain.ends_with("github.com") && matches!(local, "copilot" | "copilot-swe-agent" | "github-copilot"))
        || (name == "copilot" && domain == "github.com")
}

/// Values of `key: value` lines, whatever the case of the key.
fn trailer_values<'a>(message: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    message.lines().filter_map(move |line| {
        let (name, value) = line.trim_start_matches(['*', '-', ' ', '\t']).split_once(':')?;
        name.trim_end().eq_ignore_ascii_case(key).then(|| value.trim())
    })
}

/// The sha after git's own words `This reverts commit`.
fn revert_of(message: &str) -> Option<String> {
    static REVERTS: LazyLock<Regex> = LazyLock::new(|| pattern(r"This reverts commit ([0-9a-f]{7,64})\b"));
    REVERTS.captures(message).map(|c| c[1].to_owned())
}

/// The version tag among the decorations (`tag: refs/tags/v1.2.3, …`): the first by name that reads as a version.
fn tag_of(refs: &str) -> Option<String> {
    static VERSION: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^(?:[A-Za-z][A-Za-z0-9._-]*[-/])?v?[0-9]+(?:\.[0-9]+)+(?:[-+.][0-9A-Za-z.+-]*)?$"));
    let mut tags: Vec<&str> =
        refs.split(", ").filter_map(|r| r.trim().strip_prefix("tag: refs/tags/")).filter(|t| VERSION.is_match(t)).collect();
    tags.sort_unstable();
    tags.first().map(|t| clean_name(t))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Parsed {
        parse(&Raw { message: text.into(), committer: "Ann <ann@example.org>".into(), ..Raw::default() })
    }

    #[test]
    fn the_issue_is_read_from_branch_names_closing_words_and_subject_numbers() {
        for (text, task) in [
            ("Merge branch 'feature/issue-07-parse-dates'", Some("7")),
            ("Merge pull request #107 from o/feature/issue-97-deviation", Some("97")),
            ("Parse dates (#12)", Some("12")),
            ("Parse dates\n\nCloses #31", Some("31")),
            ("Parse dates for issue 9", Some("9")),
            ("Parse tissue-12 samples", None),
            ("Parse dates #12", None),
            ("issue-0", None),
            ("Parse dates", None),
        ] {
            assert_eq!(message(text).task.as_deref(), task, "{text}");
        }
    }

    #[test]
    fn the_number_github_adds_to_a_squash_commit_is_a_pull_request_and_no_issue() {
        let squash =
            |text: &str| parse(&Raw { message: text.into(), committer: "GitHub <noreply@github.com>".into(), ..Raw::default() }).task;
        assert_eq!(squash("Parse dates (#107)"), None);
        assert_eq!(squash("Parse dates (#97) (#107)").as_deref(), Some("97"));
        assert_eq!(squash("Parse dates (#107)\n\nFixes #97").as_deref(), Some("97"));
    }

    #[test]
    fn session_trailers_are_found_inside_the_body_of_a_squash_commit_once_each() {
        let text = "Parse dates\n\n* one\n\nCopilot-Session: 11111111-2222-3333-4444-555555555555\n\n* two\n\ncopilot-session: 11111111-2222-3333-4444-555555555555\n\
                    Copilot-Session: ../../etc/passwd\nCopilot-Session: aaaaaaaa-2222-3333-4444-555555555555\n";
        assert_eq!(message(text).sessions, ["11111111-2222-3333-4444-555555555555", "aaaaaaaa-2222-3333-4444-555555555555"]);
    }

    #[test]
    fn co_authors_are_kept_when_they_are_agents_and_never_when_they_are_people() {
        let text = "x\n\nCo-authored-by: Copilot <223556219+Copilot@users.noreply.github.com>\nCo-Authored-By: Claude Opus 4.8 <noreply@anthropic.com>\n\
                    Co-authored-by: Claude Martin <claude@example.org>\nCo-authored-by: dependabot[bot] <1+dependabot[bot]@users.noreply.github.com>";
        assert_eq!(message(text).co_authors, ["Copilot", "Claude Opus 4.8", "dependabot[bot]"]);
    }

    #[test]
    fn a_revert_names_the_commit_it_takes_back() {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(message(&format!("Revert \"x\"\n\nThis reverts commit {sha}.")).reverts.as_deref(), Some(sha));
        assert_eq!(message("Revert \"x\"").reverts, None);
    }

    #[test]
    fn only_tags_that_read_as_versions_are_kept() {
        assert_eq!(tag_of("tag: refs/tags/nightly, tag: refs/tags/v0.21.1").as_deref(), Some("v0.21.1"));
        assert_eq!(tag_of("tag: refs/tags/harness-1.2.0-rc.1").as_deref(), Some("harness-1.2.0-rc.1"));
        assert_eq!(tag_of("tag: refs/tags/green-freeze"), None);
        assert_eq!(tag_of(""), None);
    }

    #[test]
    fn a_hostile_message_gives_names_without_control_characters_and_of_bounded_length() {
        let text = format!("x\n\nCo-authored-by: \u{1b}[31mEvil{} <noreply@anthropic.com>", "y".repeat(500));
        let names = message(&text).co_authors;
        assert_eq!(names.len(), 1);
        assert!(names[0].chars().count() <= 120 && !names[0].contains('\u{1b}'));
    }
}
