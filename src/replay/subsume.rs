//! Owns subsumption: what each validator alone catches, what it is worth, who makes it redundant, and which few catch everything at least
//! cost. Computed from outcomes alone.

use serde::{Deserialize, Serialize};

/// Up to here the cheapest covering set is exact.
pub const EXACT: usize = 40;
/// Steps the exact search may take before it is given up for the greedy one.
const MOST_STEPS: usize = 2_000_000;

/// A validator's catches.
#[derive(Debug, Clone, PartialEq)]
pub struct Catches {
    pub validator: String,
    /// Indices of the problems it catches, sorted.
    pub problems: Vec<usize>,
    pub cost: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    pub validator: String,
    pub catches: usize,
    /// Weight of what nobody else catches: what is lost without it.
    pub unique: f64,
    /// Fair share: each problem's weight divided among all who catch it.
    pub shapley: f64,
    /// Validators that catch all it catches, and more or the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dominated_by: Vec<String>,
}

/// The worth of each, in the order given.
pub fn worth(list: &[Catches], weights: &[f64]) -> Vec<Worth> {
    let mut catchers = vec![0usize; weights.len()];
    for problem in list.iter().flat_map(|c| &c.problems) {
        if let Some(n) = catchers.get_mut(*problem) {
            *n += 1;
        }
    }
    let weight = |p: usize| weights.get(p).copied().unwrap_or(0.0);
    let n = |p: usize| catchers.get(p).copied().unwrap_or(1).max(1);
    let of = |c: &Catches| Worth {
        validator: c.validator.clone(),
        catches: c.problems.len(),
        unique: c.problems.iter().filter(|p| n(**p) == 1).map(|p| weight(*p)).fold(0.0, std::ops::Add::add),
        shapley: c.problems.iter().map(|p| weight(*p) / n(*p) as f64).fold(0.0, std::ops::Add::add),
        dominated_by: list
            .iter()
            .filter(|o| {
                o.validator != c.validator && !c.problems.is_empty() && c.problems.iter().all(|p| o.problems.binary_search(p).is_ok())
            })
            .map(|o| o.validator.clone())
            .collect(),
    };
    list.iter().map(of).collect()
}

/// A set of validators that together catch whatever anyone catches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cover {
    pub validators: Vec<String>,
    pub cost_ms: f64,
    /// Proven cheapest; greedy otherwise.
    pub exact: bool,
}

/// The cheapest covering set: exact for up to [`EXACT`] validators, greedy beyond.
pub fn cover(list: &[Catches]) -> Cover {
    let useful: Vec<usize> = (0..list.len()).filter(|i| list.get(*i).is_some_and(|c| !c.problems.is_empty())).collect();
    let greedy = greedy(list);
    let mut search = Search { list, best: greedy.clone(), best_cost: total(list, &greedy), steps: 0 };
    let exact = useful.len() <= EXACT && {
        let size = list.iter().flat_map(|c| &c.problems).max().map_or(0, |m| m + 1);
        let mut open = vec![false; size];
        for problem in list.iter().flat_map(|c| &c.problems) {
            if let Some(o) = open.get_mut(*problem) {
                *o = true;
            }
        }
        search.go(&mut Vec::new(), 0.0, open);
        search.steps < MOST_STEPS
    };
    let mut chosen = search.best;
    chosen.sort_unstable();
    let cost_ms = total(list, &chosen);
    Cover { validators: chosen.iter().filter_map(|i| list.get(*i)).map(|c| c.validator.clone()).collect(), cost_ms, exact }
}

fn total(list: &[Catches], chosen: &[usize]) -> f64 {
    chosen.iter().filter_map(|i| list.get(*i)).map(|c| c.cost).fold(0.0, std::ops::Add::add)
}

struct Search<'a> {
    list: &'a [Catches],
    best: Vec<usize>,
    best_cost: f64,
    steps: usize,
}

impl Search<'_> {
    /// Branches on the problem that fewest validators catch.
    fn go(&mut self, chosen: &mut Vec<usize>, cost: f64, open: Vec<bool>) {
        self.steps += 1;
        if self.steps >= MOST_STEPS {
            return;
        }
        let mut hardest: Option<Vec<usize>> = None;
        let mut bound: f64 = 0.0;
        for problem in (0..open.len()).filter(|p| open.get(*p).copied().unwrap_or(false)) {
            let who: Vec<usize> =
                (0..self.list.len()).filter(|i| self.list.get(*i).is_some_and(|c| c.problems.binary_search(&problem).is_ok())).collect();
            // Whatever is chosen, this problem costs at least its cheapest catcher.
            let least = who.iter().filter_map(|i| self.list.get(*i)).map(|c| c.cost).fold(f64::INFINITY, f64::min);
            bound = bound.max(least);
            if hardest.as_ref().is_none_or(|h| who.len() < h.len()) {
                hardest = Some(who);
            }
        }
        let Some(mut who) = hardest else {
            if cost < self.best_cost - 1e-9 || (cost < self.best_cost + 1e-9 && chosen.len() < self.best.len()) {
                self.best_cost = cost;
                self.best = chosen.clone();
            }
            return;
        };
        let even = cost + bound;
        if even > self.best_cost + 1e-9 || (even > self.best_cost - 1e-9 && chosen.len() + 1 >= self.best.len()) {
            return;
        }
        who.sort_by(|a, b| {
            let cost = |i: &usize| self.list.get(*i).map_or(0.0, |c| c.cost);
            cost(a).total_cmp(&cost(b)).then(a.cmp(b))
        });
        for i in who {
            let Some(c) = self.list.get(i) else { continue };
            let mut left = open.clone();
            for p in &c.problems {
                if let Some(o) = left.get_mut(*p) {
                    *o = false;
                }
            }
            let more = cost + c.cost;
            chosen.push(i);
            self.go(chosen, more, left);
            chosen.pop();
        }
    }
}

/// Most new problems per cost first; what became superfluous is taken out again.
fn greedy(list: &[Catches]) -> Vec<usize> {
    let mut covered = std::collections::BTreeSet::new();
    let mut chosen: Vec<usize> = Vec::new();
    loop {
        let gain = |c: &Catches| c.problems.iter().filter(|p| !covered.contains(*p)).count();
        let best = list.iter().enumerate().filter(|(_, c)| gain(c) > 0).max_by(|(i, a), (j, b)| {
            let rate = |c: &Catches| gain(c) as f64 / c.cost.max(1e-9);
            rate(a).total_cmp(&rate(b)).then(j.cmp(i))
        });
        let Some((i, c)) = best else { break };
        covered.extend(c.problems.iter().copied());
        chosen.push(i);
    }
    for i in chosen.clone() {
        let others: std::collections::BTreeSet<usize> =
            chosen.iter().filter(|j| **j != i).filter_map(|j| list.get(*j)).flat_map(|c| c.problems.iter().copied()).collect();
        if list.get(i).is_some_and(|c| c.problems.iter().all(|p| others.contains(p))) {
            chosen.retain(|j| *j != i);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catches(validator: &str, problems: &[usize], cost: f64) -> Catches {
        Catches { validator: validator.into(), problems: problems.to_vec(), cost }
    }

    #[test]
    fn worth_agrees_with_the_worked_example_of_a_coverage_game() {
        // d1{0} w1, d2{0,1} w2, d3{1,2} w1, d4{0,1,2} w5, d5{2} w1
        let list = [catches("0", &[0, 1, 3], 1.0), catches("1", &[1, 2, 3], 1.0), catches("2", &[2, 3, 4], 1.0)];
        let worth = worth(&list, &[1.0, 2.0, 1.0, 5.0, 1.0]);
        let round = |x: f64| (x * 1e4).round() / 1e4;
        assert_eq!(worth.iter().map(|w| round(w.shapley)).collect::<Vec<_>>(), [3.6667, 3.1667, 3.1667]);
        assert_eq!(worth.iter().map(|w| w.unique).collect::<Vec<_>>(), [1.0, 0.0, 1.0]);
    }

    #[test]
    fn two_duplicates_are_each_dominated_and_neither_is_unique() {
        let list = [catches("a", &[0, 1], 1.0), catches("b", &[0, 1], 1.0), catches("c", &[1], 1.0), catches("d", &[], 1.0)];
        let worth = worth(&list, &[1.0, 1.0]);
        assert_eq!(worth[0].dominated_by, ["b"]);
        assert_eq!(worth[1].dominated_by, ["a"]);
        assert_eq!(worth[2].dominated_by, ["a", "b"]);
        assert!(worth[3].dominated_by.is_empty());
        assert!(worth.iter().all(|w| w.unique == 0.0));
    }

    #[test]
    fn the_cheapest_cover_is_found_where_greedy_is_led_astray() {
        // The big set is tempting; the two rows are cheaper.
        let list = [
            catches("row1", &[0, 1, 2, 3], 4.0),
            catches("row2", &[4, 5, 6, 7], 4.0),
            catches("big", &[2, 3, 6, 7], 3.0),
            catches("mid", &[1, 5], 2.0),
            catches("small", &[0, 4], 2.5),
        ];
        let found = cover(&list);
        assert_eq!((found.cost_ms, found.exact), (7.5, true));
        let brute = (0u32..32)
            .filter(|set| (0..8).all(|p| list.iter().enumerate().any(|(i, c)| set & (1 << i) != 0 && c.problems.contains(&p))))
            .map(|set| list.iter().enumerate().filter(|(i, _)| set & (1 << i) != 0).map(|(_, c)| c.cost).sum::<f64>())
            .fold(f64::INFINITY, f64::min);
        assert_eq!(found.cost_ms, brute);
    }

    #[test]
    fn beyond_forty_the_cover_is_greedy_and_says_so() {
        let list: Vec<Catches> = (0..60).map(|i| catches(&format!("v{i}"), &[i, (i + 1) % 60], 1.0)).collect();
        let found = cover(&list);
        assert!(!found.exact && found.validators.len() >= 30 && found.validators.len() <= 60);
        assert_eq!(cover(&[]).validators.len(), 0);
    }
}
