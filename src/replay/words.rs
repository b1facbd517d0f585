//! Owns the closed vocabularies of replay: each is one enum, written by its name. Those that the lake stores too are the records' own.

pub use crate::model::vocabulary::{FixtureClass as Classification, ReplayFlip, ReplayOutcome as Outcome, Severity};

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

impl StimulusKind {
    /// Whether the stimulus is one file rather than a folder.
    pub fn is_file(self) -> bool {
        matches!(self, StimulusKind::Trace | StimulusKind::Transcript)
    }
}
