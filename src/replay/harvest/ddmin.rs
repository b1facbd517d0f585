//! Owns delta debugging: the smallest part of a list that still shows something, found by leaving parts out.

use std::collections::HashMap;

/// How the search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// No single one can be left out.
    Minimal,
    /// The trials or the time were used up: it may be smaller still.
    Cut,
}

/// The part of `0..n` that still shows it. The whole is known to. `test` says whether a part shows it, `None` once no trial is left.
///
/// Zeller's algorithm: parts and complements in ever finer pieces. The result is 1-minimal unless the search was cut.
pub fn ddmin(n: usize, mut test: impl FnMut(&[usize]) -> Option<bool>) -> (Vec<usize>, Ended) {
    let mut left: Vec<usize> = (0..n).collect();
    let mut known: HashMap<Vec<usize>, bool> = HashMap::new();
    let mut shows = |part: &[usize]| -> Option<bool> {
        if let Some(known) = known.get(part) {
            return Some(*known);
        }
        let shown = test(part)?;
        known.insert(part.to_vec(), shown);
        Some(shown)
    };
    let mut pieces = 2;
    while left.len() > 1 {
        pieces = pieces.min(left.len());
        let size = left.len().div_ceil(pieces);
        let chunks: Vec<Vec<usize>> = left.chunks(size).map(<[usize]>::to_vec).collect();
        let mut smaller = None;
        // One part alone, then all but one part; with two parts these are the same.
        for chunk in &chunks {
            match shows(chunk) {
                None => return (left, Ended::Cut),
                Some(true) => {
                    smaller = Some((chunk.clone(), 2));
                    break;
                }
                Some(false) => {}
            }
        }
        if smaller.is_none() && chunks.len() > 2 {
            for (i, _) in chunks.iter().enumerate() {
                let rest: Vec<usize> = chunks.iter().enumerate().filter(|(j, _)| *j != i).flat_map(|(_, c)| c.iter().copied()).collect();
                match shows(&rest) {
                    None => return (left, Ended::Cut),
                    Some(true) => {
                        smaller = Some((rest, (chunks.len() - 1).max(2)));
                        break;
                    }
                    Some(false) => {}
                }
            }
        }
        match smaller {
            Some((part, finer)) => (left, pieces) = (part, finer),
            None if pieces >= left.len() => return (left, Ended::Minimal),
            None => pieces = (pieces * 2).min(left.len()),
        }
    }
    (left, Ended::Minimal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_few_that_matter_are_found_among_many() {
        let mut trials = 0;
        let needed = [17, 405, 406, 999];
        let (left, ended) = ddmin(1_000, |part| {
            trials += 1;
            Some(needed.iter().all(|n| part.contains(n)))
        });
        assert_eq!((left.as_slice(), ended), (needed.as_slice(), Ended::Minimal));
        assert!(trials < 400, "{trials}");
    }

    #[test]
    fn a_search_that_runs_out_of_trials_says_so_and_keeps_what_still_shows_it() {
        let mut left_over = 10;
        let mut last = Vec::new();
        let (left, ended) = ddmin(1_000, |part| {
            left_over -= 1;
            if left_over < 0 {
                return None;
            }
            let shown = part.contains(&17) && part.contains(&405);
            if shown {
                last = part.to_vec();
            }
            Some(shown)
        });
        assert_eq!(ended, Ended::Cut);
        assert_eq!(left, last);
        assert!(left.len() > 2 && left.len() < 1_000);
    }

    #[test]
    fn one_or_nothing_needs_no_trial() {
        for n in [0, 1] {
            let (left, ended) = ddmin(n, |_| panic!("no trial is needed"));
            assert_eq!((left.len(), ended), (n, Ended::Minimal));
        }
    }

    proptest! {
        #[test]
        fn nothing_can_be_left_out_of_the_result_whatever_shows_it(n in 1usize..40, groups in proptest::collection::vec(proptest::collection::vec(0usize..40, 1..4), 1..4)) {
            // Shown by any of several groups: not every smaller part does less.
            let shown = |part: &[usize]| groups.iter().any(|g| g.iter().all(|x| part.contains(&(x % n))));
            let (left, ended) = ddmin(n, |part| Some(shown(part)));
            prop_assert_eq!(ended, Ended::Minimal);
            prop_assert!(shown(&left));
            for at in 0..left.len() {
                let mut rest = left.clone();
                rest.remove(at);
                prop_assert!(rest.is_empty() || !shown(&rest));
            }
        }
    }
}
