//! Ratios of a metric between both values of one factor, such as two servers, for each combination
//! of the other factors.

use weir_result::Study;
use weir_result::study::{Level, SweepRatio};
use weir_stats::{mean, t_quantile, variance};
use weir_verdict::NamedMetric;

/// Returns a ratio for each combination of the other factors that has runs with both values, and
/// the geometric mean of them.
pub(crate) fn ratios(study: &Study, metric: &NamedMetric, factor: &str) -> Vec<SweepRatio> {
    let mut combinations: Vec<Combination> = Vec::new();
    for (index, cell) in (0..).zip(&study.cells) {
        let (own, others): (Vec<Level>, Vec<Level>) =
            cell.levels.iter().cloned().partition(|level| level.factor == factor);
        let Some(own) = own.into_iter().next() else { continue };
        let runs =
            study.documents_of(index).filter_map(|run| Some(metric.measure(run).ok()?.value));
        let values: Vec<f64> = runs.filter(|value| *value > 0.0).collect();
        match combinations.iter_mut().find(|known| known.levels == others) {
            Some(known) if known.value != own.value => known.second = Some(values),
            Some(_) => {}
            None => combinations.push(Combination {
                levels: others,
                value: own.value,
                first: values,
                second: None,
            }),
        }
    }
    let mut found: Vec<SweepRatio> = combinations.into_iter().filter_map(ratio).collect();
    if found.len() > 1 {
        let logs: Vec<f64> = found.iter().map(|row| row.ratio.ln()).collect();
        found.push(SweepRatio { ratio: mean(&logs).exp(), ..SweepRatio::default() });
    }
    found
}

/// Runs of one combination of the other factors.
struct Combination {
    levels: Vec<Level>,
    /// Value of the factor that comes first.
    value: String,
    first: Vec<f64>,
    second: Option<Vec<f64>>,
}

/// The ratio of the means, with Welch's interval on the logarithms of the runs.
fn ratio(combination: Combination) -> Option<SweepRatio> {
    let Combination { levels, first, second, .. } = combination;
    let second = second?;
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let ratio = mean(&second) / mean(&first);
    let half = half_width(&logs(&first), &logs(&second));
    Some(SweepRatio {
        levels,
        first: Some(mean(&first)),
        second: Some(mean(&second)),
        ratio,
        low: half.map(|half| ratio * (-half).exp()),
        high: half.map(|half| ratio * half.exp()),
    })
}

/// Half of the width of Welch's 95% interval of the difference of means; `None` for single runs.
fn half_width(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let part = |values: &[f64]| variance(values) / values.len() as f64;
    let one = part(a);
    let other = part(b);
    if one + other == 0.0 {
        return Some(0.0);
    }
    let freedom = |part: f64, values: &[f64]| part.powi(2) / (values.len() - 1) as f64;
    let df = (one + other).powi(2) / (freedom(one, a) + freedom(other, b));
    Some(t_quantile(0.975, df) * (one + other).sqrt())
}

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_welch() {
        // Expected values are from SciPy's ttest_ind without equal variances.
        let check = |a: &[f64], b: &[f64], expected: f64| {
            let half = half_width(a, b).expect("enough runs");
            assert!((half - expected).abs() < 1e-9, "{half}");
        };
        check(&[-1.0, 0.0, 1.0], &[-1.0, 1.0, 3.0], 4.1553995031825055);
        let a = [9_800.0, 10_100.0, 10_050.0, 9_900.0];
        let b = [8_000.0, 8_100.0, 7_950.0];
        check(&logs(&a), &logs(&b), 0.02271297098685221);
        assert_eq!(half_width(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(half_width(&[1.0, 1.0], &[2.0, 2.0]), Some(0.0));
    }
}
