//! Owns durations as they are written in `validators.toml` and on the command line.

use std::time::Duration;

/// `10s`, `500ms`, `2m`.
pub fn duration(text: &str) -> std::result::Result<Duration, String> {
    let wrong = || format!("`{}` is no duration; write 500ms, 10s or 2m", crate::plain::escape(text));
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let duration = match unit {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.saturating_mul(60)),
        _ => return Err(wrong()),
    };
    match duration {
        d if d.is_zero() => Err("0 leaves no time to run".to_owned()),
        d if d > Duration::from_secs(24 * 3600) => Err("more than a day".to_owned()),
        d => Ok(d),
    }
}
