//! Partitioning: the connections and slots that belong to each worker of a plan.
//!
//! Connection j belongs to part `j mod parts`, so remainders are distributed, never truncated. Slot
//! i belongs to the part that owns connection `i mod connections`. So load follows connections and
//! no slot lacks an owner. The parts here are workers, counted over all machines of a run.

/// One part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) part: u32,
    pub(crate) parts: u32,
    connections: u32,
    /// Connections that this part owns.
    pub(crate) own_connections: u32,
}

impl Partition {
    /// Returns part `part` of `parts`, with `connections` over all parts.
    ///
    /// # Panics
    /// If there is no such part, or there are fewer connections than parts.
    pub(crate) fn new(part: u32, parts: u32, connections: u32) -> Partition {
        assert!(part < parts && parts <= connections, "part {part}/{parts} of {connections}");
        let partition = Partition { part, parts, connections, own_connections: 0 };
        Partition { own_connections: partition.own_below(connections), ..partition }
    }

    /// Returns the number within the run of this part's connection `own`, from 0.
    #[inline]
    pub(crate) fn nth_connection(&self, own: u32) -> u32 {
        self.part + own * self.parts
    }

    /// Returns the number of this part's connections among the first `connections` of the run.
    pub(crate) fn own_below(&self, connections: u32) -> u32 {
        connections / self.parts + u32::from(self.part < connections % self.parts)
    }

    /// Returns this part's share of all slots.
    pub(crate) fn fraction(&self) -> f64 {
        f64::from(self.own_connections) / f64::from(self.connections)
    }

    /// Returns this part's share of `requests` requests in flight, at least one for each part: one,
    /// and of the others as many as its connections are of all. The shares add up to `requests`.
    ///
    /// # Panics
    /// If there are fewer requests than parts.
    pub(crate) fn share_of_requests(&self, requests: u64) -> u64 {
        let [part, parts, own, all] =
            [self.part, self.parts, self.own_connections, self.connections].map(u128::from);
        assert!(u128::from(requests) >= parts, "{requests} requests of {parts} parts");
        let before = part * (all / parts) + part.min(all % parts);
        let below = |connections: u128| (u128::from(requests) - parts) * connections / all;
        let share = 1 + below(before + own) - below(before);
        u64::try_from(share).expect("a share of a number of 64 bits")
    }

    /// True if slot `index` belongs to this part.
    #[inline]
    pub(crate) fn owns(&self, index: u64) -> bool {
        (index % u64::from(self.connections)) % u64::from(self.parts) == u64::from(self.part)
    }

    /// Returns the part that slot `index` belongs to.
    pub(crate) fn owner(&self, index: u64) -> u32 {
        (index % u64::from(self.connections)) as u32 % self.parts
    }

    /// Returns the index of this part's `rank`-th slot, from 0.
    #[inline]
    pub(crate) fn nth_owned(&self, rank: u64) -> u64 {
        if self.parts == 1 {
            return rank;
        }
        let per_cycle = u64::from(self.own_connections);
        let cycle = rank / per_cycle;
        let within = rank % per_cycle;
        cycle * u64::from(self.connections) + u64::from(self.part) + within * u64::from(self.parts)
    }

    /// Returns the number of slots in `0..index` that belong to this part.
    pub(crate) fn owned_below(&self, index: u64) -> u64 {
        let cycle = u64::from(self.connections);
        let within = (index % cycle).saturating_sub(u64::from(self.part));
        index / cycle * u64::from(self.own_connections) + within.div_ceil(u64::from(self.parts))
    }

    /// Returns the sum of the indices of this part's slots with ranks `from..until`.
    pub(crate) fn sum_of_owned(&self, from: u64, until: u64) -> u128 {
        self.sum_below(until) - self.sum_below(from)
    }

    /// Returns the sum of the indices of this part's first `rank` slots.
    fn sum_below(&self, rank: u64) -> u128 {
        let own = u128::from(self.own_connections);
        let cycles = u128::from(rank) / own;
        let within = u128::from(rank) % own;
        let triangle = |n: u128| n * n.saturating_sub(1) / 2;
        let connections = u128::from(self.connections);
        let parts = u128::from(self.parts);
        let first_of_cycles = own * connections * triangle(cycles) + within * cycles * connections;
        first_of_cycles
            + u128::from(self.part) * u128::from(rank)
            + parts * (cycles * triangle(own) + triangle(within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_partitioned() {
        let owned: Vec<u32> =
            (0..4).map(|part| Partition::new(part, 4, 10).own_connections).collect();
        assert_eq!(owned, [3, 3, 2, 2]);
        let partition = Partition::new(1, 4, 10);
        let numbers: Vec<u32> = (0..3).map(|own| partition.nth_connection(own)).collect();
        assert_eq!(numbers, [1, 5, 9]);
    }

    #[test]
    fn shares_of_requests_add_up() {
        for (parts, connections) in [(1, 1), (1, 4), (2, 3), (3, 10), (4, 7), (10, 15)] {
            let share = |part, requests| {
                Partition::new(part, parts, connections).share_of_requests(requests)
            };
            for requests in [parts, parts + 1, connections + parts, 1_000_003].map(u64::from) {
                let shares: Vec<u64> = (0..parts).map(|part| share(part, requests)).collect();
                assert_eq!(shares.iter().sum::<u64>(), requests, "{shares:?}");
                assert!(shares.iter().all(|share| *share > 0), "{shares:?}");
            }
        }
        let shares: Vec<u64> =
            (0..4).map(|part| Partition::new(part, 4, 10).share_of_requests(104)).collect();
        assert_eq!(shares, [31, 31, 21, 21]);
    }

    #[test]
    fn ranks_and_sums_agree_with_counting() {
        for (parts, connections) in [(1, 1), (1, 4), (2, 3), (3, 10), (4, 4)] {
            for part in 0..parts {
                let partition = Partition::new(part, parts, connections);
                let owned: Vec<u64> = (0..200).filter(|index| partition.owns(*index)).collect();
                assert!((0..200).all(|at| partition.owns(at) == (partition.owner(at) == part)));
                for (rank, index) in owned.iter().enumerate() {
                    assert_eq!(partition.nth_owned(rank as u64), *index);
                    assert_eq!(partition.owned_below(*index), rank as u64);
                    assert_eq!(partition.owned_below(*index + 1), rank as u64 + 1);
                    let sum: u64 = owned[1.min(rank)..rank].iter().sum();
                    let from = 1.min(rank) as u64;
                    assert_eq!(partition.sum_of_owned(from, rank as u64), u128::from(sum));
                }
            }
        }
    }
}
