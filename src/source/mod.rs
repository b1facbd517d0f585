//! Owns the sources: each turns one vendor's files into records. Nothing above this part knows a vendor's field.

pub mod append;
pub mod apply_patch;
pub mod claude_code;
pub mod copilot_cli;
pub mod declarations;
pub mod delivery_harness;
pub mod diagnostics;
pub mod edges;
pub mod edits;
pub mod emit;
pub mod git;
pub mod growing;
pub mod hook_command;
pub mod hook_failure;
pub mod hook_identity;
pub mod labels;
pub mod lenient;
pub mod lines;
pub mod open;
pub mod quote;
pub mod recorded;
pub mod redact;
pub mod repair;
pub mod replay_results;
pub mod reviewer;
pub mod salvage;
pub mod scan;
pub mod severity;
pub mod walk;

#[cfg(test)]
mod growing_tests;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use emit::{Emitter, Summary};

use crate::model::id::stable_id;

/// One input file.
#[derive(Debug, Clone)]
pub struct Input {
    /// Where it is now.
    pub path: PathBuf,
    /// How it is named in records: absolute, the home directory cut to `~`.
    pub shown_path: String,
    pub source_id: String,
}

impl Input {
    /// Names a file. The path is made absolute without following the last link.
    pub fn new(path: &Path) -> io::Result<Input> {
        let path = std::path::absolute(path)?;
        let shown_path = cut_home(&path.to_string_lossy());
        let source_id = stable_id(&["source", &shown_path]);
        Ok(Input { path, shown_path, source_id })
    }

    /// The file as it stands for the n-th content of its path that is no continuation of those before; the first is 0.
    pub fn generation(self, n: usize) -> Input {
        match n {
            0 => self,
            n => Input { source_id: stable_id(&["source", &self.shown_path, &n.to_string()]), ..self },
        }
    }

    /// The file as it is on disk; [`open::open`] gives its text.
    pub fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// File name, or empty.
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(|n| n.to_str()).unwrap_or("")
    }

    /// Whether some folder of the path has this name.
    pub fn within(&self, folder: &str) -> bool {
        self.path.components().any(|c| c.as_os_str() == folder)
    }
}

/// Cuts the user's home directory, and any other user's, from a path: `/home/ann/x` and `/Users/ann/x` become `~/x`.
pub fn cut_home(path: &str) -> String {
    if let Some(home) = std::env::home_dir().and_then(|h| h.to_str().map(str::to_owned))
        && home.len() > 1
        && let Some(rest) = path.strip_prefix(&home)
        && (rest.is_empty() || rest.starts_with('/'))
    {
        return format!("~{rest}");
    }
    for root in ["/home/", "/Users/"] {
        if let Some(rest) = path.strip_prefix(root) {
            return match rest.split_once('/') {
                Some((_, rest)) => format!("~/{rest}"),
                None => "~".to_owned(),
            };
        }
    }
    cut_windows_home(path).unwrap_or_else(|| path.to_owned())
}

/// `C:\Users\ann\x` becomes `~\x`.
fn cut_windows_home(path: &str) -> Option<String> {
    let (drive, rest) = path.split_once(':')?;
    let rest = rest.strip_prefix(['\\', '/'])?;
    let (users, rest) = (rest.get(..5)?, rest.get(5..)?.strip_prefix(['\\', '/'])?);
    if drive.len() != 1 || !users.eq_ignore_ascii_case("users") {
        return None;
    }
    Some(rest.find(['\\', '/']).and_then(|at| rest.get(at..)).map_or_else(|| "~".to_owned(), |rest| format!("~{rest}")))
}

/// What a source may look at to decide whether a file is its own.
pub struct Probe<'a> {
    pub input: &'a Input,
    /// The first bytes of the (uncompressed) file: [`PROBE_BYTES`], or the whole first line where that is longer.
    pub head: &'a [u8],
}

/// Bytes of a file shown to [`Source::claims`].
pub const PROBE_BYTES: usize = 64 << 10;
/// The same where the first line is longer than that.
const FIRST_LINE_BYTES: usize = 8 << 20;

impl Probe<'_> {
    /// Whether the head holds this text.
    pub fn holds(&self, text: &str) -> bool {
        memchr::memmem::find(self.head, text.as_bytes()).is_some()
    }
}

/// One input format.
pub trait Source: Sync {
    /// Name of the format (`claude-code`).
    fn format(&self) -> &'static str;
    /// Raised whenever the same bytes would give other rows: files read by an older version are read again.
    fn version(&self) -> u32;
    /// Whether the file is of this format; cheap, from path and head alone.
    fn claims(&self, probe: &Probe<'_>) -> bool;
    /// A digest of what decides the rows besides the file's own bytes (the references of a repository); part of what makes the
    /// file current. `None`: nothing else does, or it could not be read.
    fn state(&self, _input: &Input) -> Option<String> {
        None
    }
    /// Whether the file only grows at its end while its program does as it should. What an earlier reading of it saw then happened,
    /// though a later content no longer says so.
    fn is_append_only(&self, _input: &Input) -> bool {
        false
    }
    /// Reads the file. Bad records go to quarantine; an error means that the file itself could not be read.
    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()>;
}

/// Every native source, in the order they are asked.
pub fn all() -> &'static [&'static dyn Source] {
    &[
        &git::GitSource,
        &labels::Labels,
        &recorded::RecordedRuns,
        &delivery_harness::LifecycleTrace,
        &delivery_harness::FeatureList,
        &delivery_harness::Progress,
        &delivery_harness::SensorEvidence,
        &delivery_harness::ApprovalMarker,
        &delivery_harness::Contract,
        &replay_results::ReplayResults,
        &claude_code::ClaudeCode,
        &copilot_cli::CopilotCli,
        &declarations::HookDeclarations,
        &declarations::InstructionFiles,
    ]
}

/// The source that claims the file; `None` leaves it `ignored`.
pub fn claim(input: &Input, head: &[u8]) -> Option<&'static dyn Source> {
    let probe = Probe { input, head };
    all().iter().copied().find(|s| s.claims(&probe))
}

/// Reads up to [`PROBE_BYTES`] from the start of a file's text; where the first line is longer, up to its end, at most
/// [`FIRST_LINE_BYTES`]: what tells a format apart may stand at its end.
pub fn head_of(input: &Input) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut text = open::open(input)?;
    (&mut text).take(PROBE_BYTES as u64).read_to_end(&mut head)?;
    while head.len() >= PROBE_BYTES && head.len() < FIRST_LINE_BYTES && !head.contains(&b'\n') {
        let before = head.len();
        (&mut text).take(PROBE_BYTES as u64).read_to_end(&mut head)?;
        if head.len() == before {
            break;
        }
    }
    Ok(head)
}

/// Reads one file with one source into a sink.
pub fn read_file(source: &dyn Source, input: &Input, sink: &mut dyn emit::Sink) -> anyhow::Result<Summary> {
    read_grown_file(source, input, None, sink)
}

/// Reads one file, from where the reading ended that left `earlier`, if its source can: then [`Summary::went_on`] says so.
pub fn read_grown_file(source: &dyn Source, input: &Input, earlier: Option<&[u8]>, sink: &mut dyn emit::Sink) -> anyhow::Result<Summary> {
    let mut out = Emitter::new(input.source_id.clone(), sink);
    out.earlier = earlier;
    source.read(input, &mut out)?;
    out.finish()
}
