//! Common parts of the tables of results by name and by stage: counts, rates, percentiles, and the
//! marks that these need.

use weir_result::document::{PercentileValue, Results};
use weir_result::quantile::{Bound, Quantile};
use weir_text::units::{self, DurationColumn};

use super::percentiles::LOWER_BOUNDS;
use super::throughput::margin;
use super::{CellValue, Tone};

/// Percentiles with a column of their own; the last is the maximum.
pub(super) const COLUMNS: [(&str, f64); 3] = [("p50", 50.0), ("p99", 99.0), ("max", 100.0)];

/// Returns the unit in which the response times of these scopes are printed: that of the least
/// median.
pub(super) fn unit<'d>(scopes: impl IntoIterator<Item = &'d Results>) -> DurationColumn {
    let median = |of: &Results| of.response_time.headline().percentile(50.0).map(|value| value.ns);
    DurationColumn::of(scopes.into_iter().filter_map(median).min().unwrap_or(0))
}

/// Returns the cells of the columns [`COLUMNS`].
pub(super) fn percentiles(results: &Results, unit: DurationColumn) -> [CellValue; 3] {
    COLUMNS.map(|(_, p)| {
        let value = results.response_time.headline().percentile(p);
        value.map_or_else(CellValue::default, |value| {
            let quantile = Quantile { ns: value.ns, bound: value.bound };
            CellValue::time(quantile, value.imprecise, unit)
        })
    })
}

/// Returns the cells of the number of requests, and of those that failed.
pub(super) fn counts(results: &Results) -> [CellValue; 2] {
    let failed = results.failed();
    let tone = if failed > 0 { Tone::Bad } else { Tone::Plain };
    [CellValue::from(units::count(results.planned)), CellValue::toned(units::count(failed), tone)]
}

/// Formats the rate of responses: `488.0 ± 0.7%`. The column's title has the unit.
pub(super) fn rate(results: &Results) -> String {
    let rate = units::rate(results.completed_rps);
    let margin = margin(results.completed_rps, results.completed_interval);
    format!("{}{margin}", rate.trim_end_matches("/s"))
}

/// Explains the marks of the percentiles. `with` says what the requests of a scope have in common:
/// `with this name`.
pub(super) fn marks<'d>(scopes: impl IntoIterator<Item = &'d Results>, with: &str) -> Vec<String> {
    let of =
        |of: &Results| COLUMNS.map(|(_, p)| of.response_time.headline().percentile(p).copied());
    let values: Vec<PercentileValue> = scopes.into_iter().flat_map(of).flatten().collect();
    let has = |bound: Bound| values.iter().any(|value| value.bound == bound);
    let is_uncertain = |value: &PercentileValue| value.imprecise && value.bound != Bound::Unknown;
    let mut marks = Vec::new();
    if has(Bound::Upper) {
        marks.push("≤: upper bound, client overhead included".to_owned());
    }
    if has(Bound::Lower) {
        marks.push(LOWER_BOUNDS.to_owned());
    }
    if values.iter().any(is_uncertain) {
        marks.push(format!("~: uncertain: too few independent samples {with}"));
    }
    marks
}
