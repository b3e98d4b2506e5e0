//! The requests that a metric is of: all of a run, or those with one name of its list. Their counts
//! and slices have the form of the run's, so that both are estimated alike.

use std::borrow::Cow;

use weir_result::NamedSlice;
use weir_result::document::{Accounting, Document, Metric, NameSection, RateInterval, SliceEntry};

use super::confidence::Missing;
use super::metric::{ThroughputRate, Time};
use super::scoped;

/// Requests of a document.
#[derive(Clone, Debug)]
pub(super) struct Scope<'d> {
    /// The document of the run.
    pub(super) document: &'d Document,
    name: Option<&'d NameSection>,
    /// Their classes and statuses.
    pub(super) accounting: Cow<'d, Accounting>,
    /// Their times and responses in slices; empty for a name without intervals.
    pub(super) slices: Cow<'d, [SliceEntry]>,
}

impl<'d> Scope<'d> {
    /// Returns the requests with `name`, or all of the run.
    ///
    /// # Errors
    /// When no request has the name.
    pub(super) fn of(name: Option<&str>, document: &'d Document) -> Result<Scope<'d>, Missing> {
        let Some(name) = name else { return Ok(Scope::of_run(document)) };
        let index = scoped::place(name, &document.plan).map_err(Missing::new)?;
        let section = document.names.get(index);
        let section = section
            .ok_or_else(|| Missing::new("the document has no results by name".to_owned()))?;
        Ok(Scope {
            document,
            name: Some(section),
            accounting: Cow::Owned(accounting(section)),
            slices: Cow::Owned(slices(index, document)),
        })
    }

    fn of_run(document: &'d Document) -> Scope<'d> {
        Scope {
            document,
            name: None,
            accounting: Cow::Borrowed(&document.accounting),
            slices: Cow::Borrowed(&document.slices),
        }
    }

    /// True if they are those of one name.
    pub(super) fn is_of_name(&self) -> bool {
        self.name.is_some()
    }

    /// Returns one of their times; `None` if they have none.
    pub(super) fn times(&self, time: Time) -> Option<&'d Metric> {
        match self.name {
            None => self.document.latency.named(time.0),
            Some(name) if time == Time::RESPONSE => Some(&name.response_time),
            Some(name) if time == Time::SERVICE => Some(&name.service_time),
            Some(_) => None,
        }
    }

    /// Returns one of their rates, per second of the window; `None` if they have none.
    pub(super) fn rate(&self, rate: ThroughputRate) -> Option<f64> {
        let throughput = &self.document.throughput;
        let of_window = |count: u64| match throughput.window_s {
            window_s if window_s > 0.0 => count as f64 / window_s,
            _ => 0.0,
        };
        match (self.name, rate) {
            (None, ThroughputRate::Completed) => Some(throughput.completed_rps),
            (None, ThroughputRate::Good) => Some(throughput.good_rps),
            (None, ThroughputRate::Sent) => Some(throughput.sent_rps),
            (None, ThroughputRate::Bytes) => Some(throughput.bytes_per_second),
            (Some(name), ThroughputRate::Completed) => Some(name.completed_rps),
            (Some(name), ThroughputRate::Good) => Some(of_window(name.good)),
            (Some(_), ThroughputRate::Sent | ThroughputRate::Bytes) => None,
        }
    }

    /// Returns the 95% interval of one of their rates; `None` if the document has none.
    pub(super) fn rate_interval(&self, rate: ThroughputRate) -> Option<RateInterval> {
        let throughput = &self.document.throughput;
        match (self.name, rate) {
            (None, ThroughputRate::Completed) => throughput.completed_interval,
            (None, ThroughputRate::Good) => throughput.good_interval,
            (Some(name), ThroughputRate::Completed) => name.completed_interval,
            _ => None,
        }
    }

    /// Number of the measured requests that did not end as `ok`.
    pub(super) fn failed(&self) -> u64 {
        self.accounting.planned.saturating_sub(self.accounting.ok)
    }

    /// Share of the requests sent that failed; 0 if none was sent.
    pub(super) fn failed_share(&self) -> f64 {
        let never_sent = self.accounting.never_sent;
        let sent = self.accounting.planned.saturating_sub(never_sent);
        self.failed().saturating_sub(never_sent) as f64 / sent.max(1) as f64
    }
}

/// The outcomes of a name.
fn accounting(name: &NameSection) -> Accounting {
    Accounting {
        planned: name.planned,
        ok: name.ok,
        bad_response: name.bad_response,
        transport_error: name.transport_error,
        timed_out: name.timed_out,
        in_flight_at_end: name.in_flight_at_end,
        never_sent: name.never_sent,
        status: name.status.clone(),
        errors: name.errors.clone(),
        ..Accounting::default()
    }
}

/// The shares of the name at `index` of the slices; none for a name without intervals.
fn slices(index: usize, document: &Document) -> Vec<SliceEntry> {
    let list = document.plan.list.as_ref();
    let mut with = list.iter().flat_map(|list| &list.with_intervals);
    let Some(place) = with.position(|with| usize::from(*with) == index) else {
        return Vec::new();
    };
    let share = |slice: &SliceEntry| {
        let NamedSlice { ok, not_ok, completed, good } =
            slice.named.get(place).cloned().unwrap_or_default();
        let (start_s, end_s) = (slice.start_s, slice.end_s);
        SliceEntry { start_s, end_s, ok, not_ok, completed, good, ..SliceEntry::default() }
    };
    document.slices.iter().map(share).collect()
}
