//! Owns `Manifest`: what a report rests on, enough to make it again to the byte, and what the next report compares itself with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::gate::Gate;
use super::headline::Headline;
use super::todo::Todo;
use super::window::Window;

/// Raised whenever a reader of an older manifest would misread a newer one.
pub const FORMAT: u32 = 1;

/// Name of the file in the folder of a report.
pub const FILE: &str = "manifest.json";

/// The file `manifest.json` beside a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// `mechanic 0.1.0`.
    pub tool: String,
    /// The time the report takes as the present.
    pub now: String,
    pub tz: String,
    pub news: Span,
    pub evidence: Span,
    /// SHA-256 over the sorted logical rows of the lake.
    pub lake_digest: String,
    /// Digest of everything configured that a figure depends on.
    pub config_digest: String,
    /// Digest of every query's text, shared definitions included, by name.
    pub queries: BTreeMap<String, String>,
    /// Every other file of the report, relative to this one, with its BLAKE3 digest.
    pub files: BTreeMap<String, String>,
    /// Folder name of the report this one compares itself with. NULL: none was there.
    pub compared_with: Option<String>,
    pub headline: Headline,
    /// Per gate what the next report compares with, over the evidence.
    pub gates: BTreeMap<String, GateMark>,
    /// Ids of all things to do, the first ones first.
    pub todo: Vec<String>,
}

/// A span of time in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub label: String,
    pub since: String,
    pub until: String,
}

impl From<&Window> for Span {
    fn from(w: &Window) -> Span {
        use crate::model::time::Ts;
        Span { label: w.label.clone(), since: Ts(w.since_us).to_string(), until: Ts(w.until_us).to_string() }
    }
}

/// The figures of a gate that a later report looks back at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GateMark {
    pub n_gate_runs: i64,
    pub first_stops: Option<i64>,
    pub n_misses_proven: Option<i64>,
    pub n_tolls: i64,
}

impl From<&Gate> for GateMark {
    fn from(g: &Gate) -> GateMark {
        GateMark { n_gate_runs: g.n_gate_runs, first_stops: g.first_stops(), n_misses_proven: g.n_misses_proven, n_tolls: g.n_tolls }
    }
}

/// The marks of all gates, by name.
pub fn marks(gates: &[Gate]) -> BTreeMap<String, GateMark> {
    gates.iter().map(|g| (g.gate_id.clone(), GateMark::from(g))).collect()
}

/// The ids of things to do.
pub fn ids(todos: &[Todo]) -> Vec<String> {
    todos.iter().map(|t| t.id.clone()).collect()
}

/// The newest report beside `out` whose news ended before `news` began or with it; a report of the same span is no earlier one. Folders that
/// hold no readable manifest are passed over.
pub fn previous(out: &Path, news: &Window) -> Option<(PathBuf, Manifest)> {
    let since = crate::model::time::Ts(news.since_us);
    let own = out.file_name();
    let mut found: Vec<(String, PathBuf, Manifest)> = std::fs::read_dir(out.parent()?)
        .ok()?
        .filter_map(Result::ok)
        .filter(|entry| Some(entry.file_name().as_os_str()) != own)
        .filter_map(|entry| {
            let path = entry.path().join(FILE);
            let manifest: Manifest = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
            let until = crate::model::time::Ts::parse(&manifest.news.until)?;
            (manifest.format == FORMAT && until <= since).then(|| (manifest.news.until.clone(), entry.path(), manifest))
        })
        .collect();
    found.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    found.pop().map(|(_, path, manifest)| (path, manifest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::window::{before, named_week};
    use jiff::tz::TimeZone;

    fn manifest(news: &Window) -> Manifest {
        Manifest {
            format: FORMAT,
            tool: "mechanic 0".into(),
            now: "2026-11-30T00:00:00Z".into(),
            tz: "UTC".into(),
            news: news.into(),
            evidence: news.into(),
            lake_digest: "l".into(),
            config_digest: "c".into(),
            queries: BTreeMap::new(),
            files: BTreeMap::new(),
            compared_with: None,
            headline: Headline::default(),
            gates: BTreeMap::new(),
            todo: Vec::new(),
        }
    }

    #[test]
    fn the_last_report_is_the_newest_of_an_earlier_span_beside_this_one() {
        let dir = tempfile::tempdir().unwrap();
        let week = |name: &str| named_week(name, &TimeZone::UTC).unwrap();
        for name in ["2026-W45", "2026-W47", "2026-W48", "2026-W49"] {
            let folder = dir.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join(FILE), serde_json::to_vec(&manifest(&week(name))).unwrap()).unwrap();
        }
        std::fs::create_dir(dir.path().join("other")).unwrap();
        std::fs::write(dir.path().join("other").join(FILE), b"{not json").unwrap();
        let (path, found) = previous(&dir.path().join("again"), &week("2026-W48")).unwrap();
        assert_eq!((path.file_name().unwrap().to_str().unwrap(), found.news.label.as_str()), ("2026-W47", "2026-W47"));
        assert!(previous(&dir.path().join("again"), &before(&week("2026-W45"), &TimeZone::UTC).unwrap()).is_none());
    }
}
