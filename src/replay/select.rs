//! Owns which cells are replayed: filters, shards, and what changed since a commit.

use wildmatch::WildMatch;

use super::fixture::Fixture;
use super::suite::Suite;
use super::validator::Validator;
use super::wrong::{Result, Wrong, unknown};

/// What is left out, and why.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    filters: Vec<(Field, WildMatch)>,
    /// i of n.
    shard: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Any,
    Fixture,
    Validator,
    Gate,
    Tag,
    Mode,
    Class,
}

impl Selection {
    /// `--filter`: `fixture=…`, `validator=…`, `gate=…`, `tag=…`, `mode=…`, `class=…`, or a pattern of fixture ids. `--shard i/n`.
    pub fn parse(filters: &[String], shard: Option<&str>) -> Result<Selection> {
        let mut out = Selection::default();
        for text in filters {
            let (field, pattern) = match text.split_once('=') {
                None => (Field::Any, text.as_str()),
                Some(("fixture", p)) => (Field::Fixture, p),
                Some(("validator", p)) => (Field::Validator, p),
                Some(("gate", p)) => (Field::Gate, p),
                Some(("tag", p)) => (Field::Tag, p),
                Some(("mode", p)) => (Field::Mode, p),
                Some(("class", p)) => (Field::Class, p),
                Some((other, _)) => {
                    let known = ["fixture", "validator", "gate", "tag", "mode", "class"];
                    return Err(Wrong::one(format!("--filter: {}", unknown("unknown field", other, &known))));
                }
            };
            if pattern.is_empty() {
                return Err(Wrong::one(format!("--filter: `{}` has no pattern: write one like review-*", crate::plain::escape(text))));
            }
            out.filters.push((field, WildMatch::new(pattern)));
        }
        if let Some(text) = shard {
            let wrong = || Wrong::one(format!("--shard: `{}` is not i/n with 1 ≤ i ≤ n, as in 2/4", crate::plain::escape(text)));
            let (i, n) = text.split_once('/').ok_or_else(wrong)?;
            let (i, n): (u64, u64) = (i.parse().map_err(|_| wrong())?, n.parse().map_err(|_| wrong())?);
            if i == 0 || i > n {
                return Err(wrong());
            }
            out.shard = Some((i, n));
        }
        Ok(out)
    }

    fn any(&self, fields: &[Field], matches: impl Fn(Field, &WildMatch) -> bool) -> bool {
        let asked: Vec<_> = self.filters.iter().filter(|(f, _)| fields.contains(f)).collect();
        // Of one field any pattern will do; of several fields each must hold.
        fields.iter().all(|field| {
            let mut own = asked.iter().filter(|(f, _)| f == field).peekable();
            own.peek().is_none() || own.any(|(f, m)| matches(*f, m))
        })
    }

    pub fn takes_fixture(&self, f: &Fixture) -> bool {
        if let Some((i, n)) = self.shard
            && shard_of(&f.id, n) != i - 1
        {
            return false;
        }
        self.any(&[Field::Any, Field::Fixture, Field::Tag, Field::Mode, Field::Class], |field, m| match field {
            Field::Tag => f.tags.iter().any(|t| m.matches(t)),
            Field::Mode => f.failure_mode.as_deref().is_some_and(|t| m.matches(t)),
            Field::Class => m.matches(f.classification.as_str()),
            _ => m.matches(&f.id),
        })
    }

    pub fn takes_validator(&self, v: &Validator) -> bool {
        self.any(&[Field::Validator, Field::Gate], |field, m| match field {
            Field::Gate => m.matches(&v.gate),
            _ => m.matches(&v.id),
        })
    }

    /// Whether no validator is left out.
    pub fn all_validators(&self) -> bool {
        !self.filters.iter().any(|(f, _)| matches!(f, Field::Validator | Field::Gate))
    }

    pub fn is_everything(&self) -> bool {
        self.filters.is_empty() && self.shard.is_none()
    }
}

/// A fixture stays in its shard whatever else the corpus holds.
fn shard_of(id: &str, n: u64) -> u64 {
    let digest = blake3::hash(id.as_bytes());
    let first: [u8; 8] = digest.as_bytes()[..8].try_into().unwrap_or_default();
    u64::from_le_bytes(first) % n
}

/// Whether a cell may differ from what it was: its fixture or its validator is another.
pub fn changed(before: &Suite, fixture: &Fixture, validator: &Validator) -> bool {
    let fixture_same = before.corpus.get(&fixture.id).is_some_and(|f| f.digest == fixture.digest);
    let validator_same = before.validators.get(&validator.id).is_some_and(|v| v.digest == validator.digest);
    !fixture_same || !validator_same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_disjoint_and_together_everything() {
        let n = 4;
        let mut counts = vec![0; n];
        for i in 0..400 {
            counts[shard_of(&format!("fixture-{i}"), n as u64) as usize] += 1;
        }
        assert_eq!(counts.iter().sum::<usize>(), 400);
        assert!(counts.iter().all(|c| *c > 50), "{counts:?}");
        assert!(Selection::parse(&[], Some("0/4")).is_err());
        assert!(Selection::parse(&[], Some("5/4")).is_err());
        assert!(Selection::parse(&[], Some("x")).is_err());
        assert!(Selection::parse(&["gat=x".into()], None).unwrap_err().to_string().contains("did you mean `gate`?"));
    }
}
