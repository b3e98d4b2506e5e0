//! Two groups of runs that are not paired: Mann and Whitney's test, and an interval of the
//! difference of medians.

use crate::moments::median;
use crate::shuffle::Shuffle;

/// Largest total number of runs for which all partitions are counted.
const EXACT_MAX: usize = 64;

/// Number of random partitions if the exact count is too large.
const DRAWS: u32 = 100_000;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 10_000;

/// Returns the share of partitions of the values whose rank sum is at least as far from its mean as
/// the observed one. Tied values share their ranks, and the distribution is conditional on those
/// ranks.
pub(super) fn p(a: &[f64], b: &[f64]) -> f64 {
    let ranks = doubled_ranks(a, b);
    let observed = sum(&ranks[..a.len()]);
    let all = sum(&ranks);
    // The mean of the sum need not be an integer; multiplied by the number of runs it is.
    let runs = (a.len() + b.len()) as u64;
    let chosen = a.len() as u64;
    let distance = |sum: u64| (sum * runs).abs_diff(all * chosen);
    let limit = distance(observed);
    if ranks.len() > EXACT_MAX {
        return drawn(ranks, a.len(), |sum| distance(sum) >= limit);
    }
    let ways = ways(&ranks, a.len());
    let extreme = (0..).zip(&ways).filter(|&(sum, _)| distance(sum) >= limit);
    extreme.map(|(_, ways)| ways).sum::<f64>() / ways.iter().sum::<f64>()
}

/// Returns the bootstrap interval of the difference of the medians, B − A, at `confidence`.
pub(super) fn interval_of_medians(a: &[f64], b: &[f64], confidence: f64) -> (f64, f64) {
    let mut random = Shuffle::new();
    let mut drawn = Vec::with_capacity(a.len().max(b.len()));
    let mut resample = |values: &[f64]| {
        drawn.clear();
        drawn.extend(values.iter().map(|_| values[random.below(values.len())]));
        median(&mut drawn)
    };
    let mut differences: Vec<_> = (0..RESAMPLES).map(|_| resample(b) - resample(a)).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let outside = ((1.0 - confidence) / 2.0 * RESAMPLES as f64) as usize;
    (differences[outside], differences[RESAMPLES - 1 - outside])
}

/// Returns twice the rank of each value among all, for `a` first. Doubled ranks are integers even
/// if tied values share the mean of their ranks.
fn doubled_ranks(a: &[f64], b: &[f64]) -> Vec<u64> {
    let all = || a.iter().chain(b);
    let rank = |value: &f64| {
        let below = all().filter(|&other| other < value).count();
        let equal = all().filter(|&other| other == value).count();
        (2 * below + equal + 1) as u64
    };
    all().map(rank).collect()
}

/// Counts the ways to choose `chosen` of the ranks with sum 0, 1, 2, …
fn ways(ranks: &[u64], chosen: usize) -> Vec<f64> {
    let sums = sum(ranks) as usize + 1;
    let mut ways = vec![vec![0.0; sums]; chosen + 1];
    ways[0][0] = 1.0;
    for (seen, &rank) in ranks.iter().enumerate() {
        for count in (1..=chosen.min(seen + 1)).rev() {
            for sum in (rank as usize..sums).rev() {
                ways[count][sum] += ways[count - 1][sum - rank as usize];
            }
        }
    }
    ways.swap_remove(chosen)
}

fn drawn(mut ranks: Vec<u64>, chosen: usize, is_extreme: impl Fn(u64) -> bool) -> f64 {
    let mut random = Shuffle::new();
    let mut extreme = 1;
    for _ in 0..DRAWS {
        for at in 0..chosen {
            let other = at + random.below(ranks.len() - at);
            ranks.swap(at, other);
        }
        extreme += u32::from(is_extreme(sum(&ranks[..chosen])));
    }
    f64::from(extreme) / f64::from(DRAWS + 1)
}

fn sum(ranks: &[u64]) -> u64 {
    ranks.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the C(12, 6) = 924 partitions, two separate the groups completely. Tables of the test
    /// give U = 5 as critical for 6 and 6, U = 23 for 10 and 10, two-sided at 5%.
    #[test]
    fn known_probabilities() {
        let low: Vec<_> = (0..6).map(f64::from).collect();
        let high: Vec<_> = (6..12).map(f64::from).collect();
        assert_eq!(p(&low, &high), 2.0 / 924.0);
        assert_eq!(p(&[1.0; 6], &[1.0; 6]), 1.0);
        for (runs, critical) in [(6, 5), (8, 13), (10, 23)] {
            // U counts the pairs in which a is greater: some values of b are below all of a, and
            // one is below the last few.
            let p = |u: usize| {
                let a: Vec<_> = (0..runs).map(|i| i as f64).collect();
                let mut b: Vec<_> = (0..runs).map(|i| (runs + i) as f64).collect();
                (0..u / runs).for_each(|below| b[below] = -1.0 - below as f64);
                b[u / runs] = (runs - u % runs) as f64 - 0.5;
                p(&a, &b)
            };
            assert!(p(critical) <= 0.05 && p(critical + 1) > 0.05, "{runs} runs");
        }
    }

    #[test]
    fn equal_values_share_ranks() {
        assert_eq!(doubled_ranks(&[1.0, 2.0], &[2.0, 3.0]), [2, 5, 5, 8]);
    }

    #[test]
    fn drawn_agrees_with_exact() {
        let a: Vec<_> = (0..12).map(|i| f64::from(i * 7 % 12)).collect();
        let b: Vec<_> = (0..12).map(|i| f64::from(i * 5 % 12) + 2.5).collect();
        let ranks = doubled_ranks(&a, &b);
        let observed = sum(&ranks[..12]);
        let mean = sum(&ranks) / 2;
        let limit = observed.abs_diff(mean);
        let drawn = drawn(ranks, 12, |sum| sum.abs_diff(mean) >= limit);
        let exact = p(&a, &b);
        assert!((exact - drawn).abs() < 0.006, "{exact} {drawn}");
    }

    #[test]
    fn many_runs_are_drawn() {
        let a: Vec<_> = (0..40).map(f64::from).collect();
        let b: Vec<_> = (0..40).map(|i| f64::from(i) + 100.0).collect();
        assert!(p(&a, &b) < 1e-4);
    }
}
