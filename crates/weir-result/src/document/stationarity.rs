//! Stationarity of the run: the figures of METHOD 1.10 for each series of slices. The verdict draws
//! the conclusions.

use serde::{Deserialize, Serialize};

use crate::counters::Slice;
use crate::histogram::Histogram;
use crate::quantile::rank_of;

use super::throughput::{per_second, seconds};

/// Stationarity of one series of slices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesStationarity {
    /// Series that the figures are of.
    pub series: SliceSeries,
    /// S1: trend; null for a constant series.
    pub trend: Option<TrendFigures>,
    /// S2: first third against last third; null for a constant series.
    pub thirds: Option<ThirdsFigures>,
    /// S3: level shift; null for a constant series.
    pub shift: Option<ShiftFigures>,
    /// S4: correlation of each slice with the next, −1 to 1.
    pub lag1: f64,
    /// Greatest `lag1` that is consistent with independent slices.
    pub lag1_limit: f64,
    /// Rules that fired: the change is both significant and large.
    pub fired: Vec<Change>,
}

/// Figure that is computed for each slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SliceSeries {
    /// Complete responses per second.
    Throughput,
    /// Mean response time of `ok` requests.
    Mean,
    /// Share of requests slower than the whole run's p50.
    BeyondP50,
    /// Share of requests slower than the whole run's p90.
    BeyondP90,
    /// Share of requests slower than the whole run's p99.
    BeyondP99,
}

/// Kind of deviation from stationarity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// S1: the series rose or fell over the whole window.
    Trend,
    /// S2: the first third differs from the last.
    Drift,
    /// S3: the level shifted.
    Shift,
    /// S4: slices correlate with their neighbours, so that intervals are too narrow.
    Correlated,
}

/// S1: Mann–Kendall test and Sen's slope.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrendFigures {
    /// Test statistic, in standard deviations from no trend.
    pub z: f64,
    /// Sen's slope per slice, in the unit of the series.
    pub slope: f64,
    /// Change of the slope over the window, as a share of the median.
    pub magnitude: f64,
}

/// S2: comparison of the first third with the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThirdsFigures {
    /// Probability of such a difference by chance.
    pub p: f64,
    /// Change from the first third to the last, as a share of the first.
    pub difference: f64,
}

/// S3: the best split into two levels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShiftFigures {
    /// Start of the new level, in seconds from t0.
    pub at_s: f64,
    /// Probability of such a split by chance.
    pub p: f64,
    /// Change of the mean, as a share of the mean before.
    pub magnitude: f64,
}

impl SeriesStationarity {
    /// Computes all series that these slices have; none with too few slices.
    pub(super) fn of_all(slices: &[Slice], window_ns: u64) -> Vec<SeriesStationarity> {
        let whole: Vec<&Slice> = slices.iter().filter(|slice| slice.end_ns <= window_ns).collect();
        // Fewer slices cannot be distinguished from chance.
        if whole.len() < 10 {
            return Vec::new();
        }
        let mut all = Histogram::new();
        whole.iter().for_each(|slice| all.add(&everything(slice)));
        let of_slices = |value: &dyn Fn(&Slice) -> Option<f64>| -> Option<Vec<f64>> {
            whole.iter().map(|slice| value(slice)).collect()
        };
        let beyond = |p| of_slices(&|slice| share_beyond(slice, &all, p));
        let series = [
            (SliceSeries::Throughput, of_slices(&completed_rps)),
            (SliceSeries::Mean, of_slices(&|slice| slice.ok.mean_ns())),
            (SliceSeries::BeyondP50, beyond(50.0)),
            (SliceSeries::BeyondP90, beyond(90.0)),
            (SliceSeries::BeyondP99, beyond(99.0)),
        ];
        let starts: Vec<f64> = whole.iter().map(|slice| seconds(slice.start_ns)).collect();
        let known = series.into_iter().filter_map(|(series, values)| Some((series, values?)));
        known.filter_map(|(series, values)| Self::of(series, &values, &starts)).collect()
    }

    fn of(series: SliceSeries, values: &[f64], starts_s: &[f64]) -> Option<SeriesStationarity> {
        // All values are 0: these counts were not kept.
        if values.iter().all(|value| *value == 0.0) {
            return None;
        }
        let found = weir_stats::Stationarity::of(values)?;
        let fired = [
            (Change::Trend, found.has_trend()),
            (Change::Drift, found.has_drift()),
            (Change::Shift, found.has_shift()),
            (Change::Correlated, found.is_correlated()),
        ];
        Some(SeriesStationarity {
            series,
            trend: found.trend.map(|weir_stats::Trend { z, slope, magnitude }| TrendFigures {
                z,
                slope,
                magnitude,
            }),
            thirds: found
                .thirds
                .map(|weir_stats::Thirds { p, difference }| ThirdsFigures { p, difference }),
            shift: found.shift.map(|weir_stats::Shift { index, p, magnitude }| ShiftFigures {
                at_s: starts_s[index],
                p,
                magnitude,
            }),
            lag1: found.lag1,
            lag1_limit: found.lag1_limit,
            fired: fired.into_iter().filter(|(_, has)| *has).map(|(change, _)| change).collect(),
        })
    }
}

fn completed_rps(slice: &Slice) -> Option<f64> {
    Some(per_second(slice.completed, slice.end_ns.saturating_sub(slice.start_ns)))
}

/// All requests of a slice, failures at their age.
fn everything(slice: &Slice) -> Histogram {
    let mut all = slice.ok.clone();
    all.add(&slice.not_ok);
    all
}

/// Share of a slice's requests beyond the bucket of percentile `p` of all; `None` if the slice has
/// none.
fn share_beyond(slice: &Slice, all: &Histogram, p: f64) -> Option<f64> {
    let bucket = all.bucket_at_rank(rank_of(p, all.count()))?;
    let mine = everything(slice);
    let beyond: u64 = mine.buckets().filter(|(hit, _)| *hit > bucket).map(|(_, count)| count).sum();
    (!mine.is_empty()).then(|| beyond as f64 / mine.count() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// 30 slices of 100 ms, each with 100 responses of about `ms` of its index.
    fn slices(ms: impl Fn(u64) -> u64) -> Vec<Slice> {
        (0..30)
            .map(|k| {
                let mut slice = Slice {
                    start_ns: k * 100 * MS,
                    end_ns: (k + 1) * 100 * MS,
                    completed: 100,
                    ..Slice::default()
                };
                (0..100).for_each(|i| slice.ok.record(ms(k) * MS + i * 1_000));
                slice
            })
            .collect()
    }

    #[test]
    fn a_shift_has_its_time() {
        let found = SeriesStationarity::of_all(&slices(|k| if k < 12 { 5 } else { 9 }), 3_000 * MS);
        let series: Vec<SliceSeries> = found.iter().map(|of| of.series).collect();
        let [_, mean, ..] = &found[..] else { panic!("{found:?}") };
        assert_eq!(series[..2], [SliceSeries::Throughput, SliceSeries::Mean]);
        assert_eq!(found[0].fired, []);
        assert!(mean.fired.contains(&Change::Shift), "{mean:?}");
        let shift = mean.shift.expect("it changes");
        assert!((shift.at_s - 1.2).abs() < 1e-9, "{shift:?}");
        assert!((shift.magnitude - 4.0 / 5.05).abs() < 0.01, "{shift:?}");
    }

    #[test]
    fn too_few_slices_say_nothing() {
        assert_eq!(SeriesStationarity::of_all(&slices(|_| 5)[..9], 3_000 * MS), []);
        // Of a window cut short, only slices inside it count.
        assert_eq!(SeriesStationarity::of_all(&slices(|_| 5), 500 * MS), []);
    }
}
