//! Histograms as documents store them: text, with the figures that buckets hold only approximately.
//! In memory they are decoded, so that only reading a document can fail.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Exact, Histogram, SparseHistogram, encoding};

/// A histogram with its exact figures, as in slices and the series.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackedHistogram {
    /// HdrHistogram V2 with compression, in base64.
    histogram: String,
    /// Figures that the buckets hold only approximately.
    exact: Exact,
}

/// Decodes a histogram.
///
/// # Errors
/// If the text is none, or does not add up to the exact figures; the error is its fault.
pub fn decode(text: &str, exact: &Exact) -> Result<Histogram, String> {
    let buckets = encoding::decode(text).map_err(str::to_owned)?;
    Histogram::from_buckets(buckets, *exact).map_err(str::to_owned)
}

impl Histogram {
    /// Returns the buckets in HdrHistogram's V2 encoding with compression, in base64.
    pub fn to_text(&self) -> String {
        encoding::encode(self.buckets())
    }
}

impl SparseHistogram {
    /// Returns the buckets as [`Histogram::to_text`] does.
    pub fn to_text(&self) -> String {
        encoding::encode(self.buckets())
    }
}

/// Null if it is empty, else its text and its exact figures.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let pack = |exact| PackedHistogram { histogram: self.to_text(), exact };
        self.exact().known().map(pack).serialize(out)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Histogram, D::Error> {
        let packed = Option::<PackedHistogram>::deserialize(from)?;
        packed.map_or_else(
            || Ok(Histogram::new()),
            |packed| decode(&packed.histogram, &packed.exact).map_err(de::Error::custom),
        )
    }
}

/// As a [`Histogram`].
impl Serialize for SparseHistogram {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let pack = |exact| PackedHistogram { histogram: self.to_text(), exact };
        self.exact().known().map(pack).serialize(out)
    }
}

impl<'de> Deserialize<'de> for SparseHistogram {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<SparseHistogram, D::Error> {
        let histogram = Histogram::deserialize(from)?;
        SparseHistogram::from_histogram(&histogram)
            .ok_or_else(|| de::Error::custom("an interval counts more than 32 bits hold"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::histogram::{HIGHEST_NS, Tally};

    proptest! {
        #[test]
        fn sparse_histograms_survive_json(
            values in prop::collection::vec((0..=2 * HIGHEST_NS, 1..1_000_u32), 0..50),
            level in 0..4_u32,
        ) {
            let mut tally = Tally::new();
            values.iter().for_each(|(ns, times)| tally.record_times(*ns, *times));
            let sparse = tally.sparse(level);
            let text = serde_json::to_string(&sparse).expect("a value of JSON");
            prop_assert_eq!(serde_json::from_str::<SparseHistogram>(&text).expect(&text), sparse);
        }
    }

    #[test]
    fn a_histogram_that_does_not_add_up_is_refused() {
        let mut tally = Tally::new();
        tally.record(1_000);
        let text = serde_json::to_string(&tally.take_sparse()).expect("a value of JSON");
        let wrong = text.replace("\"count\":1,", "\"count\":2,");
        assert_ne!(wrong, text);
        let error = serde_json::from_str::<SparseHistogram>(&wrong).expect_err("one value");
        assert!(error.to_string().contains("do not add up"), "{error}");
    }
}
