//! The latencies as a percentile distribution of HdrHistogram (`.hgrm`), which its plotters read:
//! in milliseconds, five lines for each halving of the share beyond.

use std::io::{self, Write};

use weir_result::histogram::{highest_in, middle_of};
use weir_result::{Document, Histogram};

use crate::ladder::{self, LadderStep};

/// Buckets and sub-buckets of the document's histograms: 1 ns to 1 h, three digits.
const BUCKETS: u32 = 32;
const SUB_BUCKETS: u32 = 2_048;

/// Nanoseconds in a millisecond.
const MS: f64 = 1e6;

/// Writes the response times (closed loop: the service times) of all responses. Requests without a
/// response have no time to write.
///
/// # Errors
/// Errors of `out`.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let metric = &document.results.response_time;
    let mut times = metric.times.ok.clone();
    times.add(&metric.times.bad);
    write_table(&times, out)
}

fn write_table(times: &Histogram, out: &mut dyn Write) -> io::Result<()> {
    let heads = ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"];
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", heads[0], heads[1], heads[2], heads[3])?;
    let values = times.buckets().map(|(bucket, count)| (highest_in(bucket), count));
    for row in ladder::rows(values, times.count()).iter().filter(|_| !times.is_empty()) {
        let value = row.value as f64 / MS;
        match row.step.map(LadderStep::share_and_inverse) {
            Some((share, inverse)) => {
                writeln!(out, "{value:>12.3} {share:>2.12} {:>10} {inverse:>14.2}", row.reached)?;
            }
            None => writeln!(out, "{value:>12.3} {:>2.12} {:>10}", 1.0, row.reached)?,
        }
    }
    let (mean, deviation) = mean_and_deviation(times);
    let greatest = times.buckets().last().map_or(0, |(bucket, _)| highest_in(bucket));
    let mean = mean / MS;
    let deviation = deviation / MS;
    let greatest = greatest as f64 / MS;
    let count = times.count();
    writeln!(out, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]")?;
    writeln!(out, "#[Max     = {greatest:>12.3}, Total count    = {count:>12}]")?;
    writeln!(out, "#[Buckets = {BUCKETS:>12}, SubBuckets     = {SUB_BUCKETS:>12}]")
}

/// Mean and standard deviation with each value in the middle of its bucket, as HdrHistogram
/// computes them.
fn mean_and_deviation(times: &Histogram) -> (f64, f64) {
    let count = times.count().max(1) as f64;
    let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
        times.buckets().map(|(bucket, n)| of(middle_of(bucket) as f64) * n as f64).sum()
    };
    let mean = sum(&|value| value) / count;
    (mean, (sum(&|value| (value - mean).powi(2)) / count).sqrt())
}
