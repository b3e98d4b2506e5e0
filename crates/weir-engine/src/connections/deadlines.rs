//! Timers of connections: request timeouts, connect timeouts, and the end of a back-off.
//!
//! The timers are lazy. A connection is armed with the earliest time at which something *could* be
//! overdue. When that time comes, its owner checks the requests really in flight and arms it again.
//! So a working connection costs one heap entry per timeout span, and a request costs nothing. An
//! idle connection has no entry, and takes four bytes of the index.

use weir_io::{ConnId, Nanos};

/// Marks a connection that is not in the heap.
const OUT: u32 = u32::MAX;

/// The connections' timers: a binary heap with an index of each connection's position. So there are
/// never more entries than connections.
#[derive(Debug)]
pub(crate) struct Deadlines {
    /// The timer at `i` is due no later than those at `2i + 1` and `2i + 2`.
    heap: Vec<ArmedTimer>,
    /// Position of each connection in the heap, or [`OUT`].
    places: Vec<u32>,
}

/// An entry of the heap. Of timers due together, the lower connection number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ArmedTimer {
    due_at: Nanos,
    conn: u32,
}

impl Deadlines {
    /// Returns timers; none is armed.
    pub(crate) fn new(connections: u32) -> Deadlines {
        let connections = connections as usize;
        // Capacity for all; only the pages in use take memory.
        Deadlines { heap: Vec::with_capacity(connections), places: vec![OUT; connections] }
    }

    /// Arms the timer of `conn` for `at`, unless it is due earlier already.
    #[inline]
    pub(crate) fn arm(&mut self, conn: ConnId, at: Nanos) {
        let armed = self.heap.get(self.places[conn.index()] as usize);
        if at < armed.map_or(Nanos::MAX, |armed| armed.due_at) {
            self.hasten(conn, at);
        }
    }

    fn hasten(&mut self, conn: ConnId, at: Nanos) {
        let timer = ArmedTimer { due_at: at, conn: conn.0 };
        let mut place = self.places[conn.index()] as usize;
        if place == OUT as usize {
            place = self.heap.len();
            self.heap.push(timer);
        }
        self.rise(place, timer);
    }

    /// Disarms the timer of `conn`.
    pub(crate) fn disarm(&mut self, conn: ConnId) {
        let place = std::mem::replace(&mut self.places[conn.index()], OUT) as usize;
        if place < self.heap.len() {
            self.fill(place);
        }
    }

    /// Returns the time at which the next timer is due.
    #[inline]
    pub(crate) fn next(&self) -> Nanos {
        self.heap.first().map_or(Nanos::MAX, |timer| timer.due_at)
    }

    /// Returns a connection whose timer is due at `now`, and disarms it.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<ConnId> {
        let ArmedTimer { due_at, conn } = *self.heap.first()?;
        if due_at > now {
            return None;
        }
        self.disarm(ConnId(conn));
        Some(ConnId(conn))
    }

    #[inline]
    fn put(&mut self, place: usize, timer: ArmedTimer) {
        self.heap[place] = timer;
        self.places[timer.conn as usize] = place as u32;
    }

    /// Fills `place`, whose entry is being removed, with the last entry.
    fn fill(&mut self, place: usize) {
        let Some(last) = self.heap.pop() else { return };
        if place < self.heap.len() {
            let place = self.sink(place, last);
            self.rise(place, last);
        }
    }

    /// Moves a timer from `place` up to its position in the heap.
    fn rise(&mut self, mut place: usize, timer: ArmedTimer) {
        while place > 0 {
            let above = (place - 1) / 2;
            if self.heap[above] <= timer {
                break;
            }
            self.put(place, self.heap[above]);
            place = above;
        }
        self.put(place, timer);
    }

    /// Moves the entries below `place` up as far as they precede `timer`; returns its position.
    fn sink(&mut self, mut place: usize, timer: ArmedTimer) -> usize {
        loop {
            let left = 2 * place + 1;
            let Some(mut below) = self.heap.get(left).copied() else { return place };
            let mut at = left;
            if let Some(other) = self.heap.get(left + 1).copied()
                && other < below
            {
                (below, at) = (other, left + 1);
            }
            if timer <= below {
                return place;
            }
            self.put(place, below);
            place = at;
        }
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
    fn what_is_disarmed_is_not_due() {
        let mut deadlines = Deadlines::new(5);
        for (conn, at) in [(0, 10), (1, 50), (2, 20), (3, 60), (4, 30)] {
            deadlines.arm(ConnId(conn), Nanos(at));
        }
        // The last entry replaces the one of connection 3, and must move up from there.
        deadlines.disarm(ConnId(3));
        deadlines.disarm(ConnId(0));
        deadlines.disarm(ConnId(0));
        let mut taken = std::iter::from_fn(|| deadlines.take_due(Nanos(100)));
        assert!(taken.by_ref().eq([2, 4, 1].map(ConnId)));
        deadlines.arm(ConnId(0), Nanos(70));
        assert_eq!(deadlines.next(), Nanos(70));
    }

    #[test]
    fn the_earliest_comes_first_however_often_they_are_armed() {
        const MANY: u32 = 300;
        let mut state = 7_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % limit
        };
        let mut deadlines = Deadlines::new(MANY);
        let mut expected = vec![Nanos::MAX; MANY as usize];
        for round in 0..20_000 {
            let conn = below(u64::from(MANY)) as u32;
            let at = Nanos(round + below(500));
            deadlines.arm(ConnId(conn), at);
            let known = &mut expected[conn as usize];
            *known = at.min(*known);
            if round % 3 == 0 {
                let conn = below(u64::from(MANY)) as u32;
                deadlines.disarm(ConnId(conn));
                expected[conn as usize] = Nanos::MAX;
            }
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
