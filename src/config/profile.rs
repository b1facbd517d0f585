//! Owns `Profile`: the gates and rules of a known harness, built in as TOML and overridable key by key.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use super::layout::Layout;
use super::version::Release;
use crate::model::time::Ts;
use crate::model::vocabulary::{About, GateKind, Mode, Purpose};

const DELIVERY_HARNESS: &str = include_str!("profiles/agent-delivery-harness.toml");

/// Name of the profile, and format, of the agent-delivery-harness.
pub const DELIVERY_HARNESS_NAME: &str = "agent-delivery-harness";

/// What is known of a harness before any of its records is read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub harness: String,
    /// Names of its folders and branches.
    #[serde(default)]
    pub layout: Layout,
    #[serde(default, rename = "gate")]
    pub gates: Vec<GateProfile>,
    #[serde(default, rename = "rule")]
    pub rules: Vec<RuleProfile>,
    #[serde(default, rename = "step")]
    pub steps: Vec<StepProfile>,
    #[serde(default, rename = "release")]
    pub releases: Vec<ReleaseProfile>,
}

/// A gate. `None` is unknown.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateProfile {
    pub id: String,
    /// Position in a delivery, smallest first.
    pub order: i64,
    pub purpose: Purpose,
    pub kind: Option<GateKind>,
    pub mode: Option<Mode>,
    pub irreversible: Option<bool>,
    pub pass_recorded: Option<bool>,
    pub pinned: Option<bool>,
    pub covers: Option<Vec<String>>,
    pub aliases: Option<Vec<String>>,
}

/// A rule of a gate: a contract clause or a stage of a script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleProfile {
    pub id: String,
    pub gate: String,
    /// Position within the gate, smallest first.
    pub order: i64,
    pub about: About,
    pub mode: Option<Mode>,
    pub kind: Option<GateKind>,
    pub irreversible: Option<bool>,
    pub pinned: Option<bool>,
    pub covers: Option<Vec<String>>,
    /// Lifecycle steps and tool names of which each span is one run of the rule.
    #[serde(default)]
    pub spans: Vec<String>,
    /// Tools whose failing span inside a composite span is the cause of a failure at this stage.
    #[serde(default)]
    pub children: Vec<String>,
    /// First release whose script has the stage.
    pub since: Option<Release>,
    /// First release whose script has it no more.
    pub until: Option<Release>,
    #[serde(default, deserialize_with = "instant")]
    pub since_time: Option<Ts>,
    #[serde(default, deserialize_with = "instant")]
    pub until_time: Option<Ts>,
    /// Whether reaching a later stage proves that this one ran.
    #[serde(default = "yes")]
    pub implied: bool,
    /// Attribute of the span that says `true` where the stage did its work.
    pub ran_if: Option<String>,
    /// Stage that has failed where this one was entered.
    pub instead_of: Option<String>,
    /// Contract clause the rule carries out.
    pub clause: Option<String>,
    /// What a pass of the rule means for the whole delivery.
    #[serde(default)]
    pub means: Vec<Meaning>,
}

/// What attribution reads from a rule, so that it needs no harness's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// The work crossed a line: whatever finding still stood open did not stop it.
    Crosses,
    /// The work is merged.
    Merges,
    /// The delivery is finished.
    Finishes,
    /// The gate run's subject (its pull request) is the delivery's own.
    NamesSubject,
}

/// A script whose one span stands for all its stages.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepProfile {
    /// The lifecycle step.
    pub name: String,
    /// Gate of a failure whose stage is not known.
    pub gate: String,
    /// Rule ids in the order the script passes through them, all releases together.
    pub stages: Vec<String>,
    /// First release under which a failure of the step proves anything.
    pub fail_proven_since: Option<Release>,
    #[serde(default, deserialize_with = "instant")]
    pub fail_proven_since_time: Option<Ts>,
}

/// A tool span that records that a person lifted a rule once.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseProfile {
    pub tool: String,
    pub rule: String,
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("failed to read the profile: {0}")]
    Toml(#[from] toml::de::Error),
    #[error("failed to use profile `{harness}`: {what} names {kind} `{name}`, which it does not declare")]
    Dangling { harness: String, what: String, kind: &'static str, name: String },
    #[error("failed to use profile `{harness}`: {kind} `{name}` is declared twice")]
    Twice { harness: String, kind: &'static str, name: String },
}

impl Profile {
    /// Text of the built-in profile of that harness; `None` where there is none.
    pub fn builtin_text(harness: &str) -> Option<&'static str> {
        (harness == DELIVERY_HARNESS_NAME).then_some(DELIVERY_HARNESS)
    }

    /// The built-in profile of that harness.
    pub fn builtin(harness: &str) -> Option<Profile> {
        Self::builtin_text(harness).and_then(|text| Profile::parse(text).ok())
    }

    /// Reads and checks a whole profile.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        Self::from_table(toml::from_str(text)?)
    }

    /// The built-in profile of `harness` with a user's tables laid over it: `layout` and tables with the same `id`, `name` or `tool`
    /// are merged key by key, others are added.
    pub fn merged(harness: &str, user: &Table) -> Result<Profile, ProfileError> {
        let mut base: Table = match Self::builtin_text(harness) {
            Some(text) => toml::from_str(text)?,
            None => Table::from_iter([("harness".to_owned(), Value::String(harness.to_owned()))]),
        };
        for (key, value) in user {
            lay_over(&mut base, key, value);
        }
        Self::from_table(base)
    }

    fn from_table(table: Table) -> Result<Profile, ProfileError> {
        let profile: Profile = table.try_into()?;
        profile.check()?;
        Ok(profile)
    }

    /// A misspelt name in an override must not silently drop a gate from the order.
    fn check(&self) -> Result<(), ProfileError> {
        let twice = |kind, name: &str| Err(ProfileError::Twice { harness: self.harness.clone(), kind, name: name.to_owned() });
        let (mut gates, mut rules) = (BTreeSet::new(), BTreeSet::new());
        for gate in &self.gates {
            if !gates.insert(gate.id.as_str()) {
                return twice("gate", &gate.id);
            }
        }
        for rule in &self.rules {
            if !rules.insert(rule.id.as_str()) {
                return twice("rule", &rule.id);
            }
        }
        let known = |what: &str, kind, name: &str, set: &BTreeSet<&str>| match set.contains(name) {
            true => Ok(()),
            false => Err(ProfileError::Dangling { harness: self.harness.clone(), what: what.to_owned(), kind, name: name.to_owned() }),
        };
        for rule in &self.rules {
            known(&format!("rule `{}`", rule.id), "gate", &rule.gate, &gates)?;
            if let Some(stage) = &rule.instead_of {
                known(&format!("rule `{}`", rule.id), "rule", stage, &rules)?;
            }
        }
        for step in &self.steps {
            known(&format!("step `{}`", step.name), "gate", &step.gate, &gates)?;
            for stage in &step.stages {
                known(&format!("step `{}`", step.name), "rule", stage, &rules)?;
            }
        }
        for release in &self.releases {
            known(&format!("release `{}`", release.tool), "rule", &release.rule, &rules)?;
        }
        Ok(())
    }

    pub fn gate(&self, id: &str) -> Option<&GateProfile> {
        self.gates.iter().find(|g| g.id == id)
    }

    pub fn rule(&self, id: &str) -> Option<&RuleProfile> {
        self.rules.iter().find(|r| r.id == id)
    }

    /// The rule of which a span with this lifecycle step or tool name is one run.
    pub fn rule_of_span(&self, name: &str) -> Option<&RuleProfile> {
        self.rules.iter().find(|r| r.spans.iter().any(|s| s == name))
    }

    pub fn step(&self, name: &str) -> Option<&StepProfile> {
        self.steps.iter().find(|s| s.name == name)
    }

    /// The rule a human waiver lifts.
    pub fn rule_released_by(&self, tool: &str) -> Option<&RuleProfile> {
        self.releases.iter().find(|r| r.tool == tool).and_then(|r| self.rule(&r.rule))
    }

    /// The rule's own mode, else its gate's.
    pub fn mode_of(&self, rule: &RuleProfile) -> Option<Mode> {
        rule.mode.or_else(|| self.gate(&rule.gate)?.mode)
    }

    /// The rule's own kind, else its gate's.
    pub fn kind_of(&self, rule: &RuleProfile) -> Option<GateKind> {
        rule.kind.or_else(|| self.gate(&rule.gate)?.kind)
    }

    /// Whether what the rule guards cannot be undone: the rule's own word, else its gate's.
    pub fn irreversible(&self, rule: &RuleProfile) -> Option<bool> {
        rule.irreversible.or_else(|| self.gate(&rule.gate)?.irreversible)
    }
}

impl RuleProfile {
    /// Whether a script of that release has the stage. Where the span names no release its time decides; where neither is known
    /// only a stage without limits is sure.
    pub fn exists_at(&self, release: Option<Release>, at: Option<Ts>) -> bool {
        match (release.filter(|r| !r.is_placeholder()), at) {
            (Some(release), _) => self.since.is_none_or(|s| s <= release) && self.until.is_none_or(|u| release < u),
            (None, Some(at)) => {
                within(self.since.is_some(), self.since_time, |since| since <= at)
                    && within(self.until.is_some(), self.until_time, |until| at < until)
            }
            (None, None) => self.since.is_none() && self.until.is_none(),
        }
    }
}

/// A limit known only as a release cannot be checked by time: the stage is then not sure to exist.
fn within(limited: bool, limit: Option<Ts>, holds: impl Fn(Ts) -> bool) -> bool {
    match limit {
        Some(limit) => holds(limit),
        None => !limited,
    }
}

fn yes() -> bool {
    true
}

fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Ts>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ts::parse(&text).map(Some).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is no time like 2026-07-21T00:31:35Z")))
}

/// Lays one key of a user's table over the base.
fn lay_over(base: &mut Table, key: &str, value: &Value) {
    match (base.get_mut(key), value) {
        (Some(Value::Array(ours)), Value::Array(theirs)) if theirs.iter().all(Value::is_table) => {
            for item in theirs.iter().filter_map(Value::as_table) {
                let same = ours.iter_mut().filter_map(Value::as_table_mut).find(|t| name_of(t).is_some() && name_of(t) == name_of(item));
                match same {
                    Some(table) => table.extend(item.clone()),
                    None => ours.push(Value::Table(item.clone())),
                }
            }
        }
        (Some(Value::Table(ours)), Value::Table(theirs)) => ours.extend(theirs.clone()),
        _ => {
            base.insert(key.to_owned(), value.clone());
        }
    }
}

fn name_of(table: &Table) -> Option<&str> {
    ["id", "name", "tool"].iter().find_map(|key| table.get(*key)?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builtin() -> Profile {
        Profile::parse(DELIVERY_HARNESS).unwrap()
    }

    #[test]
    fn the_built_in_profile_is_whole_and_every_rule_is_reachable() {
        let profile = builtin();
        assert_eq!(profile.gates.len(), 4);
        for rule in &profile.rules {
            let staged = profile.steps.iter().any(|s| s.stages.contains(&rule.id));
            assert!(staged || !rule.spans.is_empty() || rule.id == "scoped-green", "{} is run by nothing", rule.id);
        }
    }

    #[test]
    fn rules_of_a_gate_have_different_places_and_stages_of_a_gate_rise() {
        let profile = builtin();
        let places: BTreeSet<(&str, i64)> = profile.rules.iter().map(|r| (r.gate.as_str(), r.order)).collect();
        assert_eq!(places.len(), profile.rules.len());
        for step in &profile.steps {
            let of_gate: Vec<i64> =
                step.stages.iter().filter_map(|s| profile.rule(s)).filter(|r| r.gate == step.gate).map(|r| r.order).collect();
            assert!(of_gate.is_sorted(), "{}", step.name);
        }
    }

    #[test]
    fn stages_come_and_go_with_releases() {
        let profile = builtin();
        let at = |rule: &str, release: &str| profile.rule(rule).unwrap().exists_at(Release::parse(release), None);
        assert!(!at("sensor_gate", "0.37.1") && at("sensor_gate", "0.37.2"));
        assert!(!at("round_budget", "0.42.9") && at("round_budget", "0.43.0"));
        assert!(!at("economics_stamp", "0.7.9") && at("economics_stamp", "0.8.0") && !at("economics_stamp", "0.36.0"));
        assert!(at("rebase", "0.1.1") && at("rebase", "0.44.2"));
    }

    #[test]
    fn without_a_release_the_time_decides_and_without_both_only_a_stage_without_limits_is_sure() {
        let profile = builtin();
        let at = |rule: &str, time: Option<&str>| profile.rule(rule).unwrap().exists_at(None, time.and_then(Ts::parse));
        assert!(!at("merge_verify", Some("2026-07-04T16:00:58Z")) && at("merge_verify", Some("2026-08-01T00:00:00Z")));
        assert!(!at("merge_verify", None) && at("merge", None));
        let dev = Release::parse("0.0.0-dev");
        assert!(profile.rule("sensor_gate").unwrap().exists_at(dev, Ts::parse("2026-08-10T00:00:00Z")));
    }

    #[test]
    fn merging_replaces_only_the_keys_it_names() {
        let user: Table = toml::from_str(
            "[[gate]]\nid = \"gate_review\"\nmode = \"warn\"\n[[rule]]\nid = \"push\"\nabout = \"product\"\n\
             [[rule]]\nid = \"licence\"\ngate = \"gate_review\"\norder = 99\nabout = \"product\"\nspans = [\"licence-check\"]\n",
        )
        .unwrap();
        let profile = Profile::merged(DELIVERY_HARNESS_NAME, &user).unwrap();
        let gate = profile.gate("gate_review").unwrap();
        assert_eq!((gate.mode, gate.order, gate.kind), (Some(Mode::Warn), 3, Some(GateKind::Model)));
        let push = profile.rule("push").unwrap();
        assert_eq!((push.about, push.order), (About::Product, 13));
        assert_eq!(profile.rule_of_span("licence-check").unwrap().gate, "gate_review");
        assert_eq!(profile.rules.len(), builtin().rules.len() + 1);
        assert_eq!(profile.steps, builtin().steps);
    }

    #[test]
    fn a_merge_that_names_an_unknown_gate_or_key_is_refused() {
        for text in [
            "[[rule]]\nid = \"push\"\ngate = \"gate_reveiw\"\n",
            "[[step]]\nname = \"finish\"\nstages = [\"nothing\"]\n",
            "[[gate]]\nid = \"gate_review\"\nmoed = \"warn\"\n",
            "[[gate]]\nid = \"gate_review\"\nmode = \"sometimes\"\n",
            "[[rule]]\nid = \"sensor_gate\"\nsince = \"soon\"\n",
        ] {
            assert!(Profile::merged(DELIVERY_HARNESS_NAME, &toml::from_str(text).unwrap()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_harness_without_built_in_profile_can_be_described_whole() {
        let user: Table = toml::from_str("[[gate]]\nid = \"lint\"\norder = 1\npurpose = \"control\"\n").unwrap();
        assert_eq!(Profile::merged("mine", &user).unwrap().harness, "mine");
    }

    #[test]
    fn a_rule_inherits_from_its_gate_what_it_does_not_say() {
        let profile = builtin();
        let rule = |id| profile.rule(id).unwrap();
        assert_eq!(profile.mode_of(rule("trace-consistency")), Some(Mode::Warn));
        assert_eq!(profile.mode_of(rule("merge")), Some(Mode::Block));
        assert_eq!(profile.kind_of(rule("ci_checks")), Some(GateKind::External));
        assert_eq!(profile.irreversible(rule("ci_checks")), Some(false));
        assert_eq!(profile.irreversible(rule("merge")), Some(true));
    }
}
