//! Ranks of percentiles, and how many samples a percentile needs before it may be printed
//! (METHOD 1.11).

/// Samples that must lie beyond a percentile before it is printed: with fewer, it is the luck of a
/// few requests (METHOD 1.11, support 10).
pub const SUPPORT: u64 = 10;

/// Percentiles are told apart down to a hundred-thousandth of a percent.
const PARTS: u64 = 10_000_000;

/// The rank of percentile `p` (0 to 100) among `count` values: ⌈p·n⌉, at least 1.
pub fn rank_of(p: f64, count: u64) -> u64 {
    let rank = (u128::from(count) * u128::from(parts_of(p))).div_ceil(u128::from(PARTS));
    u64::try_from(rank).expect("at most the count").max(1)
}

/// Whether `count` values carry percentile `p`: at least [`SUPPORT`] of them lie beyond it. The
/// greatest value, percentile 100, needs one.
pub fn is_supported(p: f64, count: u64) -> bool {
    let beyond = PARTS - parts_of(p);
    match beyond {
        0 => count > 0,
        _ => u128::from(count) * u128::from(beyond) >= u128::from(SUPPORT) * u128::from(PARTS),
    }
}

/// True if at least one of `count` values lies beyond percentile `p`. The greatest value,
/// percentile 100, needs one.
pub fn has_beyond(p: f64, count: u64) -> bool {
    let beyond = PARTS - parts_of(p);
    match beyond {
        0 => count > 0,
        _ => u128::from(count) * u128::from(beyond) >= u128::from(PARTS),
    }
}

/// The least count of which one value lies beyond percentile `p`.
pub fn least_count(p: f64) -> u64 {
    match PARTS - parts_of(p) {
        0 => 1,
        beyond => PARTS.div_ceil(beyond),
    }
}

/// The least count that carries percentile `p`.
pub fn count_needed(p: f64) -> u64 {
    match PARTS - parts_of(p) {
        0 => 1,
        beyond => (SUPPORT * PARTS).div_ceil(beyond),
    }
}

/// Ten-millionths of the whole; what is outside 0 to 100 counts as the nearer end.
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
