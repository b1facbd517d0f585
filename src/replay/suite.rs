//! Owns a suite, a corpus together with its validators: as the work tree has it, or as a commit has it.

use std::fs;
use std::path::{Path, PathBuf};

use super::corpus::Corpus;
use super::isolate::put;
use super::stimulus::{git, output, stored_tree};
use super::validator::Validators;
use super::wrong::{Result, Wrong};

#[derive(Debug, Default)]
pub struct Suite {
    pub corpus: Corpus,
    pub validators: Validators,
    /// Where a commit's suite lies while it is used.
    _folder: Option<tempfile::TempDir>,
}

impl Suite {
    /// The suite of the work tree.
    pub fn load(corpus: &Path, validators: &Path) -> Result<Suite> {
        let (corpus, validators) = match (Corpus::load(corpus), Validators::load(validators)) {
            (Ok(corpus), Ok(validators)) => (corpus, validators),
            (corpus, validators) => {
                let lines = [corpus.err(), validators.err()].into_iter().flatten().flat_map(|w| w.0).collect();
                return Err(Wrong(lines));
            }
        };
        corpus.check_against(&validators)?;
        Ok(Suite { corpus, validators, _folder: None })
    }

    /// The suite as a commit has it, read from objects alone.
    pub fn at(commit: &Commit, corpus: &Path, validators: &Path) -> Result<Suite> {
        let folder =
            tempfile::Builder::new().prefix("mechanic-baseline-").tempdir().map_err(|e| Wrong::one(format!("no scratch folder: {e}")))?;
        let home = validators.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let to_corpus = folder.path().join("corpus");
        let to_home = folder.path().join("validators");
        commit.extract(corpus, &to_corpus)?;
        commit.extract(home, &to_home)?;
        let file = validators.file_name().map_or_else(|| to_home.clone(), |n| to_home.join(n));
        let named = |e: Wrong| {
            // The scratch folder means nothing to the user.
            let at = folder.path().to_string_lossy().into_owned();
            Wrong(e.0.into_iter().map(|l| l.replace(&at, &commit.name)).collect())
        };
        let mut suite = Suite::load(&to_corpus, &file).map_err(named)?;
        suite.corpus.check_lock().map_err(named)?;
        suite._folder = Some(folder);
        Ok(suite)
    }
}

/// A commit of the repository that holds the corpus.
#[derive(Debug, Clone)]
pub struct Commit {
    /// As the user named it.
    pub name: String,
    pub sha: String,
    top: PathBuf,
}

impl Commit {
    /// Resolves a name in the repository of `near`. `None`: it names no commit there.
    pub fn resolve(near: &Path, name: &str) -> Result<Option<Commit>> {
        let near = existing(near);
        let mut command = git(&near);
        command.args(["rev-parse", "--show-toplevel"]);
        let Ok(top) = output(command) else { return Ok(None) };
        let top = PathBuf::from(String::from_utf8_lossy(&top).trim_end());
        let mut command = git(&top);
        command.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]).arg(format!("{name}^{{commit}}"));
        let Ok(sha) = output(command) else { return Ok(None) };
        let sha = String::from_utf8_lossy(&sha).trim().to_owned();
        Ok(Some(Commit { name: name.to_owned(), sha, top }))
    }

    /// The path from the top of the repository.
    fn relative(&self, path: &Path) -> Result<String> {
        let full = fs::canonicalize(existing(path)).map_err(|e| Wrong::at(path, e))?;
        // What is not there any more is still named by its path.
        let rest = match existing(path) {
            here if here == Path::new(".") && path.is_relative() && path != Path::new(".") => path,
            here => path.strip_prefix(here).unwrap_or(Path::new("")),
        };
        let full = if rest.as_os_str().is_empty() { full } else { full.join(rest) };
        let top = fs::canonicalize(&self.top).map_err(|e| Wrong::at(&self.top, e))?;
        let inside = full.strip_prefix(&top).map_err(|_| Wrong::at(path, "is not in the repository of the baseline"))?;
        inside.to_str().map(str::to_owned).ok_or_else(|| Wrong::at(path, "is not UTF-8"))
    }

    fn extract(&self, path: &Path, to: &Path) -> Result<()> {
        let inside = self.relative(path)?;
        let items = stored_tree(&self.top, &format!("{}:{inside}", self.sha))
            .map_err(|e| Wrong::one(format!("{}: `{}` cannot be read there: {e}", self.name, crate::plain::escape(&inside))))?;
        fs::create_dir_all(to).map_err(|e| Wrong::at(to, e))?;
        for item in &items {
            put(to, item).map_err(|e| Wrong::at(&to.join(&item.path), e))?;
        }
        Ok(())
    }

    /// The bytes of one file there, if it has it.
    pub fn file(&self, path: &Path) -> Option<Vec<u8>> {
        let inside = self.relative(path).ok()?;
        let mut command = git(&self.top);
        command.args(["cat-file", "blob"]).arg(format!("{}:{inside}", self.sha));
        output(command).ok()
    }
}

/// The nearest folder above that is there.
fn existing(path: &Path) -> PathBuf {
    let mut here = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    while !here.is_dir() {
        here = match here.parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
    }
    here.to_owned()
}
