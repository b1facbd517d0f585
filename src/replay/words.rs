//! Owns the closed vocabularies of replay: each is one enum, written by its name.

/// Declares an enum that is written as text.
macro_rules! words {
    ( $(#[$meta:meta])* $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $text:literal ),+ $(,)? } ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name { $( $(#[$vmeta])* #[serde(rename = $text)] $variant ),+ }

        impl $name {
            #[allow(dead_code, reason = "not every vocabulary is listed somewhere")]
            pub const ALL: &'static [$name] = &[ $( $name::$variant ),+ ];
            pub fn as_str(self) -> &'static str {
                match self { $( $name::$variant => $text ),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

words! {
    /// What a validator did with a fixture.
    Outcome {
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

words! {
    Severity {
        Critical = "critical",
        Major = "major",
        Minor = "minor",
        Info = "info",
    }
}

words! {
    Classification {
        /// Must be caught as expected.
        Normative = "normative",
        /// Missed today, and known to be.
        KnownDefect = "known_defect",
        /// Known good: every validator must pass it.
        Control = "control",
    }
}

words! {
    Provenance {
        Harvested = "harvested",
        Rebuilt = "rebuilt",
        HandMade = "hand_made",
    }
}

words! {
    StimulusKind {
        Tree = "tree",
        Patch = "patch",
        Trace = "trace",
        Transcript = "transcript",
        Commit = "commit",
    }
}

words! {
    ValidatorKind {
        Deterministic = "deterministic",
        Judge = "judge",
    }
}

words! {
    /// What a validator said in one run.
    Said {
        Pass = "pass",
        Fail = "fail",
        Skipped = "skipped",
        CouldNotRun = "could_not_run",
    }
}

impl Outcome {
    /// Whether the cell holds a verdict of any kind; crashes and timeouts say nothing about the stimulus.
    pub fn is_verdict(self) -> bool {
        !matches!(self, Outcome::Crashes | Outcome::TimesOut)
    }
}

impl StimulusKind {
    /// Whether the stimulus is one file rather than a folder.
    pub fn is_file(self) -> bool {
        matches!(self, StimulusKind::Trace | StimulusKind::Transcript)
    }
}
