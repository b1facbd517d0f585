//! Owns `Span`, one line of a lifecycle trace: flat dotted keys whose values may be strings or numbers in any era.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::model::id::digest;
use crate::model::time::Ts;
use crate::source::hook_identity::clean_name;
use crate::source::lenient::MAX_COUNT;

/// Every key of the trace format in all its versions, sorted. Others are counted as unknown.
pub const KEYS: &[&str] = &[
    "gen_ai.agent.name",
    "gen_ai.operation.name",
    "gen_ai.request.model",
    "gen_ai.tool.name",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "harness.actionable",
    "harness.args_summary",
    "harness.base_ref",
    "harness.branch",
    "harness.branch_deleted",
    "harness.commit",
    "harness.durable_rule_path",
    "harness.durable_rule_summary",
    "harness.duration_ms",
    "harness.economics.active_ms",
    "harness.economics.deviations",
    "harness.economics.features_passing",
    "harness.economics.features_total",
    "harness.economics.native_aiu_nano_delta",
    "harness.economics.native_duration_ms",
    "harness.economics.native_models_distinct",
    "harness.economics.native_subagent_count",
    "harness.economics.native_subagent_tokens",
    "harness.economics.native_tool_calls",
    "harness.economics.review_identity_covered",
    "harness.economics.review_identity_total",
    "harness.economics.review_rounds",
    "harness.economics.teeth_proof",
    "harness.economics.token_runs",
    "harness.economics.token_runs_total",
    "harness.economics.wall_clock_ms",
    "harness.exit_status",
    "harness.failure_class",
    "harness.failure_class_detail",
    "harness.failure_disposition",
    "harness.failure_mode",
    "harness.feature_id",
    "harness.finding_baseline_state",
    "harness.finding_count",
    "harness.finding_fingerprint",
    "harness.finding_proposed_fix",
    "harness.finding_reproduction",
    "harness.incomplete_count",
    "harness.instruction_files",
    "harness.issue",
    "harness.lifecycle_step",
    "harness.merge_sha",
    "harness.merge_state",
    "harness.outcome",
    "harness.pr_number",
    "harness.preflight_skipped",
    "harness.repair_scope",
    "harness.repeat_of",
    "harness.require_complete",
    "harness.research_summary",
    "harness.research_url",
    "harness.result_summary",
    "harness.review_event_id",
    "harness.review_gate_carry",
    "harness.review_gate_sha",
    "harness.review_mode",
    "harness.reviewed_sha",
    "harness.round_cap",
    "harness.round_count",
    "harness.scaffolded",
    "harness.sensor_count",
    "harness.sensor_scope",
    "harness.session_id",
    "harness.skill.name",
    "harness.stage",
    "harness.subagent",
    "harness.summary",
    "harness.teeth_proof_missing_count",
    "harness.tool_call_id",
    "harness.version",
    "harness.violation_count",
    "harness.warning",
    "harness.warning_count",
    "harness.worktree",
    "harness.worktree_removed",
    "harness.worktree_reused",
    "parent_span_id",
    "schema_version",
    "span",
    "span_id",
    "timestamp",
];

/// Unknown keys named for one line; a hostile line may hold any number.
const UNKNOWN_CAP: usize = 64;

/// A value of a span. Nested values are no part of the format and are skipped.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    Absent,
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Nested,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Span<'a> {
    /// By position of the key in [`KEYS`].
    values: Vec<Scalar<'a>>,
    /// Names of keys the format does not know.
    pub unknown: Vec<String>,
    /// Known keys that hold an object or a list.
    pub nested: Vec<&'static str>,
}

impl<'a> Span<'a> {
    fn value(&self, key: &str) -> &Scalar<'a> {
        debug_assert!(KEYS.binary_search(&key).is_ok(), "{key} is no key of the format");
        KEYS.binary_search(&key).ok().and_then(|at| self.values.get(at)).unwrap_or(&Scalar::Absent)
    }

    /// Whether the key stands in the line with a value.
    pub fn has(&self, key: &str) -> bool {
        !matches!(self.value(key), Scalar::Absent | Scalar::Null)
    }

    /// The raw text of a string value, free text included. Never store it.
    pub fn raw(&self, key: &str) -> Option<&str> {
        match self.value(key) {
            Scalar::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A name or identifier, fit to be stored: no control characters, capped, `None` when empty. Numbers and booleans are
    /// written out, since every era had its own idea of which values are strings.
    pub fn name(&self, key: &str) -> Option<String> {
        let name = match self.value(key) {
            Scalar::Text(text) => clean_name(text),
            Scalar::Int(n) => n.to_string(),
            Scalar::Bool(b) => b.to_string(),
            _ => return None,
        };
        (!name.is_empty()).then_some(name)
    }

    /// A count: a whole number that is not negative, written as number or as digits.
    pub fn count(&self, key: &str) -> Option<i64> {
        self.integer(key).filter(|n| (0..=MAX_COUNT).contains(n))
    }

    /// A whole number, written as number or as text.
    pub fn integer(&self, key: &str) -> Option<i64> {
        match self.value(key) {
            Scalar::Int(n) => Some(*n),
            // Exact up to 2^53; anything beyond is no count of milliseconds or tokens.
            Scalar::Float(f) if f.fract() == 0.0 && f.abs() < 9_007_199_254_740_992.0 => Some(*f as i64),
            Scalar::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// `true` or `false`, written as boolean or as text.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.value(key) {
            Scalar::Bool(b) => Some(*b),
            Scalar::Text(text) => match text.trim() {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// A digest of a free text. `None` when absent or empty.
    pub fn hash(&self, key: &str) -> Option<String> {
        self.raw(key).filter(|text| !text.is_empty()).map(|text| digest(text.as_bytes()))
    }

    /// When the span was written, which is when its operation ended. Written after the fact where `reconstructed`.
    pub fn written_at(&self) -> Option<Ts> {
        self.raw("timestamp").and_then(Ts::parse_recorded)
    }

    /// Whether the span was written after the fact, from a transcript: its time is then that of the writing.
    pub fn reconstructed(&self) -> bool {
        self.raw("span") == Some("tool") && self.has("harness.tool_call_id")
    }

    /// When the operation ended. `None` where only the time of a later writing is known.
    pub fn ended_at(&self) -> Option<Ts> {
        if self.reconstructed() { None } else { self.written_at() }
    }

    /// The only way to a start: end minus duration.
    pub fn started_at(&self) -> Option<Ts> {
        Some(self.ended_at()?.minus_millis(self.count("harness.duration_ms")?))
    }

    /// The feature it speaks of; `-` and `unmapped` name none.
    pub fn unit(&self) -> Option<String> {
        self.name("harness.feature_id").filter(|id| id != "-" && id != "unmapped")
    }

    /// Lifecycle step of any span, else the tool's name.
    pub fn step(&self) -> Option<String> {
        let (step, tool) = (self.name("harness.lifecycle_step"), self.name("gen_ai.tool.name"));
        if self.raw("span") == Some("tool") { tool.or(step) } else { step.or(tool) }
    }
}

impl<'de> Deserialize<'de> for Span<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Line;
        impl<'de> Visitor<'de> for Line {
            type Value = Span<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one flat object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Span<'de>, A::Error> {
                let mut span = Span { values: vec![Scalar::Absent; KEYS.len()], unknown: Vec::new(), nested: Vec::new() };
                while let Some(Key(key)) = map.next_key()? {
                    match KEYS.binary_search(&key.as_ref()) {
                        Ok(at) => {
                            let value = map.next_value()?;
                            if value == Scalar::Nested {
                                span.nested.push(KEYS[at]);
                            }
                            // A repeated key: the last one holds.
                            span.values[at] = value;
                        }
                        Err(_) => {
                            map.next_value::<IgnoredAny>()?;
                            if span.unknown.len() < UNKNOWN_CAP {
                                span.unknown.push(clean_name(&key));
                            }
                        }
                    }
                }
                span.nested.truncate(UNKNOWN_CAP);
                Ok(span)
            }
        }
        deserializer.deserialize_map(Line)
    }
}

/// A key, borrowed where it holds no escape.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) => Ok(Key(text)),
            _ => Err(serde::de::Error::custom("a key that is no text")),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Scalar<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Scalar::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Scalar::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
                Ok(Scalar::Int(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
                Ok(i64::try_from(value).map_or(Scalar::Float(value as f64), Scalar::Int))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
                Ok(Scalar::Float(value))
            }
            fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Borrowed(value)))
            }
            fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Owned(value.to_owned())))
            }
            fn visit_string<E>(self, value: String) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Owned(value)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar::Nested)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar::Nested)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str) -> Span<'_> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_keys_are_sorted_for_searching() {
        assert!(KEYS.is_sorted());
    }

    #[test]
    fn a_value_reads_the_same_as_string_and_as_number() {
        let number = span(r#"{"harness.duration_ms":1452,"harness.pr_number":107,"harness.sensor_count":3,"harness.actionable":true}"#);
        let text =
            span(r#"{"harness.duration_ms":"1452","harness.pr_number":"107","harness.sensor_count":"3","harness.actionable":"true"}"#);
        for s in [number, text] {
            assert_eq!(s.count("harness.duration_ms"), Some(1452));
            assert_eq!(s.name("harness.pr_number").as_deref(), Some("107"));
            assert_eq!(s.count("harness.sensor_count"), Some(3));
            assert_eq!(s.flag("harness.actionable"), Some(true));
        }
    }

    #[test]
    fn what_is_no_count_is_unknown_and_never_zero() {
        for value in ["-1", "1.5", "\"\"", "\"many\"", "null", "[]", "{}", "1e300", "true", "99999999999999999999"] {
            let text = format!("{{\"harness.duration_ms\":{value}}}");
            assert_eq!(span(&text).count("harness.duration_ms"), None, "{value}");
        }
        assert_eq!(span(r#"{"harness.duration_ms":12.0}"#).count("harness.duration_ms"), Some(12));
    }

    #[test]
    fn the_last_of_a_repeated_key_holds_and_unknown_keys_are_named() {
        let s = span(r#"{"span":"tool","span":"agent","x.new":{"a":[1]},"harness.stage":{"a":1}}"#);
        assert_eq!(s.raw("span"), Some("agent"));
        assert_eq!(s.unknown, ["x.new"]);
        assert_eq!(s.nested, ["harness.stage"]);
        assert_eq!(s.name("harness.stage"), None);
    }

    #[test]
    fn a_span_has_no_end_where_its_time_is_that_of_a_later_writing() {
        let s = span(
            r#"{"span":"tool","timestamp":"2026-07-08T10:00:00Z","harness.tool_call_id":"c1","harness.duration_ms":5,"gen_ai.tool.name":"bash"}"#,
        );
        assert!(s.reconstructed() && s.ended_at().is_none() && s.started_at().is_none());
        assert!(s.written_at().is_some());
    }

    #[test]
    fn names_are_capped_and_lose_control_characters() {
        let text = format!("{{\"harness.stage\":\"a\\u001b[31m{}\"}}", "x".repeat(500));
        let name = span(&text).name("harness.stage").unwrap();
        assert!(name.chars().count() <= 120 && !name.contains('\u{1b}'));
    }
}
