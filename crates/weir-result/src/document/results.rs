//! Results of the requests of one scope: those with one name, those due in one stage, or both. Each
//! scope has the same ones, and they add up to those of the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RateInterval;
use super::intervals::{Intervals, Selection};
use super::latency::Metric;
use super::messages::ScopeMessages;
use super::rates::per_second;
use super::scope_span::ScopeSpan;
use crate::counters::{ByOutcome, NameCounts, Outcomes, Slice};
use crate::histogram::Histogram;

/// Results of the measured requests of one scope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Results {
    /// Measured requests of the scope; the sum of the six classes.
    pub planned: u64,
    /// Their outcomes.
    pub outcomes: Outcomes,
    /// Of `ok` and `bad_response`: responses by status code; absent if they were not counted by
    /// scope.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<u16, u64>,
    /// Of `transport_error`: requests by kind of error; absent if there are none, or they were not
    /// counted by scope.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Of `bad_response`: requests by the kind of expectation that their responses missed; absent
    /// if there are none, or they were not counted by scope.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missed: BTreeMap<String, u64>,
    /// Complete responses inside the time of the scope: the window, or the stage.
    pub completed: u64,
    /// Of `completed`: responses that count as success.
    pub good: u64,
    /// `completed` per second of this time.
    pub completed_rps: f64,
    /// 95% confidence interval of `completed_rps`; absent for a name without intervals, if the load
    /// changes within the time, and with few slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_interval: Option<RateInterval>,
    /// Time from the planned send to the last byte. In a closed loop the same as `service_time`.
    pub response_time: Metric,
    /// Time from the send to the last byte; absent if it was not measured by scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_time: Option<Metric>,
    /// Messages of the responses; absent if they are not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<ScopeMessages>,
}

impl Results {
    /// Returns the results of these counts, whose shares are in `slices`; none for a name without
    /// intervals. Kinds of errors and of missed expectations are text, and added by the caller.
    pub(super) fn of(counts: &NameCounts, slices: &[Slice], span: ScopeSpan) -> Results {
        let length_s = span.length_ns as f64 / 1e9;
        let [ok, all] = [Selection::Ok, Selection::All]
            .map(|column| Intervals::of_slices(&counts.response_time, slices, column, length_s))
            .map(|all| if span.is_one_load { all } else { all.support_only() });
        let of_service = |intervals: &Intervals| match span.is_open_loop {
            false => intervals.clone(),
            true => intervals.support_only(),
        };
        let service = &counts.service_time;
        let has_service = service.by_class().iter().any(|times| !times.is_empty());
        let service = has_service.then(|| Metric::of(service, &of_service(&ok), &of_service(&all)));
        let completed = RateInterval::of(slices, span.length_ns, |slice| slice.completed);
        Results {
            planned: counts.planned,
            outcomes: counts.outcomes,
            status: counts.status.clone(),
            completed: counts.completed,
            good: counts.good,
            completed_rps: per_second(counts.completed, span.length_ns),
            completed_interval: completed.filter(|_| span.is_one_load),
            response_time: Metric::of(&counts.response_time, &ok, &all),
            service_time: service,
            messages: ScopeMessages::of(counts, slices, span),
            ..Results::default()
        }
    }

    /// Returns the counts that the results were made of, without those by kind, which are text.
    pub(super) fn to_counts(&self) -> NameCounts {
        NameCounts {
            planned: self.planned,
            outcomes: self.outcomes,
            status: self.status.clone(),
            errors: BTreeMap::new(),
            missed: BTreeMap::new(),
            completed: self.completed,
            good: self.good,
            response_time: self.response_time.times.clone(),
            service_time: self.service_time.as_ref().map(|of| of.times.clone()).unwrap_or_default(),
            messages: self.messages.as_ref().map(ScopeMessages::to_share),
        }
    }

    /// Returns the times that were measured, with their names in [`Latency`](super::Latency).
    pub fn times(&self) -> impl Iterator<Item = (&'static str, &Metric)> {
        let messages = self.messages.as_ref();
        let times = [
            ("response_time", Some(&self.response_time)),
            ("service_time", self.service_time.as_ref()),
            ("first_message", messages.map(|messages| &messages.first)),
            ("message_gap", messages.and_then(|messages| messages.gap.as_ref())),
        ];
        times.into_iter().filter_map(|(name, metric)| Some((name, metric?)))
    }

    /// Number of requests whose response was delivering messages when the run ended.
    pub fn open_streams(&self) -> u64 {
        self.messages.as_ref().map_or(0, |messages| messages.open)
    }

    /// Number of requests that failed: all but those that did not.
    pub fn failed(&self) -> u64 {
        self.planned.saturating_sub(self.not_failed())
    }

    /// Number of requests that did not fail: `ok` with the end mark that other streams of the scope
    /// have, or [open](Results::open_streams) at the end.
    pub fn not_failed(&self) -> u64 {
        let unended = self.messages.as_ref().map_or(0, ScopeMessages::unended);
        self.outcomes.ok.saturating_add(self.open_streams()).saturating_sub(unended)
    }
}

/// Returns the counts of the requests due in these slices. The times of all failures are together,
/// since slices do not tell them apart: each is slower than every response.
pub(super) fn counts_of(slices: &[Slice]) -> NameCounts {
    let sum = |count: fn(&Slice) -> u64| slices.iter().map(count).sum::<u64>();
    let merged = |times: fn(&Slice) -> &Histogram| {
        let mut merged = Histogram::new();
        slices.iter().for_each(|slice| merged.add(times(slice)));
        merged
    };
    let ok = merged(|slice| &slice.ok);
    let censored = merged(|slice| &slice.not_ok);
    let mut messages = slices.iter().filter_map(|slice| slice.messages.as_ref());
    let messages = messages.next().cloned().map(|mut sum| {
        messages.for_each(|share| sum.add(share));
        sum
    });
    NameCounts {
        planned: ok.count() + censored.count(),
        outcomes: Outcomes {
            ok: ok.count(),
            bad_response: sum(|slice| slice.bad_response),
            transport_error: sum(|slice| slice.transport_error),
            timed_out: sum(|slice| slice.timed_out),
            in_flight_at_end: sum(|slice| slice.in_flight_at_end),
            never_sent: sum(|slice| slice.never_sent),
            shed: sum(|slice| slice.shed),
        },
        completed: sum(|slice| slice.completed),
        good: sum(|slice| slice.good),
        response_time: ByOutcome { ok, censored, ..ByOutcome::default() },
        messages,
        ..NameCounts::default()
    }
}
