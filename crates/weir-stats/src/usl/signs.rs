//! The runs test: detects residual signs in fewer groups than chance makes (Wald and Wolfowitz,
//! Annals of Mathematical Statistics 11, 1940).

/// Returns the probability that as many pluses and minuses, in random order, form as few groups as
/// these or fewer. Zeros are left out. Signs of one kind only give 1.
pub(super) fn p(residuals: &[f64]) -> f64 {
    let signs: Vec<_> =
        residuals.iter().filter(|value| **value != 0.0).map(|value| *value > 0.0).collect();
    let pluses = signs.iter().filter(|is_plus| **is_plus).count() as u64;
    let minuses = signs.len() as u64 - pluses;
    let groups = 1 + signs.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    if pluses == 0 || minuses == 0 {
        return 1.0;
    }
    let ways: f64 = (2..=groups).map(|groups| orders(pluses, minuses, groups)).sum();
    ways / choose(pluses + minuses, pluses)
}

/// Counts the orders in which so many pluses and minuses form exactly `groups` groups.
fn orders(pluses: u64, minuses: u64, groups: u64) -> f64 {
    let half = groups / 2;
    let parts = |of: u64, into: u64| choose(of - 1, into - 1);
    if groups.is_multiple_of(2) {
        2.0 * parts(pluses, half) * parts(minuses, half)
    } else {
        parts(pluses, half) * parts(minuses, half + 1)
            + parts(pluses, half + 1) * parts(minuses, half)
    }
}

fn choose(of: u64, chosen: u64) -> f64 {
    if chosen > of {
        return 0.0;
    }
    (1..=chosen).fold(1.0, |product, k| product * (of - chosen + k) as f64 / k as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases() {
        for (residuals, expected) in [
            (&[1.0, 1.0, -1.0, -1.0][..], 2.0 / 6.0),
            (&[1.0, -1.0, 1.0, -1.0], 1.0),
            (&[1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0], 2.0 / 70.0),
            (&[1.0, 1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 0.0], 2.0 / 35.0 + 5.0 / 35.0),
            (&[1.0, 1.0, 1.0], 1.0),
            (&[0.0, 0.0], 1.0),
            (&[], 1.0),
        ] {
            assert!((p(residuals) - expected).abs() < 1e-12, "{residuals:?}: {}", p(residuals));
        }
    }

    #[test]
    fn all_orders_are_counted() {
        for (pluses, minuses) in [(1, 1), (3, 4), (6, 2), (7, 7)] {
            let sum: f64 = (2..=pluses + minuses).map(|k| orders(pluses, minuses, k)).sum();
            assert_eq!(sum, choose(pluses + minuses, pluses), "{pluses} {minuses}");
        }
    }
}
