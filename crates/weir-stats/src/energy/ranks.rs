//! The best split of long series: sums of distances from ranks.
//!
//! In one dimension the distances from a value to others follow from the number and the sum of
//! those below it. A tree over the ranks gives both in logarithmic time.

use super::Split;
use crate::moments::median;

/// Values of a series in ascending order, whatever order the series has.
pub(crate) struct Ranks {
    /// Subtracted from every value, so that sums of values near each other lose no digits.
    centre: f64,
    sorted: Vec<f64>,
    /// Sum of the distances from each of `sorted` to all of them.
    to_all: Vec<f64>,
}

/// Numbers and sums of the values with ranks up to any limit (Fenwick, Software: Practice and
/// Experience 24, 1994). Node n covers the ranks after node `n & (n - 1)`, up to its own.
struct Tree {
    nodes: Vec<(f64, f64)>,
    count: f64,
    sum: f64,
}

impl Ranks {
    pub(crate) fn of(values: &[f64]) -> Ranks {
        let centre = median(&mut values.to_vec());
        let mut sorted: Vec<_> = values.iter().map(|value| value - centre).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut all = Tree::new(sorted.len());
        for (rank, value) in sorted.iter().enumerate() {
            all.insert(rank, *value);
        }
        let to_all = sorted.iter().enumerate().map(|(rank, value)| all.distances(rank, *value));
        Ranks { centre, to_all: to_all.collect(), sorted }
    }

    /// Returns the split that [`super::best_split`] finds. `values` are the ranked values in any
    /// order. Time grows as n·log n.
    pub(crate) fn best_split(&self, values: &[f64], least: usize) -> Split {
        let mut seen = Tree::new(values.len());
        let within = self.to_all.iter().sum::<f64>() / 2.0;
        super::scan(values.len(), least, within, |moved| {
            let value = values[moved] - self.centre;
            let rank = self.sorted.partition_point(|other| *other < value);
            let to_early = seen.distances(rank, value);
            seen.insert(rank, value);
            (to_early, self.to_all[rank] - to_early)
        })
    }
}

impl Tree {
    fn new(ranks: usize) -> Tree {
        Tree { nodes: vec![(0.0, 0.0); ranks + 1], count: 0.0, sum: 0.0 }
    }

    fn insert(&mut self, rank: usize, value: f64) {
        self.count += 1.0;
        self.sum += value;
        let mut node = rank + 1;
        while let Some((count, sum)) = self.nodes.get_mut(node) {
            *count += 1.0;
            *sum += value;
            node += node & node.wrapping_neg();
        }
    }

    /// Returns the sum of distances from a value of this rank to all that were inserted.
    fn distances(&self, rank: usize, value: f64) -> f64 {
        let mut below = 0.0;
        let mut sum = 0.0;
        let mut node = rank + 1;
        while node > 0 {
            below += self.nodes[node].0;
            sum += self.nodes[node].1;
            node &= node - 1;
        }
        (value * below - sum) + (self.sum - sum) - value * (self.count - below)
    }
}

#[cfg(test)]
mod tests {
    use super::super::best_split;
    use super::*;
    use crate::tests::Noise;

    /// Both ways agree, with ties and far values, and in another order of the same values.
    #[test]
    fn ranks_agree_with_distances() {
        for seed in 0..50 {
            let mut noise = Noise::seeded(seed);
            let coarse = |value: f64| if seed % 2 == 0 { value } else { value.round() };
            let mut values: Vec<_> = (0..40).map(|_| 9.0 + coarse(noise.student3())).collect();
            let ranks = Ranks::of(&values);
            for _ in 0..3 {
                let expected = best_split(&values, 3);
                let found = ranks.best_split(&values, 3);
                assert!((found.energy - expected.energy).abs() < 1e-9, "{found:?} {expected:?}");
                // Ties can have two best splits.
                assert!(seed % 2 == 1 || found.index == expected.index, "seed {seed}");
                values.rotate_left(7);
            }
        }
    }

    #[test]
    fn distances_of_a_few() {
        let mut tree = Tree::new(4);
        assert_eq!(tree.distances(2, 5.0), 0.0);
        for (rank, value) in [(3, 9.0), (0, 1.0), (2, 5.0)] {
            tree.insert(rank, value);
        }
        assert_eq!(
            [(0, 1.0), (1, 2.0), (2, 5.0), (3, 9.0)].map(|(r, v)| tree.distances(r, v)),
            [12.0, 11.0, 8.0, 12.0]
        );
    }
}
