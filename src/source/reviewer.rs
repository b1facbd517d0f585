//! Owns two readings of a sub-agent: whether it was sent to review, and what verdict its last words give. Only names leave it.

use crate::model::vocabulary::{RoleBasis, Verdict};

/// Name stored as the role of a context that reviews.
pub const REVIEWER: &str = "reviewer";

/// What is known of a sub-agent when it starts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Dispatch<'a> {
    /// Type of the agent as declared (`general-purpose`, `car`).
    pub agent_type: Option<&'a str>,
    /// Name given to this one (`car46-review-r2`).
    pub name: Option<&'a str>,
    /// Short description of its task.
    pub description: Option<&'a str>,
    /// The prompt it starts from.
    pub prompt: Option<&'a str>,
}

/// The role of a sub-agent. A task that says *review* makes a reviewer: its name, its description, or what its prompt calls it
/// ("You are an adversarial reviewer"). A prompt that says it implements outranks a name. The type alone never makes a reviewer:
/// it stays the role of every agent that no task describes.
pub fn role_of(dispatch: &Dispatch<'_>) -> (Option<String>, Option<RoleBasis>) {
    let calling = dispatch.prompt.and_then(calling);
    let implements = calling.as_ref().is_some_and(|words| words.iter().any(|w| IMPLEMENTS.contains(&w.as_str())));
    let reviews = calling.as_ref().is_some_and(|words| words.iter().any(|w| AGENTS.contains(&w.as_str())));
    if !implements {
        for (text, basis) in [(dispatch.name, RoleBasis::Name), (dispatch.description, RoleBasis::Description)] {
            if text.is_some_and(names_a_review) {
                return (Some(REVIEWER.to_owned()), Some(basis));
            }
        }
        if reviews {
            return (Some(REVIEWER.to_owned()), Some(RoleBasis::Prompt));
        }
    }
    let role = dispatch.agent_type.map(super::hook_identity::clean_name).filter(|r| !r.is_empty());
    let basis = role.as_ref().map(|_| RoleBasis::Type);
    (role, basis)
}

/// Words for one who reviews.
const AGENTS: &[&str] = &["reviewer", "rereviewer", "verifier", "auditor", "critic", "judge"];
/// Words for a review.
const REVIEWS: &[&str] = &["review", "reviews", "reviewing", "rereview", "audit", "auditing"];
/// Words for one who builds.
const IMPLEMENTS: &[&str] = &["implementer", "implementor", "implementing", "developer", "builder", "coder", "fixer"];
/// A review that is only the reason of the task: "review fixes", "review comments".
const ANSWERS: &[&str] = &[
    "fix",
    "fixes",
    "finding",
    "findings",
    "comment",
    "comments",
    "feedback",
    "issue",
    "issues",
    "remark",
    "remarks",
    "note",
    "notes",
    "response",
    "responses",
    "followup",
    "followups",
    "result",
    "results",
    "request",
    "requests",
    "suggestion",
    "suggestions",
    "nit",
    "nits",
    "thread",
    "threads",
];
/// A task that answers a review begins with such a word.
const ANSWERING: &[&str] = &["fix", "fixing", "address", "addressing", "apply", "applying", "resolve", "resolving", "implement", "respond"];

fn words(text: &str) -> Vec<String> {
    let joined = text.to_lowercase().replace("re-review", "rereview").replace("follow-up", "followup").replace("follow up", "followup");
    joined.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).take(64).map(str::to_owned).collect()
}

fn names_a_review(text: &str) -> bool {
    let words = words(text);
    let answers = words.first().is_some_and(|w| ANSWERING.contains(&w.as_str()));
    words.iter().enumerate().any(|(i, word)| {
        let next = words.get(i + 1).map_or("", String::as_str);
        AGENTS.contains(&word.as_str()) || (REVIEWS.contains(&word.as_str()) && !ANSWERS.contains(&next) && !answers)
    })
}

/// What the prompt calls the agent: the words after its first "You are", up to the end of that clause.
fn calling(prompt: &str) -> Option<Vec<String>> {
    let head: String = prompt.chars().take(2_000).collect();
    let lower = head.to_lowercase();
    let at = lower.find("you are ")?;
    let clause = lower.get(at + 8..)?;
    let end = clause.find(['.', '\n', '(', ';', '!']).unwrap_or(clause.len());
    let clause = clause.get(..end)?;
    // "You are reviewing …" names the work in place of the worker.
    let mut words = words(clause);
    if words.first().is_some_and(|w| REVIEWS.contains(&w.as_str())) {
        words.push("reviewer".to_owned());
    }
    Some(words)
}

/// The verdict a reviewer's answer states, with the reviewer's own word. The word must follow "verdict" (`VERDICT: **APPROVE**`),
/// or stand alone in capitals as first or last line. Contradicting verdicts are no verdict, unless one of them stands in a heading
/// or opens its line.
pub fn verdict_of(text: &str) -> Option<(Verdict, String)> {
    let mut strong: Vec<(Verdict, String)> = Vec::new();
    let mut weak: Vec<(Verdict, String)> = Vec::new();
    for line in text.lines() {
        let lower = line.to_ascii_lowercase();
        for (at, found) in lower.match_indices("verdict") {
            let Some(rest) = line.get(at + found.len()..) else { continue };
            let Some(word) = stated(rest) else { continue };
            let before: String = lower.get(..at).unwrap_or("").chars().filter(|c| c.is_alphanumeric()).collect();
            let opens = matches!(before.as_str(), "" | "final" | "my" | "overall" | "review");
            if opens || line.trim_start().starts_with('#') { strong.push(word) } else { weak.push(word) }
        }
    }
    if strong.is_empty() && weak.is_empty() {
        let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
        let first = lines.next();
        let last = lines.next_back();
        strong.extend([first, last].into_iter().flatten().filter_map(alone));
    }
    agreed(&strong).or_else(|| if strong.is_empty() { agreed(&weak) } else { None })
}

/// The verdict all agree on, in the words of the last.
fn agreed(verdicts: &[(Verdict, String)]) -> Option<(Verdict, String)> {
    let last = verdicts.last()?;
    verdicts.iter().all(|v| v.0 == last.0).then(|| last.clone())
}

const WORDS: &[(&str, Verdict)] = &[
    ("approved", Verdict::Pass),
    ("approve", Verdict::Pass),
    ("lgtm", Verdict::Pass),
    ("accepted", Verdict::Pass),
    ("accept", Verdict::Pass),
    ("passed", Verdict::Pass),
    ("pass", Verdict::Pass),
    ("rejected", Verdict::Fail),
    ("reject", Verdict::Fail),
    ("failed", Verdict::Fail),
    ("fail", Verdict::Fail),
    ("blocked", Verdict::Fail),
    ("block", Verdict::Fail),
    ("changes requested", Verdict::Fail),
    ("changes_requested", Verdict::Fail),
    ("request changes", Verdict::Fail),
    ("request_changes", Verdict::Fail),
    ("needs changes", Verdict::Fail),
    ("revise", Verdict::Fail),
    ("inconclusive", Verdict::Inconclusive),
];

/// The verdict word that follows directly, separators and markup apart.
fn stated(rest: &str) -> Option<(Verdict, String)> {
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || "*_`#:=\"'[(>-–—".contains(c));
    let rest = rest.strip_prefix("is ").unwrap_or(rest).trim_start_matches(|c: char| c.is_whitespace() || "*_`".contains(c));
    let lower: String = rest.chars().take(24).collect::<String>().to_ascii_lowercase();
    WORDS.iter().find_map(|(word, verdict)| {
        let after = lower.strip_prefix(word)?;
        // "pass/fail" and "approve or reject" offer a choice, they make none.
        let end = !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '|'));
        let choice = after.trim_start_matches(['*', '`', ' ']).starts_with("or ");
        (end && !choice).then(|| (*verdict, rest.get(..word.len()).unwrap_or(word).to_owned()))
    })
}

fn alone(line: &str) -> Option<(Verdict, String)> {
    let bare = line.trim_matches(|c: char| c.is_whitespace() || "*_`#:.!".contains(c));
    let (verdict, word) = stated(bare)?;
    (bare.len() == word.len() && !bare.chars().any(char::is_lowercase)).then_some((verdict, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(agent_type: &str, name: &str, description: &str, prompt: &str) -> (String, Option<RoleBasis>) {
        let some = |t| if str::is_empty(t) { None } else { Some(t) };
        let dispatch = Dispatch { agent_type: some(agent_type), name: some(name), description: some(description), prompt: some(prompt) };
        let (role, basis) = role_of(&dispatch);
        (role.unwrap_or_default(), basis)
    }

    #[test]
    fn a_task_that_says_review_makes_a_reviewer_and_a_type_alone_never_does() {
        assert_eq!(role("car", "x46-review-r2", "", ""), (REVIEWER.into(), Some(RoleBasis::Name)));
        assert_eq!(role("car", "", "Delta re-review round 2", ""), (REVIEWER.into(), Some(RoleBasis::Description)));
        assert_eq!(role("car", "", "", "You are an ADVERSARIAL REVIEWER. Read only."), (REVIEWER.into(), Some(RoleBasis::Prompt)));
        assert_eq!(role("code-reviewer", "", "", ""), ("code-reviewer".into(), Some(RoleBasis::Type)));
        assert_eq!(role("code-reviewer", "a", "Look at it", "Do it."), ("code-reviewer".into(), Some(RoleBasis::Type)));
        assert_eq!(role("", "", "", ""), (String::new(), None));
    }

    #[test]
    fn work_on_a_reviews_findings_is_no_review() {
        for (name, description, prompt) in [
            ("51-fix-car-r1", "Car: PR 51 bot-review fixes", "You are Car 51."),
            ("", "Address review findings", ""),
            ("", "fix the review", ""),
            ("review-1", "", "You are an implementer. Address the reviewer's findings."),
        ] {
            assert_eq!(role("car", name, description, prompt).0, "car", "{name} {description} {prompt}");
        }
        assert_eq!(role("car", "51-fix-review-r1", "Review: car 51 fixes round 1", "").0, REVIEWER);
    }

    #[test]
    fn a_verdict_is_read_where_it_is_stated_and_nowhere_else() {
        let of = |t: &str| verdict_of(t).map(|v| (v.0, v.1));
        let pass = |w: &str| Some((Verdict::Pass, w.to_owned()));
        let fail = |w: &str| Some((Verdict::Fail, w.to_owned()));
        assert_eq!(of("# Round 2 — VERDICT: **APPROVE** (zero Major)\nThe round 1 verdict REJECT stands."), pass("APPROVE"));
        assert_eq!(of("all good\n\n**Verdict:** REJECT - 2 Major"), fail("REJECT"));
        assert_eq!(of("VERDICT: REJECTED\n...\nVerdict: approve"), None, "two verdicts that disagree are none");
        assert_eq!(of("I give a verdict of approve or reject at the end"), None);
        assert_eq!(of("Verdict: PASS/FAIL"), None);
        assert_eq!(of("Verdict: approve or reject"), None);
        assert_eq!(of("text\n\n**APPROVED**"), pass("APPROVED"));
        assert_eq!(of("we should reject this"), None);
        assert_eq!(of("My verdict is changes requested."), fail("changes requested"));
        assert_eq!(of(""), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(?s).{0,200}", b in "(verdict|VERDICT|you are |[é*: ]|approve|reject|\n){0,20}") {
            let _ = (verdict_of(&text), verdict_of(&b));
            let _ = role_of(&Dispatch { agent_type: Some(&text), name: Some(&b), description: Some(&text), prompt: Some(&b) });
        }
    }
}
