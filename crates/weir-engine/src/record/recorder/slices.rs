//! The window in equal parts: response times by intended time, and counts by the time of the event.
//! Intervals and trends are computed from them (METHOD 1.7).

use std::collections::BTreeMap;

use weir_io::Nanos;
use weir_result::{Histogram, NamedSlice, Outcomes, Slice, StageSpan, Tally};

use crate::record::message_tally::MessageTally;
use crate::time::Timeline;

/// Parts of a window of known length.
const SLICES: u64 = 30;

/// Parts of a window with stages, at most; each stage has at least one.
const STAGED_SLICES: u64 = 600;

/// First length of the slices, in nanoseconds, if only the number of responses decides the window's
/// end. Such a window has at most `2 * SLICES` slices; when they are full, every two become one of
/// twice the length.
const FIRST_LENGTH_NS: u64 = 5_000_000;

/// One worker's slices.
#[derive(Debug)]
pub(crate) struct Slices {
    t0: Nanos,
    extent: Extent,
    /// True if each slice has messages, be they none.
    pub(crate) measures_messages: bool,
    /// Names with slices that are of requests, which come first: their shares are parts of a slice.
    request_places: usize,
    slices: Vec<SliceTally>,
    /// Slice of the last look-up by intended time, and its bounds. These times are nearly in order.
    due: Cursor,
    /// Slice of the last look-up by the time of an event.
    now: Cursor,
    /// Index of the first slice that is not closed yet, and its end.
    ending: usize,
    ends_at: Nanos,
}

/// The length of a window; of one with an unknown end, the length of a slice; of one with stages,
/// the offsets of its slices' borders.
#[derive(Clone, Debug)]
enum Extent {
    Known { span_ns: u64, count: u64 },
    Open { length_ns: u64 },
    Staged { borders_ns: Vec<u64> },
}

#[derive(Clone, Copy, Debug)]
struct Cursor {
    index: usize,
    from: Nanos,
    until: Nanos,
}

/// Returns the offsets of the borders of slices: each stage has equal ones.
fn borders(stages: &[StageSpan]) -> Vec<u64> {
    let each = (STAGED_SLICES / stages.len() as u64).clamp(1, SLICES);
    let mut borders = vec![0];
    let mut from_ns = 0;
    for stage in stages {
        let count = each.min(stage.duration_ns);
        let border = |nth: u64| {
            let within = u128::from(stage.duration_ns) * u128::from(nth) / u128::from(count);
            from_ns + u64::try_from(within).unwrap_or(u64::MAX)
        };
        borders.extend((1..=count).map(border));
        from_ns += stage.duration_ns;
    }
    borders
}

/// Tallies of one slice.
#[derive(Debug, Default)]
pub(crate) struct SliceTally {
    /// Response times of `ok` slots, without those of the names that have slices.
    pub(crate) ok: Tally,
    /// Other slots: response time of failures, or age.
    pub(crate) not_ok: Tally,
    /// Classes of the slots of `not_ok` that were sent.
    pub(crate) outcomes: Outcomes,
    /// Events within the slice.
    pub(crate) counts: SliceCounts,
    /// Messages; `None` before the first.
    messages: Option<Box<MessageTally>>,
    /// Shares of the names of a list that have slices, up to the last that was counted.
    named: Vec<NamedTally>,
}

/// Slots that were never sent.
#[derive(Debug, Default)]
pub(crate) struct UnsentTally {
    pub(super) ages: Histogram,
    pub(super) outcomes: Outcomes,
}

/// One name's share of a slice.
#[derive(Debug, Default)]
pub(crate) struct NamedTally {
    pub(crate) ok: Tally,
    pub(crate) not_ok: Tally,
    pub(crate) completed: u64,
    pub(crate) good: u64,
    /// Messages; `None` before the first.
    messages: Option<Box<MessageTally>>,
}

/// Events within a slice, and the requests left at its end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SliceCounts {
    pub(crate) sent: u64,
    pub(crate) completed: u64,
    pub(crate) good: u64,
    in_flight: u64,
    backlog: u64,
}

impl Slices {
    /// Returns the empty slices of a window with these stages, if it has any.
    pub(crate) fn new(timeline: &Timeline, stages: &[StageSpan]) -> Slices {
        let span_ns = timeline.t1.since(timeline.t0);
        let known = SLICES.min(span_ns.max(1));
        let (extent, count) = match timeline.t1 {
            Nanos::MAX => (Extent::Open { length_ns: FIRST_LENGTH_NS }, 2 * SLICES),
            _ if stages.is_empty() => (Extent::Known { span_ns, count: known }, known),
            _ => {
                let borders_ns = borders(stages);
                let count = borders_ns.len() as u64 - 1;
                (Extent::Staged { borders_ns }, count)
            }
        };
        let unset = Cursor { index: 0, from: Nanos::MAX, until: Nanos::ZERO };
        let mut slices = Slices {
            t0: timeline.t0,
            extent,
            measures_messages: false,
            request_places: usize::MAX,
            slices: (0..count).map(|_| SliceTally::default()).collect(),
            due: unset,
            now: unset,
            ending: 0,
            ends_at: Nanos::MAX,
        };
        slices.end_from(0);
        slices
    }

    /// Returns the slices with this number of names of requests.
    #[must_use]
    pub(crate) fn with_request_places(self, request_places: usize) -> Slices {
        Slices { request_places, ..self }
    }

    /// Returns empty slices of another window for the same names.
    #[must_use]
    pub(crate) fn placed(&self, timeline: &Timeline, stages: &[StageSpan]) -> Slices {
        Slices::new(timeline, stages).with_request_places(self.request_places)
    }

    /// Returns the start of slice `index`, which is the end of the one before it.
    fn bound(&self, index: usize) -> Nanos {
        match &self.extent {
            Extent::Open { length_ns } => self.t0.after(length_ns.saturating_mul(index as u64)),
            Extent::Known { span_ns, count } => {
                let offset = u128::from(*span_ns) * index as u128 / u128::from(*count);
                self.t0.after(u64::try_from(offset).unwrap_or(u64::MAX))
            }
            Extent::Staged { borders_ns } => self.t0.after(borders_ns[index]),
        }
    }

    /// Returns the index of the slice that `at` lies in.
    pub(crate) fn index(&self, at: Nanos) -> usize {
        let last = self.slices.len() - 1;
        let (span_ns, count) = match &self.extent {
            Extent::Open { length_ns } => (*length_ns, 1),
            Extent::Known { span_ns, count } => ((*span_ns).max(1), *count),
            Extent::Staged { borders_ns } => {
                let begun = borders_ns.partition_point(|border| *border <= at.since(self.t0));
                return begun.saturating_sub(1).min(last);
            }
        };
        let guess = u128::from(at.since(self.t0)) * u128::from(count) / u128::from(span_ns);
        let guess = usize::try_from(guess).unwrap_or(usize::MAX).min(last);
        // Bounds are rounded down, so the guess may be one short.
        if guess < last && self.bound(guess + 1) <= at { guess + 1 } else { guess }
    }

    /// Returns the exclusive end of the slice that `at` lies in; t0 for times before the window.
    pub(crate) fn end_of(&self, at: Nanos) -> Nanos {
        if at < self.t0 { self.t0 } else { self.bound(self.index(at) + 1) }
    }

    fn cursor_at(&mut self, at: Nanos) -> Cursor {
        while matches!(self.extent, Extent::Open { .. }) && at >= self.bound(self.slices.len()) {
            self.coarsen();
        }
        let index = self.index(at);
        Cursor { index, from: self.bound(index), until: self.bound(index + 1) }
    }

    /// Merges every two slices into one.
    #[cold]
    fn coarsen(&mut self) {
        if let Extent::Open { length_ns } = &mut self.extent {
            *length_ns = length_ns.saturating_mul(2);
        }
        let half = self.slices.len() / 2;
        for index in 0..half {
            let mut first = std::mem::take(&mut self.slices[2 * index]);
            first.add(&std::mem::take(&mut self.slices[2 * index + 1]));
            self.slices[index] = first;
        }
        self.end_from(self.ending / 2);
        let unset = Cursor { index: 0, from: Nanos::MAX, until: Nanos::ZERO };
        (self.due, self.now) = (unset, unset);
    }

    /// Returns the slice of a slot of M.
    #[inline]
    pub(crate) fn at(&mut self, intended_at: Nanos) -> &mut SliceTally {
        if intended_at < self.due.from || intended_at >= self.due.until {
            self.due = self.cursor_at(intended_at);
        }
        &mut self.slices[self.due.index]
    }

    /// Returns the slice of a slot of M that was never sent.
    pub(crate) fn slot(&mut self, intended_at: Nanos) -> &mut SliceTally {
        let index = self.index(intended_at);
        &mut self.slices[index]
    }

    /// Returns the counts of the slice that the event time `at`, which is in the window, lies in.
    #[inline]
    pub(crate) fn counts(&mut self, at: Nanos) -> &mut SliceCounts {
        &mut self.at_event(at).counts
    }

    /// Returns the slice that the event time `at`, which is in the window, lies in.
    #[inline]
    pub(crate) fn at_event(&mut self, at: Nanos) -> &mut SliceTally {
        if at < self.now.from || at >= self.now.until {
            self.now = self.cursor_at(at);
        }
        &mut self.slices[self.now.index]
    }

    /// Returns the end of the next slice to close.
    #[inline]
    pub(crate) fn next_end(&self) -> Nanos {
        self.ends_at
    }

    /// Makes this slice the next to close; there is none behind the last.
    fn end_from(&mut self, ending: usize) {
        let is_there = ending < self.slices.len();
        self.ending = ending;
        self.ends_at = if is_there { self.bound(ending + 1) } else { Nanos::MAX };
    }

    /// Closes the slices that ended at or before `now`: `in_flight` requests are on the wire, and
    /// `backlog` returns the number of slots due and unsent at an instant.
    pub(crate) fn end(&mut self, now: Nanos, in_flight: u64, backlog: impl Fn(Nanos) -> u64) {
        while self.next_end() <= now {
            let end = self.next_end();
            let counts = &mut self.slices[self.ending].counts;
            (counts.in_flight, counts.backlog) = (in_flight, backlog(end));
            self.end_from(self.ending + 1);
        }
    }

    /// Returns the share of the whole window of the name in `place` among those with slices.
    pub(crate) fn share(&self, place: usize) -> NamedSlice {
        let shares = self.slices.iter().filter_map(|slice| slice.named.get(place));
        let mut sum = NamedSlice::default();
        for NamedTally { ok, not_ok, completed, good, messages } in shares {
            sum.ok.add_tally(ok);
            sum.not_ok.add_tally(not_ok);
            sum.completed += completed;
            sum.good += good;
            if let Some(messages) = messages {
                sum.messages.get_or_insert_default().add(&messages.finish());
            }
        }
        sum
    }

    /// Returns the slices as measured: those that began before the window really ended.
    pub(crate) fn finish(
        &self,
        timeline: &Timeline,
        t1_observed_ns: u64,
        never_sent: &BTreeMap<usize, UnsentTally>,
    ) -> Vec<Slice> {
        let t1 = timeline.t1.min(Nanos(t1_observed_ns.max(timeline.t0.0)));
        let mut slices: Vec<Slice> = Vec::new();
        for (index, tally) in self.slices.iter().enumerate() {
            let from = self.bound(index);
            let until = self.bound(index + 1).min(t1);
            let SliceCounts { sent, completed, good, in_flight, backlog } = tally.counts;
            let mut slice = Slice {
                start_ns: from.min(t1).since(self.t0),
                end_ns: until.since(self.t0),
                outcomes: tally.outcomes,
                ..Slice { sent, completed, good, in_flight, backlog, ..Slice::default() }
            };
            slice.ok.add_tally(&tally.ok);
            let of_requests = tally.named.iter().take(self.request_places);
            of_requests.for_each(|share| slice.ok.add_tally(&share.ok));
            slice.outcomes.ok = slice.ok.count();
            slice.not_ok.add_tally(&tally.not_ok);
            if self.measures_messages {
                let tally = tally.messages.as_ref();
                slice.messages = Some(tally.map(|tally| tally.finish()).unwrap_or_default());
            }
            if let Some(UnsentTally { ages, outcomes }) = never_sent.get(&index) {
                slice.not_ok.add(ages);
                slice.outcomes.add(outcomes);
                let messages = slice.messages.iter_mut();
                messages.for_each(|messages| messages.without.add(ages));
            }
            slice.named = tally.named.iter().map(NamedTally::finish).collect();
            match slices.last_mut() {
                // The events that ended the window happened at its end, where the next slice
                // begins.
                Some(last) if from >= t1 => add(last, &slice),
                _ if from >= t1 && slice.ok.is_empty() && slice.not_ok.is_empty() => {}
                _ => slices.push(slice),
            }
        }
        slices
    }
}

/// Adds the tallies of a rest that is no slice of its own.
fn add(slice: &mut Slice, rest: &Slice) {
    slice.ok.add(&rest.ok);
    slice.not_ok.add(&rest.not_ok);
    slice.outcomes.add(&rest.outcomes);
    slice.sent += rest.sent;
    slice.completed += rest.completed;
    slice.good += rest.good;
    slice.add_named(&rest.named);
    if let Some(messages) = &rest.messages {
        slice.messages.get_or_insert_default().add(messages);
    }
}

impl SliceTally {
    /// Returns the share of the name in `place` among those with slices.
    #[inline(always)]
    pub(crate) fn named(&mut self, place: usize) -> &mut NamedTally {
        if self.named.len() <= place {
            self.add_names(place + 1);
        }
        &mut self.named[place]
    }

    /// Returns its messages.
    pub(crate) fn messages(&mut self) -> &mut MessageTally {
        self.messages.get_or_insert_default()
    }

    #[cold]
    fn add_names(&mut self, count: usize) {
        self.named.resize_with(count, NamedTally::default);
    }

    /// Adds the slice that follows this one.
    fn add(&mut self, next: &SliceTally) {
        self.ok.add(&next.ok);
        self.not_ok.add(&next.not_ok);
        self.outcomes.add(&next.outcomes);
        for (place, share) in next.named.iter().enumerate() {
            self.named(place).add(share);
        }
        if let Some(messages) = &next.messages {
            self.messages().add(messages);
        }
        self.counts = SliceCounts {
            sent: self.counts.sent + next.counts.sent,
            completed: self.counts.completed + next.counts.completed,
            good: self.counts.good + next.counts.good,
            in_flight: next.counts.in_flight,
            backlog: next.counts.backlog,
        };
    }
}

impl NamedTally {
    fn add(&mut self, next: &NamedTally) {
        self.ok.add(&next.ok);
        self.not_ok.add(&next.not_ok);
        self.completed += next.completed;
        self.good += next.good;
        if let Some(messages) = &next.messages {
            self.messages().add(messages);
        }
    }

    /// Returns its messages.
    pub(crate) fn messages(&mut self) -> &mut MessageTally {
        self.messages.get_or_insert_default()
    }

    pub(crate) fn finish(&self) -> NamedSlice {
        let ok = Histogram::from(&self.ok);
        let not_ok = Histogram::from(&self.not_ok);
        let messages = self.messages.as_ref().map(|messages| messages.finish());
        NamedSlice { ok, not_ok, completed: self.completed, good: self.good, messages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(t1: Nanos) -> Timeline {
        Timeline { start: Nanos(0), t0: Nanos(1_000), t1, drain_end: t1 }
    }

    #[test]
    fn a_window_without_an_end_keeps_between_thirty_and_sixty_slices() {
        let mut slices = Slices::new(&timeline(Nanos::MAX), &[]);
        let mut last = Nanos(1_000);
        for step in 0..5_000 {
            last = Nanos(1_000 + step * 1_000_000);
            slices.at(last).ok.record(step);
            slices.counts(last).completed += 1;
            slices.end(last, step, |_| 0);
        }
        let finished = slices.finish(&timeline(Nanos::MAX), last.0 + 1, &BTreeMap::new());
        assert_eq!(finished.len(), 32, "5 s in parts of 160 ms");
        assert_eq!(finished.iter().map(|slice| slice.ok.count()).sum::<u64>(), 5_000);
        assert_eq!(finished[3].completed, 160);
        assert_eq!((finished[3].start_ns, finished[3].end_ns), (480_000_000, 640_000_000));
        assert_eq!(finished[3].in_flight, 640, "seen at its end");
        assert_eq!(finished[31].end_ns, last.0 + 1 - 1_000);
    }

    #[test]
    fn ends_without_an_event_are_checked_later() {
        let mut slices = Slices::new(&timeline(Nanos(1_000 + 30 * 1_000_000)), &[]);
        slices.end(Nanos(1_000 + 3_500_000), 7, |at| at.0);
        let finished = slices.finish(&timeline(Nanos(30_001_000)), 30_001_000, &BTreeMap::new());
        let ends: Vec<(u64, u64)> =
            finished[..4].iter().map(|s| (s.in_flight, s.backlog)).collect();
        assert_eq!(ends, [(7, 1_001_000), (7, 2_001_000), (7, 3_001_000), (0, 0)]);
    }
}
