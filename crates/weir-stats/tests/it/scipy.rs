//! The intervals of this crate against SciPy's: `scipy.txt` is written by `cargo xtask statistics`,
//! from `lab/src/statistics/intervals.py`.

use weir_stats::{
    SliceTail, SweepPoint, ValueInterval, binomial_at_most, fit_usl, mean_interval,
    normal_quantile, paired_at, percentile_interval, ratio_interval, regression, share_interval,
    t_quantile, unpaired,
};

/// Rounding of sums, and of quantiles.
const ROUNDING: f64 = 1e-9;

/// A line of the file: a function with its parameters, its inputs, its results.
struct Line {
    name: &'static str,
    parameters: Vec<f64>,
    groups: Vec<Vec<f64>>,
}

impl Line {
    fn of(text: &'static str) -> Line {
        let mut groups = text.split(" | ");
        let (name, parameters) =
            groups.next().map(|head| head.split_once(' ').unwrap_or((head, ""))).expect("a name");
        Line { name, parameters: numbers(parameters), groups: groups.map(numbers).collect() }
    }

    fn slices(&self) -> Vec<SliceTail> {
        let pairs = self.groups[0].iter().zip(&self.groups[1]);
        pairs
            .map(|(count, beyond)| SliceTail { count: *count as u64, beyond: *beyond as u64 })
            .collect()
    }

    /// Returns this crate's results, SciPy's results, and the allowed difference relative to the
    /// greatest of them.
    fn compare(&self) -> (Vec<f64>, Vec<f64>, f64) {
        let groups = &self.groups;
        let expected = groups.last().expect("results").clone();
        let exact = |found: Vec<f64>| (found, expected.clone(), ROUNDING);
        match (self.name, &self.parameters[..]) {
            ("paired", [level]) => {
                let pairs: Vec<_> =
                    groups[0].iter().copied().zip(groups[1].iter().copied()).collect();
                let found = paired_at(&pairs, *level).expect("enough pairs");
                exact(vec![found.low, found.effect, found.high, found.p])
            }
            ("unpaired", []) => {
                let found = unpaired(&groups[0], &groups[1]).expect("enough runs");
                let middle = [found.effect, found.p];
                for (found, expected) in middle.iter().zip([expected[1], expected[3]]) {
                    assert!((found - expected).abs() < ROUNDING, "{middle:?} {expected}");
                }
                // Two bootstraps: a twentieth of the width, relative to the farther end.
                let width = expected[2] - expected[0];
                let tolerance = 0.05 * width / expected[0].abs().max(expected[2].abs());
                (vec![found.low, found.high], vec![expected[0], expected[2]], tolerance)
            }
            ("mean", [confidence]) => {
                let found = mean_interval(&groups[0], *confidence).expect("values");
                let half = found.half_width;
                exact(vec![found.mean - half, found.mean, found.mean + half])
            }
            ("percentile", [p]) => {
                let found = percentile_interval(*p, &self.slices(), None).expect("slices");
                exact(vec![found.low_p, found.high_p.expect("an end"), found.deff])
            }
            ("ranks", [p]) => {
                let [slices, count, beyond] = [0, 1, 2].map(|at| groups[0][at] as u64);
                let slices = vec![SliceTail { count, beyond }; slices as usize];
                let found = percentile_interval(*p, &slices, None).expect("slices");
                // Ranks are whole numbers, and Student's distribution is not quite normal.
                let tolerance = 0.004 * (expected[1] - expected[0]) + 1.0 / 500_000.0;
                (vec![found.low_p, found.high_p.expect("an end")], expected, tolerance)
            }
            ("ratio", []) => {
                let of = |group: &[f64]| {
                    let [low, value, high] = [group[0], group[1], group[2]];
                    ValueInterval { low, value, high }
                };
                let found = ratio_interval(of(&groups[0]), of(&groups[1])).expect("a ratio");
                exact(vec![found.low, found.value, found.high])
            }
            ("share", []) => {
                let found = share_interval(&self.slices());
                exact(vec![found.low, found.high])
            }
            ("slope", [confidence]) => {
                let found = regression(&groups[0], &groups[1], *confidence).expect("a line");
                exact(vec![found.low, found.value, found.high])
            }
            ("t", [p, df]) => exact(vec![t_quantile(*p, *df)]),
            ("normal", [p]) => exact(vec![normal_quantile(*p)]),
            ("binomial", [hits, trials, p]) => exact(vec![binomial_at_most(*hits, *trials, *p)]),
            other => panic!("{other:?}"),
        }
    }
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|number| number.parse().expect("a number")).collect()
}

fn lines() -> impl Iterator<Item = Line> {
    include_str!("../scipy.txt").lines().map(Line::of)
}

#[test]
fn intervals_are_those_of_scipy() {
    let mut checked = 0;
    for line in lines().filter(|line| line.name != "scalability") {
        let (found, expected, tolerance) = line.compare();
        assert_eq!(found.len(), expected.len(), "{}", line.name);
        let scale = expected.iter().fold(0.0, |scale: f64, value| scale.max(value.abs()));
        for (one, other) in found.iter().zip(&expected) {
            let difference = (one - other).abs();
            let text =
                format!("{} {:?}: {found:?}, SciPy {expected:?}", line.name, line.parameters);
            assert!(difference <= tolerance * scale, "{text}");
        }
        checked += 1;
    }
    assert!(checked > 40, "{checked} lines");
}

/// The law's parameters match another least-squares fit. The ends of their intervals match another
/// bootstrap within a tenth of the width.
#[test]
fn the_law_of_a_sweep_is_that_of_scipy() {
    let line = lines().find(|line| line.name == "scalability").expect("a line");
    let [connections, runs, low, value, high] = &line.groups[..] else { panic!("five groups") };
    let each = runs.len() / connections.len();
    let points = connections.iter().zip(runs.chunks(each));
    let points: Vec<_> = points
        .map(|(connections, runs)| SweepPoint {
            connections: *connections,
            throughputs: runs.to_vec(),
        })
        .collect();
    let fit = fit_usl(&points).expect("a fit");
    for (at, found) in fit.intervals.expect("repetitions").iter().enumerate() {
        let low = low[at];
        let value = value[at];
        let high = high[at];
        assert!((found.value / value - 1.0).abs() < 1e-5, "{found:?} {value}");
        let allowed = 0.1 * (high - low);
        let is_near = |one: f64, other: f64| (one - other).abs() < allowed;
        assert!(is_near(found.low, low) && is_near(found.high, high), "{found:?} {low} {high}");
    }
}
