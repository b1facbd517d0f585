//! Owns `Headline`: the few figures of a span that the first lines of a report give and that the next report compares with.

use serde::{Deserialize, Serialize};

use super::answers::{Answers, Span};

/// Sums over the runs that ended in a span.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Headline {
    pub n_runs: i64,
    pub n_merged: i64,
    /// Runs whose sources record verdicts: of the others it is not known whether they had a problem.
    #[serde(default)]
    pub n_runs_observing: i64,
    /// NULL, as `n_tolls`: no source of the runs records gate runs.
    pub n_gate_runs: Option<i64>,
    /// NULL, as the five after it: no source of the runs records verdicts.
    pub n_problems: Option<i64>,
    pub n_first_stops_enforced: Option<i64>,
    pub n_first_stops_acted_on: Option<i64>,
    pub n_unattributed: Option<i64>,
    pub n_escaped: Option<i64>,
    pub n_misses_proven: Option<i64>,
    pub n_tolls: Option<i64>,
    /// Own time of the gate runs, overlaps counted each. NULL: no gate run's time is known.
    pub gate_busy_ms: Option<i64>,
    /// Price of complete calls. NULL: none is priced.
    pub nano_usd: Option<i64>,
    pub nano_usd_lower_bound: Option<i64>,
    pub output_tokens: Option<i64>,
    /// Runs whose tokens are known.
    pub n_with_tokens: i64,
}

impl Headline {
    pub fn read(answers: &Answers, span: Span) -> Headline {
        let mut out = Headline::default();
        let add = |sum: &mut Option<i64>, value: Option<i64>| {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0).saturating_add(value));
            }
        };
        for row in answers.rows("weekly_trend", span) {
            out.n_runs += row.n("n_runs");
            out.n_merged += row.n("n_merged");
            out.n_runs_observing += row.n("n_runs_observing");
            add(&mut out.n_gate_runs, row.int("n_gate_runs"));
            add(&mut out.n_problems, row.int("n_problems"));
            add(&mut out.n_first_stops_enforced, row.int("n_first_stops_enforced"));
            add(&mut out.n_first_stops_acted_on, row.int("n_first_stops_acted_on"));
            add(&mut out.n_unattributed, row.int("n_unattributed"));
            add(&mut out.n_escaped, row.int("n_escaped"));
            add(&mut out.n_tolls, row.int("n_tolls"));
            out.n_with_tokens += row.n("n_with_tokens");
            add(&mut out.gate_busy_ms, row.int("gate_busy_ms"));
            add(&mut out.nano_usd, row.int("nano_usd"));
            add(&mut out.nano_usd_lower_bound, row.int("nano_usd_lower_bound"));
            add(&mut out.output_tokens, row.int("output_tokens"));
        }
        for row in answers.rows("gate_economics", span) {
            add(&mut out.n_misses_proven, row.int("n_misses_proven"));
        }
        out
    }

    /// Both kinds together; NULL where neither is known.
    pub fn first_stops(&self) -> Option<i64> {
        Some(self.n_first_stops_enforced? + self.n_first_stops_acted_on?)
    }
}
