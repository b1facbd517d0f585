//! Owns putting a source's own words to the links of a chain: each file is opened once.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::chain::Link;
use crate::model::sources::Source;
use crate::source::quote::{Quote, State, quotes};

/// Reads what the links point at.
pub fn fill<'a>(links: impl Iterator<Item = &'a mut Link>, sources: &HashMap<String, Source>) {
    let mut places: Vec<_> = links.filter_map(|link| link.place.as_mut()).collect();
    let mut wanted: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    for place in &places {
        wanted.entry(place.source_id.as_str()).or_default().insert(place.line);
    }
    let read: BTreeMap<String, BTreeMap<i64, Quote>> = wanted
        .into_iter()
        .map(|(id, lines)| {
            let quotes = match sources.get(id) {
                Some(source) => quotes(source, &lines),
                None => lines.iter().map(|l| (*l, Quote { state: State::Gone, fields: Vec::new() })).collect(),
            };
            (id.to_owned(), quotes)
        })
        .collect();
    for place in &mut places {
        place.quote = read.get(&place.source_id).and_then(|lines| lines.get(&place.line)).cloned();
    }
}
