//! The queue of connections that can take a request: the least loaded first, and among equals the
//! one that has waited longest. Every operation takes constant time; there is one list per load.

use weir_io::ConnId;

/// Marks the end of a list.
const NONE: u32 = u32::MAX;

/// Most requests in flight on one connection: the occupied lanes are bits of one word.
pub(crate) const DEPTH_MAX: u16 = 128;

/// Connections that can take a request, by the number of requests they carry.
#[derive(Debug)]
pub(crate) struct ReadyQueue {
    links: Vec<QueueLink>,
    ends: Vec<QueueEnds>,
    occupied: u128,
    /// Connections in any lane.
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct QueueLink {
    before: u32,
    after: u32,
    /// Lane of the connection, or [`OUT`].
    lane: u16,
}

/// Marks a connection in no lane: closed, or full.
const OUT: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
struct QueueEnds {
    first: u32,
    last: u32,
}

impl ReadyQueue {
    /// Returns `depth` empty lanes, for loads `0..depth`.
    pub(crate) fn new(connections: u32, depth: u16) -> ReadyQueue {
        assert!((1..=DEPTH_MAX).contains(&depth), "depth {depth}");
        ReadyQueue {
            links: vec![QueueLink { before: NONE, after: NONE, lane: OUT }; connections as usize],
            ends: vec![QueueEnds { first: NONE, last: NONE }; usize::from(depth)],
            occupied: 0,
            count: 0,
        }
    }

    /// Returns the number of connections that can take a request.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns the connection that takes the next request.
    #[inline]
    pub(crate) fn peek(&self) -> Option<ConnId> {
        if self.occupied == 0 {
            return None;
        }
        Some(ConnId(self.ends[self.occupied.trailing_zeros() as usize].first))
    }

    /// True if no connection can take a request.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// Returns the load that `conn` has in the queue; `None` if it is not in it.
    pub(crate) fn load_of(&self, conn: ConnId) -> Option<u16> {
        let lane = self.links[conn.index()].lane;
        (lane != OUT).then_some(lane)
    }

    /// Puts `conn` at the end of the lane of its load. A load of `depth` or more removes it from
    /// all lanes.
    #[inline]
    pub(crate) fn place(&mut self, conn: ConnId, load: u16) {
        self.remove(conn);
        let Some(ends) = self.ends.get_mut(usize::from(load)) else { return };
        self.count += 1;
        let last = std::mem::replace(&mut ends.last, conn.0);
        if last == NONE {
            ends.first = conn.0;
            self.occupied |= 1 << load;
        } else {
            self.links[last as usize].after = conn.0;
        }
        self.links[conn.index()] = QueueLink { before: last, after: NONE, lane: load };
    }

    /// Removes `conn` from its lane, if it is in one.
    #[inline]
    pub(crate) fn remove(&mut self, conn: ConnId) {
        let QueueLink { before, after, lane } = self.links[conn.index()];
        let Some(ends) = self.ends.get_mut(usize::from(lane)) else { return };
        match before {
            NONE => ends.first = after,
            _ => self.links[before as usize].after = after,
        }
        match after {
            NONE => ends.last = before,
            _ => self.links[after as usize].before = before,
        }
        if ends.first == NONE {
            self.occupied &= !(1 << lane);
        }
        self.count -= 1;
        self.links[conn.index()].lane = OUT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connections_go_round() {
        let mut ready = ReadyQueue::new(3, 1);
        for conn in 0..3 {
            ready.place(ConnId(conn), 0);
        }
        let mut order = Vec::new();
        for _ in 0..5 {
            let conn = ready.peek().expect("all are idle again");
            order.push(conn.0);
            ready.place(conn, 1);
            ready.place(conn, 0);
        }
        assert_eq!(order, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn the_least_loaded_is_next() {
        let mut ready = ReadyQueue::new(3, 4);
        ready.place(ConnId(0), 2);
        ready.place(ConnId(1), 1);
        ready.place(ConnId(2), 3);
        assert_eq!(ready.peek(), Some(ConnId(1)));
        ready.place(ConnId(1), 4);
        assert_eq!(ready.peek(), Some(ConnId(0)));
        ready.remove(ConnId(0));
        assert_eq!(ready.peek(), Some(ConnId(2)));
        ready.remove(ConnId(2));
        ready.remove(ConnId(2));
        assert!(ready.is_empty() && ready.peek().is_none());
    }
}
