//! The users of scenarios: where each stands in its scenario, when its next step is due, and the
//! cookies and values that it has. A user sits on one connection, and with streams shares it with
//! others. This room may call connections, for their queues, exchanges, the job and time. It sends
//! nothing.

mod user;
mod user_end;
mod user_miss;

use std::sync::Arc;

use weir_http::ReceivedResponse;
use weir_io::{ConnId, Nanos};
use weir_requests::expect::BodyDecoder;
use weir_requests::list::{Template, Values};
use weir_requests::scenario::{Redirect, RedirectHop, Scenario, StepTurn, UserDraws, path_of};
use weir_result::{MissKind, SlotPhase, StepCounts};

use crate::connections::{Connections, Deadlines, ReadyQueue};
use crate::exchange::{Completion, DueStep, Exchange, ExchangePlace, Outcome};
use crate::job::{Job, ListTurn, UserPlan};
use crate::time::{Partition, Timeline};
use user::{User, UserState};
pub(crate) use user_end::UserEnd;
pub(crate) use user_miss::{UserLack, UserMiss};

/// Marks a request that belongs to no user.
const NO_USER: u32 = u32::MAX;

/// The users of one worker.
#[derive(Debug)]
pub(crate) struct Users {
    plan: Arc<UserPlan>,
    seed: u64,
    epoch_unix_ns: u64,
    /// Seats of each connection at most.
    depth: u16,
    /// By connection and seat.
    table: Vec<User>,
    /// Connections with a free seat that can take a request, by the seats that are taken.
    seats: ReadyQueue,
    /// Seats by connection.
    seats_of: Vec<u16>,
    /// Users by connection.
    users_on: Vec<u16>,
    /// Times at which users act next, by the number of the user.
    due: Deadlines,
    /// User of each request in flight, by connection and request id. Over HTTP/1 it is that of the
    /// connection.
    on_wire: Vec<u32>,
    /// User whose request is being dispatched.
    sending: u32,
    /// True if users begin again as soon as they have ended.
    is_closed_loop: bool,
    decoder: BodyDecoder,
    /// Users of M who have not ended.
    unresolved: u64,
    /// Requests of M that are later steps of their users, as they were sent.
    later_sent: u64,
    /// Of the users of M, by row.
    steps: Vec<StepCounts>,
    /// First number of the names of redirected requests.
    redirected_from: u16,
}

/// A step that a user takes now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserStep {
    /// Number of the user.
    pub(crate) user: u32,
    /// Connection that it goes on.
    pub(crate) conn: ConnId,
    /// Index of its request.
    pub(crate) row: u16,
    /// Due time.
    pub(crate) due_at: Nanos,
}

impl Users {
    /// Returns the users of the worker of `job` that owns `partition`; none has begun. `None` if
    /// the job has no scenarios.
    pub(crate) fn new(job: &Job, partition: Partition) -> Option<Users> {
        let list = job.requests.list.as_ref()?;
        let plan = Arc::clone(list.users.as_ref()?);
        let depth = job.plan.depth();
        let most = job.plan.load.connections.most();
        let connections = job.own_connections_max(partition.part);
        let seats = |own: u32| {
            let number = partition.nth_connection(own);
            let seats = plan.users / most + u32::from(number < plan.users % most);
            seats.clamp(1, depth.into()) as u16
        };
        let places = connections as usize * usize::from(depth);
        let body_max = job.responses.expectations.as_ref().map_or(0, |it| it.body_max_bytes());
        let values = plan.scenarios.values.len();
        Some(Users {
            seed: list.seed,
            epoch_unix_ns: job.epoch_unix_ns,
            depth,
            table: (0..places).map(|_| User::absent(values)).collect(),
            seats: ReadyQueue::new(connections, depth),
            seats_of: (0..connections).map(seats).collect(),
            users_on: vec![0; connections as usize],
            due: Deadlines::new(u32::try_from(places).expect("connections are limited")),
            on_wire: vec![NO_USER; if depth > 1 { places } else { 0 }],
            sending: NO_USER,
            is_closed_loop: !job.plan.load.is_open_loop(),
            decoder: BodyDecoder::new(body_max),
            unresolved: 0,
            later_sent: 0,
            redirected_from: list.redirected_name(0),
            steps: vec![StepCounts::default(); plan.scenarios.places()],
            plan,
        })
    }

    /// True if users of M have not ended.
    pub(crate) fn has_unresolved(&self) -> bool {
        self.unresolved > 0
    }

    /// True if a user waits for its next step.
    pub(crate) fn has_waiting(&self) -> bool {
        self.due.next() != Nanos::MAX
    }

    /// Returns the time at which the next user acts; [`Nanos::MAX`] if none waits.
    #[inline]
    pub(crate) fn next_due(&self) -> Nanos {
        self.due.next()
    }

    /// True if a connection may have a seat for a user who begins.
    #[inline]
    pub(crate) fn has_seat(&self) -> bool {
        !self.seats.is_empty()
    }

    /// Returns the connection on which the next user begins. One that cannot take a request loses
    /// its free seats until it [can](Users::gained_room).
    pub(crate) fn next_seat(&mut self, connections: &Connections) -> Option<ConnId> {
        loop {
            let conn = self.seats.peek()?;
            if connections.ready.load_of(conn).is_some() {
                return Some(conn);
            }
            self.seats.remove(conn);
        }
    }

    /// Notes that `conn` can take requests again, after it could not.
    pub(crate) fn gained_room(&mut self, conn: ConnId) {
        self.offer_seats(conn);
        for user in self.numbers_on(conn) {
            let User { state, due_at, .. } = &mut self.table[user as usize];
            if *state == UserState::Blocked {
                *state = UserState::Waiting;
                self.due.arm(ConnId(user), *due_at);
            }
        }
    }

    /// Returns the scenario of a user.
    fn scenario(&self, user: u32) -> &Scenario {
        let scenario = self.table[user as usize].scenario;
        &self.plan.scenarios.all[usize::from(scenario)]
    }

    /// Begins a user of a scenario on a free seat of `conn`, due at `due_at`. Returns its first
    /// step.
    pub(crate) fn begin(
        &mut self,
        conn: ConnId,
        scenario: u16,
        turn: ListTurn,
        due_at: Nanos,
        phase: SlotPhase,
    ) -> UserStep {
        let mut numbers = self.numbers_on(conn);
        let is_free = |user: &u32| self.table[*user as usize].state == UserState::Absent;
        let user = numbers.find(is_free).expect("the connection has a free seat");
        let draws = UserDraws { seed: self.seed, user: turn.index() };
        self.users_on[conn.index()] += 1;
        self.offer_seats(conn);
        self.table[user as usize].begin(scenario, draws, due_at, phase);
        self.table[user as usize].renew(&self.plan.shared);
        if phase == SlotPhase::Measured {
            self.unresolved += 1;
            // Turns of other sessions that its own has not.
            let turns = self.scenario(user).steps.len();
            if self.plan.scenarios.are_sessions {
                self.steps.iter_mut().skip(turns).for_each(|step| step.skipped += 1);
            }
        }
        self.advance(user, None, due_at).expect("each scenario has a step that all take")
    }

    /// Moves a user who took the turn `last` to its next one, due at `due_at`; `None` at the end.
    fn advance(&mut self, user: u32, last: Option<StepTurn>, due_at: Nanos) -> Option<UserStep> {
        let depth = u32::from(self.depth);
        let Users { plan, table, steps, .. } = self;
        let own = &mut table[user as usize];
        let scenario = &plan.scenarios.all[usize::from(own.scenario)];
        let is_measured = own.phase == SlotPhase::Measured;
        let turn = scenario.next(last, own.draws, &own.memory.captured, |step| {
            if is_measured {
                let place = plan.scenarios.place_of(own.scenario, step);
                let turns = scenario.steps[usize::from(step)].repeat;
                steps[place].skipped += u64::from(turns);
            }
        })?;
        own.turn = turn;
        own.due_at = due_at;
        own.step_due_at = due_at;
        own.hops = 0;
        own.hop = None;
        own.state = UserState::Waiting;
        let row = scenario.steps[usize::from(turn.step)].row;
        Some(UserStep { user, conn: ConnId(user / depth), row, due_at })
    }

    /// Returns the next step that is due at `now` and that its connection can take.
    pub(crate) fn take_due(&mut self, now: Nanos, connections: &Connections) -> Option<UserStep> {
        while let Some(ConnId(user)) = self.due.take_due(now) {
            let conn = ConnId(user / u32::from(self.depth));
            let own = &mut self.table[user as usize];
            match own.state {
                UserState::Resting => self.leave(user),
                UserState::Waiting if connections.ready.load_of(conn).is_some() => {
                    let StepTurn { step, .. } = own.turn;
                    let due_at = own.due_at;
                    let row = self.scenario(user).steps[usize::from(step)].row;
                    return Some(UserStep { user, conn, row, due_at });
                }
                UserState::Waiting => own.state = UserState::Blocked,
                UserState::Absent | UserState::Blocked | UserState::OnWire => {}
            }
        }
        None
    }

    /// Gives a user the values that all share, if these have changed.
    pub(crate) fn renew(&mut self, user: u32) {
        self.table[user as usize].renew(&self.plan.shared);
    }

    /// Returns what the request of a user's step is made of: its values, its cookies and its
    /// conversation.
    pub(crate) fn user(&self, user: u32) -> &User {
        &self.table[user as usize]
    }

    /// Adds the messages of its step to the conversation of a user, in the place of those that it
    /// has added in this turn. `values` are those of fields that are not of users.
    pub(crate) fn add_message(&mut self, user: u32, message: &Template, values: Values<'_>) {
        let own = &mut self.table[user as usize];
        own.memory.add_message(message, own.draws, values);
    }

    /// Returns the seed of the random values in the request of a user's step.
    pub(crate) fn seed_of(&self, user: u32) -> u64 {
        let User { draws, turn, .. } = &self.table[user as usize];
        draws.seed_of(*turn)
    }

    /// Writes the value of the `Cookie` field of a user's request with this path.
    pub(crate) fn write_cookies(&self, user: u32, path: &[u8], now: Nanos, bytes: &mut Vec<u8>) {
        let is_secure = self.plan.origin.is_secure;
        let now_ns = self.epoch_unix_ns.saturating_add(now.0);
        self.table[user as usize].memory.jar.write(path, is_secure, now_ns, bytes);
    }

    /// Notes that this request of a user is dispatched next, in this phase.
    pub(crate) fn sending(&mut self, user: u32, request: &[u8], phase: SlotPhase) {
        let own = &mut self.table[user as usize];
        let is_later = std::mem::replace(&mut own.has_sent, true);
        own.state = UserState::OnWire;
        own.note_line(request);
        self.later_sent += u64::from(is_later && phase == SlotPhase::Measured);
        if own.phase == SlotPhase::Measured && own.hop.is_none() {
            let place = self.plan.scenarios.place_of(own.scenario, own.turn.step);
            self.steps[place].reached += 1;
        }
        self.sending = user;
    }

    /// Notes the place of the request that is being dispatched. Over HTTP/1 it is its connection's.
    pub(crate) fn sent_at(&mut self, place: ExchangePlace) {
        let index = self.index(place);
        if let Some(user) = self.on_wire.get_mut(index) {
            *user = self.sending;
        }
    }

    /// Removes and returns the user of a request that its peer has returned.
    pub(crate) fn take_returned(&mut self, place: ExchangePlace) -> u32 {
        let index = self.index(place);
        self.on_wire.get_mut(index).map_or(NO_USER, |user| std::mem::replace(user, NO_USER))
    }

    /// Notes that the returned request of a user is dispatched again next.
    pub(crate) fn resending(&mut self, user: u32) {
        self.sending = user;
    }

    /// Follows the redirect of a response, if it is one that may be followed, and keeps its
    /// cookies. Returns true if it is followed; an error if it may not be.
    pub(crate) fn follow(
        &mut self,
        place: ExchangePlace,
        response: &ReceivedResponse<'_>,
        at: Nanos,
    ) -> Result<bool, UserMiss> {
        if self.plan.redirects == 0 {
            return Ok(false);
        }
        let Some(user) = self.on_wire(place) else { return Ok(false) };
        let own = &mut self.table[user as usize];
        let redirect = Redirect::of(response, &own.line, own.hop.as_ref(), &self.plan.origin);
        let kind = match redirect {
            None => return Ok(false),
            Some(Redirect::Here(hop)) if own.hops < self.plan.redirects => {
                own.hop = Some(hop);
                own.is_redirected = true;
                self.keep_cookies(user, response, at);
                return Ok(true);
            }
            Some(Redirect::Here(_)) => MissKind::RedirectLimit,
            Some(Redirect::Elsewhere(_)) => MissKind::RedirectElsewhere,
        };
        own.missed = Some(kind);
        let expected = match kind {
            MissKind::RedirectLimit => format!("at most {} redirects", self.plan.redirects),
            _ => "a redirect within the origin".to_owned(),
        };
        let found = match redirect {
            Some(Redirect::Elsewhere(url)) => url,
            _ => String::new(),
        };
        Err(UserMiss { kind, lack: Some(UserLack { expected, found }) })
    }

    /// Takes the values that the user of a request captured out of a text.
    pub(crate) fn hide_captured(&self, place: ExchangePlace, text: &mut String) {
        if let Some(user) = self.on_wire(place) {
            self.table[user as usize].memory.hide(&self.plan.scenarios.values, text);
        }
    }

    /// Returns an exchange as it counts: one whose response was redirected under another name, and
    /// the last one of several with the due time of the first.
    pub(crate) fn counted(&self, place: ExchangePlace, exchange: &Exchange) -> Exchange {
        let Some(user) = self.on_wire(place) else { return *exchange };
        let own = &self.table[user as usize];
        if own.is_redirected {
            return Exchange { tag: self.redirected_from + exchange.tag, ..*exchange };
        }
        match own.hops {
            0 => *exchange,
            _ => Exchange {
                intended_at: own.step_due_at,
                freed_at: exchange.freed_at.max(own.due_at),
                ..*exchange
            },
        }
    }

    /// Keeps the cookies of a response.
    fn keep_cookies(&mut self, user: u32, response: &ReceivedResponse<'_>, at: Nanos) {
        if !self.plan.has_scenarios {
            return;
        }
        let own = &mut self.table[user as usize];
        let now_ns = self.epoch_unix_ns.saturating_add(at.0);
        own.memory.keep_cookies(response, path_of(&own.line), &self.plan.origin, now_ns);
    }

    /// Reads the cookies of a response, and if it `missed` no expectation, the values that its
    /// step captures. Returns the kind of what is missing; `None` if nothing is.
    pub(crate) fn read(
        &mut self,
        place: ExchangePlace,
        response: &ReceivedResponse<'_>,
        missed: Option<MissKind>,
        at: Nanos,
    ) -> Option<UserMiss> {
        let known = missed.map(|kind| UserMiss { kind, lack: None });
        let Some(user) = self.on_wire(place) else { return known };
        self.keep_cookies(user, response, at);
        let Users { plan, table, decoder, .. } = self;
        let own = &mut table[user as usize];
        let scenario = &plan.scenarios.all[usize::from(own.scenario)];
        let step = &scenario.steps[usize::from(own.turn.step)];
        let missed = known.or_else(|| own.keep_values(step, &plan.origin, response, decoder).err());
        own.missed = missed.as_ref().map(|miss| miss.kind);
        missed
    }

    /// Moves on the user whose request has ended. Returns the end of its scenario if that was its
    /// last step, or failed.
    pub(crate) fn completed(
        &mut self,
        place: ExchangePlace,
        completion: &Completion,
    ) -> Option<UserEnd> {
        let user = self.on_wire(place)?;
        let index = self.index(place);
        self.on_wire.get_mut(index).into_iter().for_each(|user| *user = NO_USER);
        let Completion { outcome, at, .. } = completion;
        let own = &mut self.table[user as usize];
        own.answered_ns += at.since(own.due_at);
        if std::mem::take(&mut own.is_redirected) {
            own.hops += 1;
            own.due_at = *at;
            own.state = UserState::Waiting;
            self.due.arm(ConnId(user), *at);
            return None;
        }
        let last = own.turn;
        let draws = own.draws;
        let think_ns = self.scenario(user).think_ns(last, draws);
        let due_at = at.after(think_ns);
        if matches!(outcome, Outcome::Ok(_)) && self.advance(user, Some(last), due_at).is_some() {
            self.due.arm(ConnId(user), due_at);
            return None;
        }
        let end = self.end(user, *outcome, *at);
        if self.is_closed_loop && think_ns > 0 {
            self.table[user as usize].state = UserState::Resting;
            self.due.arm(ConnId(user), due_at);
        } else {
            self.leave(user);
        }
        Some(end)
    }

    /// Ends the scenario of a user, and counts the steps that were not reached.
    fn end(&mut self, user: u32, outcome: Outcome, at: Nanos) -> UserEnd {
        let own = &mut self.table[user as usize];
        let missed = own.missed.take();
        let end = UserEnd {
            scenario: self.plan.scenarios.counted_as(own.scenario),
            due_at: own.arrived_at,
            phase: own.phase,
            answered_ns: own.answered_ns,
            missed: missed.filter(|_| matches!(outcome, Outcome::BadResponse(_))),
            outcome,
            at,
        };
        if own.phase != SlotPhase::Measured {
            return end;
        }
        self.unresolved -= 1;
        if matches!(outcome, Outcome::Ok(_)) {
            return end;
        }
        let StepTurn { step, visit } = own.turn;
        // Behind a redirect the step was sent, whether the next request is on the wire or not.
        let is_sent = own.state == UserState::OnWire || own.hop.is_some();
        let scenario = &self.plan.scenarios.all[usize::from(own.scenario)];
        let is_failed = !matches!(outcome, Outcome::InFlightAtEnd);
        for (index, later) in (0..).zip(&scenario.steps).skip(step.into()) {
            let place = self.plan.scenarios.place_of(own.scenario, index);
            let counts = &mut self.steps[place];
            let taken = if index == step { visit + u16::from(is_sent) } else { 0 };
            let left = u64::from(later.repeat - taken);
            if is_failed {
                counts.failed += u64::from(index == step);
                counts.not_reached += left;
            } else {
                counts.left_at_end += left;
            }
        }
        end
    }

    /// Ends the users of a connection that leaves the load, on which nothing is in flight. Returns
    /// those who had not ended.
    pub(crate) fn left(&mut self, conn: ConnId, at: Nanos) -> Vec<UserEnd> {
        let mut ends = Vec::new();
        for user in self.numbers_on(conn) {
            self.due.disarm(ConnId(user));
            match self.table[user as usize].state {
                UserState::Absent | UserState::OnWire => {}
                UserState::Resting => self.leave(user),
                UserState::Waiting | UserState::Blocked => {
                    ends.push(self.end(user, Outcome::InFlightAtEnd, at));
                    self.leave(user);
                }
            }
        }
        ends
    }

    /// Frees the seat of a user.
    fn leave(&mut self, user: u32) {
        let conn = ConnId(user / u32::from(self.depth));
        let own = &mut self.table[user as usize];
        own.state = UserState::Absent;
        self.users_on[conn.index()] -= 1;
        self.offer_seats(conn);
    }

    /// Ends the users that are left at the end of the run: those of M in progress, each with the
    /// step of M that was due and not sent, if there is one.
    pub(crate) fn finish(
        &mut self,
        timeline: &Timeline,
        end: Nanos,
    ) -> Vec<(UserEnd, Option<DueStep>)> {
        // Of a user whose request is on the wire still, that was returned and counted.
        let is_there = |own: &User| !matches!(own.state, UserState::Absent | UserState::Resting);
        let users = (0..).zip(&self.table).filter(|(_, own)| is_there(own));
        let users: Vec<u32> = users.map(|(user, _)| user).collect();
        let finish = |user: u32| {
            let User { due_at, step_due_at, turn, state, .. } = self.table[user as usize];
            let row = self.scenario(user).steps[usize::from(turn.step)].row;
            let is_due = due_at < end && timeline.phase(step_due_at) == SlotPhase::Measured;
            let is_unsent = is_due && state != UserState::OnWire;
            let step = is_unsent.then_some(DueStep { due_at: step_due_at, row });
            let ended = self.end(user, Outcome::InFlightAtEnd, end);
            (ended, step)
        };
        users.into_iter().map(finish).collect()
    }

    /// Returns the counts of the steps, by row, and the number of requests of M that were later
    /// steps.
    pub(crate) fn into_counts(self) -> (Vec<StepCounts>, u64) {
        let steps = if self.plan.has_scenarios { self.steps } else { Vec::new() };
        (steps, self.later_sent)
    }

    /// Returns the redirect that a user's next request follows; `None` if it is a step's own.
    pub(crate) fn hop(&self, user: u32) -> Option<&RedirectHop> {
        self.table[user as usize].hop.as_ref()
    }

    /// Puts `conn` in the queue of free seats, unless all are taken.
    fn offer_seats(&mut self, conn: ConnId) {
        let free = self.seats_of[conn.index()] - self.users_on[conn.index()];
        self.seats.place(conn, self.depth - free);
    }

    fn numbers_on(&self, conn: ConnId) -> std::ops::Range<u32> {
        let depth = u32::from(self.depth);
        conn.0 * depth..conn.0 * depth + u32::from(self.seats_of[conn.index()])
    }

    fn index(&self, place: ExchangePlace) -> usize {
        place.conn.index() * usize::from(self.depth) + usize::from(place.id)
    }

    /// Returns the user of a request in flight; `None` if it was returned.
    fn on_wire(&self, place: ExchangePlace) -> Option<u32> {
        if place.id == ExchangePlace::NO_ID {
            return None;
        }
        let user = match self.depth {
            1 => place.conn.0,
            _ => *self.on_wire.get(self.index(place))?,
        };
        let own = self.table.get(user as usize)?;
        (own.state == UserState::OnWire).then_some(user)
    }
}
