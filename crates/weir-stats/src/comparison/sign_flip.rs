//! The sign-flip test: between equal systems, either sign of each difference is equally likely.

use crate::shuffle::Shuffle;

/// Largest number of differences for which all 2ᵏ sign patterns are enumerated.
const EXACT_MAX: usize = 16;

/// Number of random patterns if there are more differences.
const DRAWS: u32 = 100_000;

/// Tolerance, relative to the sum of absolute values, below which sums count as equal despite
/// rounding.
const ROUNDING: f64 = 1e-12;

/// Returns the share of sign patterns whose mean is at least as far from 0 as the observed one.
pub(super) fn p(differences: &[f64]) -> f64 {
    let scale: f64 = differences.iter().map(|value| value.abs()).sum();
    let limit = differences.iter().sum::<f64>().abs() - scale * ROUNDING;
    if differences.len() <= EXACT_MAX {
        exact(differences, limit)
    } else {
        drawn(differences, limit)
    }
}

/// Enumerates all patterns. Each step flips one sign (a Gray code), so that a sum costs one
/// addition. The first sign never flips: the other half of the patterns is the mirror image.
fn exact(differences: &[f64], limit: f64) -> f64 {
    let Some((first, rest)) = differences.split_first() else { return 1.0 };
    let patterns = 1_u32 << rest.len();
    let mut signed = rest.to_vec();
    let mut sum = first + rest.iter().sum::<f64>();
    let mut extreme = u32::from(sum.abs() >= limit);
    for pattern in 1..patterns {
        let flipped = &mut signed[pattern.trailing_zeros() as usize];
        sum -= 2.0 * *flipped;
        *flipped = -*flipped;
        extreme += u32::from(sum.abs() >= limit);
    }
    f64::from(extreme) / f64::from(patterns)
}

/// Draws random patterns. The observed pattern counts as one of them, so p is never 0.
fn drawn(differences: &[f64], limit: f64) -> f64 {
    let mut random = Shuffle::new();
    let mut extreme = 1;
    for _ in 0..DRAWS {
        let mut sum = 0.0;
        for chunk in differences.chunks(64) {
            let signs = random.next();
            let flip =
                |(at, value): (usize, &f64)| if signs >> at & 1 == 0 { *value } else { -value };
            sum += chunk.iter().enumerate().map(flip).sum::<f64>();
        }
        extreme += u32::from(sum.abs() >= limit);
    }
    f64::from(extreme) / f64::from(DRAWS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases() {
        for (differences, patterns_of_64) in [
            (&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0][..], 2.0),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2.0),
            (&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0], 64.0),
            // Only the smallest has the other sign. Patterns with it flipped or none, and their
            // mirror images.
            (&[-1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 4.0),
            (&[0.0; 6], 64.0),
        ] {
            assert_eq!(p(differences) * 64.0, patterns_of_64, "{differences:?}");
        }
        assert_eq!(p(&[]), 1.0);
    }

    /// Tenths have no exact sum; equal sums must count as equal.
    #[test]
    fn rounding_makes_no_difference() {
        let tenths: Vec<_> = (0..12).map(|i| f64::from(i % 5) * 0.1 - 0.13).collect();
        let whole: Vec<_> = (0..12).map(|i| f64::from(i % 5) * 10.0 - 13.0).collect();
        assert_eq!(p(&tenths), p(&whole));
    }

    #[test]
    fn drawn_agrees_with_exact() {
        let differences: Vec<_> = (0..16).map(|i| f64::from(i * i % 7) - 2.0).collect();
        let limit = differences.iter().sum::<f64>().abs() - 1e-9;
        let exact = exact(&differences, limit);
        let drawn = drawn(&differences, limit);
        // The standard deviation of a share of 100,000 draws is at most 0.0016.
        assert!((exact - drawn).abs() < 0.006, "{exact} {drawn}");
    }

    #[test]
    fn many_pairs_have_a_p_above_nothing() {
        let p = p(&[1.0; 70]);
        assert!(p > 0.0 && p < 1e-4, "{p}");
    }
}
