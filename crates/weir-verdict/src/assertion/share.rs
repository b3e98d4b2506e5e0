//! Claims as limits of a share of the requests: `p99 < 5ms` holds if at most 1% of them fail or
//! take longer. The search for the highest rate judges its trials by such shares (METHOD 1.13).

use std::str::FromStr;

use weir_stats::SliceTail;

use super::claim::Assertion;
use super::estimate::estimate;
use super::metric::{AssertedMetric, AssertionError, Class, Figure, Time};
use weir_result::document::{Document, SliceEntry};
use weir_result::histogram::{HIGHEST_NS, bucket_of};
use weir_result::quantile::Bound;

/// A claim that limits the share of requests that fail, or fail or take longer than a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareClaim {
    text: String,
    share_max: f64,
    slow: Option<Slow>,
}

/// The limit of a percentile of the response time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slow {
    /// The percentile, in percent.
    p: f64,
    limit_ns: u64,
}

impl FromStr for ShareClaim {
    type Err = AssertionError;

    /// Parses an upper limit of a percentile of the response time, or of `errors`: `p99 < 5ms`,
    /// `errors < 0.1%`.
    fn from_str(text: &str) -> Result<ShareClaim, AssertionError> {
        let claim: Assertion = text.parse()?;
        let refuse = |why: String| Err(AssertionError(why));
        let name = text[..text.find(['<', '>', '=', '!']).unwrap_or(text.len())].trim();
        if !claim.comparison.is_upper() {
            return refuse(format!("'{}' is no upper limit; write it with <", claim.text));
        }
        let (share_max, slow) = match claim.metric {
            AssertedMetric::Time(Time::RESPONSE, Figure::Percentile(p)) => {
                let limit_ns = (claim.limit as u64).min(HIGHEST_NS);
                (1.0 - p / 100.0, Some(Slow { p, limit_ns }))
            }
            AssertedMetric::Share(Class::Errors) => (claim.limit, None),
            AssertedMetric::Time(Time::RESPONSE, Figure::Max) => {
                return refuse("no number of requests shows a maximum; use p99.99".to_owned());
            }
            AssertedMetric::Time(Time::RESPONSE, _) => {
                return refuse(format!("{name} limits no share of the requests; use p50 or p99"));
            }
            AssertedMetric::Time(..) => {
                return refuse(format!("{name} is kept for whole runs only; use p99"));
            }
            AssertedMetric::Share(_) => {
                return refuse(format!("{name} is kept for whole runs only; use errors"));
            }
            AssertedMetric::Rate(_) | AssertedMetric::Count(_) | AssertedMetric::Path(_) => {
                return refuse(format!("{name} is no share of the requests; use p99 or errors"));
            }
        };
        // A duration of zero, or all of the requests, would make every rate bad, or good.
        if share_max >= 1.0 || slow.is_some_and(|slow| slow.limit_ns == 0) {
            return refuse(format!("'{}' does not depend on the rate", claim.text));
        }
        Ok(ShareClaim { text: claim.text, share_max, slow })
    }
}

impl ShareClaim {
    /// Returns the claim as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the limit of the share, between 0 and 1, both excluded.
    pub fn share_max(&self) -> f64 {
        self.share_max
    }

    /// Returns the response time in nanoseconds above which a request counts; `None` if only
    /// failures do.
    pub fn slow_ns(&self) -> Option<u64> {
        self.slow.map(|slow| slow.limit_ns)
    }

    /// Counts the measured requests of each slice, and of them those that violate the claim.
    /// Failures do; responses do if they take more than `allowance_ns` longer than the limit.
    pub fn tails(&self, document: &Document, allowance_ns: u64) -> Vec<SliceTail> {
        let limit_ns = self.slow.map(|slow| slow.limit_ns.saturating_add(allowance_ns));
        document.slices.iter().map(|slice| tail(slice, limit_ns)).collect()
    }

    /// Returns the time that the client may have added to the percentile, in nanoseconds: 0 if it
    /// did not inflate it, `u64::MAX` if that is not known.
    pub fn client_ns(&self, document: &Document) -> u64 {
        let Some(Slow { p, .. }) = self.slow else { return 0 };
        let metric = AssertedMetric::Time(Time::RESPONSE, Figure::Percentile(p));
        match estimate(&metric, document) {
            Ok(found) if matches!(found.bound, Bound::Upper | Bound::Unknown) => {
                found.client_ns.unwrap_or(u64::MAX)
            }
            Ok(_) | Err(_) => 0,
        }
    }
}

/// Counts the requests of a slice, and those that failed or took longer than `limit_ns`.
fn tail(slice: &SliceEntry, limit_ns: Option<u64>) -> SliceTail {
    let (ok, failed) = (slice.ok.count(), slice.not_ok.count());
    let slow = limit_ns.map_or(0, |limit_ns| {
        let limit = bucket_of(limit_ns.min(HIGHEST_NS));
        let beyond = slice.ok.buckets().filter(|(bucket, _)| *bucket > limit);
        beyond.map(|(_, count)| count).sum()
    });
    SliceTail { count: ok + failed, beyond: slow + failed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_result::Histogram;

    #[test]
    fn upper_limits_of_shares_are_claims() {
        for (text, share_max, slow_ns) in [
            ("p99 < 5ms", 0.01, Some(5_000_000)),
            (" p99.9<=1s ", 0.001, Some(1_000_000_000)),
            ("response.p50 < 100us", 0.5, Some(100_000)),
            ("errors < 0.1%", 0.001, None),
        ] {
            let claim: ShareClaim = text.parse().expect(text);
            assert!((claim.share_max() - share_max).abs() < 1e-12, "{claim:?}");
            assert_eq!((claim.slow_ns(), claim.text()), (slow_ns, text.trim()));
        }
    }

    #[test]
    fn other_claims_are_refused_with_a_remedy() {
        for (text, part) in [
            ("p99 > 5ms", "write it with <"),
            ("errors == 0", "write it with <"),
            ("max < 5ms", "use p99.99"),
            ("mean < 5ms", "use p50 or p99"),
            ("service.p99 < 5ms", "use p99"),
            ("status.5xx < 1%", "use errors"),
            ("timeouts < 1%", "use errors"),
            ("rate < 5k", "use p99 or errors"),
            ("errors.count < 5", "use p99 or errors"),
            ("errors < 100%", "does not depend on the rate"),
            ("p99 < 0ms", "does not depend on the rate"),
            ("p98 < 5ms", "p95 p99"),
        ] {
            let error = text.parse::<ShareClaim>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn failures_and_slow_responses_violate() {
        let histogram = |times: &[u64]| {
            let mut histogram = Histogram::new();
            times.iter().for_each(|ns| histogram.record(*ns));
            histogram
        };
        let slice = SliceEntry {
            ok: histogram(&[1_000_000, 5_000_000, 5_100_000, 9_000_000]),
            // Failures count at any age.
            not_ok: histogram(&[1_000]),
            ..SliceEntry::default()
        };
        for (limit_ns, beyond) in [(None, 1), (Some(5_000_000), 3), (Some(8_000_000), 2)] {
            assert_eq!(tail(&slice, limit_ns), SliceTail { count: 5, beyond }, "{limit_ns:?}");
        }
        assert_eq!(tail(&SliceEntry::default(), Some(1)), SliceTail::default());
    }
}
