//! Owns the price table: what a token of a model costs since when. Money is whole nano-USD a token.

use anyhow::Context;
use serde::Deserialize;

use super::file::{Config, Price};
use crate::model::time::Ts;

/// The table shipped with the program.
const BUILT_IN: &str = include_str!("prices.toml");

/// One price in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Priced {
    /// `anthropic`, `openai` … Empty where the configuration gives the price.
    pub provider: String,
    /// What it is, for which models, over which span.
    pub price: Price,
    /// Whether the configuration gives it: such prices come before built-in ones.
    pub own: bool,
}

/// Every price in force.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceTable {
    prices: Vec<Priced>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    price: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default)]
    provider: String,
    patterns: Vec<String>,
    valid_from: String,
    input: i64,
    cache_read: i64,
    cache_write_5m: i64,
    cache_write_1h: i64,
    output: i64,
}

impl PriceTable {
    /// The table shipped with the program, under the prices of the configuration.
    pub fn of(config: &Config) -> anyhow::Result<PriceTable> {
        let mut table = PriceTable::built_in()?;
        table.lay_over(&config.prices);
        Ok(table)
    }

    /// The table shipped with the program.
    pub fn built_in() -> anyhow::Result<PriceTable> {
        let file: File = toml::from_str(BUILT_IN).context("the built-in price table")?;
        let mut prices = Vec::new();
        for entry in file.price {
            let from = Ts::parse(&format!("{}T00:00:00Z", entry.valid_from));
            let from = from.with_context(|| format!("the built-in price table: {} is no date", entry.valid_from))?;
            for pattern in entry.patterns {
                let price = Price {
                    pattern,
                    from: Some(from),
                    until: None,
                    input: entry.input,
                    cache_read: entry.cache_read,
                    cache_write_5m: entry.cache_write_5m,
                    cache_write_1h: entry.cache_write_1h,
                    output: entry.output,
                };
                prices.push(Priced { provider: entry.provider.clone(), price, own: false });
            }
        }
        Ok(PriceTable { prices })
    }

    /// Adds prices that come before those there are, wherever they fit.
    pub fn lay_over(&mut self, prices: &[Price]) {
        self.prices.extend(prices.iter().map(|p| Priced { provider: String::new(), price: p.clone(), own: true }));
    }

    /// Every price.
    pub fn iter(&self) -> impl Iterator<Item = &Priced> {
        self.prices.iter()
    }

    /// Digest of what the table says: part of what a figure in money depends on.
    pub fn digest(&self) -> String {
        let text: String = self.iter().map(|p| format!("{p:?}\n")).collect();
        crate::model::id::digest(text.as_bytes())
    }
}

impl Priced {
    /// The pattern as SQL's GLOB reads it, over lower-case ids: `*` alone stands for other characters.
    pub fn glob(&self) -> String {
        let mut glob = String::new();
        for c in self.price.pattern.to_lowercase().chars() {
            match c {
                '?' | '[' | ']' | '\\' => glob.extend(['[', c, ']']),
                c => glob.push(c),
            }
        }
        glob
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priced(pattern: &str) -> Vec<Priced> {
        PriceTable::built_in().unwrap().iter().filter(|p| p.price.pattern == pattern).cloned().collect()
    }

    #[test]
    fn five_dollars_a_million_are_5000_nano_a_token() {
        let opus = priced("*claude-opus-4-5*");
        assert_eq!(opus.len(), 1);
        let p = &opus[0].price;
        assert_eq!((p.input, p.cache_read, p.cache_write_5m, p.cache_write_1h, p.output), (5_000, 500, 6_250, 10_000, 25_000));
        assert_eq!(priced("o3").len(), 2, "a price that changed stands twice, with its days");
    }

    #[test]
    fn reading_cache_never_costs_more_than_fresh_input_nor_writing_it_less() {
        for Priced { price: p, .. } in PriceTable::built_in().unwrap().iter() {
            assert!(0 <= p.cache_read && p.cache_read <= p.input, "{p:?}");
            assert!(p.input <= p.cache_write_5m && p.cache_write_5m <= p.cache_write_1h, "{p:?}");
            assert!(p.pattern.is_ascii() && p.pattern == p.pattern.to_lowercase(), "{p:?}");
        }
    }

    #[test]
    fn no_pattern_stands_twice_on_one_day() {
        let table = PriceTable::built_in().unwrap();
        let keys: Vec<_> = table.iter().map(|p| (&p.price.pattern, p.price.from)).collect();
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(keys.len(), distinct.len());
    }

    #[test]
    fn a_pattern_has_no_special_character_but_the_star() {
        let mut table = PriceTable::default();
        let mut price = priced("o3")[0].price.clone();
        price.pattern = "Opus[1m]?*".to_owned();
        table.lay_over(&[price]);
        assert_eq!(table.iter().next().unwrap().glob(), "opus[[]1m[]][?]*");
    }
}
