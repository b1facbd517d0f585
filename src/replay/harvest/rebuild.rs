//! Owns rebuilding the tree that a gate saw: a base, and the session's own edits on it in their order. An edit that cannot be made is
//! named; nothing is guessed.

use std::collections::BTreeSet;

use super::case::{Base, Planned};
use super::paths::{self, Refused};
use super::repository;
use super::tree::{File, Held, Tree};
use crate::source::edits::{Change, Edit, Replace};

/// A file that an edit would make longer is refused.
const LARGEST: usize = 16 << 20;
const TOO_LONG: &str = "longer than a file of a fixture may be";
/// Edits that are named one by one.
const NAMED: usize = 20;

/// A rebuilt tree, and what is to be said of it.
#[derive(Debug, Default)]
pub struct Rebuilt {
    pub tree: Tree,
    /// As it was before the session's edits. `None`: not known.
    pub base: Option<Tree>,
    pub applied: usize,
    /// Edits older than the base, taken as part of it.
    pub older: usize,
    /// Files that stood otherwise than the log says: the log's own copy was taken.
    pub from_log: BTreeSet<String>,
    /// Edits that do not apply, by path and reason.
    pub failed: Vec<String>,
    /// Edits outside of the repository, through `..` or through links.
    pub refused: usize,
    /// What of the base could not be taken.
    pub left_out: Vec<String>,
}

impl Rebuilt {
    /// Whether something that the gate saw may be missing.
    pub fn is_partial(&self) -> bool {
        self.base.is_none() || !self.failed.is_empty() || self.refused > 0 || !self.left_out.is_empty()
    }
}

/// Makes the tree of a base and edits.
pub fn rebuild(base: &Base, edits: &[Planned]) -> Result<Rebuilt, String> {
    let mut left_out = Vec::new();
    let (tree, before) = match base {
        Base::Recorded { repository, reference } => {
            let tree = repository::tree(repository, reference, &mut left_out)?;
            // The first commit of a repository has no parent.
            let before = repository::tree(repository, &format!("{reference}^"), &mut Vec::new()).ok();
            (tree, Some(before.unwrap_or_default()))
        }
        Base::Commit { repository, sha, .. } => {
            let tree = repository::tree(repository, sha, &mut left_out)?;
            (tree.clone(), Some(tree))
        }
        Base::LogAlone => (Tree::new(), None),
    };
    let mut out = Rebuilt { tree, base: before, left_out, ..Rebuilt::default() };
    let since = match base {
        Base::Commit { at, .. } => *at,
        _ => None,
    };
    for planned in edits {
        let path = match paths::below(&planned.edit.path, planned.cwd.as_deref(), &planned.roots) {
            Ok(path) => path,
            Err(Refused::Outside | Refused::Unsafe) => {
                out.refused += 1;
                continue;
            }
        };
        let is_older = matches!((planned.at, since), (Some(at), Some(since)) if at <= since);
        // A file that the commit does not have was not committed.
        let is_missing = !out.tree.contains_key(&path) && matches!(planned.edit.change, Change::Write(_));
        if is_older && !is_missing {
            out.older += usize::from(planned.edit.change != Change::Nothing);
            continue;
        }
        if cannot_stand(&out.tree, &path) {
            out.refused += 1;
            continue;
        }
        match one(&mut out, &path, planned) {
            Ok(()) if planned.edit.change == Change::Nothing => {}
            Ok(()) => out.applied += 1,
            Err(Why::Refused) => out.refused += 1,
            Err(Why::Fails(why)) => out.failed.push(format!("{path}: {why}")),
        }
    }
    let more = out.failed.len().saturating_sub(NAMED);
    if more > 0 {
        out.failed.truncate(NAMED);
        out.failed.push(format!("{more} more"));
    }
    Ok(out)
}

enum Why {
    Refused,
    Fails(String),
}

impl From<&str> for Why {
    fn from(text: &str) -> Why {
        Why::Fails(text.to_owned())
    }
}

fn one(out: &mut Rebuilt, path: &str, planned: &Planned) -> Result<(), Why> {
    let Edit { change, before, .. } = &planned.edit;
    match before {
        Some(Some(text)) if held_text(&out.tree, path).is_none_or(|held| unix(&held) != unix(text)) => {
            // What stood there came from elsewhere: a command, a person, another commit. The log kept it.
            let executable = out.tree.get(path).is_some_and(|f| f.executable);
            out.tree.insert(path.to_owned(), File { executable, ..File::text(text) });
            out.from_log.insert(path.to_owned());
        }
        Some(None) if out.tree.remove(path).is_some() => {
            out.from_log.insert(path.to_owned());
        }
        _ => {}
    }
    let held = held_text(&out.tree, path);
    let now = match change {
        Change::Nothing => return Ok(()),
        Change::Write(text) => text.clone(),
        Change::Delete => return out.tree.remove(path).map(|_| ()).ok_or_else(|| "to be deleted, but it is not there".into()),
        Change::Move(to) => {
            let to = paths::below(to, planned.cwd.as_deref(), &planned.roots).map_err(|_| Why::Refused)?;
            if cannot_stand(&out.tree, &to) {
                return Err(Why::Refused);
            }
            let file = out.tree.remove(path).ok_or("to be moved, but it is not there")?;
            out.tree.insert(to, file);
            return Ok(());
        }
        Change::Replace(list) => match (&held, list.as_slice()) {
            // An empty text is replaced in a file that does not exist yet.
            (None, [one]) if one.old.is_empty() => one.new.clone(),
            _ => replaced(held.as_deref().ok_or_else(|| missing(&out.tree, path))?, list)?,
        },
        Change::Blocks(blocks) => in_blocks(held.as_deref().ok_or_else(|| missing(&out.tree, path))?, blocks)?,
    };
    let executable = out.tree.get(path).is_some_and(|f| f.executable);
    out.tree.insert(path.to_owned(), File { executable, ..File::text(&now) });
    Ok(())
}

fn missing(tree: &Tree, path: &str) -> Why {
    if tree.contains_key(path) { "it is no text".into() } else { "the file is not there".into() }
}

fn held_text(tree: &Tree, path: &str) -> Option<String> {
    String::from_utf8(tree.get(path)?.bytes()?.to_vec()).ok()
}

fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A file as an edit leaves it, where the log tells all of it.
pub fn whole_after(edit: &Edit) -> Option<String> {
    match (&edit.change, &edit.before) {
        (Change::Write(text), _) => Some(text.clone()),
        (Change::Replace(list), Some(Some(before))) => replaced(before, list).ok(),
        (Change::Blocks(blocks), Some(Some(before))) => in_blocks(before, blocks).ok(),
        _ => None,
    }
}

/// The path itself, or a folder on its way, is a link; a folder on its way is a file; or it is a folder.
fn cannot_stand(tree: &Tree, path: &str) -> bool {
    if matches!(tree.get(path), Some(File { content: Held::Link(_), .. })) {
        return true;
    }
    let below = format!("{path}/");
    if tree.range(below.clone()..).next().is_some_and(|(next, _)| next.starts_with(&below)) {
        return true;
    }
    path.match_indices('/').any(|(at, _)| path.get(..at).is_some_and(|folder| tree.contains_key(folder)))
}

fn replaced(held: &str, list: &[Replace]) -> Result<String, Why> {
    let mut text = held.to_owned();
    for replace in list {
        text = match once(&text, replace) {
            Ok(text) => text,
            // Editors show lines with Windows ends as plain lines, and write them back as they were.
            Err(_) if text.contains("\r\n") => once(&unix(&text), replace)?.replace('\n', "\r\n"),
            Err(e) => return Err(e),
        };
    }
    Ok(text)
}

fn once(text: &str, Replace { old, new, all }: &Replace) -> Result<String, Why> {
    if old.is_empty() {
        return Err("an empty text is to be replaced in a file that is there".into());
    }
    match text.matches(old.as_str()).take(2).count() {
        0 => return Err("the text to be replaced does not stand there".into()),
        2 if !all => return Err("the text to be replaced stands there more than once".into()),
        _ => {}
    }
    // Told before it is made: a few letters replaced everywhere by a long text are more than a machine holds.
    let n = if *all { text.matches(old.as_str()).count() } else { 1 };
    if new.len().saturating_mul(n).saturating_add(text.len()) > LARGEST {
        return Err(TOO_LONG.into());
    }
    Ok(text.replacen(old.as_str(), new, n))
}

fn in_blocks(held: &str, blocks: &[(String, String)]) -> Result<String, Why> {
    let mut text = unix(held);
    let mut from = 0;
    for (old, new) in blocks {
        // At a line's beginning; the last line of a file may lack its end.
        let find = |old: &str| {
            text.get(from..)?.match_indices(old).map(|(at, _)| from + at).find(|at| *at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n'))
        };
        let bare = old.strip_suffix('\n').unwrap_or(old);
        let found = find(old)
            .map(|at| (at, old.as_str(), new.as_str()))
            .or_else(|| find(bare).filter(|at| at + bare.len() == text.len()).map(|at| (at, bare, new.strip_suffix('\n').unwrap_or(new))));
        let (at, old, new) = found.ok_or("a block of lines does not stand there")?;
        if text.len() + new.len() > LARGEST {
            return Err(TOO_LONG.into());
        }
        text.replace_range(at..at + old.len(), new);
        from = at + new.len();
    }
    Ok(if held.contains("\r\n") { text.replace('\n', "\r\n") } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time::Ts;

    fn planned(path: &str, change: Change) -> Planned {
        Planned { edit: Edit { path: path.into(), change, before: None }, at: Some(Ts(10)), cwd: None, roots: vec!["/w".into()] }
    }

    fn replace(old: &str, new: &str) -> Change {
        Change::Replace(vec![Replace { old: old.into(), new: new.into(), all: false }])
    }

    fn text(out: &Rebuilt, path: &str) -> Option<String> {
        held_text(&out.tree, path)
    }

    #[test]
    fn edits_are_made_in_their_order() {
        let edits = [
            planned("/w/a.txt", Change::Write("one two one\n".into())),
            planned("/w/a.txt", Change::Replace(vec![Replace { old: "one".into(), new: "1".into(), all: true }])),
            planned("/w/a.txt", replace("two", "2")),
            planned("/w/b.txt", replace("", "made\n")),
            planned("/w/b.txt", Change::Move("c/d.txt".into())),
            planned("/w/c/d.txt", Change::Blocks(vec![("made\n".into(), "x\nmade\n".into())])),
            planned("/w/e", Change::Write(String::new())),
            planned("/w/e", Change::Delete),
        ];
        let out = rebuild(&Base::LogAlone, &edits).unwrap();
        assert_eq!((out.applied, out.refused, out.failed.as_slice()), (8, 0, [].as_slice()));
        assert_eq!(text(&out, "a.txt").unwrap(), "1 2 1\n");
        assert_eq!(text(&out, "c/d.txt").unwrap(), "x\nmade\n");
        assert_eq!(out.tree.len(), 2);
    }

    #[test]
    fn an_edit_that_does_not_apply_is_named_and_makes_the_tree_partial() {
        let edits = [
            planned("/w/a.txt", Change::Write("x x\n".into())),
            planned("/w/a.txt", replace("y", "z")),
            planned("/w/a.txt", replace("x", "z")),
            planned("/w/none.txt", replace("x", "z")),
            planned("/w/none.txt", Change::Delete),
        ];
        let out = rebuild(&Base::LogAlone, &edits).unwrap();
        assert_eq!(out.failed.len(), 4);
        for (failed, says) in out.failed.iter().zip(["does not stand there", "more than once", "is not there", "is not there"]) {
            assert!(failed.contains(says), "{failed}");
        }
        assert!(out.is_partial());
        assert_eq!(text(&out, "a.txt").unwrap(), "x x\n");
    }

    #[test]
    fn what_leaves_the_repository_or_goes_through_a_link_is_refused_and_counted() {
        let mut out = Rebuilt::default();
        out.tree.insert("link".into(), File { executable: false, content: Held::Link("a".into()) });
        out.tree.insert("src/a".into(), File::text("x"));
        for (path, cannot) in [("link", true), ("link/x", true), ("linker", false), ("src", true), ("src/a", false), ("src/a/b", true)] {
            assert_eq!(cannot_stand(&out.tree, path), cannot, "{path}");
        }
        let edits = [
            planned("/etc/passwd", Change::Write("x".into())),
            planned("/w/../etc/passwd", Change::Write("x".into())),
            planned("/w/.git/hooks/pre-commit", Change::Write("x".into())),
            planned("/w/a", Change::Write("x".into())),
            planned("/w/a", Change::Move("../out".into())),
            // A file is no folder.
            planned("/w/a/b", Change::Write("x".into())),
        ];
        let out = rebuild(&Base::LogAlone, &edits).unwrap();
        assert_eq!((out.refused, out.applied, out.tree.keys().next().map(String::as_str)), (5, 1, Some("a")));
    }

    #[test]
    fn the_logs_own_copy_of_a_file_outranks_what_was_rebuilt() {
        let mut second = planned("/w/a", replace("q", "r"));
        second.edit.before = Some(Some("q\n".into()));
        let out = rebuild(&Base::LogAlone, &[planned("/w/a", Change::Write("x\n".into())), second]).unwrap();
        assert_eq!(text(&out, "a").unwrap(), "r\n");
        assert_eq!(out.from_log.iter().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn a_file_the_log_shows_is_known_from_then_on_and_is_no_edit() {
        let mut seen = planned("/w/a", Change::Nothing);
        seen.edit.before = Some(Some("one\n".into()));
        let out = rebuild(&Base::LogAlone, &[seen, planned("/w/a", replace("one", "two"))]).unwrap();
        assert_eq!((text(&out, "a").as_deref(), out.applied), (Some("two\n"), 1));
    }

    #[test]
    fn an_edit_that_would_fill_the_memory_is_not_made() {
        let all = Change::Replace(vec![Replace { old: "a".into(), new: "b".repeat(1 << 20), all: true }]);
        let edits = [planned("/w/a", Change::Write("a".repeat(1 << 20))), planned("/w/a", all)];
        let out = rebuild(&Base::LogAlone, &edits).unwrap();
        assert_eq!((out.applied, out.failed.len()), (1, 1));
        assert!(out.failed[0].contains("longer than a file"), "{}", out.failed[0]);
    }

    #[test]
    fn windows_line_ends_are_edited_as_editors_do_and_stay() {
        let edits = [
            planned("/w/a", Change::Write("one\r\ntwo\r\nthree\r\n".into())),
            planned("/w/a", replace("one\ntwo", "1\n2")),
            planned("/w/a", Change::Blocks(vec![("2\nthree\n".into(), "3\n".into())])),
        ];
        assert_eq!(text(&rebuild(&Base::LogAlone, &edits).unwrap(), "a").unwrap(), "1\r\n3\r\n");
    }
}
