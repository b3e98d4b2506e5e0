//! Tallies of the slots of M by the name of their request, if there is a list.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_io::Nanos;
use weir_result::{
    ByOutcome, ErrorKind, Histogram, MissKind, NameCounts, NameTotals, Outcomes, SparseHistogram,
    Tally,
};

use super::failures::Failures;
use crate::completion::Outcome;
use crate::exchange::Exchange;
use crate::request_list::{ListRows, RequestList, RowNames};
use crate::schedule::Schedule;
use crate::slices::{SliceTally, Slices};
use crate::timeline::Timeline;
use crate::turns::{ListTurn, Turns};
use crate::worker_frame::WorkerFrame;

/// Tallies by name.
#[derive(Debug)]
pub(super) struct ByName {
    list: Arc<RequestList>,
    names: Vec<NameTallies>,
    /// Place of each name among those with slices.
    places: Vec<Option<usize>>,
    is_open_loop: bool,
    /// Response times of the names without slices, if they are shown while the load runs.
    others: Option<Tally>,
}

/// Tallies of one name.
#[derive(Debug, Default)]
struct NameTallies {
    /// Slots of M that were sent.
    sent: u64,
    outcomes: Outcomes,
    status: Vec<(u16, u64)>,
    errors: BTreeMap<ErrorKind, u64>,
    missed: BTreeMap<MissKind, u64>,
    completed: u64,
    good: u64,
    response_ok: Tally,
    response: Failures,
    service_ok: Tally,
    service: Failures,
    /// Ages of slots that were never sent.
    never: Tally,
}

/// The end of a run, as far as names need it.
pub(super) struct NameEnd<'a> {
    /// Schedule that still holds the slots that were not taken.
    pub(super) left: &'a Schedule,
    pub(super) timeline: &'a Timeline,
    /// Time up to which the ages of slots that were never sent count.
    pub(super) end: Nanos,
    /// Offset from S of the end of the planned slots.
    pub(super) until_ns: u64,
    /// In a closed loop: number of requests that were to be measured and were not sent.
    pub(super) missing: u64,
    /// The worker's turns in a closed loop, and the number of those that were taken.
    pub(super) listed: (Turns, u64),
    /// True if more slots were sent than the plan has up to its end, which was moved.
    pub(super) counts_sent: bool,
}

impl ByName {
    /// Returns empty tallies of the names of `list`.
    pub(super) fn new(list: &Arc<RequestList>, is_open_loop: bool) -> ByName {
        let place = |name| list.with_slices.iter().position(|with| *with == name);
        ByName {
            names: (0..list.names).map(|_| NameTallies::default()).collect(),
            places: (0..list.names).map(place).collect(),
            list: Arc::clone(list),
            is_open_loop,
            others: None,
        }
    }

    /// Keeps the response times of the names without slices too, from now on.
    pub(super) fn keep_others(&mut self) {
        self.others.get_or_insert_default();
    }

    /// Counts the sending of `requests` requests of M.
    pub(super) fn sent(&mut self, exchange: &Exchange, requests: u64) {
        self.names[usize::from(exchange.tag)].sent += requests;
    }

    /// Counts the expectation that the responses to `requests` requests of M missed.
    pub(super) fn missed(&mut self, exchange: &Exchange, kind: MissKind, requests: u64) {
        let name = &mut self.names[usize::from(exchange.tag)];
        *name.missed.entry(kind).or_default() += requests;
    }

    /// Counts complete responses inside the window; `slice` is that of the event.
    pub(super) fn completed(
        &mut self,
        exchange: &Exchange,
        is_ok: bool,
        responses: u64,
        slice: &mut SliceTally,
    ) {
        let good = if is_ok { responses } else { 0 };
        let name = &mut self.names[usize::from(exchange.tag)];
        name.completed += responses;
        name.good += good;
        if let Some(place) = self.places[usize::from(exchange.tag)] {
            let share = slice.named(place);
            share.completed += responses;
            share.good += good;
        }
    }

    /// Counts members of M by their outcome; `slice` is that of their intended time.
    #[inline(never)]
    pub(super) fn resolve(
        &mut self,
        exchange: &Exchange,
        outcome: Outcome,
        at: Nanos,
        times: u32,
        slice: &mut SliceTally,
    ) {
        let (response_ns, service_ns) =
            (at.since(exchange.intended_at), at.since(exchange.sent_at));
        let name = &mut self.names[usize::from(exchange.tag)];
        let is_ok = matches!(outcome, Outcome::Ok(_));
        if let Some(place) = self.places[usize::from(exchange.tag)] {
            let share = slice.named(place);
            let tally = if is_ok { &mut share.ok } else { &mut share.not_ok };
            tally.record_times(response_ns, times);
        } else if let Some(others) = &mut self.others
            && matches!(outcome, Outcome::Ok(_) | Outcome::BadResponse(_))
        {
            others.record_times(response_ns, times);
        }
        if let Outcome::Ok(response) | Outcome::BadResponse(response) = outcome {
            name.responded(response.status, times.into());
        }
        if is_ok {
            name.outcomes.ok += u64::from(times);
            name.response_ok.record_times(response_ns, times);
            if self.is_open_loop {
                name.service_ok.record_times(service_ns, times);
            }
            return;
        }
        for _ in 0..times {
            name.resolve_failure(outcome, response_ns, service_ns);
        }
    }

    /// Returns the totals so far, as [`WorkerFrame::names`] has them. At a `turn`, only the names
    /// whose turn it is have latencies.
    pub(super) fn totals(&self, turn: Option<usize>) -> Vec<NameTotals> {
        let with_slices = self.list.with_slices.iter().map(|name| &self.names[usize::from(*name)]);
        let mut totals: Vec<NameTotals> = with_slices.clone().map(NameTallies::totals).collect();
        let has_turn =
            |index: usize| turn.is_none_or(|turn| index % WorkerFrame::NAME_TURNS == turn);
        for (index, name) in with_slices.enumerate().filter(|(index, _)| has_turn(*index)) {
            totals[index].latency = name.latency();
        }
        if totals.len() < self.names.len() {
            let mut others = NameTotals::default();
            let without = self.names.iter().zip(&self.places).filter(|(_, place)| place.is_none());
            without.for_each(|(name, _)| others.add(&name.totals()));
            if let Some(times) = self.others.as_ref().filter(|_| has_turn(totals.len())) {
                others.latency = times.sparse(WorkerFrame::COARSENESS);
            }
            totals.push(others);
        }
        totals
    }

    /// Counts the slots that were never sent, with their shares of `slices`, and returns the counts
    /// of each name.
    pub(super) fn finish(mut self, end: &NameEnd<'_>, slices: &mut Slices) -> Vec<NameCounts> {
        let Timeline { start, t0, .. } = *end.timeline;
        let list = Arc::clone(&self.list);
        let mut names = RowNames::new(&list);
        let mut planned: Vec<u64> = self.names.iter().map(|name| name.sent).collect();
        if self.is_open_loop {
            let until_ns = end.until_ns.min(end.end.since(start));
            for (index, offset_ns) in end.left.clone().walk(until_ns) {
                let due = start.after(offset_ns);
                if due >= t0 {
                    let name = name_of(&mut names, ListTurn::Slot(index));
                    self.never_sent(name, end.end.since(due), slices.slot(due));
                    planned[usize::from(name)] += 1;
                }
            }
            // The names of a list that is read during the load are known once it is read.
            if !end.counts_sent && matches!(list.rows, ListRows::Prepared(_)) {
                planned = self.planned(&end.left.restarted(), t0.since(start), end.until_ns);
            }
        } else {
            let (turns, taken) = end.listed;
            for nth in taken..taken + end.missing {
                let name = name_of(&mut names, turns.nth(nth));
                self.never_sent(name, end.end.since(t0), slices.slot(t0));
                planned[usize::from(name)] += 1;
            }
        }
        let names = self.names.iter().zip(planned);
        names.map(|(name, planned)| name.finish(planned, self.is_open_loop)).collect()
    }

    /// Counts a slot that was never sent.
    fn never_sent(&mut self, name: u16, age_ns: u64, slice: &mut SliceTally) {
        let tallies = &mut self.names[usize::from(name)];
        tallies.outcomes.never_sent += 1;
        tallies.never.record(age_ns);
        if let Some(place) = self.places[usize::from(name)] {
            slice.named(place).not_ok.record(age_ns);
        }
    }

    /// Returns the number of slots of each name in `[from_ns, until_ns)`, by the plan.
    fn planned(&self, plan: &Schedule, from_ns: u64, until_ns: u64) -> Vec<u64> {
        let mut planned = vec![0; self.names.len()];
        let slots = plan.clone().walk(until_ns).filter(|(_, offset_ns)| *offset_ns >= from_ns);
        let mut names = RowNames::new(&self.list);
        for (index, _) in slots {
            planned[usize::from(name_of(&mut names, ListTurn::Slot(index)))] += 1;
        }
        planned
    }
}

/// Returns the name of a slot's row.
fn name_of(names: &mut RowNames<'_>, turn: ListTurn) -> u16 {
    names.at(turn).expect("a list that is sent once has all its slots")
}

impl NameTallies {
    /// Returns the counts so far, without latencies.
    fn totals(&self) -> NameTotals {
        let Outcomes { ok, bad_response, transport_error, timed_out, .. } = self.outcomes;
        NameTotals {
            ok,
            bad: bad_response,
            errors: transport_error,
            timed_out,
            latency: SparseHistogram::default(),
        }
    }

    /// Returns the response times so far.
    fn latency(&self) -> SparseHistogram {
        let mut latency = self.response_ok.sparse(WorkerFrame::COARSENESS);
        latency.add(&self.response.bad.sparse(WorkerFrame::COARSENESS));
        latency.coarsen(WorkerFrame::COARSENESS);
        latency
    }

    fn responded(&mut self, status: u16, responses: u64) {
        // A name has few statuses.
        match self.status.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += responses,
            None => self.status.push((status, responses)),
        }
    }

    #[cold]
    fn resolve_failure(&mut self, outcome: Outcome, response_ns: u64, service_ns: u64) {
        let (outcomes, response, service) =
            (&mut self.outcomes, &mut self.response, &mut self.service);
        let (response, service) = match outcome {
            Outcome::Ok(_) => return,
            Outcome::BadResponse(_) => {
                outcomes.bad_response += 1;
                (&mut response.bad, &mut service.bad)
            }
            Outcome::TransportError(kind) => {
                outcomes.transport_error += 1;
                *self.errors.entry(kind).or_default() += 1;
                (&mut response.failed_at, &mut service.failed_at)
            }
            Outcome::TimedOut => {
                outcomes.timed_out += 1;
                (&mut response.censored, &mut service.censored)
            }
            Outcome::InFlightAtEnd => {
                outcomes.in_flight_at_end += 1;
                (&mut response.censored, &mut service.censored)
            }
        };
        response.record(response_ns);
        service.record(service_ns);
    }

    fn finish(&self, planned: u64, is_open_loop: bool) -> NameCounts {
        let of = |ok: &Tally, others: &Failures| ByOutcome {
            ok: Histogram::from(ok),
            ..others.finish()
        };
        let mut response_time = of(&self.response_ok, &self.response);
        let service_time = match is_open_loop {
            true => of(&self.service_ok, &self.service),
            false => response_time.clone(),
        };
        response_time.censored.add_tally(&self.never);
        NameCounts {
            planned,
            outcomes: self.outcomes,
            status: self.status.iter().copied().collect(),
            errors: self.errors.clone(),
            missed: self.missed.clone(),
            completed: self.completed,
            good: self.good,
            response_time,
            service_time,
        }
    }
}
