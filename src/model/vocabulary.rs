//! Owns the closed vocabularies of the records: each is one enum, stored by its name.

use super::cell::{Cell, Column, Kind};
use arrow::array::ArrayRef;

/// Declares an enum that is stored as text.
macro_rules! vocabulary {
    ( $(#[$meta:meta])* $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $text:literal ),+ $(,)? } ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name { $( $(#[$vmeta])* #[serde(rename = $text)] $variant ),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[ $( $name::$variant ),+ ];
            pub fn as_str(self) -> &'static str {
                match self { $( $name::$variant => $text ),+ }
            }
            /// The value of that name; `None` for any other text (never a default).
            pub fn parse(text: &str) -> Option<$name> {
                match text { $( $text => Some($name::$variant), )+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl Cell for $name {
            const KIND: Kind = Kind::Utf8;
            fn append(&self, column: &mut Column) {
                if let Column::Utf8(b) = column {
                    b.append_value(self.as_str());
                }
            }
            fn read(array: &ArrayRef, row: usize) -> Option<Self> {
                String::read(array, row).and_then(|text| $name::parse(&text))
            }
        }
    };
}

vocabulary! {
    /// What a gate run concluded. Only `pass`, `fail` and `warn` enter a yield denominator (DESIGN §3.2).
    Verdict {
        Pass = "pass",
        Fail = "fail",
        Warn = "warn",
        Skipped = "skipped",
        /// Skipped although the reference to check against exists: a violation.
        SkippedRequired = "skipped_required",
        Waived = "waived",
        CouldNotRun = "could_not_run",
        NeedsReview = "needs_review",
        Inconclusive = "inconclusive",
        Crashed = "crashed",
        TimedOut = "timed_out",
        NotEvaluated = "not_evaluated",
        /// A pass that checked nothing.
        Vacuous = "vacuous",
        Pending = "pending",
        /// A fail that the method demands (a RED test, polling, a deliberate mutation).
        ExpectedRed = "expected_red",
        Unobservable = "unobservable",
    }
}

impl Verdict {
    /// Whether the verdict enters a yield denominator.
    pub fn counts(self) -> bool {
        matches!(self, Verdict::Pass | Verdict::Fail | Verdict::Warn)
    }
}

vocabulary! {
    /// Where a verdict was read from; a tool's own closing line (`output`) outranks the shell's exit status.
    VerdictBasis { Structured = "structured", Output = "output", ExitStatus = "exit_status", None = "none" }
}

vocabulary! {
    /// What a gate is for; only control gates have a yield.
    Purpose { Control = "control", Context = "context", Recorder = "recorder", Notifier = "notifier", Unknown = "unknown" }
}

vocabulary! {
    GateKind { Deterministic = "deterministic", Model = "model", Human = "human", External = "external" }
}

vocabulary! {
    /// Whether a gate's fail stops the work.
    Mode { Block = "block", Warn = "warn", Observe = "observe" }
}

vocabulary! {
    /// What a finding or gate run is about; only product problems earn yield.
    About { Product = "product", Harness = "harness", Infrastructure = "infrastructure" }
}

vocabulary! {
    /// How a gate run's exposure is known (DESIGN §3.4); only `recorded` and `implied_by_stage` enter a rate.
    ExposureBasis {
        Recorded = "recorded",
        ImpliedByStage = "implied_by_stage",
        Inferred = "inferred",
        /// The source keeps passes only: its rows are no sample of all runs.
        PassesOnly = "passes_only",
    }
}

impl ExposureBasis {
    /// Whether the gate run may stand in the numerator and denominator of a rate.
    pub fn in_rates(self) -> bool {
        matches!(self, ExposureBasis::Recorded | ExposureBasis::ImpliedByStage)
    }
}

vocabulary! {
    /// Whether a gate run about a tool call came before the tool ran or after it.
    Phase { Before = "before", After = "after" }
}

vocabulary! {
    Scope { Scoped = "scoped", Full = "full" }
}

vocabulary! {
    /// Severities in the words of the field; vendor words are kept beside it as `raw_severity`.
    Severity { Critical = "critical", Major = "major", Minor = "minor", Info = "info" }
}

vocabulary! {
    /// What a fingerprint was made from, strongest first.
    FingerprintBasis {
        /// The source names the defect itself.
        Native = "native",
        TestId = "test_id",
        RuleAndFile = "rule_and_file",
        ReviewHeading = "review_heading",
        OutputShape = "output_shape",
        /// A fail that says nothing more: gate and stage stand for the defect.
        GateStage = "gate_stage",
    }
}

vocabulary! {
    /// The finding's state against the previous report of the same defect (SARIF `baselineState`).
    BaselineState { New = "new", Unchanged = "unchanged", Updated = "updated", Resolved = "resolved" }
}

vocabulary! {
    /// How a context's role is known; a type alone never makes a reviewer.
    RoleBasis { Type = "type", Name = "name", Description = "description", Prompt = "prompt" }
}

vocabulary! {
    /// What a context's token total is made of; `last_call_only` is never summed.
    TokenBasis { SumOfCalls = "sum_of_calls", ProducerTotal = "producer_total", LastCallOnly = "last_call_only" }
}

vocabulary! {
    /// What record a reading of cumulative counters comes from.
    UsageTotalKind { Shutdown = "shutdown", Checkpoint = "checkpoint" }
}

vocabulary! {
    CallKind { Message = "message", Advisor = "advisor", Fallback = "fallback", Compaction = "compaction" }
}

vocabulary! {
    /// How far a token counter can be trusted.
    Quality { Exact = "exact", Likely = "likely", LowerBound = "lower_bound", Unknown = "unknown" }
}

vocabulary! {
    LoadMode { Always = "always", OnDemand = "on_demand" }
}

vocabulary! {
    SourceState {
        Current = "current", Ignored = "ignored", Gone = "gone", Failed = "failed",
        /// The log was rewritten: its path holds another content now, and what it said before stays.
        Superseded = "superseded",
    }
}

vocabulary! {
    DecisionKind {
        Waiver = "waiver", Override = "override", Escalation = "escalation", Approval = "approval", Label = "label",
        RuleChange = "rule_change", Deviation = "deviation", Release = "release",
        /// The delivery was given up.
        Abandonment = "abandonment",
    }
}

vocabulary! {
    /// What makes a stop a stop.
    StopBasis { Enforced = "enforced", ActedOn = "acted_on" }
}

vocabulary! {
    /// How the order of first detection and first stop is known.
    OrderBasis { Time = "time", Line = "line", GateOrder = "gate_order", Concurrent = "concurrent" }
}

vocabulary! {
    /// What became of a problem or finding (DESIGN §3.8).
    Disposition {
        Fixed = "fixed", Suppressed = "suppressed", Overridden = "overridden", Disputed = "disputed", Ignored = "ignored",
        Reverted = "reverted", Unknown = "unknown",
    }
}

vocabulary! {
    /// What makes rows of different sources one run, strongest first.
    LinkBasis {
        Explicit = "explicit", Trailer = "trailer", TimeWindow = "time_window",
        /// The same task, and nothing that speaks against it.
        Inferred = "inferred",
        None = "none",
    }
}

vocabulary! {
    RunBasis { Issue = "issue", Trailer = "trailer", Session = "session" }
}

vocabulary! {
    MissBasis { Proven = "proven", Possible = "possible" }
}

vocabulary! {
    /// How one gate met one problem.
    Encounter {
        StoppedFirst = "stopped_first", Stopped = "stopped", Detected = "detected", Missed = "missed", NotRun = "not_run",
        Skipped = "skipped", AfterFix = "after_fix",
    }
}

vocabulary! {
    /// What a validator did with a fixture when it was replayed.
    ReplayOutcome {
        /// It failed the stimulus, for the reason it should. On a control: a false alarm.
        Catches = "catches",
        /// It passed the stimulus. On a control: as it should.
        Misses = "misses",
        /// It failed the stimulus, but named something else.
        WrongReason = "wrong_reason",
        /// It died, could not start, could not run or gave no verdict that can be read, twice.
        Crashes = "crashes",
        /// It gave no verdict in time.
        TimesOut = "times_out",
        Skipped = "skipped",
        /// It does not read such a stimulus: not run.
        Unsupported = "unsupported",
        /// It read nothing, whatever it returned.
        Vacuous = "vacuous",
        /// Repeats of one run differ.
        Flaky = "flaky",
        /// Its recorded verdict belongs to another prompt, model or input.
        Stale = "stale",
        /// Only in comparisons: the baseline has no such cell.
        New = "new",
    }
}

impl ReplayOutcome {
    /// Whether the cell holds a verdict of any kind; crashes and timeouts say nothing about the stimulus.
    pub fn is_verdict(self) -> bool {
        !matches!(self, ReplayOutcome::Crashes | ReplayOutcome::TimesOut)
    }

    /// The letter of matrices and heatmaps.
    pub fn letter(self) -> char {
        match self {
            ReplayOutcome::Catches => 'C',
            ReplayOutcome::Misses => '.',
            ReplayOutcome::WrongReason => 'W',
            ReplayOutcome::Crashes => 'X',
            ReplayOutcome::TimesOut => 'T',
            ReplayOutcome::Skipped => 'S',
            ReplayOutcome::Unsupported => ' ',
            ReplayOutcome::Vacuous => 'V',
            ReplayOutcome::Flaky => 'F',
            ReplayOutcome::Stale => 'O',
            ReplayOutcome::New => '+',
        }
    }
}

vocabulary! {
    /// What a fixture is for.
    FixtureClass {
        /// Must be caught as expected.
        Normative = "normative",
        /// Missed today, and known to be.
        KnownDefect = "known_defect",
        /// Known good: every validator must pass it.
        Control = "control",
    }
}

vocabulary! {
    /// How a cell of a replay differs from the same cell of a baseline.
    ReplayFlip {
        /// A failure that was caught and is not any more.
        NewlyMissed = "newly_missed",
        /// A failure that was not caught and is now.
        NewlyCaught = "newly_caught",
        /// A control that was passed and is failed now.
        NewlyWrong = "newly_wrong",
        /// A control that was failed and is passed now.
        NoLongerWrong = "no_longer_wrong",
        /// Another outcome than before, of no consequence for what is caught.
        Otherwise = "otherwise",
        Unchanged = "unchanged",
        /// The baseline has no such cell of the same bytes.
        New = "new",
        /// One side has no verdict: nothing is proven.
        NoVerdict = "no_verdict",
    }
}

impl ReplayFlip {
    /// How a cell went from one outcome to another.
    pub fn of(before: ReplayOutcome, now: ReplayOutcome, class: Option<FixtureClass>) -> ReplayFlip {
        if !before.is_verdict() || !now.is_verdict() {
            return ReplayFlip::NoVerdict;
        }
        if before == now {
            return ReplayFlip::Unchanged;
        }
        let caught = |o: ReplayOutcome| o == ReplayOutcome::Catches;
        match (caught(before), caught(now), class == Some(FixtureClass::Control)) {
            (true, false, true) => ReplayFlip::NoLongerWrong,
            (false, true, true) => ReplayFlip::NewlyWrong,
            (true, false, false) => ReplayFlip::NewlyMissed,
            (false, true, false) => ReplayFlip::NewlyCaught,
            (_, _, true) if now == ReplayOutcome::WrongReason => ReplayFlip::NewlyWrong,
            _ => ReplayFlip::Otherwise,
        }
    }
}
