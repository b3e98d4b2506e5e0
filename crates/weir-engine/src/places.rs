//! What a connection needs only while requests are in flight on it: its protocol, and a place for
//! each of them.
//!
//! A worker with many connections lends these to those at work, so that an idle one takes next to
//! no memory; one with few gives each connection its own for good, which spares the lending.

use weir_http::{BodyBudget, Interest, Protocol};
use weir_io::{ConnId, Nanos};

use crate::exchange::Exchange;

/// Nothing is lent.
pub(crate) const NONE: u32 = u32::MAX;

/// What one connection is lent.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) protocol: Protocol,
    /// `Tf` of the answer that is under way.
    pub(crate) first_byte_at: Nanos,
    /// Whose it is.
    pub(crate) owner: ConnId,
}

/// All that can be lent.
#[derive(Debug)]
pub(crate) struct Places {
    /// Requests in flight per connection.
    depth: u16,
    interest: Interest,
    /// Memory budget of bodies over all connections of the process.
    budget: BodyBudget,
    places: Vec<Place>,
    /// `depth` of each, by request id.
    exchanges: Vec<Exchange>,
    free: Vec<u32>,
}

impl Places {
    /// None yet.
    pub(crate) fn new(depth: u16, interest: Interest, budget: BodyBudget) -> Places {
        let (places, exchanges, free) = (Vec::new(), Vec::new(), Vec::new());
        Places { depth, interest, budget, places, exchanges, free }
    }

    /// One for `owner`, fresh or as good as that.
    pub(crate) fn lend(&mut self, owner: ConnId) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize].owner = owner;
            return place;
        }
        let mut protocol = Protocol::http1(self.depth);
        protocol.set_interest_within(self.interest, &self.budget);
        self.places.push(Place { protocol, first_byte_at: Nanos::ZERO, owner });
        self.exchanges.resize(self.places.len() * usize::from(self.depth), Exchange::NONE);
        // One for each connection at most.
        self.places.len() as u32 - 1
    }

    /// Takes one back whose protocol is fresh or rests, and on which nothing is in flight.
    pub(crate) fn take_back(&mut self, place: u32) {
        debug_assert!(self.exchanges_of(place).iter().all(|exchange| !exchange.is_live()));
        self.free.push(place);
    }

    /// One of them.
    #[inline]
    pub(crate) fn at(&mut self, place: u32) -> &mut Place {
        &mut self.places[place as usize]
    }

    /// The protocol of one.
    pub(crate) fn protocol(&self, place: u32) -> &Protocol {
        &self.places[place as usize].protocol
    }

    /// The requests in flight of one, by id.
    pub(crate) fn exchanges_of(&self, place: u32) -> &[Exchange] {
        let depth = usize::from(self.depth);
        &self.exchanges[place as usize * depth..][..depth]
    }

    /// One of them and its requests in flight, by id.
    #[inline]
    pub(crate) fn parts(&mut self, place: u32) -> (&mut Place, &mut [Exchange]) {
        let depth = usize::from(self.depth);
        let exchanges = &mut self.exchanges[place as usize * depth..][..depth];
        (&mut self.places[place as usize], exchanges)
    }

    /// Every request in flight, and whose it is.
    pub(crate) fn live(&mut self) -> impl Iterator<Item = (ConnId, &mut Exchange)> {
        let exchanges = self.exchanges.chunks_mut(usize::from(self.depth));
        let owned = self.places.iter().zip(exchanges);
        owned.flat_map(|(place, exchanges)| {
            let live = exchanges.iter_mut().filter(|exchange| exchange.is_live());
            live.map(|exchange| (place.owner, exchange))
        })
    }

    /// Makes `depth` places of each.
    pub(crate) fn deepen(&mut self, depth: u16) {
        let (old, new) = (usize::from(self.depth), usize::from(depth));
        let mut exchanges = vec![Exchange::NONE; self.places.len() * new];
        for (from, to) in self.exchanges.chunks(old).zip(exchanges.chunks_mut(new)) {
            to[..old].copy_from_slice(from);
        }
        self.exchanges = exchanges;
        self.depth = depth;
    }

    /// 1xx answers over all connections.
    pub(crate) fn interim_responses(&self) -> u64 {
        self.places.iter().map(|place| place.protocol.interim_responses()).sum()
    }
}
