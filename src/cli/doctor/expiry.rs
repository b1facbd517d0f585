//! Owns when agents delete their logs. Claude Code deletes sessions some days after the last write (`cleanupPeriodDays`, 30 where it is
//! not set); of other agents no such rule is known.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::model::time::Ts;

const DEFAULT_DAYS: i64 = 30;
const DAY_MICROS: i64 = 86_400_000_000;

/// Where Claude Code keeps sessions, and for how long.
#[derive(Debug, Clone)]
pub struct Expiry {
    /// Projects folder and days, one a configuration folder.
    folders: Vec<(PathBuf, i64)>,
}

impl Expiry {
    /// From the settings of the configuration folders; those of `project` (local before shared) come first.
    pub fn new(claude_homes: &[PathBuf], project: &Path) -> Expiry {
        let own = ["settings.local.json", "settings.json"].iter().find_map(|name| days(&project.join(".claude").join(name)));
        let folders = claude_homes.iter().map(|home| {
            let days = own.or_else(|| days(&home.join("settings.json"))).unwrap_or(DEFAULT_DAYS);
            (fs::canonicalize(home).unwrap_or_else(|_| home.clone()).join("projects"), days)
        });
        Expiry { folders: folders.collect() }
    }

    /// When the file is deleted. `None`: it is not where the agent cleans up, or its time cannot be read.
    pub fn of(&self, file: &Path) -> Option<Ts> {
        let real = fs::canonicalize(file).ok()?;
        let (_, days) = self.folders.iter().find(|(folder, _)| real.starts_with(folder))?;
        let modified = fs::metadata(&real).ok()?.modified().ok()?;
        let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Ts(i64::try_from(since.as_micros()).ok()?.saturating_add(days.saturating_mul(DAY_MICROS))))
    }
}

fn days(settings: &Path) -> Option<i64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Settings {
        cleanup_period_days: Option<i64>,
    }
    let settings: Settings = serde_json::from_slice(&fs::read(settings).ok()?).ok()?;
    settings.cleanup_period_days.filter(|d| *d >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn sessions_expire_by_the_nearest_setting_and_copies_elsewhere_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let (home, project) = (dir.path().join("claude"), dir.path().join("loom"));
        let log = write(home.join("projects/-loom/s.jsonl"), "");
        let copy = write(dir.path().join("copy/s.jsonl"), "");
        let mtime = fs::metadata(&log).unwrap().modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros() as i64;
        let days = || (Expiry::new(std::slice::from_ref(&home), &project).of(&log).unwrap().0 - mtime) / DAY_MICROS;
        assert_eq!(days(), 30);
        write(home.join("settings.json"), "{\"cleanupPeriodDays\": 90}");
        assert_eq!(days(), 90);
        write(project.join(".claude/settings.json"), "{\"cleanupPeriodDays\": 7, \"hooks\": {}}");
        assert_eq!(days(), 7);
        write(project.join(".claude/settings.local.json"), "not json");
        assert_eq!(days(), 7);
        assert_eq!(Expiry::new(std::slice::from_ref(&home), &project).of(&copy), None);
    }
}
