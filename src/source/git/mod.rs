//! Owns the commits of a repository at hand, read through the `git` program.
//!
//! A repository is the source file `<repo>/.git/HEAD`. That file hardly ever changes, so what makes the source current is
//! [`state::references_digest`], which changes with every commit, fetch, branch and tag. All worktrees of a repository are this one
//! source. What is kept of a commit: sha, time, the issue it names, session ids and agents of its trailers, what it reverts, a version
//! tag, how many files it touches and a digest of their paths, and the paths that may hold the text of a gate or rule. Messages, people and
//! other paths are not kept.

mod command;
mod parse;
pub mod state;

use std::path::Path;
use std::time::Duration;

use crate::model::decisions::Commit;
use crate::model::id::{digest, stable_id};
use crate::model::time::Ts;

use super::emit::Emitter;
use super::lenient;
use super::{Input, Probe, Source};
use command::Git;
use parse::Raw;

/// Newest commits read. Older ones are left out with the warning `commits_capped`.
const MAX_COMMITS: usize = 20_000;
const LIMIT: Duration = Duration::from_secs(300);

/// Fields of a commit, NUL between and around them, so that no text of a commit can be taken for structure. An empty field stands
/// before each sha; a path is never empty, and the first path after a commit begins with a line end.
const FORMAT: &str = "--format=%x00%x00%H%x00%ct%x00%cn <%ce>%x00%D%x00%B%x00";

pub struct GitSource;

impl Source for GitSource {
    fn format(&self) -> &'static str {
        "git"
    }

    fn version(&self) -> u32 {
        2
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        let path = &probe.input.path;
        let in_git_dir = path.parent().is_some_and(|dir| dir.file_name().is_some_and(|n| n == ".git") && dir.join("objects").is_dir());
        probe.input.name() == "HEAD"
            && in_git_dir
            && (probe.head.starts_with(b"ref:") || probe.head.iter().take(40).all(u8::is_ascii_hexdigit))
    }

    fn state(&self, input: &Input) -> Option<String> {
        // References that cannot all be read are taken for changed: better read again than missed.
        let unknown = || format!("unknown at {}", jiff::Timestamp::now());
        Some(state::references_digest(input.path.parent()?).unwrap_or_else(unknown))
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let git_dir = input.path.parent().ok_or_else(|| anyhow::anyhow!("{} is in no folder", input.shown_path))?;
        let repo = repository_name(git_dir);
        out.summary.read_to = std::fs::metadata(&input.path)?.len() as i64;
        if !has_commits(git_dir)? {
            return Ok(());
        }
        read_log(git_dir, repo.as_deref(), out)
    }
}

/// Whether any reference leads to a commit: `git log` takes a repository without one for an error.
fn has_commits(git_dir: &Path) -> anyhow::Result<bool> {
    let mut git = Git::start(git_dir, &["for-each-ref", "--count=1", "--format=%(objectname)%00"], LIMIT)?;
    let mut token = Vec::new();
    let any = git.next_token(&mut token)? && token.len() >= 40;
    git.finish()?;
    if any {
        return Ok(true);
    }
    // A detached HEAD without any branch or tag.
    let head = std::fs::read_to_string(git_dir.join("HEAD")).unwrap_or_default();
    Ok(head.trim().len() >= 40 && head.trim().bytes().all(|b| b.is_ascii_hexdigit()))
}

fn read_log(git_dir: &Path, repo: Option<&str>, out: &mut Emitter<'_>) -> anyhow::Result<()> {
    let cap = format!("--max-count={}", MAX_COMMITS + 1);
    let args = [
        "log",
        "--exclude=refs/stash",
        "--exclude=refs/notes/*",
        "--all",
        &cap,
        "--date-order",
        "--reverse",
        "-z",
        "--name-only",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-notes",
        "--no-mailmap",
        "--no-show-signature",
        "--diff-merges=first-parent",
        "--encoding=UTF-8",
        "--decorate=full",
        "--decorate-refs=refs/tags/",
        FORMAT,
    ];
    let mut git = Git::start(git_dir, &args, LIMIT)?;
    let mut token = Vec::new();
    let mut position = 0i64;
    let mut current: Option<(Raw, Paths)> = None;
    let mut after_empty = false;
    while git.next_token(&mut token)? {
        if after_empty && is_sha(&token) {
            finish_commit(current.take(), position, repo, out)?;
            position += 1;
            let mut raw = Raw { sha: text(&token), ..Raw::default() };
            for field in [&mut raw.committed, &mut raw.committer, &mut raw.refs, &mut raw.message] {
                if !git.next_token(&mut token)? {
                    break;
                }
                *field = text(&token);
            }
            current = Some((raw, Paths::default()));
            after_empty = false;
            continue;
        }
        after_empty = token.is_empty();
        if let Some((_, paths)) = &mut current
            && !token.is_empty()
        {
            paths.add(&token);
        }
    }
    finish_commit(current.take(), position, repo, out)?;
    if position > MAX_COMMITS as i64 {
        out.warn("commits_capped", None, Some(&MAX_COMMITS.to_string()));
    }
    git.finish()
}

/// Touched paths of one commit, kept as number and digest, and by name where they may hold the text of a gate or rule.
#[derive(Default)]
struct Paths {
    n: i64,
    hasher: blake3::Hasher,
    control: Vec<String>,
}

/// Paths kept by name of one commit.
const MAX_CONTROL_PATHS: usize = 256;

/// Folders in which harnesses keep what their gates run. Hidden folders do so too.
const CONTROL_FOLDERS: [&str; 12] =
    ["hooks", "githooks", "scripts", "sensors", "gates", "checks", "validators", "rules", "ci", "bin", "tools", "harness"];

/// Whether the file may be the text of a gate or rule, by the folders it stands in.
fn is_control(path: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|f| (f.starts_with('.') && f.len() > 1) || CONTROL_FOLDERS.contains(&f))
}

impl Paths {
    fn add(&mut self, token: &[u8]) {
        let path = if self.n == 0 { token.strip_prefix(b"\n").unwrap_or(token) } else { token };
        self.n += 1;
        self.hasher.update(path);
        self.hasher.update(&[0]);
        if let Ok(path) = std::str::from_utf8(path)
            && self.control.len() < MAX_CONTROL_PATHS
            && path.len() <= lenient::NAME_CAP
            && is_control(path)
        {
            self.control.push(lenient::name(path));
        }
    }
}

fn finish_commit(commit: Option<(Raw, Paths)>, position: i64, repo: Option<&str>, out: &mut Emitter<'_>) -> anyhow::Result<()> {
    let Some((raw, paths)) = commit else { return Ok(()) };
    out.summary.records += 1;
    let parsed = parse::parse(&raw);
    out.facts.commits.push(Commit {
        commit_id: stable_id(&["commit", &raw.sha]),
        repo: repo.map(str::to_owned),
        committed_at: raw.committed.trim().parse::<i64>().ok().and_then(|s| s.checked_mul(1_000_000)).map(Ts),
        task: parsed.task,
        session_trailers: parsed.sessions,
        co_authors: parsed.co_authors,
        n_files: Some(paths.n),
        paths_hash: (paths.n > 0).then(|| digest(paths.hasher.finalize().as_bytes())),
        control_paths: Some(paths.control),
        reverts: parsed.reverts,
        tag: parsed.tag,
        sha: raw.sha,
        source_id: out.source_id.clone(),
        source_line: position,
    });
    out.flush_if_full()
}

fn is_sha(token: &[u8]) -> bool {
    matches!(token.len(), 40 | 64) && token.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
}

fn text(token: &[u8]) -> String {
    String::from_utf8_lossy(token).into_owned()
}

/// `owner/name` of the remote `origin`, else the name of the folder.
fn repository_name(git_dir: &Path) -> Option<String> {
    let config = std::fs::read_to_string(git_dir.join("config")).unwrap_or_default();
    origin_of(&config).or_else(|| Some(lenient::name(git_dir.parent()?.file_name()?.to_str()?)))
}

/// Reads `url` of `[remote "origin"]`; credentials in it are not kept, only the last two parts of its path.
fn origin_of(config: &str) -> Option<String> {
    let mut inside = false;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.eq_ignore_ascii_case("[remote \"origin\"]");
        } else if inside
            && let Some((key, url)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("url")
        {
            let url = url.trim().trim_matches('"').trim_end_matches('/').trim_end_matches(".git");
            let (rest, name) = url.rsplit_once(['/', ':'])?;
            let is_remote = url.contains("://") && !url.starts_with("file:") || (url.contains('@') && url.contains(':'));
            let owner = rest.rsplit(['/', ':']).next().filter(|o| !o.is_empty() && !o.contains('@'))?;
            return is_remote.then(|| lenient::name(&format!("{owner}/{name}")));
        }
    }
    None
}

#[cfg(test)]
mod tests;
