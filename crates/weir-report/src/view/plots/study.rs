//! Plots of studies: runs, the shift between two variants, curves of a sweep, the path of a search.

use weir_result::Study;
use weir_result::study::{
    Comparison, Design, MetricOverRuns, SearchResult, SearchTrial, ShiftLevel, Sweep, SweepCell,
    TrialUse,
};
use weir_text::setting::CONNECTIONS;
use weir_text::units;
use weir_verdict::NamedMetric;

use crate::view::plot::{named, role_of};
use crate::view::{Axis, AxisUnit, Mark, Plot, Role, Scale, short};

/// Greatest number of metrics of a sweep that are plotted, and of curves in a plot.
const PLOTS_MAX: usize = 6;

/// Plots a metric over the runs of a study, one series for each variant; `None` if no run has it.
pub(in crate::view) fn runs(study: &Study, metric: &str) -> Option<Plot> {
    let metric: NamedMetric = metric.parse().ok()?;
    let marks: Vec<Mark> = (0..)
        .zip(&study.cells)
        .filter_map(|(index, cell)| {
            let runs = study.measured().filter(|(trial, _)| trial.cell == index);
            let (x, y): (Vec<f64>, Vec<f64>) = runs
                .filter_map(|(trial, document)| {
                    let value = metric.measure(document).ok()?.value;
                    Some((f64::from(trial.number), short(value)))
                })
                .unzip();
            let name = if cell.name.is_empty() { metric.title() } else { cell.name.clone() };
            (!x.is_empty()).then(|| Mark::dots(&name, role_of(index as usize), x, y))
        })
        .collect();
    if marks.is_empty() {
        return None;
    }
    let about = "In the order of the runs: a trend or a jump here is a change of the machine or \
                 of the target during the study.";
    let axes = [Axis::linear("Run", AxisUnit::Number), Axis::linear("", AxisUnit::of(&metric))];
    Some(Plot::new(["runs", &format!("{} of each run", metric.title())], about, axes, marks))
}

/// Plots the percentiles of both variants, and their difference; empty without a shift function.
pub(in crate::view) fn shift(found: &Comparison) -> Vec<Plot> {
    let levels: Vec<&ShiftLevel> = found.shift.iter().filter(|it| it.percentile < 100.0).collect();
    if levels.len() < 2 {
        return Vec::new();
    }
    let at = |level: &ShiftLevel| 100.0 / (100.0 - level.percentile);
    let curve = |name: &str, role, value: fn(&ShiftLevel) -> u64| {
        let points = levels.iter().map(|level| (at(level), Some(value(level).max(1) as f64)));
        Mark::line(name, role, points)
    };
    let name = format!("{} interval", units::short_percent(found.confidence));
    let ends = levels.iter().map(|level| (at(level), level.low, Some(level.high)));
    let band = Mark::band(name, Role::Main, ends);
    let equal = levels.iter().map(|level| (at(level), Some(0.0)));
    let line = levels.iter().map(|level| (at(level), Some(level.change)));
    let a = &found.base.name;
    let b = &found.new.name;
    let curves = vec![
        curve(a, Role::Main, |level| level.base_ns),
        curve(b, Role::Second, |level| level.new_ns),
    ];
    let changes = vec![
        band,
        Mark::line("no difference", Role::Reference, equal),
        Mark::line("change", Role::Main, line),
    ];
    let a = named(a);
    let b = named(b);
    let of_curves = format!("Response time of all runs of {a} and of {b}.");
    let of_changes = format!(
        "Change from {a} to {b}: below 0 {b} is faster. Where the band holds 0, the runs do not \
         show a difference."
    );
    let times = [Axis::nines(), Axis::log("Time", AxisUnit::Nanoseconds)];
    let shares = [Axis::nines(), Axis::linear("Change", AxisUnit::Share)];
    vec![
        Plot::new(["percentiles", "Latency by percentile"], of_curves, times, curves),
        Plot::new(["shift", "Difference at each percentile"], of_changes, shares, changes),
    ]
}

/// Plots the rates of a search in the order of its trials; `None` with fewer than two.
pub(in crate::view) fn path(found: &SearchResult) -> Option<Plot> {
    let trials: Vec<(f64, &SearchTrial, f64)> = (1..)
        .zip(&found.trials)
        .filter_map(|(number, trial)| Some((f64::from(number), trial, trial.rate_rps?)))
        .collect();
    let first = trials.first()?.0;
    let last = trials.last()?.0;
    if trials.len() < 2 {
        return None;
    }
    let limited = format!("limited by the client or by {CONNECTIONS}");
    let kinds = [
        ("good", Role::Main, &[TrialUse::Good][..]),
        ("bad", Role::Bad, &[TrialUse::Bad]),
        (
            limited.as_str(),
            Role::Reference,
            &[TrialUse::ClientLimited, TrialUse::ConnectionLimited],
        ),
        (
            "repeated with other connections",
            Role::Other(1),
            &[TrialUse::TooFewConnections, TrialUse::TooManyConnections],
        ),
    ];
    let bounds =
        [("highest rate that meets it", found.lower), ("lowest rate that misses it", found.upper)];
    let bounds = bounds.into_iter().filter_map(|(name, bound)| {
        let rate_rps = Some(bound?.rate_rps);
        Some(Mark::line(name, Role::Reference, [(first, rate_rps), (last, rate_rps)]))
    });
    let dots = kinds.into_iter().filter_map(|(name, role, uses)| {
        let of_kind = trials.iter().filter(|(_, trial, _)| uses.contains(&trial.used));
        let (x, y): (Vec<f64>, Vec<f64>) = of_kind.map(|(at, _, rps)| (*at, short(*rps))).unzip();
        (!x.is_empty()).then(|| Mark::dots(name, role, x, y))
    });
    let about = "The rate of each trial, and whether it met the objective. The result lies between \
                 the two lines.";
    let axes = [Axis::linear("Trial", AxisUnit::Number), Axis::log("Rate", AxisUnit::PerSecond)];
    let marks = bounds.chain(dots).collect();
    Some(Plot::new(["search", "Path of the search"], about, axes, marks))
}

/// Plots the metrics of a sweep over its first factor, with a curve for each combination of the
/// others.
pub(in crate::view) fn curves(study: &Study, sweep: &Sweep) -> Vec<Plot> {
    let Design::Sweep { metrics, factors, .. } = &study.design else { return Vec::new() };
    let Some(factor) = factors.first() else { return Vec::new() };
    let values: Option<Vec<f64>> = factor.values.iter().map(|text| number(text)).collect();
    let Some(values) = values.filter(|values| values.len() > 1) else { return Vec::new() };
    let is_wide = values.iter().all(|value| *value > 0.0)
        && values.iter().copied().fold(0.0, f64::max)
            >= 20.0 * values.iter().copied().fold(f64::INFINITY, f64::min);
    let axis = Axis {
        title: named(&factor.name),
        scale: if is_wide { Scale::Log } else { Scale::Linear },
        unit: AxisUnit::Number,
    };
    let plots = metrics.iter().take(PLOTS_MAX).enumerate().filter_map(|(nth, name)| {
        let metric: NamedMetric = name.parse().ok()?;
        let marks = metric_curves(study, sweep, nth);
        let means = sweep.cells.iter().filter_map(|cell| cell.metrics.get(nth)?.as_ref());
        let has_any = means.into_iter().any(|metric| metric.mean > 0.0);
        let title = format!("{} by {}", metric.title(), named(&factor.name));
        let about = "Means over the runs; the bands are 95% intervals.";
        let axes = [axis.clone(), Axis::linear("", AxisUnit::of(&metric))];
        (has_any && !marks.is_empty())
            .then(|| Plot::new([&format!("sweep-{}", nth + 1), &title], about, axes, marks))
    });
    plots.collect()
}

/// A point of a curve: its position, the mean, and the ends of its interval.
type CurvePoint = (f64, f64, Option<(f64, f64)>);

fn metric_curves(study: &Study, sweep: &Sweep, nth: usize) -> Vec<Mark> {
    let mut curves: Vec<(String, Vec<CurvePoint>)> = Vec::new();
    for found in &sweep.cells {
        let Some((name, point)) = curve_point(study, found, nth) else { continue };
        match curves.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push(point),
            None => curves.push((name, vec![point])),
        }
    }
    let marks =
        curves.into_iter().take(PLOTS_MAX).enumerate().flat_map(|(index, (name, points))| {
            let mut points = points;
            let role = role_of(index);
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let ends = points.iter().filter_map(|(x, _, ends)| {
                let (low, high) = (*ends)?;
                Some((*x, low, Some(high)))
            });
            let ends: Vec<_> = ends.collect();
            let band = (ends.len() > 1).then(|| Mark::band(String::new(), role, ends));
            let line = Mark::line(&name, role, points.iter().map(|(x, mean, _)| (*x, Some(*mean))));
            band.into_iter().chain([line])
        });
    marks.collect()
}

/// Returns the curve that a cell belongs to, and its point.
fn curve_point(study: &Study, found: &SweepCell, nth: usize) -> Option<(String, CurvePoint)> {
    let cell = study.cells.get(found.cell as usize)?;
    let MetricOverRuns { mean, low, high, .. } = found.metrics.get(nth)?.as_ref()?;
    let (first, others) = cell.levels.split_first()?;
    let others: Vec<String> =
        others.iter().map(|level| format!("{}={}", level.factor, level.value)).collect();
    let name = if others.is_empty() { "mean".to_owned() } else { others.join(" ") };
    // No metric is below 0, whatever the normal distribution says of a few runs.
    let ends = low.map(|low| low.max(0.0)).zip(*high);
    Some((name, (number(&first.value)?, *mean, ends)))
}

/// Returns the number that a factor's value stands for: `100`, `5k`, `30s`.
fn number(text: &str) -> Option<f64> {
    let plain = text.parse::<f64>().ok();
    let count = || units::parse_count(text).ok().map(|count| count as f64);
    let span = || units::parse_duration_ns(text).ok().map(|ns| ns as f64 / 1e9);
    plain.or_else(count).or_else(span).filter(|number| number.is_finite())
}
