//! Distributions for comparison: those in weir's documents, read with the HdrHistogram project's
//! own crate and not with weir's code, and exact ones from lists of times.

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use weir_result::Document;
use weir_result::document::Metric;

/// A histogram of times in nanoseconds.
pub(super) struct Distribution {
    histogram: Histogram<u64>,
}

impl Distribution {
    /// Reads a time of the completed requests.
    pub(super) fn of(time: &Metric) -> Result<Distribution> {
        anyhow::ensure!(!time.times.ok.is_empty(), "no request was completed");
        Distribution::read(&time.times.ok.to_text())
    }

    /// Reads the response times of the completed requests.
    pub(super) fn responses(document: &Document) -> Result<Distribution> {
        Distribution::of(&document.results.response_time)
    }

    /// Reads a histogram as the document holds it: HdrHistogram V2 with compression, in base64.
    pub(super) fn read(text: &str) -> Result<Distribution> {
        let bytes = STANDARD.decode(text).context("a histogram is not base64")?;
        let histogram = Deserializer::new().deserialize(&mut bytes.as_slice());
        let histogram = histogram.map_err(|error| anyhow!("a histogram is damaged: {error}"))?;
        Ok(Distribution { histogram })
    }

    pub(super) fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the value at rank ⌈p·n⌉, to 0.1 %.
    pub(super) fn quantile_ns(&self, p: f64) -> f64 {
        self.histogram.value_at_quantile(p) as f64
    }

    pub(super) fn mean_ns(&self) -> f64 {
        self.histogram.mean()
    }

    pub(super) fn max_ns(&self) -> f64 {
        self.histogram.max() as f64
    }

    /// True if both values fall into the same bucket.
    pub(super) fn is_one_bucket(&self, ns: u64, other_ns: u64) -> bool {
        self.histogram.equivalent(ns, other_ns)
    }

    /// Returns the number of values greater than `ns`.
    pub(super) fn above(&self, ns: u64) -> u64 {
        self.count() - self.histogram.count_between(0, ns)
    }

    /// Returns the largest excess of the distribution function over `law` (one side of Kolmogorov
    /// and Smirnov's D), evaluated at the ends of buckets.
    pub(super) fn above_law(&self, law: impl Fn(f64) -> f64) -> f64 {
        self.edges().map(|(ns, share)| share - law(ns)).fold(0.0, f64::max)
    }

    /// Returns the largest shortfall below `law`.
    pub(super) fn below_law(&self, law: impl Fn(f64) -> f64) -> f64 {
        self.edges().map(|(ns, share)| law(ns) - share).fold(0.0, f64::max)
    }

    /// Returns both ends of each bucket with values, with the shares of values below the low end
    /// and up to the high end.
    fn edges(&self) -> impl Iterator<Item = (f64, f64)> {
        let mut below = 0_u64;
        self.histogram.iter_recorded().flat_map(move |value| {
            let share = |count: u64| count as f64 / self.count() as f64;
            let low_ns = self.histogram.lowest_equivalent(value.value_iterated_to()) as f64;
            let high_ns = self.histogram.highest_equivalent(value.value_iterated_to()) as f64;
            let before = share(below);
            below += value.count_since_last_iteration();
            [(low_ns, before), (high_ns, share(below))]
        })
    }
}

/// Returns the value at rank ⌈p·n⌉ of a sorted list that is not empty. The rank is not computed by
/// weir-stats, by which weir computes those that are compared with it.
pub(super) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let rank = (p * sorted.len() as f64 - 1e-9).ceil().max(1.0);
    sorted[(rank as usize).min(sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

    fn of(values: &[u64]) -> Distribution {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3);
        let histogram = histogram.as_mut().expect("these bounds are right");
        for value in values {
            histogram.record(*value).expect("it is in bounds");
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(histogram, &mut bytes).expect("memory takes all");
        Distribution::read(&STANDARD.encode(bytes)).expect("it was just written")
    }

    #[test]
    fn histograms_are_read() {
        let values: Vec<u64> = (1..=1_000).collect();
        let distribution = of(&values);
        assert_eq!((distribution.count(), distribution.above(990)), (1_000, 10));
        assert_eq!(distribution.quantile_ns(0.99), 990.0);
        assert!(Distribution::read("aGVsbG8=").is_err());
    }

    #[test]
    fn ranks_are_whole() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!((quantile(&values, 0.99), quantile(&values, 0.5)), (99.0, 50.0));
        assert_eq!((quantile(&values, 0.0), quantile(&values, 1.0)), (1.0, 100.0));
    }

    #[test]
    fn distances_are_kolmogorovs() {
        let values: Vec<u64> = (1..=1_000).collect();
        let distribution = of(&values);
        let law = |ns: f64| (ns / 1_000.0).clamp(0.0, 1.0);
        assert!(distribution.above_law(law) < 0.002 && distribution.below_law(law) < 0.002);
        let slower = |ns: f64| (ns / 1_000.0 - 0.1).clamp(0.0, 1.0);
        assert!((distribution.above_law(slower) - 0.1).abs() < 0.002);
        assert!(distribution.below_law(slower) < 0.002);
    }
}
