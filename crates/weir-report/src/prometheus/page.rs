//! A page in Prometheus' text format 0.0.4. It does not know the metrics on it.

use weir_result::{Histogram, histogram};
use weir_text::printable;

/// Nanoseconds of the unit of times.
pub(super) const NS_PER_S: f64 = 1e9;

/// Upper bounds of the buckets of times, in nanoseconds.
pub const BOUNDS_NS: [u64; 18] = [
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    25_000_000_000,
];

/// A page of metrics, as far as it is written.
#[derive(Debug, Default)]
pub struct MetricsPage {
    text: String,
}

impl MetricsPage {
    /// Returns the text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Begins the samples of a metric. `kind` is `counter`, `gauge` or `histogram`; `help` has no
    /// full stop.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.text += &format!("# HELP {name} {help}.\n# TYPE {name} {kind}\n");
    }

    /// Writes a sample of the metric that was begun, or of a histogram's parts.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        self.text += &format!("{name}{labels} {value}\n");
    }

    /// Writes a metric with one sample.
    pub fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// Writes a histogram.
    pub fn histogram(&mut self, name: &str, help: &str, of: &Histogram) {
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        let mut count = 0;
        for (bound_ns, within) in BOUNDS_NS.iter().zip(buckets(of)) {
            count += within;
            let bound = (*bound_ns as f64 / NS_PER_S).to_string();
            self.sample(&bucket, &[("le", &bound)], count as f64);
        }
        self.sample(&bucket, &[("le", "+Inf")], of.count() as f64);
        self.sample(&format!("{name}_sum"), &[], of.exact().sum_ns as f64 / NS_PER_S);
        self.sample(&format!("{name}_count"), &[], of.count() as f64);
    }
}

/// Counts the times up to each of [`BOUNDS_NS`] and above the one before, and last those above all.
/// A time counts in a bucket if all of the times that the histogram does not tell from it are
/// within its bound.
pub fn buckets(of: &Histogram) -> [u64; BOUNDS_NS.len() + 1] {
    let mut counts = [0; BOUNDS_NS.len() + 1];
    for (at, count) in of.buckets() {
        counts[BOUNDS_NS.partition_point(|bound| *bound < histogram::highest_in(at))] += count;
    }
    counts
}

/// Escapes the value of a label; what a terminal would interpret is made visible first.
fn escaped(value: &str) -> String {
    printable(value).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
