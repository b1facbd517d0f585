//! Owns results files of `mechanic replay`: one JSON document becomes one row a cell in `replay_results`.
//!
//! The shape read here is tolerant where replay's own is exact: a file of another version or from elsewhere costs its bad cells, not
//! the file. What validators printed stays in the file.

mod rows;
mod shape;
#[cfg(test)]
mod tests;

use std::io::Read;

use serde_json::Value;

use super::emit::Emitter;
use super::{Input, Probe, Source, open};
use shape::Replay;

/// Folder, from the working directory, in which replay keeps its results for the lake.
pub const FOLDER: &str = ".mechanic/replays";
const FORMAT: &str = "mechanic-replay";
/// Version of the results files that is read.
const FILE_FORMAT: i64 = 1;
/// Largest file that is read: a hundred thousand cells fit.
const CAP: usize = 32 << 20;

pub struct ReplayResults;

impl Source for ReplayResults {
    fn format(&self) -> &'static str {
        FORMAT
    }

    fn version(&self) -> u32 {
        1
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        let holds = |keys: &[&str]| keys.iter().all(|key| probe.holds(key));
        // Rewritten with sorted keys, the cells come first.
        probe.head.trim_ascii_start().starts_with(b"{")
            && (holds(&["\"format\"", "\"mechanic\"", "\"exit\"", "\"isolation\"", "\"in_force\""])
                || holds(&["\"cells\"", "\"fixture\"", "\"validator\"", "\"gate\"", "\"outcome\"", "\"why\""]))
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        open::open(input)?.take(CAP as u64 + 1).read_to_end(&mut bytes)?;
        out.summary.read_to = bytes.len() as i64;
        let mut refuse = |reason: &str, detail: Option<String>| {
            out.summary.records += 1;
            out.quarantine(1, 0, bytes.len(), reason, detail);
            Ok(())
        };
        if bytes.len() > CAP {
            return refuse("oversize", Some(format!("more than {CAP} bytes")));
        }
        let Ok(mut whole) = serde_json::from_slice::<Value>(bytes.trim_ascii()) else { return refuse("malformed", None) };
        match whole.get("format").and_then(Value::as_i64) {
            Some(FILE_FORMAT) => {}
            Some(other) => return refuse("unknown_version", Some(other.to_string())),
            None => return refuse("schema", Some("format is missing".to_owned())),
        }
        let Some(Value::Array(cells)) = whole.get_mut("cells").map(Value::take) else {
            return refuse("schema", Some("cells are no list".to_owned()));
        };
        drop(bytes);
        let replay = Replay::of(&whole, &cells);
        replay.rows(&cells, out)
    }
}
