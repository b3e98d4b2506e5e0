//! Medians and their distribution-free intervals.

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Least value in it.
    pub low: f64,
    /// Greatest value in it.
    pub high: f64,
}

/// The median: the middle value, or the mean of the two middle ones. `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[upper]),
        _ => Some(sorted[upper - 1].midpoint(sorted[upper])),
    }
}

/// The narrowest interval between two order statistics, equally far from both ends, that covers
/// the median of the population with a probability of at least 95%, whatever its distribution:
/// the inversion of the sign test (Conover, Practical Nonparametric Statistics, §3.2). `None` with
/// fewer than 6 values, which cannot give one.
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let sorted = sorted(values);
    let n = sorted.len();
    // P(the k-th least value exceeds the median) = P(Binomial(n, ½) < k).
    let mut below = 0.0;
    let mut term = 0.5f64.powi(i32::try_from(n).ok()?);
    let mut rank = 0;
    while below + term <= 0.025 {
        below += term;
        term *= (n - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    (rank > 0).then(|| Interval { low: sorted[rank - 1], high: sorted[n - rank] })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn intervals_have_the_ranks_of_the_published_table() {
        // Ranks for 95% by the binomial distribution: n = 6: 1 and 6; 10: 2 and 9; 20: 6 and 15.
        for (n, low, high) in [(6, 1.0, 6.0), (10, 2.0, 9.0), (20, 6.0, 15.0)] {
            let values: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            assert_eq!(median_interval(&values), Some(Interval { low, high }), "n = {n}");
        }
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
    }
}
