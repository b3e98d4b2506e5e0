//! Queues of later work: the order in which held-back responses leave, and the departures of a
//! single FIFO worker. Pure: `now` is an argument.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weir_io::Nanos;

/// Departures of a queue with one worker that serves in order of arrival: departure = max(arrival,
/// previous departure) + service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fifo {
    free_at: Nanos,
}

impl Fifo {
    /// Returns the departure time of the request that arrives at `arrived_at` and needs
    /// `service_ns`. Calls must be in the order of service.
    pub fn depart(&mut self, arrived_at: Nanos, service_ns: u64) -> Nanos {
        self.free_at = self.free_at.max(arrived_at).after(service_ns);
        self.free_at
    }
}

/// Items with due times; of equal times the one with the lower turn comes out first.
#[derive(Debug)]
pub(crate) struct Pending<T> {
    /// Entries (due, turn, index into `things`): small, so that a heap of 100,000 is cheap.
    heap: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    things: Vec<Option<T>>,
    free: Vec<u32>,
    next_turn: u64,
}

impl<T> Pending<T> {
    pub(crate) fn new() -> Pending<T> {
        Pending { heap: BinaryHeap::new(), things: Vec::new(), free: Vec::new(), next_turn: 0 }
    }

    /// Returns a turn after all those returned before.
    pub(crate) fn next_turn(&mut self) -> u64 {
        self.next_turn += 1;
        self.next_turn
    }

    /// Returns the items in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter().flatten()
    }

    /// Adds an item whose turn is after all those before.
    pub(crate) fn add(&mut self, due: Nanos, thing: T) {
        let turn = self.next_turn();
        self.push(due, turn, thing);
    }

    pub(crate) fn push(&mut self, due: Nanos, turn: u64, thing: T) {
        let place = match self.free.pop() {
            Some(place) => {
                self.things[place as usize] = Some(thing);
                place
            }
            None => {
                self.things.push(Some(thing));
                u32::try_from(self.things.len() - 1).expect("connections times pipeline fit")
            }
        };
        self.heap.push(Reverse((due, turn, place)));
    }

    /// Returns the time at which the next item is due.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((due, ..))| *due)
    }

    /// Returns the next item, if it is due at `now`.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<T> {
        if self.next_due()? > now {
            return None;
        }
        let Reverse((_, _, place)) = self.heap.pop()?;
        self.free.push(place);
        self.things[place as usize].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::Delay;
    use crate::draws::Draws;
    use std::time::Duration;

    #[test]
    fn things_come_out_by_instant_then_by_turn() {
        let mut pending = Pending::new();
        for (due, name) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            let turn = pending.next_turn();
            pending.push(Nanos(due), turn, name);
        }
        assert_eq!(pending.next_due(), Some(Nanos(3)));
        assert_eq!(pending.take_due(Nanos(2)), None);
        let early: String = std::iter::from_fn(|| pending.take_due(Nanos(4))).collect();
        assert_eq!(early, "ab");
        let turn = pending.next_turn();
        pending.push(Nanos(5), turn, 'e');
        let late: String = std::iter::from_fn(|| pending.take_due(Nanos(5))).collect();
        assert_eq!(late, "cde");
        pending.push(Nanos(5), turn, 'g');
        pending.push(Nanos(5), 0, 'f');
        let again: String = std::iter::from_fn(|| pending.take_due(Nanos(5))).collect();
        assert_eq!(again, "fg");
        assert_eq!(pending.next_due(), None);
    }

    #[test]
    fn the_worker_serves_one_after_another() {
        let mut fifo = Fifo::default();
        assert_eq!(fifo.depart(Nanos(100), 10), Nanos(110));
        assert_eq!(fifo.depart(Nanos(105), 10), Nanos(120));
        assert_eq!(fifo.depart(Nanos(105), 0), Nanos(120));
        assert_eq!(fifo.depart(Nanos(500), 1), Nanos(501));
    }

    /// Returns the mean time in system over `n` requests, and its standard error from 50 batch
    /// means.
    fn mean_time(n: u64, arrivals: &Delay, service: &Delay) -> (f64, f64) {
        let mut fifo = Fifo::default();
        let mut now = Nanos(0);
        let per_batch = n / 50;
        let mut batches = vec![0.0; 50];
        for index in 0..n {
            now = now.after(arrivals.sample_ns(Draws::new(1, index)));
            let departed = fifo.depart(now, service.sample_ns(Draws::new(2, index)));
            let batch = usize::try_from(index / per_batch).expect("small");
            batches[batch] += departed.since(now) as f64 / per_batch as f64;
        }
        let mean = batches.iter().sum::<f64>() / 50.0;
        let variance = batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / 49.0;
        (mean, (variance / 50.0).sqrt())
    }

    #[test]
    fn queues_obey_their_theory() {
        let exponential = |us| Delay::Exponential { mean: Duration::from_micros(us) };
        // M/M/1, utilisation 0.8, service 1 ms: E[T] = 1 ms / (1 - 0.8).
        let (mean, error) = mean_time(1_000_000, &exponential(1250), &exponential(1000));
        assert!((mean - 5e6).abs() < 4.0 * error, "M/M/1: {mean} ± {error}");
        // D/M/1: E[T] = 1 ms / (1 - s), s the root of s = exp(-(1 - s) / 0.8) below 1.
        let mut root = 0.5f64;
        for _ in 0..200 {
            root = (-(1.0 - root) / 0.8).exp();
        }
        let (mean, error) =
            mean_time(1_000_000, &Delay::Fixed(Duration::from_micros(1250)), &exponential(1000));
        assert!((mean - 1e6 / (1.0 - root)).abs() < 4.0 * error, "D/M/1: {mean} ± {error}");
        // M/D/1: E[T] = 1 ms · (1 + 0.8 / (2 · 0.2)).
        let (mean, error) =
            mean_time(1_000_000, &exponential(1250), &Delay::Fixed(Duration::from_millis(1)));
        assert!((mean - 3e6).abs() < 4.0 * error, "M/D/1: {mean} ± {error}");
    }
}
