//! Owns what a session did to the files of its work tree, in no vendor's words: its edits in order, as its log keeps them, and the
//! shell commands between them. Read from the log at the moment it is asked for; the lake keeps no text.

use super::{Input, claude_code, copilot_cli};
use crate::model::time::Ts;

/// A longer text of one edit is not held: the edit is told as unreadable.
pub const TEXT_CAP: usize = 8 << 20;

/// What one log says was done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    /// In the order they ended.
    pub steps: Vec<Step>,
    /// First working directory, as the log names it.
    pub cwd: Option<String>,
    /// Branch, by the line from which the log names it.
    pub branches: Vec<(i64, String)>,
    /// Commands of hooks, by line.
    pub hooks: Vec<(i64, String)>,
}

impl Session {
    /// The branch at a line, as far as the log names one.
    pub fn branch_at(&self, line: i64) -> Option<&str> {
        let before = self.branches.iter().rev().find(|(from, _)| *from <= line);
        before.or_else(|| self.branches.first()).map(|(_, branch)| branch.as_str())
    }

    pub fn hook_at(&self, line: i64) -> Option<&str> {
        self.hooks.iter().find(|(at, _)| *at == line).map(|(_, command)| command.as_str())
    }
}

/// One tool call that did, or may have done, something to the files.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub tool_call_id: String,
    /// Line of the request.
    pub line: i64,
    /// Line of its result. `None`: the log has none.
    pub ended_line: Option<i64>,
    /// When its result came, else when it was asked for.
    pub at: Option<Ts>,
    pub cwd: Option<String>,
    pub outcome: Outcome,
    pub act: Act,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed,
    Refused,
    /// No result, or one that does not say.
    Unknown,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    Edits(Vec<Edit>),
    Shell(String),
    /// A tool that writes in a way that is not read; its name.
    Other(String),
}

/// One change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// As the log names it.
    pub path: String,
    pub change: Change,
    /// The whole file as it was before, where the log keeps it; `Some(None)`: it was not there.
    pub before: Option<Option<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The whole file.
    Write(String),
    /// One text by another, one after the other.
    Replace(Vec<Replace>),
    /// Blocks of lines by others, each behind the one before it.
    Blocks(Vec<(String, String)>),
    Delete,
    /// None: the log shows the file as it is (`before`).
    Nothing,
    /// To another path.
    Move(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replace {
    pub old: String,
    pub new: String,
    /// Everywhere; else it must stand there once.
    pub all: bool,
}

/// Whether a format keeps edits that are read here.
pub fn knows(format: &str) -> bool {
    [claude_code::FORMAT, copilot_cli::FORMAT].contains(&format)
}

/// Reads what the log of a format says. `None`: the format keeps no edits.
pub fn read(format: &str, input: &Input) -> anyhow::Result<Option<Session>> {
    let mut session = match format {
        claude_code::FORMAT => claude_code::edits::read(input)?,
        copilot_cli::FORMAT => copilot_cli::edits::read(input)?,
        _ => return Ok(None),
    };
    session.steps.sort_by_key(|s| (s.ended_line.unwrap_or(i64::MAX), s.line));
    Ok(Some(session))
}

/// Whether a shell command writes files: what is known to write, what is known only to read; `None` for all others. A guess from its
/// words, used to count what cannot be repeated, never to decide what was done.
pub fn shell_writes(command: &str) -> Option<bool> {
    const READERS: &[&str] = &[
        "ls",
        "cat",
        "head",
        "tail",
        "grep",
        "rg",
        "find",
        "fd",
        "wc",
        "pwd",
        "echo",
        "printf",
        "which",
        "type",
        "file",
        "stat",
        "du",
        "df",
        "ps",
        "env",
        "date",
        "sleep",
        "true",
        "false",
        "test",
        "[",
        "cd",
        "export",
        "set",
        "jq",
        "sort",
        "uniq",
        "cut",
        "tr",
        "awk",
        "diff",
        "tree",
        "less",
        "more",
        "column",
        "xxd",
        "basename",
        "dirname",
        "realpath",
        "Get-Content",
        "Get-ChildItem",
        "Select-String",
    ];
    const WRITERS: &[&str] = &[
        "mv",
        "cp",
        "rm",
        "mkdir",
        "rmdir",
        "touch",
        "tee",
        "ln",
        "chmod",
        "patch",
        "dd",
        "truncate",
        "rsync",
        "install",
        "unzip",
        "tar",
        "Set-Content",
        "Add-Content",
        "Out-File",
        "New-Item",
        "Remove-Item",
        "Move-Item",
        "Copy-Item",
    ];
    const GIT_WRITERS: &[&str] = &[
        "checkout",
        "switch",
        "restore",
        "reset",
        "apply",
        "am",
        "stash",
        "merge",
        "rebase",
        "pull",
        "revert",
        "cherry-pick",
        "clean",
        "rm",
        "mv",
    ];
    const GIT_READERS: &[&str] = &[
        "status",
        "diff",
        "log",
        "show",
        "rev-parse",
        "branch",
        "blame",
        "ls-files",
        "remote",
        "fetch",
        "add",
        "commit",
        "push",
        "describe",
        "grep",
    ];
    let command = &command[..command.floor_char_boundary(16 << 10)];
    let quiet =
        command.replace("2>&1", " ").replace(">&2", " ").replace("2>/dev/null", " ").replace("> /dev/null", " ").replace(">/dev/null", " ");
    let mut known = true;
    for part in quiet.split(['|', ';', '\n', '&']) {
        let mut words = part.split_whitespace().skip_while(|w| w.contains('=') || matches!(*w, "sudo" | "time" | "then" | "do" | "if"));
        let Some(program) = words.next() else { continue };
        let program = program.rsplit('/').next().unwrap_or(program);
        let rest: Vec<&str> = words.collect();
        let first = rest.iter().find(|w| !w.starts_with('-')).copied().unwrap_or("");
        let formats = rest.iter().any(|w| matches!(*w, "--fix" | "--write" | "fmt" | "format"));
        let in_place = matches!(program, "sed" | "perl" | "ruby") && rest.iter().any(|w| w.starts_with("-i") || w.starts_with("-pi"));
        if WRITERS.contains(&program) || formats || in_place || (program == "git" && GIT_WRITERS.contains(&first)) {
            return Some(true);
        }
        known &= READERS.contains(&program) || (program == "git" && GIT_READERS.contains(&first)) || (program == "sed" && !in_place);
    }
    match (quiet.contains('>'), known) {
        // `=>`, `->` and comparisons are no redirections, but a quoted text is hard to tell: then it is not known.
        (true, _) => quiet.split_whitespace().any(|w| w == ">" || w == ">>" || w.starts_with(">>") || w.starts_with("1>")).then_some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_commands_are_told_by_their_words_and_unknown_ones_stay_unknown() {
        for (command, writes) in [
            ("ls -la src | head -3", Some(false)),
            ("git status && git diff 2>&1", Some(false)),
            ("cat a 2>/dev/null", Some(false)),
            ("sed -n 1,3p a.txt", Some(false)),
            ("sed -i s/a/b/ a.txt", Some(true)),
            ("cd x && git checkout -- .", Some(true)),
            ("echo hi > a.txt", Some(true)),
            ("cat <<EOF >> notes.md\nx\nEOF", Some(true)),
            ("cargo fmt", Some(true)),
            ("eslint --fix src", Some(true)),
            ("cargo test", None),
            ("python3 -c 'print(1)'", None),
        ] {
            assert_eq!(shell_writes(command), writes, "{command}");
        }
    }
}
