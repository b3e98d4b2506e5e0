//! The times: summaries to read, and the complete histograms behind them.
//!
//! A summary can be computed again from its histograms; it holds nothing else.

use serde::{Deserialize, Serialize};

use super::intervals::Intervals;
use super::summary::Summary;
use crate::counters::ByOutcome;
use crate::measurements::Measurements;
use weir_stats::histogram::decode;
use weir_stats::histogram::{Exact, Histogram};

/// Declares a section of times. Each field has the name of its times in [`Measurements`], and
/// stores them by [`StoredTimes`]; sums and names are of the same list.
macro_rules! times {
    (
        $(#[$meta:meta])*
        pub struct $Section:ident {
            $($(#[$about:meta])* pub $time:ident: $Stored:ty,)*
        }
    ) => {
        $(#[$meta])*
        pub struct $Section {
            $($(#[$about])* pub $time: $Stored,)*
        }

        impl $Section {
            /// Names of the times.
            pub const NAMES: &[&str] = &[$(stringify!($time)),*];

            /// Returns the time of a name of [`Self::NAMES`]; `None` if the run has none.
            pub fn named(&self, name: &str) -> Option<&Metric> {
                match name {
                    $(stringify!($time) => Option::from(&self.$time),)*
                    _ => None,
                }
            }

            /// Returns each histogram of the times, with the name of its time.
            pub(super) fn histograms(of: &Measurements) -> Vec<(&'static str, &Histogram)> {
                let times = [$((stringify!($time), of.$time.classes())),*].into_iter();
                times.flat_map(|(name, of)| of.into_iter().map(move |of| (name, of))).collect()
            }

            /// Summarizes the times, without intervals.
            fn store(measurements: &Measurements) -> $Section {
                $Section { $($time: StoredTimes::store(&measurements.$time),)* }
            }

            /// Copies the times into `measurements`. The error is the place and the fault of a
            /// histogram.
            fn restore_each(&self, measurements: &mut Measurements) -> Result<(), String> {
                $(
                    let place = concat!("latency.", stringify!($time));
                    measurements.$time = self.$time.restore(place)?;
                )*
                Ok(())
            }
        }
    };
}

times! {
    /// Times of requests and connects beside those of the [results](super::Results).
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct Latency {
        /// Time from the planned to the actual send; empty in a closed loop.
        pub send_lag: Metric,
        /// Of `send_lag`: lateness of the client itself.
        pub sched_lag: Metric,
        /// Of `send_lag`: waiting for a connection to become free.
        pub connection_wait: Metric,
        /// Response time of `ok` requests without `sched_lag`; absent in a closed loop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub unlagged: Option<Metric>,
        /// Time from the send to the first byte of the final response, of `ok` requests.
        pub first_byte: Metric,
        /// Time from the first to the last message that counts, over the number of tokens less one
        /// by the server's count, of `ok` requests; absent without such counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub time_per_token: Option<Metric>,
        /// Time from the planned send to the first message of the reasoning, of `ok` requests with
        /// one; absent if there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub first_reasoning: Option<Metric>,
        /// Time from the planned send to the first message of the answer, of `ok` requests with
        /// one; absent if there are none, or if no place of tokens is of the reasoning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub first_answer: Option<Metric>,
        /// Duration of every successful connect, renewals and warm-up included.
        pub connect: Metric,
        /// Of `connect`: connects before the schedule's start; absent if all were, so that it
        /// equals `connect`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub connect_setup: Option<Metric>,
        /// Of `connect`: connects up inside the window; absent if there were none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub connect_window: Option<Metric>,
        /// Time from the start of the connect until the connection was open for requests (TLS and
        /// the settings of HTTP/2 included), of connections that were opened during the load
        /// because no other had room; absent if there were none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub connect_grown: Option<Metric>,
        /// Duration of every successful TLS handshake, renewals and warm-up included; absent if
        /// there was none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tls_handshake: Option<Metric>,
        /// Time from the end of the connect, or of the TLS handshake, to the server's settings, of
        /// every connection of HTTP/2, renewals and warm-up included; absent if there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub opening: Option<Metric>,
        /// Time from one message to the next on a WebSocket connection, of the messages that the
        /// server sent by itself and that were read inside the window; absent if there were none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub push_gap: Option<Metric>,
    }
}

/// Distribution of one time over the measured requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "StoredMetric", try_from = "StoredMetric")]
pub struct Metric {
    /// Summary over `ok` requests.
    pub ok: Summary,
    /// Summary over all requests, every failure slower than any response; `None` if there is no
    /// failure.
    pub all: Option<Summary>,
    /// Histograms that the summaries are computed from.
    pub times: ByOutcome,
}

impl Latency {
    /// Summarizes the times.
    pub(super) fn of(measurements: &Measurements) -> Latency {
        let mut latency = Latency::store(measurements);
        if measurements.connect_setup.count() >= measurements.connect.count() {
            latency.connect_setup = None;
        }
        latency
    }

    /// Copies the times into `measurements`. The error is the place and the fault of a histogram.
    pub(super) fn restore(&self, measurements: &mut Measurements) -> Result<(), String> {
        self.restore_each(measurements)?;
        if self.connect_setup.is_none() {
            // All connects were before the schedule's start.
            measurements.connect_setup = measurements.connect.clone();
        }
        Ok(())
    }
}

/// Times as they are measured.
trait Classes {
    /// Returns the histogram of each class.
    fn classes(&self) -> Vec<&Histogram>;
}

impl Classes for Histogram {
    fn classes(&self) -> Vec<&Histogram> {
        vec![self]
    }
}

impl Classes for ByOutcome {
    fn classes(&self) -> Vec<&Histogram> {
        self.by_class().into()
    }
}

/// A form in which the document stores the times `T`.
trait StoredTimes<T>: Sized {
    /// Stores the times.
    fn store(times: &T) -> Self;

    /// Returns the times. The error is `place` and the fault of a histogram.
    fn restore(&self, place: &str) -> Result<T, String>;
}

impl StoredTimes<ByOutcome> for Metric {
    fn store(times: &ByOutcome) -> Metric {
        Metric::of(times, &Intervals::default(), &Intervals::default())
    }

    fn restore(&self, _place: &str) -> Result<ByOutcome, String> {
        Ok(self.times.clone())
    }
}

/// Absent without values.
impl StoredTimes<ByOutcome> for Option<Metric> {
    fn store(times: &ByOutcome) -> Option<Metric> {
        let is_there = !times.ok.is_empty() || times.has_failures();
        is_there.then(|| Metric::of(times, &Intervals::default(), &Intervals::default()))
    }

    fn restore(&self, _place: &str) -> Result<ByOutcome, String> {
        Ok(self.as_ref().map(|metric| metric.times.clone()).unwrap_or_default())
    }
}

/// A time that only `ok` requests have, or that belongs to no request.
impl StoredTimes<Histogram> for Metric {
    fn store(times: &Histogram) -> Metric {
        Metric::of_one(times)
    }

    fn restore(&self, place: &str) -> Result<Histogram, String> {
        self.alone(place)
    }
}

/// Absent without values.
impl StoredTimes<Histogram> for Option<Metric> {
    fn store(times: &Histogram) -> Option<Metric> {
        (!times.is_empty()).then(|| Metric::of_one(times))
    }

    fn restore(&self, place: &str) -> Result<Histogram, String> {
        self.as_ref().map_or_else(|| Ok(Histogram::new()), |metric| metric.alone(place))
    }
}

impl Metric {
    pub(super) fn of(by_outcome: &ByOutcome, of_ok: &Intervals, of_all: &Intervals) -> Metric {
        let ok = Summary::of_ok(&by_outcome.ok, of_ok);
        let all = by_outcome.has_failures().then(|| Summary::of_all(by_outcome, of_all));
        Metric { ok, all, times: by_outcome.clone() }
    }

    /// Creates the metric of a time that only `ok` requests have, or that belongs to no request.
    pub(super) fn of_one(histogram: &Histogram) -> Metric {
        let by_outcome = ByOutcome { ok: histogram.clone(), ..ByOutcome::default() };
        Metric::of(&by_outcome, &Intervals::default(), &Intervals::default())
    }

    /// Returns the histogram of a time that has one class alone. `place` is its name in errors.
    pub(super) fn alone(&self, place: &str) -> Result<Histogram, String> {
        if self.times.has_failures() {
            return Err(format!("{place}: it has classes other than ok"));
        }
        Ok(self.times.ok.clone())
    }

    /// True if there is no time of any class.
    pub fn is_empty(&self) -> bool {
        self.times.by_class().iter().all(|times| times.is_empty())
    }

    /// Returns the summary to show first: over all requests, which is the one over `ok` requests if
    /// nothing failed.
    pub fn headline(&self) -> &Summary {
        self.all.as_ref().unwrap_or(&self.ok)
    }
}

/// Distribution of one time over the measured requests.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Metric"))]
struct StoredMetric {
    /// p50 in nanoseconds, over all requests. `all` and `ok` give the kind of bound of this field
    /// and the next four. Absent if no request lies beyond it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p50_ns: Option<u64>,
    /// p90 in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p90_ns: Option<u64>,
    /// p99 in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p99_ns: Option<u64>,
    /// p99.9 in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p99_9_ns: Option<u64>,
    /// Greatest time in nanoseconds. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_ns: Option<u64>,
    /// Summary over `ok` requests.
    ok: Summary,
    /// Summary over all requests, every failure slower than any response; absent if there is no
    /// failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    all: Option<Summary>,
    /// Histograms that the summaries are computed from.
    histograms: HistogramTexts,
    /// Figures that the histograms hold only approximately.
    exact: ExactByOutcome,
}

/// Histograms by outcome: HdrHistogram V2 with compression, in base64; 1 ns to 1 h, three digits.
/// Absent if empty.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct HistogramTexts {
    /// Requests that ended as `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<String>,
    /// Requests that ended as `bad_response`.
    #[serde(skip_serializing_if = "Option::is_none")]
    bad: Option<String>,
    /// Requests that ended as `transport_error`: their age at the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_at: Option<String>,
    /// Requests that timed out, were in flight at the end, or were never sent: the age they
    /// reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    censored: Option<String>,
}

/// Exact figures by outcome, beside the histograms. Absent if empty.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ExactByOutcome {
    /// Requests that ended as `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<Exact>,
    /// Requests that ended as `bad_response`.
    #[serde(skip_serializing_if = "Option::is_none")]
    bad: Option<Exact>,
    /// Requests that ended as `transport_error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_at: Option<Exact>,
    /// Requests that timed out, were in flight at the end, or never sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    censored: Option<Exact>,
}

impl From<Metric> for StoredMetric {
    fn from(metric: Metric) -> StoredMetric {
        let at = |p| metric.headline().percentile(p).map(|value| value.ns);
        let classes = metric.times.by_class();
        let text = |times: &Histogram| (!times.is_empty()).then(|| times.to_text());
        let [ok, bad, failed_at, censored] = classes.map(text);
        let histograms = HistogramTexts { ok, bad, failed_at, censored };
        let [ok, bad, failed_at, censored] = classes.map(|times| times.exact().known());
        let exact = ExactByOutcome { ok, bad, failed_at, censored };
        StoredMetric {
            p50_ns: at(50.0),
            p90_ns: at(90.0),
            p99_ns: at(99.0),
            p99_9_ns: at(99.9),
            max_ns: metric.headline().max_ns,
            histograms,
            exact,
            ok: metric.ok,
            all: metric.all,
        }
    }
}

/// The error is the fault of a histogram.
impl TryFrom<StoredMetric> for Metric {
    type Error = String;

    fn try_from(stored: StoredMetric) -> Result<Metric, String> {
        let HistogramTexts { ok, bad, failed_at, censored } = &stored.histograms;
        let exact = &stored.exact;
        let times = ByOutcome {
            ok: unpack("ok", ok.as_deref(), exact.ok)?,
            bad: unpack("bad", bad.as_deref(), exact.bad)?,
            failed_at: unpack("failed_at", failed_at.as_deref(), exact.failed_at)?,
            censored: unpack("censored", censored.as_deref(), exact.censored)?,
        };
        Ok(Metric { ok: stored.ok, all: stored.all, times })
    }
}

fn unpack(class: &str, text: Option<&str>, exact: Option<Exact>) -> Result<Histogram, String> {
    match (text, exact) {
        (None, None) => Ok(Histogram::new()),
        (Some(text), Some(exact)) => {
            decode(text, &exact).map_err(|why| format!("the histogram '{class}': {why}"))
        }
        _ => Err(format!("the histogram '{class}' lacks its text or its exact figures")),
    }
}
