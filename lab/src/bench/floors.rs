//! Floors of the section `defaults`: the comparisons with wrk that are too low, and the overall
//! result. This module runs nothing.

use crate::rig::stats::Estimate;

/// Least ratio of requests/s that an interval must reach if the client may be the limit.
pub(super) const THROUGHPUT_MIN: f64 = 1.0;

/// Least ratio of requests/s if the server is the limit: both clients then get its capacity.
pub(super) const THROUGHPUT_MIN_BOUND: f64 = 0.98;

/// Least ratio of requests per client CPU-second that an interval must reach.
const EFFICIENCY_MIN: f64 = 1.0;

/// Least geometric means: of requests/s if the client may be the limit, and of requests per client
/// CPU-second everywhere.
const THROUGHPUT_MEAN_MIN: f64 = 1.02;
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
    pub(super) throughput_min: f64,
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
        self.is_slow(&self.first) || is_wasteful(&self.first)
    }

    /// True if the interval lies wholly below the least ratio of requests/s.
    fn is_slow(&self, ratios: &Ratios) -> bool {
        is_below(&ratios.throughput, self.throughput_min)
    }

    /// True if a ratio is too low in each measurement.
    fn is_always(&self, is_low: impl Fn(&Ratios) -> bool) -> bool {
        is_low(&self.first) && self.second.as_ref().is_some_and(is_low)
    }
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
    let low = |is_low: fn(&Cell, &Ratios) -> bool| {
        let low = cells.iter().filter(|cell| cell.is_always(|ratios| is_low(cell, ratios)));
        low.map(|cell| cell.name.as_str()).collect::<Vec<_>>()
    };
    let mean = |what: &str, ratios: Vec<f64>, least: f64| {
        let mean = geometric_mean(&ratios);
        Floor {
            text: format!("geometric mean of {what}: {mean:.3} (floor {least})"),
            holds: has_intervals.then_some(mean >= least),
        }
    };
    let free = cells.iter().filter(|cell| cell.throughput_min >= THROUGHPUT_MIN);
    vec![
        none_low("requests/s", low(Cell::is_slow)),
        mean(
            "requests/s on nginx",
            free.map(|cell| cell.first.throughput.median).collect(),
            THROUGHPUT_MEAN_MIN,
        ),
        none_low("requests per client CPU-second", low(|_, ratios| is_wasteful(ratios))),
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
        Cell { name: name.to_owned(), throughput_min: THROUGHPUT_MIN, first, second }
    }

    fn held(cells: &[Cell]) -> Vec<Option<bool>> {
        floors(cells).into_iter().map(|floor| floor.holds).collect()
    }

    #[test]
    fn all_floors_hold() {
        assert_eq!(held(&[cell("a", good(), None), cell("b", good(), None)]), [Some(true); 4]);
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
        assert_eq!((held(&cells)[0], held(&cells)[2]), (Some(true), Some(false)));
        assert!(floors(&cells)[2].text.ends_with("in both: a"));
    }

    #[test]
    fn a_server_at_its_limit_has_a_lower_floor_and_no_share_in_the_mean() {
        let equal = Ratios { throughput: ratio(0.97, 0.98, 0.985), ..good() };
        let bound = Cell { throughput_min: THROUGHPUT_MIN_BOUND, ..cell("node", equal, None) };
        assert!(!bound.is_doubtful());
        assert!(cell("nginx", equal, None).is_doubtful());
        assert_eq!(held(&[bound, cell("nginx", good(), None)]), [Some(true); 4]);
    }

    #[test]
    fn means_are_geometric_and_of_the_first() {
        let with = |throughput, efficiency| Ratios {
            throughput: ratio(0.5, throughput, 2.5),
            efficiency: ratio(0.5, efficiency, 2.5),
        };
        // 0.51 × 2 = 1.02; the arithmetic mean would be 1.25.
        let check = |first: Ratios, second, expected: [bool; 2]| {
            let held = held(&[cell("a", first, second), cell("b", with(2.0, 2.0), None)]);
            assert_eq!([held[1], held[3]], expected.map(Some));
        };
        check(with(0.5, 0.6), None, [false, false]);
        check(with(0.53, 0.61), None, [true, true]);
        check(with(0.5, 0.6), Some(with(2.0, 2.0)), [false, false]);
        assert_eq!(geometric_mean(&[]), 1.0);
    }

    #[test]
    fn without_intervals_nothing_is_judged() {
        let few = Estimate { median: 0.1, interval: None };
        let cells = [cell("a", Ratios { throughput: few, efficiency: few }, None)];
        assert!(!cells[0].is_doubtful());
        assert_eq!(held(&cells), [None; 4]);
    }
}
