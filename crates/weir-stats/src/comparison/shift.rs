//! The difference at every level of the distribution: the percentiles at which B is faster or
//! slower (Doksum's shift function, Annals of Statistics 2, 1974).

use super::{Difference, paired_at};

/// The percentiles, as shares, at which a shift function is printed.
pub const SHIFT_LEVELS: [f64; 12] =
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999];

/// A run's percentiles at some levels; `None` if the run has too few samples for one.
pub type Levels<const LEVELS: usize> = [Option<f64>; LEVELS];

/// Estimates ln(B/A) at each level, from pairs of runs: percentiles of A and of B at the same
/// levels. `level` is the error level of the intervals. An entry is `None` if too few pairs have
/// it.
///
/// The samples are pairs of runs, never requests: requests of one run are not independent.
pub fn shift_function<const LEVELS: usize>(
    pairs: &[(Levels<LEVELS>, Levels<LEVELS>)],
    level: f64,
) -> [Option<Difference>; LEVELS] {
    std::array::from_fn(|at| {
        let both = pairs.iter().filter_map(|(a, b)| a[at].zip(b[at]));
        paired_at(&both.collect::<Vec<_>>(), level)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B's median is A's and its tail 10% longer; the last level is there in 5 pairs only.
    #[test]
    fn where_they_differ() {
        let pairs: Vec<_> = (0..8)
            .map(|pair| {
                let noise = 1.0 + 0.001 * f64::from(pair);
                let last = (pair < 5).then_some(9.0);
                ([Some(1.0), Some(2.0), last], [Some(noise), Some(2.2 * noise), last])
            })
            .collect();
        let [median, tail, last] = shift_function(&pairs, 0.05);
        let (median, tail) = (median.expect("8 pairs"), tail.expect("8 pairs"));
        assert!(Difference::change(median.effect).abs() < 0.005, "{median:?}");
        assert!((Difference::change(tail.effect) - 0.1).abs() < 0.005, "{tail:?}");
        assert_eq!(last, None);
    }
}
