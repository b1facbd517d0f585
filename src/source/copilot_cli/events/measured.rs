//! Owns what is kept of a large text: its length and the shell's exit line.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text of which only its length and the shell's exit line are kept.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    pub bytes: Option<i64>,
    /// From a closing line `<… exit code N>`.
    pub exit_code: Option<i64>,
}

impl Measured {
    fn of(text: &str) -> Measured {
        Measured { bytes: Some(text.len() as i64), exit_code: exit_line(text) }
    }
}

/// The exit status of the closing line `<shellId: 0 completed with exit code 0>` or `<exited with exit code 1>`. A text that only
/// mentions an exit code has none.
fn exit_line(text: &str) -> Option<i64> {
    let last = text.trim_end().rsplit('\n').next()?;
    let inner = last.trim().strip_prefix('<')?.strip_suffix('>')?;
    let (before, code) = inner.rsplit_once("exit code ")?;
    if before.len() > 80 {
        return None;
    }
    code.trim().parse().ok()
}

impl<'de> Deserialize<'de> for Measured {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Measured;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<E>(self, value: &str) -> Result<Measured, E> {
                Ok(Measured::of(value))
            }
            fn visit_unit<E>(self) -> Result<Measured, E> {
                Ok(Measured::default())
            }
            fn visit_bool<E>(self, _: bool) -> Result<Measured, E> {
                Ok(Measured::default())
            }
            fn visit_i64<E>(self, _: i64) -> Result<Measured, E> {
                Ok(Measured::default())
            }
            fn visit_u64<E>(self, _: u64) -> Result<Measured, E> {
                Ok(Measured::default())
            }
            fn visit_f64<E>(self, _: f64) -> Result<Measured, E> {
                Ok(Measured::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Measured, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Measured::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Measured, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Measured::default())
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_is_read_from_the_shells_closing_line_only() {
        assert_eq!(exit_line("ok\n<shellId: 0 completed with exit code 0>"), Some(0));
        assert_eq!(exit_line("x\n<exited with exit code 101>\n"), Some(101));
        assert_eq!(exit_line("the docs say: exit code 3"), None);
        assert_eq!(exit_line("<shellId: 0 completed with exit code 0>\nmore"), None);
        assert_eq!(exit_line("<command is still running>"), None);
        assert_eq!(exit_line(""), None);
    }
}
