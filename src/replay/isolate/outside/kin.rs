//! Owns who belongs to a run without namespaces: whoever descends from its supervisor, to whom the orphans come as well.

use std::fs;

/// Parent and group of a process.
fn kin(pid: i32) -> Option<(i32, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = text.get(text.rfind(')')? + 1..)?.split_whitespace().skip(1).map(str::parse::<i32>);
    Some((words.next()?.ok()?, words.next()?.ok()?))
}

pub fn descends(pid: i32, from: libc::pid_t) -> bool {
    let mut here = pid;
    for _ in 0..4096 {
        match kin(here) {
            Some((parent, _)) if parent == from => return true,
            Some((parent, _)) if parent > 1 => here = parent,
            // Who is gone cannot be hurt.
            None => return here == pid,
            _ => return false,
        }
    }
    false
}

pub fn in_group(group: i32) -> Vec<i32> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    names.filter_map(|e| e.file_name().to_str()?.parse().ok()).filter(|pid| kin(*pid).is_some_and(|(_, g)| g == group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_descends_from_us_and_our_parent_does_not() {
        let own = std::process::id() as libc::pid_t;
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        let pid = child.id() as i32;
        assert!(descends(pid, own) && !descends(own, own) && !descends(1, own) && !descends(own, pid));
        assert!(in_group(kin(pid).unwrap().1).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(descends(pid, own), "who is gone cannot be hurt");
    }
}
