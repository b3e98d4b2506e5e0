//! Histograms as text, with the figures that their buckets hold only approximately.

use serde::{Deserialize, Serialize};

use crate::encoding;
use crate::histogram::{Exact, Histogram, SparseHistogram};

/// Exact figures of a histogram, whose buckets hold them only approximately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExactFigures {
    /// Number of values.
    pub count: u64,
    /// Least value in nanoseconds.
    pub min_ns: u64,
    /// Greatest value in nanoseconds.
    pub max_ns: u64,
    /// Sum in nanoseconds, as decimal digits: it may be more than a JSON number holds exactly.
    #[serde(with = "digits")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub sum_ns: u128,
    /// Of `count`: values beyond 1 h, which are in the last bucket.
    pub clipped: u64,
}

/// A histogram with its exact figures, as in slices and the series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackedHistogram {
    /// HdrHistogram V2 with compression, in base64.
    pub histogram: String,
    /// Figures that the buckets hold only approximately.
    pub exact: ExactFigures,
}

/// Decodes a histogram. The error is the fault of the text.
pub(super) fn decode(text: &str, exact: &ExactFigures) -> Result<Histogram, String> {
    let buckets = encoding::decode(text).map_err(|error| error.to_string())?;
    Histogram::from_buckets(buckets, exact.to_exact()).map_err(str::to_owned)
}

impl ExactFigures {
    pub(super) fn of(exact: &Exact) -> Option<ExactFigures> {
        let Exact { count, min_ns, max_ns, sum_ns, clipped } = *exact;
        (count > 0).then_some(ExactFigures { count, min_ns, max_ns, sum_ns, clipped })
    }

    fn to_exact(self) -> Exact {
        let ExactFigures { count, min_ns, max_ns, sum_ns, clipped } = self;
        Exact { count, min_ns, max_ns, sum_ns, clipped }
    }
}

impl PackedHistogram {
    pub(crate) fn of(histogram: &Histogram) -> Option<PackedHistogram> {
        let exact = ExactFigures::of(histogram.exact())?;
        Some(PackedHistogram { histogram: encoding::encode(histogram.buckets()), exact })
    }

    pub(super) fn of_sparse(histogram: &SparseHistogram) -> Option<PackedHistogram> {
        let exact = ExactFigures::of(histogram.exact())?;
        Some(PackedHistogram { histogram: encoding::encode(histogram.buckets()), exact })
    }

    /// Decodes the histogram. The error is the fault of the text.
    pub fn unpack(&self) -> Result<Histogram, String> {
        decode(&self.histogram, &self.exact)
    }
}

/// A 128-bit number as a JSON string of decimal digits.
pub(super) mod digits {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(in crate::document) fn serialize<S: Serializer>(
        number: &u128,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.collect_str(number)
    }

    pub(in crate::document) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<u128, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| de::Error::custom("a sum is not a number in decimal digits"))
    }
}
