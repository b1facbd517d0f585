//! Owns `Window`: the spans of time a report speaks about: the news (one whole ISO week) and the evidence behind rates.

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde::Serialize;

use crate::model::time::Ts;
use crate::sql::params;

/// Weeks of evidence at most (DESIGN §8).
pub const EVIDENCE_WEEKS: i64 = 26;

/// A half-open span of time with the name a reader knows it by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Window {
    /// `2026-W48`, or `2026-11-02..2026-11-15` for a span that is no week.
    pub label: String,
    /// First and last day as a reader would write them: `23–29 November 2026`.
    pub days: String,
    /// First instant, microseconds UTC.
    pub since_us: i64,
    /// First instant after it, microseconds UTC.
    pub until_us: i64,
}

/// Why the asked-for span is none; each message completes "cannot audit: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    #[error("`{0}` is no ISO week: write it like 2026-W48")]
    Week(String),
    #[error("`{0}` is neither a day nor a time: write 2026-11-30 or 2026-11-30T08:00:00Z")]
    Time(String),
    #[error("`{0}` is no known time zone: write a name like Europe/Vienna, or UTC")]
    Zone(String),
    #[error("the span ends before it begins: --since {since} --until {until}; swap them")]
    Backwards { since: String, until: String },
    #[error("the span lies outside the calendar: write days between the years 1 and 9999")]
    Calendar,
}

impl From<jiff::Error> for WindowError {
    fn from(_: jiff::Error) -> Self {
        WindowError::Calendar
    }
}

/// The zone of that name.
pub fn zone(name: &str) -> Result<TimeZone, WindowError> {
    params::zone(name).ok_or_else(|| WindowError::Zone(name.to_owned()))
}

/// The ISO week before the one `now` lies in, seen from `tz`.
pub fn last_whole_week(now: Ts, tz: &TimeZone) -> Result<Window, WindowError> {
    let today = local_day(now, tz)?;
    let monday = monday_of(today)?;
    week_from(monday.checked_sub(Span::new().try_days(7)?)?, tz)
}

/// The week named `2026-W48` (`2026W48` and lower case do too).
pub fn named_week(text: &str, tz: &TimeZone) -> Result<Window, WindowError> {
    let wrong = || WindowError::Week(text.to_owned());
    let (year, week) = text.trim().split_once(['W', 'w']).ok_or_else(wrong)?;
    let year: i16 = year.trim_end_matches('-').parse().map_err(|_| wrong())?;
    let week: i8 = week.parse().map_err(|_| wrong())?;
    let monday = ISOWeekDate::new(year, week, Weekday::Monday).map_err(|_| wrong())?;
    week_from(monday.date(), tz)
}

/// The span from `since` to `until`. A bare day stands for its whole: from its beginning, up to its end.
pub fn between(since: Option<&str>, until: Option<&str>, now: Ts, tz: &TimeZone) -> Result<Window, WindowError> {
    let until_us = match until {
        Some(text) => instant(text, tz, true)?,
        None => now,
    };
    let since_us = match since {
        Some(text) => instant(text, tz, false)?,
        None => weeks_before(until_us, EVIDENCE_WEEKS),
    };
    if since_us >= until_us {
        let name = |text: Option<&str>, at: Ts| text.map_or_else(|| at.to_string(), str::to_owned);
        return Err(WindowError::Backwards { since: name(since, since_us), until: name(until, until_us) });
    }
    let (first, last) = (local_day(since_us, tz)?, local_day(Ts(until_us.0 - 1), tz)?);
    Ok(Window { label: format!("{first}..{last}"), days: days(first, last), since_us: since_us.0, until_us: until_us.0 })
}

/// The span of the same length just before.
pub fn before(window: &Window, tz: &TimeZone) -> Result<Window, WindowError> {
    let first = local_day(Ts(window.since_us), tz)?;
    if window.label.contains('W') {
        return week_from(monday_of(first.checked_sub(Span::new().try_days(1)?)?)?, tz);
    }
    let length = window.until_us.saturating_sub(window.since_us);
    let since = window.since_us.saturating_sub(length);
    let last = local_day(Ts(window.since_us - 1), tz)?;
    let first = local_day(Ts(since), tz)?;
    Ok(Window { label: format!("{first}..{last}"), days: days(first, last), since_us: since, until_us: window.since_us })
}

/// The evidence behind rates: the [`EVIDENCE_WEEKS`] that end with the news. A gate whose text, mode or model changed in between has less.
pub fn evidence(news: &Window, tz: &TimeZone) -> Result<Window, WindowError> {
    let since = weeks_before(Ts(news.until_us), EVIDENCE_WEEKS).0.min(news.since_us);
    let (first, last) = (local_day(Ts(since), tz)?, local_day(Ts(news.until_us - 1), tz)?);
    Ok(Window { label: format!("{first}..{last}"), days: days(first, last), since_us: since, until_us: news.until_us })
}

/// Reads a time, or a day: its first instant, or with `end` the first instant after it.
pub fn instant(text: &str, tz: &TimeZone, end: bool) -> Result<Ts, WindowError> {
    let text = text.trim();
    if let Some(ts) = Ts::parse(text) {
        return Ok(ts);
    }
    let day: Date = text.parse().map_err(|_| WindowError::Time(text.to_owned()))?;
    let day = if end { day.tomorrow()? } else { day };
    day_start(day, tz)
}

/// Name of the ISO week an instant lies in.
pub fn week_label(at: Ts, tz: &TimeZone) -> Result<String, WindowError> {
    Ok(label_of(local_day(at, tz)?.iso_week_date()))
}

/// The names of the weeks from `first` to `last`; empty where either is no week. At most ten years of them.
pub fn weeks_through(first: &str, last: &str) -> Vec<String> {
    let (Ok(from), Ok(to)) = (named_week(first, &TimeZone::UTC), named_week(last, &TimeZone::UTC)) else { return Vec::new() };
    let mut out = Vec::new();
    let mut at = from.since_us;
    while at <= to.since_us && out.len() < 530 {
        out.extend(week_label(Ts(at), &TimeZone::UTC));
        at = at.saturating_add(7 * 86_400 * 1_000_000);
    }
    out
}

fn week_from(monday: Date, tz: &TimeZone) -> Result<Window, WindowError> {
    let sunday = monday.checked_add(Span::new().try_days(6)?)?;
    Ok(Window {
        label: label_of(monday.iso_week_date()),
        days: days(monday, sunday),
        since_us: day_start(monday, tz)?.0,
        until_us: day_start(sunday.tomorrow()?, tz)?.0,
    })
}

fn label_of(week: ISOWeekDate) -> String {
    format!("{:04}-W{:02}", week.year(), week.week())
}

fn weeks_before(at: Ts, weeks: i64) -> Ts {
    Ts(at.0.saturating_sub(weeks * 7 * 86_400 * 1_000_000))
}

fn monday_of(day: Date) -> Result<Date, WindowError> {
    let week = day.iso_week_date();
    Ok(ISOWeekDate::new(week.year(), week.week(), Weekday::Monday)?.date())
}

fn local_day(at: Ts, tz: &TimeZone) -> Result<Date, WindowError> {
    Ok(tz.to_datetime(Timestamp::from_microsecond(at.0)?).date())
}

fn day_start(day: Date, tz: &TimeZone) -> Result<Ts, WindowError> {
    Ok(Ts(tz.to_timestamp(day.to_datetime(jiff::civil::Time::midnight()))?.as_microsecond()))
}

fn days(first: Date, last: Date) -> String {
    let full = |d: Date| d.strftime("%-d %B %Y").to_string();
    if first == last {
        return full(first);
    }
    match (first.year() == last.year(), first.month() == last.month()) {
        (true, true) => format!("{}–{}", first.day(), full(last)),
        (true, false) => format!("{} – {}", first.strftime("%-d %B"), full(last)),
        _ => format!("{} – {}", full(first), full(last)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Ts {
        Ts::parse(text).unwrap()
    }

    #[test]
    fn the_news_is_the_last_whole_iso_week_before_now() {
        let week = last_whole_week(at("2026-11-30T00:00:00Z"), &TimeZone::UTC).unwrap();
        assert_eq!((week.label.as_str(), week.days.as_str()), ("2026-W48", "23–29 November 2026"));
        assert_eq!((Ts(week.since_us), Ts(week.until_us)), (at("2026-11-23T00:00:00Z"), at("2026-11-30T00:00:00Z")));
        let sunday = last_whole_week(at("2026-11-29T23:59:59Z"), &TimeZone::UTC).unwrap();
        assert_eq!(sunday.label, "2026-W47");
    }

    #[test]
    fn weeks_of_the_turn_of_the_year_belong_to_the_iso_year() {
        let week = last_whole_week(at("2027-01-05T12:00:00Z"), &TimeZone::UTC).unwrap();
        assert_eq!((week.label.as_str(), week.days.as_str()), ("2026-W53", "28 December 2026 – 3 January 2027"));
        assert_eq!(named_week("2026-w53", &TimeZone::UTC).unwrap(), week);
        assert!(named_week("2025-W53", &TimeZone::UTC).is_err());
    }

    #[test]
    fn a_week_begins_at_midnight_of_the_zone_and_may_have_167_hours() {
        let tz = zone("Europe/Vienna").unwrap();
        let week = named_week("2026-W13", &tz).unwrap();
        assert_eq!(Ts(week.since_us), at("2026-03-22T23:00:00Z"));
        assert_eq!(week.until_us - week.since_us, 167 * 3_600_000_000);
        assert_eq!(before(&week, &tz).unwrap().label, "2026-W12");
    }

    #[test]
    fn a_bare_day_stands_for_its_whole() {
        let span = between(Some("2026-11-02"), Some("2026-11-15"), at("2026-11-30T00:00:00Z"), &TimeZone::UTC).unwrap();
        assert_eq!((Ts(span.since_us), Ts(span.until_us)), (at("2026-11-02T00:00:00Z"), at("2026-11-16T00:00:00Z")));
        assert_eq!(span.label, "2026-11-02..2026-11-15");
        assert_eq!(before(&span, &TimeZone::UTC).unwrap().label, "2026-10-19..2026-11-01");
    }

    #[test]
    fn weeks_without_runs_keep_their_place() {
        assert_eq!(weeks_through("2026-W52", "2027-W02"), ["2026-W52", "2026-W53", "2027-W01", "2027-W02"]);
        assert!(weeks_through("2026-W02", "2026-W01").is_empty() && weeks_through("x", "2026-W01").is_empty());
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write_instead() {
        for text in ["48", "2026-W00", "2026-W54", "2026-Wx", ""] {
            assert!(named_week(text, &TimeZone::UTC).is_err(), "{text}");
        }
        assert!(zone("Mars/Olympus").is_err());
        assert!(instant("yesterday", &TimeZone::UTC, false).is_err());
        assert!(matches!(
            between(Some("2026-11-15"), Some("2026-11-02"), at("2026-11-30T00:00:00Z"), &TimeZone::UTC),
            Err(WindowError::Backwards { .. })
        ));
    }

    #[test]
    fn the_evidence_reaches_back_26_weeks_from_the_end_of_the_news() {
        let news = named_week("2026-W48", &TimeZone::UTC).unwrap();
        let evidence = evidence(&news, &TimeZone::UTC).unwrap();
        assert_eq!((Ts(evidence.since_us), evidence.until_us), (at("2026-06-01T00:00:00Z"), news.until_us));
    }
}
