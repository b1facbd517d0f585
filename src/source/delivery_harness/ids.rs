//! Owns the identity of spans: native ids where a span has one, else its content and how often that stood in the file before.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::model::id::{digest, stable_id};

/// Identities remembered for one file; past it the line number takes the place of the count.
const REMEMBERED: usize = 200_000;

/// What is known of the spans read so far.
#[derive(Default)]
pub struct Ids {
    /// Content of the span that had a native id first.
    natives: HashMap<u128, u128>,
    /// Occurrences of a content without native id.
    contents: HashMap<u128, u64>,
}

/// The id of a row, and what was odd about the span's own.
pub struct Given {
    pub id: String,
    pub odd: Option<&'static str>,
}

impl Ids {
    /// `span_id` is the native id. A second span with the same id and the same content is a copy and gets the same row id;
    /// one with other content is no copy: the id proves nothing, and its content identifies it.
    pub fn give(&mut self, run_key: &str, span_id: Option<&str>, content: &[u8], line: i64) -> Given {
        let content = digest(content);
        let short = number(&content);
        let mut odd = None;
        if let Some(span_id) = span_id {
            let native = number(&stable_id(&[run_key, span_id]));
            let first = match self.natives.get(&native) {
                Some(first) => Some(*first),
                None if self.natives.len() < REMEMBERED => {
                    self.natives.insert(native, short);
                    Some(short)
                }
                None => None,
            };
            match first {
                Some(first) if first == short => {
                    return Given { id: stable_id(&[super::FORMAT, "span", run_key, span_id]), odd: None };
                }
                Some(_) => odd = Some("id_collision"),
                None => odd = Some("state_capped"),
            }
        }
        let room = self.contents.len() < REMEMBERED;
        let occurrence = match self.contents.entry(short) {
            Entry::Occupied(mut n) => {
                *n.get_mut() += 1;
                n.get().to_string()
            }
            Entry::Vacant(new) if room => new.insert(0).to_string(),
            Entry::Vacant(_) => {
                odd = Some("state_capped");
                format!("line {line}")
            }
        };
        Given { id: stable_id(&[super::FORMAT, "content", run_key, &content, &occurrence]), odd }
    }
}

fn number(hex: &str) -> u128 {
    u128::from_str_radix(hex, 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_identical_spans_without_a_native_id_stay_two() {
        let mut ids = Ids::default();
        let first = ids.give("run", None, b"a", 1).id;
        assert_ne!(first, ids.give("run", None, b"a", 2).id);
        assert_eq!(first, Ids::default().give("run", None, b"a", 9).id);
    }

    #[test]
    fn a_copied_span_keeps_its_id_and_a_reused_id_is_reported() {
        let mut ids = Ids::default();
        let first = ids.give("run", Some("x"), b"a", 1).id;
        assert_eq!(first, ids.give("run", Some("x"), b"a", 2).id);
        let other = ids.give("run", Some("x"), b"b", 3);
        assert_ne!(first, other.id);
        assert_eq!(other.odd, Some("id_collision"));
    }

    #[test]
    fn the_same_native_id_in_another_delivery_is_another_span() {
        let mut ids = Ids::default();
        assert_ne!(ids.give("a", Some("x"), b"1", 1).id, ids.give("b", Some("x"), b"1", 2).id);
    }
}
