//! Owns the public bug reports about session logs as tests: what other readers got wrong, and the right value, through a fresh lake.
//!
//! The numbers are those of `formats/bug-log.md`. Names of tests begin with the numbers they show, here and beside the readers
//! (`src/source/claude_code/tests.rs`, `src/source/copilot_cli/tests.rs`), where most cases are also tested on their rows. Cases of
//! other programs' formats (T-20, T-41 to T-48, T-54 to T-63) are not read and stand nowhere.
//!
//! | case | fact | here |
//! |---|---|---|
//! | T-1 | a response of several lines is one call | `calls` |
//! | T-2, T-3 | the greatest output of a call's lines stays | `calls` |
//! | T-4, T-5 | without a request id the message id alone tells a call | `calls` |
//! | T-6 | every view counts the same calls | `calls` |
//! | T-7 | sub-agents' files are found and bill like any other | `calls` |
//! | T-8, T-9 | only a stop reason proves an output final; a placeholder is no price | `calls` |
//! | T-10 | a sub-agent's last call takes its output from its parent's total | `calls`, `src/attribute/last_calls.rs` |
//! | T-11 | token sums are said to be a lower bound of the bill | `calls` |
//! | T-12, T-13, T-16 | what forks and resumed sessions copy is counted once | `calls` |
//! | T-14 | a log that was rewritten loses nothing that was read before | `order` and the lake's own tests |
//! | T-15 | adding the lines gives a multiple of what was used | `calls` |
//! | T-17, T-18 | cache writes are priced by their time to live | `prices` |
//! | T-19, T-21 | input is fresh input in either format | `prices` |
//! | T-22 | API requests and premium requests stand apart | `prices` |
//! | T-23, T-24 | a day is one of the zone asked for, on any machine | `days` |
//! | T-25, T-26, T-38 | files of any size are read in bounded memory | `large` |
//! | T-27, T-35, T-39 | a stub and the whole record are one loss and one record | `broken` |
//! | T-28 | a request without a result is a state | `broken` |
//! | T-29, T-36 | NUL bytes are not content | `broken` |
//! | T-30, T-31 | a lone surrogate costs neither line nor counters | `broken` |
//! | T-32, T-53 | a corrupt line is one loss with its place | `broken` |
//! | T-33 | an event over several lines is one event | `broken` |
//! | T-34 | only a newline ends a line | `broken` |
//! | T-37 | several segments and long events are a valid file | `large` |
//! | T-40 | long lines are read, lines past the cap counted | `large` |
//! | T-49, T-50 | without a shutdown input and price are unknown | `totals` |
//! | T-51 | cumulative counters are differenced, epochs counted in full | `totals` |
//! | T-52 | token details may be absent | `totals` |
//! | T-53b | unknown events are counted, never fatal | `totals` |
//! | T-53c | totals of a session are not split over its calls | `totals` |
//! | T-53d | a stale lock means nothing | `totals` |

mod broken;
mod calls;
mod days;
mod large;
mod logs;
mod prices;
mod totals;
