//! Owns the source `hook-declarations`: hooks and permission rules as settings files declare them, whether or not any run shows them.
//!
//! Read are `.claude/settings.json` and `settings.local.json` (project and home), a plugin's `hooks/hooks.json` and
//! `.claude-plugin/plugin.json`, and for Copilot `.github/hooks/*.json`, `.copilot/hooks/*.json` and `settings*.json` in `.github/copilot`
//! or `.copilot`.

mod hooks;
mod instructions;
mod permissions;
mod place;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::source::delivery_harness::whole;
use crate::source::emit::Emitter;
use crate::source::{Input, Probe, Source};

pub use instructions::InstructionFiles;
use place::Place;

/// Name of the format.
pub const FORMAT: &str = "hook-declarations";

/// The source.
pub struct HookDeclarations;

/// What the readers of a part of the file share.
struct File<'f> {
    text: &'f str,
    place: &'f Place,
    source_id: String,
}

impl File<'_> {
    /// 1-based line on which the JSON text of `value` stands, the `nth` time; the first line where it cannot be found.
    fn line_of(&self, value: &str, nth: usize) -> i64 {
        let quoted = serde_json::to_string(value).unwrap_or_default();
        let mut found = memchr::memmem::find_iter(self.text.as_bytes(), quoted.as_bytes());
        let at = found.nth(nth).or_else(|| memchr::memmem::find(self.text.as_bytes(), quoted.as_bytes()));
        let before = at.and_then(|at| self.text.as_bytes().get(..at)).unwrap_or_default();
        memchr::memchr_iter(b'\n', before).count() as i64 + 1
    }
}

impl Source for HookDeclarations {
    fn format(&self) -> &'static str {
        FORMAT
    }

    fn version(&self) -> u32 {
        1
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        if Place::of(probe.input).is_none() || !content(probe.head).starts_with(b"{") {
            return false;
        }
        // Settings without hooks and rules declare nothing, but they are of this format and read as such.
        probe.input.name().starts_with("settings")
            || probe.holds("\"hooks\"")
            || hooks::EVENTS.iter().any(|e| probe.holds(&format!("\"{e}\"")))
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let Some(bytes) = whole::read(input, out)? else { return Ok(()) };
        let place = Place::of(input).unwrap_or_else(|| Place::unknown(input));
        let text = String::from_utf8_lossy(&bytes);
        let root = match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(root)) => root,
            Ok(_) => {
                out.summary.records += 1;
                out.quarantine(1, 0, bytes.len(), "not_object", None);
                return Ok(());
            }
            Err(error) => {
                out.summary.records += 1;
                out.quarantine(error.line() as i64, 0, bytes.len(), "malformed", None);
                return Ok(());
            }
        };
        let file = File { text: &text, place: &place, source_id: out.source_id.clone() };
        hooks::read(&root, &file, out);
        permissions::read(&root, &file, out);
        Ok(())
    }
}

/// A byte order mark and white space are no content.
fn content(head: &[u8]) -> &[u8] {
    let head = head.trim_ascii_start();
    head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start()
}
