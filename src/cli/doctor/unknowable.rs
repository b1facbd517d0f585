//! Owns the table from capability to what cannot be known without it.

use std::collections::BTreeSet;

/// A capability a file may earn, and what stays unknown where no file earned it.
pub struct Capability {
    pub name: &'static str,
    pub without: &'static str,
}

const fn capability(name: &'static str, without: &'static str) -> Capability {
    Capability { name, without }
}

/// Every capability, in the order shown: what gates did, then what they cost.
pub const CAPABILITIES: &[Capability] = &[
    capability("gate_runs", "that any gate ran: neither yield nor cost"),
    capability("verdicts", "whether gates passed or failed: no yield, no rates"),
    capability("findings", "which problems gates reported: no first stops"),
    capability("finding_identity", "whether two fails are one problem: no recurrence, duplicate or miss"),
    capability("severities", "how bad the problems were"),
    capability("decisions", "waivers, overrides and labels: false alarms stay unclassified"),
    capability("units", "which part of a run a gate judged"),
    capability("declared_gates", "which gates exist and never ran"),
    capability("commits", "reverts, escapes, and which session belongs to which issue by trailer"),
    capability("gate_costs", "what a gate itself took in time or tokens"),
    capability("model_calls", "which API calls were made: no cost in tokens or money"),
    capability("tokens", "input tokens, and so money"),
    capability("output_tokens", "exact output tokens: only lower bounds"),
    capability("tool_calls", "what was done between gates: edits, tree states, proven misses"),
    capability("durations", "how long tool calls took"),
    capability("exit_status", "exit statuses of commands"),
    capability("contexts", "which context windows a run used"),
    capability("subagents", "which sub-agents ran, and what they cost"),
    capability("economics", "the producer's own totals of time and tokens, to check ours against"),
];

/// What all files of a format together can be expected to tell: the lack of anything else is no news.
fn expected(format: &str) -> &'static [&'static str] {
    const SESSIONS: &[&str] = &[
        "gate_runs",
        "verdicts",
        "findings",
        "model_calls",
        "tokens",
        "output_tokens",
        "tool_calls",
        "durations",
        "exit_status",
        "contexts",
        "subagents",
    ];
    const TRACES: &[&str] = &["gate_runs", "verdicts", "findings", "finding_identity", "severities", "gate_costs", "economics"];
    match format {
        "claude-code" | "copilot-cli" => SESSIONS,
        "agent-delivery-harness" => TRACES,
        "git" => &["commits"],
        "mechanic-labels" => &["decisions"],
        _ => &[],
    }
}

/// What every single file of a format should tell. A file without findings is no worse: there may have been none.
fn expected_of_each(format: &str) -> &'static [&'static str] {
    match format {
        "claude-code" | "copilot-cli" => &["model_calls", "tokens", "output_tokens"],
        "agent-delivery-harness" => &["gate_runs", "verdicts"],
        _ => expected(format),
    }
}

/// What nothing of a whole body of evidence tells.
pub fn lacking(earned: &BTreeSet<String>) -> Vec<&'static Capability> {
    CAPABILITIES.iter().filter(|c| !earned.contains(c.name)).collect()
}

/// What the files of one format together do not tell though they could.
pub fn lacking_in_source(earned: &BTreeSet<String>, format: &str) -> Vec<&'static Capability> {
    lacking(earned).into_iter().filter(|c| expected(format).contains(&c.name)).collect()
}

/// What one file does not tell though it should.
pub fn lacking_in_file(earned: &BTreeSet<String>, format: &str) -> Vec<&'static Capability> {
    lacking(earned).into_iter().filter(|c| expected_of_each(format).contains(&c.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_lacks_only_what_its_format_should_tell_and_the_whole_lacks_everything_else() {
        let earned = BTreeSet::from(["commits".to_owned()]);
        assert!(lacking_in_source(&earned, "git").is_empty());
        assert_eq!(lacking(&earned).len(), CAPABILITIES.len() - 1);
        assert_eq!(lacking_in_file(&BTreeSet::new(), "mechanic-labels")[0].name, "decisions");
        assert!(lacking_in_source(&BTreeSet::new(), "agent-delivery-harness").iter().any(|c| c.name == "findings"));
        assert!(!lacking_in_file(&BTreeSet::new(), "agent-delivery-harness").iter().any(|c| c.name == "findings"));
    }

    #[test]
    fn every_expected_capability_is_in_the_table_and_every_line_fits_the_page() {
        for format in ["claude-code", "copilot-cli", "agent-delivery-harness", "git", "mechanic-labels"] {
            for name in expected(format).iter().chain(expected_of_each(format)) {
                assert!(CAPABILITIES.iter().any(|c| c.name == *name), "{name}");
            }
        }
        for c in CAPABILITIES {
            assert!(4 + 18 + c.without.len() <= 100, "{}", c.name);
        }
    }
}
