//! Reads repositories made for the test.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::source::emit::{Collect, Facts, Summary};
use crate::source::{claim, head_of, read_file};

struct Repo(tempfile::TempDir);

impl Repo {
    fn new() -> Repo {
        let repo = Repo(tempfile::tempdir().unwrap());
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, args: &[&str]) -> String {
        let out = Command::new("git")
            .current_dir(self.path())
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")])
            .envs([("GIT_AUTHOR_NAME", "Ann"), ("GIT_AUTHOR_EMAIL", "ann@example.org"), ("GIT_AUTHOR_DATE", "2026-07-01T10:00:00Z")])
            .envs([
                ("GIT_COMMITTER_NAME", "Ann"),
                ("GIT_COMMITTER_EMAIL", "ann@example.org"),
                ("GIT_COMMITTER_DATE", "2026-07-01T10:00:00Z"),
            ])
            .output()
            .unwrap();
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    fn commit(&self, files: &[&str], message: &str) -> String {
        for file in files {
            std::fs::write(self.path().join(file), message).unwrap();
        }
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    fn input(&self) -> Input {
        Input::new(&state::repository_of(self.path()).unwrap()).unwrap()
    }
}

fn read(input: &Input) -> (Facts, Summary) {
    let mut sink = Collect::default();
    let summary = read_file(&GitSource, input, &mut sink).unwrap();
    (sink.0, summary)
}

#[test]
fn commits_are_read_with_time_files_trailers_reverts_and_tags() {
    let repo = Repo::new();
    let first = repo.commit(&["a b", "c"], "Parse dates (#12)\n\nCopilot-Session: 11111111-2222-3333-4444-555555555555");
    repo.commit(&[], "Nothing");
    repo.git(&["checkout", "-q", "-b", "feature/issue-07-x"]);
    repo.commit(&["d"], "More");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit(&["e"], "Other");
    repo.git(&["merge", "-q", "--no-ff", "feature/issue-07-x", "-m", "Merge branch 'feature/issue-07-x'"]);
    repo.git(&["tag", "v1.2.0"]);
    repo.commit(&["c"], &format!("Revert\n\nThis reverts commit {first}."));

    let (facts, summary) = read(&repo.input());
    assert_eq!((summary.records, facts.commits.len()), (6, 6));
    let of = |subject: &str| {
        facts.commits.iter().find(|c| c.sha == repo.git(&["log", "--all", "--format=%H", "--grep", subject]).trim()).unwrap()
    };
    let parse = of("^Parse dates");
    assert_eq!((parse.task.as_deref(), parse.n_files, parse.source_line), (Some("12"), Some(2), 1));
    assert_eq!(parse.session_trailers, ["11111111-2222-3333-4444-555555555555"]);
    assert_eq!(parse.committed_at, Ts::parse("2026-07-01T10:00:00Z"));
    assert_eq!((of("^Nothing").n_files, &of("^Nothing").paths_hash), (Some(0), &None));
    let merge = of("^Merge branch");
    assert_eq!((merge.task.as_deref(), merge.n_files, merge.tag.as_deref()), (Some("7"), Some(1), Some("v1.2.0")));
    assert_eq!(merge.paths_hash, of("^More").paths_hash);
    assert_eq!(of("^Revert").reverts.as_deref(), Some(first.as_str()));
    assert!(summary.capabilities.contains("commits"));
    assert!(facts.commits.iter().all(|c| c.control_paths.as_ref().is_some_and(Vec::is_empty)), "what is no control keeps no name");
}

#[test]
fn only_paths_that_may_be_a_gates_text_are_kept_by_name() {
    for path in [".claude/hooks/scan.mjs", ".github/hooks/policy.json", "scripts/run-sensors.sh", "tools/lint/x.py", "a/sensors/b.sh"] {
        assert!(super::is_control(path), "{path}");
    }
    for path in ["src/main.rs", "README.md", "docs/scripts.md", "./a", "secret/scripts", ""] {
        assert!(!super::is_control(path), "{path}");
    }
}

#[test]
fn a_file_named_like_a_sha_or_a_message_full_of_odd_bytes_is_not_taken_for_a_commit() {
    let repo = Repo::new();
    let name = "0123456789abcdef0123456789abcdef01234567";
    repo.commit(&["\n", name], &format!("{name}\n\n\u{1}\u{1e}\n{name}\n"));
    repo.commit(&[name], name);
    let (facts, _) = read(&repo.input());
    assert_eq!(facts.commits.iter().map(|c| c.n_files).collect::<Vec<_>>(), [Some(2), Some(1)]);
}

#[test]
fn a_repository_without_commits_and_one_with_only_a_detached_head_are_read() {
    let repo = Repo::new();
    assert!(read(&repo.input()).0.commits.is_empty());
    let sha = repo.commit(&["a"], "one");
    repo.git(&["checkout", "-q", "--detach"]);
    repo.git(&["branch", "-q", "-D", "main"]);
    assert_eq!(read(&repo.input()).0.commits[0].sha, sha);
}

#[test]
fn the_state_changes_with_commits_tags_and_packing_but_not_with_the_work_tree() {
    let repo = Repo::new();
    repo.commit(&["a"], "one");
    let state = || GitSource.state(&repo.input()).unwrap();
    let mut before = state();
    std::fs::write(repo.path().join("a"), "edited").unwrap();
    assert_eq!(before, state());
    for change in [&["commit", "-q", "-a", "-m", "two"][..], &["tag", "v1.0"], &["pack-refs", "--all"]] {
        repo.git(change);
        assert_ne!(before, state(), "{change:?}");
        before = state();
    }
}

#[test]
fn worktrees_lead_to_the_one_source_of_their_repository_and_forged_ones_to_none() {
    let repo = Repo::new();
    repo.commit(&["a"], "one");
    repo.git(&["worktree", "add", "-q", "wt"]);
    let head = std::fs::canonicalize(repo.path().join(".git/HEAD")).unwrap();
    let worktree = repo.path().join("wt");
    assert_eq!(state::repository_of(&worktree).map(|p| std::fs::canonicalize(p).unwrap()), Some(head.clone()));
    assert_eq!(state::worktrees_of(&head).len(), 2);

    let forged = repo.path().join("forged");
    std::fs::create_dir(&forged).unwrap();
    std::fs::copy(worktree.join(".git"), forged.join(".git")).unwrap();
    assert_eq!(state::head_of_entry(&forged.join(".git")), None);
    std::fs::write(forged.join(".git"), "gitdir: /etc\n").unwrap();
    assert_eq!(state::head_of_entry(&forged.join(".git")), None);
}

#[test]
fn only_head_of_a_git_folder_is_claimed() {
    let repo = Repo::new();
    repo.commit(&["HEAD"], "one");
    let claimed = |path: PathBuf| {
        let input = Input::new(&path).unwrap();
        claim(&input, &head_of(&input).unwrap()).map(|s| s.format())
    };
    assert_eq!(claimed(repo.path().join(".git/HEAD")), Some("git"));
    assert_eq!(claimed(repo.path().join("HEAD")), None);
    assert_eq!(claimed(repo.path().join(".git/config")), None);
}

#[test]
fn nothing_that_the_repository_configures_is_run() {
    let repo = Repo::new();
    let marker = repo.path().join("ran");
    let program = repo.path().join("evil.sh");
    std::fs::write(&program, format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display())).unwrap();
    Command::new("chmod").arg("+x").arg(&program).status().unwrap();
    std::fs::write(repo.path().join(".gitattributes"), "* diff=evil\n").unwrap();
    repo.commit(&["a"], "one");
    let evil = program.display().to_string();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "pager.log",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "gpg.program",
        "core.sshCommand",
        "core.askPass",
        "core.alternateRefsCommand",
        "alias.log",
    ] {
        repo.git(&["config", key, &evil]);
    }
    repo.git(&["config", "log.showSignature", "true"]);
    for hook in ["post-index-change", "reference-transaction", "pre-commit"] {
        std::fs::copy(&program, repo.path().join(".git/hooks").join(hook)).unwrap();
    }
    assert_eq!(read(&repo.input()).0.commits.len(), 1);
    assert!(!marker.exists());
}

#[test]
fn a_damaged_repository_is_an_error_that_says_what_to_do() {
    let repo = Repo::new();
    let sha = repo.commit(&["a"], "one");
    std::fs::remove_file(repo.path().join(".git/objects").join(&sha[..2]).join(&sha[2..])).unwrap();
    let error = read_file(&GitSource, &repo.input(), &mut Collect::default()).unwrap_err();
    assert!(format!("{error:#}").contains("git fsck"), "{error:#}");
}

#[test]
fn a_git_that_runs_too_long_is_stopped() {
    let repo = Repo::new();
    repo.commit(&["a"], "one");
    // A limit of nothing stands for a slow repository.
    let git = Git::start(&repo.path().join(".git"), &["log", "--all"], Duration::ZERO).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let error = git.finish().unwrap_err();
    assert!(error.to_string().contains("was stopped"), "{error}");
}

#[test]
fn the_repository_is_named_by_its_remote_without_credentials_else_by_its_folder() {
    for (url, name) in [
        ("https://ghp_secret@github.com/weaver/loom.git", Some("weaver/loom")),
        ("git@github.com:weaver/loom.git", Some("weaver/loom")),
        ("ssh://git@host:22/weaver/loom/", Some("weaver/loom")),
        ("/srv/git/loom.git", None),
        ("file:///srv/git/loom", None),
    ] {
        assert_eq!(origin_of(&format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n")).as_deref(), name, "{url}");
    }
    let repo = Repo::new();
    repo.commit(&["a"], "one");
    let folder = repo.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(read(&repo.input()).0.commits[0].repo.as_deref(), Some(folder));
}
