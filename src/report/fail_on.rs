//! Owns `FailOn`: the conditions under which an audit is a failed check.

use super::answers::Span;
use super::audit::Audit;
use super::figures::counted;

/// A condition on the report. All but `quarantine` look at the runs that ended in its span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum FailOn {
    /// A product problem was first seen after merge.
    Escapes,
    /// A gate passed on a problem that was provably there.
    MissedProven,
    /// A gate run crashed, timed out or could not run.
    Toll,
    /// A gate never did anything but fail to run.
    BrokenGate,
    /// A product problem is attributed to no stop.
    Unattributed,
    /// A gate was skipped although there was something to check against.
    SkippedRequired,
    /// A gate passed having checked nothing.
    Vacuous,
    /// A record of the lake could not be read.
    Quarantine,
}

impl FailOn {
    /// What makes the condition true; `None` where it is not.
    pub fn holds(self, audit: &Audit) -> Option<String> {
        let h = &audit.news.headline;
        let gates = |column: &str| audit.answers.rows("gate_economics", Span::News).filter_map(|r| r.int(column)).sum::<i64>();
        // A check that nothing could have failed is no pass.
        if matches!(self, FailOn::Escapes | FailOn::Unattributed) && h.n_runs > 0 && h.n_runs_observing == 0 {
            let runs = counted(h.n_runs, "run", "runs");
            return Some(format!("it cannot be told: of {runs} none records verdicts; ingest what does, or drop the condition"));
        }
        let (n, one, many) = match self {
            FailOn::Escapes => (h.n_escaped.unwrap_or(0), "problem first seen after merge", "problems first seen after merge"),
            FailOn::MissedProven => (h.n_misses_proven.unwrap_or(0), "proven miss", "proven misses"),
            FailOn::Toll => (h.n_tolls.unwrap_or(0), "gate run that failed to run", "gate runs that failed to run"),
            FailOn::BrokenGate => {
                let broken = |r: &super::table::Row| r.n("n_gate_runs") > 0 && r.n("n_tolls") == r.n("n_gate_runs");
                let n = audit.answers.rows("gate_economics", Span::News).filter(broken).count() as i64;
                (n, "gate that never ran", "gates that never ran")
            }
            FailOn::Unattributed => (h.n_unattributed.unwrap_or(0), "problem without a known stop", "problems without a known stop"),
            FailOn::SkippedRequired => (gates("n_skipped_required"), "skip of a required check", "skips of required checks"),
            FailOn::Vacuous => (gates("n_vacuous"), "pass that checked nothing", "passes that checked nothing"),
            FailOn::Quarantine => {
                let n = audit.answers.rows("coverage", Span::Lake).map(|r| r.n("n_quarantined")).sum();
                (n, "record that could not be read", "records that could not be read")
            }
        };
        (n > 0).then(|| counted(n, one, many))
    }

    /// The name on the command line.
    pub fn name(self) -> String {
        clap::ValueEnum::to_possible_value(&self).map_or_else(String::new, |v| v.get_name().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{empty, frame, shop};

    #[test]
    fn a_condition_holds_only_where_its_thing_happened() {
        let week = Audit::new(frame(), shop(), None);
        let said: Vec<Option<String>> = <FailOn as clap::ValueEnum>::value_variants().iter().map(|c| c.holds(&week)).collect();
        assert_eq!(said[0].as_deref(), Some("1 problem first seen after merge"));
        assert_eq!(said[1].as_deref(), Some("2 proven misses"));
        assert_eq!(said[2].as_deref(), Some("2 gate runs that failed to run"));
        assert_eq!(said[3], None);
        assert_eq!(said[7].as_deref(), Some("3 records that could not be read"));
        let quiet = Audit::new(frame(), empty(), None);
        assert!(<FailOn as clap::ValueEnum>::value_variants().iter().all(|c| c.holds(&quiet).is_none()));
    }

    #[test]
    fn conditions_are_named_as_on_the_command_line() {
        assert_eq!(FailOn::MissedProven.name(), "missed-proven");
    }
}
