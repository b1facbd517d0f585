//! Owns how figures are written: counts, time, money, tokens and shares, each with one spelling, and `–` for what is not known.

/// What stands where a figure is not known.
pub const UNKNOWN: &str = "–";

/// Applies a spelling to a known value.
pub fn known<T>(value: Option<T>, spell: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), spell)
}

/// `12,345`.
pub fn count(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if n < 0 {
        out.push('-');
    }
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `1 run`, `12 runs`: a count with its noun.
pub fn counted(n: i64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// Milliseconds as `340 ms`, `8.2 s`, `4.5 min`, `3.1 h`, `12 d`.
pub fn millis(ms: i64) -> String {
    let abs = ms.unsigned_abs();
    let in_unit = |unit: u64, name: &str| {
        let value = ms as f64 / unit as f64;
        if abs < unit * 10 { format!("{value:.1} {name}") } else { format!("{value:.0} {name}") }
    };
    match abs {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => in_unit(1_000, "s"),
        60_000..3_600_000 => in_unit(60_000, "min"),
        3_600_000..172_800_000 => in_unit(3_600_000, "h"),
        _ => in_unit(86_400_000, "d"),
    }
}

/// Nano-USD as `$0.0042`, `$3.17`, `$1,204`.
pub fn usd(nano: i64) -> String {
    let abs = nano.unsigned_abs();
    let sign = if nano < 0 { "-" } else { "" };
    match abs {
        0 => "$0".to_owned(),
        1..100_000 => format!("{sign}<$0.0001"),
        100_000..10_000_000 => format!("{sign}${:.4}", abs as f64 / 1e9),
        10_000_000..1_000_000_000_000 => format!("{sign}${:.2}", abs as f64 / 1e9),
        _ => format!("{sign}${}", count(i64::try_from(abs.saturating_add(500_000_000) / 1_000_000_000).unwrap_or(i64::MAX))),
    }
}

/// Tokens as `812`, `4.2 k`, `31 M`.
pub fn tokens(n: i64) -> String {
    let abs = n.unsigned_abs();
    let in_unit = |unit: u64, name: &str| {
        let value = n as f64 / unit as f64;
        if abs < unit * 10 { format!("{value:.1} {name}") } else { format!("{value:.0} {name}") }
    };
    match abs {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => in_unit(1_000, "k"),
        1_000_000..1_000_000_000 => in_unit(1_000_000, "M"),
        _ => in_unit(1_000_000_000, "G"),
    }
}

/// A share as `6.1 %`, `0.04 %`, `35 %`.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return UNKNOWN.to_owned();
    }
    let value = share * 100.0;
    match value.abs() {
        0.0 => "0 %".to_owned(),
        x if x < 0.1 => format!("{value:.2} %"),
        x if x < 10.0 => format!("{value:.1} %"),
        _ => format!("{value:.0} %"),
    }
}

/// The exact one-sided 95 % upper bound of a rate after zero events in `n` trials; NULL without trials.
pub fn upper95(n: i64) -> Option<f64> {
    (n > 0).then(|| 1.0 - 0.05f64.powf(1.0 / n as f64))
}

/// Trials without an event after which [`upper95`] is at most `target`.
pub fn trials_for(target: f64) -> Option<i64> {
    (target > 0.0 && target < 1.0).then(|| (0.05f64.ln() / (1.0 - target).ln()).ceil() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_one_spelling() {
        assert_eq!([count(0), count(999), count(1_000), count(-1_234_567)], ["0", "999", "1,000", "-1,234,567"]);
        assert_eq!(
            [millis(340), millis(8_200), millis(59_999), millis(270_000), millis(11_160_000), millis(1_036_800_000)],
            ["340 ms", "8.2 s", "60 s", "4.5 min", "3.1 h", "12 d"]
        );
        assert_eq!(
            [usd(0), usd(90_000), usd(4_200_000), usd(3_170_000_000), usd(1_204_400_000_000), usd(500_000_000)],
            ["$0", "<$0.0001", "$0.0042", "$3.17", "$1,204", "$0.50"]
        );
        assert_eq!([tokens(812), tokens(4_200), tokens(31_000_000)], ["812", "4.2 k", "31 M"]);
        assert_eq!(
            [percent(0.0608), percent(0.35), percent(0.0), percent(0.0004), percent(f64::NAN)],
            ["6.1 %", "35 %", "0 %", "0.04 %", "–"]
        );
        assert_eq!(known(None::<i64>, count), "–");
    }

    /// Oracles of the exact bound: 0/14, 0/48, 0/181 (METHODS 2.3); 0/7 is the "35 %" of DESIGN §8.
    #[test]
    fn zero_of_n_has_its_exact_upper_bound() {
        for (n, bound) in [(7, 0.3482), (14, 0.1926), (48, 0.0605), (181, 0.0164)] {
            assert!((upper95(n).unwrap() - bound).abs() < 5e-5, "{n}");
        }
        assert_eq!(upper95(0), None);
    }

    #[test]
    fn the_trials_that_would_decide_bring_the_bound_below_the_target() {
        for target in [0.01, 0.05, 0.1] {
            let n = trials_for(target).unwrap();
            assert!(upper95(n).unwrap() <= target && upper95(n - 1).unwrap() > target, "{target}: {n}");
        }
        assert_eq!(trials_for(0.05), Some(59));
        assert_eq!(trials_for(0.0), None);
    }
}
