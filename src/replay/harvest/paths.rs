//! Owns the way from a path that a log names to a path of the tree: below the repository, or refused.

/// A longer path is none that a system takes.
const LONGEST: usize = 1_000;

/// Why an edit is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It lies outside of the repository.
    Outside,
    /// It goes through `..`, or into git's own folder.
    Unsafe,
}

/// The path below the repository. `roots` are the ways in which the log may call its top.
pub fn below(path: &str, cwd: Option<&str>, roots: &[String]) -> Result<String, Refused> {
    let path = plain(path);
    if path.is_empty() || path.len() > LONGEST || path.chars().any(char::is_control) {
        return Err(Refused::Unsafe);
    }
    let full = match (is_absolute(&path), cwd) {
        (true, _) => path,
        (false, Some(cwd)) => format!("{}/{path}", plain(cwd).trim_end_matches('/')),
        (false, None) => match roots.first() {
            Some(root) => format!("{}/{path}", plain(root).trim_end_matches('/')),
            None => return Err(Refused::Outside),
        },
    };
    if full.split('/').any(|part| part == "..") {
        return Err(Refused::Unsafe);
    }
    let mut roots: Vec<String> = roots.iter().map(|r| plain(r).trim_end_matches('/').to_owned()).filter(|r| !r.is_empty()).collect();
    // The inner of two roots is a work tree of its own.
    roots.sort_by_key(|r| std::cmp::Reverse(r.len()));
    let inside = roots.iter().find_map(|root| {
        // Windows does not tell capital letters from small ones.
        let head = full.get(..root.len())?;
        let same = if root.as_bytes().get(1) == Some(&b':') { head.eq_ignore_ascii_case(root) } else { head == root };
        full.get(root.len()..).filter(|_| same)?.strip_prefix('/')
    });
    let parts: Vec<&str> = inside.ok_or(Refused::Outside)?.split('/').filter(|p| !p.is_empty() && *p != ".").collect();
    if parts.is_empty() {
        return Err(Refused::Outside);
    }
    if parts.iter().any(|p| p.eq_ignore_ascii_case(".git") || p.len() > 255) {
        return Err(Refused::Unsafe);
    }
    Ok(parts.join("/"))
}

fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    path.starts_with('/') || (bytes.get(1) == Some(&b':') && bytes.first().is_some_and(u8::is_ascii_alphabetic)) || path.starts_with('~')
}

/// With `/` only, and without `.` parts.
fn plain(path: &str) -> String {
    let windows = path.as_bytes().get(1) == Some(&b':') || (path.contains('\\') && !path.contains('/'));
    if windows { path.replace('\\', "/") } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_repository_are_paths_of_the_tree() {
        let roots = ["/w/shop".to_owned()];
        let of = |path: &str| below(path, Some("/w/shop/sub"), &roots);
        assert_eq!(of("/w/shop/src/a.rs"), Ok("src/a.rs".to_owned()));
        assert_eq!(of("a.rs"), Ok("sub/a.rs".to_owned()));
        assert_eq!(of("./x//a.rs"), Ok("sub/x/a.rs".to_owned()));
        for outside in ["/etc/passwd", "/w/shopping/a", "/w/shop", "~/x", "/w/shop/."] {
            assert_eq!(of(outside), Err(Refused::Outside), "{outside}");
        }
        for bad in ["", "../a", "/w/shop/../x", "a\0b", "a\nb", ".git/hooks/pre-commit", "/w/shop/.GIT/config"] {
            assert_eq!(of(bad), Err(Refused::Unsafe), "{bad}");
        }
    }

    #[test]
    fn windows_paths_and_nested_work_trees_find_their_place() {
        let roots = ["C:\\Users\\ann\\shop".to_owned()];
        assert_eq!(below("c:\\users\\ann\\shop\\docs\\a.md", None, &roots), Ok("docs/a.md".to_owned()));
        assert_eq!(below("docs\\a.md", Some("C:\\Users\\ann\\shop"), &roots), Ok("docs/a.md".to_owned()));
        let roots = ["/w/shop".to_owned(), "/w/shop/.worktrees/one".to_owned()];
        assert_eq!(below("/w/shop/.worktrees/one/a", None, &roots), Ok("a".to_owned()));
    }
}
