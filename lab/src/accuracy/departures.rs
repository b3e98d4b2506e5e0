//! V14: arrival times of requests at the server, compared with their intended send times.

use anyhow::{Result, ensure};
use weir_stats::{mean, variance};

use super::peers::RatedLoad;
use crate::rig::{Fixture, Peer, Record, Section, thousands};

const RATE_RPS: u32 = 2_000;
const CONNECTIONS: u32 = 50;

/// wrk2 calibrates for 10 s, after 5 ms for each connection.
const CALIBRATION_S: u32 = 11;

/// Bins, in milliseconds.
const BINS_MS: [u64; 3] = [1, 10, 100];

/// Tolerance of the index of dispersion for pauses of the machine, beyond the effect of the bins'
/// edges and of sampling. A pause of 7 ms gathers 14 requests in one bin, whatever the plan.
const IDC_SLACK: f64 = 0.05;

/// Quantile of the normal distribution, in standard deviations, for two-sided 99%.
const NORMAL_99: f64 = 2.58;

/// Runs case V14 of METHOD 2.1.
pub(super) fn departures(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(10.0, 4.0) as u32;
    let mut section = Section::new(
        "when requests arrive",
        "Do requests reach the server evenly, or at random, as planned?",
        format!(
            "Index of dispersion (variance over mean of the number of requests) in bins of 1, 10 \
             and 100 ms: at most 1/(4·mean) + {IDC_SLACK} for an even plan, 1 ± \
             {NORMAL_99}·√(2/(bins − 1)) for a Poisson plan, with {IDC_SLACK} more upwards: pauses \
             of the machine gather requests of either plan; {RATE_RPS} requests/s, {CONNECTIONS} \
             connections, {window_s} s."
        ),
    );
    let load = format!("-t1 -c{CONNECTIONS} -R{RATE_RPS} -d{window_s}s --warmup 1s");
    for arrivals in ["uniform", "poisson --seed 1"] {
        let (_, log) = fixture.run("", &format!("{load} --arrivals {arrivals}"))?;
        let bins = Bins::of(&log, 1, window_s)?;
        let process = arrivals.split(' ').next().unwrap_or(arrivals);
        bins.add_to(&mut section, &format!("weir, {process}"));
        for (bin_ms, idc) in BINS_MS.into_iter().zip(bins.dispersion) {
            let (low, high) = bounds(process == "uniform", bin_ms, window_s);
            section.must_if_quiet((low..=high).contains(&idc), || {
                format!("{process} in {bin_ms} ms: {idc:.3} is not within {low:.3} to {high:.3}")
            });
        }
    }
    match Peer::Wrk2.find() {
        Some(_) if !fixture.options.is_quick => {
            let server = fixture.serve("")?;
            let load = RatedLoad {
                connections: CONNECTIONS,
                duration_s: CALIBRATION_S + window_s,
                rate_rps: RATE_RPS,
                timeout_s: 10,
            };
            Peer::Wrk2.run(fixture, load, &server.url)?;
            let bins = Bins::of(&server.finish()?, CALIBRATION_S, window_s - 1)?;
            bins.add_to(&mut section, "wrk2, behind its calibration");
        }
        Some(_) => section.note("wrk2 takes longer than a quick run."),
        None => section.note("wrk2 is not on PATH."),
    }
    section.verdict("Index of dispersion of the number of arrivals (even: 0, Poisson: 1):");
    section.show_columns(&["sender", "in 1 ms", "in 10 ms", "in 100 ms"]);
    section.note(
        "wrk2 starts its connections 5 ms apart and gives each its own period, so its requests \
         come in groups.",
    );
    Ok(section)
}

/// Returns the bounds of the index of dispersion that the plan alone implies.
fn bounds(is_uniform: bool, bin_ms: u64, window_s: u32) -> (f64, f64) {
    let bins = f64::from(window_s) * 1e3 / bin_ms as f64;
    let mean = f64::from(RATE_RPS) * bin_ms as f64 / 1e3;
    if is_uniform {
        (0.0, 1.0 / (4.0 * mean) + IDC_SLACK)
    } else {
        let spread = NORMAL_99 * (2.0 / (bins - 1.0)).sqrt();
        (1.0 - spread, 1.0 + spread + IDC_SLACK)
    }
}

/// Arrivals, counted in bins.
struct Bins {
    dispersion: [f64; 3],
    /// Maximum in a bin of 1 ms.
    most: u32,
}

impl Bins {
    /// Counts the arrivals from `skip_s` after the first one, for `window_s`.
    fn of(log: &[Record], skip_s: u32, window_s: u32) -> Result<Bins> {
        ensure!(!log.is_empty(), "the server has logged nothing");
        let begin_ns = log[0].received_ns + u64::from(skip_s) * 1_000_000_000;
        let counts = |bin_ms: u64| {
            let mut counts = vec![0_u32; (u64::from(window_s) * 1_000 / bin_ms) as usize];
            for record in log {
                let since_ns = record.received_ns.checked_sub(begin_ns);
                let bin = since_ns.map(|ns| (ns / (bin_ms * 1_000_000)) as usize);
                if let Some(count) = bin.and_then(|bin| counts.get_mut(bin)) {
                    *count += 1;
                }
            }
            counts
        };
        let most = counts(1).into_iter().max().unwrap_or(0);
        Ok(Bins { dispersion: BINS_MS.map(|bin_ms| dispersion(&counts(bin_ms))), most })
    }

    fn add_to(&self, section: &mut Section, sender: &str) {
        let [one, ten, hundred] = self.dispersion.map(|idc| format!("{idc:.3}"));
        section.row(&[
            ("sender", &sender),
            ("in 1 ms", &one),
            ("in 10 ms", &ten),
            ("in 100 ms", &hundred),
            ("most in 1 ms", &thousands(self.most.into())),
            ("by plan on average", &(RATE_RPS / 1_000)),
        ]);
    }
}

/// Returns the variance divided by the mean.
fn dispersion(counts: &[u32]) -> f64 {
    let counts: Vec<f64> = counts.iter().copied().map(f64::from).collect();
    variance(&counts) / mean(&counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_show() {
        assert_eq!(dispersion(&[2, 2, 2, 2]), 0.0);
        assert_eq!(dispersion(&[0, 4, 0, 4]), 16.0 / 3.0 / 2.0);
        let at =
            |us: u64| Record { connection: 0, received_ns: us * 1_000, sent_ns: None, slot: None };
        let even: Vec<Record> = (0..4_000).map(|k| at(k * 500)).collect();
        let bins = Bins::of(&even, 0, 1).expect("there are some");
        assert_eq!((bins.most, bins.dispersion), (2, [0.0; 3]));
        let bursts: Vec<Record> = (0..4_000).map(|k| at(k / 20 * 10_000)).collect();
        let bins = Bins::of(&bursts, 0, 1).expect("there are some");
        assert!(bins.most == 20 && bins.dispersion[0] > 17.0 && bins.dispersion[1] == 0.0);
    }
}
