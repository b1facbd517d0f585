//! Owns the refusal of the lake as its own input.

use std::path::{Path, PathBuf};

use super::Usage;
use crate::source::cut_home;

/// An error where a path is the lake's folder or lies in it. Where the lake lies in a path, the walk leaves it out.
pub fn refuse_lake(lake: &Path, paths: &[PathBuf]) -> Result<(), Usage> {
    let root = real(lake);
    let Some(path) = paths.iter().find(|p| real(p).starts_with(&root)) else { return Ok(()) };
    let shown = |p: &Path| cut_home(&p.to_string_lossy());
    let what = if real(path) == root { "is the lake itself".to_owned() } else { format!("lies in the lake {}", shown(lake)) };
    Err(Usage(format!("cannot read {}: it {what}: name files or folders outside of it, or another lake with --lake DIR", shown(path))))
}

/// An error where output would be written into the lake, or over it.
#[cfg(feature = "audit")]
pub fn refuse_output(lake: &Path, out: &Path) -> Result<(), Usage> {
    if !real(out).starts_with(real(lake)) {
        return Ok(());
    }
    let shown = |p: &Path| cut_home(&p.to_string_lossy());
    Err(Usage(format!("cannot write {}: it lies in the lake {}; name another place", shown(out), shown(lake))))
}

/// The path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for at in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (at.canonicalize(), path.strip_prefix(at)) {
            // Joining nothing would add a separator.
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lake_and_what_lies_in_it_are_refused_however_they_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("logs/lake/runs")).unwrap();
        std::fs::create_dir_all(at("logs/lake-of-others")).unwrap();
        for path in ["logs/lake", "logs/lake/", "logs/lake/runs", "logs/lake/not-there", "logs/../logs/lake"] {
            let error = refuse_lake(&at("logs/lake"), &[at("logs"), at(path)]).unwrap_err();
            assert!(error.0.contains("the lake") && error.0.contains("--lake DIR"), "{path}: {error}");
        }
        for path in ["logs", ".", "logs/lake-of-others", "other"] {
            refuse_lake(&at("logs/lake"), &[at(path)]).unwrap();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("logs"), at("link")).unwrap();
            assert!(refuse_lake(&at("link/lake"), &[at("logs/lake")]).is_err());
            assert!(refuse_lake(&at("logs/lake"), &[at("link/lake/runs")]).is_err());
        }
    }
}
