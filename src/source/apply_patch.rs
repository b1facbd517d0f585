//! Owns the patch format that agents write for `apply_patch`: files added, deleted, moved, and blocks of lines replaced without line
//! numbers.

use super::edits::{Change, Edit};

/// The edits of a patch. An error says which line cannot be read; then none of it is used.
pub fn parse(text: &str) -> Result<Vec<Edit>, String> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    if !lines.by_ref().any(|(_, line)| line.trim_end() == "*** Begin Patch") {
        return Err("it does not begin with `*** Begin Patch`".to_owned());
    }
    let edit = |path: &str, change: Change| Edit { path: path.trim().to_owned(), change, before: None };
    while let Some((n, line)) = lines.next() {
        if line.trim_end() == "*** End Patch" {
            return Ok(edits);
        }
        let body = |lines: &mut std::iter::Peekable<_>| body(lines);
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            let mut content = String::new();
            for line in body(&mut lines) {
                let added = line.strip_prefix('+').ok_or_else(|| format!("line {}: an added file has only lines with +", n + 1))?;
                content.push_str(added);
                content.push('\n');
            }
            edits.push(edit(path, Change::Write(content)));
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            edits.push(edit(path, Change::Delete));
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            let moved = lines.next_if(|(_, l)| l.starts_with("*** Move to: ")).and_then(|(_, l)| l.strip_prefix("*** Move to: "));
            let blocks = blocks(&body(&mut lines)).map_err(|e| format!("line {}: {e}", n + 1))?;
            if !blocks.is_empty() {
                edits.push(edit(path, Change::Blocks(blocks)));
            }
            if let Some(to) = moved {
                edits.push(edit(path, Change::Move(to.trim().to_owned())));
            }
        } else if !line.trim().is_empty() {
            return Err(format!("line {}: is no part of a patch", n + 1));
        }
    }
    Err("it has no `*** End Patch`".to_owned())
}

/// Lines up to the next file of the patch.
fn body<'a>(lines: &mut std::iter::Peekable<impl Iterator<Item = (usize, &'a str)>>) -> Vec<&'a str> {
    let mut out = Vec::new();
    while let Some((_, line)) = lines.next_if(|(_, l)| !l.starts_with("*** ") || l.trim_end() == "*** End of File") {
        if line.trim_end() != "*** End of File" {
            out.push(line);
        }
    }
    out
}

/// Old and new lines of each block; a block begins at `@@`.
fn blocks(lines: &[&str]) -> Result<Vec<(String, String)>, String> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in lines {
        if line.starts_with("@@") {
            out.extend(open.take());
            continue;
        }
        let (old, new) = open.get_or_insert_with(Default::default);
        let add = |into: &mut [&mut String], text: &str| {
            for side in into {
                side.push_str(text);
                side.push('\n');
            }
        };
        match (line.chars().next(), line.get(1..)) {
            (None, _) => add(&mut [old, new], ""),
            (Some(' '), Some(rest)) => add(&mut [old, new], rest),
            (Some('-'), Some(rest)) => add(&mut [old], rest),
            (Some('+'), Some(rest)) => add(&mut [new], rest),
            _ => return Err("a line is neither context, addition nor removal".to_owned()),
        }
    }
    out.extend(open);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_becomes_edits_in_its_order() {
        let text = "*** Begin Patch\n*** Add File: a/new.txt\n+one\n+\n*** Update File: b.py\n*** Move to: c.py\n@@ def f():\n x\n-y\n+z\n@@\n-last\n*** End of File\n*** Delete File: d\n*** End Patch\n";
        let edit = |path: &str, change| Edit { path: path.into(), change, before: None };
        assert_eq!(
            parse(text).unwrap(),
            [
                edit("a/new.txt", Change::Write("one\n\n".into())),
                edit("b.py", Change::Blocks(vec![("x\ny\n".into(), "x\nz\n".into()), ("last\n".into(), String::new())])),
                edit("b.py", Change::Move("c.py".into())),
                edit("d", Change::Delete),
            ]
        );
    }

    #[test]
    fn what_is_no_patch_is_refused_whole() {
        for text in [
            "",
            "hello",
            "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
            "*** Begin Patch\n*** Update File: a\n@@\n?\n*** End Patch",
            "*** Begin Patch\n",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
