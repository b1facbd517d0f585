//! Owns parameters of named queries: their types, how a value is read from text, and binding them, so that none is ever spliced into SQL.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::model::time::Ts;

/// The types a parameter can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// RFC 3339, or a date (midnight UTC); bound as microseconds since the epoch.
    Timestamp,
    Text,
    Integer,
    Boolean,
    /// Name of a time zone of the IANA database; bound as text.
    Zone,
}

/// A value to bind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Param {
    Null,
    /// An integer, or an instant in microseconds.
    Int(i64),
    Text(String),
    Bool(bool),
}

impl Type {
    pub fn parse(name: &str) -> Option<Type> {
        match name {
            "timestamp" => Some(Type::Timestamp),
            "text" => Some(Type::Text),
            "integer" => Some(Type::Integer),
            "boolean" => Some(Type::Boolean),
            "zone" => Some(Type::Zone),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Type::Timestamp => "timestamp",
            Type::Text => "text",
            Type::Integer => "integer",
            Type::Boolean => "boolean",
            Type::Zone => "zone",
        }
    }

    /// Reads a value; the error says what was expected.
    pub fn value(self, text: &str) -> Result<Param, String> {
        match self {
            Type::Text => Ok(Param::Text(text.to_owned())),
            Type::Integer => text.parse().map(Param::Int).map_err(|_| format!("expected a whole number, found {text:?}")),
            Type::Boolean => match text {
                "true" => Ok(Param::Bool(true)),
                "false" => Ok(Param::Bool(false)),
                _ => Err(format!("expected true or false, found {text:?}")),
            },
            Type::Zone => zone(text)
                .map(|_| Param::Text(text.to_owned()))
                .ok_or_else(|| format!("expected the name of a time zone like Europe/Vienna, or UTC, found {text:?}")),
            Type::Timestamp => Ts::parse(text)
                .or_else(|| Ts::parse(&format!("{text}T00:00:00Z")))
                .map(|ts| Param::Int(ts.0))
                .ok_or_else(|| format!("expected a time like 2026-11-30T12:00:00Z or a date like 2026-11-30, found {text:?}")),
        }
    }

    /// How a value reads in a citation.
    pub fn show(self, param: &Param) -> String {
        match (self, param) {
            (_, Param::Null) => "null".to_owned(),
            (Type::Timestamp, Param::Int(us)) => Ts(*us).to_string(),
            (_, Param::Int(n)) => n.to_string(),
            (_, Param::Bool(b)) => b.to_string(),
            (_, Param::Text(t)) => t.clone(),
        }
    }
}

/// The zone of that name; `UTC` needs no database.
pub fn zone(name: &str) -> Option<TimeZone> {
    if name.eq_ignore_ascii_case("utc") { Some(TimeZone::UTC) } else { TimeZone::get(name).ok() }
}

/// When a zone's distance from UTC changes: (first instant, offset), both in microseconds, in order. The first row reaches back for ever;
/// after the year 2200 the last holds.
pub(super) fn offsets(zone: &TimeZone) -> Vec<(i64, i64)> {
    let micros = |seconds: i32| i64::from(seconds) * 1_000_000;
    let mut out = vec![(i64::MIN, micros(zone.to_offset(Timestamp::MIN).seconds()))];
    let changes = zone.following(Timestamp::MIN).take_while(|change| change.timestamp().as_second() < 7_258_118_400);
    out.extend(changes.map(|change| (change.timestamp().as_microsecond(), micros(change.offset().seconds()))));
    out
}

impl duckdb::ToSql for Param {
    fn to_sql(&self) -> duckdb::Result<duckdb::types::ToSqlOutput<'_>> {
        match self {
            Param::Null => Ok(duckdb::types::ToSqlOutput::Owned(duckdb::types::Value::Null)),
            Param::Int(n) => n.to_sql(),
            Param::Text(t) => t.to_sql(),
            Param::Bool(b) => b.to_sql(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_type_and_wrong_ones_say_what_was_expected() {
        assert_eq!(Type::Timestamp.value("1970-01-02"), Ok(Param::Int(86_400_000_000)));
        assert_eq!(Type::Timestamp.value("1970-01-01T01:00:00+01:00"), Ok(Param::Int(0)));
        assert_eq!(Type::Timestamp.show(&Param::Int(0)), "1970-01-01T00:00:00Z");
        assert_eq!(Type::Boolean.value("true"), Ok(Param::Bool(true)));
        assert_eq!(Type::Text.value("x'; DROP"), Ok(Param::Text("x'; DROP".into())));
        assert_eq!(Type::Zone.value("Europe/Vienna"), Ok(Param::Text("Europe/Vienna".into())));
        for (kind, text) in
            [(Type::Timestamp, "yesterday"), (Type::Integer, "1.5"), (Type::Boolean, "yes"), (Type::Zone, "Mars"), (Type::Zone, "")]
        {
            assert!(kind.value(text).unwrap_err().starts_with("expected "));
        }
    }

    #[test]
    fn a_zones_offsets_begin_before_all_time_and_change_when_its_clocks_do() {
        assert_eq!(offsets(&TimeZone::UTC), [(i64::MIN, 0)]);
        let vienna = offsets(&zone("Europe/Vienna").unwrap());
        assert!(vienna.is_sorted() && vienna[0].0 == i64::MIN);
        let at = |text: &str| vienna.iter().rfind(|(from, _)| *from <= Ts::parse(text).unwrap().0).unwrap().1 / 3_600_000_000;
        assert_eq!((at("2026-10-25T00:59:59Z"), at("2026-10-25T01:00:00Z"), at("2026-03-29T01:00:00Z")), (2, 1, 2));
    }
}
