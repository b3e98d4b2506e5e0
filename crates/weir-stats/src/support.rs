//! How many samples a percentile needs before it may be printed (METHOD 1.11).

/// Values that must lie beyond a percentile for it to be worth printing.
const BEYOND: f64 = 10.0;

/// The least number of independent samples that give percentile `p` (0 to 100) a support of ten
/// values beyond it: 1,000 for p99. `u64::MAX` for p100, which no number supports.
pub fn samples_for(p: f64) -> u64 {
    let share_beyond = 1.0 - p / 100.0;
    if share_beyond <= 0.0 {
        return u64::MAX;
    }
    // 1 − 0.99 is a little more than 0.01 in binary; the thousandth rounds that away.
    ((BEYOND / share_beyond) - 0.001).ceil() as u64
}

/// Whether `count` samples support percentile `p` (0 to 100).
pub fn supports(count: u64, p: f64) -> bool {
    count >= samples_for(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_method() {
        for (p, n) in [
            (50.0, 20),
            (90.0, 100),
            (99.0, 1_000),
            (99.9, 10_000),
            (99.99, 100_000),
            (99.999, 1_000_000),
        ] {
            assert_eq!(samples_for(p), n, "p{p}");
            assert!(supports(n, p) && !supports(n - 1, p), "p{p}");
        }
        assert!(!supports(u64::MAX - 1, 100.0));
    }
}
