//! Owns where a declaration stands: which harness reads the file, and how it is named in rows.

use crate::source::Input;
use crate::source::hook_identity::clean_name;

/// A file that declares hooks.
pub struct Place {
    pub harness: &'static str,
    /// Path from the folder that makes it a declaration: `.claude/settings.json`, `~/.claude/settings.json`, `guard/hooks/hooks.json`.
    pub declared_in: String,
}

const CLAUDE: &str = "claude-code";
const COPILOT: &str = "copilot-cli";

impl Place {
    /// The place of a file that may declare hooks, told by its name and folders.
    pub fn of(input: &Input) -> Option<Place> {
        let parts = parts(input);
        let mut back = parts.iter().rev().map(String::as_str);
        let (name, parent, grandparent) = (back.next()?, back.next().unwrap_or(""), back.next().unwrap_or(""));
        if !name.ends_with(".json") {
            return None;
        }
        let settings = matches!(name, "settings.json" | "settings.local.json");
        let (harness, keep) = match (grandparent, parent) {
            (_, ".claude") if settings => (CLAUDE, 2),
            (".claude", "hooks") if name == "hooks.json" => (CLAUDE, 3),
            (".github" | ".copilot", "hooks") => (COPILOT, 3),
            (".github", "copilot") if settings => (COPILOT, 3),
            (_, ".copilot") if settings => (COPILOT, 2),
            (_, ".claude-plugin") if name == "plugin.json" => (CLAUDE, 3),
            (_, "hooks") if name == "hooks.json" => (CLAUDE, 3),
            _ => return None,
        };
        // Settings in the home folder hold for every project.
        let home = (keep == 2 && parts.len() == 3 && parts.first().is_some_and(|p| p == "~")).then_some(3);
        Some(Place { harness, declared_in: tail(&parts, home.unwrap_or(keep)) })
    }

    pub fn unknown(input: &Input) -> Place {
        Place { harness: CLAUDE, declared_in: tail(&parts(input), 1) }
    }

    pub fn is_copilot(&self) -> bool {
        self.harness == COPILOT
    }
}

fn parts(input: &Input) -> Vec<String> {
    input.shown_path.split(['/', '\\']).filter(|p| !p.is_empty()).map(str::to_owned).collect()
}

fn tail(parts: &[String], keep: usize) -> String {
    let from = parts.len().saturating_sub(keep);
    clean_name(&parts.get(from..).unwrap_or_default().join("/"))
}
