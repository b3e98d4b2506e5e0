//! The account of one worker's requests. A request is announced here when it is sent, when it ends,
//! or, after the run, if it was never sent.
//!
//! The ledger judges responses and passes each end to the recorder, which counts equal ones
//! together, and to the observers, which see them one by one. What only the recorder counts, as
//! overdue and returned requests, is announced to it directly.

use weir_http::{PushedMessage, ReceivedResponse};
use weir_io::{ConnId, Nanos};
use weir_result::{FailureKind, Measurements, SuccessRule, WorkerPhases};

use super::connection_counts::ConnectionCounts;
use super::judge::Judge;
use super::messages::{MessageRecorder, TimedMessage};
use super::observers::Observers;
use super::recorder::{LaterSteps, PlanFacts, Recorder};
use super::stamps::Stamping;
use crate::exchange::{
    Completion, Exchange, ExchangePlace, KernelTimes, NeverSent, Outcome, SlotPhase, oldest_sent_at,
};
use crate::job::Job;
use crate::live::{WorkerFrame, WorkerLive};
use crate::time::{Timeline, UnsentSlots};
use crate::users::Users;

/// The recorder, the observers and the rule that judges responses.
#[derive(Debug)]
pub(crate) struct Ledger {
    success: SuccessRule,
    /// Judge of responses in place of `success`, if there are expectations.
    judge: Option<Box<Judge>>,
    /// Counts of exchanges.
    pub(crate) recorder: Recorder,
    pub(crate) connections: ConnectionCounts,
    /// Connections with kernel time stamps, which have observers of their own.
    pub(crate) stamping: Stamping,
    /// Messages within responses, if they are measured.
    messages: Option<Box<MessageRecorder>>,
    observers: Observers,
    /// Users whose steps the exchanges are, if there are scenarios.
    users: Option<Box<Users>>,
}

/// The part of a response that only observers see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    pub(crate) place: ExchangePlace,
    pub(crate) kernel: Option<KernelTimes>,
}

impl Ledger {
    /// Returns the empty ledger of worker `number` of `job`, which begins with `connections`
    /// connections, and whose slots are `gap_ns` apart on average.
    pub(crate) fn new(
        job: &Job,
        number: u32,
        timeline: &Timeline,
        connections: u32,
        gap_ns: u64,
        stamping: Stamping,
    ) -> Ledger {
        Ledger {
            success: job.plan.success,
            judge: job.responses.expectations.as_ref().map(|checks| Box::new(Judge::new(checks))),
            recorder: Recorder::new(job, timeline, gap_ns),
            connections: ConnectionCounts::new(connections.into(), job.target.tls.is_some()),
            messages: MessageRecorder::new(job, job.own_connections_max(number)),
            observers: Observers::new(job, number, &stamping),
            users: Users::new(job, job.partition(number)).map(Box::new),
            stamping,
        }
    }

    /// True if the exchanges are steps of users. Cheaper than to look at them, for a run without.
    #[inline(always)]
    pub(crate) fn has_users(&self) -> bool {
        self.users.is_some()
    }

    /// Returns the users whose steps the exchanges are.
    #[inline(always)]
    pub(crate) fn users(&self) -> Option<&Users> {
        self.users.as_deref()
    }

    /// Returns them, to change them.
    #[inline(always)]
    pub(crate) fn users_mut(&mut self) -> Option<&mut Users> {
        self.users.as_deref_mut()
    }

    /// Announces `requests` identical requests that are sent.
    #[inline(always)]
    pub(crate) fn dispatched(&mut self, timeline: &Timeline, exchange: &Exchange, requests: u32) {
        self.recorder.sent(timeline, exchange, requests);
    }

    /// Announces a request that the peer returned and that is sent again.
    pub(crate) fn dispatched_again(&mut self, timeline: &Timeline, exchange: &Exchange) {
        self.recorder.resent(timeline, exchange);
    }

    /// Announces that the send of a request of this phase failed.
    #[cold]
    pub(crate) fn unsent(&mut self, phase: SlotPhase) {
        self.recorder.unsent(phase);
    }

    /// True if an observer sees the exchanges of `conn`.
    #[inline]
    pub(crate) fn observes(&self, conn: ConnId) -> bool {
        self.stamping.covers(conn) || self.observers.sees_all
    }

    /// True if a status code counts as success, in a run without expectations.
    #[inline(always)]
    pub(crate) fn accepts(&self, status: u16) -> bool {
        self.success.accepts(status)
    }

    /// True if the response at `at` to `exchanges` identical exchanges, one of them at `place`, has
    /// what is expected and captured, and its stream did not fail; else the kind of the miss is
    /// counted.
    #[inline(never)]
    pub(crate) fn meets(
        &mut self,
        place: ExchangePlace,
        exchange: &Exchange,
        exchanges: u32,
        at: Nanos,
        response: &ReceivedResponse<'_>,
    ) -> bool {
        match self.users.as_mut().map(|users| users.follow(place, response, at)) {
            None | Some(Ok(false)) => {}
            Some(Ok(true)) => return true,
            Some(Err(miss)) => {
                let judge = self.judge.iter_mut();
                judge.for_each(|judge| judge.keep_example(exchange, response.status, &miss));
                self.hide_captured(place);
                self.recorder.missed(exchange, miss.kind, exchanges);
                return false;
            }
        }
        let missed = match &mut self.judge {
            Some(judge) => {
                judge.count_status(exchange, exchanges, response);
                judge.missed(exchange, response)
            }
            None if !self.success.accepts(response.status) => return false,
            None => None,
        };
        let of_stream =
            || self.messages.as_mut().and_then(|it| it.missed(place, exchange, response));
        let missed = missed.or_else(of_stream);
        let missed = match &mut self.users {
            Some(users) => {
                let miss = users.read(place, response, missed, at);
                if let (Some(judge), Some(miss)) = (&mut self.judge, &miss) {
                    judge.keep_example(exchange, response.status, miss);
                }
                miss.map(|miss| miss.kind)
            }
            None => missed,
        };
        if let Some(kind) = missed {
            self.hide_captured(place);
            self.recorder.missed(exchange, kind, exchanges);
        }
        missed.is_none()
    }

    /// Takes the values of a user out of the example of what a response to it lacks, if that is the
    /// first of its kind.
    #[cold]
    fn hide_captured(&mut self, place: ExchangePlace) {
        if let (Some(judge), Some(users)) = (&mut self.judge, &self.users)
            && let Some(found) = judge.take_new_example()
        {
            users.hide_captured(place, found);
        }
    }

    /// True if bodies were read for the expectations since the last call, which may have taken
    /// long.
    #[inline]
    pub(crate) fn take_has_read(&mut self) -> bool {
        self.judge.as_mut().is_some_and(|judge| judge.take_has_read())
    }

    /// Announces the same response, `outcome`, to `exchanges` identical exchanges; if they are
    /// [observed](Ledger::observes), there is one of them. Responses to users are all checked, so a
    /// run without `CHECKS` has code without users.
    #[inline(always)]
    pub(crate) fn responded<const CHECKS: bool>(
        &mut self,
        timeline: &Timeline,
        exchange: &Exchange,
        exchanges: u32,
        outcome: Outcome,
        at: Nanos,
        observed: Option<Observed>,
    ) {
        debug_assert!(CHECKS || self.users.is_none());
        match observed {
            Some(observed) if CHECKS && self.users.is_some() => {
                self.responded_to_user(timeline, exchange, outcome, at, observed);
            }
            observed => {
                self.recorder.completed(timeline, exchange, outcome, at, exchanges);
                if let Some(Observed { place, kernel }) = observed {
                    let conn = place.conn;
                    let exchange = *exchange;
                    let messages = None;
                    let completion = Completion { conn, exchange, outcome, at, messages, kernel };
                    self.observe(timeline, place, completion);
                }
            }
        }
    }

    /// Announces a response to the request of a user.
    #[inline(never)]
    fn responded_to_user(
        &mut self,
        timeline: &Timeline,
        exchange: &Exchange,
        outcome: Outcome,
        at: Nanos,
        observed: Observed,
    ) {
        let Observed { place, kernel } = observed;
        let exchange = self.counted(place, exchange);
        self.recorder.completed(timeline, &exchange, outcome, at, 1);
        let conn = place.conn;
        let completion = Completion { conn, exchange, outcome, at, messages: None, kernel };
        self.observe(timeline, place, completion);
        self.move_user(timeline, place, &completion);
    }

    /// Announces an exchange that ended without a response: it failed, or its timeout has expired.
    #[cold]
    pub(crate) fn ended(
        &mut self,
        timeline: &Timeline,
        place: ExchangePlace,
        exchange: &Exchange,
        outcome: Outcome,
        at: Nanos,
    ) {
        debug_assert!(matches!(outcome, Outcome::TransportError(_) | Outcome::TimedOut));
        let exchange = &self.counted(place, exchange);
        self.recorder.completed(timeline, exchange, outcome, at, 1);
        self.observe_end(timeline, place, exchange, outcome, at);
    }

    /// Announces an exchange that has exceeded the timeout and is still awaited.
    pub(crate) fn overdue(&mut self, exchange: &Exchange) {
        self.recorder.overdue(exchange);
    }

    /// Announces the end of a batch, whose last response arrived at `at`; `exchange` is any of it.
    #[inline]
    pub(crate) fn batch_ended(&mut self, exchange: &Exchange, at: Nanos) {
        self.recorder.batch_ended(exchange, at);
    }

    /// Announces a request that the peer returned unprocessed.
    pub(crate) fn returned(&mut self) {
        self.recorder.returned();
    }

    /// Takes a returned request off the wire, to be sent again later.
    pub(crate) fn withdrawn(&mut self, timeline: &Timeline, exchange: &Exchange, at: Nanos) {
        self.recorder.abandoned(timeline, exchange, at);
    }

    /// Announces an exchange that the run ended before. It stays on the wire if it is there, and
    /// counts no longer.
    pub(crate) fn censored(
        &mut self,
        timeline: &Timeline,
        place: ExchangePlace,
        exchange: &Exchange,
        at: Nanos,
    ) {
        let exchange = &self.counted(place, exchange);
        if exchange.phase == SlotPhase::Measured {
            self.recorder.censored(exchange, at);
        }
        self.observe_end(timeline, place, exchange, Outcome::InFlightAtEnd, at);
    }

    /// Takes an exchange off the wire whose socket is about to be closed, after the run.
    pub(crate) fn abandoned(
        &mut self,
        timeline: &Timeline,
        place: ExchangePlace,
        exchange: &Exchange,
        at: Nanos,
    ) {
        self.recorder.abandoned(timeline, exchange, at);
        let exchange = &self.counted(place, exchange);
        self.observe_end(timeline, place, exchange, Outcome::InFlightAtEnd, at);
    }

    /// Announces a connection that opened at `at`; `open` are open now.
    pub(crate) fn connected(
        &mut self,
        timeline: &Timeline,
        conn: ConnId,
        took_ns: u64,
        open: u64,
        at: Nanos,
    ) {
        self.connections.connected(timeline, took_ns, open, at);
        self.observers.connected(conn);
    }

    /// Announces a TLS handshake that ended at `at`.
    pub(crate) fn secured(&mut self, timeline: &Timeline, took_ns: u64, at: Nanos) {
        self.connections.secured(timeline, took_ns, at);
    }

    /// Records messages that a server sent by itself, read at `at`.
    pub(crate) fn pushed(&mut self, timeline: &Timeline, messages: &[PushedMessage], at: Nanos) {
        messages.iter().for_each(|pushed| self.connections.pushed(timeline, *pushed, at));
    }

    /// Announces a connection that failed.
    pub(crate) fn connection_failed(&mut self, conn: ConnId, kind: FailureKind) {
        self.connections.failed(kind);
        self.observers.connection_failed(conn, kind.phase);
    }

    /// Returns the worker's frame at `now`, without what others know. The load began at `start`.
    pub(crate) fn frame(
        &self,
        start: Nanos,
        now: Nanos,
        in_flight: u64,
        backlog: u64,
    ) -> WorkerFrame {
        let mut frame = self.recorder.frame(start, now, in_flight, backlog);
        self.messages.iter().for_each(|messages| messages.add_to_frame(&mut frame));
        self.observers.add_to_frame(&mut frame);
        frame
    }

    /// Announces the slots that were never sent, and returns the worker's measurements. `live`
    /// receives its last interval.
    pub(crate) fn finish(
        self,
        unsent: &UnsentSlots,
        facts: &PlanFacts,
        phases: WorkerPhases,
        live: &WorkerLive,
    ) -> Measurements {
        let Ledger { judge, mut recorder, connections, messages, mut observers, users, .. } = self;
        let end = Nanos(phases.drained_ns);
        users.into_iter().for_each(|users| end_users(*users, &mut recorder, &facts.timeline, end));
        recorder.slices.measures_messages = messages.is_some();
        let missed = recorder.take_missed();
        let due = recorder.later.due.clone();
        let mut measurements = recorder.finish(unsent, facts, phases, live);
        measurements.results.missed = missed;
        judge.into_iter().for_each(|judge| judge.finish(&mut measurements));
        connections.finish(&mut measurements);
        messages.iter().for_each(|messages| messages.finish(&mut measurements));
        let count = measurements.results.outcomes.never_sent;
        let given_up_at = facts.unsent_until;
        if count > 0 {
            let timeline = &facts.timeline;
            observers.never_sent(&NeverSent { unsent, timeline, due: &due, count, given_up_at });
        }
        observers.finish(&mut measurements);
        measurements
    }

    /// Announces a message within a response in progress. Its stamp is ignored if its connection
    /// has none.
    #[inline(never)]
    pub(crate) fn message(
        &mut self,
        timeline: &Timeline,
        place: ExchangePlace,
        exchange: &Exchange,
        timed: TimedMessage,
    ) {
        let is_own = |stamp: &Nanos| self.stamping.covers(place.conn) && *stamp <= timed.at;
        let timed = TimedMessage { stamp: timed.stamp.filter(is_own), ..timed };
        if let Some(messages) = &mut self.messages {
            messages.received(&mut self.recorder.shares(timeline), place, exchange, timed);
        }
    }

    /// Returns the time from which the timeout of an exchange counts: its send or, if messages are
    /// measured, its last message.
    pub(crate) fn heard_at(&self, place: ExchangePlace, exchange: &Exchange) -> Nanos {
        let heard_at = self.messages.as_ref().map(|messages| messages.heard_at(place));
        exchange.sent_at.max(heard_at.unwrap_or(Nanos::ZERO))
    }

    /// Returns the earliest of these times, over the requests in flight on `conn` that are not
    /// overdue already.
    pub(crate) fn oldest_heard_at(&self, conn: ConnId, exchanges: &[Exchange]) -> Option<Nanos> {
        if self.messages.is_none() {
            return oldest_sent_at(exchanges);
        }
        let waiting = (0..).zip(exchanges).filter(|(_, one)| one.is_live() && !one.is_overdue);
        waiting.map(|(id, one)| self.heard_at(ExchangePlace { conn, id }, one)).min()
    }

    /// Returns an exchange as it counts.
    #[inline]
    fn counted(&self, place: ExchangePlace, exchange: &Exchange) -> Exchange {
        self.users.as_ref().map_or(*exchange, |users| users.counted(place, exchange))
    }

    #[cold]
    fn observe_end(
        &mut self,
        timeline: &Timeline,
        place: ExchangePlace,
        exchange: &Exchange,
        outcome: Outcome,
        at: Nanos,
    ) {
        let conn = place.conn;
        let exchange = *exchange;
        let messages = None;
        let kernel = None;
        let completion = Completion { conn, exchange, outcome, at, messages, kernel };
        self.observe(timeline, place, completion);
        self.move_user(timeline, place, &completion);
    }

    /// Announces a completion to the observers, with its messages if they are measured.
    #[inline(never)]
    fn observe(&mut self, timeline: &Timeline, place: ExchangePlace, mut completion: Completion) {
        if let Some(messages) = &mut self.messages {
            let Completion { exchange, outcome, at, .. } = &completion;
            let shares = self.recorder.shares(timeline);
            let ended = messages.ended(shares, place, exchange, outcome, *at);
            completion.messages = Some(ended);
        }
        self.observers.completed(&completion, self.stamping.covers(place.conn));
    }

    /// Counts `conn`, on which nothing is in flight, as one that leaves the load, and its users as
    /// in progress then.
    pub(crate) fn left(&mut self, timeline: &Timeline, conn: ConnId, at: Nanos) {
        self.connections.left();
        for end in self.users.iter_mut().flat_map(|users| users.left(conn, at)) {
            self.recorder.user_ended(timeline, &end);
        }
    }

    /// Moves on the user whose exchange has ended, and counts it if it has ended too.
    fn move_user(&mut self, timeline: &Timeline, place: ExchangePlace, completion: &Completion) {
        let users = self.users.as_mut();
        if let Some(end) = users.and_then(|users| users.completed(place, completion)) {
            self.recorder.user_ended(timeline, &end);
        }
    }
}

/// Counts the users that are left at `end`, the end of the run, and the steps of all.
fn end_users(mut users: Users, recorder: &mut Recorder, timeline: &Timeline, end: Nanos) {
    let mut due = Vec::new();
    for (ended, step) in users.finish(timeline, end) {
        recorder.user_ended(timeline, &ended);
        due.extend(step);
    }
    let (counts, sent) = users.into_counts();
    recorder.later = LaterSteps { sent, due, counts };
}
