//! Claims as limits of a share of the requests: `p99 < 5ms` holds if at most 1% of them fail or
//! take longer. The search for the highest rate judges its trials by such shares (METHOD 1.13).

use std::str::FromStr;

use weir_stats::SliceTail;

use super::claim::Assertion;
use super::comparison::Relation;
use super::confidence::Missing;
use super::estimate::estimate;
use super::metric::{AssertedMetric, AssertionError, Class, Figure, Time};
use super::scope::Scope;
use super::scoped::{self, ScopedMetric};
use weir_result::document::{Document, SliceEntry};
use weir_result::histogram::{HIGHEST_NS, bucket_of};
use weir_result::quantile::{Bound, PERCENTILES};
use weir_result::{Histogram, MessageShare, Plan};
use weir_text::brief;
use weir_text::setting::GROUP;

/// A claim that limits the share of requests that violate it: they fail, take longer than a limit,
/// or miss the goodput.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareClaim {
    text: String,
    metric: ScopedMetric,
    share_max: f64,
    /// The limit of a time.
    slow_ns: Option<u64>,
}

impl FromStr for ShareClaim {
    type Err = AssertionError;

    /// Parses an upper limit of a percentile of a time that slices have, or of `errors`, or a lower
    /// one of requests within a time, or of the goodput: `p99 < 5ms`, `checkout: errors < 0.1%`,
    /// `under 50ms > 99%`, `goodput > 95%`.
    fn from_str(text: &str) -> Result<ShareClaim, AssertionError> {
        let claim: Assertion = text.parse()?;
        let refuse = |why: String| Err(AssertionError(why));
        let (_, limit) = scoped::split_name(text);
        let name = limit.split(['<', '>', '=', '!']).next().unwrap_or_default().trim();
        let is_lower = matches!(claim.comparison, Relation::More | Relation::AtLeast);
        let (share_max, slow_ns) = match claim.metric.metric {
            AssertedMetric::Under(_) | AssertedMetric::Goodput if !is_lower => {
                return refuse(format!("'{}' is no lower limit; write it with >", claim.text));
            }
            AssertedMetric::Under(limit_ns) => (1.0 - claim.limit, Some(limit_ns.min(HIGHEST_NS))),
            AssertedMetric::Goodput => (1.0 - claim.limit, None),
            _ if !claim.comparison.is_upper() => {
                return refuse(format!("'{}' is no upper limit; write it with <", claim.text));
            }
            AssertedMetric::Time(
                Time::RESPONSE | Time::FIRST_MESSAGE | Time::GAP | Time::PER_TOKEN,
                Figure::Percentile(p),
            ) => {
                let limit_ns = (claim.limit as u64).min(HIGHEST_NS);
                (1.0 - p / 100.0, Some(limit_ns))
            }
            AssertedMetric::Share(Class::Errors) => (claim.limit, None),
            AssertedMetric::Time(Time::RESPONSE, Figure::Max) => {
                return refuse("no number of requests shows a maximum; use p99.99".to_owned());
            }
            AssertedMetric::Time(
                Time::RESPONSE | Time::FIRST_MESSAGE | Time::GAP | Time::PER_TOKEN,
                _,
            ) => {
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
        if share_max >= 1.0 || slow_ns == Some(0) {
            return refuse(format!("'{}' does not depend on the rate", claim.text));
        }
        if share_max <= 0.0 {
            return refuse(format!("no number of requests shows '{}'; use 99.9%", claim.text));
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

    /// Returns the time in nanoseconds above which a request counts; `None` if failures or the
    /// goodput decide.
    pub fn slow_ns(&self) -> Option<u64> {
        self.slow_ns
    }

    /// True if a request whose response is still awaited violates nothing yet.
    pub fn needs_ends(&self) -> bool {
        self.slow_ns.is_none()
            || matches!(self.metric.metric, AssertedMetric::Time(Time::PER_TOKEN, _))
    }

    /// Returns what the time is of, for a sentence: empty for the response time.
    pub fn of_time(&self) -> &'static str {
        match self.metric.metric {
            AssertedMetric::Time(Time::FIRST_MESSAGE, _) => " to the first message",
            AssertedMetric::Time(Time::GAP, _) => " between two messages",
            AssertedMetric::Time(Time::PER_TOKEN, _) => " per token",
            _ => "",
        }
    }

    /// True if the claim is about the goodput.
    pub fn is_of_goodput(&self) -> bool {
        self.metric.metric == AssertedMetric::Goodput
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
        let planned = self.scope(document).map_or(0, |scope| scope.results.planned);
        planned as f64 / document.results.planned.max(1) as f64
    }

    fn scope<'d>(&self, document: &'d Document) -> Result<Scope<'d>, Missing> {
        Scope::of(self.metric.name.as_deref(), document)
    }

    /// Counts the measured requests of each slice, and of them those that violate the claim:
    /// failures, and responses that take longer than the limit or miss the goodput. Empty if the
    /// document has no slices of the requests.
    pub fn tails(&self, document: &Document) -> Vec<SliceTail> {
        self.tails_beyond(document, self.slow_ns)
    }

    fn tails_beyond(&self, document: &Document, limit_ns: Option<u64>) -> Vec<SliceTail> {
        let slices = self.scope(document).map(|scope| scope.slices).unwrap_or_default();
        let tail_of = |slice: &SliceEntry| match &self.metric.metric {
            AssertedMetric::Time(Time::RESPONSE, _)
            | AssertedMetric::Share(_)
            | AssertedMetric::Under(_) => tail(slice, limit_ns),
            metric => match &slice.messages {
                Some(messages) => tail_of_messages(metric, slice, messages, limit_ns),
                // Without a message none has such a time, however long it is waited for.
                None => all_beyond(slice),
            },
        };
        slices.iter().map(tail_of).collect()
    }

    /// Counts as [`ShareClaim::tails`] does, without what the client may have added.
    pub fn tails_outside(&self, document: &Document) -> Vec<SliceTail> {
        let goodput = document.messages.as_ref().and_then(|messages| messages.goodput.as_ref());
        if let Some(goodput) = goodput.filter(|_| self.is_of_goodput()) {
            let good = goodput.range.map_or(goodput.share, |range| range.high);
            let count = document.results.planned;
            return vec![SliceTail { count, beyond: ((1.0 - good) * count as f64) as u64 }];
        }
        let client_ns = self.client_ns(document);
        self.tails_beyond(document, self.slow_ns.map(|ns| ns.saturating_add(client_ns)))
    }

    /// Returns the time that the client may have added to the percentile, in nanoseconds: 0 if it
    /// did not inflate it, `u64::MAX` if that is not known.
    fn client_ns(&self, document: &Document) -> u64 {
        if self.slow_ns.is_none() {
            return 0;
        }
        let scope = self.scope(document);
        let found = match self.metric.metric {
            AssertedMetric::Under(_) => {
                let p = nearest_percentile(1.0 - self.share_max);
                let metric = AssertedMetric::Time(Time::RESPONSE, Figure::Percentile(p));
                scope.and_then(|scope| estimate(&metric, &scope))
            }
            ref metric => scope.and_then(|scope| estimate(metric, &scope)),
        };
        match found {
            Ok(found) if matches!(found.bound, Bound::Upper | Bound::Unknown) => {
                found.client_ns.unwrap_or(u64::MAX)
            }
            Ok(_) | Err(_) => 0,
        }
    }
}

/// Returns the percentile that documents list and that is nearest to a share.
fn nearest_percentile(share: f64) -> f64 {
    let distance = |p: &f64| (p / 100.0 - share).abs();
    let nearest = PERCENTILES.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.expect("documents list percentiles")
}

/// Counts the requests of a slice by their messages.
fn tail_of_messages(
    metric: &AssertedMetric,
    slice: &SliceEntry,
    messages: &MessageShare,
    limit_ns: Option<u64>,
) -> SliceTail {
    let of = |ok: &Histogram, not_ok: &Histogram| {
        let ok = ok.clone();
        let not_ok = not_ok.clone();
        tail(&SliceEntry { ok, not_ok, ..SliceEntry::default() }, limit_ns)
    };
    match metric {
        AssertedMetric::Time(Time::FIRST_MESSAGE, _) => of(&messages.first, &messages.without),
        AssertedMetric::Time(Time::GAP, _) => of(&messages.gap, &Histogram::new()),
        AssertedMetric::Time(..) => {
            let none = Histogram::new();
            of(messages.per_token.as_deref().unwrap_or(&none), &slice.not_ok)
        }
        _ => {
            let SliceTail { count, .. } = all_beyond(slice);
            SliceTail { count, beyond: count.saturating_sub(messages.good_due) }
        }
    }
}

/// Counts the requests of a slice, all of which violate.
fn all_beyond(slice: &SliceEntry) -> SliceTail {
    let count = slice.ok.count() + slice.not_ok.count();
    SliceTail { count, beyond: count }
}

/// Counts the requests of a slice, and those that failed or took longer than `limit_ns`.
fn tail(slice: &SliceEntry, limit_ns: Option<u64>) -> SliceTail {
    let ok = slice.ok.count();
    let failed = slice.not_ok.count();
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

    #[test]
    fn upper_limits_of_shares_are_claims() {
        for (text, share_max, slow_ns) in [
            ("p99 < 5ms", 0.01, Some(5_000_000)),
            (" p99.9<=1s ", 0.001, Some(1_000_000_000)),
            ("response.p50 < 100us", 0.5, Some(100_000)),
            ("errors < 0.1%", 0.001, None),
            ("first_message.p90 < 500ms", 0.1, Some(500_000_000)),
            ("gap.p99 < 50ms", 0.01, Some(50_000_000)),
            ("tpot.p99 < 50ms", 0.01, Some(50_000_000)),
            ("under 50ms > 99%", 0.01, Some(50_000_000)),
            ("a: under 50ms >= 90%", 0.1, Some(50_000_000)),
            ("goodput > 95%", 0.05, None),
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
            ("under 50ms < 99%", "write it with >"),
            ("goodput < 99%", "write it with >"),
            ("goodput >= 100%", "use 99.9%"),
            ("under 50ms >= 0%", "no run is long enough"),
            ("tpot.mean < 50ms", "use p50 or p99"),
            ("mean_gap.p99 < 50ms", "use p99"),
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
        // A request without a token, or that failed, is slower than any per token.
        let messages = MessageShare {
            per_token: Some(Box::new(histogram(&[1_000, 9_000_000]))),
            good_due: 2,
            ..MessageShare::default()
        };
        let with = SliceEntry { messages: Some(messages), ..slice.clone() };
        for (text, slice, count, beyond) in [
            ("tpot.p50 < 5ms", &with, 3, 2),
            ("goodput > 50%", &with, 5, 3),
            ("under 5ms > 50%", &with, 5, 3),
            ("tpot.p50 < 5ms", &slice, 5, 5),
            ("ttft.p50 < 5ms", &slice, 5, 5),
            ("goodput > 50%", &slice, 5, 5),
        ] {
            let claim: ShareClaim = text.parse().expect(text);
            let document = Document { slices: vec![slice.clone()], ..Document::default() };
            assert_eq!(claim.tails(&document), [SliceTail { count, beyond }], "{text}");
        }
    }
}
