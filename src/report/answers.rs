//! Owns `Answers`: every answer a report is made from, by name and window, and nothing else: the report computes no metric of its own.

use std::collections::BTreeMap;

use super::gate::Gate;
use super::table::{Row, Table};

/// Which span of time a query was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Span {
    /// The whole lake: the query has no window.
    Lake,
    /// The window of rates and bounds.
    Evidence,
    /// The span the report is about.
    News,
    /// The span of the same length before it.
    Before,
}

impl Span {
    /// What the name of a file of this span begins with.
    pub fn prefix(self) -> &'static str {
        match self {
            Span::Lake | Span::Evidence => "",
            Span::News => "news_",
            Span::Before => "before_",
        }
    }
}

/// One query of the report.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    pub query: &'static str,
    pub span: Span,
    /// Columns without which the report cannot be made.
    pub columns: &'static [&'static str],
}

const fn ask(query: &'static str, span: Span, columns: &'static [&'static str]) -> Question {
    Question { query, span, columns }
}

const TREND: &[&str] = &[
    "week",
    "n_runs",
    "n_runs_observing",
    "n_merged",
    "n_gate_runs",
    "gate_busy_ms",
    "n_problems",
    "n_first_stops_enforced",
    "n_first_stops_acted_on",
    "n_unattributed",
    "n_escaped",
    "n_tolls",
    "output_tokens",
    "nano_usd",
    "nano_usd_lower_bound",
    "n_with_tokens",
    "active_median_ms",
    "n_timed",
];

const PROBLEMS: &[&str] = &[
    "problem_id",
    "run_id",
    "severity",
    "about",
    "fingerprint",
    "first_detection_gate_id",
    "first_stop_gate_id",
    "stop_basis",
    "order_basis",
    "unattributed",
    "escaped",
    "disposition",
    "label",
    "human",
    "opened_at",
];

/// Everything a report asks, in this order; each answer is also written as CSV and Parquet.
pub const QUESTIONS: &[Question] = &[
    ask("gate_economics", Span::Evidence, super::gate::COLUMNS),
    ask("gate_economics", Span::News, super::gate::COLUMNS),
    ask("gate_economics", Span::Before, super::gate::COLUMNS),
    ask("rule_economics", Span::Evidence, &["gate_id", "rule_id", "n_runs_counted", "n_first_stops_enforced", "n_first_stops_acted_on"]),
    ask("first_stops", Span::Evidence, &["gate_id", "severity", "stop_basis", "n_problems"]),
    ask("problems", Span::Evidence, PROBLEMS),
    ask("problems", Span::News, PROBLEMS),
    ask("escapes", Span::Evidence, &["problem_id", "severity", "first_detection_gate_id", "missed_proven", "missed_possible"]),
    ask("escapes", Span::News, &["problem_id"]),
    ask("misses", Span::Evidence, &["gate_id", "miss_basis", "problem_id", "severity", "caught_by"]),
    ask("misses", Span::News, &["gate_id", "miss_basis", "problem_id"]),
    ask("recurrences", Span::News, &["problem_id", "fingerprint", "first_stop_gate_id", "same_run"]),
    ask("weekly_trend", Span::Evidence, TREND),
    ask("weekly_trend", Span::News, TREND),
    ask("weekly_trend", Span::Before, TREND),
    ask(
        "time_shares",
        Span::Evidence,
        &["week", "elapsed_ms", "gate_ms", "human_ms", "tool_ms", "model_ms", "idle_ms", "unrecorded_ms", "n_runs", "n_with_model"],
    ),
    ask("run_costs", Span::News, &["run_id", "task", "elapsed_ms", "active_ms", "gate_ms", "output_tokens", "nano_usd"]),
    ask("runs", Span::News, &["run_id", "run_basis", "task", "outcome", "n_problems", "n_first_stops"]),
    ask("delivery_costs", Span::Evidence, &["harness_version", "model", "n_runs", "active_median_ms", "nano_usd_median", "n_fully_priced"]),
    ask("tokens_by_model", Span::Evidence, &["model", "output_quality", "n_calls", "output_tokens", "nano_usd", "n_calls_unpriced"]),
    ask("gate_tokens", Span::Evidence, &["gate_id", "model", "output_quality", "output_tokens"]),
    ask("toll", Span::Evidence, &["gate_id", "n_stopped_work", "n_blockages_open"]),
    ask(
        "coverage",
        Span::Lake,
        &["format", "n_files", "n_records", "n_quarantined", "n_with_tokens", "n_with_verdicts", "n_gone", "n_failed"],
    ),
    ask("declared_not_seen", Span::Lake, &["what", "id", "gate_id", "purpose", "pass_recorded", "declared_in"]),
    ask("quarantine_summary", Span::Lake, &["format", "reason", "n_records", "n_files", "example_path", "example_line"]),
    ask("warnings_summary", Span::Lake, &["format", "kind", "n_occurrences", "n_files"]),
    ask("unpriced_models", Span::Lake, &["model", "n_calls", "output_tokens"]),
    ask("decisions", Span::Evidence, &[]),
    ask("gate_changes", Span::Evidence, &["gate_id", "basis", "changed_at", "was", "became"]),
    ask("verdicts", Span::Evidence, &[]),
    ask("unattributed", Span::Evidence, &[]),
    ask("hooks", Span::Evidence, &[]),
    ask("reviewers", Span::Evidence, &[]),
    ask("stage_failures", Span::Evidence, &[]),
    ask("cohorts", Span::Evidence, &[]),
    ask("models", Span::Evidence, &[]),
    ask("standing_cost", Span::Evidence, &[]),
    ask(
        "replay_matrix",
        Span::Lake,
        &["replayed_at", "part", "fixture_id", "fixture_class", "severity", "gate_id", "validator_id", "outcome", "believed", "n_catchers"],
    ),
    ask(
        "replay_validators",
        Span::Lake,
        &["gate_id", "validator_id", "believed", "n_caught", "n_alone", "share", "n_controls_failed", "dominated_by", "dead", "vacuous"],
    ),
    ask("replay_dominance", Span::Lake, &["validator_id", "by_validator_id"]),
    ask("replay_flips", Span::Lake, &["against", "earlier", "earlier_at", "flip", "fixture_id", "validator_id", "severity", "waived"]),
    ask("replay_coverage", Span::Lake, &["gate_id", "failure_mode", "n_failures", "n_caught", "n_missed", "n_no_verdict", "n_not_read"]),
];

/// The answers to [`QUESTIONS`].
#[derive(Debug, Clone, Default)]
pub struct Answers {
    tables: BTreeMap<(&'static str, Span), Table>,
    /// Gates whose text, mode or model changed in the span of the news, sorted.
    pub changed_in_news: Vec<String>,
    /// Gates over their own evidence: from the day their text, mode or model changed, at most the whole window.
    pub gates: Vec<Gate>,
}

impl Answers {
    pub fn insert(&mut self, query: &'static str, span: Span, table: Table) {
        if (query, span) == ("gate_economics", Span::Evidence) {
            self.gates = Gate::read_all(&table);
        }
        self.tables.insert((query, span), table);
    }

    pub fn table(&self, query: &'static str, span: Span) -> Option<&Table> {
        self.tables.get(&(query, span))
    }

    pub fn rows(&self, query: &'static str, span: Span) -> impl Iterator<Item = Row<'_>> {
        self.tables.get(&(query, span)).into_iter().flat_map(Table::iter)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Span, &Table)> {
        self.tables.iter().map(|((query, span), table)| (*query, *span, table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_query_is_asked_and_no_other() {
        let mut asked: Vec<&str> = QUESTIONS.iter().map(|q| q.query).collect();
        asked.sort_unstable();
        asked.dedup();
        assert_eq!(asked, crate::sql::queries().iter().map(|q| q.name).collect::<Vec<_>>());
    }
}
