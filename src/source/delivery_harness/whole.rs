//! Owns what the small per-issue files have in common: they are read whole, up to a bound, and belong to the issue of their folder.

use std::io::Read;

use crate::source::emit::Emitter;
use crate::source::{Input, open};

/// Largest file of this kind that is read; real ones are a few KiB.
pub const CAP: usize = 4 << 20;

/// The whole text. A larger file is one quarantined record.
pub fn read(input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    open::open(input)?.take(CAP as u64 + 1).read_to_end(&mut bytes)?;
    out.summary.read_to = bytes.len() as i64;
    if bytes.len() > CAP {
        out.summary.records += 1;
        out.quarantine(1, 0, bytes.len(), "oversize", Some(format!("more than {CAP} bytes")));
        return Ok(None);
    }
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        bytes.drain(..3);
    }
    Ok(Some(bytes))
}

/// Key of the delivery an issue's files belong to.
pub fn run_key(issue: &str) -> String {
    format!("record:{issue}")
}

/// Number of the issue whose folder (`issue-07`) holds the file, without leading zeros.
pub fn issue_of_folder(input: &Input) -> Option<String> {
    input.path.components().rev().find_map(|c| {
        let digits = c.as_os_str().to_str()?.strip_prefix("issue-")?;
        let number: u64 = if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok()? } else { return None };
        Some(number.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_issue_is_read_from_the_nearest_folder_without_padding() {
        let issue = |path: &str| issue_of_folder(&Input::new(Path::new(path)).unwrap());
        assert_eq!(issue("/r/.copilot-tracking/issues/issue-07/progress.md").as_deref(), Some("7"));
        assert_eq!(issue("/r/.worktrees/issue-3/.copilot-tracking/issues/issue-374/x").as_deref(), Some("374"));
        assert_eq!(issue("/r/issue-x/issue-/feature_list.json"), None);
    }
}
