//! The requests that a metric is of: all of a run, or those with one name of its list, in one
//! stage, or both. Their counts and slices have the form of the run's, so that all are estimated
//! alike.

use std::borrow::Cow;

use weir_result::document::{
    Accounting, Document, Metric, NameMessages, NameSection, RateInterval, SliceEntry, StageSection,
};
use weir_result::{ByOutcome, NamedSlice};

use super::confidence::Missing;
use super::metric::{ThroughputRate, Time};
use super::scoped::NamedRequests;
use crate::bounds;

/// Requests of a document.
#[derive(Clone, Debug)]
pub(super) struct Scope<'d> {
    /// The document of the run.
    pub(super) document: &'d Document,
    name: Option<Cow<'d, NameSection>>,
    /// Length of the time in which they were due, in seconds.
    window_s: f64,
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
        let index = match NamedRequests::of(name, &document.plan).map_err(Missing::new)? {
            NamedRequests::Name(index) => index,
            NamedRequests::Stage(stage) => return Scope::of_stage(stage, None, document),
            NamedRequests::NameInStage { stage, place } => {
                return Scope::of_stage(stage, Some(place), document);
            }
        };
        let section = document.names.get(index);
        let section = section
            .ok_or_else(|| Missing::new("the document has no results by name".to_owned()))?;
        Ok(Scope {
            document,
            name: Some(Cow::Borrowed(section)),
            window_s: document.throughput.window_s,
            accounting: Cow::Owned(accounting(section)),
            slices: Cow::Owned(slices(index, document)),
        })
    }

    fn of_run(document: &'d Document) -> Scope<'d> {
        Scope {
            document,
            name: None,
            window_s: document.throughput.window_s,
            accounting: Cow::Borrowed(&document.accounting),
            slices: Cow::Borrowed(&document.slices),
        }
    }

    /// Returns the requests of the stage at `index`; of one name if `place` is the name's among
    /// those with slices.
    fn of_stage(
        index: usize,
        place: Option<usize>,
        document: &'d Document,
    ) -> Result<Scope<'d>, Missing> {
        let stage = document.stages.get(index);
        let stage =
            stage.ok_or_else(|| Missing::new("the run ended before the stage".to_owned()))?;
        let is_within = |slice: &&SliceEntry| (stage.start_s..stage.end_s).contains(&slice.start_s);
        let slices = document.slices.iter().filter(is_within);
        let (slices, section): (Vec<SliceEntry>, _) = match place {
            None => {
                let slices: Vec<SliceEntry> = slices.cloned().collect();
                let section = of_slices(stage, &slices);
                (slices, section)
            }
            Some(place) => {
                let slices: Vec<SliceEntry> = slices.map(|slice| share(slice, place)).collect();
                let found = document.name_in_stage(index, place);
                let found = found.ok_or_else(|| {
                    Missing::new("the document has no results by name and stage".to_owned())
                })?;
                let section = of_slices(&found, &slices);
                let times = bounds::in_stage(document, stage, &section.response_time);
                (slices, NameSection { response_time: times, ..section })
            }
        };
        // A rate that changes by plan has no interval.
        let has_intervals = stage.completed_interval.is_some();
        Ok(Scope {
            document,
            accounting: Cow::Owned(accounting(&section)),
            name: Some(Cow::Owned(section)),
            window_s: stage.end_s - stage.start_s,
            slices: Cow::Owned(if has_intervals { slices } else { Vec::new() }),
        })
    }

    /// True if they are those of one name or stage.
    pub(super) fn is_of_name(&self) -> bool {
        self.name.is_some()
    }

    /// Returns one of their times; `None` if they have none.
    pub(super) fn times(&self, time: Time) -> Option<&Metric> {
        let mean_gap = || self.document.messages.as_ref()?.mean_gap.as_ref();
        match &self.name {
            None if time == Time::MEAN_GAP => mean_gap(),
            // Without the server's counts a token is a chunk.
            None if time == Time::PER_TOKEN => {
                self.document.latency.time_per_token.as_ref().or_else(mean_gap)
            }
            None => self.document.latency.named(time.0),
            Some(name) if time == Time::RESPONSE => Some(&name.response_time),
            Some(name) if time == Time::SERVICE => Some(&name.service_time),
            Some(_) => None,
        }
    }

    /// Returns one of their rates, per second of the window; `None` if they have none.
    pub(super) fn rate(&self, rate: ThroughputRate) -> Option<f64> {
        let throughput = &self.document.throughput;
        let of_window = |count: u64| match self.window_s {
            window_s if window_s > 0.0 => count as f64 / window_s,
            _ => 0.0,
        };
        match (&self.name, rate) {
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
        match (&self.name, rate) {
            (None, ThroughputRate::Completed) => throughput.completed_interval,
            (None, ThroughputRate::Good) => throughput.good_interval,
            (Some(name), ThroughputRate::Completed) => name.completed_interval,
            _ => None,
        }
    }

    /// Number of the measured requests that did not end as `ok`, without streams that were open at
    /// the end.
    pub(super) fn failed(&self) -> u64 {
        let Some(name) = &self.name else { return self.document.failed() };
        let unended = name.messages.as_ref().map_or(0, NameMessages::unended);
        name.failed().saturating_add(unended)
    }

    /// Share of the requests sent that failed; 0 if none was sent.
    pub(super) fn failed_share(&self) -> f64 {
        let never_sent = self.accounting.never_sent;
        let sent = self.accounting.planned.saturating_sub(never_sent);
        self.failed().saturating_sub(never_sent) as f64 / sent.max(1) as f64
    }
}

/// The results of a stage in the form of those of a name; its slices have the times.
fn of_slices(stage: &StageSection, slices: &[SliceEntry]) -> NameSection {
    let mut times = ByOutcome::default();
    for slice in slices {
        times.ok.add(&slice.ok);
        times.censored.add(&slice.not_ok);
    }
    NameSection {
        planned: stage.planned,
        ok: stage.ok,
        bad_response: stage.bad_response,
        transport_error: stage.transport_error,
        timed_out: stage.timed_out,
        in_flight_at_end: stage.in_flight_at_end,
        never_sent: stage.never_sent,
        shed: stage.shed,
        completed: stage.completed,
        good: stage.good,
        completed_rps: stage.completed_rps,
        completed_interval: stage.completed_interval,
        messages: stage
            .messages
            .as_ref()
            .map(|messages| NameMessages { open: messages.open, ..NameMessages::default() }),
        response_time: Metric {
            ok: stage.response_time.clone(),
            all: stage.response_time_all.clone(),
            times,
        },
        ..NameSection::default()
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
        shed: name.shed,
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
    document.slices.iter().map(|slice| share(slice, place)).collect()
}

/// The share of a slice of the name in `place` among those with slices.
fn share(slice: &SliceEntry, place: usize) -> SliceEntry {
    let NamedSlice { ok, not_ok, completed, good, .. } =
        slice.named.get(place).cloned().unwrap_or_default();
    let (start_s, end_s) = (slice.start_s, slice.end_s);
    SliceEntry { start_s, end_s, ok, not_ok, completed, good, ..SliceEntry::default() }
}
