//! Floors of the section `defaults`: the comparisons with wrk that are too low, and the overall
//! result. This module runs nothing.

use crate::rig::MedianInterval;

/// Least ratio of requests/s that an interval must reach.
///
/// Requests per client CPU-second have no floor: with a CPU to spare beside a local server, weir
/// busy-polls, so its CPU time says nothing about the cost of a request.
const THROUGHPUT_MIN: f64 = 1.0;

/// Least geometric means of requests/s: on nginx, which is fast enough for the client to be the
/// limit, and on the other servers.
const NGINX_MEAN_MIN: f64 = 1.05;
const OTHERS_MEAN_MIN: f64 = 1.0;

/// One load on one server, with ratios of requests/s of weir to wrk from paired rounds.
pub(super) struct ComparedLoad {
    pub(super) name: String,
    pub(super) is_nginx: bool,
    pub(super) first: MedianInterval,
    /// Second measurement, made if the first was too low.
    pub(super) second: Option<MedianInterval>,
}

/// A condition and its result; `None` with too few rounds.
pub(super) struct SpeedFloor {
    pub(super) text: String,
    pub(super) holds: Option<bool>,
}

impl ComparedLoad {
    /// True if the ratio is too low in the first measurement, so that the cell is measured again.
    pub(super) fn is_doubtful(&self) -> bool {
        is_low(&self.first)
    }

    /// True if the ratio is too low in both measurements.
    fn is_slow(&self) -> bool {
        is_low(&self.first) && self.second.as_ref().is_some_and(is_low)
    }
}

/// True if the whole interval lies below the floor. False without an interval.
fn is_low(ratio: &MedianInterval) -> bool {
    ratio.interval.is_some_and(|(_, high)| high < THROUGHPUT_MIN)
}

/// Evaluates all cells. The means use the first measurements only: repeating just the doubtful
/// cells tends to give higher values and would bias the means.
pub(super) fn floors(cells: &[ComparedLoad]) -> Vec<SpeedFloor> {
    let has_intervals = cells.iter().all(|cell| cell.first.interval.is_some());
    let slow = cells.iter().filter(|cell| cell.is_slow());
    let slow: Vec<&str> = slow.map(|cell| cell.name.as_str()).collect();
    let mean = |servers: &str, is_nginx: bool, least: f64| {
        let meant = cells.iter().filter(|cell| cell.is_nginx == is_nginx);
        let mean = geometric_mean(&meant.map(|cell| cell.first.median).collect::<Vec<_>>());
        SpeedFloor {
            text: format!("geometric mean on {servers}: {mean:.3} (floor {least:.2})"),
            holds: has_intervals.then_some(mean >= least),
        }
    };
    vec![
        SpeedFloor {
            text: match slow.as_slice() {
                [] => "no cell is wholly below 1.0 in two measurements".to_owned(),
                slow => format!("wholly below 1.0 in both: {}", slow.join("; ")),
            },
            holds: has_intervals.then_some(slow.is_empty()),
        },
        mean("nginx", true, NGINX_MEAN_MIN),
        mean("the other servers", false, OTHERS_MEAN_MIN),
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

    fn ratio(low: f64, median: f64, high: f64) -> MedianInterval {
        MedianInterval { median, interval: Some((low, high)) }
    }

    fn good() -> MedianInterval {
        ratio(1.0, 1.05, 1.1)
    }

    fn slow() -> MedianInterval {
        ratio(0.90, 0.95, 0.99)
    }

    fn cell(name: &str, first: MedianInterval, second: Option<MedianInterval>) -> ComparedLoad {
        ComparedLoad { name: name.to_owned(), is_nginx: true, first, second }
    }

    fn held(cells: &[ComparedLoad]) -> Vec<Option<bool>> {
        floors(cells).into_iter().map(|floor| floor.holds).collect()
    }

    #[test]
    fn all_floors_hold() {
        assert_eq!(held(&[cell("a", good(), None), cell("b", good(), None)]), [Some(true); 3]);
    }

    #[test]
    fn a_cell_fails_only_if_it_is_too_low_twice() {
        assert!(!cell("a", good(), None).is_doubtful());
        assert!(cell("a", slow(), None).is_doubtful());
        let check = |second, expected| {
            let cells = [cell("a", slow(), second), cell("b", good(), None)];
            assert_eq!(held(&cells)[0], Some(expected));
        };
        check(None, true);
        check(Some(good()), true);
        check(Some(slow()), false);
        assert!(floors(&[cell("a", slow(), Some(slow()))])[0].text.ends_with("in both: a"));
    }

    #[test]
    fn nginx_and_the_others_have_means_of_their_own() {
        let with = |median| ratio(0.9, median, 1.2);
        let node = |median| ComparedLoad { is_nginx: false, ..cell("node", with(median), None) };
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
        let with = |median| ratio(0.5, median, 2.5);
        // 0.55 × 2 = 1.1, a mean of 1.049; the arithmetic mean would be 1.275.
        let check = |first, second, expected: bool| {
            let held = held(&[cell("a", with(first), second), cell("b", with(2.0), None)]);
            assert_eq!(held[1], Some(expected));
        };
        check(0.55, None, false);
        check(0.56, None, true);
        check(0.55, Some(with(2.0)), false);
        assert_eq!(geometric_mean(&[]), 1.0);
    }

    #[test]
    fn without_intervals_nothing_is_judged() {
        let cells = [cell("a", MedianInterval { median: 0.1, interval: None }, None)];
        assert!(!cells[0].is_doubtful());
        assert_eq!(held(&cells), [None; 3]);
    }
}
