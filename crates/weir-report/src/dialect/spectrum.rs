//! wrk2's percentiles and their whole spectrum, in the layout that HdrHistogram's plotters read.

use std::io::{self, Write};

use weir_result::Histogram;

use super::micros::Micros;
use super::statistics::Statistics;
use super::{Dialect, Figures, OptionalBlocks, units};
use crate::ladder::{self, LadderStep};

/// Bucket counts in the footer, for an HdrHistogram from 1 µs to 24 h with three digits.
const BUCKETS: u32 = 27;
const SUB_BUCKETS: u32 = 2_048;

/// Writes the selected blocks.
pub(super) fn write(
    figures: &Figures,
    lines: &OptionalBlocks,
    out: &mut dyn Write,
) -> io::Result<()> {
    if lines.latency {
        write_block("Recorded Latency", &figures.latency, out)?;
    }
    if lines.uncorrected {
        let title = "Uncorrected Latency (measured without taking delayed starts into account)";
        writeln!(out)?;
        write_block(title, &figures.uncorrected, out)?;
    }
    Ok(())
}

fn write_block(title: &str, latency: &Histogram, out: &mut dyn Write) -> io::Result<()> {
    let micros = Micros::of(latency);
    writeln!(out, "  Latency Distribution (HdrHistogram - {title})")?;
    for p in [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0] {
        let value = units::time(micros.percentile(p) as f64);
        writeln!(out, "{p:>7.3}%{}", units::field(&value, 10))?;
    }
    writeln!(out, "\n  Detailed Percentile spectrum:")?;
    let heads = ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"];
    writeln!(out, "{:>12} {:>12} {:>12} {:>12}\n", heads[0], heads[1], heads[2], heads[3])?;
    for row in ladder::rows(micros.values(), micros.count()) {
        let value = row.value as f64 / 1e3;
        let (share, inverse) = row.step.map_or((1.0, f64::INFINITY), LadderStep::share_and_inverse);
        writeln!(out, "{value:>12.3} {share:>12.6} {:>12} {inverse:>12.2}", row.reached)?;
    }
    write_footer(latency, &micros, out)
}

fn write_footer(latency: &Histogram, micros: &Micros, out: &mut dyn Write) -> io::Result<()> {
    let Statistics { mean, stdev, max, .. } = Statistics::of(Dialect::Wrk2, latency, 1_000);
    let mean = mean / 1e3;
    let stdev = stdev / 1e3;
    let max = max as f64 / 1e3;
    let count = micros.count();
    writeln!(out, "#[Mean    = {mean:>12.3}, StdDeviation   = {stdev:>12.3}]")?;
    writeln!(out, "#[Max     = {max:>12.3}, Total count    = {count:>12}]")?;
    writeln!(out, "#[Buckets = {BUCKETS:>12}, SubBuckets     = {SUB_BUCKETS:>12}]")?;
    writeln!(out, "{}", "-".repeat(58))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ladder::LadderRow;

    fn rows(micros: &Micros) -> Vec<LadderRow> {
        ladder::rows(micros.values(), micros.count())
    }

    fn histogram(values: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for (us, times) in values {
            histogram.record_range(us * 1_000, us * 1_000, *times, u128::from(us * times) * 1_000);
        }
        histogram
    }

    /// `(µs, percentile, reached)` of every line; percentile 100 is the last one.
    #[track_caller]
    fn check(values: &[(u64, u64)], expected: &[(u64, f64, u64)]) {
        let percent = |step: LadderStep| {
            let (beyond, all) = step.beyond();
            (100 * (all - beyond)) as f64 / all as f64
        };
        let found: Vec<(u64, f64, u64)> = rows(&Micros::of(&histogram(values)))
            .iter()
            .map(|row| (row.value, row.step.map_or(100.0, percent), row.reached))
            .collect();
        assert_eq!(found, expected, "{values:?}");
    }

    #[test]
    fn a_bucket_has_a_line_for_each_step_it_reaches() {
        check(&[], &[(0, 100.0, 0)]);
        check(&[(7, 1)], &[(7, 0.0, 1), (7, 100.0, 1)]);
        check(&[(7, 1_000_000)], &[(7, 0.0, 1_000_000), (7, 100.0, 1_000_000)]);
        // A share exactly at a step reaches it.
        check(
            &[(1, 3), (2, 6), (3, 1)],
            &[
                (1, 0.0, 3),
                (1, 10.0, 3),
                (1, 20.0, 3),
                (1, 30.0, 3),
                (2, 40.0, 9),
                (2, 50.0, 9),
                (2, 55.0, 9),
                (2, 60.0, 9),
                (2, 65.0, 9),
                (2, 70.0, 9),
                (2, 75.0, 9),
                (2, 77.5, 9),
                (2, 80.0, 9),
                (2, 82.5, 9),
                (2, 85.0, 9),
                (2, 87.5, 9),
                (2, 88.75, 9),
                (2, 90.0, 9),
                (3, 91.25, 10),
                (3, 100.0, 10),
            ],
        );
        // From 2,048 µs on, values share buckets: 4,098 and 4,099 µs are in one, which ends at
        // 4,099.
        check(&[(4_098, 1), (4_099, 1)], &[(4_099, 0.0, 2), (4_099, 100.0, 2)]);
    }

    /// Computes the same ladder in floats, as the layout is described: the next percentile is a
    /// fifth of the half distance further.
    fn climbed(values: &[(u64, u64)]) -> Vec<(u64, f64, u64)> {
        let total: u64 = values.iter().map(|(_, count)| count).sum();
        let mut lines = Vec::new();
        let mut at = 0.0_f64;
        let mut index = 0;
        let mut reached = 0;
        while reached < total {
            let (us, count) = values[index];
            if 100.0 * (reached + count) as f64 / total as f64 >= at {
                lines.push((us, at, reached + count));
                let halvings = (100.0 / (100.0 - at)).log2().floor() + 1.0;
                at += 100.0 / (5.0 * halvings.exp2());
                if reached + count == total {
                    reached = total;
                }
            } else {
                (index, reached) = (index + 1, reached + count);
            }
        }
        lines.push((values.last().map_or(0, |(us, _)| *us), 100.0, total));
        lines
    }

    proptest! {
        #[test]
        fn the_ladder_is_the_one_described(
            values in prop::collection::vec((0..2_000_u64, 1..2_000_u64), 0..40),
        ) {
            // Below 2,048 µs, every microsecond has a bucket.
            check(&values, &climbed(&weir_result::distinct_us(&histogram(&values))));
        }

        /// Compares with the `hdrhistogram` crate, on totals at which no step is met exactly: its
        /// steps are sums of tenths in floats, which drift. It prints no line for an empty
        /// histogram.
        #[test]
        fn the_ladder_is_that_of_hdrhistogram(
            values in prop::collection::vec((0..80_000_000_000_u64, 1..2_000_u64), 1..60),
        ) {
            let mut values = values;
            let total: u64 = values.iter().map(|(_, count)| count).sum();
            let odd = (1..).find(|more| [2, 5].iter().all(|n| !(total + more).is_multiple_of(*n)));
            values.push((1, odd.expect("one of five numbers is")));
            let histogram = histogram(&values);
            let micros = Micros::of(&histogram);

            let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 86_400_000_000, 3)
                .expect("valid bounds");
            for (us, count) in weir_result::distinct_us(&histogram) {
                theirs.record_n(us, count).expect("in range");
            }
            let rows = rows(&micros);
            let mut reached = 0;
            let expected: Vec<_> = theirs.iter_quantiles(5).map(|line| {
                reached += line.count_since_last_iteration();
                (line.value_iterated_to(), line.quantile_iterated_to(), reached)
            }).collect();
            prop_assert_eq!(rows.len(), expected.len());
            for (row, (us, share, reached)) in rows.iter().zip(expected) {
                prop_assert_eq!((row.value, row.reached), (us, reached));
                let found = row.step.map_or(1.0, |step| step.share_and_inverse().0);
                prop_assert!((found - share).abs() < 1e-12, "{found} is not {share}");
            }
            for p in [50.0, 99.0, 99.999, 100.0] {
                prop_assert_eq!(micros.percentile(p), theirs.value_at_percentile(p));
            }
        }
    }
}
