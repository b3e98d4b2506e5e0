//! The requests that a metric is of: all of a run, or those with one name of its list, in one
//! stage, or both. Their slices have the form of the run's, so that all are estimated alike.

use std::borrow::Cow;

use weir_result::NamedSlice;
use weir_result::document::{Document, Metric, RateInterval, Results, SliceEntry};

use super::confidence::Missing;
use super::metric::{ThroughputRate, Time};
use super::scoped::NamedRequests;
use crate::bounds;

/// Requests of a document.
#[derive(Clone, Debug)]
pub(super) struct Scope<'d> {
    /// The document of the run.
    pub(super) document: &'d Document,
    /// Their results.
    pub(super) results: Cow<'d, Results>,
    /// True if they are all of the run.
    is_of_run: bool,
    /// True if they are the users of a scenario.
    pub(super) are_users: bool,
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
            results: Cow::Borrowed(&section.results),
            is_of_run: false,
            are_users: section.is_of_users(),
            slices: Cow::Owned(slices(index, document)),
        })
    }

    fn of_run(document: &'d Document) -> Scope<'d> {
        Scope {
            document,
            results: Cow::Borrowed(&document.results),
            is_of_run: true,
            are_users: false,
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
            results,
            is_of_run: false,
            are_users: place.is_some_and(|place| is_of_users(place, document)),
            slices: Cow::Owned(if has_intervals { slices } else { Vec::new() }),
        })
    }

    /// True if they are those of one name or stage.
    pub(super) fn is_of_name(&self) -> bool {
        !self.is_of_run
    }

    /// Returns one of their times; `None` if they have none.
    pub(super) fn times(&self, time: Time) -> Option<&Metric> {
        if !self.is_of_run && ![Time::RESPONSE, Time::SERVICE].contains(&time) {
            return None;
        }
        let mean_gap = || self.document.messages.as_ref()?.mean_gap.as_ref();
        let latency = &self.document.latency;
        match time {
            Time::MEAN_GAP => mean_gap(),
            // Without the server's counts a token is a chunk.
            Time::PER_TOKEN => latency.time_per_token.as_ref().or_else(mean_gap),
            _ => self.results.time(time.0).or_else(|| latency.named(time.0)),
        }
    }

    /// Returns one of their rates, per second of their time; `None` if they have none.
    pub(super) fn rate(&self, rate: ThroughputRate) -> Option<f64> {
        let of_run = |rate: f64| self.is_of_run.then_some(rate);
        match rate {
            ThroughputRate::Completed => Some(self.results.completed_rps),
            ThroughputRate::Good => Some(self.results.good_rps),
            ThroughputRate::Sent => of_run(self.document.throughput.sent_rps),
            ThroughputRate::Bytes => of_run(self.document.throughput.bytes_per_second),
        }
    }

    /// Returns the 95% interval of one of their rates; `None` if the document has none.
    pub(super) fn rate_interval(&self, rate: ThroughputRate) -> Option<RateInterval> {
        match rate {
            ThroughputRate::Completed => self.results.completed_interval,
            ThroughputRate::Good => self.results.good_interval,
            ThroughputRate::Sent | ThroughputRate::Bytes => None,
        }
    }

    /// Share of the requests sent that failed; 0 if none was sent.
    pub(super) fn failed_share(&self) -> f64 {
        let never_sent = self.results.outcomes.never_sent;
        let sent = self.results.planned.saturating_sub(never_sent);
        self.results.failed().saturating_sub(never_sent) as f64 / sent.max(1) as f64
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

/// True if the name at this place among those with slices is that of a scenario.
fn is_of_users(place: usize, document: &Document) -> bool {
    let name = document.plan.list.as_ref().and_then(|list| list.with_intervals.get(place));
    let section = name.and_then(|name| document.names.get(usize::from(*name)));
    section.is_some_and(|section| section.is_of_users())
}
