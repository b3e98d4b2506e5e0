//! The requests that a metric is of: all of a run, or those with one name of its list, in one
//! stage, or both. Their slices have the form of the run's, so that all are estimated alike.

use std::borrow::Cow;
use std::collections::BTreeMap;

use weir_result::document::{Document, Metric, RateInterval, Results, SliceEntry};
use weir_result::{NamedSlice, Outcomes};

use super::confidence::Missing;
use super::metric::{ThroughputRate, Time};
use super::scoped::NamedRequests;
use crate::bounds;

/// Requests of a document.
#[derive(Clone, Debug)]
pub(super) struct Scope<'d> {
    /// The document of the run.
    pub(super) document: &'d Document,
    /// Their results; none for all of the run.
    results: Option<Cow<'d, Results>>,
    /// Length of the time in which they were due, in seconds.
    window_s: f64,
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
            results: Some(Cow::Borrowed(&section.results)),
            window_s: document.throughput.window_s,
            slices: Cow::Owned(slices(index, document)),
        })
    }

    fn of_run(document: &'d Document) -> Scope<'d> {
        Scope {
            document,
            results: None,
            window_s: document.throughput.window_s,
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
        let (slices, results): (Vec<SliceEntry>, _) = match place {
            None => (slices.cloned().collect(), Cow::Borrowed(&stage.results)),
            Some(place) => {
                let found = document.name_in_stage(index, place);
                let found = found.ok_or_else(|| {
                    Missing::new("the document has no results by name and stage".to_owned())
                })?;
                let response_time = bounds::in_stage(document, stage, &found.response_time);
                let results = Cow::Owned(Results { response_time, ..found });
                (slices.map(|slice| share(slice, place)).collect(), results)
            }
        };
        // A rate that changes by plan has no interval.
        let has_intervals = stage.results.completed_interval.is_some();
        Ok(Scope {
            document,
            results: Some(results),
            window_s: stage.end_s - stage.start_s,
            slices: Cow::Owned(if has_intervals { slices } else { Vec::new() }),
        })
    }

    /// True if they are those of one name or stage.
    pub(super) fn is_of_name(&self) -> bool {
        self.results.is_some()
    }

    /// Number of the measured requests.
    pub(super) fn planned(&self) -> u64 {
        self.results.as_ref().map_or(self.document.accounting.planned, |of| of.planned)
    }

    /// Returns their classes.
    pub(super) fn outcomes(&self) -> Outcomes {
        let of_run = || Outcomes::from(&self.document.accounting);
        self.results.as_ref().map_or_else(of_run, |of| of.outcomes)
    }

    /// Returns their responses by status code.
    pub(super) fn status(&self) -> &BTreeMap<u16, u64> {
        self.results.as_ref().map_or(&self.document.accounting.status, |of| &of.status)
    }

    /// Returns one of their times; `None` if they have none.
    pub(super) fn times(&self, time: Time) -> Option<&Metric> {
        let mean_gap = || self.document.messages.as_ref()?.mean_gap.as_ref();
        match &self.results {
            None if time == Time::MEAN_GAP => mean_gap(),
            // Without the server's counts a token is a chunk.
            None if time == Time::PER_TOKEN => {
                self.document.latency.time_per_token.as_ref().or_else(mean_gap)
            }
            None => self.document.latency.named(time.0),
            Some(of) if time == Time::RESPONSE => Some(&of.response_time),
            Some(of) if time == Time::SERVICE => of.service_time.as_ref(),
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
        match (&self.results, rate) {
            (None, ThroughputRate::Completed) => Some(throughput.completed_rps),
            (None, ThroughputRate::Good) => Some(throughput.good_rps),
            (None, ThroughputRate::Sent) => Some(throughput.sent_rps),
            (None, ThroughputRate::Bytes) => Some(throughput.bytes_per_second),
            (Some(of), ThroughputRate::Completed) => Some(of.completed_rps),
            (Some(of), ThroughputRate::Good) => Some(of_window(of.good)),
            (Some(_), ThroughputRate::Sent | ThroughputRate::Bytes) => None,
        }
    }

    /// Returns the 95% interval of one of their rates; `None` if the document has none.
    pub(super) fn rate_interval(&self, rate: ThroughputRate) -> Option<RateInterval> {
        let throughput = &self.document.throughput;
        match (&self.results, rate) {
            (None, ThroughputRate::Completed) => throughput.completed_interval,
            (None, ThroughputRate::Good) => throughput.good_interval,
            (Some(of), ThroughputRate::Completed) => of.completed_interval,
            _ => None,
        }
    }

    /// Number of the measured requests that did not end as `ok`, without streams that were open at
    /// the end.
    pub(super) fn failed(&self) -> u64 {
        let Some(of) = &self.results else { return self.document.failed() };
        of.failed()
    }

    /// Share of the requests sent that failed; 0 if none was sent.
    pub(super) fn failed_share(&self) -> f64 {
        let never_sent = self.outcomes().never_sent;
        let sent = self.planned().saturating_sub(never_sent);
        self.failed().saturating_sub(never_sent) as f64 / sent.max(1) as f64
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
    let start_s = slice.start_s;
    let end_s = slice.end_s;
    SliceEntry { start_s, end_s, ok, not_ok, completed, good, ..SliceEntry::default() }
}
