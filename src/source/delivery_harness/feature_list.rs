//! Owns `feature_list.json`: the units of an issue, as their last state was written.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::whole;
use crate::model::decisions::Unit;
use crate::model::id::{digest, stable_id};
use crate::source::emit::Emitter;
use crate::source::lenient::{Flag, Num, Text, name};
use crate::source::{Input, Probe, Source};

pub struct FeatureList;

impl Source for FeatureList {
    fn format(&self) -> &'static str {
        "agent-delivery-harness-features"
    }

    fn version(&self) -> u32 {
        1
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        let mark = probe.holds("\"issue\"") || probe.holds("\"feature_schema\"");
        super::is_named(probe, "feature_list.json", &['.', '-', '_'])
            && probe.head.trim_ascii_start().starts_with(b"{")
            && probe.holds("\"features\"")
            && mark
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let Some(bytes) = whole::read(input, out)? else { return Ok(()) };
        match serde_json::from_slice::<List<'_>>(&bytes) {
            Ok(list) => list.units(input, out),
            Err(e) => {
                out.summary.records += 1;
                let reason = if e.is_data() { "schema" } else { "malformed" };
                out.quarantine(1, 0, bytes.len(), reason, None);
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(default)]
    issue: Num,
    #[serde(default, borrow)]
    branch: Text<'a>,
    #[serde(borrow)]
    features: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Feature<'a> {
    #[serde(default, borrow)]
    id: Text<'a>,
    #[serde(default, borrow)]
    title: Text<'a>,
    #[serde(default)]
    passes: Flag,
    #[serde(default, borrow)]
    blocked_on: Text<'a>,
    #[serde(default, borrow)]
    verification: Text<'a>,
    #[serde(default, borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default, borrow)]
    finding_fingerprint: Text<'a>,
}

impl List<'_> {
    fn units(&self, input: &Input, out: &mut Emitter<'_>) {
        let issue = self.issue.count().map(|n| n.to_string()).or_else(|| whole::issue_of_folder(input));
        let run_key = whole::run_key(issue.as_deref().unwrap_or("unknown"));
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (entry, text) in (1i64..).zip(&self.features) {
            out.summary.records += 1;
            let feature = if text.get().starts_with('{') { serde_json::from_str::<Feature<'_>>(text.get()).ok() } else { None };
            let id = feature.as_ref().and_then(|f| f.id.as_str()).map(name).filter(|id| !id.is_empty());
            let (Some(feature), Some(id)) = (feature, id) else {
                out.quarantine(entry, 0, text.get().len(), "schema", Some("no feature with an id".to_owned()));
                continue;
            };
            let times = seen.entry(id.clone()).or_default();
            let occurrence = times.to_string();
            *times += 1;
            if *times > 1 {
                out.warn("id_collision", Some(entry), Some(&id));
            }
            // The branch tells the same issue number of two repositories apart.
            let branch = self.branch.or_empty();
            out.facts.units.push(Unit {
                unit_id: stable_id(&[super::FORMAT, "unit", &run_key, branch, &id, &occurrence]),
                native_run_key: run_key.clone(),
                title_hash: feature.title.as_str().filter(|t| !t.is_empty()).map(|t| digest(t.as_bytes())),
                requirement_ids: None,
                passes: feature.passes.0,
                verification: Some(filled(&feature.verification)),
                outcome: outcome(&feature),
                unit_type: feature.kind.as_str().map(name).filter(|k| !k.is_empty()),
                finding_fingerprint: feature.finding_fingerprint.as_str().map(name).filter(|f| !f.is_empty()),
                source_id: out.source_id.clone(),
                source_line: entry,
                native_id: id,
            });
        }
    }
}

fn filled(text: &Text<'_>) -> bool {
    !text.or_empty().trim().is_empty()
}

fn outcome(feature: &Feature<'_>) -> Option<String> {
    let word = match feature.passes.0 {
        Some(true) => "passing",
        _ if filled(&feature.blocked_on) => "blocked",
        Some(false) => "open",
        None => return None,
    };
    Some(word.to_owned())
}
