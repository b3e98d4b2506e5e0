//! Results by name, of the requests of a list. They add up to those of the whole run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RateInterval;
use super::intervals::{Intervals, Selection};
use super::latency::Metric;
use super::messages::NameMessages;
use super::rates::per_second;
use crate::absent::is_default;
use crate::counters::{NameCounts, NamedSlice, Outcomes, Slice};
use crate::measurements::Measurements;
use crate::plan::Plan;

/// Results of the requests with one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NameSection {
    /// Name.
    pub name: String,
    /// Measured requests with this name; the sum of the six classes that follow.
    pub planned: u64,
    /// Complete responses that count as success.
    pub ok: u64,
    /// Complete responses that do not count as success.
    pub bad_response: u64,
    /// Requests that ended without a complete response.
    pub transport_error: u64,
    /// Requests without a complete response within the timeout.
    pub timed_out: u64,
    /// Requests sent, and still without a response when the run ended.
    pub in_flight_at_end: u64,
    /// Requests due, and never sent.
    pub never_sent: u64,
    /// Of `never_sent`: shed; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shed: u64,
    /// Of `ok` and `bad_response`: responses by status code.
    pub status: BTreeMap<u16, u64>,
    /// Of `transport_error`: requests by kind of error.
    pub errors: BTreeMap<String, u64>,
    /// Of `bad_response`: requests by the kind of expectation that their responses missed; absent
    /// if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missed: BTreeMap<String, u64>,
    /// Complete responses inside the window.
    pub completed: u64,
    /// Of `completed`: responses that count as success.
    pub good: u64,
    /// `completed` per second of the window.
    pub completed_rps: f64,
    /// 95% confidence interval of `completed_rps`; absent for a name without intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_interval: Option<RateInterval>,
    /// Time from the planned send to the last byte. In a closed loop the same as `service_time`.
    pub response_time: Metric,
    /// Time from the send to the last byte.
    pub service_time: Metric,
    /// Messages of its responses; absent if they are not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<NameMessages>,
}

/// Counts of one name, by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct NameKinds {
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) missed: BTreeMap<String, u64>,
}

impl NameKinds {
    pub(super) fn of(section: &NameSection) -> NameKinds {
        NameKinds { errors: section.errors.clone(), missed: section.missed.clone() }
    }
}

impl NameSection {
    /// Returns the sections of a run's names; none without a list. `kinds` are those of each name.
    pub(super) fn all(
        plan: &Plan,
        measured: &Measurements,
        kinds: &[NameKinds],
        window_ns: u64,
    ) -> Vec<NameSection> {
        let Some(list) = &plan.list else { return Vec::new() };
        let name_of = |index: usize| list.names.get(index).cloned().unwrap_or_default();
        let place =
            |index: usize| list.with_intervals.iter().position(|with| usize::from(*with) == index);
        let names = measured.names.iter().zip(kinds).enumerate();
        let sections = names.map(|(index, (counts, kinds))| {
            let slices = place(index).map(|place| shares(&measured.slices, place));
            let slices = slices.unwrap_or_default();
            let NameKinds { errors, missed } = kinds.clone();
            let section = NameSection::of(counts, plan, &slices, window_ns);
            NameSection { name: name_of(index), errors, missed, ..section }
        });
        sections.collect()
    }

    /// Number of measured requests whose response was delivering messages when the run ended.
    pub fn open_streams(&self) -> u64 {
        self.messages.as_ref().map_or(0, |messages| messages.open)
    }

    /// Number of measured requests that did not end as `ok`, without streams that were
    /// [open](NameSection::open_streams) at the end.
    pub fn failed(&self) -> u64 {
        self.planned.saturating_sub(self.ok).saturating_sub(self.open_streams())
    }

    /// Returns a section without its name and kinds.
    fn of(counts: &NameCounts, plan: &Plan, slices: &[Slice], window_ns: u64) -> NameSection {
        let outcomes = counts.outcomes;
        let window_s = window_ns as f64 / 1e9;
        let [ok, all] = [Selection::Ok, Selection::All]
            .map(|column| Intervals::of_slices(&counts.response_time, slices, column, window_s))
            // The slices of a load that changes are no samples of one distribution.
            .map(|all| if plan.load.is_one_load() { all } else { all.support_only() });
        let of_service = |intervals: &Intervals| match plan.load.is_open_loop() {
            false => intervals.clone(),
            true => intervals.support_only(),
        };
        let completed = RateInterval::of(slices, window_ns, |slice| slice.completed);
        NameSection {
            planned: counts.planned,
            ok: outcomes.ok,
            bad_response: outcomes.bad_response,
            transport_error: outcomes.transport_error,
            timed_out: outcomes.timed_out,
            in_flight_at_end: outcomes.in_flight_at_end,
            never_sent: outcomes.never_sent,
            shed: outcomes.shed,
            status: counts.status.clone(),
            completed: counts.completed,
            good: counts.good,
            completed_rps: per_second(counts.completed, window_ns),
            completed_interval: completed.filter(|_| plan.load.is_one_load()),
            response_time: Metric::of(&counts.response_time, &ok, &all),
            service_time: Metric::of(&counts.service_time, &of_service(&ok), &of_service(&all)),
            messages: NameMessages::of(plan, counts, slices, window_ns),
            ..NameSection::default()
        }
    }

    /// Returns the counts that the section was made of, without those by kind, which is text here.
    pub(super) fn to_counts(&self) -> NameCounts {
        NameCounts {
            planned: self.planned,
            outcomes: Outcomes {
                ok: self.ok,
                bad_response: self.bad_response,
                transport_error: self.transport_error,
                timed_out: self.timed_out,
                in_flight_at_end: self.in_flight_at_end,
                never_sent: self.never_sent,
                shed: self.shed,
            },
            status: self.status.clone(),
            errors: BTreeMap::new(),
            missed: BTreeMap::new(),
            completed: self.completed,
            good: self.good,
            response_time: self.response_time.times.clone(),
            service_time: self.service_time.times.clone(),
            messages: self.messages.as_ref().map(NameMessages::to_share),
        }
    }
}

/// Returns one name's shares of slices, each as a slice.
pub(super) fn shares(slices: &[Slice], place: usize) -> Vec<Slice> {
    let share = |slice: &Slice| {
        let NamedSlice { ok, not_ok, completed, good, messages } =
            slice.named.get(place).cloned().unwrap_or_default();
        let (start_ns, end_ns) = (slice.start_ns, slice.end_ns);
        Slice { start_ns, end_ns, ok, not_ok, completed, good, messages, ..Slice::default() }
    };
    slices.iter().map(share).collect()
}
