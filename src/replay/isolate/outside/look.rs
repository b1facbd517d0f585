//! Owns what one call would do: which file it names, and whether anything would change there if the call were let.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::calls::{Call, Does, Place, UNNAMED, WRITING};
use super::view::View;

/// A call that could not be looked at.
pub struct Unseen;

/// The file a call would change; `None` where it would change nothing.
pub fn look(view: &View, call: &Call, args: &[u64; 6]) -> Result<Option<PathBuf>, Unseen> {
    let arg = |i: usize| args.get(i).copied().unwrap_or(0);
    let flags = match call.does {
        Does::Open(i) => arg(i),
        Does::OpenHow(i) => {
            let bytes = view.memory(arg(i), 8).ok_or(Unseen)?;
            bytes.try_into().map(u64::from_ne_bytes).map_err(|_| Unseen)?
        }
        Does::Creat => (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64,
        _ => 0,
    };
    let opens = matches!(call.does, Does::Open(_) | Does::OpenHow(_) | Does::Creat);
    if opens && (flags & WRITING == 0 || flags & libc::O_PATH as u64 != 0) {
        return Ok(None);
    }
    let (folder, named) = match call.place {
        Place::Open(fd) => (arg(fd) as i32, None),
        Place::At(fd, path) if arg(path) == 0 => (arg(fd) as i32, None),
        Place::At(fd, path) => (arg(fd) as i32, Some(view.text(arg(path)).ok_or(Unseen)?)),
        Place::Path(path) => (libc::AT_FDCWD, Some(view.text(arg(path)).ok_or(Unseen)?)),
    };
    let path = match named {
        // The open file itself, or no name at all, which the kernel refuses.
        None => view.descriptor(folder),
        Some(path) if path.as_os_str().is_empty() => view.descriptor(folder),
        Some(path) => {
            let base = if path.is_absolute() { Some(PathBuf::from("/")) } else { view.descriptor(folder) };
            let exclusive = (libc::O_CREAT | libc::O_EXCL) as u64;
            let follow = match call.does {
                Does::Make | Does::Put | Does::Remove => false,
                _ if opens => flags & libc::O_NOFOLLOW as u64 == 0 && flags & exclusive != exclusive,
                _ => true,
            };
            base.and_then(|base| view.resolve(&base, &path, follow))
        }
    };
    let Some(path) = path else { return Ok(None) };
    let at = view.outside(&path);
    let found = fs::symlink_metadata(&at).ok().map(|m| m.file_type());
    let could_be = found.is_some() || at.parent().is_some_and(Path::is_dir);
    Ok((could_be && changes(call.does, flags, found.map(kind))).then_some(path))
}

/// What there is under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Folder,
    /// A terminal, `/dev/null` and the like: nothing stays there.
    Device,
    Other,
}

fn kind(kind: fs::FileType) -> Found {
    match () {
        () if kind.is_dir() => Found::Folder,
        () if kind.is_char_device() => Found::Device,
        () => Found::Other,
    }
}

/// Whether a call would change what there is under a name, if it were let. What fails anyway for another reason is no write: `mkdir -p`
/// asks for every folder on its way.
fn changes(does: Does, flags: u64, found: Option<Found>) -> bool {
    let has = |flag: libc::c_int| flags & flag as u64 != 0;
    match (does, found) {
        (Does::Make, found) => found.is_none(),
        (Does::Put, _) => true,
        (Does::Remove, found) => found.is_some(),
        (Does::Change, found) => found.is_some_and(|f| f != Found::Device),
        (_, None) => has(libc::O_CREAT),
        (_, Some(_)) if has(libc::O_CREAT) && has(libc::O_EXCL) => false,
        (_, Some(Found::Folder)) => has(UNNAMED),
        (_, Some(Found::Device)) => false,
        (_, Some(Found::Other)) => has(libc::O_WRONLY | libc::O_RDWR | libc::O_TRUNC),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_would_change_something_is_a_write() {
        use Found::{Device, Folder, Other};
        let open = |flags: libc::c_int, found| changes(Does::Open(0), flags as u64, found);
        assert!(open(libc::O_WRONLY, Some(Other)) && open(libc::O_CREAT, None) && open(libc::O_TRUNC, Some(Other)));
        assert!(!open(libc::O_WRONLY, None) && !open(libc::O_WRONLY, Some(Device)) && !open(libc::O_RDWR, Some(Folder)));
        assert!(!open(libc::O_CREAT, Some(Other)) && !open(libc::O_CREAT | libc::O_EXCL | libc::O_RDWR, Some(Other)));
        assert!(open(libc::O_TMPFILE | libc::O_RDWR, Some(Folder)));
        assert!(changes(Does::Make, 0, None) && !changes(Does::Make, 0, Some(Folder)));
        assert!(changes(Does::Remove, 0, Some(Folder)) && !changes(Does::Remove, 0, None));
        assert!(changes(Does::Change, 0, Some(Folder)) && !changes(Does::Change, 0, None));
    }
}
