//! Owns the records: one struct, Arrow schema and data dictionary a table. Knows no other part of the program.

pub mod cell;
pub mod decisions;
pub mod derived;
pub mod gate_runs;
pub mod gates;
pub mod id;
pub mod record;
pub mod replay_results;
pub mod sessions;
pub mod sources;
pub mod time;
pub mod traces;
pub mod usage_totals;
pub mod vocabulary;

use record::{Record, TableDef};

/// Every fact table except `sources`, in the order they are committed; `sources` commits last.
pub const FACT_TABLES: &[&TableDef] = &[
    sources::Quarantined::TABLE,
    sources::Warning::TABLE,
    gates::Gate::TABLE,
    gates::Rule::TABLE,
    decisions::Unit::TABLE,
    sessions::Context::TABLE,
    sessions::ModelCallCopy::TABLE,
    usage_totals::UsageTotal::TABLE,
    sessions::ToolCall::TABLE,
    gate_runs::GateRun::TABLE,
    gate_runs::Finding::TABLE,
    decisions::Decision::TABLE,
    decisions::GuardEvent::TABLE,
    decisions::Commit::TABLE,
    traces::TraceSpan::TABLE,
    replay_results::ReplayResult::TABLE,
];

/// The derived tables, in the order they are built.
pub const DERIVED_TABLES: &[&TableDef] = &[
    derived::Run::TABLE,
    derived::RunMember::TABLE,
    derived::ModelCall::TABLE,
    derived::TreeState::TABLE,
    derived::GateRunMark::TABLE,
    derived::GateMark::TABLE,
    derived::Problem::TABLE,
    derived::GateProblem::TABLE,
];

/// Every table of the lake.
pub fn all_tables() -> impl Iterator<Item = &'static TableDef> {
    std::iter::once(sources::Source::TABLE).chain(FACT_TABLES.iter().copied()).chain(DERIVED_TABLES.iter().copied())
}
