//! Owns redacting a tree before it is written: secrets, addresses and home directories in texts and in the names of files.

use std::sync::Arc;

use super::tree::{File, Held, Tree};
use crate::source::redact::redact;

/// What was taken out.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    pub files: usize,
    pub places: usize,
    /// Files left out, for their name holds a secret.
    pub names: usize,
}

/// The tree without secrets. What is no text stays as git has it.
pub fn tree(tree: &Tree, taken: &mut Taken) -> Tree {
    let mut out = Tree::new();
    for (path, file) in tree {
        if redact(path) != *path {
            taken.names += 1;
            continue;
        }
        out.insert(path.clone(), one(file, taken));
    }
    out
}

fn one(file: &File, taken: &mut Taken) -> File {
    let Some(text) = file.bytes().and_then(|b| std::str::from_utf8(b).ok()).filter(|t| !t.contains('\0')) else { return file.clone() };
    let clean = redact(text);
    if clean == text {
        return file.clone();
    }
    taken.files += 1;
    taken.places += places(text, &clean);
    File { executable: file.executable, content: Held::Bytes(Arc::from(clean.as_bytes())) }
}

/// Places where a text was changed: lines that differ, at least one; redaction of keys over several lines counts once.
fn places(before: &str, after: &str) -> usize {
    let marks = |t: &str| t.matches("[redacted: ").count();
    let homes = after.matches('~').count().saturating_sub(before.matches('~').count());
    (marks(after).saturating_sub(marks(before)) + homes).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_texts_and_names_do_not_get_into_a_fixture_and_binary_files_stay() {
        // Put together here so that no text of this file looks like a key of somebody.
        let key = "ghp_".to_owned() + &"aB3dE6gH9jK2".repeat(3);
        let mut before = Tree::new();
        before.insert("src/a.rs".into(), File::text(&format!("let x = 1; // {key}\n// /home/ann/shop and /home/bob/x\n")));
        before.insert("plain.txt".into(), File::text("nothing here\n"));
        before.insert(format!("{key}.txt"), File::text("x"));
        let binary = File { executable: false, content: Held::Bytes(Arc::from(&b"\0/home/ann\xff"[..])) };
        before.insert("logo.png".into(), binary.clone());
        let mut taken = Taken::default();
        let after = tree(&before, &mut taken);
        assert_eq!(taken, Taken { files: 1, places: 3, names: 1 });
        assert_eq!(after["src/a.rs"], File::text("let x = 1; // [redacted: key]\n// ~/shop and ~/x\n"));
        assert_eq!((&after["logo.png"], after.len()), (&binary, 3));
    }
}
