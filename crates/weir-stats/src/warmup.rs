//! Detection of an initial transient in a series (METHOD 1.12).

use crate::moments::mean;
use crate::shuffle::permutation_p;
use crate::stationarity::{CHANCE, LARGE, LEAST, are_sound, relative};

/// Largest share of the window that a warm-up may leave as a transient.
const LEFT_OVER: f64 = 0.05;

/// Returns the number of values to delete from the beginning so that the mean of the rest has the
/// least error (MSER; White, Simulation 1997): the d ≤ m/2 with the least Σ(Z_j − Z̄)²/(m − d)²
/// over the rest. The smallest such d if several are equal.
///
/// The values must already be batched, by 5 for MSER-5. A result of m/2, rounded down, means that
/// the series has not settled. `None` for fewer than 10 values, or if one is not finite or beyond
/// 10¹⁰⁰.
///
/// A deletion is no evidence by itself: of thirty identically distributed values it deletes two or
/// more in every fourth series. [`Transient`] is the evidence.
pub fn mser(values: &[f64]) -> Option<usize> {
    (values.len() >= LEAST && are_sound(values)).then(|| best_deletion(values))
}

/// MSER's deletion from a window that should have settled before it began, and its significance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transient {
    /// Number of values deleted from the beginning.
    pub deleted: usize,
    /// Share of all values, 0 to 0.5.
    pub share: f64,
    /// Share of shuffled series in which the deleted part differs as much from the rest.
    pub p: f64,
    /// Relative difference of the means, (deleted − rest)/rest; 1 or −1 if the rest is 0.
    pub difference: f64,
}

impl Transient {
    /// Evaluates the window's series. `None` if [`mser`] returns `None`.
    pub fn of(values: &[f64]) -> Option<Transient> {
        let deleted = mser(values)?;
        if deleted == 0 {
            return Some(Transient { deleted, share: 0.0, p: 1.0, difference: 0.0 });
        }
        let (first, rest) = values.split_at(deleted);
        Some(Transient {
            deleted,
            share: deleted as f64 / values.len() as f64,
            p: permutation_p(values, contrast),
            difference: relative(mean(rest), mean(first)),
        })
    }

    /// True if the warm-up was too short: the deleted part is long, its difference large and
    /// significant.
    pub fn is_left_over(&self) -> bool {
        self.share > LEFT_OVER && self.p < CHANCE && self.difference.abs() > LARGE
    }
}

/// Returns the part of the squared deviations that lies between MSER's deletion and the rest.
/// Shuffling leaves the total unchanged, so the parts can be compared.
fn contrast(values: &[f64]) -> f64 {
    let deleted = best_deletion(values);
    let (first, rest) = values.split_at(deleted);
    let weight = (first.len() * rest.len()) as f64 / values.len() as f64;
    (mean(first) - mean(rest)).powi(2) * weight
}

/// Returns the deletion that MSER chooses.
fn best_deletion(values: &[f64]) -> usize {
    let total = values.len();
    // Iterates from the end, so that each step adds one value to the mean and the squares
    // (Welford).
    let mut mean = 0.0;
    let mut squares = 0.0;
    let mut best = (f64::INFINITY, 0);
    for (deleted, value) in values.iter().enumerate().rev() {
        let kept = (total - deleted) as f64;
        let change = value - mean;
        mean += change / kept;
        squares += change * (value - mean);
        let error = squares / (kept * kept);
        if deleted <= total / 2 && error <= best.0 {
            best = (error, deleted);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns values about 100 that differ by up to 3, in random order, the first `high` of them
    /// higher.
    fn series(count: u16, high: u16, by: f64) -> Vec<f64> {
        (0..count)
            .map(|i| {
                let noise = f64::from(i * 79 % 13) / 2.0 - 3.0;
                100.0 + noise + if i < high { by } else { 0.0 }
            })
            .collect()
    }

    #[test]
    fn a_transient_is_found() {
        for high in 2..=15 {
            let values = series(30, high, 40.0);
            let transient = Transient::of(&values).expect("thirty values");
            // The deletion is never shorter, but longer if the noise behind it happens to rise.
            assert!(
                (high..=high + 2).contains(&(transient.deleted as u16)),
                "{high}: {transient:?}"
            );
            assert!(transient.is_left_over() && transient.difference > 0.3, "{transient:?}");
        }
    }

    /// The transient decays by a fifth with every value, and drops below the noise at the
    /// fifteenth.
    #[test]
    fn a_decay_is_cut_where_noise_takes_over() {
        let values: Vec<f64> = (0_u16..)
            .zip(series(60, 0, 0.0))
            .map(|(i, value)| value + 100.0 * 0.8_f64.powi(i.into()))
            .collect();
        let deleted = mser(&values).expect("sixty values");
        assert!((8..=16).contains(&deleted), "{deleted}");
    }

    #[test]
    fn what_has_not_settled_is_deleted_to_the_half() {
        let ramp: Vec<f64> = (0..40).map(f64::from).collect();
        assert_eq!(mser(&ramp), Some(20));
        assert_eq!(mser(&series(30, 20, 40.0)), Some(0));
    }

    #[test]
    fn what_is_short_or_small_or_chance_is_not_left_over() {
        for values in [series(30, 0, 0.0), series(30, 1, 40.0), series(30, 6, 3.5)] {
            let transient = Transient::of(&values).expect("thirty values");
            assert!(!transient.is_left_over(), "{transient:?}");
        }
    }

    #[test]
    fn the_ends_of_what_there_is() {
        for values in [&[][..], &[1.0; 9], &[f64::NAN; 20], &[f64::INFINITY; 20], &[1e200; 20]] {
            assert_eq!((mser(values), Transient::of(values)), (None, None));
        }
        assert_eq!(mser(&[0.1; 30]), Some(0));
        // The rest is one repeated value: no error is left.
        let mut values = vec![5.0; 30];
        values[..4].fill(9.0);
        let transient = Transient::of(&values).expect("thirty values");
        assert_eq!(transient.deleted, 4);
        assert!(transient.is_left_over(), "{transient:?}");
    }
}
