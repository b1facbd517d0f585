//! Owns `Writes`: whether the work tree of a run changed between two moments. What is unknown is never taken for unchanged.

use super::states::wrote_at;
use super::timeline::{Event, same_sha};
use crate::model::sessions::ToolCall;
use crate::model::time::Ts;
use crate::model::vocabulary::Phase;

/// A call that wrote, or may have written, while it ran.
#[derive(Debug, Clone, Copy)]
struct Span<'a> {
    id: &'a str,
    /// `None`: unknown.
    from: Option<Ts>,
    to: Option<Ts>,
    /// When it is known to have written.
    wrote: Option<Ts>,
    /// The latest end of this and all spans before it. `None`: one of them has no known end.
    latest: Option<Ts>,
}

/// Calls of a run that changed files or may have, as far as its sources show.
#[derive(Debug, Default)]
pub struct Writes<'a> {
    /// By start; a call without a start comes first.
    spans: Vec<Span<'a>>,
    /// Whether the run's sources record writes at all; if not, states are unknown.
    recorded: bool,
}

impl<'a> Writes<'a> {
    pub fn of(calls: &[&'a ToolCall]) -> Writes<'a> {
        // A refused call ran nothing. Of a call that tells nothing of its writes (a shell) each may have written, also one that failed.
        let may_write = |call: &ToolCall| call.denied_by.is_none() && (call.writes.is_none() || wrote_at(call).is_some());
        let mut spans: Vec<Span<'a>> = Vec::new();
        for call in calls.iter().copied().filter(|call| may_write(call)) {
            let wrote = wrote_at(call);
            spans.push(Span { id: &call.tool_call_id, from: call.started_at, to: call.ended_at.or(wrote), wrote, latest: None });
        }
        spans.sort_by_key(|s| (s.from, s.to, s.id));
        let mut latest = Some(Ts(i64::MIN));
        for span in &mut spans {
            latest = latest.zip(span.to).map(|(a, b)| a.max(b));
            span.latest = latest;
        }
        Writes { spans, recorded: calls.iter().any(|c| c.writes.is_some()) }
    }

    /// Whether anything was written after `from` and up to `to` by other calls than those named. `None`: unknown.
    pub fn between(&self, from: Option<Ts>, to: Option<Ts>, except: &[&str]) -> Option<bool> {
        if !self.recorded {
            return None;
        }
        let (from, to) = (from?, to?);
        let mut unknown = false;
        let begun = self.spans.partition_point(|s| s.from.is_none_or(|at| at < to));
        for span in self.spans[..begun].iter().rev() {
            if span.latest.is_some_and(|end| end <= from) {
                break;
            }
            if except.contains(&span.id) {
                continue;
            }
            if span.wrote.is_some_and(|at| from < at && at <= to) {
                return Some(true);
            }
            unknown |= span.to.is_none_or(|end| end > from);
        }
        if unknown { None } else { Some(false) }
    }

    /// Whether the tree changed from one gate run to a later one. `None`: unknown.
    pub fn changed(&self, earlier: &Event<'_>, later: &Event<'_>) -> Option<bool> {
        let written = self.written(earlier, later);
        match (earlier.commit(), later.commit()) {
            (Some(a), Some(b)) if !same_sha(a, b) => Some(true),
            // The tree of a commit is one tree, whatever was done in between of which nothing is known.
            (Some(_), Some(_)) => Some(written == Some(true)),
            _ => written,
        }
    }

    fn written(&self, earlier: &Event<'_>, later: &Event<'_>) -> Option<bool> {
        let (from, to) = (earlier.effective?, later.effective?);
        // What a call did before a gate looked at its result is no change after that, nor is what a call does that a gate lets begin.
        let before = own_call(earlier, Phase::After);
        let except: Vec<&str> = before.into_iter().chain(own_call(later, Phase::Before)).collect();
        // A call whose result the later gate looked at did its work before that, whenever the result was written down.
        let looked_at = own_call(later, Phase::After).filter(|id| !except.contains(id));
        if looked_at.is_some_and(|id| self.spans.iter().any(|s| s.id == id && s.wrote.is_some_and(|at| at > from))) {
            return Some(true);
        }
        self.between(Some(from), Some(to), &except)
    }
}

/// The call that the gate run was about, where it came before or after that call as asked.
fn own_call<'e>(event: &Event<'e>, phase: Phase) -> Option<&'e str> {
    let run = event.run;
    run.tool_call_id.as_deref().filter(|_| run.phase == Some(phase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::sample::tool_call;

    fn at(second: i64) -> Option<Ts> {
        Some(Ts(second * 1_000_000))
    }

    fn call(id: &str, from: i64, to: i64, writes: Option<bool>) -> ToolCall {
        ToolCall { started_at: at(from), ended_at: at(to), writes, ..tool_call(id, "c", "Bash") }
    }

    fn between(calls: &[ToolCall], from: i64, to: i64) -> Option<bool> {
        Writes::of(&calls.iter().collect::<Vec<_>>()).between(at(from), at(to), &[])
    }

    #[test]
    fn a_write_is_a_change_and_what_may_have_written_leaves_it_unknown() {
        let edit = call("edit", 10, 11, Some(true));
        let read = call("read", 12, 13, Some(false));
        assert_eq!(between(&[edit.clone(), read.clone()], 0, 20), Some(true));
        assert_eq!(between(&[edit.clone(), read.clone()], 11, 20), Some(false));
        assert_eq!(between(&[edit, read, call("shell", 14, 15, None)], 11, 20), None);
    }

    #[test]
    fn a_shell_counts_wherever_it_overlaps_the_time_and_nowhere_else() {
        let read = call("read", 0, 1, Some(false));
        for (from, to, wanted) in
            [(10, 20, None), (12, 13, None), (5, 11, None), (14, 30, None), (15, 30, Some(false)), (2, 10, Some(false))]
        {
            assert_eq!(between(&[read.clone(), call("shell", 10, 15, None)], from, to), wanted, "{from} to {to}");
        }
        let no_end = ToolCall { ended_at: None, ..call("shell", 10, 15, None) };
        assert_eq!(between(&[read.clone(), no_end, call("later", 16, 17, Some(false))], 20, 30), None);
        let refused = ToolCall { denied_by: Some("user".into()), ..call("shell", 10, 15, None) };
        assert_eq!(between(&[read, refused], 5, 20), Some(false));
    }

    #[test]
    fn a_source_that_records_no_writes_leaves_every_state_unknown() {
        assert_eq!(between(&[call("shell", 10, 15, None)], 20, 30), None);
        assert_eq!(between(&[], 20, 30), None);
    }
}
