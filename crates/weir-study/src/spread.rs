//! Spread of one metric over several runs.

use weir_result::Document;
use weir_result::quantile::Bound;
use weir_result::study::MetricOverRuns;
use weir_stats::{mean, mean_interval, outliers, variance};
use weir_verdict::NamedMetric;

/// Confidence of the interval of a mean.
const CONFIDENCE: f64 = 0.95;

/// Returns the spread of a metric over runs, each with the number of its trial. `None` if no run
/// has the metric.
pub(crate) fn spread<'d>(
    metric: &NamedMetric,
    runs: impl Iterator<Item = (u32, &'d Document)>,
) -> Option<MetricOverRuns> {
    let measured: Vec<_> =
        runs.filter_map(|(trial, run)| Some((trial, metric.measure(run).ok()?))).collect();
    let values: Vec<f64> = measured.iter().map(|(_, measured)| measured.value).collect();
    let interval = mean_interval(&values, CONFIDENCE);
    let odd = outliers(&values);
    let bounds = measured.iter().filter(|(_, measured)| measured.bound != Bound::Exact).count();
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let greatest = values.iter().copied().max_by(f64::total_cmp)?;
    let middle = mean(&values);
    Some(MetricOverRuns {
        metric: metric.to_string(),
        runs: values.len() as u32,
        mean: middle,
        sd: (values.len() > 1).then(|| variance(&values).sqrt()),
        low: interval.map(|interval| middle - interval.half_width),
        high: interval.map(|interval| middle + interval.half_width),
        min: least,
        max: greatest,
        bounds: bounds as u32,
        outliers: odd.into_iter().filter_map(|run| Some(measured.get(run)?.0)).collect(),
    })
}
