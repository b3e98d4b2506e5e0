//! One machine's share of a run that several machines carry out together: the numbers of the
//! workers that belong to it, by arithmetic alone.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// Part `index` of `count` parts of a run. The run's workers are dealt to the parts in turn: worker
/// w, from 0, belongs to part `w mod count + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// Number of this part, from 1.
    index: u32,
    /// Number of parts of the run.
    count: u32,
}

impl Part {
    /// Returns part `index`, from 1, of `count`; `None` if there is no such part.
    pub fn new(index: u32, count: u32) -> Option<Part> {
        (1..=count).contains(&index).then_some(Part { index, count })
    }

    /// Returns the number of this part, from 1.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Returns the number of parts of the run.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Returns the number of workers that belong to this part, of `all`.
    pub fn share_of(self, all: u32) -> u32 {
        all.saturating_sub(self.index - 1).div_ceil(self.count)
    }

    /// Returns the number of this part's `rank`-th worker, both from 0.
    pub(super) fn nth(self, rank: u32) -> u32 {
        (self.index - 1).saturating_add(rank.saturating_mul(self.count))
    }
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
        }
        let Numbers { index, count } = Numbers::deserialize(deserializer)?;
        Part::new(index, count).ok_or_else(|| {
            serde::de::Error::custom(format!("there is no part {index} of {count} parts"))
        })
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
    }
}
