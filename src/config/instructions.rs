//! Owns what is known of instruction files: which agent loads which file by itself, and when.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::model::vocabulary::LoadMode;

/// One kind of instruction file of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstructionFile {
    /// From the folder it holds for; `*` in the last part stands for any name.
    pub path: String,
    /// Format of the sessions whose contexts load it.
    pub loaded_by: String,
    pub load: LoadMode,
    /// Key of the front matter that makes a file wait for matching paths.
    pub condition: Option<String>,
    /// Whether lines `@path` load further files.
    #[serde(default)]
    pub imports: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "file")]
    files: Vec<InstructionFile>,
}

/// The text is built in; a test keeps it readable.
static BUILT_IN: LazyLock<Vec<InstructionFile>> =
    LazyLock::new(|| toml::from_str(include_str!("instructions.toml")).map(|w: Written| w.files).unwrap_or_default());

/// Every kind that is known.
pub fn built_in() -> &'static [InstructionFile] {
    &BUILT_IN
}

/// The kinds a file with these path parts is of, each with its path from the folder it holds for. An agent has at most one: the one
/// that names most folders.
pub fn kinds_of(parts: &[&str]) -> Vec<(&'static InstructionFile, String)> {
    let mut found: Vec<(&'static InstructionFile, String)> = Vec::new();
    for kind in built_in() {
        let pattern: Vec<&str> = kind.path.split('/').collect();
        let Some(from) = parts.len().checked_sub(pattern.len()) else { continue };
        // A file inside `.claude` or `.github` holds for the folder around it, or is none of this kind.
        let hidden = from.checked_sub(1).is_some_and(|at| parts[at].starts_with('.'));
        if hidden || !parts[from..].iter().zip(&pattern).all(|(part, wanted)| fits(part, wanted)) {
            continue;
        }
        let path = parts[from..].join("/");
        match found.iter_mut().find(|(other, _)| other.loaded_by == kind.loaded_by) {
            Some(other) if other.1.len() < path.len() => *other = (kind, path),
            Some(_) => {}
            None => found.push((kind, path)),
        }
    }
    found
}

fn fits(part: &str, wanted: &str) -> bool {
    match wanted.split_once('*') {
        Some((before, after)) => part.len() > before.len() + after.len() && part.starts_with(before) && part.ends_with(after),
        None => part == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(path: &str) -> Vec<(&'static str, String)> {
        let parts: Vec<&str> = path.split('/').collect();
        kinds_of(&parts).into_iter().map(|(kind, path)| (kind.loaded_by.as_str(), path)).collect()
    }

    #[test]
    fn the_built_in_list_is_readable() {
        assert!(built_in().len() >= 8);
    }

    #[test]
    fn a_file_is_loaded_by_the_agents_that_know_its_name_at_its_place() {
        assert_eq!(kinds("~/shop/CLAUDE.md"), [("claude-code", "CLAUDE.md".to_owned()), ("copilot-cli", "CLAUDE.md".to_owned())]);
        assert_eq!(kinds("~/shop/.claude/CLAUDE.md"), [("claude-code", ".claude/CLAUDE.md".to_owned())]);
        assert_eq!(kinds("~/shop/.claude/rules/sql.md"), [("claude-code", ".claude/rules/sql.md".to_owned())]);
        assert_eq!(kinds("~/shop/AGENTS.md"), [("copilot-cli", "AGENTS.md".to_owned())]);
        assert!(kinds("~/shop/docs/README.md").is_empty() && kinds("~/shop/rules/sql.md").is_empty());
    }
}
