//! Messages within responses (METHOD 1.26): those of a scope, and what only a run has, the goodput
//! and the times from kernel time stamps.

use serde::{Deserialize, Serialize};

use super::RateInterval;
use super::intervals::{Intervals, Selection};
use super::latency::Metric;
use super::rates::per_second;
use super::scope_span::ScopeSpan;
use crate::absent::is_default;
use crate::counters::{
    ByOutcome, GapDoubts, GoodputDoubts, MessageCounts, MessageShare, PromptLength, ResultCounts,
    Slice, StampedMessages, TokenCounts, TokenTotals,
};
use crate::measurements::Measurements;
use crate::plan::Plan;
use crate::quantile::Bound;
use weir_stats::histogram::Histogram;
#[cfg(feature = "schema")]
use weir_stats::histogram::PackedHistogram;

/// Messages within responses: what only a run counts of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessagesSection {
    /// Messages of the measured requests, whenever they arrived. With `plan.messages.tokens`, here
    /// and in all results only messages that carry a token.
    pub measured: u64,
    /// Measured requests with a message at least.
    pub streams: u64,
    /// Messages of the measured requests that carry no token; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub others: u64,
    /// Messages of the measured requests of which only the start was read, so that they do not
    /// count; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub too_long: u64,
    /// Errors within the streams of the measured requests; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub errors: u64,
    /// Messages of each `ok` request.
    pub per_response: CountSummary,
    /// Bytes of the messages of each `ok` request.
    pub bytes_per_response: CountSummary,
    /// Mean time from one message to the next of each `ok` request with two messages at least;
    /// absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_gap: Option<Metric>,
    /// Responses that met the conditions of `plan.messages.goodput`; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<GoodputSection>,
    /// Times of messages from kernel time stamps; absent if no message was stamped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps: Option<MessageStamps>,
    /// Tokens by the server's count; absent if it stated none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokensSection>,
}

/// Tokens of responses by the server's count. Their time is `latency.time_per_token`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokensSection {
    /// Tokens whose count arrived in the window.
    pub received: u64,
    /// `received` per second of the window.
    pub per_second: f64,
    /// 95% confidence interval of `per_second`; absent with few slices, and if the load changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<RateInterval>,
    /// Tokens of each `ok` request with a count.
    pub per_response: CountSummary,
    /// Time to the first message by the length of the prompt, of `ok` requests whose prompt the
    /// server has counted; absent if it has counted none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_by_prompt: Vec<FirstByPrompt>,
}

/// Time to the first message of the requests whose prompts are alike long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstByPrompt {
    /// Least number of tokens of these prompts: a power of 2, or 0.
    pub least: u64,
    /// Greatest number of tokens.
    pub greatest: u64,
    /// Time from the planned send to the first message.
    pub first: Metric,
}

/// Responses that met the conditions of the goodput.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GoodputSection {
    /// Measured requests whose response met them.
    pub good: u64,
    /// `good` as a share of the measured requests, 0 to 1.
    pub share: f64,
    /// Kind of bound of `good`, `share` and the rate, by the client's lateness.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bound: Bound,
    /// Range that holds the share without the client's lateness; absent if `bound` is `exact`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<ShareRange>,
    /// Responses that the client's lateness may have changed; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub doubts: GoodputDoubts,
    /// Responses completed in the window that met them.
    pub completed: u64,
    /// `completed` per second of the window.
    pub per_second: f64,
    /// 95% confidence interval of `per_second`; absent with few slices, and if the load changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<RateInterval>,
}

/// A range of a share, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareRange {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Times of messages on connections with kernel time stamps: how much of them is the client's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageStamps {
    /// Time to the first message without the client's lateness.
    pub first: Metric,
    /// The same up to the reception by the kernel: without the client's part.
    pub first_outside: Metric,
    /// Time from one message to the next.
    pub gap: Metric,
    /// The same between the receptions by the kernel: without the client's part.
    pub gap_outside: Metric,
    /// Difference of the two, of each gap, without its sign.
    pub gap_share: Metric,
}

/// Summary of a count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountSummary {
    /// Number of requests.
    pub count: u64,
    /// Least value; null if there are no requests.
    pub min: Option<u64>,
    /// Median; null if there are no requests.
    pub p50: Option<u64>,
    /// 99th percentile; null if there are no requests.
    pub p99: Option<u64>,
    /// Greatest value; null if there are no requests.
    pub max: Option<u64>,
    /// Mean; null if there are no requests.
    pub mean: Option<f64>,
    /// Histogram of the values, in the layout of times with 1 in the place of 1 ns; null if there
    /// are no requests.
    #[cfg_attr(feature = "schema", schemars(with = "Option<PackedHistogram>"))]
    pub histogram: Histogram,
}

/// Messages of the requests of one scope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScopeMessages {
    /// Messages received in the time of the scope: the window, or the stage.
    pub received: u64,
    /// Bytes of `received`, without framing.
    pub bytes: u64,
    /// `received` per second of this time.
    pub per_second: f64,
    /// 95% confidence interval of `per_second`; absent for a name without intervals, with few
    /// slices, and if the load changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<RateInterval>,
    /// `bytes` per second of this time.
    pub bytes_per_second: f64,
    /// Time from the planned send to the first message within the response, over all requests: one
    /// without a message counts as slower than any with one.
    pub first: Metric,
    /// Time from one message of a response to the next, over all messages but the first of each;
    /// absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Metric>,
    /// Responses that met the goodput, completed in this time; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub good: u64,
    /// Requests whose response met the goodput, by when they were due; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub good_due: u64,
    /// Tokens by the server's count, which arrived in this time; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tokens: u64,
    /// Tokens of the `ok` requests with the server's count; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<TokenTotals>,
    /// Time per token of the `ok` requests, per message without the server's count; absent if there
    /// are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_token: Option<Metric>,
    /// Marks of the end of a stream; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub end_marks: u64,
    /// `ok` requests with messages and without an end mark; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unmarked: u64,
    /// Of `unmarked`: requests that count as failed, since other streams of their name have an end
    /// mark; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unended: u64,
    /// Of `in_flight_at_end`: responses that were delivering messages, the last one within the
    /// timeout; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub open: u64,
    /// Of the gaps: those that the client may have changed; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub doubts: GapDoubts,
}

/// The times of messages, with their intervals.
struct MessageTimes {
    first: Metric,
    /// None without gaps.
    gap: Option<Metric>,
}

impl MessageTimes {
    /// Summarizes the times whose shares are in `slices`. `first` is their sum.
    fn within(first: &ByOutcome, slices: &[Slice], span: ScopeSpan) -> MessageTimes {
        let length_s = span.length_ns as f64 / 1e9;
        let intervals = |times: &ByOutcome, slices: &[Slice], column| {
            let all = Intervals::of_slices(times, slices, column, length_s);
            // The slices of a load that changes are no samples of one distribution.
            if span.is_one_load { all } else { all.support_only() }
        };
        let firsts = of_slices(slices, |share| (share.first.clone(), share.without.clone()));
        let [ok, all] = [Selection::Ok, Selection::All].map(|of| intervals(first, &firsts, of));
        let gaps = of_slices(slices, |share| (share.gap.clone(), Histogram::new()));
        let mut gap = Histogram::new();
        gaps.iter().for_each(|slice| gap.add(&slice.ok));
        let gap = ByOutcome { ok: gap, ..ByOutcome::default() };
        let of_gap = intervals(&gap, &gaps, Selection::Ok);
        let gap = (!gap.ok.is_empty()).then(|| Metric::of(&gap, &of_gap, &of_gap));
        MessageTimes { first: Metric::of(first, &ok, &all), gap }
    }
}

/// Returns slices that hold a time of messages, in the place of the response time.
fn of_slices(slices: &[Slice], of: impl Fn(&MessageShare) -> (Histogram, Histogram)) -> Vec<Slice> {
    let times = |slice: &Slice| {
        let (ok, not_ok) = slice.messages.as_ref().map(&of).unwrap_or_default();
        Slice { start_ns: slice.start_ns, end_ns: slice.end_ns, ok, not_ok, ..Slice::default() }
    };
    slices.iter().map(times).collect()
}

/// Returns the times to the first message of a share, by outcome.
fn first_of(share: &MessageShare) -> ByOutcome {
    let ok = share.first.clone();
    let censored = share.without.clone();
    ByOutcome { ok, censored, ..ByOutcome::default() }
}

/// Returns a count of a slice's share.
fn of_share(slice: &Slice, count: fn(&MessageShare) -> u64) -> u64 {
    slice.messages.as_ref().map_or(0, count)
}

impl MessagesSection {
    /// Returns the section of a run whose window is `window_ns` long; `None` if it measured no
    /// messages.
    pub(super) fn of(
        plan: &Plan,
        measured: &Measurements,
        window_ns: u64,
    ) -> Option<MessagesSection> {
        let counts = measured.messages.as_ref()?;
        let share = measured.results.messages.clone().unwrap_or_default();
        let interval = |count: fn(&Slice) -> u64| {
            let rate = || RateInterval::of(&measured.slices, window_ns, count);
            plan.load.is_one_load().then(rate).flatten()
        };
        let has_goodput = plan.messages.as_ref().is_some_and(|messages| messages.goodput.is_some());
        let goodput = has_goodput.then(|| GoodputSection {
            good: share.good_due,
            share: share.good_due as f64 / measured.results.planned.max(1) as f64,
            bound: Bound::Exact,
            range: None,
            doubts: counts.good_doubts.clone(),
            completed: share.good,
            per_second: per_second(share.good, window_ns),
            interval: interval(|slice| of_share(slice, |share| share.good)),
        });
        Some(MessagesSection {
            measured: counts.measured,
            streams: share.first.count(),
            others: counts.others,
            too_long: counts.too_long,
            errors: counts.errors,
            per_response: CountSummary::of(&counts.per_response),
            bytes_per_response: CountSummary::of(&counts.bytes_per_response),
            mean_gap: (!counts.mean_gap.is_empty()).then(|| Metric::of_one(&counts.mean_gap)),
            goodput,
            stamps: MessageStamps::of(&counts.stamped),
            tokens: TokensSection::of(&counts.tokens, window_ns, || {
                interval(|slice| of_share(slice, |share| share.tokens))
            }),
        })
    }

    /// Returns the counts that the section was made of. The error is the place and the fault of a
    /// histogram.
    pub(super) fn to_counts(&self) -> Result<MessageCounts, String> {
        let alone = |metric: &Metric| metric.alone("messages.mean_gap");
        let mean_gap = self.mean_gap.as_ref().map(alone).transpose()?;
        let stamped = self.stamps.as_ref().map(MessageStamps::to_stamped).transpose()?;
        let tokens = self.tokens.as_ref().map(TokensSection::to_counts).transpose()?;
        Ok(MessageCounts {
            measured: self.measured,
            others: self.others,
            too_long: self.too_long,
            errors: self.errors,
            good_doubts: self.goodput.as_ref().map(|it| it.doubts.clone()).unwrap_or_default(),
            mean_gap: mean_gap.unwrap_or_default(),
            per_response: self.per_response.histogram.clone(),
            bytes_per_response: self.bytes_per_response.histogram.clone(),
            stamped: stamped.unwrap_or_default(),
            tokens: tokens.unwrap_or_default(),
        })
    }
}

impl TokensSection {
    fn of(
        counts: &TokenCounts,
        window_ns: u64,
        interval: impl FnOnce() -> Option<RateInterval>,
    ) -> Option<TokensSection> {
        let is_there = counts.received > 0 || !counts.per_response.is_empty();
        is_there.then(|| TokensSection {
            received: counts.received,
            per_second: per_second(counts.received, window_ns),
            interval: interval(),
            per_response: CountSummary::of(&counts.per_response),
            first_by_prompt: FirstByPrompt::all(&counts.first_by_prompt),
        })
    }

    fn to_counts(&self) -> Result<TokenCounts, String> {
        Ok(TokenCounts {
            received: self.received,
            per_response: self.per_response.histogram.clone(),
            first_by_prompt: FirstByPrompt::to_counts(&self.first_by_prompt)?,
        })
    }
}

impl FirstByPrompt {
    /// Returns those of the lengths that there were, in ascending order.
    fn all(times: &[Histogram]) -> Vec<FirstByPrompt> {
        let there = times.iter().enumerate().filter(|(_, times)| !times.is_empty());
        let of = |(index, times): (usize, &Histogram)| {
            let [least, greatest] = PromptLength::limits(index);
            FirstByPrompt { least, greatest, first: Metric::of_one(times) }
        };
        there.map(of).collect()
    }

    fn to_counts(all: &[FirstByPrompt]) -> Result<Vec<Histogram>, String> {
        let mut counts: Vec<Histogram> = Vec::new();
        for FirstByPrompt { least, first, .. } in all {
            let length = PromptLength::of(u32::try_from(*least).unwrap_or(u32::MAX));
            let times = first.alone("messages.tokens.first_by_prompt")?;
            counts.resize_with(counts.len().max(length.index() + 1), Histogram::new);
            counts[length.index()].add(&times);
        }
        Ok(counts)
    }
}

impl MessageStamps {
    fn of(stamped: &StampedMessages) -> Option<MessageStamps> {
        (!stamped.first.is_empty() || !stamped.gap.is_empty()).then(|| MessageStamps {
            first: Metric::of_one(&stamped.first),
            first_outside: Metric::of_one(&stamped.first_outside),
            gap: Metric::of_one(&stamped.gap),
            gap_outside: Metric::of_one(&stamped.gap_outside),
            gap_share: Metric::of_one(&stamped.gap_share),
        })
    }

    fn to_stamped(&self) -> Result<StampedMessages, String> {
        let alone = |name: &str, metric: &Metric| metric.alone(&format!("messages.stamps.{name}"));
        Ok(StampedMessages {
            first: alone("first", &self.first)?,
            first_outside: alone("first_outside", &self.first_outside)?,
            gap: alone("gap", &self.gap)?,
            gap_outside: alone("gap_outside", &self.gap_outside)?,
            gap_share: alone("gap_share", &self.gap_share)?,
        })
    }
}

impl CountSummary {
    fn of(histogram: &Histogram) -> CountSummary {
        let exact = histogram.exact();
        let known = |value: u64| (!histogram.is_empty()).then_some(value);
        CountSummary {
            count: histogram.count(),
            min: known(exact.min_ns),
            p50: histogram.percentile(50.0),
            p99: histogram.percentile(99.0),
            max: known(exact.max_ns),
            mean: histogram.mean_ns(),
            histogram: histogram.clone(),
        }
    }
}

impl ScopeMessages {
    /// Returns the messages of a scope; `None` if they are not measured. `slices` are its shares of
    /// slices; none for a name without intervals.
    pub(super) fn of(
        counts: &ResultCounts,
        slices: &[Slice],
        span: ScopeSpan,
    ) -> Option<ScopeMessages> {
        let share = counts.messages.as_ref()?;
        let MessageTimes { first, gap: of_slices } =
            MessageTimes::within(&first_of(share), slices, span);
        let gap = (!share.gap.is_empty()).then(|| Metric::of_one(&share.gap));
        let received = |slice: &Slice| of_share(slice, |share| share.received);
        let interval = || RateInterval::of(slices, span.length_ns, received);
        Some(ScopeMessages {
            received: share.received,
            bytes: share.bytes,
            per_second: per_second(share.received, span.length_ns),
            interval: span.is_one_load.then(interval).flatten(),
            bytes_per_second: per_second(share.bytes, span.length_ns),
            first,
            gap: of_slices.or(gap),
            good: share.good,
            good_due: share.good_due,
            tokens: share.tokens,
            totals: share.totals.as_deref().copied(),
            per_token: share.per_token.as_deref().map(Metric::of_one),
            end_marks: share.end_marks,
            unmarked: share.unmarked,
            unended: if share.end_marks > 0 { share.unmarked } else { 0 },
            open: share.open,
            doubts: share.doubts.clone(),
        })
    }

    pub(super) fn to_share(&self) -> MessageShare {
        let per_token = self.per_token.as_ref().map(|times| Box::new(times.times.ok.clone()));
        MessageShare {
            first: self.first.times.ok.clone(),
            without: self.first.times.censored.clone(),
            gap: self.gap.as_ref().map(|gap| gap.times.ok.clone()).unwrap_or_default(),
            received: self.received,
            bytes: self.bytes,
            good: self.good,
            good_due: self.good_due,
            tokens: self.tokens,
            totals: self.totals.map(Box::new),
            per_token,
            end_marks: self.end_marks,
            unmarked: self.unmarked,
            open: self.open,
            doubts: self.doubts.clone(),
        }
    }
}
