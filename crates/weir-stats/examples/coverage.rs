//! How often intervals hold the truth, over many runs of queues whose truth is known: the table of
//! decision 0009. Its argument is the number of runs per line.

#[path = "../tests/queue/mod.rs"]
mod queue;

use queue::{Coverage, Law, alarms, study};

const PERCENTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

fn main() {
    let runs: u32 = std::env::args().nth(1).map_or(1_000, |runs| runs.parse().expect("a number"));
    let laws = [
        Law::Independent,
        Law::MM1(0.5),
        Law::MM1(0.8),
        Law::MM1(0.9),
        Law::DM1(0.5),
        Law::DM1(0.8),
        Law::DM1(0.9),
        Law::Stalls,
    ];
    println!("share of {runs} runs: interval given, and of those: covered (truth below, above)");
    for law in laws {
        for planned in [10_000, 100_000, 300_000] {
            let (studies, throughput) = study(law, planned, runs, PERCENTILES);
            println!("{law:?}, {planned} requests; throughput {}", line(throughput, runs));
            let alarms = alarms(law, planned, runs);
            let share = |count: u32| 100.0 * f64::from(count) / f64::from(runs);
            println!(
                "  false alarms: S1-S3 {:.1}%, S4 {:.1}%, warm-up {:.1}% (MSER alone {:.1}%)",
                share(alarms.changed),
                share(alarms.correlated),
                share(alarms.left_over),
                share(alarms.deleted)
            );
            for (p, study) in PERCENTILES.into_iter().zip(studies) {
                let deff = study.deff_sum / f64::from(runs);
                let (plain, weak) = (line(study.supported, runs), line(study.weak, runs));
                println!("  p{:<5} DEFF {deff:6.1}  {plain}  weak {weak}", p * 100.0);
            }
        }
    }
}

fn line(coverage: Coverage, runs: u32) -> String {
    let share = |part: u32, whole: u32| 100.0 * f64::from(part) / f64::from(whole);
    format!(
        "{:5.1}%: {:5.1}% ({:4.1}, {:4.1})",
        share(coverage.given, runs),
        100.0 * coverage.share(),
        share(coverage.truth_below, coverage.given),
        share(coverage.truth_above, coverage.given)
    )
}
