//! Claims as limits of a share of the requests: `p99 < 5ms` holds if at most 1% of them fail or
//! take longer. The search for the highest rate judges its trials by such shares (METHOD 1.13).

use std::str::FromStr;

use weir_stats::SliceTail;

use super::claim::Assertion;
use super::confidence::Missing;
use super::estimate::estimate;
use super::metric::{AssertedMetric, AssertionError, Class, Figure, Time};
use super::scope::Scope;
use super::scoped::{self, ScopedMetric};
use weir_result::document::{Document, SliceEntry};
use weir_result::histogram::{HIGHEST_NS, bucket_of};
use weir_result::quantile::Bound;
use weir_result::{MessageShare, Plan};
use weir_text::brief;
use weir_text::setting::GROUP;

/// A claim that limits the share of requests that fail, or fail or take longer than a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareClaim {
    text: String,
    metric: ScopedMetric,
    share_max: f64,
    /// The limit of a percentile of the response time.
    slow_ns: Option<u64>,
}
impl FromStr for ShareClaim {
    type Err = AssertionError;

    /// Parses an upper limit of a percentile of the response time, or of `errors`: `p99 < 5ms`,
    /// `checkout: errors < 0.1%`.
    fn from_str(text: &str) -> Result<ShareClaim, AssertionError> {
        let claim: Assertion = text.parse()?;
        let refuse = |why: String| Err(AssertionError(why));
        let (_, limit) = scoped::split_name(text);
        let name = limit.split(['<', '>', '=', '!']).next().unwrap_or_default().trim();
        if !claim.comparison.is_upper() {
            return refuse(format!("'{}' is no upper limit; write it with <", claim.text));
        }
        let (share_max, slow_ns) = match claim.metric.metric {
            AssertedMetric::Time(
                Time::RESPONSE | Time::FIRST_MESSAGE | Time::GAP,
                Figure::Percentile(p),
            ) => {
                let limit_ns = (claim.limit as u64).min(HIGHEST_NS);
                (1.0 - p / 100.0, Some(limit_ns))
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
            AssertedMetric::Rate(_)
            | AssertedMetric::Count(_)
            | AssertedMetric::Under(_)
            | AssertedMetric::Path(_) => {
                return refuse(format!("{name} is no share of the requests; use p99 or errors"));
            }
        };
        // A duration of zero, or all of the requests, would make every rate bad, or good.
        if share_max >= 1.0 || slow_ns == Some(0) {
            return refuse(format!("'{}' does not depend on the rate", claim.text));
        }
        Ok(ShareClaim { text: claim.text, metric: claim.metric, share_max, slow_ns })
    }
}

impl ShareClaim {
    /// Returns the claim as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the name of the requests that the claim is about; `None` for the whole run.
    pub fn name(&self) -> Option<&str> {
        self.metric.name.as_deref()
    }

    /// Returns the limit of the share, between 0 and 1, both excluded.
    pub fn share_max(&self) -> f64 {
        self.share_max
    }

    /// Returns the response time in nanoseconds above which a request counts; `None` if only
    /// failures do.
    pub fn slow_ns(&self) -> Option<u64> {
        self.slow_ns
    }

    /// Checks that a plan has requests with the name that the claim is about, if it has one, and
    /// keeps their slices, which the claim is judged by.
    ///
    /// # Errors
    /// When it does not; the message has the nearest name, or the remedy.
    pub fn check(&self, plan: &Plan) -> Result<(), AssertionError> {
        let refuse = |why: String| AssertionError(format!("'{}': {why}", brief(&self.text)));
        let Some(name) = &self.metric.name else { return Ok(()) };
        let index = scoped::place(name, plan).map_err(refuse)?;
        let mut with = plan.list.iter().flat_map(|list| &list.with_intervals);
        if with.any(|with| usize::from(*with) == index) {
            return Ok(());
        }
        Err(refuse(format!(
            "a search needs slices, which only the names with the greatest weights have: give the \
             requests of '{}' more weight, or join other names ({GROUP})",
            brief(name)
        )))
    }

    /// Returns the share of the measured requests that the claim is about: 1 without a name.
    pub fn requests_share(&self, document: &Document) -> f64 {
        let planned = self.scope(document).map_or(0, |scope| scope.accounting.planned);
        planned as f64 / document.accounting.planned.max(1) as f64
    }

    fn scope<'d>(&self, document: &'d Document) -> Result<Scope<'d>, Missing> {
        Scope::of(self.metric.name.as_deref(), document)
    }

    /// Counts the measured requests of each slice, and of them those that violate the claim.
    /// Failures do; responses do if they take more than `allowance_ns` longer than the limit. Empty
    /// if the document has no slices of the requests.
    pub fn tails(&self, document: &Document, allowance_ns: u64) -> Vec<SliceTail> {
        let limit_ns = self.slow_ns.map(|limit_ns| limit_ns.saturating_add(allowance_ns));
        let slices = self.scope(document).map(|scope| scope.slices).unwrap_or_default();
        let of_message = match self.metric.metric {
            AssertedMetric::Time(Time::FIRST_MESSAGE, _) => first_message,
            AssertedMetric::Time(Time::GAP, _) => gap,
            _ => return slices.iter().map(|slice| tail(slice, limit_ns)).collect(),
        };
        slices.iter().map(|slice| tail(&of_message(slice), limit_ns)).collect()
    }

    /// Returns the time that the client may have added to the percentile, in nanoseconds: 0 if it
    /// did not inflate it, `u64::MAX` if that is not known.
    pub fn client_ns(&self, document: &Document) -> u64 {
        if self.slow_ns.is_none() {
            return 0;
        }
        let scope = self.scope(document);
        match scope.and_then(|scope| estimate(&self.metric.metric, &scope)) {
            Ok(found) if matches!(found.bound, Bound::Upper | Bound::Unknown) => {
                found.client_ns.unwrap_or(u64::MAX)
            }
            Ok(_) | Err(_) => 0,
        }
    }
}

/// Returns a slice with the times to the first message in the place of response times.
fn first_message(slice: &SliceEntry) -> SliceEntry {
    let MessageShare { first, without, .. } = slice.messages.clone().unwrap_or_default();
    SliceEntry { ok: first, not_ok: without, ..SliceEntry::default() }
}

/// Returns a slice with the gaps between messages in the place of response times.
fn gap(slice: &SliceEntry) -> SliceEntry {
    let MessageShare { gap, .. } = slice.messages.clone().unwrap_or_default();
    SliceEntry { ok: gap, ..SliceEntry::default() }
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
            ("first_message.p90 < 500ms", 0.1, Some(500_000_000)),
            ("gap.p99 < 50ms", 0.01, Some(50_000_000)),
            ("GET /a: p99 < 5ms", 0.01, Some(5_000_000)),
            ("a: b: errors < 0.1%", 0.001, None),
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
            ("a: max < 5ms", "use p99.99"),
            ("a: rate < 5k", "rate is no share"),
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
