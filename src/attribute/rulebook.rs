//! Owns `Rulebook`: what attribution must know of gates and rules, gathered from gate facts and the harness profiles.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::overrides::Overrides;
use crate::config::Config;
use crate::config::layout::Layout;
use crate::config::profile::{DELIVERY_HARNESS_NAME, Meaning, Profile};
use crate::model::gates::Gate;
use crate::model::id::digest;
use crate::model::vocabulary::{GateKind, Purpose};

/// A rule is named by its gate and its own name.
pub type RuleKey = (String, String);

/// Place of a gate run in the order that its harness declares. `None`: none is declared.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub gate: Option<i64>,
    pub rule: Option<i64>,
}

impl Order {
    /// Sort key among gate runs of one instant; unknown places come last.
    pub fn key(self) -> (i64, i64) {
        (self.gate.unwrap_or(i64::MAX), self.rule.unwrap_or(i64::MAX))
    }

    /// Whether the place comes before the other one; `None`: the harness does not say.
    pub fn before(self, other: Order) -> Option<bool> {
        match (self.gate?, other.gate?) {
            (a, b) if a != b => Some(a < b),
            _ => Some(self.rule? < other.rule?),
        }
    }
}

/// Order, kind and cover of gates, and the rules that mean something for the whole run.
#[derive(Debug, Default, Clone)]
pub struct Rulebook {
    /// Position of a gate in its harness; unknown gates have none.
    pub gate_order: HashMap<String, i64>,
    /// Position of a rule within its gate.
    pub rule_order: HashMap<RuleKey, i64>,
    /// Gates where a person decides.
    pub human: HashSet<String>,
    /// Gates that are no controls: they have a cost, never a yield.
    pub not_control: HashSet<String>,
    /// Kinds of problem a gate covers, where it says so.
    pub covers: HashMap<String, BTreeSet<String>>,
    /// Gates a harness knows: the ones that may be `not_run` for a problem of that harness.
    pub gates_of: BTreeMap<String, BTreeSet<String>>,
    /// Rules whose pass means that the work crossed a line although an open finding stood (a pull request, a merge).
    pub boundary: HashSet<RuleKey>,
    /// Rules whose pass merges the work.
    pub merges: HashSet<RuleKey>,
    /// Rules whose pass ends the run.
    pub finishes: HashSet<RuleKey>,
    /// Rules whose runs name the run's own subject (its pull request).
    pub names_subject: HashSet<RuleKey>,
    /// Names of folders and branches that tell of deliveries.
    pub layout: Layout,
    /// Where the user's profile says otherwise than the built-in one.
    pub overrides: Overrides,
}

impl Rulebook {
    /// The built-in profiles and the user's own, laid over them.
    pub fn of_config(config: &Config) -> Rulebook {
        let mut names: BTreeSet<&str> = config.profiles.keys().map(String::as_str).collect();
        names.insert(DELIVERY_HARNESS_NAME);
        let profiles: Vec<Profile> = names.into_iter().filter_map(|name| config.profile(name)).collect();
        Rulebook::from_profiles(&profiles)
    }

    /// What the profiles of known harnesses say.
    pub fn from_profiles<'p>(profiles: impl IntoIterator<Item = &'p Profile>) -> Rulebook {
        let mut book = Rulebook::default();
        for profile in profiles {
            book.layout.add(&profile.layout);
            book.overrides.add(Profile::builtin(&profile.harness).as_ref(), profile);
            for gate in &profile.gates {
                book.gate_order.insert(gate.id.clone(), gate.order);
                if !matches!(gate.purpose, Purpose::Control | Purpose::Unknown) {
                    book.not_control.insert(gate.id.clone());
                }
                if gate.kind == Some(GateKind::Human) {
                    book.human.insert(gate.id.clone());
                }
                if let Some(covers) = &gate.covers {
                    book.covers.insert(gate.id.clone(), covers.iter().cloned().collect());
                }
                book.gates_of.entry(profile.harness.clone()).or_default().insert(gate.id.clone());
            }
            for rule in &profile.rules {
                let key = (rule.gate.clone(), rule.id.clone());
                book.rule_order.insert(key.clone(), rule.order);
                for meaning in &rule.means {
                    let set = match meaning {
                        Meaning::Crosses => &mut book.boundary,
                        Meaning::Merges => &mut book.merges,
                        Meaning::Finishes => &mut book.finishes,
                        Meaning::NamesSubject => &mut book.names_subject,
                    };
                    set.insert(key.clone());
                }
            }
        }
        book
    }

    /// Adds what gate rows say; a profile already present wins.
    pub fn add_gates(&mut self, gates: &[Gate]) {
        for gate in gates {
            if let Some(order) = gate.gate_order {
                self.gate_order.entry(gate.gate_id.clone()).or_insert(order);
            }
            if gate.kind == Some(GateKind::Human) {
                self.human.insert(gate.gate_id.clone());
            }
            if !matches!(gate.purpose, Purpose::Control | Purpose::Unknown) {
                self.not_control.insert(gate.gate_id.clone());
            }
            if let Some(covers) = &gate.covers {
                self.covers.entry(gate.gate_id.clone()).or_insert_with(|| covers.iter().cloned().collect());
            }
            if let Some(harness) = &gate.harness {
                self.gates_of.entry(harness.clone()).or_default().insert(gate.gate_id.clone());
            }
        }
    }

    /// Digest of all that decides: with the facts' digest, the input of the derived tables.
    pub fn digest(&self) -> String {
        let sorted = |set: &HashSet<RuleKey>| set.iter().cloned().collect::<BTreeSet<_>>();
        let orders: BTreeMap<_, _> = self.gate_order.iter().collect();
        let rule_orders: BTreeMap<_, _> = self.rule_order.iter().collect();
        let names = |set: &HashSet<String>| set.iter().cloned().collect::<BTreeSet<_>>();
        let covers: BTreeMap<_, _> = self.covers.iter().collect();
        let sets = [&self.boundary, &self.merges, &self.finishes, &self.names_subject].map(sorted);
        let text =
            format!("{orders:?}{rule_orders:?}{:?}{:?}{covers:?}{:?}{sets:?}", names(&self.human), names(&self.not_control), self.gates_of);
        digest(format!("{text}{:?}{:?}", self.layout, self.overrides).as_bytes())
    }

    /// Whether the rule is in the set; gate runs without a rule never are.
    pub fn is(&self, set: &HashSet<RuleKey>, gate_id: &str, rule_id: Option<&str>) -> bool {
        rule_id.is_some_and(|rule| set.contains(&(gate_id.to_owned(), rule.to_owned())))
    }

    /// Declared place of a gate run.
    pub fn order(&self, gate_id: &str, rule_id: Option<&str>) -> Order {
        Order {
            gate: self.gate_order.get(gate_id).copied(),
            rule: rule_id.and_then(|r| self.rule_order.get(&(gate_id.to_owned(), r.to_owned())).copied()),
        }
    }

    /// Whether the gate covers a problem of this failure class. `None`: the gate does not say what it covers, or the problem has no class.
    pub fn covers(&self, gate_id: &str, failure_class: Option<&str>) -> Option<bool> {
        let covers = self.covers.get(gate_id).filter(|covers| !covers.is_empty())?;
        Some(covers.contains(failure_class?))
    }
}
