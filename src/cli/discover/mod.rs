//! Owns where the traces, sessions and declarations of this repository are when no PATH is given.

mod sessions;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::cli::Usage;
use crate::config::Config;
use crate::source::cut_home;
use crate::source::git::state::{repository_of, top_of, worktrees_of};

/// Where agents keep their things on this computer.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    /// Configuration folders of Claude Code.
    pub claude: Vec<PathBuf>,
    /// Configuration folders of GitHub Copilot.
    pub copilot: Vec<PathBuf>,
}

impl Homes {
    /// From `CLAUDE_CONFIG_DIR` and `COPILOT_HOME`, else the usual folders of the home directory.
    pub fn of_environment() -> Homes {
        let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let home = std::env::home_dir().filter(|h| !h.as_os_str().is_empty());
        let below = |names: &[&str]| home.iter().flat_map(|h| names.iter().map(|n| h.join(n))).collect::<Vec<_>>();
        Homes {
            claude: set("CLAUDE_CONFIG_DIR").map_or_else(|| below(&[".claude", ".config/claude"]), |dir| vec![dir]),
            copilot: set("COPILOT_HOME").map_or_else(|| below(&[".copilot"]), |dir| vec![dir]),
        }
    }
}

/// One place and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// In the words of the list that is shown (`traces`, `Claude Code sessions` …).
    pub what: &'static str,
    pub path: PathBuf,
}

/// Every place of the repository that `folder` is in, in the order shown. `all_projects`: sessions of every other project too.
pub fn discover(folder: &Path, config: &Config, homes: &Homes, all_projects: bool) -> Vec<Place> {
    let mut places = Vec::new();
    let mut add = |what, path: PathBuf| {
        if path.exists() && !places.iter().any(|p: &Place| p.path == path) {
            places.push(Place { what, path });
        }
    };
    if !config.paths.is_empty() && !all_projects {
        for path in &config.paths {
            add("mechanic.toml", path.clone());
        }
        return places;
    }
    let tops = Tops::of(folder);
    for top in &tops.all {
        add("delivery traces", top.join(".copilot-tracking/issues"));
        add("review gate", top.join(".copilot-tracking/review-gate"));
        add("recorded gate runs", top.join(".mechanic").join(crate::source::recorded::FILE_NAME));
    }
    for (what, path) in sessions::claude(&tops, homes, all_projects).into_iter().chain(sessions::copilot(&tops, homes, all_projects)) {
        add(what, path);
    }
    // Declarations stand in every worktree alike: one is enough.
    for name in ["settings.json", "settings.local.json"] {
        add("declared hooks", tops.here.join(".claude").join(name));
    }
    add("declared hooks", tops.here.join(".github/hooks"));
    for home in &homes.claude {
        add("declared hooks", home.join("settings.json"));
        for path in sessions::plugin_hooks(home) {
            add("declared hooks", path);
        }
    }
    for kind in crate::config::instructions::built_in() {
        // A folder stands for the files that only their name makes instructions.
        let path = kind.path.split_once("/*").map_or(kind.path.as_str(), |(folder, _)| folder);
        add("instruction files", tops.here.join(path));
    }
    add("harness contract", tops.here.join("docs/harness-contract.yml"));
    if let Some(head) = tops.repository {
        add("commits", head);
    }
    for top in &tops.all {
        add("replays", top.join(crate::source::replay_results::FOLDER));
        add("labels", top.join(".mechanic/labels.jsonl"));
    }
    places
}

/// The paths given, else the places found. An error says where was looked. The second value is what to show the user.
pub fn given_or_found(
    paths: &[PathBuf],
    folder: &Path,
    config: &Config,
    all_projects: bool,
) -> anyhow::Result<(Vec<PathBuf>, Option<String>)> {
    if !paths.is_empty() && !all_projects {
        return Ok((paths.to_vec(), None));
    }
    let homes = Homes::of_environment();
    let places = discover(folder, config, &homes, all_projects);
    if !places.iter().any(|p| is_evidence(p.what)) && paths.is_empty() {
        return Err(Usage(nothing_found(folder, config, &homes)).into());
    }
    let shown = describe(&places);
    Ok((paths.iter().cloned().chain(places.into_iter().map(|p| p.path)).collect(), Some(shown)))
}

/// Commits and declarations alone say nothing of what gates did.
fn is_evidence(what: &str) -> bool {
    !matches!(what, "declared hooks" | "instruction files" | "harness contract" | "commits" | "labels")
}

fn nothing_found(folder: &Path, config: &Config, homes: &Homes) -> String {
    if !config.paths.is_empty() {
        let file = config.file.as_deref().map_or_else(String::new, |f| format!(" of {}", cut_home(&f.to_string_lossy())));
        return format!("none of the `paths`{file} exists: correct them, or name files and folders on the command line");
    }
    let places: Vec<String> = homes
        .claude
        .iter()
        .map(|h| h.join("projects"))
        .chain(homes.copilot.iter().map(|h| h.join("session-state")))
        .map(|p| cut_home(&p.to_string_lossy()))
        .collect();
    format!(
        "no traces or sessions of {} found (looked in its worktrees' .copilot-tracking/issues, and for its sessions in {}): name files or folders, \
         or take the sessions of every project with --all-projects",
        cut_home(&folder.to_string_lossy()),
        places.join(", ")
    )
}

/// One line a place, at most 100 columns where the path allows.
pub fn describe(places: &[Place]) -> String {
    let mut text = String::new();
    for place in places {
        let shown = cut_home(&place.path.to_string_lossy());
        let _ = writeln!(text, "  {:<22} {}", place.what, crate::plain::escape(&shown));
    }
    text
}

/// The work folders of a repository.
struct Tops {
    /// `HEAD` of its git folder. `None`: in no repository.
    repository: Option<PathBuf>,
    /// The one that holds the folder.
    here: PathBuf,
    /// All of them, main checkout first. Without a repository, the folder itself.
    all: Vec<PathBuf>,
}

impl Tops {
    fn of(folder: &Path) -> Tops {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let here = folder.ancestors().find(|at| at.join(".git").exists()).unwrap_or(&folder).to_owned();
        let repository = repository_of(&folder).filter(|head| top_of(head).is_some());
        let mut all = repository.as_deref().map(worktrees_of).unwrap_or_default();
        if !all.iter().any(|top| same(top, &here)) {
            all.push(here.clone());
        }
        Tops { repository, here, all }
    }

    /// Whether a working directory that a log names is in this repository. The directory may be gone (a removed worktree).
    fn hold(&self, cwd: &Path) -> bool {
        self.spellings().iter().any(|top| cwd.starts_with(top))
    }

    /// The folders as given and with links resolved: agents write the one or the other.
    fn spellings(&self) -> Vec<PathBuf> {
        let mut spellings: Vec<PathBuf> =
            self.all.iter().flat_map(|top| [Some(top.clone()), std::fs::canonicalize(top).ok()]).flatten().collect();
        spellings.sort();
        spellings.dedup();
        spellings
    }
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || std::fs::canonicalize(a).is_ok_and(|a| std::fs::canonicalize(b).is_ok_and(|b| a == b))
}

#[cfg(test)]
mod tests;
