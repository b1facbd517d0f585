//! Owns `Gate`: one row of `gate_economics` with the names the report thinks in.

use serde::Serialize;

use super::figures::count;
use super::rich::Rich;
use super::table::{Row, Table};

/// Columns of `gate_economics` without which there is no report.
pub const COLUMNS: &[&str] = &[
    "gate_id",
    "purpose",
    "kind",
    "mode",
    "irreversible",
    "pass_recorded",
    "n_gate_runs",
    "n_runs",
    "n_pass",
    "n_fail",
    "n_warn",
    "n_skipped_required",
    "n_could_not_run",
    "n_crashed",
    "n_timed_out",
    "n_vacuous",
    "n_runs_counted",
    "rate_basis",
    "n_first_stops_enforced",
    "n_first_stops_acted_on",
    "n_first_stops_critical",
    "n_first_stops_major",
    "n_first_stops_minor",
    "n_first_stops_info",
    "n_first_stops_unrated",
    "n_unclassified",
    "n_later_detections",
    "n_misses_proven",
    "n_misses_possible",
    "zero_yield_upper95",
    "busy_ms",
    "busy_median_ms",
    "busy_p95_ms",
    "direct_ms",
    "n_timed",
    "output_tokens",
    "n_with_tokens",
    "nano_usd",
    "nano_usd_lower_bound",
    "n_calls",
    "n_calls_unpriced",
    "n_tolls",
    "toll_ms",
    "toll_blocked_ms",
    "toll_output_tokens",
    "n_disposed",
    "n_false_alarms",
];

/// Cost and yield of a gate in one window. Counts are 0 where nothing happened, `None` where the thing is not known or has no meaning.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Gate {
    pub gate_id: String,
    pub purpose: String,
    pub kind: Option<String>,
    pub mode: Option<String>,
    pub irreversible: Option<bool>,
    pub pass_recorded: Option<bool>,
    pub n_gate_runs: i64,
    pub n_runs: i64,
    pub n_pass: i64,
    pub n_fail: i64,
    pub n_warn: i64,
    pub n_skipped_required: i64,
    pub n_could_not_run: i64,
    pub n_crashed: i64,
    pub n_timed_out: i64,
    pub n_vacuous: i64,
    /// Delivery runs with at least one trial: the n of every rate.
    pub n_runs_counted: i64,
    pub rate_basis: Option<String>,
    pub enforced: Option<i64>,
    pub acted_on: Option<i64>,
    /// First stops by severity: critical, major, minor, info, unrated.
    pub by_severity: [i64; 5],
    /// Stops by a person that nobody has labelled yet: in no yield, and no zero either.
    pub n_unclassified: i64,
    pub n_later_detections: Option<i64>,
    pub n_misses_proven: Option<i64>,
    pub n_misses_possible: Option<i64>,
    pub upper95: Option<f64>,
    pub busy_ms: Option<i64>,
    pub busy_median_ms: Option<i64>,
    pub busy_p95_ms: Option<i64>,
    pub direct_ms: Option<i64>,
    pub n_timed: i64,
    pub output_tokens: Option<i64>,
    pub n_with_tokens: i64,
    pub nano_usd: Option<i64>,
    pub nano_usd_lower_bound: Option<i64>,
    pub n_calls: i64,
    pub n_calls_unpriced: i64,
    pub n_tolls: i64,
    pub toll_ms: Option<i64>,
    pub toll_blocked_ms: Option<i64>,
    pub toll_output_tokens: Option<i64>,
    pub n_disposed: Option<i64>,
    pub n_false_alarms: Option<i64>,
    /// Where its text, mode or model changed inside the window, the gate's own evidence begins there.
    pub changed: Option<Changed>,
}

/// The last change of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The day, UTC.
    pub on: String,
    /// rule_change, text, mode or model.
    pub basis: String,
    pub was: Option<String>,
    pub became: Option<String>,
}

impl Changed {
    pub fn read(row: Row<'_>) -> Option<Changed> {
        let text = |c: &str| row.text(c).map(str::to_owned);
        let on = row.time("changed_at")?.to_string().chars().take(10).collect();
        Some(Changed { on, basis: text("basis")?, was: text("was"), became: text("became") })
    }

    /// Adds what changed to a sentence.
    pub fn tell(&self, sentence: Rich) -> Rich {
        match (self.basis.as_str(), &self.was, &self.became) {
            ("mode", Some(was), Some(became)) => sentence.then("its mode changed from ").name(was).then(" to ").name(became),
            ("model", Some(was), Some(became)) => sentence.then("its model changed from ").name(was).then(" to ").name(became),
            ("text", _, Some(path)) => sentence.then("its text changed, ").name(path),
            (_, _, Some(what)) => sentence.then("a change of it was recorded, ").name(what),
            _ => sentence.then("a change of it was recorded"),
        }
    }
}

impl Gate {
    pub fn read(row: Row<'_>) -> Gate {
        let text = |c: &str| row.text(c).map(str::to_owned);
        Gate {
            gate_id: text("gate_id").unwrap_or_default(),
            purpose: text("purpose").unwrap_or_else(|| "unknown".to_owned()),
            kind: text("kind"),
            mode: text("mode"),
            irreversible: row.flag("irreversible"),
            pass_recorded: row.flag("pass_recorded"),
            n_gate_runs: row.n("n_gate_runs"),
            n_runs: row.n("n_runs"),
            n_pass: row.n("n_pass"),
            n_fail: row.n("n_fail"),
            n_warn: row.n("n_warn"),
            n_skipped_required: row.n("n_skipped_required"),
            n_could_not_run: row.n("n_could_not_run"),
            n_crashed: row.n("n_crashed"),
            n_timed_out: row.n("n_timed_out"),
            n_vacuous: row.n("n_vacuous"),
            n_runs_counted: row.n("n_runs_counted"),
            rate_basis: text("rate_basis"),
            enforced: row.int("n_first_stops_enforced"),
            acted_on: row.int("n_first_stops_acted_on"),
            by_severity: ["critical", "major", "minor", "info", "unrated"].map(|s| row.n(&format!("n_first_stops_{s}"))),
            n_unclassified: row.n("n_unclassified"),
            n_later_detections: row.int("n_later_detections"),
            n_misses_proven: row.int("n_misses_proven"),
            n_misses_possible: row.int("n_misses_possible"),
            upper95: row.float("zero_yield_upper95"),
            busy_ms: row.int("busy_ms"),
            busy_median_ms: row.int("busy_median_ms"),
            busy_p95_ms: row.int("busy_p95_ms"),
            direct_ms: row.int("direct_ms"),
            n_timed: row.n("n_timed"),
            output_tokens: row.int("output_tokens"),
            n_with_tokens: row.n("n_with_tokens"),
            nano_usd: row.int("nano_usd"),
            nano_usd_lower_bound: row.int("nano_usd_lower_bound"),
            n_calls: row.n("n_calls"),
            n_calls_unpriced: row.n("n_calls_unpriced"),
            n_tolls: row.n("n_tolls"),
            toll_ms: row.int("toll_ms"),
            toll_blocked_ms: row.int("toll_blocked_ms"),
            toll_output_tokens: row.int("toll_output_tokens"),
            n_disposed: row.int("n_disposed"),
            n_false_alarms: row.int("n_false_alarms"),
            changed: None,
        }
    }

    pub fn read_all(table: &Table) -> Vec<Gate> {
        table.iter().map(Gate::read).collect()
    }

    pub fn is_control(&self) -> bool {
        self.purpose == "control"
    }

    /// First stops of either basis; `None` for what is no control and so has no yield.
    pub fn first_stops(&self) -> Option<i64> {
        Some(self.enforced? + self.acted_on?)
    }

    /// First stops as a table shows them: enforced + acted on, and (n?) for a person's stops that wait for a label.
    pub fn stops_text(&self) -> Option<String> {
        let stops = format!("{} + {}", count(self.enforced?), count(self.acted_on?));
        Some(if self.n_unclassified > 0 { format!("{stops} ({}?)", count(self.n_unclassified)) } else { stops })
    }

    /// Whether it stopped nothing first in runs that count: a zero that an upper bound goes with.
    pub fn is_zero_yield(&self) -> bool {
        self.is_control() && self.rate_basis.is_some() && self.first_stops() == Some(0) && self.n_unclassified == 0
    }

    /// Own time: with one owner an instant where that is known, else as busy.
    pub fn own_ms(&self) -> Option<i64> {
        self.direct_ms.or(self.busy_ms)
    }
}
