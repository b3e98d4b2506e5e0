//! Rounds in which every side runs once, within seconds of the others and in an alternating order,
//! and the comparison of the sides. Drift affects all sides alike.

use std::hash::{BuildHasher, RandomState};

use anyhow::Result;
use weir_stats::median;

use crate::rig::{ClientRun, Fixture, MedianInterval, Options, table};

/// For each round, the runs in the order of the sides; the others are compared with the first side.
pub(super) struct Paired {
    rounds: Vec<Vec<ClientRun>>,
}

impl Paired {
    /// Runs `rounds` rounds of the sides with these names, and prints the cost of each run.
    pub(super) fn run(
        what: &str,
        rounds: u32,
        sides: &[String],
        run: impl FnMut(usize) -> Result<ClientRun>,
    ) -> Result<Paired> {
        Paired::run_in(turned_round, what, rounds, sides, run)
    }

    /// Does the same with a custom order of the sides in each round.
    pub(super) fn run_in(
        order: fn(u32, usize) -> Vec<usize>,
        what: &str,
        rounds: u32,
        sides: &[String],
        mut run: impl FnMut(usize) -> Result<ClientRun>,
    ) -> Result<Paired> {
        let mut all = Vec::new();
        for number in 1..=rounds {
            let mut runs = vec![None; sides.len()];
            for at in order(number, sides.len()) {
                runs[at] = Some(run(at)?);
            }
            let runs: Vec<ClientRun> = runs.into_iter().flatten().collect();
            let costs = sides.iter().zip(&runs);
            let costs = costs.map(|(side, run)| format!("{side} {:.2} µs", run.cost_us()));
            let costs = costs.collect::<Vec<_>>().join(", ");
            eprintln!("bench: {what}, round {number}: {costs}");
            all.push(runs);
        }
        Ok(Paired { rounds: all })
    }

    /// Returns the requests per CPU-second of a side divided by the first side's.
    pub(super) fn efficiency(&self, at: usize) -> MedianInterval {
        self.estimate(|round| round[0].cost_us() / round[at].cost_us())
    }

    /// Formats that ratio; the first side's is 1.
    pub(super) fn efficiency_cell(&self, at: usize) -> String {
        if at == 0 { "1".to_owned() } else { table::estimate(&self.efficiency(at)) }
    }

    /// Returns the same if a side's own code took no time, only the kernel's: the limit of what its
    /// code can still save.
    pub(super) fn efficiency_limit(&self, at: usize) -> f64 {
        self.estimate(|round| round[0].cost_us() / round[at].kernel_us()).median
    }

    /// Returns the requests per CPU-second of the first side divided by another side's.
    pub(super) fn efficiency_of_first(&self, at: usize) -> MedianInterval {
        self.estimate(|round| round[at].cost_us() / round[0].cost_us())
    }

    /// Returns the requests per second of a side divided by the first side's.
    pub(super) fn throughput(&self, at: usize) -> MedianInterval {
        self.estimate(|round| round[at].rps / round[0].rps)
    }

    /// Returns the requests per second of the first side divided by another side's.
    pub(super) fn throughput_of_first(&self, at: usize) -> MedianInterval {
        self.estimate(|round| round[0].rps / round[at].rps)
    }

    /// Returns a side's median CPU time per request, in microseconds.
    pub(super) fn cost_us(&self, at: usize) -> f64 {
        self.median_of(at, ClientRun::cost_us)
    }

    /// Returns the median of a side's requests per second.
    pub(super) fn requests_per_second(&self, at: usize) -> f64 {
        self.median_of(at, |run| run.rps)
    }

    /// Returns a side's largest memory use; none if the kernel did not report it.
    pub(super) fn resident_bytes(&self, at: usize) -> Option<u64> {
        self.rounds.iter().filter_map(|round| round[at].cost.resident_bytes).max()
    }

    pub(super) fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Returns the number of sides.
    pub(super) fn sides(&self) -> usize {
        self.rounds.first().map_or(0, Vec::len)
    }

    /// Returns the rounds in which a side failed, which have no figures ([`ClientRun::FAILED`]).
    pub(super) fn failures(&self, at: usize) -> usize {
        self.rounds.iter().filter(|round| round[at].rps.is_nan()).count()
    }

    /// Returns the median over the rounds that have figures; NaN if none has.
    fn median_of(&self, at: usize, of: impl Fn(&ClientRun) -> f64) -> f64 {
        let all = self.rounds.iter().map(|round| of(&round[at]));
        let mut known: Vec<f64> = all.filter(|value| !value.is_nan()).collect();
        if known.is_empty() { f64::NAN } else { median(&mut known) }
    }

    /// Returns the estimate of the rounds that have figures; NaN if none has.
    fn estimate(&self, of: impl Fn(&[ClientRun]) -> f64) -> MedianInterval {
        let all = self.rounds.iter().map(|round| of(round));
        let known: Vec<f64> = all.filter(|value| !value.is_nan()).collect();
        match known.is_empty() {
            true => MedianInterval { median: f64::NAN, interval: None },
            false => MedianInterval::of(known),
        }
    }
}

/// Returns the method of a comparison, in a sentence.
pub(super) fn method(fixture: &Fixture) -> String {
    let Options { rounds, seconds, .. } = fixture.options;
    format!("{rounds} rounds of {seconds} s for each program; weir has no warm-up here.")
}

/// Returns the order of the sides, reversed in every second round.
fn turned_round(round: u32, sides: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sides).collect();
    if round.is_multiple_of(2) {
        order.reverse();
    }
    order
}

/// Returns the sides in random order.
pub(super) fn at_random(_round: u32, sides: usize) -> Vec<usize> {
    let random = RandomState::new();
    let mut order: Vec<usize> = (0..sides).collect();
    order.sort_by_key(|side| random.hash_one(side));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Cost;

    #[test]
    fn every_side_runs_once_a_round_and_the_order_turns_round() {
        let sides = ["a".to_owned(), "b".to_owned()];
        let mut order = Vec::new();
        let paired = Paired::run("test", 3, &sides, |at| {
            order.push(at);
            // The second side needs half the CPU time, and completes a quarter more in a second.
            let (cpu_s, wall_s) = if at == 0 { (1.0, 1.25) } else { (0.5, 1.0) };
            let requests = 1_000_000;
            let rps = 1e6 / wall_s;
            let kernel_s = cpu_s * 0.8;
            let resident_bytes = Some(at as u64);
            let cost = Cost { cpu_s, kernel_s, wall_s, resident_bytes };
            Ok(ClientRun { requests, cost, rps })
        });
        let paired = paired.expect("no run fails");
        assert_eq!(order, [0, 1, 1, 0, 0, 1]);
        assert_eq!((paired.cost_us(0), paired.cost_us(1)), (1.0, 0.5));
        assert_eq!((paired.efficiency(1).median, paired.efficiency_limit(1)), (2.0, 2.5));
        assert_eq!(paired.efficiency_of_first(1).median, 0.5);
        assert_eq!(paired.resident_bytes(1), Some(1));
        assert_eq!(paired.throughput(1).median, 1.25);
        assert_eq!(paired.throughput_of_first(1).median, 0.8);
        assert_eq!(paired.requests_per_second(0), 800_000.0);
    }

    #[test]
    fn rounds_without_figures_do_not_count() {
        let sides = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let mut runs_of_b = 0;
        let paired = Paired::run("test", 2, &sides, |at| {
            runs_of_b += u32::from(at == 1);
            let good = ClientRun { rps: 1.0, ..ClientRun::FAILED };
            Ok(if at == 2 || (at == 1 && runs_of_b == 2) { ClientRun::FAILED } else { good })
        });
        let paired = paired.expect("no run fails");
        assert_eq!((paired.failures(0), paired.failures(1), paired.failures(2)), (0, 1, 2));
        assert_eq!(paired.throughput_of_first(1).median, 1.0);
        assert!(paired.throughput_of_first(2).median.is_nan());
    }

    #[test]
    fn random_orders_have_every_side_once_and_differ() {
        let orders: Vec<Vec<usize>> = (0..200).map(|round| at_random(round, 2)).collect();
        let is_first = |side| orders.iter().filter(|order| order[0] == side).count();
        assert_eq!(is_first(0) + is_first(1), 200);
        assert!(orders.iter().all(|order| order[0] + order[1] == 1));
        // Fails by chance once in 10^60 runs.
        assert!(is_first(0) > 0 && is_first(1) > 0);
    }
}
