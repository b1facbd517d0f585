//! Owns `Release`: the numbers of a harness release, as spans carry them.

/// A semantic version without its pre-release and build parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
}

impl Release {
    /// Reads `0.21.1`, `v0.21.1` or `0.0.0-dev`; `None` for anything else, such as a commit sha. `0.43` reads as `0.43.0`.
    pub fn parse(text: &str) -> Option<Release> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let numbers = text.split(['-', '+']).next()?;
        let mut parts = numbers.split('.').map(number);
        let (major, minor) = (parts.next()??, parts.next()??);
        let patch = match parts.next() {
            Some(patch) => patch?,
            None => 0,
        };
        parts.next().is_none().then_some(Release { major, minor, patch })
    }

    /// `0.0.0`, with whatever suffix: the fallback of a harness that could not read its own version. It names no release.
    pub fn is_placeholder(self) -> bool {
        self == Release { major: 0, minor: 0, patch: 0 }
    }
}

/// Digits only: `parse` of the standard library would also take a sign.
fn number(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

impl<'de> serde::Deserialize<'de> for Release {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Release::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is no version like 0.37.2")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_compare_by_number_and_not_by_letter() {
        let parse = |t| Release::parse(t).unwrap();
        assert!(parse("0.9.0") < parse("0.21.1"));
        assert!(parse("v0.37.1") < parse("0.37.2"));
        assert_eq!(parse("0.43"), parse("0.43.0"));
        assert_eq!(parse("0.44.2+build.7"), parse("0.44.2"));
        assert!(parse("0.0.0-dev").is_placeholder());
    }

    #[test]
    fn a_commit_sha_is_no_release() {
        for text in ["1652e7e", "98ecdd7", "4665851", "", "v", "1", "1.2.3.4", "1.x", "+1.2", "1..2", "18446744073709551616.0.0"] {
            assert_eq!(Release::parse(text), None, "{text}");
        }
    }
}
