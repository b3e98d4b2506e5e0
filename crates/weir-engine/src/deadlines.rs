//! When to look at a connection again: for a timeout, a late connect, the end of a back-off.
//!
//! Lazy on purpose. A connection stands here with the earliest time at which something *could* be
//! overdue; when that comes, its owner looks at what is really in flight and arms it again. So a
//! connection that works costs one entry per timeout span, and a request costs nothing.

use weir_io::{ConnId, Nanos};

/// Not in the heap.
const OUT: u32 = u32::MAX;

/// The times at which connections want to be looked at: a binary heap that knows where each
/// connection stands in it, so that there are never more entries than connections.
#[derive(Debug)]
pub(crate) struct Deadlines {
    /// Connections; each is due no later than those at twice its index and one or two more.
    heap: Vec<u32>,
    /// Where each connection stands in the heap, or [`OUT`].
    places: Vec<u32>,
    /// When each is due; [`Nanos::MAX`] outside the heap.
    armed: Vec<Nanos>,
}

impl Deadlines {
    /// None armed.
    pub(crate) fn new(connections: u32) -> Deadlines {
        let connections = connections as usize;
        Deadlines {
            heap: Vec::with_capacity(connections),
            places: vec![OUT; connections],
            armed: vec![Nanos::MAX; connections],
        }
    }

    /// Asks for a look at `conn` no later than `at`.
    #[inline]
    pub(crate) fn arm(&mut self, conn: ConnId, at: Nanos) {
        if at < self.armed[conn.index()] {
            self.hasten(conn, at);
        }
    }

    fn hasten(&mut self, conn: ConnId, at: Nanos) {
        self.armed[conn.index()] = at;
        let mut place = self.places[conn.index()] as usize;
        if place == OUT as usize {
            place = self.heap.len();
            self.heap.push(conn.0);
        }
        self.rise(place, conn.0);
    }

    /// When the next look is due.
    #[inline]
    pub(crate) fn next(&self) -> Nanos {
        self.heap.first().map_or(Nanos::MAX, |conn| self.armed[*conn as usize])
    }

    /// A connection whose look is due at `now`; disarms it.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<ConnId> {
        let first = *self.heap.first()?;
        if self.armed[first as usize] > now {
            return None;
        }
        self.armed[first as usize] = Nanos::MAX;
        self.places[first as usize] = OUT;
        let last = self.heap.pop()?;
        if last != first {
            self.sink(last);
        }
        Some(ConnId(first))
    }

    /// What the heap is ordered by: of those due together, the lower number comes first.
    #[inline]
    fn key(&self, conn: u32) -> (Nanos, u32) {
        (self.armed[conn as usize], conn)
    }

    #[inline]
    fn put(&mut self, place: usize, conn: u32) {
        self.heap[place] = conn;
        self.places[conn as usize] = place as u32;
    }

    /// Puts `conn` at `place` or as far above as it belongs.
    fn rise(&mut self, mut place: usize, conn: u32) {
        while place > 0 {
            let above = (place - 1) / 2;
            if self.key(self.heap[above]) <= self.key(conn) {
                break;
            }
            self.put(place, self.heap[above]);
            place = above;
        }
        self.put(place, conn);
    }

    /// Puts `conn` at the top, which is empty, or as far below as it belongs.
    fn sink(&mut self, conn: u32) {
        let mut place = 0;
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let Some(mut below) = self.heap.get(left).copied() else { break };
            let mut at = left;
            if let Some(other) = self.heap.get(right).copied()
                && self.key(other) < self.key(below)
            {
                (below, at) = (other, right);
            }
            if self.key(conn) <= self.key(below) {
                break;
            }
            self.put(place, below);
            place = at;
        }
        self.put(place, conn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_arming_replaces_a_later_one() {
        let mut deadlines = Deadlines::new(2);
        deadlines.arm(ConnId(0), Nanos(100));
        deadlines.arm(ConnId(0), Nanos(10));
        deadlines.arm(ConnId(0), Nanos(50));
        deadlines.arm(ConnId(1), Nanos(20));
        assert_eq!(deadlines.next(), Nanos(10));
        assert_eq!(deadlines.take_due(Nanos(9)), None);
        assert_eq!(deadlines.take_due(Nanos(30)), Some(ConnId(0)));
        assert_eq!(deadlines.take_due(Nanos(30)), Some(ConnId(1)));
        assert_eq!(deadlines.take_due(Nanos(1_000)), None, "entries out of date are dropped");
    }

    #[test]
    fn the_earliest_comes_first_however_often_they_are_armed() {
        const MANY: u32 = 300;
        let mut state = 7_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % limit
        };
        let (mut deadlines, mut expected) = (Deadlines::new(MANY), vec![Nanos::MAX; MANY as usize]);
        for round in 0..20_000 {
            let conn = below(u64::from(MANY)) as u32;
            let at = Nanos(round + below(500));
            deadlines.arm(ConnId(conn), at);
            let known = &mut expected[conn as usize];
            *known = at.min(*known);
            let least = expected.iter().copied().enumerate().map(|(conn, at)| (at, conn)).min();
            let (at, conn) = least.expect("there are some");
            assert_eq!(deadlines.next(), at);
            let is_due = at <= Nanos(round);
            let taken = deadlines.take_due(Nanos(round));
            assert_eq!(taken, is_due.then_some(ConnId(conn as u32)));
            if is_due {
                expected[conn] = Nanos::MAX;
            }
        }
    }
}
