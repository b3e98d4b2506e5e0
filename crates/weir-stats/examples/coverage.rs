//! Coverage of intervals, and false alarms on stationary runs, over many runs of queues with known
//! percentiles: the figures of decision 0009. Its argument is the number of runs.

#[path = "../tests/it/queue/mod.rs"]
mod queue;

use queue::{Coverage, Law, alarms, study};

const PERCENTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// Laws, each with the number of requests per run.
const SETTINGS: [(Law, u32); 12] = [
    (Law::Independent, 100_000),
    (Law::MM1(0.5), 10_000),
    (Law::MM1(0.5), 100_000),
    (Law::MM1(0.8), 30_000),
    (Law::MM1(0.8), 100_000),
    (Law::MM1(0.9), 10_000),
    (Law::MM1(0.9), 100_000),
    (Law::MM1(0.9), 300_000),
    (Law::DM1(0.5), 30_000),
    (Law::DM1(0.8), 100_000),
    (Law::DM1(0.9), 100_000),
    (Law::Stalls, 100_000),
];

fn main() {
    let runs: u32 = std::env::args().nth(1).map_or(500, |runs| runs.parse().expect("a number"));
    let share = |count: u32| 100.0 * f64::from(count) / f64::from(runs);
    println!("share of {runs} runs that have an interval: it covers (truth below, truth above)");
    for (law, planned) in SETTINGS {
        let (studies, throughput) = study(law, planned, runs, PERCENTILES);
        println!("{law:?}, {planned} requests; throughput {}", line(throughput, runs));
        for (p, study) in PERCENTILES.into_iter().zip(studies) {
            let deff = study.deff_sum / f64::from(runs);
            let plain = line(study.plain, runs);
            let printed = line(study.supported, runs);
            let weak = line(study.weak, runs);
            println!(
                "  p{:<5} DEFF {deff:4.0} plain {plain} printed {printed} ~ {weak}",
                p * 100.0
            );
        }
        let alarms = alarms(law, planned, runs);
        println!(
            "  doubted: S1-S3 {:.1}%, S4 {:.1}%, warm-up {:.1}% (MSER alone {:.1}%)",
            share(alarms.changed),
            share(alarms.correlated),
            share(alarms.left_over),
            share(alarms.deleted)
        );
    }
}

fn line(coverage: Coverage, runs: u32) -> String {
    if coverage.given == 0 {
        return format!("{:>27}", "none");
    }
    let share = |part: u32, whole: u32| 100.0 * f64::from(part) / f64::from(whole);
    format!(
        "{:5.1}%: {:5.1}% ({:4.1} {:4.1})",
        share(coverage.given, runs),
        100.0 * coverage.share(),
        share(coverage.truth_below, coverage.given),
        share(coverage.truth_above, coverage.given)
    )
}
