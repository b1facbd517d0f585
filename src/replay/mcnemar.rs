//! Owns McNemar's exact test: whether flips of paired verdicts go one way more often than chance would have them.

/// Two-sided exact p-value of `b` flips one way and `c` the other.
pub fn exact(b: u64, c: u64) -> f64 {
    let n = b + c;
    if n == 0 {
        return 1.0;
    }
    // log of C(n, k) / 2^n, summed from k = 0; nothing under- or overflows.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut sum = log_term.exp();
    for k in 1..=b.min(c) {
        log_term += ((n - k + 1) as f64).ln() - (k as f64).ln();
        sum += log_term.exp();
    }
    (2.0 * sum).min(1.0)
}

/// What may be said of the flips.
pub fn note(b: u64, c: u64) -> String {
    let p = exact(b, c);
    if b + c == 0 {
        return "no verdict flipped".to_owned();
    }
    if b.max(c) < 6 {
        return format!("p = {p:.4}: fewer than six flips one way can show nothing either way");
    }
    let verdict = if p < 0.05 { "more than chance" } else { "not more than chance would do" };
    format!("p = {p:.2e}: {verdict}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_example_and_the_smallest_corpus_that_can_say_anything_agree() {
        assert!((exact(150, 86) - 3.72e-5).abs() < 1e-7, "{}", exact(150, 86));
        assert!((exact(5, 0) - 0.0625).abs() < 1e-12);
        assert!((exact(0, 6) - 0.03125).abs() < 1e-12);
        assert_eq!((exact(0, 0), exact(3, 3)), (1.0, 1.0));
        assert!(exact(100_000, 100_000) > 0.99 && exact(100_000, 0) == 0.0);
        assert!(note(5, 0).contains("can show nothing") && note(6, 0).contains("more than chance"));
    }
}
