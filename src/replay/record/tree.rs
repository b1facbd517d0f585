//! Owns keeping what a gate saw: the work tree under a private git reference, standard input under its digest.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

use super::Place;

/// Private references: no branch, no tag, pushed by nobody's default.
const REFS: &str = "refs/mechanic/gate-runs";

/// Commits the work tree, untracked files included and ignored ones left out, to a private reference. Index, branches and work tree stay
/// as they are. `None`: in no repository.
pub(super) fn keep(place: &Place, id: &str, gate: &str) -> anyhow::Result<Option<String>> {
    let Some(top) = &place.top else { return Ok(None) };
    let scratch = tempfile::tempdir().context("make a scratch folder")?;
    let index = scratch.path().join("index");
    // With a copy of the real index git need not read files that did not change.
    let real = git(top, None, &["rev-parse", "--git-path", "index"])?;
    match fs::copy(top.join(&real), &index) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e).context("copy the index"),
        _ => {}
    }
    git(top, Some(&index), &["add", "--all", "--", "."])?;
    let tree = git(top, Some(&index), &["write-tree"])?;
    let message = format!("State that {} judged", gate.replace(|c: char| c.is_control(), " "));
    let mut args = vec!["commit-tree", &tree, "-m", &message];
    if let Some(head) = &place.head_sha {
        args.extend(["-p", head]);
    }
    let commit = git(top, None, &args)?;
    let reference = format!("{REFS}/{id}");
    git(top, None, &["update-ref", &reference, &commit, ""])?;
    Ok(Some(reference))
}

/// Whether the work tree is that of the commit checked out, untracked files included; what this program keeps there aside. `None`: unknown.
pub(super) fn is_clean(top: &Path) -> Option<bool> {
    let args = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=normal", "--", ".", ":(top,exclude).mechanic"];
    git(top, None, &args).ok().map(|changes| changes.is_empty())
}

fn git(top: &Path, index: Option<&Path>, args: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(top).args(["-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false"]).args(args);
    // A gate is often called by git itself, which sets these for its hooks.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "mechanic").env(format!("GIT_{role}_EMAIL"), "mechanic@localhost");
    }
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
    let done = command.stdin(Stdio::null()).output().context("run git")?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        bail!("git {}: {}", args[0], said.lines().next().unwrap_or("it failed without a word"));
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

/// Keeps one standard input under its digest; the same input is kept once. Only the user may read it.
pub(super) fn keep_input(folder: &Path, bytes: &[u8]) -> anyhow::Result<String> {
    let digest = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect::<String>();
    let folder = folder.join("stimuli");
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let path = folder.join(&digest);
    if path.exists() {
        return Ok(digest);
    }
    // Under a name of its own first: another process must never find half of it.
    let staged = folder.join(format!("{digest}.{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let write = || -> io::Result<()> {
        options.open(&staged)?.write_all(bytes)?;
        fs::rename(&staged, &path)
    };
    write().with_context(|| format!("write {}", path.display()))?;
    Ok(digest)
}
