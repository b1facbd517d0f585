//! Owns the changes between two versions of a file: runs of lines that differ, each of which can be taken back by itself.

use std::ops::Range;

/// Edit distance beyond which the middle of two files is one change: telling it apart would cost more than it saves.
const FARTHEST: usize = 1_000;

/// Lines of the old version by lines of the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// The changes that make `new` of `old`, in their order.
pub fn between(old: &[u8], new: &[u8]) -> Vec<Change> {
    let (a, b) = (lines(old), lines(new));
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let rest = a.len().min(b.len()) - head;
    let tail = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(x, y)| x == y).count();
    let (old, new) = (head..a.len() - tail, head..b.len() - tail);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let (middle_old, middle_new) = (&a[old.clone()], &b[new.clone()]);
    match kept(middle_old, middle_new) {
        Some(kept) => gaps(&kept, old, new, head),
        None => vec![Change { old, new }],
    }
}

/// The file with some of the changes made and the others taken back.
pub fn with(old: &[u8], new: &[u8], changes: &[Change], keep: impl Fn(usize) -> bool) -> Vec<u8> {
    let (a, b) = (lines(old), lines(new));
    let mut out = Vec::with_capacity(new.len());
    let mut at = 0;
    for (n, change) in changes.iter().enumerate() {
        out.extend(a[at..change.old.start].concat());
        out.extend(if keep(n) { b[change.new.clone()].concat() } else { a[change.old.clone()].concat() });
        at = change.old.end;
    }
    out.extend(a[at..].concat());
    out
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|b| *b == b'\n').collect()
}

/// Pairs of equal lines on a shortest way from one to the other (Myers). `None`: it is too far.
fn kept(a: &[&[u8]], b: &[&[u8]]) -> Option<Vec<(usize, usize)>> {
    let (n, m) = (a.len() as isize, b.len() as isize);
    let most = ((n + m) as usize).min(FARTHEST) as isize;
    let at = |k: isize| (k + most + 1) as usize;
    let mut ends = vec![0isize; 2 * most as usize + 3];
    let mut trail: Vec<Vec<isize>> = Vec::new();
    for d in 0..=most {
        trail.push(ends.clone());
        for k in (-d..=d).step_by(2) {
            let down = k == -d || (k != d && ends[at(k - 1)] < ends[at(k + 1)]);
            let mut x = if down { ends[at(k + 1)] } else { ends[at(k - 1)] + 1 };
            while x < n && x - k < m && a[x as usize] == b[(x - k) as usize] {
                x += 1;
            }
            ends[at(k)] = x;
            if x >= n && x - k >= m {
                return Some(back(&trail, n, m, at));
            }
        }
    }
    None
}

fn back(trail: &[Vec<isize>], n: isize, m: isize, at: impl Fn(isize) -> usize) -> Vec<(usize, usize)> {
    let (mut x, mut y) = (n, m);
    let mut out = Vec::new();
    for (d, ends) in trail.iter().enumerate().rev() {
        let (d, k) = (d as isize, x - y);
        let down = k == -d || (k != d && ends[at(k - 1)] < ends[at(k + 1)]);
        let before = if down { k + 1 } else { k - 1 };
        let (px, py) = if d == 0 { (0, 0) } else { (ends[at(before)], ends[at(before)] - before) };
        while x > px && y > py {
            (x, y) = (x - 1, y - 1);
            out.push((x as usize, y as usize));
        }
        (x, y) = (px, py);
    }
    out.reverse();
    out
}

fn gaps(kept: &[(usize, usize)], old: Range<usize>, new: Range<usize>, head: usize) -> Vec<Change> {
    let mut out = Vec::new();
    let (mut x, mut y) = (old.start, new.start);
    let ends = std::iter::once((old.end, new.end));
    for (kx, ky) in kept.iter().map(|(kx, ky)| (kx + head, ky + head)).chain(ends) {
        if kx > x || ky > y {
            out.push(Change { old: x..kx, new: y..ky });
        }
        (x, y) = (kx + 1, ky + 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_run_of_lines_that_differs_is_one_change() {
        let old = b"a\nb\nc\nd\ne\nf\n";
        let new = b"a\nB\nc\nd\nx\ny\ne\n";
        let changes = between(old, new);
        assert_eq!(changes, [Change { old: 1..2, new: 1..2 }, Change { old: 4..4, new: 4..6 }, Change { old: 5..6, new: 7..7 }]);
        assert_eq!(with(old, new, &changes, |n| n == 1), b"a\nb\nc\nd\nx\ny\ne\nf\n");
        assert!(between(old, old).is_empty());
    }

    #[test]
    fn what_is_too_far_apart_is_one_change() {
        let text = |from: usize| (from..from + 2_000).map(|n| format!("{n}\n")).collect::<String>().into_bytes();
        let (old, new) = (text(0), text(10_000));
        let changes = between(&old, &new);
        assert_eq!(changes.len(), 1);
        assert_eq!(with(&old, &new, &changes, |_| true), new);
    }

    proptest! {
        #[test]
        fn all_changes_make_the_new_file_and_none_the_old_one(old in "([abc]\n){0,30}[ab]?", new in "([abc]\n){0,30}[ab]?") {
            let changes = between(old.as_bytes(), new.as_bytes());
            prop_assert_eq!(with(old.as_bytes(), new.as_bytes(), &changes, |_| true), new.as_bytes());
            prop_assert_eq!(with(old.as_bytes(), new.as_bytes(), &changes, |_| false), old.as_bytes());
        }
    }
}
