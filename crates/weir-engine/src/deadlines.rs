//! When to look at a connection again: for a timeout, a late connect, the end of a back-off.
//!
//! Lazy on purpose. A connection stands here with the earliest time at which something *could* be
//! overdue; when that comes, its owner looks at what is really in flight and arms it again. So a
//! connection that works costs one entry per timeout span, and a request costs nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weir_io::{ConnId, Nanos};

/// The times at which connections want to be looked at.
#[derive(Debug)]
pub(crate) struct Deadlines {
    heap: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Each connection's valid entry; others in the heap are out of date.
    armed: Vec<Nanos>,
}

impl Deadlines {
    /// None armed.
    pub(crate) fn new(connections: u32) -> Deadlines {
        Deadlines { heap: BinaryHeap::new(), armed: vec![Nanos::MAX; connections as usize] }
    }

    /// Asks for a look at `conn` no later than `at`.
    #[inline]
    pub(crate) fn arm(&mut self, conn: ConnId, at: Nanos) {
        if at < self.armed[conn.index()] {
            self.armed[conn.index()] = at;
            self.heap.push(Reverse((at, conn.0)));
        }
    }

    /// When the next look may be due; it may prove to be out of date.
    #[inline]
    pub(crate) fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |Reverse((at, _))| *at)
    }

    /// A connection whose look is due at `now`; disarms it.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<ConnId> {
        while let Some(Reverse((at, conn))) = self.heap.peek().copied() {
            if at > now {
                return None;
            }
            self.heap.pop();
            if self.armed[conn as usize] == at {
                self.armed[conn as usize] = Nanos::MAX;
                return Some(ConnId(conn));
            }
        }
        None
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
}
