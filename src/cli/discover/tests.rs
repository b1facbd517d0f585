//! Finds places in homes and repositories made for the test.

use std::fs;

use super::*;

struct World {
    _dir: tempfile::TempDir,
    repo: PathBuf,
    homes: Homes,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let repo = root.join("loom");
        for folder in ["loom/.git/objects", "home/.claude/projects", "home/.copilot/session-state"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(repo.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let homes = Homes { claude: vec![root.join("home/.claude")], copilot: vec![root.join("home/.copilot")] };
        World { _dir: dir, repo, homes }
    }

    fn write(&self, path: PathBuf, text: &str) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A log of Claude Code for sessions in `cwd`; its project folder.
    fn claude(&self, cwd: &Path) -> PathBuf {
        let project = self.homes.claude[0].join("projects").join(sessions::slug(cwd));
        let lines = format!("{{\"type\":\"summary\"}}\n{{\"type\":\"user\",\"cwd\":{:?}}}\n", cwd.to_str().unwrap());
        self.write(project.join("s.jsonl"), &lines);
        project
    }

    fn copilot(&self, id: &str, cwd: &str) -> PathBuf {
        let line = format!("{{\"type\":\"session.start\",\"data\":{{\"sessionId\":\"{id}\",\"context\":{{\"cwd\":{cwd:?}}}}}}}\n");
        self.write(self.homes.copilot[0].join("session-state").join(id).join("events.jsonl"), &line)
    }

    fn found(&self, all_projects: bool) -> Vec<PathBuf> {
        discover(&self.repo, &Config::default(), &self.homes, all_projects).into_iter().map(|p| p.path).collect()
    }
}

#[test]
fn sessions_of_the_repository_and_of_folders_below_it_are_found_and_those_of_its_neighbours_are_not() {
    let world = World::new();
    let own = [world.claude(&world.repo), world.claude(&world.repo.join("web")), world.claude(&world.repo.join(".worktrees/issue-07"))];
    let neighbour = world.claude(&world.repo.with_file_name("loom-web-2"));
    let session = world.copilot("s1", world.repo.to_str().unwrap());
    let other = world.copilot("s2", world.repo.with_file_name("loom-web-2").to_str().unwrap());
    let found = world.found(false);
    for path in own.iter().chain([&session]) {
        assert!(found.contains(path), "{path:?} is not in {found:?}");
    }
    assert!(!found.contains(&neighbour) && !found.contains(&other));

    let all = world.found(true);
    assert!(all.contains(&world.homes.claude[0].join("projects")) && all.contains(&world.homes.copilot[0].join("session-state")));
}

#[test]
fn a_copilot_session_is_found_by_its_workspace_file_too() {
    let world = World::new();
    let events = world.copilot("s1", "/elsewhere");
    world.write(events.with_file_name("workspace.yaml"), &format!("id: s1\ncwd: {}\n", world.repo.join("web").display()));
    assert!(world.found(false).contains(&events));
}

#[test]
fn traces_declarations_commits_replays_and_labels_are_found() {
    let world = World::new();
    let mut expected = vec![world.repo.join(".git/HEAD")];
    for name in [".copilot-tracking/issues/issue-07/trace.jsonl", ".github/hooks/x.json"] {
        expected.push(world.write(world.repo.join(name), "{}").parent().unwrap().to_owned());
    }
    expected[1] = world.repo.join(".copilot-tracking/issues");
    for name in [".claude/settings.json", ".claude/settings.local.json", "docs/harness-contract.yml", ".mechanic/labels.jsonl"] {
        expected.push(world.write(world.repo.join(name), "{}"));
    }
    expected.push(world.write(world.repo.join(".mechanic/replays/1.json"), "{}").parent().unwrap().to_owned());
    expected.push(world.write(world.homes.claude[0].join("settings.json"), "{}"));
    expected.push(world.write(world.homes.claude[0].join("plugins/cache/m/p/1.0/hooks/hooks.json"), "{}"));
    let mut found = world.found(false);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn configured_paths_take_the_place_of_what_is_found() {
    let world = World::new();
    world.claude(&world.repo);
    let config = Config::parse("paths = [\"traces\", \".\"]", &world.repo.join("mechanic.toml")).unwrap();
    let places = discover(&world.repo, &config, &world.homes, false);
    assert_eq!(places.iter().map(|p| p.path.clone()).collect::<Vec<_>>(), [world.repo.join(".")]);
}

#[test]
fn project_folders_are_named_as_claude_code_names_them() {
    assert_eq!(sessions::slug(Path::new("/srv/my.loom_2/.wt/a")), "-srv-my-loom-2--wt-a");
}

#[test]
fn where_nothing_is_found_the_error_says_where_was_looked_and_what_to_do() {
    let world = World::new();
    let text = nothing_found(&world.repo, &Config::default(), &world.homes);
    assert!(text.contains("projects") && text.contains("session-state") && text.contains("--all-projects"), "{text}");
}
