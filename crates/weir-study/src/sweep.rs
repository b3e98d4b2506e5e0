//! Sweeps: the cells of all combinations, and the curves over them.

use std::collections::BTreeMap;

use weir_result::document::{Grade, LimitedBy};
use weir_result::study::{Cell, Factor, Fit, Knee, Level, Sweep, SweepCell, SweepCurve};
use weir_result::{Document, Rate, Study};
use weir_stats::{SweepPoint, USL_POINTS_CHECKED, fit_usl, mean};
use weir_text::units::parse_count;
use weir_verdict::NamedMetric;

use crate::ratios::ratios;
use crate::spread::spread;

/// Share of the greatest throughput from which a value counts as saturated.
const SATURATED: f64 = 0.95;

/// Returns one cell for each combination of the factors' values, the last factor varying fastest.
/// The cells have no words yet.
pub fn cells(factors: &[Factor]) -> Vec<Cell> {
    let mut combinations: Vec<Vec<Level>> = vec![Vec::new()];
    for factor in factors {
        let with = |levels: &Vec<Level>, value: &String| {
            let level = Level { factor: factor.name.clone(), value: value.clone() };
            levels.iter().cloned().chain([level]).collect::<Vec<_>>()
        };
        combinations = combinations
            .iter()
            .flat_map(|levels| factor.values.iter().map(move |value| with(levels, value)))
            .collect();
    }
    let cell = |levels: Vec<Level>| {
        let names = levels.iter().map(|level| format!("{}={}", level.factor, level.value));
        let name = names.collect::<Vec<_>>().join(" ");
        Cell { name, words: Vec::new(), spec: None, levels }
    };
    combinations.into_iter().map(cell).collect()
}

/// Returns the metrics of each cell, and the curves over rates or connections.
/// `ratio` names the factor whose two values are divided.
pub(crate) fn sweep(
    study: &Study,
    factors: &[Factor],
    metrics: &[NamedMetric],
    ratio: Option<&str>,
) -> Sweep {
    let indices = 0..study.cells.len() as u32;
    let cells: Vec<SweepCell> = indices.filter_map(|cell| of_cell(study, cell, metrics)).collect();
    Sweep {
        curves: curves(study, factors),
        ratios: ratio
            .zip(metrics.first())
            .map_or_else(Vec::new, |(factor, metric)| ratios(study, metric, factor)),
        cells,
    }
}

fn of_cell(study: &Study, cell: u32, metrics: &[NamedMetric]) -> Option<SweepCell> {
    let runs = || {
        let of_cell = study.measured().filter(move |(trial, _)| trial.cell == cell);
        of_cell.map(|(trial, document)| (trial.number, document))
    };
    let count = runs().count() as u32;
    let limit = most_frequent(runs().map(|(_, document)| document));
    (count > 0).then(|| SweepCell {
        cell,
        runs: count,
        limit: limit.map(|limit| limit.in_words().to_owned()),
        refused: runs().filter(|(_, run)| run.verdict.grade >= Grade::Failed).count() as u32,
        metrics: metrics.iter().map(|metric| spread(metric, runs())).collect(),
    })
}

/// Limit of most of the runs; `None` if it is unknown.
fn most_frequent<'d>(runs: impl Iterator<Item = &'d Document>) -> Option<LimitedBy> {
    let mut counts: BTreeMap<&str, (u32, LimitedBy)> = BTreeMap::new();
    for run in runs {
        let by = run.verdict.limit.by;
        counts.entry(by.in_words()).or_insert((0, by)).0 += 1;
    }
    let (_, most) = counts.into_values().max_by_key(|(count, _)| *count)?;
    (most != LimitedBy::Unknown).then_some(most)
}

/// Names of the factors over which there are curves, the preferred ones first: over rates `-c` is
/// one more condition.
const OVER: [&[&str]; 2] = [&["rate", "R"], &["c", "connections"]];

/// Returns the curves over rates or connections, one for each combination of the other factors.
fn curves(study: &Study, factors: &[Factor]) -> Vec<SweepCurve> {
    let named = |names: &&[&str]| factors.iter().find(|it| names.contains(&it.name.as_str()));
    let Some(factor) = OVER.iter().find_map(named) else { return Vec::new() };
    let mut curves: Vec<FactorCurve> = Vec::new();
    for (index, cell) in (0..).zip(&study.cells) {
        let (own, levels): (Vec<Level>, Vec<Level>) =
            cell.levels.iter().cloned().partition(|level| level.factor == factor.name);
        let own = own.into_iter().next();
        let Some(point) = own.and_then(|own| point(study, index, own.value)) else { continue };
        match curves.iter_mut().find(|curve| curve.levels == levels) {
            Some(curve) => curve.points.push(point),
            None => curves.push(FactorCurve { factor, levels, points: vec![point] }),
        }
    }
    curves.into_iter().filter_map(FactorCurve::result).collect()
}

/// Throughput over the values of one factor.
struct FactorCurve<'s> {
    factor: &'s Factor,
    /// Values of the other factors.
    levels: Vec<Level>,
    points: Vec<PlacedPoint>,
}

struct PlacedPoint {
    value: String,
    number: f64,
    /// Rate of the arrivals that were planned: random ones differ from the nominal rate.
    planned_rps: f64,
    rates_rps: Vec<f64>,
    is_client_limited: bool,
}

/// Returns the point of a cell; `None` without runs.
fn point(study: &Study, cell: u32, value: String) -> Option<PlacedPoint> {
    let runs: Vec<&Document> = study.documents_of(cell).collect();
    let limited = |run: &&&Document| {
        run.verdict.limit.by == LimitedBy::ClientCpu || run.verdict.grade == Grade::Void
    };
    let planned = |run: &&Document| run.results.planned as f64 / run.throughput.window_s;
    let planned_rps: Vec<f64> = runs.iter().map(planned).collect();
    let point = PlacedPoint {
        number: number(&value)?,
        planned_rps: mean(&planned_rps),
        is_client_limited: 2 * runs.iter().filter(limited).count() > runs.len(),
        rates_rps: runs.iter().map(|run| run.results.good_rps).collect(),
        value,
    };
    (!point.rates_rps.is_empty()).then_some(point)
}

impl FactorCurve<'_> {
    /// Returns the knee and the law of the curve.
    fn result(mut self) -> Option<SweepCurve> {
        self.points.sort_by(|a, b| a.number.total_cmp(&b.number));
        Some(SweepCurve { knee: self.knee()?, fit: self.fit(), levels: self.levels })
    }

    /// Fits the law of scalability over connections, without points that the client limited.
    fn fit(&self) -> Option<Fit> {
        if self.is_over_rates() {
            return None;
        }
        let of_server = self.points.iter().filter(|point| !point.is_client_limited);
        let points: Vec<SweepPoint> = of_server
            .map(|point| SweepPoint {
                connections: point.number,
                throughputs: point.rates_rps.clone(),
            })
            .collect();
        let found = fit_usl(&points)?;
        Some(Fit {
            lambda: found.usl.lambda,
            sigma: found.usl.sigma,
            kappa: found.usl.kappa,
            intervals: found.intervals.map(|of| of.map(|it| (it.low, it.high))),
            peak: found.peak.map(|peak| (peak.low, peak.value, peak.high)),
            peak_needs: (points.len() < USL_POINTS_CHECKED).then_some(USL_POINTS_CHECKED as u32),
            residuals: found.residuals,
            is_systematic: found.is_systematic,
        })
    }

    /// Finds the knee: over rates the greatest that the system still delivers, over connections the
    /// least with 95% of the greatest throughput. The system is saturated beyond it.
    fn knee(&self) -> Option<Knee> {
        let rates: Vec<f64> = self.points.iter().map(|point| mean(&point.rates_rps)).collect();
        let greatest = rates.iter().copied().max_by(f64::total_cmp)?;
        let delivered =
            |index: &usize| rates[*index] >= SATURATED_RATE * self.points[*index].planned_rps;
        let at = match self.is_over_rates() {
            true => (0..rates.len()).take_while(delivered).last(),
            false => rates.iter().position(|rate| *rate >= SATURATED * greatest),
        };
        let beyond = self.points.get(at.map_or(0, |at| at + 1)..).unwrap_or_default();
        Some(Knee {
            factor: self.factor.name.clone(),
            value: at.map(|at| self.points[at].value.clone()),
            rate_rps: at.map_or(greatest, |at| rates[at]),
            saturated_from: beyond.first().map(|point| point.value.clone()),
            is_client_limited: beyond.iter().any(|point| point.is_client_limited),
        })
    }

    fn is_over_rates(&self) -> bool {
        OVER[0].contains(&self.factor.name.as_str())
    }
}

/// Share of a planned rate from which it counts as delivered.
const SATURATED_RATE: f64 = 0.99;

/// Number of a value such as `100` or `20k`.
fn number(value: &str) -> Option<f64> {
    let plain = parse_count(value).ok().map(|count| count as f64);
    plain.or_else(|| value.parse::<Rate>().ok().map(|rate| rate.rps()))
}
