//! Owns the source `copilot-cli`: the `events.jsonl` of GitHub Copilot CLI. Format: envelope `{type, data, id, timestamp, agentId?}`, one
//! event a line; a sub-agent's events carry the id of the tool call that started it.

mod agents;
mod calls;
pub(in crate::source) mod edits;
mod events;
mod hooks;
mod limits;
mod permissions;
mod reader;
mod rows;
mod tools;
mod totals;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_real;

use crate::source::emit::Emitter;
use crate::source::{Input, Probe, Source, growing, head_of};

use events::Envelope;

/// Name of the format, first part of every id.
pub const FORMAT: &str = "copilot-cli";

/// The source.
pub struct CopilotCli;

impl Source for CopilotCli {
    fn format(&self) -> &'static str {
        FORMAT
    }

    fn version(&self) -> u32 {
        2
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        // VS Code keeps transcripts with a part of these event names; they are another format.
        if probe.input.within("GitHub.copilot-chat") || probe.head.first().is_none_or(|b| *b == 0x1F) {
            return false;
        }
        let lines = probe.head.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty()).take(8);
        let mut heads = lines.filter_map(|line| serde_json::from_slice::<events::Head>(line).ok()).peekable();
        if heads.peek().is_some() {
            return heads.any(|head| head.is_event());
        }
        // The first line may be longer than what is shown, or broken.
        let named = probe.input.name() == "events.jsonl" || probe.input.within("session-state");
        named && [r#""type":"session.start""#, r#""type":"assistant.turn_start""#, r#""type":"hook.start""#].iter().any(|t| probe.holds(t))
    }

    fn is_append_only(&self, _input: &Input) -> bool {
        true
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let fresh = || Ok(reader::Reader::of(&head_of(input)?));
        growing::read(input, out, is_event, fresh, |reader, record, out| reader.record(record, out))?.finish(out);
        Ok(())
    }
}

/// Whether an object found behind a broken prefix is a whole event.
fn is_event(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Envelope<'_>>(bytes).is_ok_and(|e| events::is_known(&e.kind) && (e.data.is_some() || e.timestamp.0.is_some()))
}
