//! Owns applying a unified diff to a tree, strictly: every line of context must stand where the patch says, or nothing is applied.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::place::inside;
use super::{Content, Item};

/// One file's part of a patch.
#[derive(Debug, Default)]
struct FilePatch {
    old: Option<String>,
    new: Option<String>,
    mode: Option<bool>,
    hunks: Vec<Hunk>,
}

#[derive(Debug)]
struct Hunk {
    start: usize,
    old_lines: usize,
    new_lines: usize,
    lines: Vec<(u8, Vec<u8>)>,
}

/// The tree after the patch.
pub fn apply(tree: Vec<Item>, patch: &[u8]) -> Result<Vec<Item>, String> {
    let mut files: BTreeMap<PathBuf, Item> = tree.into_iter().map(|item| (item.path.clone(), item)).collect();
    let parts = parse(patch)?;
    if parts.is_empty() {
        return Err("holds no file to change: it is no unified diff".to_owned());
    }
    for part in parts {
        let name = part.new.as_ref().or(part.old.as_ref()).cloned().unwrap_or_default();
        let shown = crate::plain::escape(&name);
        let before = match &part.old {
            None => {
                if files.contains_key(Path::new(&name)) {
                    return Err(format!("creates {shown}, which the base has already"));
                }
                None
            }
            Some(old) => Some(
                files
                    .remove(Path::new(old))
                    .ok_or_else(|| format!("changes {}, which the base does not have", crate::plain::escape(old)))?,
            ),
        };
        let bytes = match before.as_ref().map(|i| &i.content) {
            None => Vec::new(),
            Some(Content::Bytes(bytes)) => bytes.to_vec(),
            Some(Content::File(path)) => std::fs::read(path).map_err(|e| format!("{shown}: {e}"))?,
            Some(_) => return Err(format!("changes {shown}, which is no plain file")),
        };
        let after = hunks(&bytes, &part.hunks).map_err(|e| format!("{shown}: {e}"))?;
        match &part.new {
            None if after.is_empty() => {}
            None => return Err(format!("deletes {shown}, but lines of it are left")),
            Some(new) => {
                let path = inside(Path::new(""), new)?;
                if path.ancestors().skip(1).any(|a| files.get(a).is_some_and(|i| !matches!(i.content, Content::Folder))) {
                    return Err(format!("puts {shown} below what is no folder"));
                }
                let executable = part.mode.unwrap_or(before.as_ref().is_some_and(|i| i.executable));
                files.insert(path.clone(), Item { path, executable, content: Content::Bytes(after.into()) });
            }
        }
    }
    Ok(files.into_values().collect())
}

fn name(line: &[u8], prefix: &str) -> Result<Option<String>, String> {
    let text = std::str::from_utf8(line).map_err(|_| "a name is not UTF-8".to_owned())?;
    // diff writes a time after a tab.
    let text = text.split('\t').next().unwrap_or_default().trim_end_matches('\r');
    if text == "/dev/null" {
        return Ok(None);
    }
    if text.starts_with('"') {
        return Err("quoted names are not read; rename the file".to_owned());
    }
    let text = text.strip_prefix(prefix).unwrap_or(text);
    inside(Path::new(""), text)?;
    Ok(Some(text.to_owned()))
}

fn parse(patch: &[u8]) -> Result<Vec<FilePatch>, String> {
    let mut parts: Vec<FilePatch> = Vec::new();
    let lines: Vec<&[u8]> = patch.split_inclusive(|b| *b == b'\n').collect();
    let bare = |line: &'_ [u8]| -> Vec<u8> { line.strip_suffix(b"\n").unwrap_or(line).to_vec() };
    let mut i = 0;
    // Names of the `diff --git` line wait until `---` and `+++`, if they come.
    let mut open = false;
    while let Some(line) = lines.get(i) {
        let line = bare(line);
        let text = String::from_utf8_lossy(&line).into_owned();
        i += 1;
        if text.starts_with("diff --git ") {
            let names = text.strip_prefix("diff --git ").unwrap_or_default();
            let (a, b) = split_names(names).ok_or_else(|| format!("line {i}: the names cannot be read"))?;
            parts.push(FilePatch { old: name(a.as_bytes(), "a/")?, new: name(b.as_bytes(), "b/")?, ..FilePatch::default() });
            open = true;
        } else if let Some(old) = line.strip_prefix(b"--- ") {
            let new = lines.get(i).map(|l| bare(l)).unwrap_or_default();
            let Some(new) = new.strip_prefix(b"+++ ") else { continue };
            i += 1;
            let (old, new) = (name(old, "a/")?, name(new, "b/")?);
            if old.is_none() && new.is_none() {
                return Err(format!("line {i}: neither file has a name"));
            }
            match parts.last_mut().filter(|p| open && p.hunks.is_empty()) {
                Some(part) => (part.old, part.new) = (old, new),
                None => parts.push(FilePatch { old, new, ..FilePatch::default() }),
            }
            open = false;
        } else if text.starts_with("@@ ") {
            let part = parts.last_mut().ok_or_else(|| format!("line {i}: a hunk before any file name"))?;
            let (hunk, next) = hunk(&text, &lines, i)?;
            part.hunks.push(hunk);
            i = next;
        } else if text.starts_with("GIT binary patch") || text.starts_with("Binary files ") {
            return Err(format!("line {i}: binary changes are not read; keep the tree itself as the stimulus"));
        } else if let Some(part) = parts.last_mut().filter(|_| open) {
            header(part, &text)?;
        }
    }
    Ok(parts)
}

fn header(part: &mut FilePatch, text: &str) -> Result<(), String> {
    let executable = |mode: &str| match mode.trim() {
        "100755" => Ok(Some(true)),
        "100644" => Ok(Some(false)),
        other => Err(format!("mode {} is no plain file's", crate::plain::escape(other))),
    };
    if let Some(mode) = text.strip_prefix("new file mode ") {
        part.old = None;
        part.mode = executable(mode)?;
    } else if text.starts_with("deleted file mode ") {
        part.new = None;
    } else if let Some(mode) = text.strip_prefix("new mode ") {
        part.mode = executable(mode)?;
    } else if let Some(from) = text.strip_prefix("rename from ") {
        part.old = name(from.as_bytes(), "")?;
    } else if let Some(to) = text.strip_prefix("rename to ") {
        part.new = name(to.as_bytes(), "")?;
    } else if text.starts_with("copy from ") {
        return Err("copies are not read; write the new file in full".to_owned());
    }
    Ok(())
}

/// `a/x b/x`: both names are the same unless a rename says otherwise, so the middle is where they part.
fn split_names(names: &str) -> Option<(String, String)> {
    names
        .match_indices(" b/")
        .map(|(at, _)| (&names[..at], &names[at + 1..]))
        .find(|(a, b)| a.get(2..) == b.get(2..))
        .or_else(|| names.split_once(' '))
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
}

fn hunk(head: &str, lines: &[&[u8]], mut i: usize) -> Result<(Hunk, usize), String> {
    let wrong = || format!("line {i}: the hunk's head cannot be read");
    let ranges = head.strip_prefix("@@ -").and_then(|t| t.split_once(" @@")).map(|(r, _)| r).ok_or_else(wrong)?;
    let (old, new) = ranges.split_once(" +").ok_or_else(wrong)?;
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((start, n)) => Some((start.parse().ok()?, n.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((start, old_lines), (_, new_lines)) = range(old).zip(range(new)).ok_or_else(wrong)?;
    let mut hunk = Hunk { start, old_lines, new_lines, lines: Vec::new() };
    let (mut olds, mut news) = (0, 0);
    while olds < old_lines || news < new_lines {
        let line = lines.get(i).ok_or("ends within a hunk")?;
        i += 1;
        let (kind, rest) = match line.split_first() {
            Some((b'\n', _)) => (b' ', &line[..]),
            Some((kind, rest)) => (*kind, rest),
            None => return Err("ends within a hunk".to_owned()),
        };
        match kind {
            b' ' => (olds, news) = (olds + 1, news + 1),
            b'-' => olds += 1,
            b'+' => news += 1,
            b'\\' => {
                no_newline(&mut hunk);
                continue;
            }
            _ => return Err(format!("line {i}: is neither context, addition nor removal")),
        }
        hunk.lines.push((kind, rest.to_vec()));
    }
    if lines.get(i).is_some_and(|l| l.starts_with(b"\\")) {
        no_newline(&mut hunk);
        i += 1;
    }
    if olds != hunk.old_lines || news != hunk.new_lines {
        return Err(format!("line {i}: the hunk's lines are not as many as its head says"));
    }
    Ok((hunk, i))
}

fn no_newline(hunk: &mut Hunk) {
    if let Some((_, line)) = hunk.lines.last_mut()
        && line.last() == Some(&b'\n')
    {
        line.pop();
    }
}

fn hunks(before: &[u8], hunks: &[Hunk]) -> Result<Vec<u8>, String> {
    let lines: Vec<&[u8]> = before.split_inclusive(|b| *b == b'\n').collect();
    let mut out = Vec::with_capacity(before.len());
    let mut at = 0;
    for (n, hunk) in hunks.iter().enumerate() {
        // A hunk that removes nothing names the line before it.
        let start = if hunk.old_lines == 0 { hunk.start } else { hunk.start.saturating_sub(1) };
        let between = lines.get(at..start).ok_or_else(|| format!("hunk {} does not stand where the file goes on", n + 1))?;
        out.extend(between.iter().flat_map(|l| l.iter()));
        at = start;
        for (kind, line) in &hunk.lines {
            if *kind == b'+' {
                out.extend_from_slice(line);
                continue;
            }
            if lines.get(at).copied() != Some(line.as_slice()) {
                return Err(format!("hunk {} does not apply: line {} differs", n + 1, at + 1));
            }
            if *kind == b' ' {
                out.extend_from_slice(line);
            }
            at += 1;
        }
    }
    out.extend(lines.get(at..).unwrap_or_default().iter().flat_map(|l| l.iter()));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Vec<Item> {
        let item = |path: &str, text: &str| Item { path: path.into(), executable: false, content: Content::Bytes(text.as_bytes().into()) };
        vec![item("a.txt", "1\n2\n3\n4\n5\n"), item("old.txt", "x\n"), item("end.txt", "no newline")]
    }

    fn text(items: &[Item], path: &str) -> Option<String> {
        items.iter().find(|i| i.path == Path::new(path)).map(|i| match &i.content {
            Content::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn edits_creations_deletions_renames_and_modes_are_applied() {
        let patch = "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n 1\n-2\n+two\n+two and a half\n 3\n@@ -5 +6 @@\n-5\n+five\n\
            diff --git a/n/new.sh b/n/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/n/new.sh\n@@ -0,0 +1 @@\n+echo\n\\ No newline at end of file\n\
            diff --git a/old.txt b/old.txt\ndeleted file mode 100644\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
            diff --git a/end.txt b/fin.txt\nsimilarity index 100%\nrename from end.txt\nrename to fin.txt\n";
        let after = apply(base(), patch.as_bytes()).unwrap();
        assert_eq!(text(&after, "a.txt").unwrap(), "1\ntwo\ntwo and a half\n3\n4\nfive\n");
        assert_eq!(text(&after, "n/new.sh").unwrap(), "echo");
        assert!(after.iter().any(|i| i.executable));
        assert_eq!(text(&after, "old.txt"), None);
        assert_eq!((text(&after, "end.txt"), text(&after, "fin.txt").as_deref()), (None, Some("no newline")));
    }

    #[test]
    fn what_does_not_fit_exactly_or_leaves_the_tree_is_refused() {
        for (patch, says) in [
            ("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-zwei\n+two\n", "line 2 differs"),
            ("--- a/none.txt\n+++ b/none.txt\n@@ -1 +1 @@\n-1\n+2\n", "does not have"),
            ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", "has already"),
            ("--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n", "leaves the folder"),
            ("--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+x\n", "absolute"),
            ("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n", "ends within a hunk"),
            ("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", "lines of it are left"),
            ("hello\n", "no unified diff"),
            ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n", "no plain file's"),
        ] {
            let said = apply(base(), patch.as_bytes()).unwrap_err();
            assert!(said.contains(says), "{patch}: {said}");
        }
    }

    #[test]
    fn a_patch_of_diff_and_of_git_give_the_same_tree_as_git_apply() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let out = std::process::Command::new("git").arg("-C").arg(dir.path()).args(args).output().unwrap();
            assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
            out.stdout
        };
        git(&["init", "-q"]);
        let before: String = (0..200).map(|i| format!("line {i}\n")).collect();
        std::fs::write(dir.path().join("f"), &before).unwrap();
        git(&["add", "."]);
        let after: String = (0..200)
            .filter(|i| i % 17 != 3)
            .map(|i| if i % 29 == 0 { format!("changed {i}\nand more\n") } else { format!("line {i}\n") })
            .collect();
        std::fs::write(dir.path().join("f"), &after).unwrap();
        let patch = git(&["diff"]);
        let item = Item { path: "f".into(), executable: false, content: Content::Bytes(before.into_bytes().into()) };
        let applied = apply(vec![item], &patch).unwrap();
        assert_eq!(text(&applied, "f").unwrap(), after);
    }
}
