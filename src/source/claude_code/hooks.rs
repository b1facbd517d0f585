//! Owns the firings of hooks: whatever number of lines speak of one (start, outcome, text put into the context, stop summary), it is
//! one gate run, keyed by tool use, event and command.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::hook_answer::{self, Answer};
use super::ids;
use super::runs::{GateSeen, Pen, breakdown, defects, findings, subject};
use super::tools::Target;
use super::words::Words;
use crate::model::gate_runs::GateRun;
use crate::model::id::digest;
use crate::model::time::Ts;
use crate::model::vocabulary::{About, GateKind, Mode, Purpose, Verdict, VerdictBasis};
use crate::source::hook_failure::{cause, is_timeout};
use crate::source::hook_identity as identity;

/// Firings that may still be spoken of.
const MAX_OPEN: usize = 128;

/// What a record says of the place of a firing.
pub struct Place<'a> {
    pub session: &'a str,
    pub context_id: &'a str,
    pub run_key: &'a str,
    pub cwd: Option<&'a str>,
    pub ts: Option<Ts>,
    pub line: i64,
    /// Tool use the hook guarded. `None` where it guarded none.
    pub guards: Option<String>,
    pub target: Option<&'a Target>,
}

/// Text of a hook, as far as it was decoded.
pub struct Spoken<'a> {
    pub text: &'a str,
    /// Bytes of the whole text.
    pub bytes: usize,
    /// Whether the model reads it, and not only the user.
    pub in_context: bool,
}

#[derive(Serialize, Deserialize)]
struct Firing {
    tool_use_id: String,
    event: String,
    /// `None` while only text without a command was seen.
    command: Option<Command>,
    purpose: Purpose,
    run: GateRun,
    words: Option<Words>,
    target: Option<Target>,
    cwd: Option<String>,
    has_answer: bool,
}

/// A hook's command, without its text.
#[derive(Serialize, Deserialize)]
struct Command {
    digest: String,
    /// Script and event, wrappers removed.
    identity: String,
}

impl Command {
    fn is(&self, command: &str) -> bool {
        self.digest == digest(command.as_bytes())
    }
}

#[derive(Default, Serialize, Deserialize)]
pub struct Hooks {
    open: VecDeque<Firing>,
}

impl Hooks {
    /// Takes one record of a firing of a known command.
    pub fn fired(
        &mut self,
        tool_use_id: &str,
        event: &str,
        command: &str,
        answer: impl FnOnce(Purpose) -> Answer,
        place: &Place<'_>,
        pen: &mut Pen<'_, '_>,
    ) {
        let purpose = identity::purpose(event, command);
        let found = self
            .open
            .iter()
            .rposition(|f| f.tool_use_id == tool_use_id && f.event == event && f.command.as_ref().is_none_or(|c| c.is(command)));
        let at = match found {
            Some(at) => at,
            None => self.start(tool_use_id, event, Some(command), purpose, place, pen),
        };
        let Some(firing) = self.open.get_mut(at) else { return };
        if firing.command.is_none() {
            // Its text was read before its command.
            firing.name(Some(command), purpose, place);
        }
        firing.take(answer(purpose), place);
    }

    /// Takes text of a hook that the record does not name: it belongs to the firing that is known to have said it.
    pub fn spoke(&mut self, tool_use_id: &str, event: &str, spoken: &Spoken<'_>, place: &Place<'_>, pen: &mut Pen<'_, '_>) {
        let text = spoken.text;
        let named = |f: &Firing| f.event == event && (f.tool_use_id == tool_use_id || tool_use_id == event);
        // The one that spoke is the one whose answer holds a text; else the newest.
        let speaker = self.open.iter().rposition(|f| named(f) && f.words.as_ref().is_some_and(|w| w.stand_in(text)));
        let found = speaker.or_else(|| self.open.iter().rposition(|f| named(f) && f.run.injected_tokens_est.is_some_and(|n| n > 0)));
        let found = found.or_else(|| self.open.iter().rposition(named));
        let at = match found {
            Some(at) => at,
            None => {
                let purpose = identity::purpose(event, "");
                self.start(tool_use_id, event, None, purpose, place, pen)
            }
        };
        let Some(firing) = self.open.get_mut(at) else { return };
        let answer = hook_answer::spoke(text, spoken.bytes, spoken.in_context, firing.purpose);
        firing.take(answer, place);
    }

    /// Takes an outcome that names no command.
    pub fn unnamed(&mut self, tool_use_id: &str, event: &str, answer: Answer, place: &Place<'_>, pen: &mut Pen<'_, '_>) {
        let found = self.open.iter().rposition(|f| f.tool_use_id == tool_use_id && f.event == event && f.command.is_none());
        let at = match found {
            Some(at) => at,
            None => self.start(tool_use_id, event, None, identity::purpose(event, ""), place, pen),
        };
        if let Some(firing) = self.open.get_mut(at) {
            firing.take(answer, place);
        }
    }

    /// Takes the refusal of a tool use by a hook that the text does not name: one that is known to have answered, else a nameless one.
    pub fn refused(&mut self, tool_use_id: &str, event: &str, answer: Answer, place: &Place<'_>, pen: &mut Pen<'_, '_>) {
        let known = |f: &Firing| f.tool_use_id == tool_use_id && f.event == event;
        if self.open.iter().any(|f| known(f) && f.run.stopped_work == Some(true)) {
            return;
        }
        let mut candidates = self.open.iter_mut().filter(|f| known(f));
        match (candidates.next(), candidates.next()) {
            (Some(only), None) => only.take(answer, place),
            _ => self.unnamed(tool_use_id, event, answer, place, pen),
        }
    }

    /// Takes the words that a stop hook sent back: it refused the end of the turn.
    pub fn stop_feedback(&mut self, native: &str, command: &str, answer: Answer, place: &Place<'_>, pen: &mut Pen<'_, '_>) {
        let is_stop = |f: &Firing| matches!(f.event.as_str(), "Stop" | "SubagentStop") && f.command.as_ref().is_some_and(|c| c.is(command));
        match self.open.iter_mut().rfind(|f| is_stop(f)) {
            Some(firing) => firing.take(answer, place),
            None => self.fired(native, "Stop", command, |_| answer, place, pen),
        }
    }

    /// The end of a turn: every stop hook with its time, refusals and breakdowns named by their texts.
    pub fn stop_summary(&mut self, tool_use_id: &str, event: &str, summary: &StopSummary, place: &Place<'_>, pen: &mut Pen<'_, '_>) {
        for (command, duration_ms) in &summary.hooks {
            let own: Vec<&str> = summary
                .errors
                .iter()
                .filter_map(|e| match super::permissions::bracketed(e) {
                    (Some(named), text) => (named == *command).then_some(text),
                    (None, text) => (summary.hooks.len() == 1).then_some(text),
                })
                .collect();
            let unclear = own.is_empty() && !summary.errors.is_empty();
            let answer = match own.first() {
                Some(text) if text.starts_with("Failed with non-blocking status code") => hook_answer::broken_open(text, None),
                Some(text) => hook_answer::blocking(text),
                None if summary.prevented && summary.hooks.len() == 1 => hook_answer::blocking(&summary.reason),
                None if unclear || summary.prevented => Answer::default(),
                None => Answer {
                    verdict: Some(Verdict::Pass),
                    basis: Some(VerdictBasis::Structured),
                    raw: Some("no_error"),
                    ..Answer::default()
                },
            };
            let answer = Answer { duration_ms: *duration_ms, ..answer };
            // The event of a line that ends a sub-agent is the one its hooks were started with.
            let event = self
                .open
                .iter()
                .rfind(|f| f.tool_use_id == tool_use_id && f.command.as_ref().is_some_and(|c| c.is(command)))
                .map_or_else(|| event.to_owned(), |f| f.event.clone());
            self.fired(tool_use_id, &event, command, |_| answer, place, pen);
        }
    }

    fn start(
        &mut self,
        tool_use_id: &str,
        event: &str,
        command: Option<&str>,
        purpose: Purpose,
        place: &Place<'_>,
        pen: &mut Pen<'_, '_>,
    ) -> usize {
        if self.open.len() >= MAX_OPEN
            && let Some(oldest) = self.open.pop_front()
        {
            oldest.finish(pen);
        }
        let run = pen.runs.start(String::new(), "", place.run_key, place.line, pen.out);
        let mut firing = Firing {
            tool_use_id: tool_use_id.to_owned(),
            event: event.to_owned(),
            command: None,
            purpose,
            run,
            words: None,
            target: place.target.cloned(),
            cwd: place.cwd.map(str::to_owned),
            has_answer: false,
        };
        firing.run.context_id = Some(place.context_id.to_owned());
        firing.run.tool_call_id = place.guards.as_ref().map(|id| ids::tool_call_id(place.session, id));
        firing.run.enforcement = identity::mode(event);
        firing.name(command, purpose, place);
        self.open.push_back(firing);
        self.open.len() - 1
    }

    pub fn finish(&mut self, pen: &mut Pen<'_, '_>) {
        for firing in self.open.drain(..) {
            firing.finish(pen);
        }
    }
}

/// `stop_hook_summary`.
#[derive(Debug, Default)]
pub struct StopSummary {
    /// Commands with their milliseconds.
    pub hooks: Vec<(String, Option<i64>)>,
    pub errors: Vec<String>,
    pub prevented: bool,
    pub reason: String,
}

impl Firing {
    fn name(&mut self, command: Option<&str>, purpose: Purpose, place: &Place<'_>) {
        self.command = command.map(|c| Command { digest: digest(c.as_bytes()), identity: identity::identity(&self.event, c) });
        self.purpose = purpose;
        self.run.gate_id = match command {
            Some(command) => identity::gate_id(&self.event, command),
            // Hooks that the record does not name cannot be told apart.
            None => format!("{}:hook", identity::clean_name(&self.event)),
        };
        // Without a tool use of its own the start of a session is told by its time.
        let time = if ids::is_unique(&self.tool_use_id) { String::new() } else { place.ts.map(|t| t.to_string()).unwrap_or_default() };
        let command = self.command.as_ref().map(|c| c.digest.as_str()).unwrap_or_default();
        self.run.gate_run_id = ids::gate_run_id(place.session, &self.tool_use_id, &["hook", &self.event, command, &time]);
    }

    /// A later record adds what it knows; it overrules a verdict only with a stronger one.
    fn take(&mut self, answer: Answer, place: &Place<'_>) {
        let run = &mut self.run;
        match answer.verdict {
            None if !self.has_answer => run.started_at = run.started_at.or(place.ts),
            None => {}
            Some(verdict) => {
                self.has_answer = true;
                run.ended_at = run.ended_at.or(place.ts);
                if strength(verdict) > strength(run.verdict) {
                    run.verdict = verdict;
                    run.raw_verdict = answer.raw.map(str::to_owned);
                    run.verdict_basis = answer.basis.unwrap_or(run.verdict_basis);
                    run.stopped_work = answer.stopped_work.or(run.stopped_work);
                    if let Some(text) = answer.text {
                        self.words = Some(Words::of(&text, self.cwd.as_deref()));
                    }
                }
            }
        }
        run.exit_status = run.exit_status.or(answer.exit_status);
        run.duration_ms = run.duration_ms.or(answer.duration_ms);
        if let (None, Some(end), Some(ms)) = (run.started_at, run.ended_at, run.duration_ms) {
            run.started_at = Some(end.minus_millis(ms));
        }
        if let Some(bytes) = answer.injected {
            run.injected_tokens_est = Some(run.injected_tokens_est.unwrap_or(0).max(bytes as i64 / 4));
        }
    }

    fn finish(mut self, pen: &mut Pen<'_, '_>) {
        let blocks = self.run.stopped_work == Some(true);
        self.run.phase = identity::phase(&self.event);
        self.run.subject = self.target.as_ref().map(|t| subject(t, self.cwd.as_deref()));
        // A hook that was seen to refuse or to warn controls, whatever its name says.
        let purpose = if matches!(self.run.verdict, Verdict::Fail) { Purpose::Control } else { self.purpose };
        let mode = if blocks { Some(Mode::Block) } else { identity::mode(&self.event) };
        self.run.enforcement = mode;
        let identity = self.command.as_ref().map(|c| c.identity.clone());
        let gate_id = self.run.gate_id.clone();
        pen.runs.gate(
            &GateSeen { gate_id: &gate_id, purpose, kind: GateKind::Deterministic, mode, identity },
            self.run.source_line,
            pen.out,
        );
        let broke = matches!(self.run.verdict, Verdict::Crashed | Verdict::TimedOut | Verdict::CouldNotRun);
        if broke {
            self.run.about = About::Infrastructure;
        }
        let speaks = broke || matches!(self.run.verdict, Verdict::Fail | Verdict::Warn);
        if speaks {
            let found = if broke {
                let cause = self.words.as_ref().map_or_else(|| cause(""), |w| w.cause.clone());
                if is_timeout(&cause) {
                    self.run.verdict = Verdict::TimedOut;
                }
                vec![breakdown(&gate_id, &cause)]
            } else {
                defects(&gate_id, self.words.as_ref(), self.target.as_ref())
            };
            pen.out.facts.findings.extend(findings(&self.run, found));
        }
        pen.out.facts.gate_runs.push(self.run);
    }
}

/// Which of two verdicts on one firing says more.
fn strength(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Unobservable => 0,
        Verdict::Pass => 1,
        Verdict::Warn => 2,
        Verdict::NeedsReview => 3,
        _ => 4,
    }
}
