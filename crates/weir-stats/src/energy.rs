//! The energy statistic of a split: the evidence that the values before an index and those after it
//! come from different distributions (Székely and Rizzo, InterStat 5, 2004; METHOD 1.10, 1.16).
//!
//! It compares distances, not means: no distribution is assumed, and a change of spread counts too.

mod ranks;

pub(crate) use ranks::Ranks;

/// A split of a series in two, and the statistic there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Split {
    /// Index of the first value after the split.
    pub(crate) index: usize,
    /// nm/(n + m) times twice the mean distance between both parts less the mean distance within
    /// each, in units of the values.
    pub(crate) energy: f64,
}

impl Split {
    /// Returns the split of `count` values at an index, from the sums of the distances within the
    /// earlier part, between both, and within the later one.
    fn at(index: usize, count: usize, [early, between, late]: [f64; 3]) -> Split {
        let n = index as f64;
        let m = (count - index) as f64;
        let energy =
            2.0 * between / (n * m) - 2.0 * early / (n * (n - 1.0)) - 2.0 * late / (m * (m - 1.0));
        Split { index, energy: energy * n * m / (n + m) }
    }

    /// Returns the other split if its energy is greater.
    fn or(self, other: Split) -> Split {
        if other.energy > self.energy { other } else { self }
    }
}

/// Returns the split at which two levels of at least `least` ≥ 2 values differ most; there must be
/// twice as many values. Time grows with their square.
pub(crate) fn best_split(values: &[f64], least: usize) -> Split {
    let count = values.len();
    let distances = |from: f64, to: &[f64]| -> f64 { to.iter().map(|v| (v - from).abs()).sum() };
    let within_late =
        values.iter().enumerate().map(|(i, value)| distances(*value, &values[i + 1..])).sum();
    scan(count, least, within_late, |moved| {
        let value = values[moved];
        (distances(value, &values[..moved]), distances(value, &values[moved + 1..]))
    })
}

/// Returns the best split of `count` values, whose distances have the sum `within`. `distances`
/// returns the sums of those from the value at an index to all before and to all after it; it is
/// asked for one index after the other.
fn scan(
    count: usize,
    least: usize,
    within: f64,
    mut distances: impl FnMut(usize) -> (f64, f64),
) -> Split {
    // At first all distances lie within the later part; values then move to the earlier one.
    let mut within_early = 0.0;
    let mut between = 0.0;
    let mut within_late = within;
    let mut best = Split { index: least, energy: f64::NEG_INFINITY };
    for moved in 0..count - least {
        let (to_early, to_late) = distances(moved);
        within_early += to_early;
        within_late -= to_late;
        between += to_late - to_early;
        let index = moved + 1;
        if index >= least {
            best = best.or(Split::at(index, count, [within_early, between, within_late]));
        }
    }
    best
}

/// Returns the best split of all beginnings of the series: [`best_split`] over every prefix of at
/// least 2 · `least` values; `least` is 2 or more. A later change that undoes the first one thus
/// does not hide it.
///
/// Sums of distances are kept for every split and grow with the prefix, so that a split of one more
/// prefix costs one distance (Matteson and James, JASA 109, 2014).
pub(crate) fn best_split_of_prefixes(values: &[f64], least: usize) -> Split {
    let count = values.len();
    // Of the split at each index, in the prefix that is being considered: the distances within the
    // earlier part, over its number of values less one, those within the later part, and those
    // between both.
    let mut early = vec![0.0; count + 1];
    let mut late = vec![0.0; count + 1];
    let mut between = vec![0.0; count + 1];
    let inverse: Vec<_> = (0..=count).map(|count| (count as f64).recip()).collect();
    let mut to_earlier = vec![0.0; count + 1];
    let mut within = 0.0;
    let mut best = Split { index: least, energy: f64::NEG_INFINITY };
    for (last, value) in values.iter().enumerate() {
        let end = last + 1;
        let mut to_all = 0.0;
        for (sum, other) in to_earlier[1..end].iter_mut().zip(values) {
            to_all += (other - value).abs();
            *sum = to_all;
        }
        within += to_all;
        early[end] = within * inverse[last];
        let sums = between[1..end].iter_mut().zip(&mut late[1..end]);
        for ((between, late), to_earlier) in sums.zip(&to_earlier[1..end]) {
            *between += to_earlier;
            *late += to_all - to_earlier;
        }
        if end < 2 * least {
            continue;
        }
        let splits = least..=end - least;
        let later = inverse[least - 1..end - least].iter().rev();
        let sums = between[splits.clone()].iter().zip(&late[splits.clone()]);
        for ((index, (between, late)), (early, later)) in
            splits.clone().zip(sums).zip(early[splits].iter().zip(later))
        {
            let n = index as f64;
            let m = (end - index) as f64;
            let energy = 2.0 * (between - early * m - late * later * n) * inverse[end];
            if energy > best.energy {
                best = Split { index, energy };
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Noise;

    /// Computed by hand: within each part all distances are 0, between them 2; 3·3/6 · 2·2.
    #[test]
    fn a_step_without_noise() {
        let step = [1.0, 1.0, 1.0, 3.0, 3.0, 3.0];
        assert_eq!(best_split(&step, 2), Split { index: 3, energy: 6.0 });
        assert_eq!(best_split_of_prefixes(&step, 2), Split { index: 3, energy: 6.0 });
        assert_eq!(best_split(&step, 3).index, 3);
    }

    /// The definition, with all distances computed anew for every split of every prefix.
    #[test]
    fn prefixes_agree_with_the_definition() {
        for seed in 0..20 {
            let mut noise = Noise::seeded(seed);
            let values: Vec<_> = (0..30).map(|_| noise.student3()).collect();
            let of_prefixes = (6..=30).map(|end| best_split(&values[..end], 3));
            let expected = of_prefixes.max_by(|a, b| a.energy.total_cmp(&b.energy));
            let expected = expected.expect("25 prefixes");
            let found = best_split_of_prefixes(&values, 3);
            assert_eq!(found.index, expected.index, "seed {seed}");
            assert!((found.energy - expected.energy).abs() < 1e-9, "{found:?} {expected:?}");
        }
    }

    /// A level that returns: over the whole series the parts resemble each other more than the
    /// first level and the second do.
    #[test]
    fn a_prefix_shows_a_change_that_is_undone() {
        let mut values = [0.0; 30];
        values[10..20].fill(1.0);
        let whole = best_split(&values, 3);
        let prefixes = best_split_of_prefixes(&values, 3);
        assert_eq!(prefixes, Split { index: 10, energy: 10.0 });
        assert!(whole.energy < 5.0, "{whole:?}");
    }
}
