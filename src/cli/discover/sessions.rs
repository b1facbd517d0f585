//! Owns which session logs of Claude Code and GitHub Copilot belong to a repository.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Homes, Tops};

const CLAUDE: &str = "Claude Code sessions";
const COPILOT: &str = "Copilot sessions";
/// Bytes of a log that are looked at for its working directory.
const HEAD_BYTES: u64 = 256 << 10;

/// Project folders of Claude Code: those named after a work folder, and those named after a folder below one whose log says so (the
/// name alone cannot tell `loom/web` from `loom-web`).
pub(super) fn claude(tops: &Tops, homes: &Homes, all_projects: bool) -> Vec<(&'static str, PathBuf)> {
    let mut found = Vec::new();
    let slugs: Vec<String> = tops.spellings().iter().map(|top| slug(top)).collect();
    for home in &homes.claude {
        let projects = home.join("projects");
        if all_projects {
            found.push((CLAUDE, projects));
            continue;
        }
        for path in entries(&projects) {
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let below = |s: &String| name.strip_prefix(s.as_str()).is_some_and(|rest| rest.starts_with('-'));
            if slugs.contains(&name) || (slugs.iter().any(below) && logged_cwd(&path).is_some_and(|cwd| tops.hold(&cwd))) {
                found.push((CLAUDE, path));
            }
        }
    }
    found
}

/// The name Claude Code gives a project folder: every character but letters, digits and `-` becomes `-`.
pub(super) fn slug(cwd: &Path) -> String {
    cwd.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect()
}

/// The working directory that the first log of a project folder names.
fn logged_cwd(project: &Path) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Line {
        cwd: Option<String>,
    }
    let logs = entries(project).into_iter().filter(|p| p.extension().is_some_and(|e| e == "jsonl"));
    logs.take(20)
        .find_map(|log| first_lines(&log).into_iter().find_map(|line| serde_json::from_str::<Line>(&line).ok()?.cwd).map(PathBuf::from))
}

/// Copilot's sessions, each a folder with `events.jsonl`, in older versions a file; taken when `session.start` or
/// `workspace.yaml` names a directory of the repository.
pub(super) fn copilot(tops: &Tops, homes: &Homes, all_projects: bool) -> Vec<(&'static str, PathBuf)> {
    let mut found = Vec::new();
    for home in &homes.copilot {
        for folder in ["session-state", "history-session-state"] {
            let folder = home.join(folder);
            if all_projects {
                found.push((COPILOT, folder));
                continue;
            }
            for path in entries(&folder) {
                let events = if path.is_dir() { path.join("events.jsonl") } else { path.clone() };
                let named = || started_in(&events).into_iter().chain(workspace_of(&path)).any(|cwd| tops.hold(&cwd));
                if events.is_file() && named() {
                    found.push((COPILOT, events));
                }
            }
        }
    }
    found
}

/// Directories that the first `session.start` event of a log names.
fn started_in(events: &Path) -> Vec<PathBuf> {
    #[derive(Deserialize)]
    struct Event {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        data: Data,
    }
    #[derive(Default, Deserialize)]
    struct Data {
        #[serde(default)]
        context: Place,
        workspace: Option<String>,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Place {
        cwd: Option<String>,
        git_root: Option<String>,
    }
    let start =
        first_lines(events).into_iter().filter_map(|line| serde_json::from_str::<Event>(&line).ok()).find(|e| e.kind == "session.start");
    let Some(Event { data, .. }) = start else { return Vec::new() };
    [data.context.cwd, data.context.git_root, data.workspace].into_iter().flatten().map(PathBuf::from).collect()
}

/// `cwd` and `git_root` of a session's `workspace.yaml`.
fn workspace_of(session: &Path) -> Vec<PathBuf> {
    let text = read_head(&session.join("workspace.yaml")).unwrap_or_default();
    let values = text.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        matches!(key.trim(), "cwd" | "git_root" | "gitRoot").then(|| PathBuf::from(value.trim().trim_matches(['"', '\''])))
    });
    values.filter(|p| p.is_absolute()).collect()
}

/// `hooks/hooks.json` of installed plugins.
pub(super) fn plugin_hooks(home: &Path) -> Vec<PathBuf> {
    let walk = walkdir::WalkDir::new(home.join("plugins")).max_depth(7).sort_by_file_name().into_iter();
    let open = walk.filter_entry(|e| e.file_name() != ".git" && e.file_name() != "node_modules").flatten();
    let is_hooks = |p: &Path| p.ends_with("hooks/hooks.json");
    open.filter(|e| e.file_type().is_file() && is_hooks(e.path())).map(walkdir::DirEntry::into_path).collect()
}

/// Entries of a folder, sorted; none where it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

fn first_lines(file: &Path) -> Vec<String> {
    read_head(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn read_head(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(HEAD_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
