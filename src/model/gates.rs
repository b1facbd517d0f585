//! Owns `gates` and `rules`: the controls of a harness as declared or observed.

use super::record::record;
use super::vocabulary::{GateKind, LoadMode, Mode, Purpose};

record! {
    /// A named control, as one file declares or shows it. A gate that is declared and never seen in any run stands here too.
    Gate = "gates", Fact, key "gate_id" {
        /// Readable name of the gate (`independent-review`, `PreToolUse:pre-tool-use.mjs`).
        gate_id: String,
        /// Harness or format the gate belongs to.
        harness: Option<String>,
        /// control, context, recorder, notifier or unknown; only control gates have a yield.
        purpose: Purpose,
        /// deterministic, model, human or external. NULL: unknown.
        kind: Option<GateKind>,
        /// block, warn or observe. NULL: unknown.
        mode: Option<Mode>,
        /// Position in the harness's own order, smallest first. NULL: no declared order.
        gate_order: Option<i64>,
        /// Whether the step behind the gate cannot be undone. NULL: unknown.
        irreversible: Option<bool>,
        /// Whether the maintainer pinned it: never proposed for removal. NULL: not said.
        pinned: Option<bool>,
        /// Whether passes are recorded too; false means firings without a rate. NULL: unknown.
        pass_recorded: Option<bool>,
        /// Kinds of problem it covers (failure classes, paths, tools). NULL: unknown.
        covers: Option<Vec<String>>,
        /// Other names of it.
        aliases: Option<Vec<String>>,
        /// File that declares it. NULL: only observed.
        declared_in: Option<String>,
        /// What makes it the same gate across files: script and event, wrappers removed.
        identity: Option<String>,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line.
        source_line: i64,
    }
}

/// How a column of a thing that several files show becomes one value. None of them depends on the order or the names of the files, but
/// [`Merge::Place`], which says where the thing is shown from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The least value of those that are known.
    Least,
    /// The first of these words that any file says.
    FirstOf(&'static [&'static str]),
    /// True where any file says so, else false where any does.
    Any,
    /// All items, sorted.
    Union,
    /// What the copy with the least path and line says.
    Place,
}

/// A gate that ever refused is a control that blocks, whatever other files saw or declare of it; and what one file knows of it no other hides.
pub const GATE_MERGE: &[(&str, Merge)] = &[
    ("harness", Merge::Least),
    ("purpose", Merge::FirstOf(&["control", "context", "recorder", "notifier", "unknown"])),
    ("kind", Merge::FirstOf(&["human", "model", "external", "deterministic"])),
    ("mode", Merge::FirstOf(&["block", "warn", "observe"])),
    ("gate_order", Merge::Least),
    ("irreversible", Merge::Any),
    ("pinned", Merge::Any),
    ("pass_recorded", Merge::Any),
    ("covers", Merge::Union),
    ("aliases", Merge::Union),
    ("declared_in", Merge::Least),
    ("identity", Merge::Least),
    ("source_id", Merge::Place),
    ("source_line", Merge::Place),
];

record! {
    /// The smallest removable thing: a sensor, a clause, a checklist item, an instruction section.
    Rule = "rules", Fact, key "rule_id" {
        /// Readable name of the rule.
        rule_id: String,
        /// Gate it belongs to.
        gate_id: Option<String>,
        /// Rule of the harness's contract that this one carries out (a script's stage for a clause). NULL: it stands for itself.
        clause: Option<String>,
        /// File it stands in, relative to the repository. NULL: no file declares it.
        path: Option<String>,
        /// Lines it takes.
        lines: Option<i64>,
        /// Tokens it takes when loaded (estimate: bytes ÷ 4). NULL: not known.
        tokens: Option<i64>,
        /// always or on_demand.
        load: Option<LoadMode>,
        /// Format of the sessions whose contexts load it by themselves. NULL: it is no instruction file.
        loaded_by: Option<String>,
        /// Whether it is pinned.
        pinned: Option<bool>,
        /// Version or date it exists since.
        since: Option<String>,
        /// Version or date it was removed.
        until: Option<String>,
        /// Kinds of problem it covers.
        covers: Option<Vec<String>>,
        /// The file this row comes from.
        source_id: String,
        /// 1-based line.
        source_line: i64,
    }
}
