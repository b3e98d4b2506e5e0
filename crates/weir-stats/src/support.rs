//! Ranks of percentiles, and the number of samples that a percentile needs before it may be printed
//! (METHOD 1.11).

/// Samples that must lie beyond a percentile before it is printed: with fewer, the figure depends
/// on a few random requests (METHOD 1.11, support 10).
pub const SUPPORT: u64 = 10;

/// Resolution of percentiles: a hundred-thousandth of a percent.
const PARTS: u64 = 10_000_000;

/// Returns the rank of percentile `p` (0 to 100) among `count` values: ⌈p·n⌉, at least 1.
pub fn rank_of(p: f64, count: u64) -> u64 {
    let rank = (u128::from(count) * u128::from(parts_of(p))).div_ceil(u128::from(PARTS));
    u64::try_from(rank).expect("at most the count").max(1)
}

/// True if `count` values support percentile `p`: at least [`SUPPORT`] of them lie beyond it. The
/// maximum, percentile 100, needs one value.
pub fn is_supported(p: f64, count: u64) -> bool {
    count >= count_needed(p)
}

/// True if at least one of `count` values lies beyond percentile `p`. The maximum, percentile 100,
/// needs one value.
pub fn has_beyond(p: f64, count: u64) -> bool {
    count >= least_count(p)
}

/// Returns the smallest count at which one value lies beyond percentile `p`.
pub fn least_count(p: f64) -> u64 {
    count_with_beyond(p, 1)
}

/// Returns the smallest count that supports percentile `p`.
pub fn count_needed(p: f64) -> u64 {
    count_with_beyond(p, SUPPORT)
}

/// Returns the least count of which so many values lie beyond the percentile.
fn count_with_beyond(p: f64, beyond: u64) -> u64 {
    match PARTS - parts_of(p) {
        0 => 1,
        parts => (beyond * PARTS).div_ceil(parts),
    }
}

/// Converts to ten-millionths of the whole; values outside 0 to 100 become the nearer end.
fn parts_of(p: f64) -> u64 {
    (p.clamp(0.0, 100.0) * 100_000.0).round() as u64
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
            assert_eq!(count_needed(p), n, "p{p}");
            assert!(is_supported(p, n) && !is_supported(p, n - 1), "p{p}");
            let least = least_count(p);
            assert_eq!(least, n / SUPPORT, "p{p}");
            assert!(has_beyond(p, least) && !has_beyond(p, least - 1), "p{p}");
        }
        assert!(is_supported(100.0, 1) && !is_supported(100.0, 0));
    }

    #[test]
    fn ranks_round_up() {
        for (p, count, rank) in
            [(50.0, 10, 5), (50.0, 11, 6), (99.0, 100, 99), (99.9, 1_000, 999), (0.0, 5, 1)]
        {
            assert_eq!(rank_of(p, count), rank, "p{p} of {count}");
        }
    }
}
