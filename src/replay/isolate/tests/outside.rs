//! Owns the tests of writes outside a run's place: they are stopped, and they are seen.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::super::{Cage, End, Level, Measures, Ran};
use super::{levels, limits, shell};

/// Every way of being kept in: with and without namespaces, with and without Landlock.
fn ways() -> Vec<Cage> {
    let mut all = levels();
    for level in [Level::User, Level::Bare] {
        all.push(Cage::new_without(level, limits(), Measures::LANDLOCK).unwrap());
    }
    all
}

/// A folder that no namespace of ours hides.
fn visible() -> tempfile::TempDir {
    tempfile::Builder::new().prefix(".outside-").tempdir_in(".").unwrap()
}

fn told(ran: &Ran, folder: &Path) -> Vec<String> {
    ran.outside.iter().map(|p| p.strip_prefix(&format!("{}/", folder.display())).unwrap_or(p).to_owned()).collect()
}

#[test]
fn nothing_outside_the_copy_can_be_written() {
    let outside = visible();
    let file = outside.path().canonicalize().unwrap().join("victim");
    fs::write(&file, "before").unwrap();
    let probe = std::env::temp_dir().join(format!("mechanic-outside-{}", std::process::id()));
    for cage in levels() {
        let script = format!(
            "echo after > {f}; rm -f {f}; mkdir {d}/new; echo x > {p}; mount -o remount,rw / 2>&1; chmod 777 {f}; echo done",
            f = file.display(),
            d = outside.path().display(),
            p = probe.display()
        );
        let ran = shell(&cage, &script, 5000);
        assert_eq!(ran.end, End::Exited(0));
        assert_eq!(fs::read_to_string(&file).unwrap(), "before");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert!(!probe.exists());
    }
}

#[test]
fn each_name_that_would_be_written_outside_is_told_and_nothing_is_done_to_it() {
    let outside = visible();
    let folder = outside.path().canonicalize().unwrap();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        fs::write(folder.join(name), "before").unwrap();
    }
    fs::set_permissions(folder.join("d"), fs::Permissions::from_mode(0o640)).unwrap();
    let d = folder.display();
    let script = format!(
        "echo x > {d}/a; rm -f {d}/b; mv {d}/c {d}/moved; chmod 777 {d}/d; ln -s {d}/e link; echo x >> link; touch -d 2001-01-01 {d}/f; \
         mkdir {d}/made; echo x > /proc/self/root{d}/g; cd {d} && echo x > h; ln -s x {d}/linked; exit 0"
    );
    for cage in ways() {
        if !cage.measures.has(Measures::SEEN) {
            assert!(cage.measures.missing().contains(&"sight of writes outside"));
            continue;
        }
        if cage.level != Level::Bare && folder.starts_with(&cage.root) {
            continue;
        }
        let ran = shell(&cage, &script, 10_000);
        assert_eq!(ran.end, End::Exited(0));
        let wanted = ["a", "b", "c", "d", "e", "f", "g", "h", "linked", "made", "moved"];
        assert_eq!(told(&ran, &folder), wanted, "{:?} {}", cage.level, cage.measures);
        let names: Vec<String> =
            ["a", "b", "c", "d", "e", "f", "g", "h"].iter().map(|n| fs::read_to_string(folder.join(n)).unwrap()).collect();
        assert_eq!(names, vec!["before"; 8]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 8);
        assert_eq!(fs::metadata(folder.join("d")).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::metadata(folder.join("f")).unwrap().modified().unwrap().elapsed().unwrap().as_secs() < 3600);
        // A hard link would be a way in for what is written inside. Another file system refuses it anyway.
        let ran = shell(&cage, &format!("ln {d}/a hard 2>/dev/null && echo x > hard; exit 0"), 10_000);
        assert_eq!((told(&ran, &folder), fs::read_to_string(folder.join("a")).unwrap()), (vec!["a".to_owned()], "before".to_owned()));
    }
}

#[test]
fn who_writes_in_its_own_place_only_reaches_nothing_outside() {
    let script = "mkdir -p $PWD/new/er $TMPDIR/x; echo x > new/er/f; cp -p new/er/f $TMPDIR/x/; mv $TMPDIR/x/f $HOME/g; chmod 600 $HOME/g; \
         rm -r new; echo x > /dev/null; echo x > /dev/stderr; echo x > {out}/r; rm -f /no-such-file-here; mkdir /usr 2>/dev/null; \
         cat /etc/hostname < /etc/passwd; ls / /usr; touch a.txt sub/b.txt; echo y > /proc/self/fd/1; exit 0";
    for cage in ways() {
        let ran = shell(&cage, script, 10_000);
        assert_eq!((ran.end, ran.outside), (End::Exited(0), Vec::<String>::new()), "{:?}: {}", cage.level, ran.err.text());
    }
}

#[test]
fn a_fixed_name_in_the_common_folder_for_scratch_is_outside() {
    let cage = Cage::new_at(Level::User, limits()).unwrap();
    if cage.measures.has(Measures::SEEN.with(Measures::LANDLOCK).with(Measures::MOUNT)) {
        let root = cage.root.display().to_string();
        let ran = shell(&cage, &format!("echo x > {root}/mine"), 5000);
        assert_eq!((ran.end, ran.outside), (End::Exited(2), vec![format!("{root}/mine")]));
    }
}

/// A program of the 32-bit mode has other calls, which are not understood: its cell says that it was not watched.
#[test]
#[cfg(target_arch = "x86_64")]
fn who_calls_the_kernel_in_another_mode_is_told_as_not_watched() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("old");
    fs::write(&file, super::old_program(7)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let files = [("old".to_owned(), file)];
    for cage in levels() {
        let command = crate::replay::validator::Command::Argv(vec!["{files}/old".to_owned()]);
        let (stimulus, timeout) = (super::stimulus(), std::time::Duration::from_secs(5));
        let job = super::super::Job { stimulus: &stimulus, files: &files, command: &command, env: &[], timeout, wanted: &[] };
        let ran = cage.run(&job).unwrap();
        match ran.end {
            End::Exited(7) => assert!(!ran.measures.has(Measures::SEEN) && cage.measures.has(Measures::SEEN)),
            // A kernel without that mode.
            End::Signalled(libc::SIGSEGV) => {}
            other => panic!("{other:?}"),
        }
    }
}
