//! Figures of messages that several tables have: times, and counts of a response.

use weir_result::document::{CountSummary, Summary};
use weir_result::quantile::Quantile;
use weir_text::units::{self, DurationColumn};

use super::CellValue;

/// Percentiles of the tables by name, by stage and by length.
pub(super) const SHORT: [f64; 2] = [50.0, 99.0];

/// Formats the count of messages of a response: one number if all are alike, else the median and
/// the greatest.
pub(super) fn each(distribution: &CountSummary) -> Option<String> {
    let min = distribution.min?;
    let median = distribution.p50?;
    let max = distribution.max?;
    Some(match min == max {
        true => units::count(max),
        false => format!("{}–{} (median {})", units::count(min), units::count(max), median),
    })
}

/// Returns the cell of a percentile.
pub(super) fn time(summary: &Summary, p: f64) -> CellValue {
    summary.percentile(p).map_or_else(CellValue::default, |value| {
        let quantile = Quantile { ns: value.ns, bound: value.bound };
        CellValue::time(quantile, value.imprecise, DurationColumn::of(value.ns))
    })
}
