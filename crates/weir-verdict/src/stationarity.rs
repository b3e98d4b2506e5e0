//! Stationarity of the run: the figures of METHOD 1.10 for each series of slices.

use weir_result::Histogram;
use weir_result::document::{
    Deviation, Document, SeriesStationarity, ShiftFigures, SliceEntry, SliceSeries, ThirdsFigures,
    TrendFigures,
};
use weir_result::quantile::rank_of;
use weir_stats::{MonotonicTrend, Shift, Stationarity, Thirds};

use crate::spans::spans;

/// Computes all series that the document's slices have, of a load in stages those of each stage
/// with a constant rate; none with too few slices.
pub(crate) fn of_all(document: &Document) -> Vec<SeriesStationarity> {
    spans(document).iter().flat_map(|span| of_slices(&span.slices)).collect()
}

fn of_slices(whole: &[&SliceEntry]) -> Vec<SeriesStationarity> {
    // Fewer slices cannot be distinguished from chance.
    if whole.len() < 10 {
        return Vec::new();
    }
    let mut all = Histogram::new();
    whole.iter().for_each(|slice| all.add(&everything(slice)));
    let of_slices = |value: &dyn Fn(&SliceEntry) -> Option<f64>| -> Option<Vec<f64>> {
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
    let starts: Vec<f64> = whole.iter().map(|slice| slice.start_s).collect();
    let known = series.into_iter().filter_map(|(series, values)| Some((series, values?)));
    known.filter_map(|(series, values)| of(series, &values, &starts)).collect()
}

/// Computes one series; `None` if its counts were not kept.
fn of(series: SliceSeries, values: &[f64], starts_s: &[f64]) -> Option<SeriesStationarity> {
    // All values are 0: these counts were not kept.
    if values.iter().all(|value| *value == 0.0) {
        return None;
    }
    let found = Stationarity::of(values)?;
    let fired = [
        (Deviation::Trend, found.has_trend()),
        (Deviation::Drift, found.has_drift()),
        (Deviation::Shift, found.has_shift()),
        (Deviation::Correlated, found.is_correlated()),
    ];
    let trend = |MonotonicTrend { z, slope, magnitude }| TrendFigures { z, slope, magnitude };
    let thirds = |Thirds { p, difference }| ThirdsFigures { p, difference };
    let shift = |Shift { index, p, magnitude }| {
        let at_s = starts_s[index];
        ShiftFigures { at_s, p, magnitude }
    };
    Some(SeriesStationarity {
        series,
        trend: found.trend.map(trend),
        thirds: found.thirds.map(thirds),
        shift: found.shift.map(shift),
        lag1: found.lag1,
        lag1_limit: found.lag1_limit,
        fired: fired.into_iter().filter(|(_, has)| *has).map(|(change, _)| change).collect(),
    })
}

fn completed_rps(slice: &SliceEntry) -> Option<f64> {
    // Exact to the nanosecond, as the slice was measured.
    let length_s = slice.length_ns() as f64 / 1e9;
    Some(if length_s > 0.0 { slice.completed as f64 / length_s } else { 0.0 })
}

/// All requests of a slice, failures at their age.
fn everything(slice: &SliceEntry) -> Histogram {
    let mut all = slice.ok.clone();
    all.add(&slice.not_ok);
    all
}

/// Share of a slice's requests beyond the bucket of percentile `p` of all; `None` if the slice has
/// none.
fn share_beyond(slice: &SliceEntry, all: &Histogram, p: f64) -> Option<f64> {
    let bucket = all.bucket_at_rank(rank_of(p, all.count()))?;
    let mine = everything(slice);
    let beyond: u64 = mine.buckets().filter(|(hit, _)| *hit > bucket).map(|(_, count)| count).sum();
    (!mine.is_empty()).then(|| beyond as f64 / mine.count() as f64)
}

#[cfg(test)]
mod tests {
    use weir_result::document::StageSection;
    use weir_result::{Arrivals, DueTimes, Rate, Stage};

    use super::*;

    const MS: u64 = 1_000_000;

    /// 30 slices of 100 ms, each with 100 responses of about `ms` of its index.
    fn slices(ms: impl Fn(u64) -> u64) -> Vec<SliceEntry> {
        (0..30)
            .map(|k| {
                let mut slice = SliceEntry {
                    start_s: k as f64 / 10.0,
                    end_s: (k + 1) as f64 / 10.0,
                    completed: 100,
                    ..SliceEntry::default()
                };
                (0..100).for_each(|i| slice.ok.record(ms(k) * MS + i * 1_000));
                slice
            })
            .collect()
    }

    fn document(slices: Vec<SliceEntry>, window_s: f64) -> Document {
        let mut document = Document { slices, ..Document::default() };
        document.throughput.window_s = window_s;
        document
    }

    fn of_window(slices: Vec<SliceEntry>, window_s: f64) -> Vec<SeriesStationarity> {
        of_all(&document(slices, window_s))
    }

    #[test]
    fn a_shift_has_its_time() {
        let found = of_window(slices(|k| if k < 12 { 5 } else { 9 }), 3.0);
        let series: Vec<SliceSeries> = found.iter().map(|of| of.series).collect();
        let [_, mean, ..] = &found[..] else { panic!("{found:?}") };
        assert_eq!(series[..2], [SliceSeries::Throughput, SliceSeries::Mean]);
        assert_eq!(found[0].fired, []);
        assert!(mean.fired.contains(&Deviation::Shift), "{mean:?}");
        let shift = mean.shift.expect("it changes");
        assert!((shift.at_s - 1.2).abs() < 1e-9, "{shift:?}");
        assert!((shift.magnitude - 4.0 / 5.05).abs() < 0.01, "{shift:?}");
    }

    #[test]
    fn too_few_slices_say_nothing() {
        assert_eq!(of_window(slices(|_| 5)[..9].to_vec(), 3.0), []);
        // Of a window cut short, only slices inside it count.
        assert_eq!(of_window(slices(|_| 5), 0.5), []);
    }

    #[test]
    fn each_stage_with_a_constant_rate_is_judged_alone() {
        let rate = |numerator| Rate { numerator, denominator: 1 };
        let stage =
            |from, to| Stage { duration_ns: 1_000 * MS, from: rate(from), to: rate(to), burst: 1 };
        let mut document = document(slices(|k| [5, 7, 9][k as usize / 10]), 3.0);
        let stages = vec![stage(10, 10), stage(10, 20), stage(20, 20)];
        document.plan.load.due = Some(DueTimes::in_stages(stages, Arrivals::Uniform));
        let section =
            |start_s| StageSection { start_s, end_s: start_s + 1.0, ..StageSection::default() };
        document.stages = [0.0, 1.0, 2.0].map(section).into();
        let found = of_all(&document);
        let throughput = found.iter().filter(|of| of.series == SliceSeries::Throughput);
        assert_eq!(throughput.count(), 2, "{found:?}");
        assert!(found.iter().all(|of| of.fired.is_empty()), "{found:?}");
    }
}
