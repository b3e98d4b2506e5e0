//! Floors of the section `defaults`: the comparisons with wrk that are too low, and the overall
//! result. This module runs nothing.

use crate::rig::stats::Estimate;

/// Least ratio of requests/s, and of requests per client CPU-second, that an interval must reach.
const THROUGHPUT_MIN: f64 = 1.0;
const EFFICIENCY_MIN: f64 = 1.0;

/// Least geometric means: of requests/s on nginx, which is fast enough for the client to be the
/// limit; on the other servers; and of requests per client CPU-second everywhere.
const NGINX_MEAN_MIN: f64 = 1.05;
const OTHERS_MEAN_MIN: f64 = 1.0;
const EFFICIENCY_MEAN_MIN: f64 = 1.1;

/// Ratios of weir to wrk, from paired rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratios {
    pub(super) throughput: Estimate,
    pub(super) efficiency: Estimate,
}

/// One load on one server.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) name: String,
    pub(super) is_nginx: bool,
    pub(super) first: Ratios,
    /// Second measurement, made if the first was too low.
    pub(super) second: Option<Ratios>,
}

/// A condition and its result; `None` with too few rounds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Floor {
    pub(super) text: String,
    pub(super) holds: Option<bool>,
}

impl Cell {
    /// True if a ratio is too low in the first measurement, so that the cell is measured again.
    pub(super) fn is_doubtful(&self) -> bool {
        is_slow(&self.first) || is_wasteful(&self.first)
    }

    /// True if a ratio is too low in each measurement.
    fn is_always(&self, is_low: fn(&Ratios) -> bool) -> bool {
        is_low(&self.first) && self.second.as_ref().is_some_and(is_low)
    }
}

fn is_slow(ratios: &Ratios) -> bool {
    is_below(&ratios.throughput, THROUGHPUT_MIN)
}

fn is_wasteful(ratios: &Ratios) -> bool {
    is_below(&ratios.efficiency, EFFICIENCY_MIN)
}

/// True if the whole interval lies below `least`. False without an interval.
fn is_below(ratio: &Estimate, least: f64) -> bool {
    ratio.interval.is_some_and(|(_, high)| high < least)
}

/// Evaluates all cells. The means use the first measurements only: repeating just the doubtful
/// cells tends to give higher values and would bias the means.
pub(super) fn floors(cells: &[Cell]) -> Vec<Floor> {
    let has_intervals = cells.iter().all(|cell| cell.first.throughput.interval.is_some());
    let none_low = |what: &str, low: Vec<&str>| Floor {
        text: match low.as_slice() {
            [] => format!("{what}: no cell is wholly below its floor in two measurements"),
            low => format!("{what}: wholly below the floor in both: {}", low.join("; ")),
        },
        holds: has_intervals.then_some(low.is_empty()),
    };
    let low = |is_low: fn(&Ratios) -> bool| {
        let low = cells.iter().filter(|cell| cell.is_always(is_low));
        low.map(|cell| cell.name.as_str()).collect::<Vec<_>>()
    };
    let throughputs = |is_nginx: bool| {
        let meant = cells.iter().filter(|cell| cell.is_nginx == is_nginx);
        meant.map(|cell| cell.first.throughput.median).collect()
    };
    let mean = |what: &str, ratios: Vec<f64>, least: f64| {
        let mean = geometric_mean(&ratios);
        Floor {
            text: format!("geometric mean of {what}: {mean:.3} (floor {least:.2})"),
            holds: has_intervals.then_some(mean >= least),
        }
    };
    vec![
        none_low("requests/s", low(is_slow)),
        mean("requests/s on nginx", throughputs(true), NGINX_MEAN_MIN),
        mean("requests/s on the other servers", throughputs(false), OTHERS_MEAN_MIN),
        none_low("requests per client CPU-second", low(is_wasteful)),
        mean(
            "requests per client CPU-second",
            cells.iter().map(|cell| cell.first.efficiency.median).collect(),
            EFFICIENCY_MEAN_MIN,
        ),
    ]
}

/// Returns the geometric mean; 1 for no values.
fn geometric_mean(values: &[f64]) -> f64 {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (logarithms / values.len().max(1) as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, median: f64, high: f64) -> Estimate {
        Estimate { median, interval: Some((low, high)) }
    }

    fn good() -> Ratios {
        Ratios { throughput: ratio(1.0, 1.05, 1.1), efficiency: ratio(1.1, 1.2, 1.3) }
    }

    fn slow() -> Ratios {
        Ratios { throughput: ratio(0.90, 0.95, 0.99), ..good() }
    }

    fn cell(name: &str, first: Ratios, second: Option<Ratios>) -> Cell {
        Cell { name: name.to_owned(), is_nginx: true, first, second }
    }

    fn held(cells: &[Cell]) -> Vec<Option<bool>> {
        floors(cells).into_iter().map(|floor| floor.holds).collect()
    }

    #[test]
    fn all_floors_hold() {
        assert_eq!(held(&[cell("a", good(), None), cell("b", good(), None)]), [Some(true); 5]);
    }

    #[test]
    fn a_cell_fails_only_if_it_is_too_low_twice() {
        assert!(!cell("a", good(), None).is_doubtful());
        assert!(cell("a", slow(), None).is_doubtful());
        let check = |second, expected| {
            let cells = [cell("a", slow(), Some(second)), cell("b", good(), None)];
            assert_eq!(held(&cells)[0], Some(expected));
        };
        check(good(), true);
        check(slow(), false);
        let wasteful = Ratios { efficiency: ratio(0.8, 0.9, 0.99), ..good() };
        assert!(cell("a", wasteful, None).is_doubtful());
        // Too slow once and too wasteful once counts as neither.
        check(wasteful, true);
        let cells = [cell("a", wasteful, Some(wasteful)), cell("b", good(), None)];
        assert_eq!((held(&cells)[0], held(&cells)[3]), (Some(true), Some(false)));
        assert!(floors(&cells)[3].text.ends_with("in both: a"));
    }

    #[test]
    fn nginx_and_the_others_have_means_of_their_own() {
        let with = |median| Ratios { throughput: ratio(0.9, median, 1.2), ..good() };
        let node = |median| Cell { is_nginx: false, ..cell("node", with(median), None) };
        let check = |nginx, other, expected: [bool; 2]| {
            let held = held(&[cell("nginx", with(nginx), None), node(other)]);
            assert_eq!([held[1], held[2]], expected.map(Some));
        };
        check(1.06, 1.0, [true, true]);
        check(1.04, 1.0, [false, true]);
        check(1.06, 0.99, [true, false]);
    }

    #[test]
    fn means_are_geometric_and_of_the_first() {
        let with = |throughput, efficiency| Ratios {
            throughput: ratio(0.5, throughput, 2.5),
            efficiency: ratio(0.5, efficiency, 2.5),
        };
        // 0.55 × 2 = 1.1; the arithmetic mean would be 1.3.
        let check = |first: Ratios, second, expected: [bool; 2]| {
            let held = held(&[cell("a", first, second), cell("b", with(2.0, 2.0), None)]);
            assert_eq!([held[1], held[4]], expected.map(Some));
        };
        check(with(0.5, 0.6), None, [false, false]);
        check(with(0.56, 0.61), None, [true, true]);
        check(with(0.5, 0.6), Some(with(2.0, 2.0)), [false, false]);
        assert_eq!(geometric_mean(&[]), 1.0);
    }

    #[test]
    fn without_intervals_nothing_is_judged() {
        let few = Estimate { median: 0.1, interval: None };
        let cells = [cell("a", Ratios { throughput: few, efficiency: few }, None)];
        assert!(!cells[0].is_doubtful());
        assert_eq!(held(&cells), [None; 5]);
    }
}
