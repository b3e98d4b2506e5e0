//! Conversion of a worker's tallies to its measurements, after its end.

use std::collections::BTreeMap;

use weir_io::Nanos;
use weir_result::{
    Histogram, Measurements, MessageShare, Occupancy, OutcomeClass, OutcomePart, ResultCounts,
    Sent, WorkerPhases,
};

use super::slices::UnsentTally;
use super::{PlanFacts, Recorder};
use crate::exchange::DueStep;
use crate::live::WorkerLive;
use crate::time::{Timeline, UnsentSlots};

impl Recorder {
    /// Returns the worker's measurements. Sends the last interval to `live`.
    pub(in crate::record) fn finish(
        mut self,
        unsent: &UnsentSlots,
        facts: &PlanFacts,
        mut phases: WorkerPhases,
        live: &WorkerLive,
    ) -> Measurements {
        let timeline = &facts.timeline;
        if let Some(catch_up) = self.catch_up() {
            catch_up.finish(timeline.t0, &mut phases.usage);
        }
        let end = Nanos(phases.drained_ns);
        let never = self.never_sent(unsent, facts);
        let planned = self.planned(unsent, facts, &never.all);
        let names = self.finish_names(unsent, facts, live);
        let slices = self.slices.finish(timeline, phases.t1_ns, &never.by_slice);
        let t1 = timeline.t1.min(Nanos(phases.t1_ns).max(timeline.t0));
        let mut response_time = self.times.response.finish();
        for slice in &slices {
            response_time.ok.add(&slice.ok);
        }
        // A plan has service times of its own.
        let service_time = response_time.clone();
        response_time.censored.add(&never.all.ages);
        let sent = self.really_sent();
        let mut outcomes = self.counts.outcomes;
        outcomes.add(&never.all.outcomes);
        let capacity_ns = self.capacity.finish(timeline, end);
        let occupancy = Occupancy { capacity_ns, ..self.occupancy.finish(timeline, end) };
        let messages = MessageShare::sum(slices.iter().filter_map(|of| of.messages.as_ref()));
        let mut measurements = Measurements {
            results: ResultCounts {
                planned,
                outcomes,
                status: (0u16..).zip(*self.status).filter(|(_, count)| *count > 0).collect(),
                errors: self.counts.errors,
                completed: self.counts.completed,
                good: self.counts.good,
                response_time,
                service_time,
                messages,
                ..ResultCounts::default()
            },
            sent,
            occupancy,
            first_byte: Histogram::from(&self.times.first_byte),
            overdue: self.counts.overdue,
            thread_rates: self.sampler.map_or_else(Histogram::new, |sampler| sampler.rates),
            batch_time: self.times.batch.as_ref().map_or_else(Histogram::new, Histogram::from),
            slices,
            window: self.window,
            workers: vec![phases],
            names,
            intervals: self.series.finish(end, live),
            steps: self.later.counts,
            interim_responses: self.counts.interim_responses,
            event_streams: self.counts.event_streams,
            ..Measurements::default()
        };
        if let Some(punctuality) = self.punctuality {
            punctuality.finish(t1, &never.all.ages, &mut measurements);
        }
        measurements
    }

    /// Returns the number of slots of M. If the window was cut, more may have been sent than were
    /// planned up to its end, beside those that were not sent by plan.
    fn planned(&self, unsent: &UnsentSlots, facts: &PlanFacts, never: &UnsentTally) -> u64 {
        // Later steps of users are in no schedule.
        let later = self.later.sent + self.later.due.len() as u64;
        let sent = self.counts.sent.measured - self.later.sent;
        let timeline = &facts.timeline;
        let t0_ns = timeline.t0.since(timeline.start);
        let Some(by_plan) = unsent.planned(t0_ns, timeline.window_end_ns()) else {
            return sent + facts.missing + later;
        };
        let unsent_by_plan = never.outcomes.unsent_by_plan();
        later + if facts.is_cut { by_plan.max(sent + unsent_by_plan) } else { by_plan }
    }

    /// Returns the counts of each name, and adds their slots that were never sent to the slices.
    /// Sends the last totals to `live`.
    fn finish_names(
        &mut self,
        unsent: &UnsentSlots,
        facts: &PlanFacts,
        live: &WorkerLive,
    ) -> Vec<ResultCounts> {
        let Some(names) = self.names.take() else { return Vec::new() };
        live.send_names(|| names.totals(None));
        names.finish(unsent, facts, &self.later.due, &mut self.slices)
    }

    /// Returns the number of requests put on the wire and, apart, of those whose send failed.
    fn really_sent(&self) -> Sent {
        Sent {
            warmup: self.counts.sent.warmup - self.counts.unsent.warmup,
            measured: self.counts.sent.measured - self.counts.unsent.measured,
            tail: self.counts.sent.tail - self.counts.unsent.tail,
            failed: self.counts.unsent.total(),
            ..self.counts.sent
        }
    }

    /// Returns the slots of M that were never sent, by bucket arithmetic. A range of slots whose
    /// ages share a bucket and a slice is one record, so that an absurd rate ends at once.
    fn never_sent(&self, unsent: &UnsentSlots, facts: &PlanFacts) -> UnsentTallies {
        let Timeline { start, t0, .. } = facts.timeline;
        let end = facts.unsent_until;
        let mut never = UnsentTallies::default();
        let missing = facts.missing;
        let age = end.since(t0);
        never.add(0, [age, age], missing, u128::from(age) * u128::from(missing));
        let end_offset = end.since(start);
        let until = facts.timeline.window_end_ns().min(end_offset);
        let spans = |offset: u64| {
            let age = end_offset.saturating_sub(offset).min(weir_result::histogram::HIGHEST_NS);
            let bucket = weir_result::histogram::bucket_of(age);
            let bucket_end = end_offset - weir_result::histogram::lowest_in(bucket) + 1;
            bucket_end.min(self.slices.end_of(start.after(offset)).since(start))
        };
        unsent.left_ranges(until, spans, |range| {
            if start.after(range.first_ns) < t0 {
                return;
            }
            let slice = self.slices.index(start.after(range.first_ns));
            let sum = u128::from(end_offset) * u128::from(range.slots) - range.sum_ns;
            let oldest = end_offset - range.first_ns;
            let youngest = end_offset - range.last_ns;
            never.add(slice, [youngest, oldest], range.slots, sum);
        });
        for DueStep { due_at, .. } in &self.later.due {
            never.add_one(self.slices.index(*due_at), end.since(*due_at), None);
        }
        for slot in unsent.parted(until) {
            let due = start.after(slot.offset_ns);
            if due >= t0 {
                never.add_one(self.slices.index(due), end.since(due), slot.part);
            }
        }
        never
    }
}

/// Slots of M that were never sent, in all and by slice.
#[derive(Debug, Default)]
struct UnsentTallies {
    all: UnsentTally,
    by_slice: BTreeMap<usize, UnsentTally>,
}

impl UnsentTallies {
    /// Adds slots of a slice that were left, from the youngest to the oldest.
    fn add(&mut self, slice: usize, [youngest, oldest]: [u64; 2], slots: u64, sum_ns: u128) {
        if slots == 0 {
            return;
        }
        for tally in [&mut self.all, self.by_slice.entry(slice).or_default()] {
            tally.ages.record_range(youngest, oldest, slots, sum_ns);
            tally.outcomes.count(OutcomeClass::NeverSent, slots);
        }
    }

    /// Adds a slot of a slice, with the part of its class.
    fn add_one(&mut self, slice: usize, age_ns: u64, part: Option<OutcomePart>) {
        for tally in [&mut self.all, self.by_slice.entry(slice).or_default()] {
            tally.ages.record_range(age_ns, age_ns, 1, age_ns.into());
            tally.outcomes.count_never_sent(part);
        }
    }
}
