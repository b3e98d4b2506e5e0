//! The comparisons of claims, and the bounds that show that one holds.

use weir_result::quantile::Bound;

/// A comparison of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Unequal,
}

/// Longer ones first: `<=` begins like `<`.
pub(super) const COMPARISONS: [(&str, Relation); 6] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("==", Relation::Equal),
    ("!=", Relation::Unequal),
    ("<", Relation::Less),
    (">", Relation::More),
];

impl Relation {
    /// True if this value satisfies the comparison.
    pub(super) fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Relation::Less => value < limit,
            Relation::AtMost => value <= limit,
            Relation::More => value > limit,
            Relation::AtLeast => value >= limit,
            Relation::Equal => value == limit,
            Relation::Unequal => value != limit,
        }
    }

    /// True if a bound of this kind that satisfies the comparison shows that the true value does.
    pub(super) fn is_shown_by(self, bound: Bound) -> bool {
        match bound {
            Bound::Exact => true,
            Bound::Upper => self.is_upper(),
            Bound::Lower => matches!(self, Relation::More | Relation::AtLeast),
            Bound::Unknown => false,
        }
    }

    /// True if the limit is an upper limit.
    pub(super) fn is_upper(self) -> bool {
        matches!(self, Relation::Less | Relation::AtMost)
    }

    /// True if the comparison is about the counts of this run only.
    pub(super) fn is_of_this_run(self) -> bool {
        matches!(self, Relation::Equal | Relation::Unequal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(sign: &str) -> Relation {
        COMPARISONS.iter().find(|(known, _)| *known == sign).expect("a sign").1
    }

    #[test]
    fn values_are_compared() {
        for (sign, less, equal, more) in [
            ("<", true, false, false),
            ("<=", true, true, false),
            (">", false, false, true),
            (">=", false, true, true),
            ("==", false, true, false),
            ("!=", true, false, true),
        ] {
            let holds = [4.0, 5.0, 6.0].map(|value| comparison(sign).holds(value, 5.0));
            assert_eq!(holds, [less, equal, more], "{sign}");
        }
    }

    #[test]
    fn bounds_show_one_side_only() {
        for (sign, upper, lower) in [
            ("<", true, false),
            ("<=", true, false),
            (">", false, true),
            (">=", false, true),
            ("==", false, false),
            ("!=", false, false),
        ] {
            let is_shown = |bound| comparison(sign).is_shown_by(bound);
            assert_eq!((is_shown(Bound::Upper), is_shown(Bound::Lower)), (upper, lower), "{sign}");
            assert!(is_shown(Bound::Exact) && !is_shown(Bound::Unknown), "{sign}");
        }
    }
}
