//! Owns the data of the events that state totals: shutdowns, checkpoints, compactions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Raw, nested};
use crate::source::lenient::{Flag, Num, Text};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Shutdown<'a> {
    #[serde(borrow)]
    pub model_metrics: Raw<'a>,
    #[serde(borrow)]
    pub token_details: Raw<'a>,
    pub total_nano_aiu: Num,
    #[serde(borrow)]
    pub total_premium_requests: Raw<'a>,
    pub total_api_duration_ms: Num,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ModelMetric<'a> {
    #[serde(borrow)]
    pub requests: Raw<'a>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
    pub total_nano_aiu: Num,
    #[serde(borrow)]
    pub token_details: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Requests<'a> {
    pub count: Num,
    #[serde(borrow)]
    pub cost: Raw<'a>,
}

/// Counters as the vendor writes them: `inputTokens` includes both cache counters.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default, rename_all = "camelCase")]
pub struct Usage {
    pub input_tokens: Num,
    pub output_tokens: Num,
    pub cache_read_tokens: Num,
    pub cache_write_tokens: Num,
    pub reasoning_tokens: Num,
}

/// Token counts by type, as a map (`{"input":{"tokenCount":1}}`) or a list (`[{"tokenType":"input","tokenCount":1}]`); here `input`
/// is fresh input.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Details {
    pub input: Option<i64>,
    pub cache_read: Option<i64>,
    pub cache_write: Option<i64>,
    pub output: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Detail<'a> {
    #[serde(borrow)]
    token_type: Text<'a>,
    token_count: Num,
}

impl Details {
    pub fn of(raw: Raw<'_>) -> Details {
        let mut details = Details::default();
        if let Some(list) = nested::<Vec<Detail<'_>>>(raw) {
            for item in list {
                details.put(item.token_type.or_empty(), item.token_count.count());
            }
        } else if let Some(map) = nested::<BTreeMap<Cow<'_, str>, &RawValue>>(raw) {
            for (kind, value) in map {
                details.put(&kind, nested::<Detail<'_>>(Some(value)).and_then(|d| d.token_count.count()));
            }
        }
        details
    }

    fn put(&mut self, kind: &str, count: Option<i64>) {
        let slot = match kind {
            "input" => &mut self.input,
            "cache_read" => &mut self.cache_read,
            "cache_write" => &mut self.cache_write,
            "output" => &mut self.output,
            _ => return,
        };
        *slot = match (*slot, count) {
            (Some(a), Some(b)) => a.checked_add(b),
            (a, b) => a.or(b),
        };
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Checkpoint<'a> {
    pub total_nano_aiu: Num,
    #[serde(borrow)]
    pub total_premium_requests: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct CompactionComplete<'a> {
    pub success: Flag,
    #[serde(borrow)]
    pub request_id: Text<'a>,
    #[serde(borrow)]
    pub compaction_tokens_used: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct CompactionUsage<'a> {
    pub input_tokens: Num,
    pub output_tokens: Num,
    pub cache_read_tokens: Num,
    pub cache_write_tokens: Num,
    #[serde(borrow)]
    pub copilot_usage: Raw<'a>,
    pub duration: Num,
    #[serde(borrow)]
    pub model: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct CopilotUsage<'a> {
    #[serde(borrow)]
    pub token_details: Raw<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_details_are_read_as_map_and_as_list() {
        let raw = |t: &'static str| -> &'static RawValue { serde_json::from_str(t).unwrap() };
        let map =
            Details::of(Some(raw(r#"{"input":{"tokenCount":2},"cache_write":{"tokenCount":"7"},"other":{"tokenCount":1},"output":3}"#)));
        assert_eq!((map.input, map.cache_write, map.output), (Some(2), Some(7), None));
        let list = Details::of(Some(raw(r#"[{"tokenType":"input","tokenCount":2},{"tokenType":"input","tokenCount":3},{"tokenType":1}]"#)));
        assert_eq!(list.input, Some(5));
        assert_eq!(Details::of(Some(raw("12"))), Details::default());
    }
}
