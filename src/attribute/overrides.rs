//! Owns `Overrides`: where a user's profile says otherwise than the built-in one under which files were read. Facts say what the file
//! and the built-in profile say; what follows from the user's own is laid over them here.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::profile::{Profile, RuleProfile};
use crate::model::derived::GateMark;
use crate::model::gate_runs::GateRun;
use crate::model::vocabulary::{About, Mode};

/// What is different. Two of one digest give the same rows.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Overrides {
    /// By gate and rule.
    rules: BTreeMap<(String, String), RuleChange>,
    /// Mode of gate runs whose rule the profile does not know, by gate.
    modes: BTreeMap<String, ModeChange>,
    gates: BTreeMap<String, GateMark>,
    /// Rules with a mode of their own, so that they do not follow `modes`.
    known: BTreeSet<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
struct RuleChange {
    about: Option<(About, About)>,
    mode: Option<ModeChange>,
}

/// A mode in place of the one a reader writes by itself.
#[derive(Debug, Clone, PartialEq)]
struct ModeChange {
    /// `None`: the reader knows none, and whatever it writes gives way.
    from: Option<Mode>,
    to: Mode,
    /// Whether the reader concludes from the mode that the work stopped; elsewhere the record itself shows it.
    decides_stop: bool,
}

/// What a gate run is instead.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub about: Option<About>,
    pub enforcement: Option<Mode>,
    pub stop_unknown: Option<bool>,
}

impl Overrides {
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.modes.is_empty() && self.gates.is_empty()
    }

    /// Adds what `profile` changes in `built_in`. Without a built-in profile everything it says is a change.
    pub fn add(&mut self, built_in: Option<&Profile>, profile: &Profile) {
        for rule in &profile.rules {
            if let Some(change) = rule_change(built_in, profile, rule) {
                self.rules.insert((rule.gate.clone(), rule.id.clone()), change);
            }
        }
        for gate in &profile.gates {
            let base = built_in.and_then(|b| b.gate(&gate.id));
            let from = base.and_then(|g| g.mode);
            if let Some(to) = gate.mode.filter(|to| Some(*to) != from) {
                self.modes.insert(gate.id.clone(), ModeChange { from, to, decides_stop: false });
            }
            let mark = GateMark {
                purpose: changed(base.map(|g| g.purpose), Some(gate.purpose)),
                kind: changed(base.and_then(|g| g.kind), gate.kind),
                mode: changed(from, gate.mode),
                gate_order: changed(base.map(|g| g.order), Some(gate.order)),
                irreversible: changed(base.and_then(|g| g.irreversible), gate.irreversible),
                pinned: changed(base.and_then(|g| g.pinned), gate.pinned),
                pass_recorded: changed(base.and_then(|g| g.pass_recorded), gate.pass_recorded),
                covers: changed(base.and_then(|g| g.covers.clone()), gate.covers.clone()),
                aliases: changed(base.and_then(|g| g.aliases.clone()), gate.aliases.clone()),
                ..GateMark::of(&gate.id)
            };
            if mark != GateMark::of(&gate.id) {
                self.gates.insert(gate.id.clone(), mark);
            }
        }
        // A rule that the profile knows has a mode of its own; only what it does not know follows the gate.
        self.known.extend(profile.rules.iter().map(|r| (r.gate.clone(), r.id.clone())));
    }

    /// The `gate_marks` rows.
    pub fn gate_marks(&self) -> Vec<GateMark> {
        self.gates.values().cloned().collect()
    }

    /// What the gate run is instead of what its row says; `None` where nothing changes. What the record itself tells against the
    /// profile's default (a reviewer that was cut off is no product check) stays.
    pub fn of_run(&self, run: &GateRun) -> Option<Change> {
        let key = run.rule_id.as_ref().map(|rule| (run.gate_id.clone(), rule.clone()));
        let rule = key.as_ref().and_then(|key| self.rules.get(key));
        let known = key.as_ref().is_some_and(|key| self.known.contains(key));
        let mode = if known { rule.and_then(|r| r.mode.as_ref()) } else { self.modes.get(&run.gate_id) };
        let about = rule.and_then(|r| r.about).filter(|(from, _)| *from == run.about).map(|(_, to)| to);
        let mode = mode.filter(|m| (m.from.is_none() || m.from == run.enforcement) && run.enforcement != Some(m.to));
        let change = Change {
            about,
            enforcement: mode.map(|m| m.to),
            stop_unknown: mode.filter(|m| m.decides_stop && m.from == Some(Mode::Block) && run.stopped_work == Some(true)).map(|_| true),
        };
        (change.about.is_some() || change.enforcement.is_some()).then_some(change)
    }
}

fn changed<T: PartialEq>(from: Option<T>, to: Option<T>) -> Option<T> {
    to.filter(|to| from.as_ref() != Some(to))
}

fn rule_change(built_in: Option<&Profile>, profile: &Profile, rule: &RuleProfile) -> Option<RuleChange> {
    let base = built_in.and_then(|b| b.rule(&rule.id));
    let gate = built_in.and_then(|b| b.gate(&rule.gate));
    // What readers write of a rule: as its profile says, about the harness where that knows the gate only, else about the product.
    let from = match (base, gate) {
        (Some(base), _) => base.about,
        (None, Some(_)) => About::Harness,
        (None, None) => About::Product,
    };
    let mode_from = match base {
        Some(base) => built_in.and_then(|b| b.mode_of(base)),
        None => gate.and_then(|g| g.mode),
    };
    let decides_stop = base.is_some_and(|r| !r.spans.is_empty());
    let mode = profile.mode_of(rule).filter(|to| Some(*to) != mode_from);
    let change = RuleChange {
        about: (from != rule.about).then_some((from, rule.about)),
        mode: mode.map(|to| ModeChange { from: mode_from, to, decides_stop }),
    };
    (change.about.is_some() || change.mode.is_some()).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::profile::DELIVERY_HARNESS_NAME;

    fn overrides(user: &str) -> Overrides {
        let mut out = Overrides::default();
        let profile = Profile::merged(DELIVERY_HARNESS_NAME, &toml::from_str(user).unwrap()).unwrap();
        out.add(Profile::builtin(DELIVERY_HARNESS_NAME).as_ref(), &profile);
        out
    }

    #[test]
    fn the_built_in_profile_changes_nothing_and_neither_does_saying_the_same_again() {
        assert!(overrides("").is_empty());
        assert!(overrides("[[rule]]\nid = \"push\"\nabout = \"infrastructure\"\n").is_empty());
    }

    #[test]
    fn a_mode_of_a_gate_reaches_the_rules_that_have_none_of_their_own() {
        let changed = overrides("[[gate]]\nid = \"gate_review\"\nmode = \"warn\"\n");
        let rules: BTreeSet<&str> = changed.rules.keys().map(|(_, rule)| rule.as_str()).collect();
        assert!(rules.contains("independent-review") && rules.contains("push"), "{rules:?}");
        assert!(!rules.contains("trace-consistency"), "it warns already");
        assert_eq!(changed.gate_marks().len(), 1);
        assert_eq!(changed.gate_marks()[0], GateMark { mode: Some(Mode::Warn), ..GateMark::of("gate_review") });
    }
}
