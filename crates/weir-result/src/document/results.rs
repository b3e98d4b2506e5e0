//! Results of the requests of one scope: all of a run, those with one name, those due in one stage,
//! or both. Each scope has the same ones, and those of names, and of stages, add up to the run's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RateInterval;
use super::intervals::{Intervals, Selection};
use super::latency::Metric;
use super::messages::ScopeMessages;
use super::rates::per_second;
use super::scope_span::ScopeSpan;
use crate::absent::is_default;
use crate::counters::{ByOutcome, MessageShare, Outcomes, ResultCounts, Slice};
use weir_stats::histogram::Histogram;

/// Counts of one scope by kind, as text: a document may come from another version of the program,
/// with other kinds.
#[derive(Clone, Debug, Default)]
pub(super) struct ResultKinds {
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) missed: BTreeMap<String, u64>,
}

/// Results of the measured requests of one scope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Results {
    /// Measured requests of the scope; the sum of the six classes. Open loop: due in its time by
    /// plan. Closed loop: sent in it.
    pub planned: u64,
    /// Their outcomes.
    pub outcomes: Outcomes,
    /// Of `in_flight_at_end`: users who were in progress at the end of the run, which is no
    /// failure; absent for requests.
    #[serde(default, skip_serializing_if = "is_default")]
    pub in_progress: u64,
    /// Of `ok` and `bad_response`: responses by status code; absent if they were not counted by
    /// scope.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<u16, u64>,
    /// Of `ok` and `bad_response`: calls of gRPC by the name of their status, `none` without one;
    /// absent if there are none, or they were not counted by scope.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grpc_status: BTreeMap<String, u64>,
    /// Of `transport_error`: requests by kind of error; absent if there are none, or they were not
    /// counted by scope.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Of `bad_response`: requests by the kind of expectation that their responses missed; absent
    /// if there are none, or they were not counted by scope.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missed: BTreeMap<String, u64>,
    /// Complete responses inside the time of the scope, whichever request they belong to: the
    /// window, or the stage.
    pub completed: u64,
    /// `completed` per second of this time.
    pub completed_rps: f64,
    /// 95% confidence interval of `completed_rps`; absent for a name without intervals, if the load
    /// changes within the time, and with few slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_interval: Option<RateInterval>,
    /// Of `completed`: responses that count as success.
    pub good: u64,
    /// `good` per second of this time.
    pub good_rps: f64,
    /// 95% confidence interval of `good_rps`; absent where that of `completed_rps` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good_interval: Option<RateInterval>,
    /// Time from the planned send to the last byte. In a closed loop, where requests have no
    /// planned time, the same as `service_time`.
    pub response_time: Metric,
    /// Time from the send to the last byte; absent if there is none, or it was not measured by
    /// scope.
    #[serde(default, skip_serializing_if = "Metric::is_empty")]
    pub service_time: Metric,
    /// Messages of the responses; absent if they are not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Box<ScopeMessages>>,
}

impl Results {
    /// Names of the times.
    pub const TIMES: [&str; 4] = ["response_time", "service_time", "first_message", "message_gap"];

    /// Returns the results of these counts, whose shares are in `slices`; none for a name without
    /// intervals. Kinds of errors and of missed expectations are text, and come from `kinds`.
    pub(super) fn of(
        counts: &ResultCounts,
        kinds: &ResultKinds,
        slices: &[Slice],
        span: ScopeSpan,
    ) -> Results {
        let length_s = span.length_ns as f64 / 1e9;
        let [ok, all] = [Selection::Ok, Selection::All]
            .map(|column| Intervals::of_slices(&counts.response_time, slices, column, length_s))
            // The slices of a load that changes are no samples of one distribution.
            .map(|all| if span.is_one_load { all } else { all.support_only() });
        let of_service = |intervals: &Intervals| match span.has_one_time {
            true => intervals.clone(),
            false => intervals.support_only(),
        };
        let interval = |count: fn(&Slice) -> u64| {
            span.is_one_load.then(|| RateInterval::of(slices, span.length_ns, count)).flatten()
        };
        Results {
            planned: counts.planned,
            outcomes: counts.outcomes,
            in_progress: 0,
            status: counts.status.clone(),
            grpc_status: counts.grpc_status.clone(),
            errors: kinds.errors.clone(),
            missed: kinds.missed.clone(),
            completed: counts.completed,
            completed_rps: per_second(counts.completed, span.length_ns),
            completed_interval: interval(|slice| slice.completed),
            good: counts.good,
            good_rps: per_second(counts.good, span.length_ns),
            good_interval: interval(|slice| slice.good),
            response_time: Metric::of(&counts.response_time, &ok, &all),
            service_time: Metric::of(&counts.service_time, &of_service(&ok), &of_service(&all)),
            messages: ScopeMessages::of(counts, slices, span).map(Box::new),
        }
    }

    /// Returns the counts that the results were made of, without those by kind, which are text.
    pub(super) fn to_counts(&self) -> ResultCounts {
        ResultCounts {
            planned: self.planned,
            outcomes: self.outcomes,
            status: self.status.clone(),
            grpc_status: self.grpc_status.clone(),
            errors: BTreeMap::new(),
            missed: BTreeMap::new(),
            completed: self.completed,
            good: self.good,
            response_time: self.response_time.times.clone(),
            service_time: self.service_time.times.clone(),
            messages: self.messages.as_ref().map(|messages| messages.to_share()),
        }
    }

    /// Returns the counts by kind that the results were made of.
    pub(super) fn to_kinds(&self) -> ResultKinds {
        ResultKinds { errors: self.errors.clone(), missed: self.missed.clone() }
    }

    /// Returns the times that were measured, with their names.
    pub fn times(&self) -> impl Iterator<Item = (&'static str, &Metric)> {
        let service_time = Some(&self.service_time).filter(|times| !times.is_empty());
        let times =
            [Some(&self.response_time), service_time, self.first_message(), self.message_gap()];
        Results::TIMES.into_iter().zip(times).filter_map(|(name, metric)| Some((name, metric?)))
    }

    /// Returns the time of a name of [`Results::TIMES`]; `None` if it was not measured.
    pub fn time(&self, name: &str) -> Option<&Metric> {
        self.times().find(|(other, _)| *other == name).map(|(_, metric)| metric)
    }

    /// Returns the time from the planned send to the first message; `None` if messages are not
    /// measured.
    pub fn first_message(&self) -> Option<&Metric> {
        self.messages.as_ref().map(|messages| &messages.first)
    }

    /// Returns the time from one message of a response to the next; `None` if there are none.
    pub fn message_gap(&self) -> Option<&Metric> {
        self.messages.as_ref().and_then(|messages| messages.gap.as_ref())
    }

    /// Number of requests with a complete response, good or bad.
    pub fn responses(&self) -> u64 {
        self.outcomes.ok.saturating_add(self.outcomes.bad_response)
    }

    /// Number of requests whose response was delivering messages when the run ended.
    pub fn open_streams(&self) -> u64 {
        self.messages.as_ref().map_or(0, |messages| messages.open)
    }

    /// Number of requests that failed: all but those that did not.
    pub fn failed(&self) -> u64 {
        self.planned.saturating_sub(self.not_failed())
    }

    /// Number of requests that did not fail: `ok` without those that are
    /// [unended](Results::unended_streams), or [open](Results::open_streams) at the end; and users
    /// in progress then.
    pub fn not_failed(&self) -> u64 {
        let open = self.open_streams().saturating_add(self.in_progress);
        let good = self.outcomes.ok.saturating_add(open);
        good.saturating_sub(self.unended_streams())
    }

    /// Number of `ok` requests whose stream ended without the end mark that other streams of their
    /// name have. A worker cannot tell before it has seen such a mark.
    pub fn unended_streams(&self) -> u64 {
        self.messages.as_ref().map_or(0, |messages| messages.unended)
    }
}

/// Returns the counts of the requests due in these slices. The times of all failures are together,
/// since slices do not tell them apart: each is slower than every response.
pub(super) fn counts_of(slices: &[Slice]) -> ResultCounts {
    let sum = |count: fn(&Slice) -> u64| slices.iter().map(count).sum::<u64>();
    let merged = |times: fn(&Slice) -> &Histogram| {
        let mut merged = Histogram::new();
        slices.iter().for_each(|slice| merged.add(times(slice)));
        merged
    };
    let ok = merged(|slice| &slice.ok);
    let censored = merged(|slice| &slice.not_ok);
    let mut outcomes = Outcomes::default();
    slices.iter().for_each(|slice| outcomes.add(&slice.outcomes));
    ResultCounts {
        planned: ok.count() + censored.count(),
        outcomes,
        completed: sum(|slice| slice.completed),
        good: sum(|slice| slice.good),
        response_time: ByOutcome { ok, censored, ..ByOutcome::default() },
        messages: MessageShare::sum(slices.iter().filter_map(|slice| slice.messages.as_ref())),
        ..ResultCounts::default()
    }
}
