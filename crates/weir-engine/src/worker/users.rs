//! Dispatch of the steps of users: those that are due, and the first ones of users who begin.

use weir_io::{Backend, Nanos};

use super::Worker;
use super::state::SEND_BATCH;
use crate::lane::Lane;
use crate::pool::ConnectionPool;
use crate::requests::{RequestForm, RequestSource, SlotSource, Slots};
use crate::users::UserStep;

impl<B: Backend, L: Lane> Worker<'_, B, L> {
    /// True if a planned slot is due, or the step of a user.
    #[inline]
    pub(super) fn has_due(&self, now: Nanos) -> bool {
        self.slots.has_due(&self.pool.timeline, now) || self.pool.has_due_user(now)
    }

    /// Dispatches the steps of users that are due, and begins users for the slots that are due, as
    /// far as connections have free seats; before them, requests that the peer returned. Returns
    /// true if the batch is full.
    pub(super) fn dispatch_users(&mut self, now: Nanos) -> bool {
        for _ in 0..SEND_BATCH {
            if self.dispatch_returned(now) {
                continue;
            }
            let next = next_step(&mut self.slots, &mut self.source, &mut self.pool, now);
            let Some((step, slots)) = next else { return false };
            if !self.dispatch_step(&step, slots, now) {
                return false;
            }
        }
        true
    }

    /// Dispatches a step. Returns false if its request cannot be made, which stops the run.
    fn dispatch_step(&mut self, step: &UserStep, slots: Slots, now: Nanos) -> bool {
        let conn = step.conn;
        let pool = &mut self.pool;
        let Some(listed) = self.source.listed_mut() else { return false };
        let Some(users) = pool.ledger.users_mut() else { return false };
        users.renew(step.user);
        let connection = self.slots.turns.connection(conn.0);
        let batch = match listed.step_request(step, users, connection, now) {
            Ok(batch) => batch,
            Err(text) => {
                self.control.list_failed(text, now);
                return false;
            }
        };
        users.sending(step.user, &batch.bytes, slots.phase);
        let is_first = pool.connections.at(conn).unsent == 0;
        // Another iterator than that of lists, whose only call stays inlined.
        let slots = [slots].into_iter();
        let lane = &mut self.handler.lane;
        let sent = lane.dispatch_string(pool, &mut self.backend, conn, batch, slots, now);
        self.unsent.extend(is_first.then_some(conn));
        if let Err(error) = sent {
            let action = self.handler.fail_secure(&mut self.pool, conn, &error, now);
            self.act(conn, action);
        }
        true
    }
}

/// Returns the next step to take, in the order of due times: a later one of a user, or the first of
/// one who begins.
fn next_step<R: RequestForm>(
    slots: &mut SlotSource,
    source: &mut RequestSource<'_, R>,
    pool: &mut ConnectionPool,
    now: Nanos,
) -> Option<(UserStep, Slots)> {
    let arrives_at = slots.next_at(&pool.timeline).unwrap_or(Nanos::MAX);
    let is_later_first = pool.ledger.users()?.next_due() <= arrives_at;
    if is_later_first && let Some(step) = later_step(source, pool, now) {
        return Some(step);
    }
    first_step(slots, source, pool, now).or_else(|| later_step(source, pool, now))
}

/// Returns the next step that is due of a user who has begun.
fn later_step<R: RequestForm>(
    source: &RequestSource<'_, R>,
    pool: &mut ConnectionPool,
    now: Nanos,
) -> Option<(UserStep, Slots)> {
    let users = pool.ledger.users_mut()?;
    let step = users.take_due(now, &pool.connections)?;
    let slots = Slots {
        intended_at: step.due_at,
        // A request that follows a redirect belongs to the phase of the first.
        phase: pool.timeline.phase(users.user(step.user).step_due_at()),
        count: 1,
        tag: source.listed()?.name_of(step.row),
        row: step.row,
    };
    Some((step, slots))
}

/// Begins a user for the next slot, if it is due and there is a seat. Returns the first step.
fn first_step<R: RequestForm>(
    slots: &mut SlotSource,
    source: &mut RequestSource<'_, R>,
    pool: &mut ConnectionPool,
    now: Nanos,
) -> Option<(UserStep, Slots)> {
    let conn = pool.ledger.users_mut()?.next_seat(&pool.connections)?;
    let timeline = pool.timeline;
    if !slots.admits(&timeline, now, pool.connections.in_flight()) {
        return None;
    }
    let turn = slots.next_turn();
    let listed = source.listed_mut()?;
    let scenario = listed.scenario_at(turn)?;
    let slot = slots.take_listed(&timeline, now, 0, 0);
    let users = pool.ledger.users_mut()?;
    let step = users.begin(conn, scenario, turn, slot.intended_at, slot.phase);
    let tag = listed.name_of(step.row);
    Some((step, Slots { tag, row: step.row, ..slot }))
}
