//! Owns `Ts`, the one instant type of the records: microseconds since the Unix epoch, UTC.

use std::fmt;

/// An instant in microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Ts(pub i64);

impl Ts {
    /// Reads RFC 3339 text (`2026-07-04T15:13:37Z`, with or without fraction, with any offset). Returns `None` for anything
    /// else, a time without zone included: a guessed zone would be a made-up fact.
    pub fn parse(text: &str) -> Option<Ts> {
        parse_utc(text.as_bytes()).or_else(|| {
            let ts: jiff::Timestamp = text.trim().parse().ok()?;
            Some(Ts(ts.as_microsecond()))
        })
    }

    /// [`Ts::parse`] of an instant that a log says something happened at. `None` too where no agent can have worked: before 2000 and
    /// from 2100 on. One such instant would stretch its run over all weeks.
    pub fn parse_recorded(text: &str) -> Option<Ts> {
        const FROM: i64 = 946_684_800_000_000;
        const UNTIL: i64 = 4_102_444_800_000_000;
        Ts::parse(text).filter(|ts| (FROM..UNTIL).contains(&ts.0))
    }

    /// Milliseconds since the epoch, as several vendors write them.
    pub fn from_millis(ms: i64) -> Option<Ts> {
        ms.checked_mul(1_000).map(Ts)
    }

    /// `self` moved back by `ms` milliseconds, saturating.
    pub fn minus_millis(self, ms: i64) -> Ts {
        Ts(self.0.saturating_sub(ms.saturating_mul(1_000)))
    }

    /// Milliseconds from `earlier` to `self`; negative when `earlier` is later.
    pub fn millis_since(self, earlier: Ts) -> i64 {
        self.0.saturating_sub(earlier.0) / 1_000
    }
}

impl fmt::Display for Ts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(ts) => write!(f, "{ts}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

/// The fast path: `YYYY-MM-DDTHH:MM:SS[.fraction]Z`, which is what every log line carries.
fn parse_utc(b: &[u8]) -> Option<Ts> {
    if b.len() < 20 || b[4] != b'-' || b[7] != b'-' || b[10] != b'T' || b[13] != b':' || b[16] != b':' || b[b.len() - 1] != b'Z' {
        return None;
    }
    let num = |range: std::ops::Range<usize>| -> Option<i64> {
        b[range].iter().try_fold(0i64, |n, d| d.is_ascii_digit().then(|| n * 10 + i64::from(d - b'0')))
    };
    let (year, month, day) = (num(0..4)?, num(5..7)?, num(8..10)?);
    let (hour, minute, second) = (num(11..13)?, num(14..16)?, num(17..19)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction = &b[19..b.len() - 1];
    let micros = match fraction.split_first() {
        None => 0,
        Some((b'.', digits)) if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            digits.iter().chain(std::iter::repeat(&b'0')).take(6).fold(0i64, |n, d| n * 10 + i64::from(d - b'0'))
        }
        _ => return None,
    };
    // Days from civil, after Howard Hinnant, "chrono-compatible low-level date algorithms".
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let yoe = y - era * 400;
    let doy = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    let days = era * 146_097 + doe - 719_468;
    Some(Ts((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_path_agrees_with_the_general_parser() {
        for text in [
            "2026-07-04T15:13:37Z",
            "2024-02-29T23:59:59.999999Z",
            "1970-01-01T00:00:00Z",
            "2000-12-31T00:00:00.5Z",
            "1969-12-31T23:59:59.25Z",
        ] {
            let general: jiff::Timestamp = text.parse().unwrap();
            assert_eq!(parse_utc(text.as_bytes()), Some(Ts(general.as_microsecond())), "{text}");
        }
    }

    #[test]
    fn offsets_are_read_and_zoneless_or_impossible_times_are_unknown() {
        assert_eq!(Ts::parse("2026-07-04T17:13:37+02:00"), Ts::parse("2026-07-04T15:13:37Z"));
        for text in [
            "2026-07-04T15:13:37",
            "2026-13-04T15:13:37Z",
            "2025-02-29T00:00:00Z",
            "2026-07-04T25:00:00Z",
            "",
            "yesterday",
            "2026-07-04T15:13:37.Z",
        ] {
            assert_eq!(Ts::parse(text), None, "{text}");
        }
    }

    #[test]
    fn nothing_happened_before_agents_or_far_from_now() {
        for text in ["0000-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "2100-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
        {
            assert!(Ts::parse(text).is_some(), "{text}");
            assert_eq!(Ts::parse_recorded(text), None, "{text}");
        }
        assert!(Ts::parse_recorded("2026-11-30T00:00:00Z").is_some());
    }
}
