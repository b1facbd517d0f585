//! Owns reading a commit of a local repository: objects only. No hook, filter, smudge or checkout runs, and nothing is written.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::place::{inside, stays_inside};
use super::{Content, Item};

const SUBMODULE: &str = "is a submodule: its files are not in the commit";

/// Largest tree that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// git that reads objects and does nothing else.
pub fn git(repository: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("--no-optional-locks").args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never"]);
    command.arg("-C").arg(repository);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"] {
        command.env_remove(name);
    }
    command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Standard output of a git command, or its first word of complaint.
pub fn output(mut command: Command) -> Result<Vec<u8>, String> {
    let done = command.output().map_err(|e| format!("git cannot be run: {e}"))?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!("git: {}", crate::plain::escape(said.lines().next().unwrap_or("it failed without a word"))))
}

/// The files of a commit, or of a folder in it (`<commit>:<folder>`), as they are stored.
pub fn tree(repository: &Path, treeish: &str) -> Result<Vec<Item>, String> {
    tree_with(repository, treeish, &mut |path, why| match why {
        // Its files are not in this commit.
        SUBMODULE => Ok(()),
        why => Err(format!("{} {why}", crate::plain::escape(path))),
    })
}

/// The same, with `refuse` deciding what becomes of a file that cannot be taken: an error ends the reading, else it is left out.
pub fn tree_with(repository: &Path, treeish: &str, refuse: &mut dyn FnMut(&str, &str) -> Result<(), String>) -> Result<Vec<Item>, String> {
    let mut command = git(repository);
    command.args(["ls-tree", "-r", "-z", "-l", "--full-tree", "--end-of-options", treeish]);
    let listing = output(command)?;
    let mut items = Vec::new();
    let mut names = Vec::new();
    let mut total = 0u64;
    for line in listing.split(|b| *b == 0).filter(|l| !l.is_empty()) {
        let line = std::str::from_utf8(line).map_err(|_| "the commit holds a file whose name is not UTF-8".to_owned())?;
        let (meta, path) = line.split_once('\t').ok_or("git ls-tree said something unknown")?;
        let words: Vec<&str> = meta.split_whitespace().collect();
        let [mode, kind, object, size] = words[..] else { return Err("git ls-tree said something unknown".to_owned()) };
        if kind != "blob" {
            refuse(path, SUBMODULE)?;
            continue;
        }
        inside(Path::new(""), path)?;
        total += size.parse::<u64>().unwrap_or(0);
        if total > LARGEST {
            return Err(format!("the commit is larger than {} MiB", LARGEST >> 20));
        }
        names.push(object.to_owned());
        items.push((mode.to_owned(), path.to_owned()));
    }
    let blobs = blobs(repository, &names)?;
    let mut out = Vec::new();
    for ((mode, path), bytes) in items.into_iter().zip(blobs) {
        let content = if mode == "120000" {
            let prefix = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            match String::from_utf8(bytes) {
                Ok(target) if stays_inside(prefix, &target) => Content::Link(target),
                Ok(_) => {
                    refuse(&path, "is a link that points out of the tree")?;
                    continue;
                }
                Err(_) => {
                    refuse(&path, "is a link whose target is not UTF-8")?;
                    continue;
                }
            }
        } else {
            Content::Bytes(bytes.into())
        };
        out.push(Item { path: PathBuf::from(path), executable: mode == "100755", content });
    }
    Ok(out)
}

/// The bytes of objects, in their order.
fn blobs(repository: &Path, names: &[String]) -> Result<Vec<Vec<u8>>, String> {
    let mut command = git(repository);
    command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| format!("git cannot be run: {e}"))?;
    let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else { return Err("git has no pipes".to_owned()) };
    let asked: String = names.iter().map(|n| format!("{n}\n")).collect();
    let writer = std::thread::spawn(move || to.write_all(asked.as_bytes()));
    let mut from = BufReader::new(from);
    let mut read = || -> Result<Vec<Vec<u8>>, String> {
        let broken = |_| "git cat-file ended early".to_owned();
        let mut out = Vec::new();
        for name in names {
            let mut head = String::new();
            from.read_line(&mut head).map_err(broken)?;
            let size: usize = match head.split_whitespace().collect::<Vec<_>>()[..] {
                [_, "blob", size] => size.parse().map_err(|_| "git cat-file said something unknown".to_owned())?,
                _ => return Err(format!("the object {name} is not in the repository")),
            };
            let mut bytes = vec![0; size + 1];
            from.read_exact(&mut bytes).map_err(broken)?;
            bytes.pop();
            out.push(bytes);
        }
        Ok(out)
    };
    let blobs = read();
    drop(from);
    let _ = writer.join();
    let _ = child.wait();
    blobs
}
