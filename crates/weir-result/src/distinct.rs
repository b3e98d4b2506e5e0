//! The values of a histogram one by one, for scripts and for reports in other units.
//!
//! All values of a bucket count as its upper edge, so that none is under-reported. The least and
//! the greatest value are exact.

use weir_stats::histogram::Histogram;

/// The distinct values of a histogram in its own unit, ascending, each with its count. The counts
/// add up to the histogram's.
pub fn distinct(histogram: &Histogram) -> Vec<(u64, u64)> {
    merged(histogram, |value| value)
}

/// The distinct values of a histogram of nanoseconds in microseconds, rounded up, ascending, each
/// with its count. The counts add up to the histogram's.
pub fn distinct_us(histogram: &Histogram) -> Vec<(u64, u64)> {
    merged(histogram, |ns| ns.div_ceil(1_000))
}

/// Adds the counts of neighbours with the same value.
pub fn summed<T: PartialEq>(counts: impl IntoIterator<Item = (T, u64)>) -> Vec<(T, u64)> {
    let mut sums: Vec<(T, u64)> = Vec::new();
    for (value, count) in counts {
        match sums.last_mut() {
            Some((last, sum)) if *last == value => *sum += count,
            _ => sums.push((value, count)),
        }
    }
    sums
}

/// Returns each value as `convert` makes it, which must keep their order. Values that become equal
/// are merged.
fn merged(histogram: &Histogram, convert: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
    // One value of the first bucket is the least; of the others only the bucket is known.
    let mut least = (!histogram.is_empty()).then(|| (convert(histogram.exact().min_ns), 1));
    summed(histogram.buckets().flat_map(|(bucket, count)| {
        let least = least.take();
        let others = count - least.map_or(0, |(_, one)| one);
        let others = (others > 0).then(|| (convert(histogram.upper_in(bucket)), others));
        least.into_iter().chain(others)
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use weir_stats::histogram::{HIGHEST_NS, bucket_of};

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[track_caller]
    fn check(values: &[u64], in_ns: &[(u64, u64)], in_us: &[(u64, u64)]) {
        let histogram = histogram(values);
        assert_eq!(distinct(&histogram), in_ns);
        assert_eq!(distinct_us(&histogram), in_us);
    }

    #[test]
    fn values_are_listed_once() {
        check(&[], &[], &[]);
        check(&[0, 0], &[(0, 2)], &[(0, 2)]);
        check(&[7], &[(7, 1)], &[(1, 1)]);
        check(
            &[5, 3, 5, 1_001, 1_000],
            &[(3, 1), (5, 2), (1_000, 1), (1_001, 1)],
            &[(1, 4), (2, 1)],
        );
    }

    #[test]
    fn the_least_and_the_greatest_are_exact() {
        // Buckets from 2,097,152 on are 2,048 wide: the first one ends at 2,099,199.
        check(
            &[2_097_153, 2_097_154, 2_097_155, 5_000_001],
            &[(2_097_153, 1), (2_099_199, 2), (5_000_001, 1)],
            &[(2_098, 1), (2_100, 2), (5_001, 1)],
        );
        check(&[2_097_160, 2_097_153], &[(2_097_153, 1), (2_097_160, 1)], &[(2_098, 2)]);
        check(
            &[3, HIGHEST_NS + 1, HIGHEST_NS + 9],
            &[(3, 1), (HIGHEST_NS + 9, 2)],
            &[(1, 1), (HIGHEST_NS / 1_000 + 1, 2)],
        );
    }

    proptest! {
        /// No value is less than the true one, and none is more than a bucket above it.
        #[test]
        fn no_value_is_under_reported(
            mut values in prop::collection::vec(0..100_000_000_000_u64, 1..50),
        ) {
            let histogram = histogram(&values);
            values.sort_unstable();
            let listed = distinct(&histogram);
            prop_assert!(listed.is_sorted_by(|a, b| a.0 < b.0));
            let all: Vec<u64> = listed
                .iter()
                .flat_map(|(value, count)| (0..*count).map(|_| *value))
                .collect();
            prop_assert_eq!(all.len(), values.len());
            for (listed, value) in all.iter().zip(&values) {
                prop_assert!(listed >= value && bucket_of(*listed) == bucket_of(*value));
            }
            prop_assert_eq!((all.first(), all.last()), (values.first(), values.last()));
        }
    }
}
