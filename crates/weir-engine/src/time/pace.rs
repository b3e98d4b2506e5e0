//! `--connect-rate`: the times at which connections may be opened. The slots are evenly spaced,
//! computed from the index like the slots of requests (METHOD 1.3), and partitioned over workers
//! along with their connections. A slot that finds no connection waiting is lost: unused slots
//! allow no burst later.

use weir_io::Nanos;
use weir_result::Rate;

use super::partition::Partition;

const SECOND_NS: u128 = 1_000_000_000;

/// One worker's connect slots.
#[derive(Debug)]
pub(crate) struct ConnectPace {
    rate: Rate,
    partition: Partition,
    /// Time of the run's first slot.
    from: Nanos,
    /// Rank of the worker's next slot.
    rank: u64,
}

impl ConnectPace {
    /// Returns this part's slots of the run's `rate`, which counts from `from`.
    pub(crate) fn new(rate: Rate, partition: Partition, from: Nanos) -> ConnectPace {
        ConnectPace { rate, partition, from, rank: 0 }
    }

    /// Returns the time of the next slot.
    pub(crate) fn next(&self) -> Nanos {
        let index = u128::from(self.partition.nth_owned(self.rank));
        let billions = index.saturating_mul(u128::from(self.rate.denominator) * SECOND_NS);
        let offset_ns = billions / u128::from(self.rate.numerator);
        self.from.after(u64::try_from(offset_ns).unwrap_or(u64::MAX))
    }

    /// Uses up the next slot.
    pub(crate) fn take(&mut self) {
        self.rank += 1;
    }

    /// Drops the unused slots before `now`.
    pub(crate) fn skip_to(&mut self, now: Nanos) {
        let span = u128::from(now.since(self.from)) * u128::from(self.rate.numerator);
        let index = span.div_ceil(u128::from(self.rate.denominator) * SECOND_NS);
        let index = u64::try_from(index).unwrap_or(u64::MAX);
        self.rank = self.rank.max(self.partition.owned_below(index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: Nanos = Nanos(5_000);

    fn pace(part: u32, parts: u32, connections: u32, rate: Rate) -> ConnectPace {
        ConnectPace::new(rate, Partition::new(part, parts, connections), FROM)
    }

    #[test]
    fn the_slots_of_all_parts_are_evenly_spaced() {
        for (parts, connections) in [(1, 1), (2, 3), (3, 10), (4, 4)] {
            // 1,000 in 3 seconds.
            let rate = Rate { numerator: 1_000, denominator: 3 };
            let mut slots = Vec::new();
            for part in 0..parts {
                let mut pace = pace(part, parts, connections, rate);
                while pace.next() < FROM.after(3_000_000_000) {
                    slots.push(pace.next().since(FROM));
                    pace.take();
                }
            }
            slots.sort_unstable();
            let expected: Vec<u64> = (0..1_000).map(|index| index * 3_000_000).collect();
            assert_eq!(slots, expected, "{connections} connections on {parts} parts");
        }
    }

    #[test]
    fn slots_of_the_past_are_gone_and_none_is_lost_or_used_twice() {
        let mut pace = pace(1, 2, 2, Rate { numerator: 1_000, denominator: 1 });
        let mut check = |now_ns: u64, next_ns: u64| {
            pace.skip_to(FROM.after(now_ns));
            assert_eq!(pace.next(), FROM.after(next_ns), "at {now_ns}");
        };
        check(0, 1_000_000);
        check(1_000_000, 1_000_000);
        check(1_000_001, 3_000_000);
        check(50_000_000, 51_000_000);
        // Time is monotonic, but an event may be older than those handled before it.
        check(10_000_000, 51_000_000);
        pace.take();
        assert_eq!(pace.next(), FROM.after(53_000_000));
    }
}
