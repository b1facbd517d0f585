//! Owns tolerant field types: a field of an unexpected type is unknown, it never costs the record.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Counters of one record beyond this count nothing that can be: a file of such numbers would push sums out of range.
pub const MAX_COUNT: i64 = 1_000_000_000_000_000;

/// A whole number written as integer, float (`12.0`), text (`"12"`) or null. Anything else is unknown.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Num(pub Option<i64>);

impl Num {
    /// The value as a counter: negative numbers and those beyond [`MAX_COUNT`] count nothing and are unknown.
    pub fn count(self) -> Option<i64> {
        self.0.filter(|n| (0..=MAX_COUNT).contains(n))
    }

    /// Whether a number below zero stands where a counter belongs.
    pub fn is_negative(self) -> bool {
        self.0.is_some_and(|n| n < 0)
    }

    fn from_float(value: f64) -> Num {
        // 2^53: beyond it a float is no longer a count.
        Num((value.is_finite() && value.abs() <= 9_007_199_254_740_992.0).then_some(value as i64))
    }
}

/// A text, borrowed from the line where it holds no escape. Other types are unknown.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Text<'a>(pub Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The text, empty where there is none.
    pub fn or_empty(&self) -> &str {
        self.0.as_deref().unwrap_or("")
    }
}

/// A boolean; the texts `"true"` and `"false"` count too. Other types are unknown.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Flag(pub Option<bool>);

impl Flag {
    /// Whether it is known to be true.
    pub fn is_true(self) -> bool {
        self.0 == Some(true)
    }
}

/// Consumes what cannot be used.
macro_rules! otherwise_unknown {
    ($ty:expr) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($ty)
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($ty)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok($ty)
        }
    };
}

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Num;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Num, E> {
                Ok(Num(Some(value)))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Num, E> {
                Ok(Num(i64::try_from(value).ok()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Num, E> {
                Ok(Num::from_float(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Num, E> {
                let value = value.trim();
                Ok(value.parse().map_or_else(|_| value.parse().map_or(Num(None), Num::from_float), |n| Num(Some(n))))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Num, E> {
                Ok(Num(None))
            }
            otherwise_unknown!(Num(None));
        }
        deserializer.deserialize_any(Any)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Borrowed(value))))
            }
            fn visit_str<E>(self, value: &str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(value.to_owned()))))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Text<'de>, E> {
                Ok(Text(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Text<'de>, E> {
                Ok(Text(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Text<'de>, E> {
                Ok(Text(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Text<'de>, E> {
                Ok(Text(None))
            }
            otherwise_unknown!(Text(None));
        }
        deserializer.deserialize_any(Any)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Flag;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a boolean")
            }
            fn visit_bool<E>(self, value: bool) -> Result<Flag, E> {
                Ok(Flag(Some(value)))
            }
            fn visit_str<E>(self, value: &str) -> Result<Flag, E> {
                Ok(Flag(value.parse().ok()))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Flag, E> {
                Ok(Flag(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Flag, E> {
                Ok(Flag(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Flag, E> {
                Ok(Flag(None))
            }
            otherwise_unknown!(Flag(None));
        }
        deserializer.deserialize_any(Any)
    }
}

/// Longest name taken from a log or a settings file, in characters.
pub const NAME_CAP: usize = 120;

/// A name taken from a log, fit for a row: control characters removed, at most [`NAME_CAP`] characters.
pub fn name(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(NAME_CAP).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_may_be_a_float_a_text_or_null_and_nothing_else_counts() {
        let cases = [
            ("12", Some(12)),
            ("12.0", Some(12)),
            ("\"12\"", Some(12)),
            ("\"12.0\"", Some(12)),
            ("null", None),
            ("true", None),
            ("{\"a\":[1]}", None),
            ("[1,{}]", None),
            ("1e300", None),
            ("18446744073709551615", None),
            ("\"many\"", None),
        ];
        for (json, expected) in cases {
            assert_eq!(serde_json::from_str::<Num>(json).unwrap().count(), expected, "{json}");
        }
        let negative: Num = serde_json::from_str("-3").unwrap();
        assert!(negative.is_negative() && negative.count().is_none());
    }

    #[test]
    fn texts_are_borrowed_where_they_hold_no_escape_and_other_types_are_unknown() {
        assert!(matches!(serde_json::from_str::<Text>("\"abc\"").unwrap().0, Some(Cow::Borrowed("abc"))));
        assert_eq!(serde_json::from_str::<Text>("\"a\\nb\"").unwrap().as_str(), Some("a\nb"));
        for json in ["null", "1", "-1", "1.5", "[\"a\"]", "{\"a\":\"b\"}", "false"] {
            assert_eq!(serde_json::from_str::<Text>(json).unwrap().as_str(), None, "{json}");
        }
    }

    #[test]
    fn names_lose_control_characters_and_end_at_120_characters() {
        assert_eq!(name("a\u{1b}[31mb\n"), "a[31mb");
        assert_eq!(name(&"é".repeat(500)).chars().count(), 120);
    }
}
