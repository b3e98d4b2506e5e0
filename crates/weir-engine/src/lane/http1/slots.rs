//! State of HTTP/1 connections that is needed only while requests are in flight: the protocol, and
//! a slot for each request.
//!
//! A worker with many connections leases these to active connections, so that an idle one takes
//! next to no memory. A worker with few connections gives each its own permanently, which saves the
//! leasing.

use weir_http::{BodyBudget, Http1, Interest, MessageFormat};
use weir_io::{ConnId, Nanos};

use crate::connections::{Connections, NO_SLOT};
use crate::exchange::{Exchange, ExchangePlace};

/// The state leased to one connection.
#[derive(Debug)]
pub(super) struct Http1Slot {
    pub(super) protocol: Http1,
    /// Time of the first byte (`Tf`) of the response being received.
    pub(super) first_byte_at: Nanos,
    /// Connection that holds the lease.
    owner: ConnId,
}

/// All leasable states, leased and free.
#[derive(Debug)]
pub(super) struct Http1Slots {
    /// Requests in flight per connection.
    depth: u16,
    interest: Interest,
    /// Format of messages that bodies are split into.
    format: Option<MessageFormat>,
    /// Memory budget of bodies over all connections of the process.
    budget: BodyBudget,
    slots: Vec<Http1Slot>,
    /// Requests in flight: `depth` for each of `slots`, by request id.
    exchanges: Vec<Exchange>,
    free: Vec<u32>,
}

impl Http1Slots {
    /// Returns an empty set; states are made on demand.
    pub(super) fn new(
        depth: u16,
        interest: Interest,
        format: Option<MessageFormat>,
        budget: BodyBudget,
    ) -> Http1Slots {
        Http1Slots {
            depth,
            interest,
            format,
            budget,
            slots: Vec::new(),
            exchanges: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Leases a state to `owner`, either new or returned in its initial condition.
    pub(super) fn lease(&mut self, owner: ConnId) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize].owner = owner;
            return slot;
        }
        let mut protocol = Http1::new(self.depth);
        protocol.set_interest(self.interest, &self.budget);
        self.format.iter().for_each(|format| protocol.set_messages(format));
        self.slots.push(Http1Slot { protocol, first_byte_at: Nanos::ZERO, owner });
        self.exchanges.resize(self.slots.len() * usize::from(self.depth), Exchange::NONE);
        // There is at most one for each connection.
        self.slots.len() as u32 - 1
    }

    /// Returns the slot of `conn`; leases one if needed.
    #[inline]
    pub(super) fn of(&mut self, connections: &mut Connections, conn: ConnId) -> u32 {
        let connection = connections.at_mut(conn);
        if connection.slot == NO_SLOT {
            connection.slot = self.lease(conn);
        }
        connection.slot
    }

    /// Takes back the lease of `conn` if nothing is in flight and its protocol is idle.
    #[inline(never)]
    pub(super) fn end_lease(&mut self, connections: &mut Connections, conn: ConnId) {
        let connection = connections.at_mut(conn);
        if connection.load > 0 || connection.slot == NO_SLOT {
            return;
        }
        let protocol = self.protocol(connection.slot);
        if !protocol.is_mid_response() && protocol.capacity() > 0 {
            self.release(std::mem::replace(&mut connection.slot, NO_SLOT));
        }
    }

    /// Takes back a lease whose protocol is idle and on which no request is in flight.
    pub(super) fn release(&mut self, slot: u32) {
        debug_assert!(self.exchanges(slot).iter().all(|exchange| !exchange.is_live()));
        self.free.push(slot);
    }

    /// Returns the state in `slot`.
    #[inline]
    pub(super) fn at(&mut self, slot: u32) -> &mut Http1Slot {
        &mut self.slots[slot as usize]
    }

    /// Returns the protocol in `slot`.
    pub(super) fn protocol(&self, slot: u32) -> &Http1 {
        &self.slots[slot as usize].protocol
    }

    /// Returns the requests in flight in `slot`, by request id.
    pub(super) fn exchanges(&self, slot: u32) -> &[Exchange] {
        let depth = usize::from(self.depth);
        &self.exchanges[slot as usize * depth..][..depth]
    }

    /// Returns the state in `slot` and its requests in flight, by request id.
    #[inline]
    pub(super) fn parts(&mut self, slot: u32) -> (&mut Http1Slot, &mut [Exchange]) {
        let depth = usize::from(self.depth);
        let exchanges = &mut self.exchanges[slot as usize * depth..][..depth];
        (&mut self.slots[slot as usize], exchanges)
    }

    /// Returns every request in flight with its place.
    pub(super) fn live(&mut self) -> impl Iterator<Item = (ExchangePlace, &mut Exchange)> {
        let exchanges = self.exchanges.chunks_mut(usize::from(self.depth));
        let owned = self.slots.iter().zip(exchanges);
        owned.flat_map(|(slot, exchanges)| {
            let live = (0..).zip(exchanges).filter(|(_, exchange)| exchange.is_live());
            live.map(|(id, exchange)| (ExchangePlace { conn: slot.owner, id }, exchange))
        })
    }

    /// Raises the number of requests in flight per connection to `depth`.
    pub(super) fn deepen(&mut self, depth: u16) {
        let old = usize::from(self.depth);
        let new = usize::from(depth);
        let mut exchanges = vec![Exchange::NONE; self.slots.len() * new];
        for (from, to) in self.exchanges.chunks(old).zip(exchanges.chunks_mut(new)) {
            to[..old].copy_from_slice(from);
        }
        self.exchanges = exchanges;
        self.depth = depth;
    }

    /// Returns the number of 1xx responses over all connections.
    pub(super) fn interim_responses(&self) -> u64 {
        self.slots.iter().map(|slot| slot.protocol.interim_responses()).sum()
    }
}
