//! The four figures of a line of `Thread Stats`, computed correctly: wrk rewrites and loses
//! samples, which distorts its own.

use weir_result::Histogram;
use weir_result::histogram::middle_of;

use super::Dialect;
use super::micros::lowest_equivalent;

/// Figures of one line; times in microseconds, rates in 1/s.
pub(super) struct Statistics {
    pub(super) mean: f64,
    /// Sample standard deviation: the squares are divided by one less than the count.
    pub(super) stdev: f64,
    pub(super) max: u64,
    /// Values within one standard deviation of the mean, in percent of all.
    pub(super) within: f64,
}

impl Statistics {
    /// Computes the figures of values of which `unit` make one that is printed.
    /// Values are divided by the unit: latencies by 1,000, to microseconds, and rates by 1.
    pub(super) fn of(dialect: Dialect, values: &Histogram, unit: u64) -> Statistics {
        let max = values.exact().max_ns.div_ceil(unit);
        let max = match dialect {
            Dialect::Wrk => max,
            Dialect::Wrk2 => lowest_equivalent(max),
        };
        let (Some(mean), Some(stdev), 1..) = (values.mean_ns(), sample_stdev(values), max) else {
            // Most programs cannot parse the `-nan` that both tools print here. Rate samples are
            // also taken without completions, so they may all be 0.
            return Statistics { mean: 0.0, stdev: 0.0, max, within: 0.0 };
        };
        let within = 100.0 * within(values, mean, stdev) as f64 / values.count() as f64;
        Statistics { mean: mean / unit as f64, stdev: stdev / unit as f64, max, within }
    }
}

/// Returns the sample standard deviation; 0 for a single value, `None` if there is no value.
fn sample_stdev(values: &Histogram) -> Option<f64> {
    let count = values.count() as f64;
    values.stdev_ns().map(|stdev| stdev * (count / (count - 1.0).max(1.0)).sqrt())
}

/// Counts values within one standard deviation of the mean, each at the middle of its bucket.
fn within(values: &Histogram, mean: f64, stdev: f64) -> u64 {
    if stdev == 0.0 {
        // All values equal the mean, which the middle of their bucket need not do.
        return values.count();
    }
    let near = values.buckets().filter(|(bucket, _)| {
        let distance = (middle_of(*bucket) as f64 - mean).abs();
        distance <= stdev
    });
    near.map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_latency(dialect: Dialect, latency: &Histogram) -> Statistics {
        Statistics::of(dialect, latency, 1_000)
    }

    fn of_rates(dialect: Dialect, rates: &Histogram) -> Statistics {
        Statistics::of(dialect, rates, 1)
    }

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[track_caller]
    fn check(found: Statistics, mean: f64, stdev: f64, max: u64, within: f64) {
        let found = [found.mean, found.stdev, found.max as f64, found.within];
        for (found, expected) in found.into_iter().zip([mean, stdev, max as f64, within]) {
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }

    #[test]
    fn figures_are_those_of_the_values() {
        use Dialect::{Wrk, Wrk2};
        // Mean 5; the squares 9 + 1 + 1 + 9 = 20 are divided by 3; 4 and 6 are within.
        let rates = histogram(&[2, 4, 6, 8]);
        check(of_rates(Wrk, &rates), 5.0, (20.0_f64 / 3.0).sqrt(), 8, 50.0);
        let one = histogram(&[123_456_789]);
        check(of_latency(Wrk, &one), 123_456.789, 0.0, 123_457, 100.0);
        // Buckets of an HdrHistogram are 64 µs wide there.
        check(of_latency(Wrk2, &one), 123_456.789, 0.0, 123_456, 100.0);
        // A value exactly one deviation from the mean counts as within: 10 ± 10.
        let two = histogram(&[0, 20, 10, 10, 10]);
        check(of_rates(Wrk, &two), 10.0, 50.0_f64.sqrt(), 20, 60.0);
        let border = histogram(&[0, 20, 10]);
        check(of_rates(Wrk, &border), 10.0, 10.0, 20, 100.0);
    }

    #[test]
    fn nothing_has_figures_too() {
        let none = Histogram::new();
        for dialect in [Dialect::Wrk, Dialect::Wrk2] {
            check(of_latency(dialect, &none), 0.0, 0.0, 0, 0.0);
            check(of_rates(dialect, &none), 0.0, 0.0, 0, 0.0);
            check(of_rates(dialect, &histogram(&[0, 0])), 0.0, 0.0, 0, 0.0);
        }
    }

    proptest! {
        /// Checks the figures value by value, below 2,048, where every value has a bucket of its
        /// own.
        #[test]
        fn figures_are_those_of_a_list(values in prop::collection::vec(0..2_048_u64, 1..100)) {
            let count = values.len() as f64;
            let mean = values.iter().sum::<u64>() as f64 / count;
            let squares: f64 = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum();
            let stdev = if values.len() < 2 { 0.0 } else { (squares / (count - 1.0)).sqrt() };
            let distances = values.iter().map(|v| (*v as f64 - mean).abs());
            // A value on the border may fall on either side of a rounding.
            let (least, most) = distances.fold((0.0, 0.0), |(least, most), distance| (
                least + f64::from(distance < stdev - 1e-9) ,
                most + f64::from(distance <= stdev + 1e-9),
            ));
            let found = of_rates(Dialect::Wrk, &histogram(&values));
            prop_assert!((found.mean - mean).abs() < 1e-9 && (found.stdev - stdev).abs() < 1e-9);
            prop_assert_eq!(Some(found.max), values.iter().copied().max());
            let within = found.within / 100.0 * count;
            prop_assert!(least - 1e-9 < within && within < most + 1e-9);
        }
    }
}
