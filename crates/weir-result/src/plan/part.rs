//! One machine's share of a run that several machines carry out together: the numbers of the
//! workers that belong to it, by arithmetic alone.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// Part `index` of `count` parts of a run. The run's workers are dealt to the parts in turn: worker
/// w, from 0, belongs to part `w mod count + 1`. With weights a part takes that many in each turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// Number of this part, from 1.
    index: u32,
    /// Number of parts of the run.
    count: u32,
    /// Its weight; absent if all parts have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<PartWeight>,
}

/// Weight of a part among unequal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PartWeight {
    /// Sum of the weights of the parts before it.
    before: u32,
    /// Its own.
    own: u32,
    /// Sum of all.
    all: u32,
}

impl Part {
    /// Returns part `index`, from 1, of `count`; `None` if there is no such part.
    pub fn new(index: u32, count: u32) -> Option<Part> {
        (1..=count).contains(&index).then_some(Part { index, count, weight: None })
    }

    /// Returns the parts with these weights, each at least 1. None if one is 0, or their sum is
    /// more than [`PART_WEIGHTS_MAX`].
    pub fn weighted(weights: &[u32]) -> Option<Vec<Part>> {
        let count = u32::try_from(weights.len()).ok()?;
        let sum = weights.iter().try_fold(0, |sum: u32, weight| sum.checked_add(*weight))?;
        if weights.contains(&0) || sum > PART_WEIGHTS_MAX {
            return None;
        }
        let divisor = weights.iter().copied().fold(0, greatest_divisor).max(1);
        let all = sum / divisor;
        let mut before = 0;
        let part = |(index, weight): (u32, &u32)| {
            let own = weight / divisor;
            let weight = PartWeight { before, own, all };
            before += own;
            Part { index, count, weight: (all != count).then_some(weight) }
        };
        Some((1..).zip(weights).map(part).collect())
    }

    /// Returns the number of this part, from 1.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Returns the number of parts of the run.
    pub fn count(self) -> u32 {
        self.count
    }

    /// True if both are parts of one division.
    pub(crate) fn is_beside(self, other: Part) -> bool {
        let division = |part: Part| (part.count, part.weight.map(|weight| weight.all));
        division(self) == division(other)
    }

    /// Returns the least number of workers of a run of which each part gets its share.
    pub fn workers_min(self) -> u32 {
        self.turn().all
    }

    /// Returns the number of workers that belong to this part, of `all`.
    pub fn share_of(self, all: u32) -> u32 {
        let PartWeight { before, own, all: turn } = self.turn();
        all / turn * own + (all % turn).saturating_sub(before).min(own)
    }

    /// Returns the number of this part's `rank`-th worker, both from 0.
    pub(super) fn nth(self, rank: u32) -> u32 {
        let PartWeight { before, own, all } = self.turn();
        (rank / own).saturating_mul(all).saturating_add(before + rank % own)
    }

    /// Returns the rank of one of this part's workers, both from 0.
    pub fn rank_of(self, worker: u32) -> u32 {
        let PartWeight { before, own, all } = self.turn();
        worker / all * own + (worker % all).saturating_sub(before)
    }

    /// Returns its place in each turn.
    fn turn(self) -> PartWeight {
        let equal = PartWeight { before: self.index - 1, own: 1, all: self.count };
        self.weight.unwrap_or(equal)
    }
}

/// Greatest sum of weights: each takes a thread.
pub const PART_WEIGHTS_MAX: u32 = 100_000;

fn greatest_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// Formats `2 of 3`.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.index, self.count)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Part, D::Error> {
        #[derive(Deserialize)]
        struct Numbers {
            index: u32,
            count: u32,
            #[serde(default)]
            weight: Option<PartWeight>,
        }
        let Numbers { index, count, weight } = Numbers::deserialize(deserializer)?;
        let part = Part::new(index, count).ok_or_else(|| {
            serde::de::Error::custom(format!("there is no part {index} of {count} parts"))
        })?;
        let is_possible = |weight: &PartWeight| {
            let PartWeight { before, own, all } = *weight;
            let end = before.checked_add(own).filter(|end| *end <= all && own > 0);
            end.is_some() && all <= PART_WEIGHTS_MAX
        };
        match weight.is_none_or(|weight| is_possible(&weight)) {
            true => Ok(Part { weight, ..part }),
            false => Err(serde::de::Error::custom(format!("part {part} has no such weight"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_belongs_to_one_part() {
        for (count, all) in [(1, 1), (2, 5), (3, 3), (3, 10), (4, 30)] {
            let mut owned: Vec<u32> = (1..=count)
                .filter_map(|index| Part::new(index, count))
                .flat_map(|part| (0..part.share_of(all)).map(move |rank| part.nth(rank)))
                .collect();
            owned.sort_unstable();
            assert_eq!(owned, (0..all).collect::<Vec<_>>(), "{count} parts of {all}");
        }
    }

    #[test]
    fn weights_deal_every_number_to_one_part() {
        for (weights, all) in [(vec![1, 2], 7), (vec![4, 8, 2], 21), (vec![5], 5), (vec![3, 1], 9)]
        {
            let parts = Part::weighted(&weights).expect("they exist");
            let mut owned: Vec<u32> = Vec::new();
            for part in parts {
                for rank in 0..part.share_of(all) {
                    assert_eq!(part.rank_of(part.nth(rank)), rank, "{weights:?}");
                    owned.push(part.nth(rank));
                }
            }
            owned.sort_unstable();
            assert_eq!(owned, (0..all).collect::<Vec<_>>(), "{weights:?} of {all}");
        }
        let shares = |weights: &[u32]| {
            let parts = Part::weighted(weights).expect("they exist");
            parts.into_iter().map(|part| part.share_of(70)).collect::<Vec<_>>()
        };
        assert_eq!(shares(&[4, 8, 2]), [20, 40, 10]);
        assert_eq!(
            Part::weighted(&[3, 3]),
            Some([1, 2].map(|k| Part::new(k, 2).expect("it")).into())
        );
        assert_eq!((Part::weighted(&[1, 0]), Part::weighted(&[u32::MAX, 1])), (None, None));
    }

    #[test]
    fn there_is_no_part_zero_and_none_beyond_the_last() {
        assert_eq!(
            [(0, 3), (4, 3), (0, 0)].map(|(index, count)| Part::new(index, count)),
            [None; 3]
        );
        let refused = serde_json::from_str::<Part>(r#"{"index": 4, "count": 3}"#);
        assert!(refused.is_err_and(|why| why.to_string().contains("no part 4 of 3")));
        let part = Part::new(2, 3).expect("it exists");
        let text = serde_json::to_string(&part).expect("JSON");
        assert_eq!(serde_json::from_str::<Part>(&text).expect("what was written"), part);
        assert_eq!(part.to_string(), "2 of 3");
        let weighted = Part::weighted(&[1, 2]).expect("they exist")[1];
        let text = serde_json::to_string(&weighted).expect("JSON");
        assert_eq!(serde_json::from_str::<Part>(&text).expect("what was written"), weighted);
        let impossible = r#"{"index": 1, "count": 2, "weight": {"before": 2, "own": 2, "all": 3}}"#;
        assert!(serde_json::from_str::<Part>(impossible).is_err());
    }
}
