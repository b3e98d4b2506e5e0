//! Tallies of the slots of M by the name of their request, if there is a list.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_io::Nanos;
use weir_result::{
    ByOutcome, ErrorKind, Histogram, MissKind, NameTotals, NamedSlice, OutcomePart, Outcomes,
    ResultCounts, SparseHistogram, Tally,
};

use super::failures::{Failures, count_failure};
use super::plan_facts::PlanFacts;
use super::slices::{NamedTally, SliceTally, Slices};
use crate::exchange::{DueStep, Exchange, Outcome};
use crate::job::{ListTurn, RequestList, RowNames, TurnNames};
use crate::live::WorkerFrame;
use crate::record::message_tally::MessageTally;
use crate::time::{Timeline, UnsentSlots};
use crate::users::UserEnd;

/// Tallies by name.
#[derive(Debug)]
pub(super) struct ByName {
    list: Arc<RequestList>,
    names: Vec<NameTallies>,
    measures_messages: bool,
    /// Response times of the names without slices together, and of the others one by one, if they
    /// are shown while the load runs.
    shown: Option<(Tally, Vec<Tally>)>,
}

/// Tallies of one name. What the slices have of a name is not counted here too.
#[derive(Debug, Default)]
struct NameTallies {
    /// Its place among the names with slices, if it has slices.
    place: Option<usize>,
    outcomes: Outcomes,
    status: Vec<(u16, u64)>,
    errors: BTreeMap<ErrorKind, u64>,
    missed: BTreeMap<MissKind, u64>,
    /// Events in the window and times of `ok` slots, of a name without slices.
    unsliced: NamedTally,
    response: Failures,
    /// Service times, if they are not the response times.
    service: Option<ServiceTimes>,
    /// Ages of slots that were never sent.
    never: Tally,
}

/// Service times of the slots of one name.
#[derive(Debug, Default)]
struct ServiceTimes {
    ok: Tally,
    others: Failures,
}

impl ByName {
    /// Returns empty tallies of the names of `list`; `planned` is true if its requests have due
    /// times.
    pub(super) fn new(list: &Arc<RequestList>, planned: bool, messages: bool) -> ByName {
        let place = |name| list.with_slices.iter().position(|with| *with == name);
        let service = || planned.then(ServiceTimes::default);
        let tallies =
            |name| NameTallies { place: place(name), service: service(), ..Default::default() };
        ByName {
            names: (0..list.names).map(tallies).collect(),
            list: Arc::clone(list),
            measures_messages: messages,
            shown: None,
        }
    }

    /// Keeps the response times that are shown while the load runs too, from now on.
    pub(super) fn show(&mut self) {
        let with_slices = self.list.with_slices.iter().map(|_| Tally::new()).collect();
        self.shown.get_or_insert_with(|| (Tally::new(), with_slices));
    }

    /// Counts the expectation that the responses to `requests` requests of M missed.
    pub(super) fn missed(&mut self, exchange: &Exchange, kind: MissKind, requests: u64) {
        let name = &mut self.names[usize::from(exchange.tag)];
        *name.missed.entry(kind).or_default() += requests;
    }

    /// Returns where times and events of a name are counted: its share of `slice`, or its own
    /// tallies if it has no slices.
    #[inline]
    fn share<'a>(&'a mut self, name: u16, slice: &'a mut SliceTally) -> &'a mut NamedTally {
        let name = &mut self.names[usize::from(name)];
        match name.place {
            Some(place) => slice.named(place),
            None => &mut name.unsliced,
        }
    }

    /// Returns where messages of a name are counted, in its share of `slice` or in its own tallies.
    pub(super) fn messages<'a>(
        &'a mut self,
        name: u16,
        slice: &'a mut SliceTally,
    ) -> &'a mut MessageTally {
        self.share(name, slice).messages()
    }

    /// Counts complete responses inside the window; `slice` is that of the event.
    #[inline]
    pub(super) fn completed(
        &mut self,
        exchange: &Exchange,
        is_ok: bool,
        responses: u64,
        slice: &mut SliceTally,
    ) {
        let share = self.share(exchange.tag, slice);
        share.completed += responses;
        share.good += if is_ok { responses } else { 0 };
    }

    /// Counts responses to members of M that are `ok`, and returns the tally of their response
    /// times. It is part of `slice`, that of their intended time: the one of their name, or else
    /// the slice's own.
    #[inline(always)]
    pub(super) fn resolve_ok<'a>(
        &mut self,
        exchange: &Exchange,
        status: u16,
        at: Nanos,
        times: u32,
        slice: &'a mut SliceTally,
    ) -> &'a mut Tally {
        if self.shown.is_some() {
            self.show_response(exchange, at, times);
        }
        let name = &mut self.names[usize::from(exchange.tag)];
        name.outcomes.ok += u64::from(times);
        name.responded(status, times.into());
        if let Some(service) = &mut name.service {
            service.ok.record_times(at.since(exchange.sent_at), times);
        }
        if let Some(place) = name.place {
            return &mut slice.named(place).ok;
        }
        name.unsliced.ok.record_times(at.since(exchange.intended_at), times);
        &mut slice.ok
    }

    /// Counts a member of M that is not `ok`; `slice` is that of its intended time.
    #[cold]
    pub(super) fn resolve_failure(
        &mut self,
        exchange: &Exchange,
        outcome: Outcome,
        at: Nanos,
        slice: &mut SliceTally,
    ) {
        let response_ns = at.since(exchange.intended_at);
        let name = &mut self.names[usize::from(exchange.tag)];
        name.resolve_failure(outcome, response_ns, at.since(exchange.sent_at));
        if let Some(place) = name.place {
            slice.named(place).not_ok.record(response_ns);
        }
        if let Outcome::BadResponse(response) = outcome {
            name.responded(response.status, 1);
            self.show_response(exchange, at, 1);
        }
    }

    /// Counts the end of a user's scenario inside the window; `slice` is that of the event.
    pub(super) fn user_completed(&mut self, end: &UserEnd, slice: &mut SliceTally) {
        let Some(name) = self.name_of_scenario(end.scenario) else { return };
        let share = self.share(name, slice);
        share.completed += u64::from(!matches!(end.outcome, Outcome::InFlightAtEnd));
        share.good += u64::from(matches!(end.outcome, Outcome::Ok(_)));
    }

    /// Counts the end of the scenario of a user of M; `slice` is that of its arrival. Its duration
    /// counts as response time, and that without the pauses as service time.
    pub(super) fn resolve_user(&mut self, end: &UserEnd, slice: &mut SliceTally) {
        let UserEnd { outcome, answered_ns, .. } = *end;
        let Some(number) = self.name_of_scenario(end.scenario) else { return };
        let duration_ns = end.at.since(end.due_at);
        let name = &mut self.names[usize::from(number)];
        if let Some(kind) = end.missed {
            *name.missed.entry(kind).or_default() += 1;
        }
        if !matches!(outcome, Outcome::Ok(_)) {
            name.resolve_failure(outcome, duration_ns, answered_ns);
            if let Some(place) = name.place {
                slice.named(place).not_ok.record(duration_ns);
            }
            return;
        }
        name.outcomes.ok += 1;
        if let Some(service) = &mut name.service {
            service.ok.record(answered_ns);
        }
        let share = match name.place {
            Some(place) => slice.named(place),
            None => &mut name.unsliced,
        };
        share.ok.record(duration_ns);
    }

    /// Returns the number of the name of a scenario; `None` if users have none.
    fn name_of_scenario(&self, scenario: u16) -> Option<u16> {
        let number = self.list.request_names() + scenario;
        (number < self.list.names).then_some(number)
    }

    /// Keeps the response time of responses that are shown while the load runs.
    #[inline(never)]
    fn show_response(&mut self, exchange: &Exchange, at: Nanos, times: u32) {
        let Some((others, with_slices)) = &mut self.shown else { return };
        let tally = match self.names[usize::from(exchange.tag)].place {
            Some(place) => &mut with_slices[place],
            None => others,
        };
        tally.record_times(at.since(exchange.intended_at), times);
    }

    /// Returns the totals so far, as [`WorkerFrame::names`] has them. At a `turn`, only the names
    /// whose turn it is have latencies.
    pub(super) fn totals(&self, turn: Option<usize>) -> Vec<NameTotals> {
        let with_slices = self.list.with_slices.iter().map(|name| &self.names[usize::from(*name)]);
        let mut totals: Vec<NameTotals> = with_slices.map(NameTallies::totals).collect();
        if totals.len() < self.names.len() {
            let mut others = NameTotals::default();
            let without = self.names.iter().filter(|name| name.place.is_none());
            without.for_each(|name| others.add(&name.totals()));
            totals.push(others);
        }
        let Some((others, with_slices)) = &self.shown else { return totals };
        let shown = with_slices.iter().chain([others]);
        for (index, (totals, times)) in totals.iter_mut().zip(shown).enumerate() {
            if turn.is_none_or(|turn| index % WorkerFrame::NAME_TURNS == turn) {
                totals.latency = times.sparse(WorkerFrame::COARSENESS);
            }
        }
        totals
    }

    /// Counts the slots that were never sent, the missing requests of a closed loop, and the steps
    /// that were `due`, with their shares of `slices`, and returns the counts of each name.
    pub(super) fn finish(
        mut self,
        unsent: &UnsentSlots,
        facts: &PlanFacts,
        due: &[DueStep],
        slices: &mut Slices,
    ) -> Vec<ResultCounts> {
        let PlanFacts { timeline, missing, listed, unsent_until, .. } = *facts;
        let Timeline { start, t0, .. } = timeline;
        let list = Arc::clone(&self.list);
        let mut names = RowNames::new(&list);
        let until_ns = timeline.window_end_ns().min(unsent_until.since(start));
        for slot in unsent.slots(until_ns) {
            let due = start.after(slot.offset_ns);
            if due >= t0 {
                let names = names_of(&mut names, ListTurn::Slot(slot.index));
                let age_ns = unsent_until.since(due);
                self.slot_never_sent(names, slot.part, age_ns, slices.slot(due));
            }
        }
        let (turns, taken) = listed;
        for nth in taken..taken + missing {
            let names = names_of(&mut names, turns.nth(nth));
            self.slot_never_sent(names, None, unsent_until.since(t0), slices.slot(t0));
        }
        for DueStep { due_at, row } in due {
            let slice = slices.slot(*due_at);
            self.never_sent(list.name_of(*row), None, unsent_until.since(*due_at), slice);
        }
        let of_name = |name: &NameTallies| {
            let own = || name.unsliced.finish();
            let share = name.place.map_or_else(own, |place| slices.share(place));
            name.finish(share)
        };
        self.names.iter().map(of_name).collect()
    }

    /// Counts a slot that was never sent, with the part of its class: of its request, and if a user
    /// would have begun with it, of the scenario.
    fn slot_never_sent(
        &mut self,
        names: TurnNames,
        part: Option<OutcomePart>,
        age_ns: u64,
        slice: &mut SliceTally,
    ) {
        for name in names.scenario.into_iter().chain([names.request]) {
            self.never_sent(name, part, age_ns, slice);
        }
    }

    /// Counts a slot of one name that was never sent, with the part of its class.
    fn never_sent(
        &mut self,
        name: u16,
        part: Option<OutcomePart>,
        age_ns: u64,
        slice: &mut SliceTally,
    ) {
        let tallies = &mut self.names[usize::from(name)];
        tallies.outcomes.count_never_sent(part);
        tallies.never.record(age_ns);
        if let Some(place) = tallies.place {
            slice.named(place).not_ok.record(age_ns);
        }
        if self.measures_messages && name < self.list.request_names() {
            self.messages(name, slice).without.record(age_ns);
        }
    }
}

/// Returns the names of a slot.
fn names_of(names: &mut RowNames<'_>, turn: ListTurn) -> TurnNames {
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

    #[inline]
    fn responded(&mut self, status: u16, responses: u64) {
        match self.status.first_mut() {
            Some((first, count)) if *first == status => *count += responses,
            _ => self.responded_otherwise(status, responses),
        }
    }

    #[inline(never)]
    fn responded_otherwise(&mut self, status: u16, responses: u64) {
        // A name has few statuses.
        match self.status.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += responses,
            None => self.status.push((status, responses)),
        }
    }

    fn resolve_failure(&mut self, outcome: Outcome, response_ns: u64, service_ns: u64) {
        count_failure(&mut self.outcomes, outcome);
        self.response.record(outcome, response_ns);
        if let Some(service) = &mut self.service {
            service.others.record(outcome, service_ns);
        }
        if let Outcome::TransportError(kind) = outcome {
            *self.errors.entry(kind).or_default() += 1;
        }
    }

    fn finish(&self, share: NamedSlice) -> ResultCounts {
        let mut response_time = ByOutcome { ok: share.ok, ..self.response.finish() };
        let service_time = match &self.service {
            Some(times) => ByOutcome { ok: Histogram::from(&times.ok), ..times.others.finish() },
            None => response_time.clone(),
        };
        response_time.censored.add_tally(&self.never);
        ResultCounts {
            planned: self.outcomes.total(),
            outcomes: self.outcomes,
            status: self.status.iter().copied().collect(),
            errors: self.errors.clone(),
            missed: self.missed.clone(),
            completed: share.completed,
            good: share.good,
            messages: share.messages,
            response_time,
            service_time,
            ..ResultCounts::default()
        }
    }
}
