//! Owns which measures of isolation were in force in a run, as one set of bits, and what each is called.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Measures in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Measures(pub u32);

macro_rules! measures {
    ( $( $(#[$meta:meta])* $name:ident = $bit:literal, $text:literal );+ $(;)? ) => {
        impl Measures {
            $( $(#[$meta])* pub const $name: Measures = Measures(1 << $bit); )+
            const NAMES: &'static [(Measures, &'static str)] = &[ $( (Measures::$name, $text) ),+ ];
        }
    };
}

measures! {
    USER = 0, "user namespace";
    /// Whatever a run leaves dies with its first process, so with us.
    PID = 1, "PID namespace";
    MOUNT = 2, "mount namespace";
    NET = 3, "no network (own namespace)";
    IPC = 4, "IPC namespace";
    READONLY = 5, "read-only file system";
    TMPFS = 6, "size-limited tmpfs";
    PROC = 7, "own /proc";
    PIDS = 8, "process limit";
    RLIMITS = 9, "rlimits";
    LANDLOCK = 10, "Landlock";
    NO_NEW_PRIVS = 11, "no new privileges";
    NO_CAPS = 12, "no capabilities";
    FILES = 13, "read-only validator files";
    PDEATHSIG = 14, "death with the parent";
    REAPER = 15, "supervising process";
    /// By seccomp: the calls that write are looked at, and what would reach outside is named.
    SEEN = 16, "sight of writes outside";
    /// By seccomp, where there is no network namespace: TCP, UDP and Unix sockets alike.
    SOCKETS = 17, "no sockets (seccomp)";
    /// Where a cgroup v2 subtree is ours to use; the process limit is in force without it, too.
    CGROUP = 18, "pids cgroup";
    MEMORY = 19, "memory cgroup";
}

impl Measures {
    /// What a machine that allows everything gives, and no other measure makes up for.
    pub const WANTED: Measures = Measures((1 << 17) - 1);

    pub fn has(self, other: Measures) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn with(self, other: Measures) -> Measures {
        Measures(self.0 | other.0)
    }

    pub fn in_common(self, other: Measures) -> Measures {
        Measures(self.0 & other.0)
    }

    pub fn without(self, other: Measures) -> Measures {
        Measures(self.0 & !other.0)
    }

    pub fn names(self) -> Vec<&'static str> {
        Measures::NAMES.iter().filter(|(m, _)| self.has(*m)).map(|(_, name)| *name).collect()
    }

    /// What is wanted and not in force.
    pub fn missing(self) -> Vec<&'static str> {
        // Who can make no socket needs no network namespace.
        let covered = if self.has(Measures::SOCKETS) { Measures::NET } else { Measures(0) };
        Measures::WANTED.without(self).without(covered).names()
    }
}

impl fmt::Display for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().join(", "))
    }
}
