//! Estimate and interval derived from Wilcoxon's signed-rank test (Hodges and Lehmann, Annals of
//! Mathematical Statistics 34, 1963).

/// Returns the low end, the estimate and the high end of the centre of symmetric `differences`.
/// There must be enough of them for `confidence`.
pub(super) fn interval(differences: &[f64], confidence: f64) -> (f64, f64, f64) {
    let walsh = walsh_averages(differences);
    let outside = outside(differences.len(), (1.0 - confidence) / 2.0);
    (walsh[outside], middle(&walsh), walsh[walsh.len() - 1 - outside])
}

/// Returns the estimate alone, of at least one value.
pub(super) fn centre(values: &[f64]) -> f64 {
    middle(&walsh_averages(values))
}

fn middle(walsh: &[f64]) -> f64 {
    let last = walsh.len() - 1;
    f64::midpoint(walsh[last / 2], walsh[last.div_ceil(2)])
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

/// Returns the number of Walsh averages outside the interval on each side: the critical value of
/// the test, the largest w with P(W ≤ w) ≤ `tail`, where W is the sum of the positive ranks of
/// `count` symmetric values. The test rejects a centre with w averages or fewer on one side, so
/// that the next average is the first centre that it does not reject.
fn outside(count: usize, tail: f64) -> usize {
    let mut below = 0.0;
    let rejected = distribution(count).into_iter().take_while(|probability| {
        below += probability;
        below <= tail
    });
    rejected.count().checked_sub(1).expect("enough values for the confidence")
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
    /// rejected at T ≤ this, so that as many Walsh averages are outside.
    #[test]
    fn critical_values() {
        for (count, critical) in
            [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89)]
        {
            assert_eq!(outside(count, 0.025), critical, "{count} values");
        }
    }

    #[test]
    fn small_cases() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(interval(&values, 0.95), (1.0, 3.5, 6.0));
        assert_eq!(interval(&[7.0; 8], 0.95), (7.0, 7.0, 7.0));
        assert_eq!(walsh_averages(&[1.0, 3.0]), [1.0, 2.0, 3.0]);
    }

    /// All signs of differences that are symmetric around 0: the interval covers 0 in at least 95%
    /// of cases, and one that left out one more average on each side would not.
    #[test]
    fn the_interval_covers_as_often_as_it_says() {
        for (count, rejected) in [(6, 2), (7, 6), (8, 10), (9, 20), (10, 50)] {
            let signed = |signs: u32| -> Vec<f64> {
                let value = |at: u32| 1.37_f64.powi(at as i32);
                (0..count)
                    .map(|at| if signs >> at & 1 == 0 { value(at) } else { -value(at) })
                    .collect()
            };
            let misses = |signs: &u32| {
                let (low, _, high) = interval(&signed(*signs), 0.95);
                low > 0.0 || high < 0.0
            };
            let missed = (0..1_u32 << count).filter(misses).count();
            assert_eq!(missed, rejected, "{count} differences");
            assert!(missed as f64 <= 0.05 * f64::from(1 << count), "{count} differences");
        }
    }

    #[test]
    fn probabilities_add_up() {
        for count in [1, 6, 16, 100, 300] {
            let sum: f64 = distribution(count).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{count}: {sum}");
        }
    }
}
