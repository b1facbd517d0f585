//! Owns `Layout`: the words by which the folders and branches of a harness tell to which delivery something belongs.

use serde::Deserialize;

/// Folder of a checkout that holds what this program itself records.
const OWN_FOLDER: &str = ".mechanic";

/// Part of a profile. Where it is empty, no folder or branch tells anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Layout {
    /// Folders of a checkout that hold the records of deliveries.
    pub tracking: Vec<String>,
    /// Folders of the main checkout that hold work trees.
    pub worktrees: Vec<String>,
    /// What stands before the number of a task in names of branches and work trees.
    pub task_prefixes: Vec<String>,
}

impl Layout {
    /// Adds the words of another layout.
    pub fn add(&mut self, other: &Layout) {
        for (ours, theirs) in [
            (&mut self.tracking, &other.tracking),
            (&mut self.worktrees, &other.worktrees),
            (&mut self.task_prefixes, &other.task_prefixes),
        ] {
            for word in theirs {
                if !word.is_empty() && !ours.contains(word) {
                    ours.push(word.clone());
                }
            }
        }
    }

    /// The part of a path that a delivery's files share: what stands before the tracking or work tree folder, else the folder itself.
    pub fn root_of<'p>(&self, path: &'p str) -> &'p str {
        self.checkout_of(path).unwrap_or_else(|| path.rsplit_once('/').map_or("", |(folder, _)| folder))
    }

    /// The checkout that a path lies in; `None` where no folder in it tells.
    pub fn checkout_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        let folders = self.worktrees.iter().chain(&self.tracking).map(String::as_str).chain([OWN_FOLDER]);
        let cut = folders.filter_map(|folder| split_at_folder(path, folder)).map(|(before, _)| before);
        cut.min_by_key(|before| before.len())
    }

    /// The checkout a path lies in and what follows its work tree folder; `None` where the path lies in no work tree.
    pub fn split_at_worktree<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        self.worktrees.iter().filter_map(|folder| split_at_folder(path, folder)).min_by_key(|(before, _)| before.len())
    }

    /// The task a branch or work tree names: `feature/issue-97-title`.
    pub fn task_in(&self, text: &str) -> Option<String> {
        self.task_prefixes.iter().find_map(|prefix| task_after(text, prefix))
    }
}

fn split_at_folder<'p>(path: &'p str, folder: &str) -> Option<(&'p str, &'p str)> {
    path.match_indices(folder).find_map(|(at, _)| {
        let before = path[..at].strip_suffix('/')?;
        let after = path[at + folder.len()..].strip_prefix('/')?;
        Some((before, after))
    })
}

/// The number behind the first prefix that begins a word; without leading zeros.
fn task_after(text: &str, prefix: &str) -> Option<String> {
    let at = text.find(prefix)?;
    if !matches!(text.as_bytes()[..at].last(), None | Some(b'/' | b'-' | b'_')) {
        return None;
    }
    let digits: String = text[at + prefix.len()..].chars().take_while(char::is_ascii_digit).collect();
    let digits = digits.trim_start_matches('0');
    (!digits.is_empty()).then(|| digits.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::profile::{DELIVERY_HARNESS_NAME, Profile};

    fn layout() -> Layout {
        Profile::builtin(DELIVERY_HARNESS_NAME).unwrap().layout
    }

    #[test]
    fn a_branch_or_work_tree_names_its_task() {
        let task = |text: &str| layout().task_in(text);
        assert_eq!(task("feature/issue-97-trace"), Some("97".into()));
        assert_eq!(task("~/shop/.worktrees/issue-07"), Some("7".into()));
        assert_eq!(task("main"), None);
        assert_eq!(task("feature/tissue-97"), None);
        assert_eq!(task("issue-"), None);
    }

    #[test]
    fn files_of_one_task_share_their_root() {
        let layout = layout();
        assert_eq!(layout.root_of("~/shop/.copilot-tracking/issues/issue-9/trace.jsonl"), "~/shop");
        assert_eq!(layout.root_of("~/shop/.mechanic/gate-runs.jsonl"), "~/shop");
        assert_eq!(layout.root_of("~/shop/.worktrees/issue-9/.copilot-tracking/issues/issue-9/feature_list.json"), "~/shop");
        assert_eq!(layout.root_of("/data/issue-97.trace.jsonl"), "/data");
    }

    #[test]
    fn a_user_may_use_other_words_and_an_empty_layout_knows_none() {
        let user: toml::Table = toml::from_str("[layout]\nworktrees = [\"trees\"]\ntask_prefixes = [\"TICKET-\"]\n").unwrap();
        let layout = Profile::merged(DELIVERY_HARNESS_NAME, &user).unwrap().layout;
        assert_eq!(layout.task_in("fix/TICKET-12"), Some("12".into()));
        assert_eq!(layout.split_at_worktree("~/shop/trees/TICKET-12/src"), Some(("~/shop", "TICKET-12/src")));
        assert_eq!(layout.split_at_worktree("~/shop/.worktrees/issue-12"), None);
        assert_eq!(layout.tracking, [".copilot-tracking"], "keys that are not named stay");
        assert_eq!(Layout::default().task_in("issue-97"), None);
        assert_eq!(Layout::default().root_of("~/shop/.worktrees/issue-9/x"), "~/shop/.worktrees/issue-9");
    }
}
