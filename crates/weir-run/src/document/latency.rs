//! The times: summaries to read, and the histograms they came from, whole.
//!
//! A summary can be made again from the histograms beside it; nothing is only in the summary.

use serde::{Deserialize, Serialize};

use crate::encoding;
use crate::histogram::{Exact, Histogram, SparseHistogram};
use crate::measurements::{ByOutcome, Measurements};
use crate::quantile::{AllOutcomes, Bound, PERCENTILES, is_supported};

/// The times of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// From the planned time to the last byte. In a closed loop, where requests have no planned
    /// time, the same as `service_time`.
    pub response_time: Metric,
    /// From the send to the last byte.
    pub service_time: Metric,
    /// From the planned time to the send; empty in a closed loop.
    pub send_lag: Metric,
    /// Of the send lag: the client's own share.
    pub sched_lag: Metric,
    /// Of the send lag: waiting for a connection to become free.
    pub connection_wait: Metric,
    /// From the send to the first byte of the final answer, of `ok` requests.
    pub first_byte: Metric,
    /// Duration of every successful connect, renewals and warm-up included.
    pub connect: Metric,
    /// Duration of every successful TLS handshake, renewals and warm-up included; absent when
    /// there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_handshake: Option<Metric>,
}

/// One time over the measured requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Over `ok` requests.
    pub ok: Summary,
    /// Over all requests, every failure slower than any answer; absent when there is no failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<Summary>,
    /// The histograms.
    pub histograms: HistogramTexts,
    /// What buckets cannot tell exactly.
    pub exact: ExactByOutcome,
}

/// A distribution in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Requests in the percentiles and the greatest.
    pub count: u64,
    /// Least, exact; of answered requests. Null when there is none.
    pub min_ns: Option<u64>,
    /// Greatest, exact; a lower bound when there are failures. Null when there are no requests.
    pub max_ns: Option<u64>,
    /// Mean of answered requests, from the exact sum. Null when there is none.
    pub mean_ns: Option<f64>,
    /// Standard deviation of answered requests. Null when there is none.
    pub stdev_ns: Option<f64>,
    /// The percentiles that have at least ten requests beyond them, and the greatest.
    pub percentiles: Vec<PercentileValue>,
}

/// One percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PercentileValue {
    /// In percent.
    pub p: f64,
    /// Its value in nanoseconds, never less than the true one; for a lower bound never more.
    pub ns: u64,
    /// Whether it is the value or a lower bound.
    pub bound: Bound,
}

/// Histograms by outcome: HdrHistogram V2 with compression, in base64; 1 ns to 1 h, three digits.
/// Absent when empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HistogramTexts {
    /// Requests that ended as `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<String>,
    /// Requests that ended as `bad_response`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bad: Option<String>,
    /// Requests that ended as `transport_error`: when they failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<String>,
    /// Requests that timed out, were in flight at the end, or never sent: the age they reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub censored: Option<String>,
}

/// Exact figures by outcome, beside the histograms. Absent when empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExactByOutcome {
    /// Requests that ended as `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<ExactFigures>,
    /// Requests that ended as `bad_response`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bad: Option<ExactFigures>,
    /// Requests that ended as `transport_error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<ExactFigures>,
    /// Requests that timed out, were in flight at the end, or never sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub censored: Option<ExactFigures>,
}

/// What the buckets of a histogram cannot tell exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExactFigures {
    /// Values.
    pub count: u64,
    /// Least value in nanoseconds.
    pub min_ns: u64,
    /// Greatest value in nanoseconds.
    pub max_ns: u64,
    /// Sum in nanoseconds, as decimal digits: it may be more than a JSON number holds exactly.
    #[serde(with = "digits")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub sum_ns: u128,
    /// Of `count`: values beyond 1 h, which are in the last bucket.
    pub clipped: u64,
}

/// A histogram with its exact figures, as slices and the series have them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PackedHistogram {
    /// HdrHistogram V2 with compression, in base64.
    pub histogram: String,
    /// What its buckets cannot tell exactly.
    pub exact: ExactFigures,
}

impl Latency {
    pub(super) fn of(measurements: &Measurements) -> Latency {
        let alone = |histogram: &Histogram| {
            Metric::of(&ByOutcome { ok: histogram.clone(), ..ByOutcome::default() })
        };
        Latency {
            response_time: Metric::of(&measurements.response_time),
            service_time: Metric::of(&measurements.service_time),
            send_lag: Metric::of(&measurements.send_lag),
            sched_lag: alone(&measurements.sched_lag),
            connection_wait: alone(&measurements.connection_wait),
            first_byte: alone(&measurements.first_byte),
            connect: alone(&measurements.connect),
            tls_handshake: (!measurements.tls_handshake.is_empty())
                .then(|| alone(&measurements.tls_handshake)),
        }
    }
}

impl Metric {
    fn of(by_outcome: &ByOutcome) -> Metric {
        let text = |histogram: &Histogram| {
            (!histogram.is_empty()).then(|| encoding::encode(histogram.buckets()))
        };
        let ByOutcome { ok, bad, failed_at, censored } = by_outcome;
        Metric {
            ok: Summary::of_ok(ok),
            all: by_outcome.has_failures().then(|| Summary::of_all(by_outcome)),
            histograms: HistogramTexts {
                ok: text(ok),
                bad: text(bad),
                failed_at: text(failed_at),
                censored: text(censored),
            },
            exact: ExactByOutcome {
                ok: ExactFigures::of(ok.exact()),
                bad: ExactFigures::of(bad.exact()),
                failed_at: ExactFigures::of(failed_at.exact()),
                censored: ExactFigures::of(censored.exact()),
            },
        }
    }

    /// The summary to show first: over all requests, which is the one over `ok` requests when
    /// nothing failed.
    pub fn headline(&self) -> &Summary {
        self.all.as_ref().unwrap_or(&self.ok)
    }

    /// The histograms themselves. An error says what is wrong with a text.
    pub fn by_outcome(&self) -> Result<ByOutcome, String> {
        let HistogramTexts { ok, bad, failed_at, censored } = &self.histograms;
        let exact = &self.exact;
        Ok(ByOutcome {
            ok: unpack("ok", ok.as_deref(), exact.ok)?,
            bad: unpack("bad", bad.as_deref(), exact.bad)?,
            failed_at: unpack("failed_at", failed_at.as_deref(), exact.failed_at)?,
            censored: unpack("censored", censored.as_deref(), exact.censored)?,
        })
    }
}

fn unpack(
    class: &str,
    text: Option<&str>,
    exact: Option<ExactFigures>,
) -> Result<Histogram, String> {
    match (text, exact) {
        (None, None) => Ok(Histogram::new()),
        (Some(text), Some(exact)) => {
            decode(text, &exact).map_err(|why| format!("the histogram '{class}': {why}"))
        }
        _ => Err(format!("the histogram '{class}' lacks its text or its exact figures")),
    }
}

fn decode(text: &str, exact: &ExactFigures) -> Result<Histogram, String> {
    let buckets = encoding::decode(text).map_err(|error| error.to_string())?;
    Histogram::from_buckets(buckets, exact.to_exact()).map_err(str::to_owned)
}

impl Summary {
    fn of_ok(ok: &Histogram) -> Summary {
        let count = ok.count();
        let percentiles = supported(count)
            .filter_map(|p| {
                ok.percentile(p).map(|ns| PercentileValue { p, ns, bound: Bound::Exact })
            })
            .collect();
        Summary {
            count,
            min_ns: (count > 0).then_some(ok.exact().min_ns),
            max_ns: (count > 0).then_some(ok.exact().max_ns),
            mean_ns: ok.mean_ns(),
            stdev_ns: ok.stdev_ns(),
            percentiles,
        }
    }

    fn of_all(by_outcome: &ByOutcome) -> Summary {
        let all = AllOutcomes::of(by_outcome);
        let mut answered = by_outcome.ok.clone();
        answered.add(&by_outcome.bad);
        let percentiles = supported(all.count())
            .filter_map(|p| {
                // The greatest is exact beside the buckets, its bound too.
                let value = if p == 100.0 { all.max() } else { all.percentile(p) };
                value.map(|value| PercentileValue { p, ns: value.ns, bound: value.bound })
            })
            .collect();
        Summary {
            count: all.count(),
            min_ns: (!answered.is_empty()).then_some(answered.exact().min_ns),
            max_ns: all.max().map(|max| max.ns),
            mean_ns: answered.mean_ns(),
            stdev_ns: answered.stdev_ns(),
            percentiles,
        }
    }

    /// The value of percentile `p`, where the document lists it.
    pub fn percentile(&self, p: f64) -> Option<&PercentileValue> {
        self.percentiles.iter().find(|value| value.p == p)
    }
}

fn supported(count: u64) -> impl Iterator<Item = f64> {
    PERCENTILES.into_iter().filter(move |p| is_supported(*p, count))
}

impl ExactFigures {
    fn of(exact: &Exact) -> Option<ExactFigures> {
        let Exact { count, min_ns, max_ns, sum_ns, clipped } = *exact;
        (count > 0).then_some(ExactFigures { count, min_ns, max_ns, sum_ns, clipped })
    }

    fn to_exact(self) -> Exact {
        let ExactFigures { count, min_ns, max_ns, sum_ns, clipped } = self;
        Exact { count, min_ns, max_ns, sum_ns, clipped }
    }
}

impl PackedHistogram {
    pub(super) fn of(histogram: &Histogram) -> Option<PackedHistogram> {
        let exact = ExactFigures::of(histogram.exact())?;
        Some(PackedHistogram { histogram: encoding::encode(histogram.buckets()), exact })
    }

    pub(super) fn of_sparse(histogram: &SparseHistogram) -> Option<PackedHistogram> {
        let exact = ExactFigures::of(histogram.exact())?;
        Some(PackedHistogram { histogram: encoding::encode(histogram.buckets()), exact })
    }

    /// The histogram itself. An error says what is wrong with the text.
    pub fn unpack(&self) -> Result<Histogram, String> {
        decode(&self.histogram, &self.exact)
    }
}

/// A 128-bit number as a JSON string of decimal digits.
mod digits {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(number: &u128, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| de::Error::custom("a sum is not a number in decimal digits"))
    }
}
