//! Estimate and interval derived from Wilcoxon's signed-rank test (Hodges and Lehmann, Annals of
//! Mathematical Statistics 34, 1963).

/// Returns the low end, the estimate and the high end of the centre of symmetric `differences`.
/// There must be enough of them for `confidence`.
pub(super) fn interval(differences: &[f64], confidence: f64) -> (f64, f64, f64) {
    let walsh = walsh_averages(differences);
    let outside = outside(differences.len(), (1.0 - confidence) / 2.0);
    let last = walsh.len() - 1;
    let middle = f64::midpoint(walsh[last / 2], walsh[last.div_ceil(2)]);
    (walsh[outside], middle, walsh[last - outside])
}

/// The means of all pairs of values, each value with itself included, in ascending order.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let with_later = |(at, &value): (usize, &f64)| {
        values[at..].iter().map(move |&other| f64::midpoint(value, other))
    };
    let mut averages: Vec<_> = values.iter().enumerate().flat_map(with_later).collect();
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// Returns the number of Walsh averages outside the interval on each side: the largest w with P(W <
/// w) ≤ `tail`, where W is the sum of the positive ranks of `count` symmetric values.
fn outside(count: usize, tail: f64) -> usize {
    let (mut below, mut outside) = (0.0, 0);
    for probability in distribution(count) {
        below += probability;
        if below > tail {
            break;
        }
        outside += 1;
    }
    // The w-th average from outside is still inside.
    assert!(outside > 0, "{count} values cannot carry an interval");
    outside
}

/// Returns P(W = w) for w = 0, 1, …: each rank is in the sum with probability ½.
fn distribution(count: usize) -> Vec<f64> {
    let mut chances = vec![1.0];
    for rank in 1..=count {
        let mut next = vec![0.0; chances.len() + rank];
        for (sum, chance) in chances.iter().enumerate() {
            next[sum] += chance / 2.0;
            next[sum + rank] += chance / 2.0;
        }
        chances = next;
    }
    chances
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Critical values of the two-sided test at 5% from published tables: the null hypothesis is
    /// rejected at T ≤ this.
    #[test]
    fn critical_values() {
        for (count, critical) in
            [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89)]
        {
            assert_eq!(outside(count, 0.025), critical + 1, "{count} values");
        }
    }

    #[test]
    fn small_cases() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(interval(&values, 0.95), (1.5, 3.5, 5.5));
        assert_eq!(interval(&[7.0; 8], 0.95), (7.0, 7.0, 7.0));
        assert_eq!(walsh_averages(&[1.0, 3.0]), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn probabilities_add_up() {
        for count in [1, 6, 16, 100, 300] {
            let sum: f64 = distribution(count).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{count}: {sum}");
        }
    }
}
