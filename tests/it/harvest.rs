//! Owns the tests of `mechanic harvest` as a program: from a session's log, or from what `mechanic record` kept, to a draft that a replay
//! catches.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Home {
    folder: tempfile::TempDir,
}

/// A repository whose one commit is older than any session here, with two validators.
fn home() -> Home {
    let home = Home { folder: tempfile::tempdir().unwrap() };
    fs::create_dir_all(home.repo().join("src")).unwrap();
    for n in 0..12 {
        fs::write(
            home.repo().join(format!("src/m{n}.rs")),
            format!("fn m{n}() {{\n    one();\n    two();\n    three();\n    four();\n}}\n"),
        )
        .unwrap();
    }
    fs::write(home.repo().join(".gitignore"), ".mechanic/\n").unwrap();
    home.git(&["init", "-q", "-b", "main"]);
    home.git(&["add", "."]);
    home.git(&["commit", "-q", "-m", "Begin"]);
    let text = r#"format = 1
[[validator]]
id = "no-unwrap"
gate = "PostToolUse:lint.sh"
command = "if grep -rn unwrap {stimulus}; then exit 1; fi"
shell = true
[validator.verdict]
exit = { pass = [0], fail = [1] }

[[validator]]
id = "no-unwrap-recorded"
gate = "lint"
command = "if grep -rn unwrap {stimulus}; then exit 1; fi"
shell = true
[validator.verdict]
exit = { pass = [0], fail = [1] }

[[validator]]
id = "no-force"
gate = "PreToolUse:guard.sh"
command = "if grep -n -e --force {stimulus}; then exit 1; fi"
shell = true
stimuli = ["transcript"]
[validator.verdict]
exit = { pass = [0], fail = [1] }
"#;
    fs::write(home.path("validators.toml"), text).unwrap();
    home
}

impl Home {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn repo(&self) -> PathBuf {
        // Links resolved, as a session's log names the folder.
        self.folder.path().canonicalize().unwrap().join("shop")
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.repo()).args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args);
        let done = command.env("GIT_COMMITTER_DATE", "2026-02-03T09:00:00Z").output().unwrap();
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// The binary, run in the repository on a lake beside it.
    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mechanic"));
        command.current_dir(self.repo()).arg("--lake").arg(self.path("lake")).args(args).env("NO_COLOR", "1").output().unwrap()
    }

    fn mechanic(&self, args: &[&str]) -> String {
        let done = self.run(args);
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{args:?}: {}\n{said}{}", done.status, String::from_utf8_lossy(&done.stderr));
        said
    }

    /// Outcome of the one validator's cell of each draft.
    fn outcomes(&self, drafts: &Path, validator: &str) -> Vec<String> {
        let validators = self.path("validators.toml");
        let filter = format!("validator={validator}");
        let args = ["replay", "--no-cache", "--format", "json", "--filter", &filter, "--corpus", drafts.to_str().unwrap(), "--validators"];
        let done = self.run(&[&args[..], &[validators.to_str().unwrap()]].concat());
        let value: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let cells = value["cells"].as_array().unwrap();
        cells.iter().map(|c| c["outcome"].as_str().unwrap().to_owned()).filter(|o| o != "unsupported").collect()
    }
}

/// The lines of a Claude Code session in a folder, a second apart.
struct Log {
    cwd: String,
    lines: Vec<String>,
}

impl Log {
    fn line(mut self, kind: &str, rest: serde_json::Value) -> Log {
        let n = self.lines.len();
        let mut line = serde_json::json!({
            "type": kind, "isSidechain": false, "cwd": self.cwd, "sessionId": "11111111-2222-4333-8444-555555555555", "version": "2.1.230",
            "gitBranch": "main", "uuid": format!("u{n}"), "timestamp": format!("2026-02-03T10:00:{n:02}.000Z"),
        });
        line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        self.lines.push(line.to_string());
        self
    }

    fn asks(self, id: &str, tool: &str, input: serde_json::Value) -> Log {
        let message = serde_json::json!({
            "id": format!("msg_{id}"), "role": "assistant", "model": "claude-opus-4-6", "stop_reason": "tool_use",
            "usage": { "input_tokens": 1, "output_tokens": 1 },
            "content": [{ "type": "tool_use", "id": id, "name": tool, "input": input }],
        });
        self.line("assistant", serde_json::json!({ "message": message }))
    }

    fn result(self, id: &str, failed: bool, text: &str) -> Log {
        let block = serde_json::json!({ "type": "tool_result", "tool_use_id": id, "is_error": failed, "content": text });
        self.line("user", serde_json::json!({ "message": { "role": "user", "content": [block] } }))
    }

    fn refused_after(self, id: &str, command: &str, text: &str) -> Log {
        let attachment = serde_json::json!({
            "type": "hook_blocking_error", "hookName": "PostToolUse:Edit", "hookEvent": "PostToolUse", "toolUseID": id,
            "blockingError": { "blockingError": format!("[{command}]: {text}"), "command": command },
        });
        self.line("attachment", serde_json::json!({ "attachment": attachment }))
    }
}

/// Edits, a command that writes, an edit outside, and an edit after which a hook refuses; then a push that a hook refuses.
fn session(cwd: &Path) -> Log {
    let at = |name: &str| cwd.join(name).display().to_string();
    let id = |n: usize| format!("toolu_{n:020}");
    let edit = |name: &str, old: &str, new: &str| serde_json::json!({ "file_path": at(name), "old_string": old, "new_string": new });
    Log { cwd: cwd.display().to_string(), lines: Vec::new() }
        .asks(&id(1), "Edit", edit("src/m3.rs", "one();", "uno();"))
        .result(&id(1), false, "ok")
        .asks(&id(2), "Bash", serde_json::json!({ "command": "cargo fmt" }))
        .result(&id(2), false, "")
        .asks(&id(3), "Write", serde_json::json!({ "file_path": "/etc/elsewhere.txt", "content": "x" }))
        .result(&id(3), false, "ok")
        .asks(&id(4), "Write", serde_json::json!({ "file_path": at("src/new.rs"), "content": "// by ann@mail.example.org\n" }))
        .result(&id(4), false, "ok")
        .asks(&id(5), "Edit", edit("src/m3.rs", "three();", "three().unwrap();"))
        .refused_after(&id(5), "sh .claude/hooks/lint.sh", "src/m3.rs: unwrap is not allowed")
        .result(&id(5), false, "ok")
        .asks(&id(6), "Edit", edit("src/m4.rs", "one();", "later();"))
        .result(&id(6), false, "ok")
        .asks(&id(7), "Bash", serde_json::json!({ "command": "git push --force origin main" }))
        .result(&id(7), true, "PreToolUse:Bash hook error: [sh .claude/hooks/guard.sh]: no force push")
}

fn ingested(home: &Home, cwd: &Path) {
    let log = home.path("logs/projects/-w-shop/11111111-2222-4333-8444-555555555555.jsonl");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    fs::write(&log, session(cwd).lines.join("\n") + "\n").unwrap();
    home.mechanic(&["ingest", home.path("logs").to_str().unwrap()]);
}

fn problem_of(home: &Home, gate: &str) -> String {
    let csv =
        home.mechanic(&["sql", "--format", "csv", &format!("select problem_id from problems where first_detection_gate_id = '{gate}'")]);
    let ids: Vec<&str> = csv.lines().skip(1).collect();
    assert_eq!(ids.len(), 1, "{gate}: {csv}");
    ids[0].to_owned()
}

fn one_draft(drafts: &Path) -> PathBuf {
    let found: Vec<PathBuf> = fs::read_dir(drafts)
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.file_name().unwrap().to_str().unwrap().starts_with("harvested-"))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn a_failure_of_a_session_becomes_a_draft_that_a_replay_catches() {
    let home = home();
    ingested(&home, &home.repo());
    let list = home.mechanic(&["harvest"]);
    assert!(
        list.contains("2 can be harvested:") && list.contains("and 4 edits (1 gap)") && list.contains("the command it judged"),
        "{list}"
    );
    let id = problem_of(&home, "PostToolUse:lint.sh");
    let (drafts, validators) = (home.path("drafts"), home.path("validators.toml"));
    let args = ["harvest", &id[..8], "--out", drafts.to_str().unwrap(), "--validators", validators.to_str().unwrap()];
    let said = home.mechanic(&args);
    for part in [
        "a validator catches it",
        "the last commit of its branch before the failure",
        "3 of the 4 edits of the session up to the failure",
        "14 → 1 files, 2 → 1 changes",
        "gap: 0 shell commands wrote files",
        "gap: 1 edits outside of the repository",
    ] {
        // `cargo fmt` writes.
        let part = part.replace("0 shell commands wrote files", "1 shell commands wrote files and 0 may have");
        assert!(said.contains(&part), "{part}: {said}");
    }
    let draft = one_draft(&drafts);
    // The edit before it is taken back, the one after it was never made.
    let text = fs::read_to_string(draft.join("stimulus/src/m3.rs")).unwrap();
    assert_eq!(text, "fn m3() {\n    one();\n    two();\n    three().unwrap();\n    four();\n}\n");
    assert_eq!(fs::read_dir(draft.join("stimulus/src")).unwrap().count(), 1);
    assert_eq!(home.outcomes(&drafts, "no-unwrap"), ["catches"]);
    // What is there is never written over.
    fs::write(draft.join("fixture.toml"), "mine").unwrap();
    assert!(home.mechanic(&args).contains("is there already"));
    assert_eq!(fs::read_to_string(draft.join("fixture.toml")).unwrap(), "mine");
}

#[test]
fn the_whole_tree_is_what_the_gate_saw_redacted() {
    let home = home();
    ingested(&home, &home.repo());
    let drafts = home.path("drafts");
    home.mechanic(&["harvest", &problem_of(&home, "PostToolUse:lint.sh"), "--out", drafts.to_str().unwrap(), "--no-minimise"]);
    let stimulus = one_draft(&drafts).join("stimulus");
    let text = |name: &str| fs::read_to_string(stimulus.join(name)).unwrap();
    assert!(text("src/m3.rs").contains("uno();") && text("src/m3.rs").contains("three().unwrap();"));
    assert!(text("src/m4.rs").contains("one();"), "an edit after the failure is not made");
    assert_eq!(text("src/new.rs"), "// by [redacted: e-mail]\n");
    assert_eq!(fs::read_dir(stimulus.join("src")).unwrap().count(), 13);
    let fixture = fs::read_to_string(one_draft(&drafts).join("fixture.toml")).unwrap();
    assert!(fixture.contains("\"unverified\"") && fixture.contains("\"partial\""), "{fixture}");
}

#[test]
fn a_refused_command_becomes_a_transcript() {
    let home = home();
    ingested(&home, &home.repo());
    let (drafts, validators) = (home.path("drafts"), home.path("validators.toml"));
    let id = problem_of(&home, "PreToolUse:guard.sh");
    let said = home.mechanic(&["harvest", &id, "--out", drafts.to_str().unwrap(), "--validators", validators.to_str().unwrap()]);
    assert!(said.contains("no-force catches it"), "{said}");
    let text = fs::read_to_string(one_draft(&drafts).join("stimulus/command.txt")).unwrap();
    assert_eq!(text, "git push --force origin main");
    assert_eq!(home.outcomes(&drafts, "no-force"), ["catches"]);
}

#[test]
fn a_session_of_another_folder_is_rebuilt_only_from_a_repository_that_the_user_names() {
    let home = home();
    ingested(&home, Path::new("/w/nowhere"));
    let id = problem_of(&home, "PostToolUse:lint.sh");
    let drafts = home.path("drafts");
    let repo = home.repo();
    let alone = home.mechanic(&["harvest", &id, "--out", drafts.to_str().unwrap(), "--no-minimise"]);
    assert!(alone.contains("no repository is known of it") && alone.contains("the log itself"), "{alone}");
    assert!(!one_draft(&drafts).join("stimulus/src/m0.rs").exists());
    let named = home.path("named");
    let said = home.mechanic(&["harvest", &id, "--out", named.to_str().unwrap(), "--no-minimise", "--repo", repo.to_str().unwrap()]);
    assert!(said.contains("3 of the 4 edits"), "{said}");
    assert!(one_draft(&named).join("stimulus/src/m0.rs").exists());
}

#[test]
fn what_record_kept_of_a_failing_tree_becomes_a_draft_that_a_replay_catches() {
    let home = home();
    fs::write(home.repo().join("src/m5.rs"), "fn m5() {\n    one();\n    two().unwrap();\n    three();\n    FOUR();\n}\n").unwrap();
    fs::write(home.repo().join("untracked.txt"), "x\n").unwrap();
    let done = home.run(&["record", "--gate", "lint", "--", "sh", "-c", "grep -rn unwrap src && exit 1; exit 0"]);
    assert_eq!(done.status.code(), Some(1));
    // The work goes on.
    fs::write(home.repo().join("src/m5.rs"), "fixed\n").unwrap();
    let list = home.mechanic(&["harvest"]);
    assert!(list.contains("1 can be harvested:") && list.contains("lint  the recorded tree"), "{list}");
    let (drafts, validators) = (home.path("drafts"), home.path("validators.toml"));
    let args = ["harvest", "--all", "--out", drafts.to_str().unwrap(), "--validators", validators.to_str().unwrap()];
    let said = home.mechanic(&args);
    assert!(said.contains("14 → 1 files, 2 → 1 changes") || said.contains("1 files, 2 → 1 changes"), "{said}");
    let text = fs::read_to_string(one_draft(&drafts).join("stimulus/src/m5.rs")).unwrap();
    assert_eq!(text, "fn m5() {\n    one();\n    two().unwrap();\n    three();\n    four();\n}\n");
    assert_eq!(home.outcomes(&drafts, "no-unwrap-recorded"), ["catches"]);
}

#[test]
fn what_a_gate_really_saw_becomes_a_set_of_controls() {
    let home = home();
    for (input, n) in [("{\"command\":\"ls\"}", 3), ("{\"command\":\"cat a\"}", 1), ("{\"command\":\"unwrap\"}", 1)] {
        for _ in 0..n {
            let script = "if grep -q unwrap; then exit 1; fi";
            let mut command = Command::new(env!("CARGO_BIN_EXE_mechanic"));
            command.current_dir(home.repo()).args(["record", "--gate", "lint", "--keep-stimuli", "--", "sh", "-c", script]);
            let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
            child.wait().unwrap();
        }
    }
    let drafts = home.path("drafts");
    let said = home.mechanic(&["harvest", "--stimuli", "lint", "--out", drafts.to_str().unwrap()]);
    assert!(said.contains("3 distinct stimuli of 5 seen in 5 gate runs; 2 that always passed are controls"), "{said}");
    let set = drafts.join("_stimuli-lint");
    let lines = fs::read_to_string(set.join("stimuli.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((first["n"].as_u64(), first["n_pass"].as_u64(), first["kind"].as_str()), (Some(3), Some(3), Some("input")));
    assert_eq!(home.outcomes(&set, "no-force"), ["misses", "misses"]);
    assert_eq!(home.run(&["harvest", "--stimuli", "lint", "--out", drafts.to_str().unwrap()]).status.code(), Some(2), "never written over");
    let none = home.run(&["harvest", "--stimuli", "lnt"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("no gate run of `lnt`"));
}

#[test]
fn what_the_guarded_calls_of_a_session_were_is_a_set_too() {
    let home = home();
    ingested(&home, &home.repo());
    let drafts = home.path("drafts");
    let said = home.mechanic(&["harvest", "--stimuli", "PreToolUse:guard.sh", "--out", drafts.to_str().unwrap()]);
    assert!(said.contains("1 distinct stimuli of 1 seen in 1 gate runs; 0 that always passed"), "{said}");
    let lines = fs::read_to_string(drafts.join("_stimuli-pretooluse-guard-sh/stimuli.jsonl")).unwrap();
    assert!(lines.contains("\"n_fail\":1") && lines.contains("\"kind\":\"command\""), "{lines}");
}

#[test]
fn a_wrong_command_line_says_what_to_do() {
    let home = home();
    let said = |args: &[&str]| {
        let done = home.run(args);
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (code, text) = said(&["harvest"]);
    assert!(code == Some(2) && text.contains("nothing to harvest from") && text.contains("mechanic record"), "{text}");
    ingested(&home, &home.repo());
    let (code, text) = said(&["harvest", "ffff0000"]);
    assert!(code == Some(2) && text.contains("no problem `ffff0000`") && text.contains("lists what can be"), "{text}");
    let (code, text) = said(&["harvest", "--repo", "/"]);
    assert!(code == Some(2) && text.contains("is in no git repository"), "{text}");
}
