//! Requests that wait for their responses, in order. Stores one bit per request, which parsing of
//! its response needs, and no bytes.

use std::ops::Range;

use crate::request_id::DEPTH_MAX;
use crate::request_id::RequestId;
use crate::request_traits::RequestTraits;

/// Ring of the requests in flight: `count` ids from `oldest` on, modulo `depth`.
#[derive(Debug)]
pub(crate) struct InFlight {
    heads: Heads,
    depth: u16,
    pub(crate) count: u16,
    oldest: u16,
    /// True if the newest request has `Connection: close`; none follows it.
    closes: bool,
}

impl InFlight {
    pub(crate) fn new(depth: u16) -> InFlight {
        assert!((1..=DEPTH_MAX).contains(&depth), "depth {depth} is not in 1..={DEPTH_MAX}");
        InFlight { heads: Heads::Few(0), depth, count: 0, oldest: 0, closes: false }
    }

    /// Changes the depth; ids start at 0 again.
    pub(crate) fn set_depth(&mut self, depth: u16) {
        assert!((1..=DEPTH_MAX).contains(&depth), "depth {depth} is not in 1..={DEPTH_MAX}");
        assert!(self.count == 0, "the depth changes while nothing is in flight");
        (self.depth, self.oldest) = (depth, 0);
    }

    #[inline]
    pub(crate) fn capacity(&self) -> u16 {
        if self.closes { 0 } else { self.depth - self.count }
    }

    /// Adds equal requests, up to the last id or to one that closes: at least one and at most
    /// `most`. Returns their ids.
    #[inline]
    pub(crate) fn push(&mut self, request: RequestTraits, most: u16) -> Range<u16> {
        debug_assert!((1..=self.capacity()).contains(&most), "requests need capacity");
        let first = self.oldest + self.count;
        let first = if first < self.depth { first } else { first - self.depth };
        let count = if request.closes { 1 } else { most.min(self.depth - first) };
        self.count += count;
        self.closes = request.closes;
        let ids = first..first + count;
        if request.head || self.heads.is_any() {
            ids.clone().for_each(|id| self.heads.set(id, request.head));
        }
        ids
    }

    /// True if the oldest is a HEAD request.
    #[inline]
    pub(crate) fn oldest_is_head(&self) -> bool {
        self.heads.contains(self.oldest)
    }

    /// True if the oldest has `Connection: close`.
    #[inline]
    pub(crate) fn oldest_closes(&self) -> bool {
        self.closes && self.count == 1
    }

    /// Returns the number of oldest requests that have consecutive ids and are neither HEAD
    /// requests nor closing ones; zero if there may be HEAD requests.
    #[inline]
    pub(crate) fn plain(&self) -> u16 {
        if self.heads.is_any() {
            return 0;
        }
        self.count.saturating_sub(self.closes.into()).min(self.depth - self.oldest)
    }

    /// Removes the `count` oldest requests, which have consecutive ids. Returns the first one's id.
    #[inline]
    pub(crate) fn pop(&mut self, count: u16) -> RequestId {
        debug_assert!(count <= self.count, "a response needs a request");
        let first = self.oldest;
        let next = first + count;
        debug_assert!(next <= self.depth, "the ids are in a row");
        self.oldest = if next == self.depth { 0 } else { next };
        self.count -= count;
        RequestId(first)
    }

    pub(crate) fn clear(&mut self) {
        (self.count, self.oldest, self.closes) = (0, 0, false);
    }
}

/// Set of the ids that are HEAD requests. Ids of 64 and more are allocated at the first HEAD among
/// them: few pipelines are so deep, and fewer send HEAD.
#[derive(Debug)]
enum Heads {
    Few(u64),
    Many(Box<[u64; DEPTH_MAX as usize / 64]>),
}

impl Heads {
    /// True if there may be any.
    #[inline]
    fn is_any(&self) -> bool {
        !matches!(self, Heads::Few(0))
    }

    #[inline]
    fn contains(&self, id: u16) -> bool {
        let word = usize::from(id / 64);
        let bit = 1 << (id % 64);
        match self {
            Heads::Few(bits) => word == 0 && bits & bit != 0,
            Heads::Many(words) => words[word] & bit != 0,
        }
    }

    #[inline]
    fn set(&mut self, id: u16, is_head: bool) {
        let word = usize::from(id / 64);
        let bit = 1 << (id % 64);
        let bits = match self {
            Heads::Few(bits) if word == 0 => bits,
            Heads::Few(_) if !is_head => return,
            Heads::Few(bits) => {
                let mut words = Box::new([0; DEPTH_MAX as usize / 64]);
                words[0] = *bits;
                *self = Heads::Many(words);
                return self.set(id, is_head);
            }
            Heads::Many(words) => &mut words[word],
        };
        *bits = if is_head { *bits | bit } else { *bits & !bit };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Compares with a queue, at every kind of depth, over many revolutions of the ring.
    #[test]
    fn the_ring_is_a_queue() {
        for depth in [1, 2, 3, 63, 64, 65, 100, 1000, 1024] {
            let mut ring = InFlight::new(depth);
            let mut queue = VecDeque::new();
            let mut state = 1u64;
            for turn in 0..20_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // At first there are no HEAD requests, so that several requests are added together.
                let head = turn > 5_000 && state >> 40 & 3 == 0;
                let pops = state >> 50 & 1 == 0;
                let many = 1 + (state >> 52) as u16 % 9;
                if ring.capacity() > 0 && !pops {
                    let most = many.min(ring.capacity());
                    let ids = ring.push(RequestTraits { head, closes: false }, most);
                    assert!(!ids.is_empty() && ids.len() <= usize::from(most) && ids.end <= depth);
                    assert!(queue.iter().all(|(known, _)| !ids.contains(known)));
                    queue.extend(ids.map(|id| (id, head)));
                } else if let Some(&(id, head)) = queue.front() {
                    assert_eq!(ring.oldest_is_head(), head);
                    let plain = queue.iter().zip(id..depth);
                    let plain = plain.take_while(|&(&(next, head), id)| next == id && !head);
                    assert!(usize::from(ring.plain()) <= plain.count());
                    assert!(turn > 5_000 || ring.plain() > 0);
                    let count = ring.plain().clamp(1, many);
                    assert_eq!(ring.pop(count), RequestId(id));
                    queue.drain(..usize::from(count));
                }
                assert_eq!(usize::from(ring.count), queue.len());
            }
        }
    }

    #[test]
    fn nothing_follows_a_request_that_closes() {
        let mut ring = InFlight::new(8);
        ring.push(RequestTraits { head: false, closes: false }, 1);
        assert_eq!(ring.push(RequestTraits { head: false, closes: true }, 7), 1..2);
        assert_eq!((ring.capacity(), ring.plain()), (0, 1));
        assert!(!ring.oldest_closes());
        ring.pop(1);
        assert!(ring.oldest_closes());
        assert_eq!(ring.plain(), 0);
        ring.pop(1);
        assert_eq!(ring.capacity(), 0);
        ring.clear();
        assert_eq!(ring.capacity(), 8);
    }
}
